/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PLAN_ORDER_H
#define PLAN_ORDER_H

#include "plan/plan.h"

/*
 * Turn what the front end wrote into the list that the engine runs, in
 * place: the workspace section becomes operations, phases follow each other,
 * and within PHASE_VIEW the more specific place comes later (equal depth:
 * masks, layers, workspace, protected names; then as written).  A place asked
 * for twice in the same way stays once; in different ways it is an error that
 * names both origins.  Under bubblewrap's rules the order is left alone.
 *
 * Returns 0, or a negative errno with @err filled.
 */
int plan_order(struct plan *plan, struct error *err);

#endif
