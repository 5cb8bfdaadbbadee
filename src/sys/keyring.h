/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The session keyring, which crosses every namespace: session-keyring(7). */
#ifndef SYS_KEYRING_H
#define SYS_KEYRING_H

#include "base/error.h"

#include <stdbool.h>

/*
 * Leave the caller's session keyring for a fresh one without a name, so that
 * its keys are neither possessed nor seen.
 *
 * With @tolerate the result is 1, and nothing has changed, where the kernel
 * has no keys (ENOSYS), refuses the call (EPERM, EACCES) or the user's quota
 * of keys is used up (EDQUOT): right only when a system-call filter keeps the
 * payload from keyctl(2) and its kin.
 */
int keyring_join_new(bool tolerate, struct error *err);

#endif
