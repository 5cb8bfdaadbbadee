/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The records of a run: status lines, audit line, and the JSON documents of
 * bubblewrap's language.  Private to the engine; all of it runs in the monitor.
 */
#ifndef ENGINE_REPORT_H
#define ENGINE_REPORT_H

#include "engine/run.h"

#include "base/text.h"

/*
 * Open what the plan names.  Nothing of the sandbox is made before, so that a
 * launch that cannot be recorded does not happen.
 */
int report_open(struct run *run, struct error *err);

/* The payload is about to run: run->payload, run->skipped, run->enforced. */
int report_started(struct run *run, struct error *err);

/*
 * Open a file to write to, as open(2) does; but a symlink at its end counts
 * only when root made it: one in a workspace may be a payload's.
 */
int report_open_path(const char *path, int flags, mode_t mode);

/*
 * Empty the file @fd, opened as @what, for a record of this run: after it is
 * clear that it is not one of the other records.  Only a regular file is
 * emptied.
 */
int report_empty(const struct run *run, int fd, const char *what,
		 struct error *err);

/*
 * The changes of the run are ready to be committed; @counts by enum
 * change_kind.
 */
int report_changes(struct run *run, const size_t *counts, struct error *err);

struct report_end {
	const struct error *error; /* the launch failed; NULL: it did not */
	int status;                /* exit status of the launcher */
	bool ran;                  /* the payload ran; then: */
	int wait_status;
	struct rusage usage;
	bool timed_out, caller_gone;
};

/*
 * The run is over.  Fills @err when a record could not be written.
 */
int report_ended(struct run *run, const struct report_end *end,
		 struct error *err);

/* What main.c will exit with for @err. */
int report_exit_status(const struct run *run, const struct error *err);

/* ---- for report_status.c and report_audit.c ------------------------------- */

struct report {
	int status_fd, status_file, audit_file; /* -EBADF: none */
};

/*
 * Write @line, a whole one, to @fd (negative: nowhere).  A reader that has gone
 * is no failure.
 */
int report_write(int fd, const struct text_buf *line, const char *what,
		 struct error *err);

/* A member of an object that is not the first one; NULL and unknown: null. */
void report_add_name(struct text_buf *line, const char *name);
void report_add_text(struct text_buf *line, const char *name,
		     const char *value);
void report_add_number(struct text_buf *line, const char *name, bool is_known,
		       uint64_t value);
void report_add_bool(struct text_buf *line, const char *name, bool value);

/* Since the start of the launch. */
uint64_t report_elapsed_ms(const struct run *run);

/* Bytes that all lines of a launch may need. */
size_t report_status_size(const struct run *run);
size_t report_audit_size(const struct run *run);

/* The last line, if anybody wants it. */
int report_status_ended(struct run *run, const struct report_end *end,
			struct error *err);
int report_audit_ended(struct run *run, const struct report_end *end,
		       struct error *err);

/* ---- report_bwrap.c ------------------------------------------------------- */

/* --info-fd and the first line of --json-status-fd: the child exists. */
int report_bwrap_child(struct run *run, struct error *err);
/* The last line of --json-status-fd. */
void report_bwrap_exit(struct run *run, int status);

#endif
