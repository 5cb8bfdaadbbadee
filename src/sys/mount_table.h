/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mounts that this process sees, by libmount.
 *
 * Reading the table costs in proportion to the mounts of the whole machine,
 * and loading the library costs more than a launch, so a launch on a kernel
 * with the descriptor calls never does either.
 */
#ifndef SYS_MOUNT_TABLE_H
#define SYS_MOUNT_TABLE_H

#include "base/error.h"
#include "base/mem.h"

#include <stddef.h>

struct mount_entry {
	int id, parent;      /* as in /proc/PID/mountinfo, proc(5) */
	const char *target;  /* from this process's root; octal undone */
	const char *type;    /* of the file system */
	bool is_unbindable;  /* mount_namespaces(7) */
	unsigned long flags; /* the mount's own MS_*, mount(2): not the
			      * file system's */
};

struct mount_table {
	LIST_OF(struct mount_entry) entries; /* parents before children but
					      * for mounts that were moved */
};

/*
 * Read the table of this process below the procfs root @procfs (-EBADF: /proc
 * as it is now); the strings live in @arena.  -ELIBACC: no libmount, @err
 * says why and has the reason "libmount".
 */
int mount_table_read(struct arena *arena, int procfs,
		     struct mount_table *ret_table, struct error *err);

/*
 * The next entry behind @after (NULL: from the start) whose target lies below
 * the directory @top, itself not included; NULL: there is none.  @top is an
 * absolute path without links, as the table has it.
 */
const struct mount_entry *
mount_table_below(const struct mount_table *table, const char *top,
		  const struct mount_entry *after);

/* The entry with @id, or NULL. */
const struct mount_entry *mount_table_find(const struct mount_table *table,
					   int id);

#endif
