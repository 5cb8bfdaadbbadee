/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The engine: runs a checked plan.  It is the only layer that changes the
 * state of the machine.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "plan/plan.h"

#include <sys/resource.h>
#include <sys/types.h>

/* How main.c learns what became of a run. */
struct engine_outcome {
	/*
	 * Exit status for the caller: the payload's own, 128 + n, 124, or
	 * what @err says when the run failed (then engine_run() is negative).
	 */
	int status;
	/*
	 * Not 0: end by this signal instead (bubblewrap's rules: a TERM, INT,
	 * HUP or QUIT that reached the monitor).
	 */
	int end_by_signal;
	/*
	 * The run is over as @status says, but a record could not be written
	 * or something not be removed: to be told to the user.
	 */
	bool has_warning;
	struct error warning;
};

/* What the process was given, noted before anything can change it. */
struct engine_start {
	/*
	 * With the caller's end the run ends (except bubblewrap's rules
	 * without --die-with-parent).
	 */
	pid_t caller;
	unsigned closed_stdio; /* bit n: descriptor n was closed */
	struct rlimit files;   /* RLIMIT_NOFILE, as the payload gets it */
	int files_code;        /* errno of the call that reads it, or 0 */
};

/*
 * The first thing in main(): note who calls, raise the limit on open files to
 * what is allowed (all sources are open at once), and put /dev/null where
 * descriptors 0-2 are closed, so that no file that is opened later gets
 * their numbers.
 */
void engine_begin(struct engine_start *ret_start);

struct engine_options {
	struct engine_start start;
	bool is_bwrap;      /* exit statuses as bubblewrap's: 1 for every failure */
	bool is_check;      /* the whole set-up, then a built-in no-op */
	int log_fd;         /* --verbose: a line a stage; -EBADF: none */
	const char *profile; /* --profile as given, for the audit record */
};

/*
 * Run @plan (ordered and checked) and wait for its end.  Must be called from
 * a single-threaded process, once.  Signal dispositions, the signal mask and
 * descriptors 0-2 of the process are changed.
 *
 * Returns 0 with *@ret_outcome filled, or a negative errno with @err filled:
 * then nothing of the payload ran, except when @err says 126 or 127.
 * Records (status, audit) have been written in both cases.
 */
int engine_run(const struct plan *plan, const struct engine_options *options,
	       struct engine_outcome *ret_outcome, struct error *err);

/*
 * Record a launch that was refused before engine_run() could be called, as far
 * as @plan, filled up to then, says where.
 */
void engine_refused(const struct plan *plan,
		    const struct engine_options *options,
		    const struct error *cause);

/*
 * Which calls mounts are made with here, and why: "descriptors", or "legacy"
 * with the call that is not there and its errno's name.  Asks the kernel, and
 * changes nothing.
 */
const char *engine_mounts(struct arena *arena);

/* The stages in order; NULL behind the last. */
struct survey_stage;
const struct survey_stage *engine_stage(size_t index);
const char *engine_stage_name(size_t index);

/*
 * Fill @survey with what @plan meets on this machine; what front/ finds out
 * is left alone.  Nothing is made or changed, and what cannot be found out is
 * not there.
 */
struct survey;
void engine_survey(const struct plan *plan, struct survey *survey);

#endif
