/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names below a writable workspace that stay as they are.
 *
 * A read-only mount on the object alone is not enough: the payload renames a
 * directory above it and makes another one in its place.  So every directory
 * on the way becomes a mount point too (on itself, writable): a mount point
 * can be neither renamed nor removed.  A name that does not exist is held by
 * an empty directory, which host.c makes before and takes away after the run.
 */
#include "engine/child.h"

#include "base/text.h"
#include "sys/mountfd.h"
#include "sys/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* Mount what @point shows on itself. */
static int pin(int point, const char *path, bool read_only, struct error *err)
{
	const struct mountfd_attr attr = {
		.set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
		       (read_only ? MOUNT_ATTR_RDONLY : 0),
		.recursive = true,
	};
	auto_close int mount = -EBADF;
	int pinned = mountfd_is_root(point, err);

	if (pinned < 0 || (pinned && !read_only))
		return pinned < 0 ? pinned : 0;
	mount = mountfd_clone(point, "", MOUNTFD_RECURSIVE, err);
	if (mount < 0 || mountfd_set_attr(mount, &attr, err) < 0)
		return error_result(err);
	return mountfd_attach(mount, point, path, err);
}

/* The next component of @dest behind its first @length bytes. */
static size_t next_end(const char *dest, size_t length)
{
	return length + 1 + strcspn(dest + length + 1, "/");
}

int protect_place(struct child *child, const struct op *op, struct error *err)
{
	const char *dest = op->dest, *top = child->plan->workspace.dest;
	size_t end = next_end(dest, strlen(top) > 1 ? strlen(top) : 0);
	auto_close int point = -EBADF;
	char *path = arena_strndup(child->arena, dest, end);

	point = point_find(child, path, err);
	if (point == -ENOENT) {
		struct op placeholder = *op;

		placeholder.dest = path;
		point = point_open(child, &placeholder, false, err);
	}
	while (point >= 0 && dest[end]) {
		int below;

		end = next_end(dest, end);
		below = point_find(child,
				   arena_strndup(child->arena, dest, end),
				   err);
		/* A placeholder: nothing below it, and it is read-only. */
		if (below == -ENOENT)
			break;
		if (below < 0)
			return below;
		if (pin(point, path, false, err) < 0) {
			close(below);
			return error_result(err);
		}
		/* What was found lies under the mount just made. */
		close(below);
		close(point);
		path = arena_strndup(child->arena, dest, end);
		point = point_find(child, path, err);
	}
	return point < 0 ? point : pin(point, path, true, err);
}
