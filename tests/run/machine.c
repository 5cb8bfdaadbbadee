/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "machine.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "harness/arena.h"
#include "harness/identity.h"
#include "harness/program.h"

int machine_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	CHECK(fd >= 0);
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	return 0;
}

int machine_enter_userns(int flags)
{
	const char *uid = arena_format("1000 %u 1", getuid());
	const char *gid = arena_format("1000 %u 1", getgid());

	CHECK(unshare(CLONE_NEWUSER | flags) == 0);
	return machine_write("/proc/self/uid_map", uid) ||
	       machine_write("/proc/self/setgroups", "deny") ||
	       machine_write("/proc/self/gid_map", gid);
}

int machine_enter_mounts(void)
{
	CHECK(unshare(CLONE_NEWNS) == 0);
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	return 0;
}

int machine_cover(const char *path)
{
	CHECK(mount("none", path, "tmpfs", 0, NULL) == 0);
	return 0;
}

int machine_fake_proc(const char *name, const char *file)
{
	const char *place = arena_format("/proc/%d/%s", (int)getpid(), name);

	CHECK(mount(file, place, NULL, MS_BIND, NULL) == 0);
	return 0;
}
