/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The few things that have to be on the host while a run lasts, all of them
 * below directories that the plan names as writable:
 *
 *  - an overlay's upper layer is locked (flock(2)), so that two runs never
 *    write to one; its work directory is made beside it;
 *  - mount points that are missing in a writable workspace, and holders for
 *    protected names that do not exist.
 *
 * Each is announced to the janitor before it is made, and removed by the
 * monitor at the end, or by the janitor if the monitor cannot.
 */
#include "engine/child.h"

#include "base/text.h"
#include "sys/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

static int open_dir(const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? error_set(err, errno, "open directory '%s'", path) :
	       fd;
}

/* ---- overlays --------------------------------------------------------------- */

static int lock_layer(struct run *run, const char *what, const char *path,
		      struct error *err)
{
	auto_close int fd = open_dir(path, err);

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return error_set(err, errno, "lock '%s'", path);
		error_set(err, EBUSY, "%s '%s' is in use by another run",
			  what, path);
		error_reason(err, "overlay-busy");
		error_remedy(err, "wait for that run to end, or give each run "
			     "an upper directory of its own");
		return -EBUSY;
	}
	*arena_push(run->arena, &run->locks) = fd;
	return janitor_hold(run, take_fd(&fd), err);
}

/*
 * The work directory beside @upper.  With the upper layer locked, one that is
 * there already is what a run left that was killed with its janitor.
 */
static int make_work(struct run *run, const char *upper, const char **ret_path,
		     struct error *err)
{
	char *above = path_normalise(run->arena, upper);
	char *slash = strrchr(above, '/');
	auto_close int parent = -EBADF;
	struct leftover work = { .is_directory = true, .is_work = true };
	const char *name;
	struct stat status;

	name = arena_printf(run->arena, ".%s.sbx-work", slash + 1);
	*slash = '\0';
	if (!*above)
		above = arena_strdup(run->arena, "/");
	parent = open_dir(above, err);
	if (parent < 0)
		return parent;
	work.parent_fd = parent;
	work.name = name;
	if (janitor_expect(run, &work, err) < 0)
		return error_result(err);
	if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST) {
		error_set(err, errno, "make the work directory '%s/%s'",
			  above, name);
		janitor_forget(run);
		return error_result(err);
	}
	if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(status.st_mode) ||
	    (geteuid() && status.st_uid != geteuid())) {
		janitor_forget(run);
		return error_set(err, EEXIST, "'%s/%s' is not a work directory "
				 "of ours", above, name);
	}
	if (janitor_made(run, err) < 0)
		return error_result(err);
	/* Root's payload works with the rights of the upper layer's owner. */
	if (!geteuid()) {
		if (stat(upper, &status) < 0 ||
		    fchownat(parent, name, status.st_uid, status.st_gid,
			     AT_SYMLINK_NOFOLLOW) < 0)
			return error_set(err, errno, "chown '%s/%s'", above,
					 name);
	}
	*ret_path = path_join(run->arena, above, name);
	return 0;
}

static int prepare_overlay(struct run *run, const struct op *op,
			   struct source *source, struct error *err)
{
	int r = lock_layer(run, "upper", op->upper, err);

	if (r < 0)
		return r;
	if (!op->work)
		return make_work(run, op->upper, &source->work_path, err);
	r = lock_layer(run, "work", op->work, err);
	if (r < 0)
		return r;
	/* The kernel leaves a directory without permissions in it. */
	return janitor_expect(run, &(struct leftover){
		.parent_fd = run->locks.at[run->locks.count - 1],
		.name = "work", .is_directory = true, .is_work = true,
		.by_name = true,
	}, err);
}

/* ---- placeholders ------------------------------------------------------------ */

/* A link that the payload of an earlier run may have made. */
static bool no_link(int directory, int link, void *data)
{
	return false;
}

static int make_missing(struct run *run, int parent, const char *name,
			bool is_file, struct error *err)
{
	const struct leftover holder = {
		.parent_fd = parent, .name = name, .is_directory = !is_file,
	};
	struct stat owner;
	int r = janitor_expect(run, &holder, err);

	if (r < 0)
		return r;
	r = is_file ? mknodat(parent, name, S_IFREG | 0444, 0) :
		mkdirat(parent, name, 0755);
	if (r < 0) {
		error_set(err, errno, "make '%s'", name);
		janitor_forget(run);
		return error_result(err);
	}
	if (janitor_made(run, err) < 0)
		return error_result(err);
	if (!geteuid() && !fstatat(parent, "", &owner, AT_EMPTY_PATH) &&
	    fchownat(parent, name, owner.st_uid, owner.st_gid,
		     AT_SYMLINK_NOFOLLOW) < 0)
		return error_set(err, errno, "chown '%s'", name);
	return 0;
}

