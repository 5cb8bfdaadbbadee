/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The journal (journal_file.c) is written under another name, and gets its own
 * when it and the slots are on the disk.  From then on the changes are decided.
 * It is removed when they are on the disk, too.
 *
 * Steps are taken in order, so that the last one that is done tells how far it
 * went.  A path is looked up below the directory and through no symlink.
 */
#include "engine/journal.h"

#include "sys/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* ---- one step ---------------------------------------------------------------- */

/*
 * The directory that holds @path, O_PATH, and the name in it.  A path may be
 * longer than the kernel takes at a time.
 */
static int open_above(int directory, const char *path, const char **ret_name)
{
	auto_close int current = fcntl(directory, F_DUPFD_CLOEXEC, 3);
	const char *slash;

	while ((slash = strrchr(path, '/'))) {
		char part[PATH_MAX];
		int next;

		while (slash - path >= PATH_MAX)
			slash = memrchr(path, '/', (size_t)(slash - path));
		if (!slash)
			return -ENAMETOOLONG;
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path),
			 path);
		next = rootfs_open(current, part, ROOTFS_NO_SYMLINKS, NULL);
		if (next < 0)
			return next;
		close(current);
		current = next;
		path = slash + 1;
	}
	*ret_name = path;
	return current < 0 ? -errno : take_fd(&current);
}

/* The inode number of @name; 0: it is not there. */
static int look(int directory, const char *name, struct stat *ret_status)
{
	*ret_status = (struct stat){ 0 };
	if (!fstatat(directory, name, ret_status, AT_SYMLINK_NOFOLLOW) ||
	    errno == ENOENT)
		return 0;
	return -errno;
}

enum state { STATE_OPEN, STATE_DONE, STATE_STRANGE };

static int step_state(const struct journal_place *place, int stage,
		      const struct journal_step *step)
{
	const char *name;
	auto_close int above = open_above(place->directory, step->path,
					  &name);
	struct stat there, kept;
	char slot[24];
	int r = above < 0 ? above : look(above, name, &there);

	if (r < 0)
		return r;
	if (step->kind == JOURNAL_MODE) {
		if (!S_ISDIR(there.st_mode))
			return STATE_STRANGE;
		if ((there.st_mode & 07777) == step->now)
			return STATE_DONE;
		return (there.st_mode & 07777) == step->before ? STATE_OPEN :
		       STATE_STRANGE;
	}
	journal_slot(step->slot, slot);
	r = look(stage, slot, &kept);
	if (r < 0)
		return r;
	if (there.st_ino == step->before && kept.st_ino == step->now)
		return STATE_OPEN;
	/* Others may change it again as soon as it is there. */
	return kept.st_ino == step->before ? STATE_DONE : STATE_STRANGE;
}

static int step_move(const struct journal_step *step, int stage, int above,
		     const char *name, bool is_back)
{
	bool is_in = (step->kind == JOURNAL_PUT) != is_back;
	char slot[24];
	int r;

	journal_slot(step->slot, slot);
	if (step->kind == JOURNAL_SWAP)
		r = renameat2(stage, slot, above, name, RENAME_EXCHANGE);
	else if (is_in)
		r = renameat2(stage, slot, above, name, RENAME_NOREPLACE);
	else
		r = renameat2(above, name, stage, slot, RENAME_NOREPLACE);
	return r < 0 ? -errno : 0;
}

