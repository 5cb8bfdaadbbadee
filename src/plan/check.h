/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PLAN_CHECK_H
#define PLAN_CHECK_H

#include "plan/plan.h"

/*
 * Run every rule over an ordered plan.  Returns 0, or a negative errno with
 * @err filled for the first rule that is broken.
 */
int plan_check(const struct plan *plan, struct error *err);

#endif
