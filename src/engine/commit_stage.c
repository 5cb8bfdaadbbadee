/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The upper layer, turned into the steps of a commit.
 *
 * A directory that is new or replaces another one is staged whole and moved
 * with all that is in it; so steps are in directories only that were there
 * before, and no payload decides how many directories a path has.
 *
 * What lands is what a copy holds (copy.h), and symlinks, wherever they lead:
 * they are not followed here, and a virtual environment is full of links to
 * the outside.  Devices, sockets and FIFOs are as if they were not there.
 *
 * A file that replaces another gets its owner and group, and what is new the
 * group of a directory that hands its own on, as if it had been written there;
 * but only as far as who writes may give files away.
 *
 * A directory's mode may forbid its owner what has to be done in it.  Such a
 * mode is widened first and set again last, each a step of its own.
 */
#include "engine/commit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct staging {
	struct run *run;
	const struct commit *commit;
	struct arena *arena;
	int stage;
	size_t slots;
	struct journal first, moves, last; /* the three parts */
	struct copy *copy;  /* a directory that is staged whole */
	size_t depth;       /* of the walk in it */
	size_t whole;       /* its step in @moves */
};

/* ---- steps ------------------------------------------------------------------- */

static struct journal_step *add_step(struct staging *staging,
				     struct journal *journal,
				     enum journal_kind kind,
				     const struct change *change)
{
	struct journal_step *step = arena_push(staging->arena,
					       &journal->steps);

	step->kind = kind;
	step->path = arena_strdup(staging->arena, change->path);
	return step;
}

/* A mode that is @from at the time of the step. */
static void add_mode(struct staging *staging, struct journal *journal,
		     const struct change *change, mode_t from, mode_t to)
{
	struct journal_step *step;

	if (from == to)
		return;
	step = add_step(staging, journal, JOURNAL_MODE, change);
	step->before = from;
	step->now = to;
}

/* Can the owner of the directory not do everything with it? */
static mode_t widen(mode_t mode)
{
	return (mode & 07777) | 0700;
}

/* The step that puts @staging's next slot to @change, takes it away, or both. */
static struct journal_step *add_move(struct staging *staging,
				     const struct change *change, bool puts)
{
	bool takes = change->below >= 0;
	struct journal_step *step = add_step(staging, &staging->moves,
		!takes ? JOURNAL_PUT : puts ? JOURNAL_SWAP : JOURNAL_TAKE,
		change);

	step->slot = staging->slots++;
	if (!takes)
		return step;
	step->before = change->before.st_ino;
	/* A directory that moves has to be writable itself. */
	if (S_ISDIR(change->before.st_mode))
		add_mode(staging, &staging->first, change,
			 change->before.st_mode & 07777,
			 widen(change->before.st_mode));
	return step;
}

static int note_slot(const struct staging *staging, struct journal_step *step,
		     struct error *err)
{
	struct stat status;
	char slot[24];

