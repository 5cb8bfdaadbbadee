/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Mount points: finding them in the new root, and making those that are
 * missing.
 *
 * bubblewrap's language makes what is missing where it is missing, on the
 * host too when the directory is one of the host's.  A profile never touches
 * the host: in a tmpfs of ours the mount point is simply made; anywhere else
 * the directory that lacks it is covered by a tmpfs in which every entry of
 * the directory is mounted again and the missing one is added (an underlay).
 * That needs the directory to be read-only for the payload, which is checked:
 * what it would write there must not vanish into a tmpfs.
 *
 * A directory that the payload may not search, such as root's own when root's
 * payload is somebody else, is covered as well, by a tmpfs with the mount
 * point alone: nothing else in it could have been seen.
 *
 * Under a profile's rules a symlink on the way counts only where the payload
 * cannot have made it.
 */
#include "engine/child.h"
#include "engine/conditions.h"

#include "base/text.h"
#include "sys/mountfd.h"
#include "sys/rootfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

void point_is_own(struct child *child, int mount)
{
	struct error ignored;
	uint64_t id;

	if (!mountfd_id(mount, "", &id, &ignored))
		*arena_push(child->arena, &child->own_mounts) = id;
}

void point_is_memory(struct child *child, int mount)
{
	struct error ignored;
	uint64_t id;

	if (!mountfd_id(mount, "", &id, &ignored))
		*arena_push(child->arena, &child->memory_mounts) = id;
}

static bool is_in(const uint64_t *ids, size_t count, int fd)
{
	struct error ignored;
	uint64_t id;

	if (!count || mountfd_id(fd, "", &id, &ignored) < 0)
		return false;
	while (count--)
		if (ids[count] == id)
			return true;
	return false;
}

static bool is_own(const struct child *child, int fd)
{
	return is_in(child->own_mounts.at, child->own_mounts.count, fd);
}

/* May mount points be made in it without touching the host? */
static bool is_free(const struct child *child, int fd)
{
	return is_own(child, fd) ||
	       is_in(child->memory_mounts.at, child->memory_mounts.count, fd);
}

/* Can the payload write to the mount that @fd is in? */
static bool is_writable(const struct child *child, int fd)
{
	struct statvfs status;

	if (is_own(child, fd))
		return false;
	return fstatvfs(fd, &status) < 0 || !(status.f_flag & ST_RDONLY);
}

static bool guard_link(int directory, int link, void *data)
{
	return !is_writable(data, directory);
}

static int walk(struct child *child, const char *dest,
		struct rootfs_part *ret_part, struct error *err)
{
	bool guarded = !child_is_bwrap(child);
	int r = rootfs_walk(child->root, dest, guarded ? guard_link : NULL,
			    child, ret_part, err);

	if (r == -ELOOP && guarded)
		error_remedy(err, "a symbolic link on the way lies where the "
			     "payload can write, so it is not followed; name "
			     "the directory that it points to");
	return r;
}

int point_find(struct child *child, const char *dest, struct error *err)
{
	struct rootfs_part part;
	int r = walk(child, dest, &part, err);

	if (r < 0)
		return r;
	if (!part.rest[0])
		return part.fd;
	close(part.fd);
	return -ENOENT;
}

/* One entry of a directory that is to be shown again in a tmpfs. */
struct entry {
	const char *name;
	const char *target; /* of a symlink */
	int mount;
	bool is_directory;
};

struct entries {
	struct entry *at;
	size_t count, cap;
};

static int copy_entry(struct child *child, int directory, const char *name,
		      struct entry *entry, struct error *err)
{
	char target[PATH_MAX];
	struct stat status;
	ssize_t length;

	entry->name = arena_strdup(child->arena, name);
	entry->mount = -EBADF;
	if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set(err, errno, "stat '%s'", name);
	if (S_ISLNK(status.st_mode)) {
		length = readlinkat(directory, name, target,
				    sizeof(target) - 1);
		if (length < 0)
			return error_set(err, errno, "readlink '%s'", name);
		entry->target = arena_strndup(child->arena, target,
					      (size_t)length);
		return 0;
	}
	entry->is_directory = S_ISDIR(status.st_mode);
	entry->mount = mountfd_clone(directory, name, MOUNTFD_RECURSIVE |
				     MOUNTFD_NOFOLLOW, err);
	return entry->mount < 0 ? entry->mount : 0;
}

static int copy_entries(struct child *child, int directory,
			struct entries *ret_entries, struct error *err)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *found;
	DIR *stream;
	int r = 0;

	if (fd < 0)
		return error_set(err, errno, "read the directory that lacks "
				 "the mount point");
	stream = fdopendir(fd);
	if (!stream) {
		r = error_set(err, errno, "fdopendir");
		close(fd);
		return r;
	}
	while (!r && (errno = 0, found = readdir(stream))) {
		if (!strcmp(found->d_name, ".") || !strcmp(found->d_name, ".."))
			continue;
		r = copy_entry(child, directory, found->d_name,
			       arena_push(child->arena, ret_entries), err);
	}
	if (!r && errno)
		r = error_set(err, errno, "readdir");
	closedir(stream);
	return r;
}

