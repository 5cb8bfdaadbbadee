/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sources become descriptors here, once; no host path is looked up again.
 *
 * Who can look: the child, in its own copy of the host's mount table, with
 * the caller's rights.  A clone of a descriptor from before that copy is
 * refused by the kernel (EINVAL), so everything is opened there.  The
 * exception is a launcher that was started by root and gives the payload an
 * unprivileged host id: what it shows id-mapped must be cloned and mapped
 * with root's rights, before the child exists; only root may attach such a
 * clone elsewhere.
 *
 * Attributes are set on the detached tree, recursively, before anything can
 * be reached through it.  What is optional is decided here and nowhere else.
 *
 * When it turns out that the calls for detached mounts are not there, all is
 * gathered again through mount(2); nothing has been attached yet.
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
#include <sys/sysmacros.h>

void gather_init(struct run *run)
{
	size_t count = run->plan->ops.count;

	run->sources = arena_alloc(run->arena, (count + 1) *
				   sizeof(*run->sources));
	for (size_t i = 0; i < count; i++) {
		run->sources[i].mount = -EBADF;
		run->sources[i].upper = -EBADF;
		run->sources[i].work = -EBADF;
		run->sources[i].work_path = run->plan->ops.at[i].work;
	}
}

void gather_attr(const struct plan *plan, const struct op *op,
		      struct mountfd_attr *ret_attr)
{
	*ret_attr = (struct mountfd_attr){
		.recursive = true,
		.set = MOUNT_ATTR_NOSUID,
		.idmap_userns = -EBADF,
	};
	if (!(op->flags & OP_DEVICES))
		ret_attr->set |= MOUNT_ATTR_NODEV;
	if (op->flags & OP_READ_ONLY)
		ret_attr->set |= MOUNT_ATTR_RDONLY;
	if (plan->rules == PLAN_RULES_PROFILE)
		ret_attr->propagation = MS_PRIVATE;
}

/* A symlink on the way to the workspace is root's or the caller's own. */
static bool trusted_link(int directory, int link, void *data)
{
	struct stat status;

	return !fstatat(link, "", &status, AT_EMPTY_PATH) &&
	       (!status.st_uid || status.st_uid == getuid());
}

/*
 * The directory that is bound as the workspace: not itself a symlink, and
 * reached through trusted ones only.  Returns an O_PATH descriptor.
 */
static int open_without_link(struct arena *arena, const char *path,
			     struct error *err)
{
	auto_close int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct rootfs_part part;
	auto_close int above = -EBADF;
	char *copy = path_normalise(arena, path);
	char *slash = strrchr(copy, '/');
	struct stat status;
	int fd, r;

	if (top < 0)
		return error_set(err, errno, "open '/'");
	fd = rootfs_open(top, path, ROOTFS_NO_SYMLINKS, NULL);
	if (fd != -ELOOP)
		return fd >= 0 ? fd : error_call(err, -fd, "open", "open '%s'",
						 path);
	*slash = '\0';
	r = rootfs_walk(top, *copy ? copy : "/", trusted_link, NULL, &part,
			err);
	if (r < 0) {
		if (r == -ELOOP)
			error_remedy(err, "a symbolic link on the way belongs "
				     "to somebody else; name the real path");
		return r;
	}
	above = part.fd;
	if (part.rest[0])
		return error_call(err, ENOENT, "open", "open '%s'", path);
	fd = openat(above, slash + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_call(err, errno, "open", "open '%s'", path);
	if (!fstatat(fd, "", &status, AT_EMPTY_PATH) &&
	    !S_ISLNK(status.st_mode))
		return fd;
	close(fd);
	error_set(err, ELOOP, "'%s' is a symbolic link", path);
	error_remedy(err, "name the directory that it points to");
	return -ELOOP;
}

/* Is @path one that may not be a symlink itself: the workspace? */
static bool is_bare(const struct plan *plan, const struct op *op,
		    const char *path)
{
	const char *workspace = plan->workspace.source;

	return op->flags & OP_NO_FOLLOW && workspace &&
	       !strcmp(path, workspace);
}

int gather_open(const struct plan *plan, const struct op *op, const char *path,
		struct error *err)
{
	int fd;

	if (is_bare(plan, op, path))
		return open_without_link(plan->arena, path, err);
	fd = open(path, O_PATH | O_CLOEXEC);
	return fd < 0 ? error_call(err, errno, "open", "open '%s'", path) : fd;
}

/*
 * A link of /proc/PID/fd leads into the mount namespace in which the file was
 * opened, of which nothing can be cloned here; the name that the link shows
 * leads to the same in ours.
 */
static int clone_by_name(const char *source, struct error *err)
{
	int mount = mountfd_clone(AT_FDCWD, source, MOUNTFD_RECURSIVE, err);
	auto_free char *name = mount == -EINVAL ? realpath(source, NULL)
						: NULL;

	if (name)
		mount = mountfd_clone(AT_FDCWD, name, MOUNTFD_RECURSIVE, err);
	return mount;
}

int gather_clone(const struct plan *plan, const struct op *op,
		 struct error *err)
{
	auto_close int fd = -EBADF;

