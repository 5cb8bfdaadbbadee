/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Claims about a run that was refused: cause, remedy, reason, and nothing
 * else.
 */
#ifndef RUN_DIAGNOSED_H
#define RUN_DIAGNOSED_H

#include "box.h"

/* What is expected, as patterns of fnmatch(3). */
struct diagnosis {
	int status;
	const char *reason, *cause, *remedy;
};

/* A box that needs nothing of the host but its root. */
struct box *plain_box(const char *profile);

/*
 * Run @command in the box, as @program says, whose argv are words that come
 * before the launcher (NULL: none): two lines on stderr, the cause
 * and the remedy, the reason in the status record, nothing on stdout, and
 * nothing is left.
 */
void expect_diagnosis(struct box *box, const struct program *program,
		      const char *command, const struct diagnosis *want);

#define EXPECT(box, how, ...)                                                \
	expect_diagnosis(box, &(struct program)how, "true",                  \
			 &(struct diagnosis){ __VA_ARGS__ })

/* Braces in a macro's argument. */
#define WITH(...) { __VA_ARGS__ }

#endif
