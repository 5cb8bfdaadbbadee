/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One error: what failed, where, why, and what to do about it.
 *
 * It is filled where the cause is and gets context as it travels up; the
 * line that a user reads is
 *
 *     PREFIX: TEXT[: errno text]    (error_line())
 *     PREFIX: REMEDY
 *
 * It is a plain object of less than PIPE_BUF bytes (4096, pipe(7)), so that
 * the child inside can hand it to the monitor with one write.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

struct arena;

/* Exit statuses of the launcher itself. */
enum error_status {
	ERROR_STATUS_TIMEOUT = 124,
	ERROR_STATUS_LAUNCHER = 125,
	ERROR_STATUS_NOT_EXECUTABLE = 126,
	ERROR_STATUS_NOT_FOUND = 127,
};

struct error {
	int code;         /* the errno that caused it, 0 when there is none */
	int status;       /* exit status, an enum error_status; 0: 125 */
	bool is_complete; /* the text says what @code is */
	char stage[16];   /* stage of the run, empty before the first */
	char reason[32];  /* stable word for programs, empty: "other" */
	char call[24];    /* the system call, or file of procfs, that failed;
			   * empty: none, or not worth a diagnosis */
	char text[2048];  /* the cause, without the errno text */
	char remedy[1024]; /* what to do, one line; empty: nothing to say */
};

/*
 * Fill @err: errno value @code (0: none) and the text.  What was in it is
 * lost.  Returns -@code, or -EINVAL when @code is 0, for `return`.
 */
int error_set(struct error *err, int code, const char *format, ...)
	__attribute__((cold, format(printf, 3, 4)));

/*
 * The same for a system call that the surroundings may refuse: @call is kept
 * for the diagnosis of the failure.
 */
int error_call(struct error *err, int code, const char *call,
	       const char *format, ...)
	__attribute__((cold, format(printf, 4, 5)));

/* Put "context: " before the text.  Returns -code (or -EINVAL). */
int error_wrap(struct error *err, const char *format, ...)
	__attribute__((cold, format(printf, 2, 3)));

/* Replace the text; everything else stays. */
void error_say(struct error *err, const char *format, ...)
	__attribute__((cold, format(printf, 2, 3)));

/* Replace the remedy, the reason or the exit status; the text stays. */
void error_remedy(struct error *err, const char *format, ...)
	__attribute__((cold, format(printf, 2, 3)));
void error_reason(struct error *err, const char *reason);
void error_status(struct error *err, int status);

/* The negative errno that goes with @err: -code, or -EINVAL. */
int error_result(const struct error *err);

/* The text as a user reads it: with the errno's, unless it is complete. */
const char *error_line(struct arena *arena, const struct error *err);

/* English name of an errno value ("EPERM"), or NULL if it has none. */
const char *error_errno_name(int code);

#endif