	if (!is_bare(plan, op, op->source))
		return clone_by_name(op->source, err);
	fd = open_without_link(plan->arena, op->source, err);
	return fd < 0 ? fd : mountfd_clone(fd, "", MOUNTFD_RECURSIVE, err);
}

int gather_check(const struct op *op, struct source *source, int fd,
		 struct error *err)
{
	const struct file_id *judged = &op->source_id;
	struct statx status;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		  STATX_TYPE | STATX_INO, &status) < 0)
		return error_set(err, errno, "statx of the source");
	source->type = status.stx_mode & S_IFMT;
	if (!judged->inode ||
	    (judged->inode == status.stx_ino &&
	     judged->device == makedev(status.stx_dev_major,
				       status.stx_dev_minor)))
		return 0;
	error_set(err, 0, "somebody put something else in its place while it "
		  "was looked at");
	error_reason(err, "exchanged");
	return error_result(err);
}

bool gather_may_skip(const struct plan *plan, const struct op *op, int mount)
{
	if (!(op->flags & OP_OPTIONAL))
		return false;
	/* bubblewrap's language passes over what is missing, and no more. */
	return mount == -ENOENT || (plan->rules == PLAN_RULES_PROFILE &&
				    (mount == -ENOTDIR || mount == -EACCES));
}

static int gather_bind(const struct child *child, const struct op *op,
		       struct source *source, struct error *err)
{
	struct mountfd_attr attr;
	int mount = gather_clone(child->plan, op, err);

	/*
	 * bubblewrap's language looks for a relative optional source that
	 * is not in the working directory once more below "/".
	 */
	if (mount == -ENOENT && child_is_bwrap(child) &&
	    op->flags & OP_OPTIONAL && *op->source && *op->source != '/')
		mount = mountfd_clone(AT_FDCWD,
				      arena_printf(child->arena, "/%s",
						   op->source),
				      MOUNTFD_RECURSIVE, err);
	if (gather_may_skip(child->plan, op, mount)) {
		source->skipped = true;
		return 0;
	}
	if (mount < 0)
		return op_say(child, err, "Can't find source path %s",
			      op->source);
	source->mount = mount;
	gather_attr(child->plan, op, &attr);
	if (mountfd_set_attr(mount, &attr, err) < 0)
		return op_say(child, err, "Can't bind mount /oldroot%s on "
			      "/newroot/%s: Unable to apply mount flags",
			      op->source, op->dest + strspn(op->dest, "/"));
	return gather_check(op, source, mount, err);
}

/*
 * The path behind a descriptor, opened again in this mount namespace; it has
 * to be the very object that the descriptor shows.
 */
static int gather_bind_fd(const struct child *child, const struct op *op,
			  struct source *source, struct error *err)
{
	auto_close int fd = -EBADF;
	struct stat given, found;
	struct mountfd_attr attr;
	char link[64], path[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", op->fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0) {
		error_set(err, errno, "readlink '%s'", link);
		return op_say(child, err, "Can't find source path %s", link);
	}
	path[length] = '\0';
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0) {
		error_set(err, errno, "open '%s'", path);
		return op_say(child, err, "Can't find source path %s", link);
	}
	if (fstat(op->fd, &given) < 0 || fstat(fd, &found) < 0)
		return error_set(err, errno, "Can't stat fd %d", op->fd);
	if (given.st_dev != found.st_dev || given.st_ino != found.st_ino)
		return error_set(err, 0, "Race condition binding dirfd: "
				 "'%s' is not what descriptor %d shows", path,
				 op->fd);
	source->mount = mountfd_clone(fd, "", MOUNTFD_RECURSIVE, err);
	if (source->mount < 0)
		return error_result(err);
	gather_attr(child->plan, op, &attr);
	if (mountfd_set_attr(source->mount, &attr, err) < 0)
		return error_result(err);
	return gather_check(op, source, source->mount, err);
}

static int open_layer(const struct child *child, const struct op *op,
		      const char *path, struct error *err)
{
	int fd = gather_open(child->plan, op, path, err);

	return fd >= 0 ? fd :
	       op_say(child, err, "Can't find source path %s", path);
}

static int gather_overlay(const struct child *child, const struct op *op,
			  struct source *source, struct error *err)
{
	/* Cloned and id-mapped outside: nothing is left to open. */
	if (source->lowers.count)
		return 0;
	for (size_t i = 0; i < op->lowers.count; i++) {
		int fd = open_layer(child, op, op->lowers.at[i], err);

		if (fd < 0)
			return fd;
		*arena_push(child->arena, &source->lowers) = fd;
	}
	if (op->upper) {
		source->upper = open_layer(child, op, op->upper, err);
		if (source->upper < 0 ||
		    gather_check(op, source, source->upper, err) < 0)
			return error_result(err);
	}
	if (source->work_path) {
		source->work = open_layer(child, op, source->work_path, err);
		if (source->work < 0)
			return source->work;
	}
	source->type = S_IFDIR;
	return 0;
}

