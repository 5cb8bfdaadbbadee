/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attacks on who listens on the host: sockets, FIFOs. */
#include "attack.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- the network ---------------------------------------------------------------------- */

static void listen_on_loopback(struct scene *scene)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&address, length) < 0 ||
	    listen(fd, 8) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &length) < 0)
		harness_fail("a listener on 127.0.0.1");
	scene_tell(scene, "port",
		   arena_format("%d", ntohs(address.sin_port)));
}

ATTACK(network, service_on_loopback, .weak = BWRAP,
       .bait = listen_on_loopback)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((in_port_t)strtol(attack_word("port"), NULL,
						    10)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (struct sockaddr *)&address,
		       sizeof(address)) == 0;
}

/* ---- local sockets ---------------------------------------------------------------------- */

/* A name that begins with '@' is an abstract one. */
static socklen_t make_address(struct sockaddr_un *address, const char *name)
{
	size_t length = strlen(name);

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(address->sun_path, name, length);
	if (*name != '@')
		return sizeof(*address);
	address->sun_path[0] = '\0';
	return (socklen_t)(sizeof(sa_family_t) + length);
}

static void listen_at(struct scene *scene, const char *name)
{
	struct sockaddr_un address;
	socklen_t length = make_address(&address, name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&address, length) < 0 ||
	    listen(fd, 8) < 0)
		harness_fail("a listener at '%s'", name);
	if (*name != '@' && chmod(name, 0777) < 0)
		harness_fail("chmod");
	scene_tell(scene, "socket", name);
}

static bool connects(void)
{
	struct sockaddr_un address;
	socklen_t length = make_address(&address, attack_word("socket"));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (struct sockaddr *)&address, length) == 0;
}

static void listen_abstractly(struct scene *scene)
{
	listen_at(scene, arena_format("@sbx-%d-%d", getpid(),
				      scene->is_weak));
}

ATTACK(network, abstract_socket, .weak = BWRAP, .bait = listen_abstractly)
{
	return connects();
}

static void listen_abstractly_beside_landlock(struct scene *scene)
{
	scene_need_landlock(6);
	listen_abstractly(scene);
}

/* The name of an X server, the session bus, a container's shim. */
ATTACK(network, abstract_socket_in_the_hosts_network, .weak = BWRAP,
       .with = WITH("--set", "namespaces.share=net"),
       .bait = listen_abstractly_beside_landlock)
{
	return connects();
}

/* Those who write wrappers think of /home and /tmp. */
static void listen_like_docker(struct scene *scene)
{
	const char *directory = scratch_make_in("/run");

	if (chmod(directory, 0755) < 0)
		harness_fail("chmod");
	listen_at(scene, path_in(directory, "docker.sock"));
}

ATTACK(network, socket_of_docker, .weak = BWRAP, .who = AS_ROOT,
       .bait = listen_like_docker)
{
	return connects();
}

static void listen_in_var_tmp(struct scene *scene)
{
	listen_at(scene, path_in(scratch_make_in("/var/tmp"), "socket"));
}

/* A read-only mount does not stop connect(2). */
ATTACK(network, socket_in_var_tmp, .weak = BWRAP, .bait = listen_in_var_tmp)
{
	return connects();
}

static void listen_like_an_agent(struct scene *scene)
{
	const char *path = path_in(scratch_make_in("/tmp"), "agent.1");
	const char **set = arena_take(2 * sizeof(*set));

	listen_at(scene, path);
	set[0] = arena_format("SSH_AUTH_SOCK=%s", path);
	scene->program.set = set;
}

ATTACK(network, socket_of_the_ssh_agent, .weak = BARE,
       .bait = listen_like_an_agent)
{
	return connects() || getenv("SSH_AUTH_SOCK");
}

static void read_a_fifo(struct scene *scene)
{
	scene->bait = path_in(scratch_make_in("/var/tmp"), "fifo");
	if (mkfifo(scene->bait, 0622) < 0 || chmod(scene->bait, 0622) < 0 ||
	    open(scene->bait, O_RDWR | O_NONBLOCK | O_CLOEXEC) < 0)
		harness_fail("a FIFO");
	scene_tell(scene, "fifo", scene->bait);
}

/* Nor does it stop a write to who reads a FIFO. */
ATTACK(network, fifo_in_var_tmp, .weak = BWRAP, .bait = read_a_fifo)
{
	return attack_opens(attack_word("fifo"), O_WRONLY);
}
