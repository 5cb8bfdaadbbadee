/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Root first, then the operations in the plan's order, each from what was
 * gathered for it and on what it finds below the new root.
 *
 * The first operation that mounts on "/" is the root itself; without one
 * there is an empty directory in a tmpfs.  A later operation on "/" replaces
 * the root again: what was built before is gone, as the order of the plan
 * says.
 */
#include "engine/child.h"

#include "base/text.h"
#include "plan/op_types.h"
#include "sys/mountfd.h"
#include "sys/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

const char *op_describe(struct arena *arena, const struct op *op)
{
	const char *what = op_kind_name(op->kind);

	if (op->source)
		return arena_printf(arena, "%s '%s' on '%s'", what,
				    op->source, op->dest);
	return arena_printf(arena, "%s '%s'", what, op->dest);
}

int op_fail(const struct child *child, const struct op *op, struct error *err)
{
	if (child_is_bwrap(child))
		return error_result(err);
	return error_wrap(err, "%s: %s",
			  origin_text(child->arena, &op->origin),
			  op_describe(child->arena, op));
}

int op_say(const struct child *child, struct error *err, const char *format,
	   ...)
{
	va_list args;

	if (child_is_bwrap(child)) {
		va_start(args, format);
		vsnprintf(err->text, sizeof(err->text), format, args);
		va_end(args);
	}
	return error_result(err);
}

/* Does @op put a mount on "/"?  A file there is an error like others. */
static bool covers_root(const struct op *op, const struct source *source)
{
	if (source->type && !S_ISDIR(source->type))
		return false;
	switch (op->kind) {
	case OP_BIND:
	case OP_BIND_FD:
	case OP_OVERLAY:
	case OP_TMP_OVERLAY:
	case OP_RO_OVERLAY:
	case OP_TMPFS:
		return op_is_on_root(op);
	case OP_REMOUNT_RO:
	case OP_PROC:
	case OP_DEV:
	case OP_MQUEUE:
	case OP_DIR:
	case OP_FILE:
	case OP_BIND_DATA:
	case OP_SYMLINK:
	case OP_CHMOD:
	case OP_HIDE:
	case OP_PROTECT:
	case OP_COUNT:
		break;
	}
	return false;
}

/* The mount of an operation that has one ready or can make one. */
static int op_mount(struct child *child, const struct op *op,
		    struct source *source, struct error *err)
{
	bool bounded = !child_is_bwrap(child);

	if (op->kind == OP_TMPFS)
		return apifs_tmpfs(child, op, bounded, err);
	if (source->mount < 0 && op->lowers.count)
		return overlay_mount(child, op, source, err);
	return take_fd(&source->mount);
}

/* bubblewrap's empty root: a directory in a tmpfs, writable. */
static int empty_root(struct child *child, struct error *err)
{
	/* The mode that a tmpfs has by itself does not show in mountinfo. */
	struct op op = { .kind = OP_TMPFS, .mode = 01777 };
	auto_close int tmpfs = apifs_tmpfs(child, &op,
					   !child_is_bwrap(child), err);
	int mount;

	if (tmpfs < 0)
		return tmpfs;
	if (mkdirat(tmpfs, "newroot", 0755) < 0)
		return error_set(err, errno, "Creating newroot failed");
	mount = root_clone(&tmpfs, "newroot", err);
	if (mount >= 0)
		point_is_own(child, mount);
	return mount;
}

/*
 * Overlays are mounted before the pivot: older kernels know their layers by
 * names in the host's /proc.
 */
static int mount_overlays(struct child *child, struct error *err)
{
	for (size_t i = 0; i < child->plan->ops.count; i++) {
		const struct op *op = &child->plan->ops.at[i];

		if (!op->lowers.count || child->sources[i].mount >= 0)
			continue;
		child->sources[i].mount =
			overlay_mount(child, op, &child->sources[i], err);
		if (child->sources[i].mount < 0)
			return op_fail(child, op, err);
	}
	return 0;
}