/* Without a pid namespace of its own /proc is the host's. */
static int clone_proc(const struct child *child, const struct op *op,
		      struct source *source, struct error *err)
{
	struct mountfd_attr attr = {
		.set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
		.recursive = true,
	};

	if (!child_is_bwrap(child)) {
		attr.propagation = MS_PRIVATE;
		attr.set |= MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC;
	}
	source->mount = mountfd_clone(AT_FDCWD, "/proc", MOUNTFD_RECURSIVE,
				      err);
	if (source->mount < 0 ||
	    mountfd_set_attr(source->mount, &attr, err) < 0)
		return op_say(child, err, "Can't bind mount /oldroot/proc on "
			      "/newroot/%s", op->dest + strspn(op->dest, "/"));
	return 0;
}

/*
 * A new procfs is given only to who can see a whole one (mount_too_revealing
 * in the kernel), so it is made while the host's is still there.
 */
static int gather_proc(const struct child *child, const struct op *op,
		       struct source *source, struct error *err)
{
	if (child->plan->ns[NS_PID].want == NS_WANT_HOST)
		return clone_proc(child, op, source, err);
	source->mount = mountfd_new("proc", NULL, 0, MOUNT_ATTR_NOSUID |
				    MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err);
	if (source->mount >= 0)
		return 0;
	return op_say(child, err, "Can't mount proc on /newroot/%s",
		      op->dest + strspn(op->dest, "/"));
}

static int gather_op(const struct child *child, const struct op *op,
		     struct source *source, struct error *err)
{
	switch (op->kind) {
	case OP_BIND:
		if (source->mount >= 0 || source->skipped)
			return 0;
		return gather_bind(child, op, source, err);
	case OP_BIND_FD:
		return gather_bind_fd(child, op, source, err);
	case OP_OVERLAY:
	case OP_TMP_OVERLAY:
	case OP_RO_OVERLAY:
		return gather_overlay(child, op, source, err);
	case OP_PROC:
		return gather_proc(child, op, source, err);
	case OP_DEV:
		return apifs_gather_dev(child->arena, child->plan, source,
					err);
	case OP_REMOUNT_RO:
	case OP_TMPFS:
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
	return 0;
}

static int gather_all(struct child *child, struct error *err)
{
	for (size_t i = 0; i < child->plan->ops.count; i++) {
		const struct op *op = &child->plan->ops.at[i];
		struct source *source = &child->sources[i];

		child->run->progress->op = i;
		if (gather_op(child, op, source, err) < 0)
			return op_fail(child, op, err);
		if (source->skipped && !source->is_told) {
			struct message message = {
				.kind = MESSAGE_SKIPPED, .index = i,
			};

			if (run_send(child->run->child_socket, &message,
				     err) < 0)
				return error_result(err);
			source->is_told = true;
		}
	}
	child->run->progress->op = SIZE_MAX;
	/* What comes next must not find that the last call is not there. */
	return mountfd_prove(err);
}

/* Forget what an attempt has gathered; what is not there stays left out. */
static int drop(const struct op *op, struct source *source,
		struct error *err)
{
	/* Whatever else works: this cannot be made again. */
	if (source->is_mapped)
		return gather_fail_idmap(op->source ? op->source : op->dest,
					 err);
	for (size_t i = 0; i < source->devices.count; i++)
		mem_close_fd(&source->devices.at[i]);
	for (size_t i = 0; i < source->lowers.count; i++)
		mem_close_fd(&source->lowers.at[i]);
	source->devices.count = source->lowers.count = 0;
	mem_close_fd(&source->mount);
	mem_close_fd(&source->upper);
	mem_close_fd(&source->work);
	return 0;
}

int gather_sources(struct child *child, struct error *err)
{
	const struct run_ids *ids = &child->run->ids;
	const char *call;
	int r = mountfd_missing(&call) ? -ENOSYS : gather_all(child, err);

	if (r >= 0 || !mountfd_missing(&call))
		return r;
	for (size_t i = 0; i < child->plan->ops.count; i++) {
		const struct op *op = &child->plan->ops.at[i];

		if (drop(op, &child->sources[i], err) < 0)
			return op_fail(child, op, err);
	}
	child->run->progress->op = SIZE_MAX;
	if (mountfd_fall_back(child->procfs, ids->switches ? ids->inside_uid :
			      geteuid(), ids->switches ? ids->inside_gid :
			      getegid(), err) < 0 ||
	    gather_all(child, err) < 0)
		return error_result(err);
	return mountfd_settle(err);
}
