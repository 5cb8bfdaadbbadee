/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a plan needs to know of this host, looked up once, by name, before
 * anything is created.  The engine opens the same names later by descriptor
 * and trusts nothing found here: these facts serve order and messages.
 */
#ifndef FRONT_HOST_H
#define FRONT_HOST_H

#include "plan/plan.h"

/*
 * Before plan_order(): the parts of a minimal root, where
 * symlinks of the root lead destinations (op.real_dest), ids of writable
 * sources.  Returns 0, or a negative errno with @err filled.
 */
int host_complete(struct plan *plan, struct error *err);

/*
 * A plan that is refused is recorded, too: forget records whose file system
 * does not answer.
 */
void host_drop_reports(struct plan *plan);

#endif
