/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Changes to a directory that are made all or not at all, whatever happens in
 * the middle.
 *
 * Beside the directory NAME there is, while it is changed and never else,
 * .NAME.sbx-commit.  It holds what is to be put in, in slots named by
 * numbers, and, once all of that is on the disk, the journal: what is to be
 * moved where.  Each step is one rename(2) or chmod(2), and what is there tells
 * whether it has been taken.  A journal that is there is carried out to its
 * end, or if that is impossible taken back; without one nothing has happened.
 */
#ifndef ENGINE_JOURNAL_H
#define ENGINE_JOURNAL_H

#include "engine/copy.h"

#include <stdint.h>

enum journal_kind {
	JOURNAL_PUT,  /* slot -> path, where nothing is */
	JOURNAL_SWAP, /* slot <-> path */
	JOURNAL_TAKE, /* path -> slot, which is free */
	JOURNAL_MODE, /* of a directory */
	JOURNAL_COUNT
};

struct journal_step {
	enum journal_kind kind;
	const char *path;    /* below the directory */
	size_t slot;
	uint64_t now;        /* inode number of what comes, or the new mode */
	uint64_t before;     /* of what goes, or the old mode */
};

struct journal {
	LIST_OF(struct journal_step) steps;
};

/* The directory and its place for slots. */
struct journal_place {
	int directory;
	int parent;          /* what holds both */
	const char *stage;   /* ".NAME.sbx-commit" */
	const char *stage_path; /* for messages */
	struct copy_owner owner; /* who writes: the directory's owner */
};

/*
 * Locked: complete what somebody has left, or take it back.  Returns 1 if
 * there was something, 0 if not, or a negative errno with @err filled; -EPERM
 * when it belongs to somebody else.
 */
int journal_settle(const struct journal_place *place, struct error *err);

/*
 * The slots are filled: take @journal's steps.  On failure those that were
 * taken are taken back, and @err is filled.  The slots are gone in both cases,
 * except where not even that is possible.
 */
int journal_commit(const struct journal_place *place, int stage,
		   const struct journal *journal, struct error *err);
/* ---- journal_place.c ------------------------------------------------------ */

/* The path of the stage beside @directory; NULL when that has no name. */
const char *journal_stage_path(struct arena *arena, int directory);

/*
 * Find the place for @directory.  Both descriptors of *@ret_place are the
 * caller's.  Returns 0, or a negative errno with @err filled: -EXDEV when the
 * directory is a mount of its own.
 */
int journal_find(struct arena *arena, const char *path,
		 struct journal_place *ret_place, struct error *err);

/*
 * Nobody else changes the directory until journal_unlock().  Waits for others
 * for about @wait_ms; -EBUSY then.
 */
int journal_lock(const struct journal_place *place, unsigned int wait_ms,
		 struct error *err);
void journal_unlock(const struct journal_place *place);

/*
 * Has something the name of the stage?  Returns 0: no; 1: what a commit may
 * have left; or negative with @err filled: something else, which is named.
 */
int journal_check(const struct journal_place *place, struct error *err);
/* Then, a descriptor of it; or a negative errno with @err filled. */
int journal_reopen(const struct journal_place *place, struct error *err);
/* Does it hold nothing but what a commit makes?  0, or as journal_check(). */
int journal_check_names(const struct journal_place *place, int stage,
			struct error *err);

/* Locked and settled: make the place for slots; a descriptor. */
int journal_open(const struct journal_place *place, struct error *err);
/* "17", the name of a slot in it. */
void journal_slot(size_t slot, char ret_name[24]);
/* Locked: nothing shall come of it. */
void journal_drop(const struct journal_place *place);

/* ---- journal_file.c ------------------------------------------------------- */

#define JOURNAL_NAME "journal" /* in the place for slots */
#define JOURNAL_DRAFT "journal.new" /* until it is on the disk */

/* It, and the slots, are on the disk then; 0 or a negative errno. */
int journal_write(const struct journal_place *place, int stage,
		  const struct journal *journal);
/* Returns 1 with it, in @arena; 0: there is none; or a negative errno. */
int journal_read(const struct journal_place *place, int stage,
		 struct arena *arena, struct journal *ret_journal);

#endif
