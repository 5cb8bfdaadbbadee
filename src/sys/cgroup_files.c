/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/cgroup_files.h"

#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *const cgroup_names[] = {
	[CGROUP_PIDS] = "pids",
	[CGROUP_MEMORY] = "memory",
	[CGROUP_CPU] = "cpu",
};
static_assert(ARRAY_SIZE(cgroup_names) == CGROUP_CONTROLLER_COUNT,
	      "a name for each controller");

int cgroup_read_file(int directory, const char *file, char *ret_text,
		     size_t room)
{
	auto_close int fd = -EBADF;
	size_t used = 0;
	ssize_t size;

	fd = openat(directory, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	do {
		size = read(fd, ret_text + used, room - 1 - used);
		if (size < 0)
			return -errno;
		used += (size_t)size;
	} while (size > 0 && used < room - 1);
	ret_text[used] = '\0';
	return 0;
}

int cgroup_write_file(int directory, const char *file, const char *text)
{
	auto_close int fd = -EBADF;

	fd = openat(directory, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		return -errno;
	return 0;
}

int cgroup_switch_controllers(int directory, char sign, unsigned controllers)
{
	char text[64] = "";
	size_t used = 0;

	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		if (controllers & 1U << i)
			used += (size_t)snprintf(text + used,
						 sizeof(text) - used,
						 "%c%s ", sign,
						 cgroup_names[i]);
	return cgroup_write_file(directory, "cgroup.subtree_control", text);
}

int cgroup_move(int directory, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)pid);
	return cgroup_write_file(directory, "cgroup.procs", text);
}
