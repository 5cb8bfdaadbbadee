/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The few things that have to be on the host while a run lasts, all of them
 * below directories that the plan names as writable:
 *
 *  - an overlay's upper layer is locked (flock(2)), so that two runs never
 *    write to one; its work directory is made beside it;
 *  - mount points that are missing in a writable workspace, and holders for
 *    protected names that do not exist (holder.c).
 *
 * Each is announced to the janitor before it is made, and removed by the
 * monitor at the end, or by the janitor if the monitor cannot.
 */
#include "engine/commit.h"
#include "engine/conditions.h"

#include "base/text.h"

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
		condition_apply(run->plan, CONDITION_OVERLAY_BUSY,
				&(struct condition_words){ 0 }, err);
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
		     bool *ret_was_left, struct error *err)
{
	char *above = path_normalise(run->arena, upper);
	char *slash = strrchr(above, '/');
	auto_close int parent = -EBADF, made = -EBADF;
	struct leftover work = { .is_directory = true, .is_work = true };
	const char *name;
	struct stat status;

	/* It tells a later run whose the content of the upper layer is. */
	name = arena_printf(run->arena, ".%s.sbx-%swork", slash + 1,
			    run->commit ? "commit-" : "");
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
	*ret_was_left = mkdirat(parent, name, 0700) < 0;
	if (*ret_was_left && errno != EEXIST) {
		error_set(err, errno, "make the work directory '%s/%s'",
			  above, name);
		janitor_forget(run);
		return error_result(err);
	}
	made = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW |
		      O_CLOEXEC);
	if (made < 0 || fstatat(made, "", &status, AT_EMPTY_PATH) < 0) {
		error_set(err, errno, "open the work directory '%s/%s'", above,
			  name);
		/* Empty, and so it is gone before anybody else uses it. */
		if (!*ret_was_left)
			unlinkat(parent, name, AT_REMOVEDIR);
		janitor_forget(run);
		return error_result(err);
	}
	if (geteuid() && status.st_uid != geteuid()) {
		janitor_forget(run);
		return error_set(err, EEXIST, "'%s/%s' is not a work directory "
				 "of ours", above, name);
	}
	if (janitor_made(run, -EBADF, err) < 0)
		return error_result(err);
	/*
	 * Root's payload works with the rights of the upper layer's owner.
	 * Who owns the directory above may have put something else there by
	 * now: what was opened gets the owner, not what has the name.
	 */
	if (!geteuid()) {
		if (stat(upper, &status) < 0 ||
		    fchownat(made, "", status.st_uid, status.st_gid,
			     AT_EMPTY_PATH) < 0)
			return error_set(err, errno, "chown '%s/%s'", above,
					 name);
	}
	*ret_path = path_join(run->arena, above, name);
	return 0;
}

/*
 * The kernel empties "work" in a work directory, and the rest of it is removed
 * at the end.  It makes that one without any permissions, so another one was
 * made by somebody else, for something else.
 */
static int check_work(int work, const char *path, struct error *err)
{
	struct stat status;

	if (fstatat(work, "work", &status, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 :
		       error_set(err, errno, "stat '%s/work'", path);
	if (S_ISDIR(status.st_mode) &&
	    (!(status.st_mode & 0777) ||
	     !unlinkat(work, "work", AT_REMOVEDIR)))
		return 0;
	error_set(err, ENOTEMPTY, "work directory '%s'", path);
	error_remedy(err, "'work' in it would be removed with all that it "
		     "holds; name an empty directory, or none");
	return -ENOTEMPTY;
}

/*
 * The kernel wants upper and work directory in one mount, and the one cannot
 * lie in the other.
 */
static int check_upper(int upper, const char *path, struct error *err)
{
	struct statx info;

	if (statx(upper, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0,
		  &info) < 0 ||
	    !(info.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return 0;
	error_set(err, EXDEV, "upper '%s' is a mount point, so that its work "
		  "directory is in another mount", path);
	error_remedy(err, "make a directory below it, for the upper layer");
	error_reason(err, "overlay-upper");
	err->is_complete = true;
	return -EXDEV;
}

static int prepare_overlay(struct run *run, const struct op *op,
			   struct source *source, struct error *err)
{
	int r = lock_layer(run, "upper", op->upper, err);
	int upper = r < 0 ? -EBADF : run->locks.at[run->locks.count - 1];
	bool was_left = false;

	if (r >= 0)
		r = check_upper(upper, op->upper, err);
	if (r < 0)
		return r;
	if (!op->work) {
		r = make_work(run, op->upper, &source->work_path, &was_left,
			      err);
		return r < 0 || !run->commit || op->role != ROLE_WORKSPACE ?
		       r : commit_claim_upper(run, upper, was_left, err);
	}
	r = lock_layer(run, "work", op->work, err);
	if (r < 0)
		return r;
	r = check_work(run->locks.at[run->locks.count - 1], op->work, err);
	if (r < 0)
		return r;
	/* The kernel leaves a directory without permissions in it. */
	return janitor_expect(run, &(struct leftover){
		.parent_fd = run->locks.at[run->locks.count - 1],
		.name = "work", .is_directory = true, .is_work = true,
		.by_name = true,
	}, err);
}

/* What is to be made in and beside the upper layer could not be made. */
static void explain_upper(const struct run *run, const struct op *op,
			  struct error *err)
{
	const struct condition_words words = {
		.path = op->upper, .value = "a read-only file system",
	};

	if (*err->reason)
		return;
	if (err->code == EROFS)
		condition_apply(run->plan, CONDITION_OVERLAY_UPPER, &words,
				err);
	else if (err->code == EACCES || err->code == EEXIST ||
		 err->code == ENOTEMPTY || err->code == ENOENT)
		error_reason(err, "overlay-upper");
}

int host_prepare(struct run *run, struct error *err)
{
	if (run->plan->rules != PLAN_RULES_PROFILE)
		return 0;
	for (size_t i = 0; i < run->plan->ops.count; i++) {
		const struct op *op = &run->plan->ops.at[i];
		struct child wrapper = { .plan = run->plan,
					 .arena = run->arena };

		if (op->kind != OP_OVERLAY ||
		    prepare_overlay(run, op, &run->sources[i], err) >= 0)
			continue;
		explain_upper(run, op, err);
		return op_fail(&wrapper, op, err);
	}
	return holder_prepare(run, err);
}