/*
 * Make what is missing of @path below @base: all of it, or (@only_first) just
 * enough to hold the name.
 */
static int hold_name(struct run *run, int base, const char *path, bool is_file,
		     bool only_first, struct error *err)
{
	struct rootfs_part part;
	auto_close int parent = -EBADF;
	char *rest;
	int r = rootfs_walk(base, path, no_link, NULL, &part, err);

	if (r < 0)
		return r;
	parent = part.fd;
	for (rest = part.rest; *rest;) {
		size_t length = strcspn(rest, "/");
		bool is_last = !rest[length + strspn(rest + length, "/")];
		char *next = rest + length + (rest[length] == '/');
		int below;

		rest[length] = '\0';
		r = make_missing(run, parent, rest, is_file && is_last, err);
		if (r < 0 || is_last || only_first)
			return r;
		below = openat(parent, rest, O_PATH | O_DIRECTORY |
			       O_NOFOLLOW | O_CLOEXEC);
		if (below < 0)
			return error_set(err, errno, "open '%s'", rest);
		close(parent);
		parent = below;
		rest = next;
	}
	return 0;
}

/* Is @path there in a layer below the upper one? */
static bool in_lower(const struct plan_workspace *workspace, const char *path)
{
	for (size_t i = 0; i < workspace->lowers.count; i++) {
		auto_close int base = open(workspace->lowers.at[i], O_PATH |
					   O_DIRECTORY | O_CLOEXEC);
		auto_close int there = base < 0 ? -EBADF :
			rootfs_open(base, path, ROOTFS_NO_SYMLINKS, NULL);

		if (there >= 0)
			return true;
	}
	return false;
}

static bool source_is_file(const struct op *op)
{
	struct stat status;

	return op->kind == OP_BIND && !stat(op->source, &status) &&
	       !S_ISDIR(status.st_mode);
}

static bool needs_point(const struct plan *plan, const struct op *op)
{
	const char *top = plan->workspace.dest;

	if (op->role == ROLE_PROTECT)
		return true;
	return (op->kind == OP_BIND || op->kind == OP_TMPFS) &&
	       op->role != ROLE_WORKSPACE && op->role != ROLE_MASK &&
	       path_is_below(op->dest, top) && strcmp(op->dest, top);
}

static int hold_names(struct run *run, struct error *err)
{
	const struct plan *plan = run->plan;
	const struct plan_workspace *workspace = &plan->workspace;
	bool is_overlay = workspace->mode == WORKSPACE_OVERLAY;
	auto_close int base = -EBADF;

	if (!workspace->source || (workspace->mode != WORKSPACE_RW &&
				   !is_overlay))
		return 0;
	for (size_t i = 0; i < plan->ops.count; i++) {
		const struct op *op = &plan->ops.at[i];
		struct child wrapper = { .plan = plan, .arena = run->arena };
		const char *path = op->dest + strlen(workspace->dest);

		if (!needs_point(plan, op) ||
		    (is_overlay && in_lower(workspace, path)))
			continue;
		if (base < 0)
			base = open_dir(is_overlay ? workspace->upper :
					workspace->source, err);
		if (base < 0)
			return base;
		if (hold_name(run, base, path, source_is_file(op),
			      op->role == ROLE_PROTECT, err) < 0)
			return op_fail(&wrapper, op, err);
	}
	return 0;
}

int host_prepare(struct run *run, struct error *err)
{
	if (run->plan->rules != PLAN_RULES_PROFILE)
		return 0;
	for (size_t i = 0; i < run->plan->ops.count; i++) {
		const struct op *op = &run->plan->ops.at[i];
		struct child wrapper = { .plan = run->plan,
					 .arena = run->arena };

		if (op->kind == OP_OVERLAY &&
		    prepare_overlay(run, op, &run->sources[i], err) < 0)
			return op_fail(&wrapper, op, err);
	}
	return hold_names(run, err);
}
