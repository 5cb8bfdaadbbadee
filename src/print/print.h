/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A plan, written down: for people, for programs, as a bubblewrap command
 * line, as a profile.
 *
 * Each function appends to @out, whose arena must be set, and returns 0, or a
 * negative errno with @err filled; then what was appended is of no use.  They
 * only read the plan, which has been ordered and checked, and the same plan
 * gives the same bytes.
 */
#ifndef PRINT_PRINT_H
#define PRINT_PRINT_H

#include "base/error.h"
#include "base/text.h"
#include "plan/plan.h"

typedef int (*print_fn)(const struct plan *plan, struct text_buf *out,
			struct error *err);

/*
 * For people, on 80 columns.  Of the environment it shows the names that are
 * kept and the values that are set, never the caller's values.  It cannot
 * fail.  The second one marks headings and origins with the colours of
 * ECMA-48.
 */
int print_text(const struct plan *plan, struct text_buf *out,
	       struct error *err);
int print_text_in_colour(const struct plan *plan, struct text_buf *out,
			 struct error *err);

/*
 * For programs: one JSON object and a newline.  "schema" is 1 and grows when
 * a member changes its meaning or goes away; members may be added without
 * that.  Every member is always there, null or empty when unused.  It cannot
 * fail.  Documented in sbx-launch(1).
 */
int print_json(const struct plan *plan, struct text_buf *out,
	       struct error *err);

/*
 * The same with what the plan meets on this machine: sections behind the
 * others, and the member "host".
 */
struct survey;
void print_host_text(const struct plan *plan, const struct survey *survey,
		     bool in_colour, struct text_buf *out);
int print_json_of_host(const struct plan *plan, const struct survey *survey,
		       struct text_buf *out, struct error *err);

/* What came of --check; documented in sbx-launch(1). */
struct print_check {
	const struct error *error;   /* NULL: everything could be set up */
	const struct survey *survey; /* NULL: it did not come to that */
};
void print_check_text(const struct print_check *check, struct text_buf *out,
		      bool in_colour);
void print_check_json(const struct print_check *check, struct text_buf *out);

/*
 * A command line for sh(1) that starts the same sandbox with bubblewrap, one
 * option a line.  What was asked for and bubblewrap has no word for is an
 * error that names it and its origin; what a profile implies
 * without being asked and bubblewrap cannot say either is listed in comments
 * in front.
 */
int print_bwrap(const struct plan *plan, struct text_buf *out,
		struct error *err);

/* The same as words, "bwrap" first; the words live in the plan's arena. */
struct print_words {
	struct arena *arena;
	LIST_OF(const char *) words;
	LIST_OF(size_t) starts; /* indices at which an option begins */
};
int print_bwrap_words(const struct plan *plan, struct print_words *ret_words,
		      struct error *err);

/*
 * A profile that, with the same command, reads back as the same plan.  What a
 * profile has no key for is an error that names it and its origin;
 * where bubblewrap's rules differ from a profile's without being asked stands
 * in comments in front.
 */
int print_ini(const struct plan *plan, struct text_buf *out,
	      struct error *err);

#endif
