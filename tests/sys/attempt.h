/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For functions that run in a process of their own (struct program's @call):
 * claims about calls that fill a struct error.  A false claim is told on
 * stderr, error text included, and ends the function with status 1.
 */
#ifndef SYS_ATTEMPT_H
#define SYS_ATTEMPT_H

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "harness/program.h"

/* @call must not be negative; it is the expression's value. */
#define ATTEMPT(call)                                                     \
	({                                                                \
		long attempt_ = (long)(call);                             \
		if (attempt_ < 0) {                                       \
			fprintf(stderr, "%s:%d: %s: %s: %s\n", __FILE__,  \
				__LINE__, #call, err.text,                \
				strerror((int)-attempt_));                \
			return 1;                                         \
		}                                                         \
		attempt_;                                                 \
	})

/* @call must be -@code, with an error that says @word. */
#define REFUSED(call, error_code, word)                                   \
	do {                                                              \
		long refused_ = (err.text[0] = '\0', (long)(call));       \
		if (refused_ != -(error_code) ||                          \
		    !strstr(err.text, (word))) {                          \
			fprintf(stderr,                                   \
				"%s:%d: %s is %ld (%s): expected %s, "    \
				"found '%s'\n", __FILE__, __LINE__,       \
				#call, refused_,                          \
				strerror((int)-refused_), #error_code,    \
				err.text);                                \
			return 1;                                         \
		}                                                         \
	} while (0)

/*
 * @function passes in a process of its own; further members of struct program
 * may follow.
 */
#define expect_passes(function, ...)                                      \
	do {                                                              \
		const struct outcome *o_ = program_run(&(struct program){ \
			.call = (function), __VA_ARGS__ });               \
		expect_exit(o_, 0);                                       \
	} while (0)

/* System calls that fail in there: pairs of { "name", ERRNO }. */
#define REFUSING(...) \
	.refuse = (const struct refusal[]){ __VA_ARGS__, { 0 } }

#endif
