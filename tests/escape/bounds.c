/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attacks by taking more than there is: processes, memory, output. */
#include "attack.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- processes ------------------------------------------------------------------------- */

enum { LIMIT = 60, MANY = 120 };
#define LIMIT_PROCESSES "--set", "limits.processes=60"

/* They all end with PID 1. */
static bool fork_many(void)
{
	for (int i = 0; i < MANY; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return false;
		if (pid == 0)
			for (;;)
				pause();
	}
	return true;
}

ATTACK(bounds, fork_bomb, .weak = WITH("--set", "limits.processes=400"),
       .with = WITH(LIMIT_PROCESSES))
{
	return fork_many();
}

static int limit_processes(const void *data)
{
	struct rlimit limit = { LIMIT, LIMIT };

	return setrlimit(RLIMIT_NPROC, &limit);
}

static void limit_the_launcher(struct scene *scene)
{
	if (scene->is_weak)
		scene->program.call = limit_processes;
}

/* The kernel does not count what is root outside, whatever it is inside. */
ATTACK(bounds, fork_bomb_of_root, .weak = BWRAP, .who = AS_ROOT,
       .with = WITH(LIMIT_PROCESSES), .bait = limit_the_launcher)
{
	return fork_many();
}

ATTACK(bounds, limit_on_processes_raised, .who = AS_ROOT, .weak = BARE,
       .with = WITH(LIMIT_PROCESSES))
{
	struct rlimit more = { 4 * MANY, 4 * MANY };

	return setrlimit(RLIMIT_NPROC, &more) == 0;
}

/* ---- memory ------------------------------------------------------------------------------ */

static bool is_unbounded(const char *path)
{
	struct statvfs status;

	if (access(path, W_OK) < 0 || statvfs(path, &status) < 0)
		return false;
	return !status.f_blocks || !status.f_files ||
	       status.f_blocks * status.f_frsize > 1ULL << 30 ||
	       status.f_files > 200000;
}

/* A tmpfs is half of all memory, and there are three of them. */
ATTACK(bounds, memory_by_files, .weak = BWRAP)
{
	return is_unbounded("/tmp") || is_unbounded("/dev") ||
	       is_unbounded("/dev/shm") || is_unbounded("/home");
}

ATTACK(bounds, memory_by_dev_shm, .weak = BWRAP)
{
	int fd = open("/dev/shm/big", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	return posix_fallocate(fd, 0, 160 << 20) == 0;
}

ATTACK(bounds, memory_by_names, .weak = BWRAP)
{
	for (int i = 0; i < 17000; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/dev/shm/%d", i);
		if (mknod(path, S_IFREG | 0600, 0) < 0)
			return false;
	}
	return true;
}

ATTACK(bounds, memory_by_dev, .weak = BWRAP)
{
	int fd = open("/dev/big", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	return fd >= 0 && posix_fallocate(fd, 0, 2 << 20) == 0;
}

/* ---- output ------------------------------------------------------------------------------- */

static bool is_flooded(const struct scene *scene,
		       const struct outcome *outcome)
{
	return outcome->out_length > 64 << 10 ||
	       outcome->err_length > 65 << 10;
}

ATTACK(bounds, flood_of_output, .seen = is_flooded,
       .with = WITH("--set", "limits.output=64k"),
       .weak = WITH("--set", "limits.output=100m"))
{
	static char text[1 << 16];

	memset(text, 'x', sizeof(text));
	for (int i = 0; i < 16; i++)
		if (write(1 + i % 2, text, sizeof(text)) < 0)
			return false;
	return false;
}

ATTACK(bounds, large_file, .with = WITH("--set", "limits.file-size=1m"),
       .weak = WITH("--set", "limits.file-size=100m"))
{
	int fd = open("big", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	signal(SIGXFSZ, SIG_IGN);
	return ftruncate(fd, 2 << 20) == 0;
}