int assemble_root(struct child *child, struct error *err)
{
	const struct plan *plan = child->plan;
	auto_close int mount = -EBADF;

	if (mount_overlays(child, err) < 0)
		return error_result(err);
	while (child->next < plan->ops.count &&
	       child->sources[child->next].skipped)
		child->next++;
	if (child->next < plan->ops.count &&
	    covers_root(&plan->ops.at[child->next],
			&child->sources[child->next])) {
		const struct op *op = &plan->ops.at[child->next];

		mount = op_mount(child, op, &child->sources[child->next], err);
		if (mount < 0 || (op->kind == OP_BIND &&
				  !child_is_bwrap(child) &&
				  verify_mount(child->plan, mount, op, err) < 0))
			return op_fail(child, op, err);
		child->next++;
	} else {
		mount = empty_root(child, err);
		if (mount < 0)
			return mount;
	}
	return root_replace(child, mount, err);
}

/* ---- one operation each -------------------------------------------------- */

static int do_mount(struct child *child, const struct op *op,
		    struct source *source, struct error *err)
{
	auto_close int mount = -EBADF, point = -EBADF;
	mode_t type = source->type ? source->type : S_IFDIR;

	point = point_open(child, op, !S_ISDIR(type), err);
	if (point < 0)
		return point;
	mount = op_mount(child, op, source, err);
	if (mount >= 0 && op->kind == OP_BIND && !child_is_bwrap(child) &&
	    verify_mount(child->plan, mount, op, err) < 0)
		return error_result(err);
	if (mount >= 0 && !root_attach(child, mount, point, op->dest, err))
		return 0;
	if (op->kind == OP_TMPFS)
		return op_say(child, err, "Can't mount tmpfs on /newroot/%s",
			      op->dest + strspn(op->dest, "/"));
	return op_say(child, err, "Can't bind mount /oldroot%s on /newroot/%s:"
		      " Unable to mount source on destination",
		      op->source ? op->source : "",
		      op->dest + strspn(op->dest, "/"));
}

/*
 * Masks that stay empty need no file system each: they are mounts of one
 * empty directory.
 */
static bool stays_empty(const struct plan *plan, const struct op *mask)
{
	if (!(mask->flags & OP_READ_ONLY) || mask->mode != OP_MODE_NONE)
		return false;
	for (size_t i = 0; i < plan->ops.count; i++) {
		const struct op *op = &plan->ops.at[i];

		if (op != mask && path_is_below(op_place(op), op_place(mask)))
			return false;
	}
	return true;
}

/*
 * Is @point, a place to cover, a directory?  No server is asked for what is
 * known; FUSE tells nobody but its own user even that, but not every open(2)
 * is a question to it.
 */
