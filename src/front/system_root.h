/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FRONT_SYSTEM_ROOT_H
#define FRONT_SYSTEM_ROOT_H

#include "plan/plan.h"

/*
 * `system = yes`: add /usr, the /bin /sbin /lib* links or directories as they
 * are on the host, and the files below /etc that programs need, read-only.
 */
void system_root_add(struct plan *plan);

#endif
