/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A commit is optimistic: nobody is kept from the lower layer while the
 * payload runs, and what is changed in it by then is seen at the end, by its
 * times.  File systems stamp with the clock's last tick, so the payload starts
 * in a later tick than the one in which `since` was taken: what is younger has
 * been changed since, what is not has not.
 *
 * The upper layer begins empty, or the changes of some earlier run, which may
 * have failed, would become a part of this one's.  In the end it is emptied,
 * unless the commit failed: then it is all that is left of the work.  Its
 * mark, as long as it is in use, is the name of the work directory beside it
 * (host.c); found by a run that has the layer's lock it tells of a run that was
 * killed.
 */
#include "engine/commit.h"

#include "base/text.h"
#include "sys/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* ---- before the run ---------------------------------------------------------- */

/*
 * Some seconds for others to end their commit: what takes longer is big, and
 * better tried again.
 */
enum { LOCK_WAIT_MS = 10000 };

/*
 * A stranger's directory by the name of a stage: can one who commits to the
 * directory have left it?  Only whom its owner lets write to it.
 */
static bool others_commit(const struct journal_place *place)
{
	struct stat status;

	return fstat(place->directory, &status) < 0 || status.st_mode & 022;
}

static int settle_locked(const struct run *run, const char *path,
			 const struct journal_place *place, struct error *err)
{
	const struct plan_workspace *workspace = &run->plan->workspace;
	bool commits = workspace->commits &&
		       !strcmp(path, plan_commit_target(run->plan));
	int r = journal_check(place, err);

	if (r < 0 && commits)
		return error_wrap(err, "%s: commit", origin_text(run->arena,
				  &workspace->commit_origin));
	if (r < 0)
		return others_commit(place) ? r : 0;
	if (!r || run->options->is_check)
		return 0;
	r = journal_settle(place, err);
	return r < 0 ? error_wrap(err, "'%s', to which a run was committing",
				  path) : 0;
}

static int settle(struct run *run, const char *path, struct error *err)
{
	struct journal_place place;
	int r = journal_find(run->arena, path, &place, err);

	/* Whatever is wrong with it: then nothing is pending. */
	if (r < 0)
		return 0;
	r = journal_lock(&place, LOCK_WAIT_MS, err);
	if (r >= 0) {
		r = settle_locked(run, path, &place, err);
		journal_unlock(&place);
	}
	close(place.directory);
	close(place.parent);
	return r;
}

/* Cheap, since nearly always there is nothing. */
static bool is_pending(struct arena *arena, const char *path)
{
	auto_close int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *stage = fd < 0 ? NULL : journal_stage_path(arena, fd);

	return stage && !faccessat(AT_FDCWD, stage, F_OK,
				   AT_SYMLINK_NOFOLLOW);
}

