/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What no payload may write, whatever the profile says. */
#ifndef PLAN_TRUST_H
#define PLAN_TRUST_H

#include "plan/plan.h"

/*
 * The rules of a profile about what the host runs or obeys afterwards: none
 * of it lies in what the plan makes writable.  Returns 0, or a negative errno
 * with @err filled.
 */
int trust_check(const struct plan *plan, struct error *err);

#endif
