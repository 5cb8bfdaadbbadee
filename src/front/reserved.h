/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What belongs to the caller and to no payload: the launcher, the home. */
#ifndef FRONT_RESERVED_H
#define FRONT_RESERVED_H

#include "plan/plan.h"

/*
 * Fill plan.launcher, plan.homes and plan.filter: the program that runs, the
 * caller's home directories and the filter that the profile names, each with
 * the directories on the way to it.  What is not there or cannot be looked at
 * is left out.
 *
 * Returns 0, or a negative errno with @err filled: one of them does not
 * answer; or, -EPERM, anybody could have replaced the program: it, or what is
 * put in its place, runs with the caller's rights.
 */
int reserved_find(struct plan *plan, struct error *err);

#endif
