/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One function a verb, one system call a function, but for new file systems:
 *
 *   mountfd_clone      open_tree(OPEN_TREE_CLONE)
 *   mountfd_set_attr   mount_setattr
 *   mountfd_attach     move_mount
 *   mountfd_new        fsopen, fsconfig ..., fsmount
 *
 * No call looks at the mount table, so the cost does not grow with it.
 */
#include "sys/mountfd.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

int mountfd_clone(int dirfd, const char *path, unsigned flags,
		  struct error *err)
{
	unsigned how = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_NO_AUTOMOUNT;
	int mount;

	if (!*path)
		how |= AT_EMPTY_PATH;
	if (flags & MOUNTFD_RECURSIVE)
		how |= AT_RECURSIVE;
	if (flags & MOUNTFD_NOFOLLOW)
		how |= AT_SYMLINK_NOFOLLOW;
	mount = open_tree(dirfd, path, how);
	if (mount < 0)
		return error_call(err, errno, "open_tree", "open_tree '%s'",
				  path);
	return mount;
}

int mountfd_set_attr(int mount, const struct mountfd_attr *attr,
		     struct error *err)
{
	struct mount_attr kernel = {
		.attr_set = attr->set,
		.attr_clr = attr->clear,
		.propagation = attr->propagation,
	};
	unsigned flags = AT_EMPTY_PATH | (attr->recursive ? AT_RECURSIVE : 0);

	if (attr->idmap_userns > 0) {
		kernel.attr_set |= MOUNT_ATTR_IDMAP;
		kernel.userns_fd = (uint64_t)attr->idmap_userns;
	}
	if (mount_setattr(mount, "", flags, &kernel, sizeof(kernel)) < 0)
		return error_call(err, errno, attr->idmap_userns > 0 ?
				  "idmap" : "mount_setattr", "mount_setattr%s",
				  attr->idmap_userns > 0 ? " (id map)" : "");
	return 0;
}

int mountfd_attach(int mount, int target, const char *place,
		   struct error *err)
{
	if (move_mount(mount, "", target, "",
		       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return error_call(err, errno, "move_mount",
				  "move_mount on '%s'", place);
	return 0;
}

/*
 * The context's own words about the last failure: lines that start with the
 * severity, "e tmpfs: Bad value for 'size'".  Kept: the last error.
 */
static void explain_context(int context, char *ret_text, size_t size)
{
	char line[256];
	ssize_t length;

	ret_text[0] = '\0';
	while ((length = read(context, line, sizeof(line) - 1)) > 0) {
		line[length] = '\0';
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		if (line[0] == 'e' && line[1] == ' ')
			snprintf(ret_text, size, " (%.250s)", line + 2);
	}
}

static int fail_context(int context, const char *type, const char *step,
			const char *key, struct error *err)
{
	int code = errno;
	char why[300];

	explain_context(context, why, sizeof(why));
	return error_call(err, code, strcmp(step, "mount") ? step : "fsconfig",
			  "%s %s%s%s%s", step, type, *key ? " " : "", key,
			  why);
}

static int set_option(int context, const struct mountfd_option *option)
{
	if (option->value)
		return fsconfig(context, FSCONFIG_SET_STRING, option->key,
				option->value, 0);
	if (option->fd > 0)
		return fsconfig(context, FSCONFIG_SET_FD, option->key, NULL,
				option->fd);
	return fsconfig(context, FSCONFIG_SET_FLAG, option->key, NULL, 0);
}

int mountfd_new(const char *type, const struct mountfd_option *options,
		size_t count, unsigned attrs, struct error *err)
{
	auto_close int context = fsopen(type, FSOPEN_CLOEXEC);
	int mount;

	if (context < 0)
		return error_call(err, errno, "fsopen", "fsopen %s", type);
	/* The name in the mount table's source column. */
	if (fsconfig(context, FSCONFIG_SET_STRING, "source", type, 0) < 0)
		return fail_context(context, type, "fsconfig", "source", err);
	for (size_t i = 0; i < count; i++)
		if (set_option(context, &options[i]) < 0)
			return fail_context(context, type, "fsconfig",
					    options[i].key, err);
	if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return fail_context(context, type, "mount", "", err);
	mount = fsmount(context, FSMOUNT_CLOEXEC, attrs);
	if (mount < 0)
		return fail_context(context, type, "fsmount", "", err);
	return mount;
}

int mountfd_id(int fd, const char *path, uint64_t *ret_id, struct error *err)
{
	struct statx status;

	if (statx(fd, path, AT_EMPTY_PATH | AT_STATX_DONT_SYNC |
		  AT_NO_AUTOMOUNT, STATX_MNT_ID, &status) < 0)
		return error_set(err, errno, "statx '%s'", path);
	*ret_id = status.stx_mnt_id;
	return 0;
}
