/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is done with the changes of an overlay or ephemeral workspace when the
 * run is over: listed in a file, copied out.
 */
#ifndef ENGINE_RESULTS_H
#define ENGINE_RESULTS_H

#include "engine/child.h"
#include "engine/copy.h"

/*
 * Monitor, before the child exists: open the layers and what is written to.
 * A run whose results cannot be kept does not start.
 */
int results_prepare(struct run *run, struct error *err);
/*
 * Child: the upper layer in memory, which only it can see, goes to the
 * monitor.  @upper stays the caller's.
 */
int results_hand_over(struct run *run, int upper, struct error *err);
/*
 * Monitor, everything inside is dead: write the list, and copy out when the
 * payload @succeeded.  -ECANCELED: the answer to @question was yes.
 */
int results_finish(struct run *run, bool succeeded,
		   const struct copy_question *question, struct error *err);

/* Then, how many changes there are, by enum change_kind of changes.h. */
int results_count(struct run *run, size_t *ret_counts, struct error *err);
/* And make them in the lower layer. */
int results_commit(struct run *run, struct error *err);

/* export.c: a copy of the changed files and directories. */
struct export;

/*
 * The copy will be @path, which must not be there yet, nor lie in the upper
 * layer @upper (-EBADF: in memory) or in what is committed to.
 */
int export_open(struct run *run, const char *path, int upper,
		struct export **ret_export, struct error *err);
/*
 * Make the copy and give it its name.  What there is of it after a failure is
 * the janitor's.
 */
int export_run(struct export *export, int upper, const int *lowers,
	       size_t count, const struct copy_question *question,
	       struct error *err);

#endif