static int show_entry(int directory, struct entry *entry, struct error *err)
{
	auto_close int mount = take_fd(&entry->mount);
	auto_close int point = -EBADF;

	if (entry->target) {
		if (symlinkat(entry->target, directory, entry->name) < 0)
			return error_set(err, errno, "symlink '%s'",
					 entry->name);
		return 0;
	}
	point = rootfs_make(directory, entry->name, 0, !entry->is_directory,
			    entry->is_directory ? 0755 : 0444, err);
	if (point < 0)
		return point;
	return mountfd_attach(mount, point, entry->name, err);
}

/*
 * Cover the directory where @part ends by a tmpfs that shows the same entries.
 * Returns the tmpfs, in which more can be made.
 */
static int underlay(struct child *child, const struct rootfs_part *part,
		    struct error *err)
{
	const char *path = part->real;
	struct entries entries = { 0 };
	struct op op = {
		.kind = OP_TMPFS, .flags = OP_READ_ONLY, .size = 4 << 20,
		.dest = arena_strdup(child->arena, *path ? path : "/"),
	};
	auto_close int mount = -EBADF;
	struct stat status;
	int r;

	if (fstatat(part->fd, "", &status, AT_EMPTY_PATH) < 0)
		return error_set(err, errno, "stat '%s'", op.dest);
	op.mode = part->is_closed ? 0755 : status.st_mode & 01777;
	/* Clones of a tmpfs that is not sealed yet would stay writable. */
	if (assemble_seal(child, op.dest, err) < 0 ||
	    (!part->is_closed &&
	     copy_entries(child, part->fd, &entries, err) < 0))
		return error_result(err);
	mount = apifs_tmpfs(child, &op, true, err);
	if (mount < 0)
		return mount;
	r = *path ? mountfd_attach(mount, part->fd, path, err) :
		    root_replace(child, mount, err);
	for (size_t i = 0; !r && i < entries.count; i++)
		r = show_entry(mount, &entries.at[i], err);
	return r < 0 ? r : take_fd(&mount);
}

/* Does an operation before number @index decide what is at its place? */
static bool is_covered(const struct plan *plan, size_t index)
{
	const char *place = op_place(&plan->ops.at[index]);

	for (size_t i = 0; i < index; i++)
		if (plan->ops.at[i].phase != PHASE_ROOT &&
		    path_is_below(place, op_place(&plan->ops.at[i])))
			return true;
	return false;
}

static int prepare_point(struct child *child, const struct op *op,
			 struct error *err)
{
	struct rootfs_part part;
	auto_close int directory = -EBADF, cover = -EBADF;
	int r = walk(child, op->dest, &part, err);

	if (r < 0)
		return r;
	directory = part.fd;
	if (!part.rest[0] || !S_ISDIR(part.type) ||
	    is_free(child, directory) ||
	    (is_writable(child, directory) && !part.is_closed))
		return 0;
	cover = underlay(child, &part, err);
	return cover < 0 ? cover : 0;
}

int point_prepare_root(struct child *child, struct error *err)
{
	const struct plan *plan = child->plan;

	for (size_t i = child->next; i < plan->ops.count; i++) {
		const struct op *op = &plan->ops.at[i];

		if (op->flags & OP_OPTIONAL && op->role == ROLE_MASK)
			continue;
		if (op->kind == OP_HIDE || op->kind == OP_REMOUNT_RO ||
		    child->sources[i].skipped || is_covered(plan, i))
			continue;
		child->run->progress->op = i;
		if (prepare_point(child, op, err) < 0)
			return op_fail(child, op, err);
	}
	child->run->progress->op = SIZE_MAX;
	return 0;
}

/* What bubblewrap's language gives the parents of a mount point. */
static mode_t parent_mode(const struct op *op)
{
	unsigned mode = op->mode, shown;

	switch (op->kind) {
	case OP_TMPFS:
	case OP_DIR:
		shown = mode == OP_MODE_NONE ? 0755 : mode;
		break;
	case OP_FILE:
		shown = mode == OP_MODE_NONE ? 0666 : mode;
		break;
	case OP_BIND_DATA:
		shown = mode == OP_MODE_NONE ? 0600 : mode;
		break;
	case OP_BIND:
	case OP_BIND_FD:
	case OP_REMOUNT_RO:
	case OP_OVERLAY:
	case OP_TMP_OVERLAY:
	case OP_RO_OVERLAY:
	case OP_PROC:
	case OP_DEV:
	case OP_MQUEUE:
	case OP_SYMLINK:
	case OP_CHMOD:
	case OP_HIDE:
	case OP_PROTECT:
	case OP_COUNT:
	default:
		shown = 0;
		break;
	}
	return 0755 & ~((shown & 070 ? 0U : 050U) | (shown & 07 ? 0U : 05U));
}

