/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The network namespace's own interface. */
#ifndef SYS_NET_H
#define SYS_NET_H

#include "base/error.h"

/*
 * Bring up `lo` in the caller's network namespace.  The kernel then adds
 * 127.0.0.1/8 and ::1 itself; no netlink is involved.  Needs CAP_NET_ADMIN in
 * the user namespace that owns it.
 */
int net_loopback_up(struct error *err);

#endif
