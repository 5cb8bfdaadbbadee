/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What surrounds this process and may refuse it something: settings of the
 * kernel, a filter, a security module, a chroot.  Asked when something has
 * failed, and by --explain; nothing here is on the way of a start.
 *
 * What cannot be found out is not there: none of the functions fails.
 */
#ifndef SYS_SURROUNDINGS_H
#define SYS_SURROUNDINGS_H

#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

/* The number in /proc/sys/@name ("user/max_pid_namespaces"). */
bool surroundings_sysctl(const char *name, uint64_t *ret_value);
/* Is there a system-call filter on this process, seccomp(2)? */
bool surroundings_have_filter(void);
/*
 * The label that a security module confines this process by, without its
 * mode; NULL: none does.
 */
const char *surroundings_label(struct arena *arena);
/*
 * Is the root of this process not the root of its mount namespace?  A chroot
 * into a mount leaves few traces: false means that none was found.
 */
bool surroundings_are_chroot(void);
/* What is the root directory of this process? */
enum surroundings_root {
	SURROUNDINGS_ROOT_MOUNT, /* a mount point, or nobody knows */
	SURROUNDINGS_ROOT_PLAIN, /* an ordinary directory: a chroot */
	SURROUNDINGS_ROOT_FIRST, /* the mount that is on no other, rootfs */
};
enum surroundings_root surroundings_root(void);
/* Is /proc mounted read-only? */
bool surroundings_proc_is_read_only(void);
/*
 * Does a harmless use of clone3(2) and clone(2) end a process, as a filter
 * that kills does?  Makes a process.
 */
bool surroundings_kill_clone(void);
/* The file that this program was started from; NULL: not known. */
const char *surroundings_program(struct arena *arena);

#endif
