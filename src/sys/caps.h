/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Capabilities, securebits, no_new_privs.  The only user of libcap-ng.
 *
 * A set is a mask: bit N is capability number N.
 */
#ifndef SYS_CAPS_H
#define SYS_CAPS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct caps_state {
	uint64_t effective, permitted, inheritable, bounding, ambient;
	unsigned securebits;  /* SECBIT_*, capabilities(7) */
	bool no_new_privs;
};

/*
 * This process's state.  @procfs: root of a procfs (proc_open_procfs()) that
 * shows this process; -EBADF: /proc.  One file there says all; where it
 * cannot be read, the kernel is asked set by set and capability by
 * capability, ten times as slow.
 */
int caps_read(int procfs, struct caps_state *ret_state, struct error *err);
/* The effective set alone, at a fiftieth of the price. */
int caps_read_effective(uint64_t *ret_set, struct error *err);

/* The mask of every capability that the kernel has. */
uint64_t caps_all(void);

/*
 * No capability, for good: securebits NOROOT, NO_SETUID_FIXUP and
 * NO_CAP_AMBIENT_RAISE, each and KEEP_CAPS locked, then the bounding,
 * ambient, inheritable, permitted and effective sets empty.  Read back
 * (@procfs as above): a difference is an error.  Needs CAP_SETPCAP, as the
 * first process of a new user namespace has it, unless all of this already
 * holds.
 *
 * To open that file again would cost more than all of it, so @ret_ignored,
 * if not NULL, gets what else it says: the signals that are ignored (bit
 * N - 1: signal N), or all where it cannot be read.
 */
int caps_drop_all(int procfs, uint64_t *ret_ignored, struct error *err);

/*
 * Remove everything but @keep from the bounding set.  Where the kernel
 * refuses (EPERM, EINVAL) the set stays and the result is 1 instead of 0.
 */
int caps_cut_bounding(uint64_t keep, struct error *err);

/*
 * Inheritable, permitted, effective and, with @ambient, the ambient set are
 * exactly @keep; without @ambient that set is empty.  -EPERM (with @err):
 * @keep has what is not permitted; nothing has been changed then.  Ambient
 * capabilities that the kernel refuses (a locked securebit) are left out.
 */
int caps_apply(uint64_t keep, bool ambient, struct error *err);

int caps_no_new_privs(struct error *err);

#endif
