/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which mount a descriptor is in: statx(2) tells from Linux 5.8 on, and
 * before that /proc/self/fdinfo and the mount table.
 */
#include "sys/mountfd.h"

#include "base/mem.h"
#include "base/text.h"
#include "sys/mount_table.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int procfs_root = -EBADF;

void mountfd_set_procfs(int procfs)
{
	procfs_root = procfs;
}

static int id_by_fdinfo(int fd, uint64_t *ret_id, struct error *err)
{
	auto_close int info = -EBADF;
	char path[32], text[256];
	const char *found;
	ssize_t length;

	snprintf(path, sizeof(path), "self/fdinfo/%d", fd);
	info = proc_open_file(procfs_root, path, O_RDONLY, err);
	if (info < 0)
		return info;
	length = read(info, text, sizeof(text) - 1);
	if (length < 0)
		return error_set(err, errno, "read '/proc/%s'", path);
	text[length] = '\0';
	found = strstr(text, "mnt_id:");
	if (!found)
		return error_set(err, ENODATA, "'/proc/%s' names no mount",
				 path);
	*ret_id = strtoull(found + strlen("mnt_id:"), NULL, 10);
	return 0;
}

int mountfd_id(int fd, const char *path, uint64_t *ret_id, struct error *err)
{
	auto_close int opened = -EBADF;
	struct statx status;

	if (statx(fd, path, AT_EMPTY_PATH | AT_STATX_DONT_SYNC |
		  AT_NO_AUTOMOUNT, STATX_MNT_ID, &status) < 0)
		status.stx_mask = 0;
	if (status.stx_mask & STATX_MNT_ID) {
		*ret_id = status.stx_mnt_id;
		return 0;
	}
	if (!*path)
		return id_by_fdinfo(fd, ret_id, err);
	opened = openat(fd, path, O_PATH | O_CLOEXEC);
	if (opened < 0)
		return error_set(err, errno, "open '%s'", path);
	return id_by_fdinfo(opened, ret_id, err);
}

/* The name of a mount's root is the name of its mount point. */
static int is_root_by_table(int fd, struct error *err)
{
	auto_arena struct arena *arena = arena_new();
	const struct mount_entry *entry;
	char link[32], path[PATH_MAX];
	struct mount_table table;
	ssize_t length;
	uint64_t id = 0;

	if (id_by_fdinfo(fd, &id, err) < 0 ||
	    mount_table_read(arena, procfs_root, &table, err) < 0)
		return error_result(err);
	entry = mount_table_find(&table, (int)id);
	if (!entry)
		return error_set(err, ESTALE, "mount %d is not in the mount "
				 "table", (int)id);
	snprintf(link, sizeof(link), "self/fd/%d", fd);
	length = readlinkat(procfs_root, link, path, sizeof(path) - 1);
	if (length < 0)
		return error_set(err, errno, "readlink '/proc/%s'", link);
	path[length] = '\0';
	return !strcmp(path, entry->target);
}

int mountfd_is_root(int fd, struct error *err)
{
	struct statx status;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &status) < 0)
		status.stx_attributes_mask = 0;
	if (status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT)
		return !!(status.stx_attributes & STATX_ATTR_MOUNT_ROOT);
	return is_root_by_table(fd, err);
}

int mountfd_is_root_of(int fd, uint64_t id, struct error *err)
{
	struct statx status;
	uint64_t found = 0;

	if (!statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID,
		   &status) && status.stx_mask & STATX_MNT_ID)
		return status.stx_mnt_id == id &&
		       status.stx_attributes & STATX_ATTR_MOUNT_ROOT;
	if (id_by_fdinfo(fd, &found, err) < 0)
		return error_result(err);
	return found == id ? is_root_by_table(fd, err) : 0;
}
