/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Directories, files, links and modes: the operations that are not mounts,
 * or whose source is a descriptor's content.
 */
#include "engine/child.h"

#include "base/text.h"
#include "sys/mountfd.h"
#include "sys/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

int file_dir(struct child *child, const struct op *op, struct error *err)
{
	const char *name;
	auto_close int there = point_find(child, op->dest, err);
	auto_close int parent = -EBADF;
	struct stat status;
	unsigned mode = op->mode == OP_MODE_NONE ? 0755 : op->mode;

	if (there >= 0) {
		if (fstatat(there, "", &status, AT_EMPTY_PATH) < 0)
			return error_set(err, errno, "stat '%s'", op->dest);
		if (S_ISDIR(status.st_mode))
			return 0;
		error_set(err, child_is_bwrap(child) ? 0 : ENOTDIR,
			  "'%s' is not a directory", op->dest);
		return op_say(child, err, "Destination is not a directory %s",
			      op->dest);
	}
	if (there != -ENOENT)
		return there;
	parent = point_open_parent(child, op, &name, err);
	if (parent < 0)
		return parent;
	if (mkdirat(parent, name, mode) < 0 && errno != EEXIST) {
		error_set(err, errno, "mkdir '%s'", op->dest);
		return op_say(child, err, "Can't mkdir %s", op->dest);
	}
	return 0;
}

/* Everything from @from's offset on; the descriptor is used up then. */
static int copy_data(int from, int to, struct error *err)
{
	char buffer[64 * 1024];
	ssize_t got, put;

	while ((got = read(from, buffer, sizeof(buffer))) != 0) {
		if (got < 0) {
			if (errno == EINTR)
				continue;
			return error_set(err, errno, "read descriptor %d",
					 from);
		}
		for (ssize_t done = 0; done < got; done += put) {
			put = write(to, buffer + done, (size_t)(got - done));
			if (put < 0 && errno != EINTR)
				return error_set(err, errno, "write");
			if (put < 0)
				put = 0;
		}
	}
	close(from);
	return 0;
}

/* @file, an O_PATH descriptor, opened for writing and emptied. */
static int reopen_for_writing(struct child *child, int parent,
			      const char *name, const struct op *op,
			      struct error *err)
{
	unsigned mode = op->mode == OP_MODE_NONE ? 0666 : op->mode;
	int there = point_find(child, op->dest, err);
	int fd;

	if (there >= 0) {
		char link[40];

		snprintf(link, sizeof(link), "self/fd/%d", there);
		fd = openat(child->procfs, link, O_WRONLY | O_TRUNC |
			    O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		close(there);
	} else {
		fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL |
			    O_CLOEXEC | O_NOFOLLOW, mode);
	}
	if (fd >= 0)
		return fd;
	error_set(err, errno, "create '%s'", op->dest);
	return op_say(child, err, "Can't create file %s", op->dest);
}

int file_write(struct child *child, const struct op *op, struct error *err)
{
	const char *name;
	auto_close int parent = point_open_parent(child, op, &name, err);
	auto_close int fd = -EBADF;

	if (parent < 0)
		return parent;
	fd = reopen_for_writing(child, parent, name, op, err);
	if (fd < 0)
		return fd;
	if (copy_data(op->fd, fd, err) < 0)
		return op_say(child, err, "Can't write data to file %s",
			      op->dest);
	return 0;
}

int file_bind_data(struct child *child, const struct op *op, struct error *err)
{
	unsigned mode = op->mode == OP_MODE_NONE ? 0600 : op->mode;
	struct op tmpfs = {
		.kind = OP_TMPFS, .mode = 0700, .size = op->size,
		.inodes = op->inodes,
	};
	const struct mountfd_attr attr = {
		.set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
		       (op->flags & OP_READ_ONLY ? MOUNT_ATTR_RDONLY : 0),
	};
	auto_close int scratch = -EBADF, fd = -EBADF, mount = -EBADF;
	auto_close int point = -EBADF;

	scratch = apifs_tmpfs(child, &tmpfs, !child_is_bwrap(child), err);
	if (scratch < 0)
		return scratch;
	fd = openat(scratch, "data", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    mode);
	if (fd < 0 || copy_data(op->fd, fd, err) < 0) {
		if (fd < 0)
			error_set(err, errno, "create a file for '%s'",
				  op->dest);
		return op_say(child, err, "Can't write data to file %s",
			      op->dest);
	}
	/* The mode is exact whatever the process may be allowed to create. */
	if (fchmod(fd, mode) < 0)
		return error_set(err, errno, "chmod '%s'", op->dest);
	mount = root_clone(&scratch, "data", err);
	if (mount < 0)
		return mount;
	point = point_open(child, op, true, err);
	if (point < 0)
		return point;
	if (mountfd_set_attr(mount, &attr, err) < 0 ||
	    mountfd_attach(mount, point, op->dest, err) < 0)
		return error_result(err);
	/* What has no name any more cannot be attached. */
	if (unlinkat(scratch, "data", 0) < 0)
		return error_set(err, errno, "unlink");
	return 0;
}

int file_symlink(struct child *child, const struct op *op, struct error *err)
{
	const char *name;
	auto_close int parent = point_open_parent(child, op, &name, err);
	char there[PATH_MAX];
	ssize_t length;
	int code;

	if (parent < 0)
		return parent;
	if (!symlinkat(op->target, parent, name))
		return 0;
	code = errno;
	if (code != EEXIST) {
		error_set(err, code, "symlink '%s'", op->dest);
		return op_say(child, err, "Can't make symlink at %s",
			      op->dest);
	}
	length = readlinkat(parent, name, there, sizeof(there) - 1);
	if (length < 0)
		return error_set(err, 0, "Can't make symlink at %s: "
				 "destination exists and is not a symlink",
				 op->dest);
	there[length] = '\0';
	if (!strcmp(there, op->target))
		return 0;
	return error_set(err, 0, "Can't make symlink at %s: existing "
			 "destination is %s", op->dest, there);
}

int file_chmod(struct child *child, const struct op *op, struct error *err)
{
	auto_close int fd = rootfs_open(child->root, op->dest, ROOTFS_FOLLOW,
					err);
	char link[40];

	if (fd >= 0) {
		snprintf(link, sizeof(link), "self/fd/%d", fd);
		if (!fchmodat(child->procfs, link, op->mode, 0))
			return 0;
		error_set(err, errno, "chmod '%s'", op->dest);
	}
	return op_say(child, err, "Can't chmod %#o %s", op->mode, op->dest);
}