static int check_type(struct child *child, const struct op *op, mode_t type,
		      bool is_file, struct error *err)
{
	if (is_file == !S_ISDIR(type))
		return 0;
	if (is_file) {
		error_set(err, child_is_bwrap(child) ? 0 : EISDIR,
			  "'%s' is a directory, what is mounted there is not",
			  op->dest);
		condition_apply(child->plan, CONDITION_POINT_KIND,
				&(struct condition_words){ 0 }, err);
		return op_say(child, err, "Destination is not a file %s",
			      op->dest);
	}
	error_set(err, child_is_bwrap(child) ? 0 : ENOTDIR,
		  "'%s' is a file, what is mounted there is a directory",
		  op->dest);
	condition_apply(child->plan, CONDITION_POINT_KIND,
			&(struct condition_words){ 0 }, err);
	return op_say(child, err, "Destination is not a directory %s",
		      op->dest);
}

/* Name the component that is in the way, where it is one of @op->dest. */
static void fail_parent(const struct child *child, const struct op *op,
			const struct rootfs_part *part, struct error *err)
{
	size_t whole = strlen(op->dest), rest = strlen(part->rest);

	if (rest + 1 < whole && !strcmp(op->dest + whole - rest, part->rest))
		error_set(err, ENOTDIR, "'%.*s' is a file",
			  (int)(whole - rest - 1), op->dest);
	else
		error_set(err, ENOTDIR, "what lies before '%s' is a file",
			  part->rest);
	condition_apply(child->plan, CONDITION_POINT_PARENT,
			&(struct condition_words){ 0 }, err);
}

static int fail_missing(const struct child *child, const struct op *op,
			struct error *err)
{
	error_set(err, ENOENT, "the mount point '%s' is missing in a directory "
		  "of the host that is writable inside", op->dest);
	condition_apply(child->plan, CONDITION_POINT_MISSING,
			&(struct condition_words){ 0 }, err);
	return -ENOENT;
}

/* Make what is missing, where the rules of the plan want it. */
static int make_point(struct child *child, const struct op *op,
		      const struct rootfs_part *part, bool is_file,
		      mode_t mode, struct error *err)
{
	auto_close int cover = -EBADF;
	bool is_bwrap = child_is_bwrap(child);
	int point;

	if (!S_ISDIR(part->type))
		fail_parent(child, op, part, err);
	if (!S_ISDIR(part->type) && is_bwrap)
		return op_say(child, err, "Can't mkdir parents for %s",
			      op->dest);
	if (!S_ISDIR(part->type))
		return -ENOTDIR;
	if (!is_bwrap && !is_free(child, part->fd)) {
		if (is_writable(child, part->fd) && !part->is_closed)
			return fail_missing(child, op, err);
		cover = underlay(child, part, err);
		if (cover < 0)
			return cover;
	}
	point = rootfs_make(cover < 0 ? part->fd : cover, part->rest,
			    is_bwrap ? parent_mode(op) : 0755, is_file, mode,
			    err);
	if (point >= 0 || !is_bwrap)
		return point;
	if (strchr(part->rest, '/'))
		return op_say(child, err, "Can't mkdir parents for %s",
			      op->dest);
	if (is_file)
		return op_say(child, err, "Can't create file %s", op->dest);
	return op_say(child, err, "Can't mkdir %s", op->dest);
}

static int open_or_make(struct child *child, const struct op *op, bool is_file,
			mode_t mode, struct error *err)
{
	struct rootfs_part part;
	auto_close int found = -EBADF;
	int r = walk(child, op->dest, &part, err);

	if (r < 0)
		return op_say(child, err, is_file ? "Can't create file %s" :
			      "Can't mkdir %s", op->dest);
	found = part.fd;
	if (part.rest[0])
		return make_point(child, op, &part, is_file, mode, err);
	r = check_type(child, op, part.type, is_file, err);
	return r < 0 ? r : take_fd(&found);
}

int point_open(struct child *child, const struct op *op, bool is_file,
	       struct error *err)
{
	return open_or_make(child, op, is_file, is_file ? 0444 : 0755, err);
}

int point_open_parent(struct child *child, const struct op *op,
		      const char **ret_name, struct error *err)
{
	mode_t mode = child_is_bwrap(child) ? parent_mode(op) : 0755;
	size_t end = strlen(op->dest), start;
	struct op parent = *op;
	int fd;

	while (end && op->dest[end - 1] == '/')
		end--;
	for (start = end; start && op->dest[start - 1] != '/'; start--)
		;
	parent.dest = arena_strndup(child->arena, op->dest, start);
	fd = open_or_make(child, &parent, false, mode, err);
	if (fd < 0 && !err->code)
		err->code = ENOTDIR;
	if (fd < 0)
		return op_say(child, err, "Can't mkdir parents for %s",
			      op->dest);
	/* Of "/", the name in itself. */
	*ret_name = end == start ? "." :
		    arena_strndup(child->arena, op->dest + start, end - start);
	return fd;
}
