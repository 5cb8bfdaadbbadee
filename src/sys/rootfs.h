/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Paths below a root descriptor, and never outside it.
 *
 * Every look-up starts at @root and is confined to it (openat2(2),
 * RESOLVE_IN_ROOT: an absolute symlink or a ".." starts again at or stops at
 * @root) and does not pass magic links of a /proc.  Descriptors are O_PATH
 * and close-on-exec; the caller owns them.
 */
#ifndef SYS_ROOTFS_H
#define SYS_ROOTFS_H

#include "base/error.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

enum rootfs_follow {
	ROOTFS_FOLLOW,      /* symlinks are resolved, the last one too */
	ROOTFS_NOFOLLOW_LAST, /* ... but not the last component */
	ROOTFS_NO_SYMLINKS, /* none: ELOOP */
};

/*
 * Open @path.  Returns the descriptor or a negative errno; @err is filled
 * ("open 'PATH'") unless it is NULL.
 */
int rootfs_open(int root, const char *path, enum rootfs_follow follow,
		struct error *err);

/* The deepest part of a path that exists. */
struct rootfs_part {
	int fd;      /* directory, or whatever stands in the way */
	mode_t type; /* S_IFMT bits of @fd */
	bool is_closed; /* what is in @fd may not be searched: @rest may or
			 * may not be there, and nothing of it can be seen */
	const char *rest; /* what is missing below it, symlinks resolved;
			   * empty when all is there; lies in @todo */
	char real[PATH_MAX]; /* path of @fd below the root without symlinks,
			      * "" is the root; set when @rest is not empty */
	char todo[PATH_MAX]; /* of the walk */
};

/*
 * Walk @path as far as it goes, symlinks resolved below @root.  With @guard,
 * a symlink on the way is refused (-ELOOP) where guard() is false for it and
 * the directory that holds it (O_PATH descriptors).
 */
typedef bool (*rootfs_guard_fn)(int directory, int link, void *data);
int rootfs_walk(int root, const char *path, rootfs_guard_fn guard, void *data,
		struct rootfs_part *ret_part, struct error *err);

/*
 * Make what is missing of @rest below @directory: directories of mode
 * @parents, and last a directory or (@is_file) an empty file of mode @last.
 * The caller's umask is 0 during set-up.  Returns an O_PATH descriptor of
 * the last.
 */
int rootfs_make(int directory, const char *rest, mode_t parents, bool is_file,
		mode_t last, struct error *err);

#endif
