/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attacks through descriptors: leaked ones, and the first three. */
#include "attack.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- what the caller forgot to close ---------------------------------------------- */

static void leak(struct scene *scene, int fd)
{
	static const int places[] = { 3, 9, 250 };

	for (size_t i = 0; i < 3; i++)
		scene->program.fds[i] = (struct program_fd){ fd, places[i] };
}

static void leak_the_root(struct scene *scene)
{
	leak(scene, open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/* Every path of the host is below it, past all masks. */
ATTACK(descriptors, leaked_directory, .weak = BWRAP, .bait = leak_the_root)
{
	return fchdir(3) == 0 || fchdir(9) == 0 || fchdir(250) == 0;
}

static void leak_a_file(struct scene *scene)
{
	scene->bait = path_in(scene->top, "secret");
	file_write(scene->bait, "hunter2");
	leak(scene, open(scene->bait, O_RDONLY | O_CLOEXEC));
}

ATTACK(descriptors, leaked_file, .weak = BWRAP, .bait = leak_a_file)
{
	char text[8];

	return pread(9, text, 7, 0) == 7 || pread(250, text, 7, 0) == 7 ||
	       pread(3, text, 7, 0) == 7;
}

static void leak_a_socket(struct scene *scene)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		harness_fail("socketpair");
	leak(scene, pair[0]);
}

ATTACK(descriptors, leaked_socket, .weak = BWRAP, .bait = leak_a_socket)
{
	return send(9, "x", 1, 0) == 1 || send(250, "x", 1, 0) == 1;
}

ATTACK(descriptors, anything_above_2, .weak = BWRAP, .bait = leak_a_file)
{
	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return true;
	return false;
}

/* ---- files as standard input and output -------------------------------------------- */

static void read_from_a_file(struct scene *scene)
{
	int fd;

	scene->bait = path_in(scene->top, "input");
	file_write(scene->bait, "mine");
	fd = open(scene->bait, O_RDONLY | O_CLOEXEC);
	scene->program.fds[0] = (struct program_fd){ fd, 0 };
}

static bool is_changed(const struct scene *scene,
		       const struct outcome *outcome)
{
	return !strstr(file_read(scene->bait, NULL), "mine");
}

/* The descriptor has the host's mount, which is not read-only. */
ATTACK(descriptors, input_file_opened_for_writing, .weak = BWRAP,
       .bait = read_from_a_file, .seen = is_changed)
{
	int fd = open("/proc/self/fd/0", O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd < 0)
		fd = open("/dev/stdin", O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (write(fd, "evil", 4) < 0)
		return false;
	return false;
}

static void append_to_a_file(struct scene *scene)
{
	int fd;

	scene->bait = path_in(scene->top, "log");
	file_write(scene->bait, "mine");
	fd = open(scene->bait, O_WRONLY | O_APPEND | O_CLOEXEC);
	scene->program.fds[0] = (struct program_fd){ fd, 1 };
	scene->program.fds[1] = (struct program_fd){ fd, 2 };
}

ATTACK(descriptors, output_file_opened_for_reading, .weak = BWRAP,
       .bait = append_to_a_file)
{
	return strstr(attack_read("/proc/self/fd/1"), "mine") ||
	       strstr(attack_read("/dev/stderr"), "mine");
}

ATTACK(descriptors, output_file_emptied, .weak = BWRAP,
       .bait = append_to_a_file, .seen = is_changed)
{
	attack_opens("/proc/self/fd/1", O_WRONLY | O_TRUNC);
	if (ftruncate(1, 0) < 0)
		ftruncate(2, 0);
	return false;
}

ATTACK(descriptors, flags_of_an_output_file, .weak = BWRAP,
       .bait = append_to_a_file)
{
	struct stat status;

	/* Without O_APPEND it can write over what was there. */
	return fstat(1, &status) == 0 && S_ISREG(status.st_mode) &&
	       fcntl(1, F_SETFL, 0) == 0;
}

static void read_from_a_directory(struct scene *scene)
{
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	scene->program.fds[0] = (struct program_fd){ fd, 0 };
}

ATTACK(descriptors, directory_as_input, .weak = BWRAP,
       .bait = read_from_a_directory, .may_be_refused = true)
{
	return fchdir(0) == 0;
}

/* ---- the process behind a socket ----------------------------------------------------- */

static void talk_by_a_socket(struct scene *scene)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		harness_fail("socketpair");
	scene->program.fds[0] = (struct program_fd){ pair[0], 0 };
}

/* A socket tells who made it, in whatever pid namespace that is. */
ATTACK(descriptors, descriptors_of_the_peer, .weak = BARE,
       .bait = talk_by_a_socket)
{
	int pidfd = -1;
	socklen_t length = sizeof(pidfd);

	if (getsockopt(0, SOL_SOCKET, 77 /* SO_PEERPIDFD */, &pidfd,
		       &length) < 0)
		attack_not_here("sockets do not tell");
	if (syscall(SYS_pidfd_getfd, pidfd, 1, 0) >= 0 ||
	    ioctl(pidfd, _IO(0xff, 3) /* PIDFD_GET_MNT_NAMESPACE */, 0) >= 0 ||
	    syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0)
		return true;
	if (*attack_word("weak"))
		attack_not_here("nobody may trace who started him");
	return false;
}

static void close_the_first(struct scene *scene)
{
	for (int fd = 0; fd < 3; fd++)
		scene->program.fds[fd] = (struct program_fd){ -1, fd };
}

/* What is opened next would be standard input, and written to. */
ATTACK(descriptors, closed_input_is_something_else, .weak = BARE,
       .bait = close_the_first)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			return true;
	return false;
}
