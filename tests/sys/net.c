/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The loopback interface: a connection goes through it, or none does. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "attempt.h"
#include "harness/program.h"
#include "sys/caps.h"
#include "sys/net.h"

static struct error err;

/* Connect to a port of our own on @address; 0 or an errno value. */
static int connect_to(int family, const void *address, socklen_t size)
{
	struct sockaddr_storage bound = { 0 };
	socklen_t length = sizeof(bound);
	int server = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int result = 0;

	if (bind(server, address, size) < 0 || listen(server, 1) < 0 ||
	    getsockname(server, (struct sockaddr *)&bound, &length) < 0 ||
	    connect(client, (struct sockaddr *)&bound, length) < 0)
		result = errno;
	close(server);
	close(client);
	return result;
}

static int bring_up(const void *unused)
{
	const struct sockaddr_in v4 = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6,
		.sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};

	CHECK(connect_to(AF_INET, &v4, sizeof(v4)) != 0);
	ATTEMPT(net_loopback_up(&err));
	errno = connect_to(AF_INET, &v4, sizeof(v4));
	CHECK(errno == 0);
	/* Where the kernel has it */
	errno = connect_to(AF_INET6, &v6, sizeof(v6));
	CHECK(errno == 0 || errno == EAFNOSUPPORT || errno == EBADF);
	/* Up already */
	ATTEMPT(net_loopback_up(&err));
	return 0;
}

Test(net, brings_up_loopback)
{
	expect_passes(bring_up, .unshare = CLONE_NEWUSER | CLONE_NEWNET);
}

static int bring_up_without_right(const void *unused)
{
	ATTEMPT(caps_apply(0, false, &err));
	REFUSED(net_loopback_up(&err), EPERM, "SIOCSIFFLAGS of lo");
	return 0;
}

Test(net, says_that_it_may_not)
{
	expect_passes(bring_up_without_right,
		      .unshare = CLONE_NEWUSER | CLONE_NEWNET);
}

static int bring_up_refused(const void *unused)
{
	REFUSED(net_loopback_up(&err), EPERM, "loopback: socket");
	return 0;
}

static int bring_up_without_inet(const void *unused)
{
	ATTEMPT(net_loopback_up(&err));
	return 0;
}

Test(net, says_that_there_are_no_sockets)
{
	expect_passes(bring_up_refused, REFUSING({ "socket", EPERM }));
	/* Another family names the namespace as well */
	expect_passes(bring_up_without_inet,
		      .unshare = CLONE_NEWUSER | CLONE_NEWNET,
		      REFUSING({ "socket", EAFNOSUPPORT, 0, 0xffffffff,
				 AF_INET }));
}
