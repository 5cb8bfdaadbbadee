/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan by a profile's rules with nothing in it, anew for each test. */
#ifndef UNIT_BLANK_PLAN_H
#define UNIT_BLANK_PLAN_H

#include "plan/plan.h"

#include <string.h>

static struct arena *arena;
static struct plan *plan;
static struct error err;

static inline void plan_setup(void)
{
	arena = arena_new();
	plan = plan_new(arena, PLAN_RULES_PROFILE);
	plan->caller_uid = 1234;
	memset(&err, 0, sizeof(err));
}

static inline void plan_teardown(void)
{
	arena_free(arena);
}

static inline struct origin line(unsigned number)
{
	return (struct origin){ ORIGIN_FILE, number, "p.ini" };
}

#endif