int commit_settle(struct run *run, struct error *err)
{
	const struct plan_workspace *workspace = &run->plan->workspace;
	int r = 0;

	if (run->plan->rules != PLAN_RULES_PROFILE || !workspace->source)
		return 0;
	if (is_pending(run->arena, workspace->source))
		r = settle(run, workspace->source, err);
	for (size_t i = 0; !r && i < workspace->lowers.count; i++)
		if (is_pending(run->arena, workspace->lowers.at[i]))
			r = settle(run, workspace->lowers.at[i], err);
	return r;
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec ||
	       (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

static void note_time(struct commit *commit)
{
	const struct timespec pause = { .tv_nsec = 500000 };
	struct timespec tick;

	clock_gettime(CLOCK_REALTIME, &commit->since);
	do {
		nanosleep(&pause, NULL);
		clock_gettime(CLOCK_REALTIME_COARSE, &tick);
		/* Somebody has set the clock back. */
		if (tick.tv_sec + 1 < commit->since.tv_sec)
			commit->since = tick;
	} while (!is_later(&tick, &commit->since));
}

/* Masks, layers, mounts and protected names below the workspace. */
static void list_guarded(struct run *run, struct commit *commit)
{
	const struct plan *plan = run->plan;
	const struct plan_workspace *workspace = &plan->workspace;
	const char *top = workspace->real_dest ? workspace->real_dest :
			  workspace->dest;

	for (size_t i = 0; i < plan->ops.count; i++) {
		const struct op *op = &plan->ops.at[i];
		const char *place = op_place(op);

		if (op->role != ROLE_WORKSPACE && place &&
		    path_is_below(place, top) && strcmp(place, top) != 0)
			*arena_push(run->arena, &commit->guarded) =
				place + strlen(top) + 1;
	}
}

static int check_access(const struct commit *commit, const char *path,
			struct error *err)
{
	const int mode = R_OK | W_OK | X_OK;

	/* For root it is the owner's rights that count, in the end. */
	if (faccessat(commit->place.directory, ".", mode, AT_EACCESS) < 0 &&
	    (geteuid() || errno == EROFS))
		return error_set(err, errno, "write to '%s'", path);
	if (geteuid() &&
	    faccessat(commit->place.parent, ".", mode, AT_EACCESS) < 0) {
		error_set(err, errno, "write beside '%s'", path);
		error_remedy(err, "a commit is prepared in the directory that "
			     "holds the lower layer");
		return error_result(err);
	}
	return 0;
}

/* The rules were asked about what the name led to then. */
static int check_target(const struct run *run, const struct commit *commit,
			const char *path, struct error *err)
{
	const struct file_id *judged = &run->plan->workspace.target_id;
	struct stat status;

	if (fstat(commit->place.directory, &status) < 0)
		return error_set(err, errno, "stat '%s'", path);
	if (status.st_dev == judged->device && status.st_ino == judged->inode)
		return 0;
	error_set(err, ESTALE, "somebody put something else in place of '%s' "
		  "while it was looked at", path);
	error_reason(err, "exchanged");
	return -ESTALE;
}

/* One that cannot be read would never say anything, or "no" at once. */
static int take_gate(struct run *run, struct error *err)
{
	const struct plan_workspace *workspace = &run->plan->workspace;
	int fd = workspace->commit_fd, flags;

	*arena_push(run->arena, &run->monitor_fds) = fd;
	if (fd < 0)
		return 0;
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return error_set(err, errno, "commit-fd %d", fd);
	if ((flags & O_ACCMODE) != O_WRONLY && !(flags & O_PATH))
		return 0;
	error_set(err, EBADF, "%s: descriptor %d is not open for reading",
		  origin_text(run->arena, &workspace->commit_fd_origin), fd);
	error_reason(err, "descriptor");
	return error_result(err);
}

int commit_prepare(struct run *run, struct error *err)
{
	const struct plan_workspace *workspace = &run->plan->workspace;
	const char *path = plan_commit_target(run->plan);
	struct commit *commit;
	int r;

	if (!workspace->commits)
		return 0;
	commit = arena_alloc(run->arena, sizeof(*commit));
	commit->upper = SIZE_MAX;
	r = journal_find(run->arena, path, &commit->place, err);
	if (r >= 0) {
		run->commit = commit;
		r = check_target(run, commit, path, err);
		if (r >= 0)
			r = check_access(commit, path, err);
	}
	if (r < 0)
		return error_wrap(err, "%s: commit", origin_text(run->arena,
				  &workspace->commit_origin));
	list_guarded(run, commit);
	r = take_gate(run, err);
	if (r < 0)
		return r;
	note_time(commit);
	return 0;
}

size_t commit_fds(const struct run *run, int *ret_fds)
{
	if (!run->commit)
		return 0;
	ret_fds[0] = run->commit->place.directory;
	ret_fds[1] = run->commit->place.parent;
	return COMMIT_FDS_MOST;
}

int commit_claim_upper(struct run *run, int upper, bool was_left,
		       struct error *err)
{
	const struct plan_workspace *workspace = &run->plan->workspace;
	const struct leftover content = {
		.parent_fd = upper, .name = ".", .is_directory = true,
		.is_work = true, .by_name = true,
	};
	struct tree_names names;
	bool is_empty;
	int r;

	/* A look only. */
	if (run->options->is_check)
		return 0;
	if (was_left) {
		r = tree_remove(upper, ".");
		if (r < 0)
			return error_set(err, -r, "empty upper '%s'",
					 workspace->upper);
	}
	r = tree_list(upper, &names);
	if (r < 0)
		return error_set(err, -r, "read upper '%s'", workspace->upper);
	is_empty = !names.count;
	tree_forget(&names);
	if (!is_empty) {
		error_set(err, ENOTEMPTY, "upper '%s'", workspace->upper);
		error_reason(err, "overlay-upper");
		error_remedy(err, "what an earlier run left there would be "
			     "committed with this one's changes: save it "
			     "elsewhere, and empty the directory");
		return -ENOTEMPTY;
	}
	run->commit->upper = run->leftovers.count;
	return janitor_expect(run, &content, err);
}

/* ---- after it ------------------------------------------------------------------ */

static int run_locked(struct run *run, int upper, struct error *err)
{
	auto_arena struct arena *arena = arena_new();
	const struct journal_place *place = &run->commit->place;
	struct journal journal = { 0 };
	auto_close int stage = -EBADF;
	int r = journal_settle(place, err);

	if (r >= 0) {
		stage = journal_open(place, err);
		r = stage;
	}
	if (r < 0)
		return r;
	r = commit_stage(run, arena, upper, stage, &journal, err);
	if (r < 0 || !journal.steps.count) {
		journal_drop(place);
		return r;
	}
	return journal_commit(place, stage, &journal, err);
}

int commit_run(struct run *run, int upper, struct error *err)
{
	struct commit *commit = run->commit;
	int r = journal_lock(&commit->place, LOCK_WAIT_MS, err);

	if (r >= 0) {
		r = run_locked(run, upper, err);
		journal_unlock(&commit->place);
	}
	if (r >= 0) {
		commit->is_done = true;
		return 0;
	}
	/* What the payload made is there, and nowhere else. */
	if (commit->upper < run->leftovers.count)
		janitor_keep(run, commit->upper);
	if (!err->reason[0])
		error_reason(err, "commit");
	error_remedy(err, "the changes are still in '%s', and none of them is "
		     "in '%s'", run->plan->workspace.upper,
		     plan_commit_target(run->plan));
	return error_wrap(err, "commit");
}

void commit_recover(const struct run *run)
{
	struct error ignored;

	/* What an earlier run left is none of a check's. */
	if (!run->commit || run->options->is_check)
		return;
	/* The lock is the monitor's, and with the descriptor ours. */
	if (journal_lock(&run->commit->place, LOCK_WAIT_MS, &ignored) < 0)
		return;
	journal_settle(&run->commit->place, &ignored);
	journal_unlock(&run->commit->place);
}
