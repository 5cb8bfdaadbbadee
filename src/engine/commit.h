/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * `commit = on-success`: what a run changed is made in the lower layer of its
 * overlay (journal.h).  Private to the engine.
 */
#ifndef ENGINE_COMMIT_H
#define ENGINE_COMMIT_H

#include "engine/changes.h"
#include "engine/child.h"
#include "engine/journal.h"

#include <time.h>

struct commit {
	struct journal_place place; /* of the lower layer */
	struct timespec since;      /* what changed later was not seen inside */
	size_t upper;      /* the leftover that is the upper layer's content;
			    * SIZE_MAX: not announced */
	bool is_done;
	/* Relative paths of what the plan puts over the workspace. */
	LIST_OF(const char *) guarded;
};

/*
 * Monitor, first of all that looks at the workspace: complete what an earlier
 * run has left half done in it, whoever commits now.  Refused where that cannot
 * be, and where the place for this run's commit is taken.
 */
int commit_settle(struct run *run, struct error *err);
/* Monitor, before the janitor is there. */
int commit_prepare(struct run *run, struct error *err);
/*
 * The upper layer, which this run has locked, is the run's alone: it has to be
 * empty, or (@was_left) what is in it is left from one that was killed.
 */
int commit_claim_upper(struct run *run, int upper, bool was_left,
		       struct error *err);
enum { COMMIT_FDS_MOST = 2 };
/* What the monitor and the janitor keep open; how many. */
size_t commit_fds(const struct run *run, int *ret_fds);
/* Monitor, everything is dead, and the payload succeeded. */
int commit_run(struct run *run, int upper, struct error *err);
/* The janitor, instead of a monitor that is gone: complete or take back. */
void commit_recover(const struct run *run);

/* ---- conflict.c ----------------------------------------------------------- */

/*
 * Is what will go what the payload saw?  With @goes_whole all of it, where it is
 * a directory that is replaced.
 */
int conflict_with_others(const struct commit *commit,
			 const struct change *change, bool goes_whole,
			 struct error *err);
/*
 * The directory @change stays.  One in which others made something is no
 * conflict; another one by that name is: it was renamed, or made since.
 */
int conflict_with_rename(const struct commit *commit,
			 const struct change *change, struct error *err);
/* Is @change protected, or with @goes_whole something in it? */
int conflict_with_guards(const struct commit *commit,
			 const struct change *change, bool goes_whole,
			 struct error *err);

/* ---- commit_stage.c ------------------------------------------------------- */

/*
 * Put what is in @upper into slots of @stage, and into *@ret_journal what is to
 * be done with them.  Refused where somebody has changed the lower layer.
 */
int commit_stage(struct run *run, struct arena *arena, int upper, int stage,
		 struct journal *ret_journal, struct error *err);

#endif
