/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/net.h"

#include "base/mem.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int net_loopback_up(struct error *err)
{
	struct ifreq request = { .ifr_name = "lo" };
	auto_close int fd = -EBADF;

	/*
	 * Any socket will do to name the namespace.  AF_INET first: with it
	 * the kernel also has IPv4 on lo; AF_UNIX where it was left out.
	 */
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 && errno == EAFNOSUPPORT)
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_call(err, errno, "socket", "loopback: socket");
	/* Keep what is set: an interface that is up has IFF_RUNNING and more */
	if (ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		return error_call(err, errno, "ioctl",
				  "loopback: SIOCGIFFLAGS of lo");
	if (request.ifr_flags & IFF_UP)
		return 0;
	request.ifr_flags |= IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		return error_call(err, errno, "ioctl",
				  "loopback: SIOCSIFFLAGS of lo");
	return 0;
}
