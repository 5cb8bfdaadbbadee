/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The staging area of sys/mount_legacy.c: where mounts are until they are
 * attached, and mount(2) on descriptors.  One a process.
 */
#ifndef SYS_MOUNT_STAGE_H
#define SYS_MOUNT_STAGE_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

int stage_begin(int procfs, uid_t uid, gid_t gid, struct error *err);
/* As given to stage_begin(). */
int stage_procfs(void);
/*
 * The working directory is "/" from here on: it may be one that the process
 * cannot come back to once it has another id.
 */
int stage_leave(struct error *err);
/* Put @mount over everything else in the area. */
int stage_cover(int mount, struct error *err);
/* Detach the area with what is in it.  The working directory is lost. */
int stage_end(struct error *err);

/* A name in the area that nothing is mounted on yet. */
struct stage_point {
	int fd; /* O_PATH; stage_take() closes it */
	char name[16];
};

int stage_make_point(bool is_directory, struct stage_point *ret_point,
		     struct error *err);
/* What was mounted on @point: an O_PATH descriptor of its root. */
int stage_take(struct stage_point *point, struct error *err);

/*
 * mount(2) on what the descriptor @target shows, of what @source shows, or
 * without one (negative) of a new file system of @type, or of neither.
 * Returns 0, or -1 with errno.
 */
int stage_mount(int source, const char *type, int target, unsigned long flags,
		const char *options);

#endif