static int is_directory(const struct child *child, int point,
			const struct op *op, struct error *err)
{
	struct statx status;
	char name[32];
	int fd;

	if (!statx(point, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE,
		   &status))
		return S_ISDIR(status.stx_mode);
	if (errno != EACCES)
		return error_set(err, errno, "stat '%s'", op->dest);
	snprintf(name, sizeof(name), "self/fd/%d", point);
	fd = openat(child->procfs, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno != ENOTDIR)
		return error_set(err, errno, "open '%s'", op->dest);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int do_mask(struct child *child, const struct op *op, struct error *err)
{
	auto_close int mount = -EBADF;
	auto_close int point = point_find(child, op->dest, err);
	int r;

	/* Over what is not there it has nothing to do. */
	if (point == -ENOENT && op->flags & OP_OPTIONAL)
		return 0;
	if (point < 0)
		return point == -ENOENT ?
		       error_set(err, ENOENT, "mask '%s'", op->dest) : point;
	r = is_directory(child, point, op, err);
	if (r < 0)
		return r;
	if (!r) {
		error_set(err, ENOTDIR, "'%s' is a file", op->dest);
		error_remedy(err, "a file is masked with: hide = %s",
			     op->dest);
		return -ENOTDIR;
	}
	mount = stays_empty(child->plan, op) ?
		apifs_blank(child, BLANK_DIRECTORY, err) :
		apifs_tmpfs(child, op, true, err);
	return mount < 0 ? mount :
	       root_attach(child, mount, point, op->dest, err);
}

static int do_hide(struct child *child, const struct op *op, struct error *err)
{
	auto_close int point = point_find(child, op->dest, err);
	auto_close int mount = -EBADF;
	int r;

	if (point == -ENOENT)
		return 0;
	if (point < 0)
		return point;
	r = is_directory(child, point, op, err);
	if (r < 0)
		return r;
	mount = apifs_blank(child, r ?
			    BLANK_CLOSED_DIRECTORY : BLANK_CLOSED_FILE, err);
	return mount < 0 ? mount :
	       root_attach(child, mount, point, op->dest, err);
}

static int do_remount(struct child *child, const struct op *op,
		      struct error *err)
{
	const struct mountfd_attr attr = {
		.set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
		       MOUNT_ATTR_NODEV,
	};
	auto_close int parent = -EBADF, point = -EBADF;
	const char *name;
	int is_root;

	/* Nothing can be mounted there, but its parents are made first. */
	if (child_is_bwrap(child)) {
		parent = point_open_parent(child, op, &name, err);
		if (parent < 0)
			return parent;
	}
	point = rootfs_open(child->root, op->dest, ROOTFS_FOLLOW, err);
	if (point < 0)
		return op_say(child, err, "Can't remount readonly on %s: "
			      "realpath(destination)", op->dest);
	is_root = mountfd_is_root(point, err);
	if (is_root < 0)
		return is_root;
	if (!is_root) {
		error_set(err, child_is_bwrap(child) ? 0 : EINVAL,
			  "'%s' is not a mount point", op->dest);
		return op_say(child, err, "Can't remount readonly on %s: "
			      "Unable to find \"%s\" in mount table", op->dest,
			      op->dest);
	}
	return mountfd_set_attr(point, &attr, err);
}

static int do_mqueue(struct child *child, const struct op *op,
		     struct error *err)
{
	auto_close int point = point_open(child, op, false, err);
	auto_close int mount = -EBADF;

	if (point < 0)
		return point;
	mount = mountfd_new("mqueue", NULL, 0, MOUNT_ATTR_NOSUID |
			    MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err);
	if (mount >= 0 && !root_attach(child, mount, point, op->dest, err))
		return 0;
	return op_say(child, err, "Can't mount mqueue on /newroot/%s",
		      op->dest + strspn(op->dest, "/"));
}

static int do_op(struct child *child, const struct op *op,
		 struct source *source, struct error *err)
{
	switch (op->kind) {
	case OP_BIND:
	case OP_BIND_FD:
	case OP_OVERLAY:
	case OP_TMP_OVERLAY:
	case OP_RO_OVERLAY:
		return do_mount(child, op, source, err);
	case OP_TMPFS:
		return op->role == ROLE_MASK ? do_mask(child, op, err) :
		       do_mount(child, op, source, err);
	case OP_PROC:
		return kernelfs_proc(child, op, source, err);
	case OP_DEV:
		return apifs_dev(child, op, source, err);
	case OP_REMOUNT_RO:
		return do_remount(child, op, err);
	case OP_MQUEUE:
		return do_mqueue(child, op, err);
	case OP_HIDE:
		return do_hide(child, op, err);
	case OP_PROTECT:
		return protect_place(child, op, err);
	case OP_DIR:
		return file_dir(child, op, err);
	case OP_FILE:
		return file_write(child, op, err);
	case OP_BIND_DATA:
		return file_bind_data(child, op, err);
	case OP_SYMLINK:
		return file_symlink(child, op, err);
	case OP_CHMOD:
		return file_chmod(child, op, err);
	case OP_COUNT:
		break;
	}
	return 0;
}

int assemble_seal(struct child *child, const char *top, struct error *err)
{
	const struct mountfd_attr attr = { .set = MOUNT_ATTR_RDONLY };

	for (size_t i = 0; i < child->seals.count; i++) {
		struct sealed *sealed = &child->seals.at[i];
		auto_close int mount = -EBADF;

		if (sealed->mount < 0 || !path_is_below(sealed->dest, top))
			continue;
		mount = take_fd(&sealed->mount);
		if (mountfd_set_attr(mount, &attr, err) < 0)
			return error_wrap(err, "make the tmpfs on '%s' "
					  "read-only", sealed->dest);
	}
	return 0;
}

int assemble_ops(struct child *child, struct error *err)
{
	if (!child_is_bwrap(child) && (point_prepare_root(child, err) < 0 ||
				       kernelfs_sys(child, err) < 0))
		return error_result(err);
	for (; child->next < child->plan->ops.count; child->next++) {
		const struct op *op = &child->plan->ops.at[child->next];
		struct source *source = &child->sources[child->next];

		child->run->progress->op = child->next;
		if (source->skipped)
			continue;
		if (do_op(child, op, source, err) < 0)
			return op_fail(child, op, err);
	}
	child->run->progress->op = SIZE_MAX;
	/* Every mount point is made. */
	if (assemble_seal(child, "/", err) < 0)
		return error_result(err);
	return root_settle(child, err);
}