/* Take the step, or (@is_back) take it back. */
static int step_take(const struct journal_place *place, int stage,
		     const struct journal_step *step, bool is_back)
{
	const char *name;
	auto_close int above = open_above(place->directory, step->path,
					  &name);

	if (above < 0)
		return above;
	if (step->kind != JOURNAL_MODE)
		return step_move(step, stage, above, name, is_back);
	return fchmodat(above, name, (mode_t)(is_back ? step->before :
					      step->now),
			AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

/* ---- all steps ----------------------------------------------------------------- */

static int take_back(const struct journal_place *place, int stage,
		     const struct journal *journal, size_t done,
		     struct error *err)
{
	while (done-- > 0) {
		const struct journal_step *step = &journal->steps.at[done];
		int r = step_take(place, stage, step, true);

		if (r < 0)
			return error_set(err, -r, "take the change of '%s' "
					 "back", step->path);
	}
	return 0;
}

/*
 * Steps from @done on.  Returns 0, or a negative errno: 1 in *@ret_whole says
 * that then all is as it was before.
 */
static int take_steps(const struct journal_place *place, int stage,
		      const struct journal *journal, size_t done,
		      bool *ret_whole, struct error *err)
{
	struct error back;

	for (; done < journal->steps.count; done++) {
		const struct journal_step *step = &journal->steps.at[done];
		int r = step_state(place, stage, step);
		bool is_strange = r == STATE_STRANGE;

		if (r == STATE_OPEN)
			r = step_take(place, stage, step, false);
		if (r >= 0 && !is_strange)
			continue;
		if (is_strange) {
			error_set(err, 0, "'%s' was changed by somebody else "
				  "meanwhile", step->path);
			error_reason(err, "commit-conflict");
		} else {
			error_set(err, -r, "change '%s'", step->path);
		}
		*ret_whole = take_back(place, stage, journal, done,
				       &back) >= 0;
		if (!*ret_whole)
			*err = back;
		return error_result(err);
	}
	*ret_whole = true;
	return 0;
}

/*
 * How many steps have been taken.  A mode may be what it was before and what
 * it will be in the end, so it tells nothing; it can be set again.  What cannot
 * be looked at tells nothing either.
 */
static size_t count_done(const struct journal_place *place, int stage,
			 const struct journal *journal)
{
	size_t done = journal->steps.count;
	const struct journal_step *step;

	for (; done > 0; done--) {
		step = &journal->steps.at[done - 1];
		if (step->kind != JOURNAL_MODE &&
		    step_state(place, stage, step) == STATE_DONE)
			break;
	}
	return done;
}

/* ---- the whole ------------------------------------------------------------------- */

static int settle_journal(const struct journal_place *place, int stage,
			  const struct journal *journal, struct error *err)
{
	bool is_whole = false;
	int r;

	copy_as(&place->owner);
	r = take_steps(place, stage, journal,
		       count_done(place, stage, journal), &is_whole, err);
	if (is_whole && syncfs(stage) < 0) {
		r = error_set(err, errno, "write the changes");
		is_whole = false;
	}
	copy_as_self(&place->owner);
	/* Taken back is settled as well. */
	return is_whole ? 0 : r;
}

static int settle_stage(const struct journal_place *place, int stage,
			struct error *err)
{
	auto_arena struct arena *arena = arena_new();
	struct journal journal = { 0 };
	struct stat status;
	int r;

	if (fstat(stage, &status) < 0)
		return error_set(err, errno, "stat '%s'", place->stage_path);
	if (geteuid() && geteuid() != status.st_uid)
		return error_set(err, EPERM, "'%s' is another user's",
				 place->stage_path);
	r = journal_read(place, stage, arena, &journal);
	if (r < 0)
		return error_set(err, -r, "read '%s/" JOURNAL_NAME "'",
				 place->stage_path);
	if (!r)
		return journal_check_names(place, stage, err);
	r = settle_journal(place, stage, &journal, err);
	return r < 0 ? error_wrap(err, "complete what '%s' says",
				  place->stage_path) : 0;
}

int journal_settle(const struct journal_place *place, struct error *err)
{
	auto_close int stage = -EBADF;
	int r = journal_check(place, err);

	if (r <= 0)
		return r;
	stage = journal_reopen(place, err);
	r = stage < 0 ? stage : settle_stage(place, stage, err);
	if (r < 0) {
		error_reason(err, "commit-pending");
		return r;
	}
	journal_drop(place);
	return 1;
}

int journal_commit(const struct journal_place *place, int stage,
		   const struct journal *journal, struct error *err)
{
	bool is_whole = true;
	int r;

	copy_as(&place->owner);
	r = journal_write(place, stage, journal);
	if (r < 0)
		error_set(err, -r, "write the journal");
	else
		r = take_steps(place, stage, journal, 0, &is_whole, err);
	/* Only what is on the disk needs no journal any more. */
	if (is_whole && syncfs(stage) < 0) {
		r = error_set(err, errno, "write the changes");
		is_whole = false;
	}
	copy_as_self(&place->owner);
	if (is_whole)
		journal_drop(place);
	else
		error_reason(err, "commit-pending");
	return r;
}
