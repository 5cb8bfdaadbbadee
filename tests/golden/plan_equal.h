/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Do two plans ask for the same?  Origins, the files that were read, and what
 * was found out about the host are left out.
 */
#ifndef GOLDEN_PLAN_EQUAL_H
#define GOLDEN_PLAN_EQUAL_H

#include "plan/plan.h"

/* The name of the first member that differs, or NULL. */
const char *plan_difference(const struct plan *a, const struct plan *b);

#endif
