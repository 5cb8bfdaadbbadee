/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Landlock, landlock(7): a second fence over what the mounts already say.
 * Never required: an older kernel gets what its ABI has.
 */
#ifndef SYS_LANDLOCK_H
#define SYS_LANDLOCK_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* A hierarchy that may be used; everything outside of all of them may not. */
struct landlock_hierarchy {
	int fd;            /* a directory or a file, O_PATH will do */
	bool is_writable;  /* else read and executed only */
	bool has_devices;  /* ioctl(2) on device files, ABI 5 */
};

struct landlock_rules {
	const struct landlock_hierarchy *hierarchies;
	size_t count;                  /* 0: file access is not restricted */
	bool scope_abstract_sockets;   /* ABI 6: only those made inside */
	bool scope_signals;            /* ABI 6: signals only to those inside */
};

/* The kernel's Landlock ABI (1 in 5.13); 0: none, or switched off. */
int landlock_abi(void);

/*
 * Restrict this process and what it makes from here on, with what the
 * kernel's ABI has of @rules.  Needs no_new_privs.  *@ret_abi is the ABI that
 * was applied, 0 when nothing was (no Landlock, or nothing in @rules that it
 * can do); that is no error.
 */
int landlock_restrict(const struct landlock_rules *rules, int *ret_abi,
		      struct error *err);

#endif
