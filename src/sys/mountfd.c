/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One function a verb, one system call a function, but for new file systems:
 *
 *   mountfd_clone      open_tree(OPEN_TREE_CLONE)
 *   mountfd_set_attr   mount_setattr
 *   mountfd_attach     move_mount, as does mountfd_attach_below
 *   mountfd_new        fsopen, fsconfig ..., fsmount
 *
 * No call looks at the mount table, so the cost does not grow with it.
 *
 * Nobody asks beforehand whether the calls are there.  The first that fails
 * as one that is not says so (mountfd_missing()), and the engine begins again
 * with mount(2).
 */
#include "sys/mountfd.h"

#include "base/mem.h"
#include "base/text.h"
#include "sys/mount_legacy.h"
#include "sys/mount_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>

/* mount_setattr(2) has succeeded once. */
static bool is_proven;

int mountfd_clone(int dirfd, const char *path, unsigned flags,
		  struct error *err)
{
	unsigned how = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_NO_AUTOMOUNT;
	int mount;

	if (mount_legacy_is_active())
		return mount_legacy_clone(dirfd, path, flags, err);
	if (!*path)
		how |= AT_EMPTY_PATH;
	if (flags & MOUNTFD_RECURSIVE)
		how |= AT_RECURSIVE;
	if (flags & MOUNTFD_NOFOLLOW)
		how |= AT_SYMLINK_NOFOLLOW;
	mount = open_tree(dirfd, path, how);
	if (mount < 0)
		return error_call(err, mount_probe_failed(PROBE_OPEN_TREE),
				  "open_tree", "open_tree '%s'", path);
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

	if (mount_legacy_is_active())
		return mount_legacy_set_attr(mount, attr, err);
	if (attr->idmap_userns > 0) {
		kernel.attr_set |= MOUNT_ATTR_IDMAP;
		kernel.userns_fd = (uint64_t)attr->idmap_userns;
	}
	if (mount_setattr(mount, "", flags, &kernel, sizeof(kernel)) < 0)
		return error_call(err, mount_probe_failed(PROBE_MOUNT_SETATTR),
				  attr->idmap_userns > 0 ? "idmap" :
				  "mount_setattr", "mount_setattr%s",
				  attr->idmap_userns > 0 ? " (id map)" : "");
	is_proven = true;
	return 0;
}

int mountfd_attach(int mount, int target, const char *place,
		   struct error *err)
{
	if (mount_legacy_is_active())
		return mount_legacy_attach(mount, target, place, err);
	if (move_mount(mount, "", target, "",
		       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return error_call(err, mount_probe_failed(PROBE_MOVE_MOUNT),
				  "move_mount", "move_mount on '%s'", place);
	return 0;
}

int mountfd_attach_below(int mount, int directory, const char *name,
			 struct error *err)
{
	auto_close int point = -EBADF;

	if (!mount_legacy_is_active()) {
		if (move_mount(mount, "", directory, name,
			       MOVE_MOUNT_F_EMPTY_PATH) < 0)
			return error_call(err,
				mount_probe_failed(PROBE_MOVE_MOUNT),
				"move_mount", "move_mount on '%s'", name);
		return 0;
	}
	point = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (point < 0)
		return error_set(err, errno, "open '%s'", name);
	return mount_legacy_attach(mount, point, name, err);
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

static int make_new(const char *type, const struct mountfd_option *options,
		    size_t count, unsigned attrs, struct error *err)
{
	auto_close int context = fsopen(type, FSOPEN_CLOEXEC);
	int mount;

	if (context < 0)
		return error_call(err, mount_probe_failed(PROBE_FSOPEN),
				  "fsopen", "fsopen %s", type);
	/* The name in the mount table's source column. */
	if (fsconfig(context, FSCONFIG_SET_STRING, "source", type, 0) < 0) {
		mount_probe_failed(PROBE_FSCONFIG);
		return fail_context(context, type, "fsconfig", "source", err);
	}
	for (size_t i = 0; i < count; i++)
		if (set_option(context, &options[i]) < 0)
			return fail_context(context, type, "fsconfig",
					    options[i].key, err);
	if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return fail_context(context, type, "mount", "", err);
	mount = fsmount(context, FSMOUNT_CLOEXEC, attrs);
	if (mount < 0) {
		mount_probe_failed(PROBE_FSMOUNT);
		return fail_context(context, type, "fsmount", "", err);
	}
	return mount;
}

int mountfd_new(const char *type, const struct mountfd_option *options,
		size_t count, unsigned attrs, struct error *err)
{
	if (mount_legacy_is_active())
		return mount_legacy_new(type, options, count, attrs, err);
	return make_new(type, options, count, attrs, err);
}

/* ---- without the descriptor calls ----------------------------------------- */

int mountfd_prove(struct error *err)
{
	int code;

	if (is_proven || mount_legacy_is_active())
		return 0;
	code = mount_probe_ask(PROBE_MOUNT_SETATTR);
	return code ? error_call(err, code, "mount_setattr", "mount_setattr") :
	       0;
}

static bool has_fallen_back;

int mountfd_fall_back(int procfs, uid_t uid, gid_t gid, struct error *err)
{
	const char *call = "";
	int code = mountfd_missing(&call);

	has_fallen_back = true;
	if (mount_legacy_begin(procfs, uid, gid, err) >= 0)
		return 0;
	return error_wrap(err, "%s is %s, and without it", call,
			  code == ENOSYS ? "unknown" : "refused");
}

bool mountfd_has_fallen_back(void)
{
	return has_fallen_back;
}

int mountfd_settle(struct error *err)
{
	return mount_legacy_is_active() ? mount_legacy_settle(err) : 0;
}

int mountfd_pivot(int mount, struct error *err)
{
	if (mount_legacy_is_active())
		return mount_legacy_pivot(mount, err);
	if (move_mount(mount, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return error_call(err, mount_probe_failed(PROBE_MOVE_MOUNT),
				  "move_mount", "move_mount on '/'");
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return error_call(err, errno, "pivot_root", "pivot_root");
	if (umount2(".", MNT_DETACH) < 0)
		return error_call(err, errno, "umount2", "detach the old root");
	return 0;
}