	journal_slot(step->slot, slot);
	if (fstatat(staging->stage, slot, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set(err, errno, "stat what was staged");
	step->now = status.st_ino;
	return 0;
}

/* A copy below the stage, for one entry. */
static int begin_copy(const struct staging *staging, struct copy **ret_copy,
		      struct error *err)
{
	int top = fcntl(staging->stage, F_DUPFD_CLOEXEC, 3);

	if (top < 0)
		return error_set(err, errno, "dup");
	return copy_begin(top, 0, &staging->commit->place.owner, NULL,
			  ret_copy, err);
}

/* Of a directory with the set-group-ID bit; false: it has none. */
static bool hands_on(const struct change *change, gid_t *ret_group)
{
	struct stat above;

	if (change->beside < 0 || fstat(change->beside, &above) < 0 ||
	    !(above.st_mode & S_ISGID))
		return false;
	*ret_group = above.st_gid;
	return true;
}

/* False: it could not be given. */
static bool give(const struct staging *staging, const char *slot, uid_t user,
		 gid_t group)
{
	const struct copy_owner *owner = &staging->commit->place.owner;
	int r;

	copy_as(owner);
	r = fchownat(staging->stage, slot, user, group, AT_SYMLINK_NOFOLLOW);
	copy_as_self(owner);
	return !r;
}

static void give_entry(const struct staging *staging,
		       const struct change *change, const char *slot)
{
	const struct stat *before = &change->before;
	gid_t group;

	if (change->below >= 0 && (before->st_mode & S_IFMT) ==
	    (change->status.st_mode & S_IFMT)) {
		if (!give(staging, slot, before->st_uid, before->st_gid))
			give(staging, slot, (uid_t)-1, before->st_gid);
	} else if (hands_on(change, &group)) {
		give(staging, slot, (uid_t)-1, group);
	}
}

/*
 * A new directory, in which nothing is yet: what comes there gets the bit and
 * the group from it.  Returns the bit, if it has it.
 */
static mode_t give_directory(const struct staging *staging,
			     const struct change *change, const char *slot)
{
	const struct copy_owner *owner = &staging->commit->place.owner;
	struct stat made;
	gid_t group;
	int r;

	if (!hands_on(change, &group) ||
	    !give(staging, slot, (uid_t)-1, group))
		return 0;
	copy_as(owner);
	r = fchmodat(staging->stage, slot, 0700 | S_ISGID, 0);
	copy_as_self(owner);
	return !r && !fstatat(staging->stage, slot, &made,
			      AT_SYMLINK_NOFOLLOW) ?
	       made.st_mode & S_ISGID : 0;
}

static int stage_entry(struct staging *staging, const struct change *change,
		       struct error *err)
{
	struct journal_step *step = add_move(staging, change, true);
	struct copy *copy = NULL;
	char slot[24];
	int r = begin_copy(staging, &copy, err);

	if (r < 0)
		return r;
	journal_slot(step->slot, slot);
	r = S_ISLNK(change->status.st_mode) ?
	    copy_link(copy, change, slot, err) :
	    copy_file(copy, change, slot, err);
	copy_end(copy);
	if (r < 0)
		return r;
	give_entry(staging, change, slot);
	return note_slot(staging, step, err);
}

/* ---- the walk ---------------------------------------------------------------- */

static bool lands(mode_t mode)
{
	return S_ISREG(mode) || S_ISLNK(mode) || S_ISDIR(mode);
}

/* One in a directory that is staged whole. */
static int add_to_whole(struct staging *staging, const struct change *change,
			struct error *err)
{
	mode_t mode = change->status.st_mode;
	int r;

	if (change->kind == CHANGE_DELETED || S_ISDIR(mode) || !lands(mode))
		return 0;
	r = conflict_with_guards(staging->commit, change, false, err);
	if (r < 0)
		return r;
	return S_ISLNK(mode) ?
	       copy_link(staging->copy, change, change->name, err) :
	       copy_file(staging->copy, change, change->name, err);
}

static int stage_change(const struct change *change, void *data,
			struct error *err)
{
	struct staging *staging = data;
	mode_t mode = change->status.st_mode;
	bool is_gone = change->kind == CHANGE_DELETED ||
		       (change->kind == CHANGE_RETYPED && !lands(mode));
	int r;

	if (staging->copy)
		return add_to_whole(staging, change, err);
	/* stage_enter() has the directories. */
	if (!is_gone && (S_ISDIR(mode) || !lands(mode)))
		return 0;
	r = conflict_with_guards(staging->commit, change, change->below >= 0,
				 err);
	if (r >= 0)
		r = conflict_with_others(staging->commit, change, true, err);
	if (r < 0)
		return r;
	if (!is_gone)
		return stage_entry(staging, change, err);
	add_move(staging, change, false);
	return 0;
}

static int begin_whole(struct staging *staging, const struct change *change,
		       struct error *err)
{
	mode_t mode = change->status.st_mode & 0777, bit;
	struct journal_step *step;
	char slot[24];
	int r = conflict_with_guards(staging->commit, change,
				     change->below >= 0, err);

	if (r >= 0)
		r = conflict_with_others(staging->commit, change, true, err);
	if (r >= 0)
		r = begin_copy(staging, &staging->copy, err);
	if (r < 0)
		return r;
	staging->whole = staging->moves.steps.count;
	step = add_move(staging, change, true);
	journal_slot(step->slot, slot);
	staging->depth = 1;
	/* It has to be writable when it is moved. */
	r = copy_enter(staging->copy, slot, widen(mode), err);
	if (r >= 0)
		r = copy_reach(staging->copy, err);
	if (r < 0)
		return r;
	bit = give_directory(staging, change, slot);
	add_mode(staging, &staging->last, change, widen(mode) | bit,
		 mode | bit);
	return 0;
}

/* One that stays, and in which there may be changes. */
static int enter_kept(struct staging *staging, const struct change *change,
		      struct error *err)
{
	mode_t before = change->before.st_mode & 07777;
	mode_t now = (before & 07000) | (change->status.st_mode & 0777);
	int r = conflict_with_rename(staging->commit, change, err);

	if (r < 0)
		return r;
	if (before != now) {
		r = conflict_with_guards(staging->commit, change, false, err);
		if (r >= 0)
			r = conflict_with_others(staging->commit, change,
						 false, err);
	}
	if (r < 0)
		return r;
	add_mode(staging, &staging->first, change, before, widen(before));
	add_mode(staging, &staging->last, change, widen(before), now);
	return 0;
}

static int stage_enter(const struct change *directory, void *data,
		       struct error *err)
{
	struct staging *staging = data;
	int r;

	if (!staging->copy) {
		bool stays = directory->below >= 0 && !directory->is_opaque &&
			     S_ISDIR(directory->before.st_mode);

		return stays ? enter_kept(staging, directory, err) :
		       begin_whole(staging, directory, err);
	}
	r = conflict_with_guards(staging->commit, directory, false, err);
	staging->depth++;
	if (r >= 0)
		r = copy_enter(staging->copy, directory->name,
			       directory->status.st_mode, err);
	return r < 0 ? r : copy_reach(staging->copy, err);
}

static int stage_leave(void *data, struct error *err)
{
	struct staging *staging = data;
	int r;

	if (!staging->copy)
		return 0;
	r = copy_leave(staging->copy, err);
	if (r < 0 || --staging->depth)
		return r;
	copy_end(staging->copy);
	staging->copy = NULL;
	return note_slot(staging, &staging->moves.steps.at[staging->whole],
			 err);
}

/* First what opens directories, last what closes them, the deepest first. */
static void join_parts(struct staging *staging, struct journal *journal)
{
	const struct journal *parts[] = { &staging->first, &staging->moves };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		for (size_t j = 0; j < parts[i]->steps.count; j++)
			*arena_push(staging->arena, &journal->steps) =
				parts[i]->steps.at[j];
	for (size_t i = staging->last.steps.count; i-- > 0;)
		*arena_push(staging->arena, &journal->steps) =
			staging->last.steps.at[i];
}

int commit_stage(struct run *run, struct arena *arena, int upper, int stage,
		 struct journal *ret_journal, struct error *err)
{
	struct staging staging = {
		.run = run, .commit = run->commit, .arena = arena,
		.stage = stage,
	};
	const struct change_visitor visitor = {
		.change = stage_change, .enter = stage_enter,
		.leave = stage_leave, .data = &staging,
	};
	int r = changes_walk(upper, &run->commit->place.directory, 1, &visitor,
			     err);

	copy_end(staging.copy);
	if (r < 0)
		return r;
	join_parts(&staging, ret_journal);
	return 0;
}
