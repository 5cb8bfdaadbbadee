/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FRONT_INTERPRETER_H
#define FRONT_INTERPRETER_H

#include "plan/plan.h"

/*
 * Find plan->interpreter on the host and put its absolute path into
 * plan->command[0]; it, every file that it links to and the base of a virtual
 * environment must be seen inside, and be the same.  Returns 0, or a negative
 * errno with @err filled.
 */
int interpreter_find(struct plan *plan, struct error *err);

/*
 * Bare @name along the caller's PATH, of which relative entries do not count.
 * Returns 0, -ENOENT or another negative errno with @err filled.
 */
int interpreter_search(struct arena *arena, const char *name,
		       const char **ret_path, struct error *err);

#endif
