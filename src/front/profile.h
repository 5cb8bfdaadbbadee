/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A profile, what --set says of it, and the shorthands -> the plan. */
#ifndef FRONT_PROFILE_H
#define FRONT_PROFILE_H

#include "plan/plan.h"

/* One --set or shorthand. */
struct profile_set {
	const char *section, *name, *text;
	bool is_literal;     /* @text is one word, taken as it is */
	const char *option;  /* as the user knows it: "--workspace" */
	unsigned argument;   /* its place on the command line, from 1 */
};

/*
 * Read profile @name (NULL: there is none) and what it includes, change it
 * by the @count @sets in order, and write it all into @plan.  Returns 0, or a
 * negative errno with @err filled.
 */
int profile_apply(struct plan *plan, const char *name,
		  const struct profile_set *sets, size_t count,
		  struct error *err);

struct profile_text;

/* The same for a profile whose text was read already. */
int profile_apply_text(struct plan *plan, const struct profile_text *text,
		       const struct profile_set *sets, size_t count,
		       struct error *err);

/*
 * Apply those of @sets alone that say where records go, so that what fails
 * from here on can be recorded.  Returns 0, or a negative errno with @err
 * filled.
 */
int profile_apply_reports(struct plan *plan, const struct profile_set *sets,
			  size_t count, struct error *err);

#endif
