/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a run changed: the upper layer of its overlay, read against the layers
 * below.
 *
 * The upper layer was written by the payload and is read as such: by
 * descriptor, one name at a time, no symlink followed, nothing opened that is
 * not a directory, to a limited depth.
 */
#ifndef ENGINE_CHANGES_H
#define ENGINE_CHANGES_H

#include "base/error.h"

#include <stddef.h>
#include <sys/stat.h>

enum change_kind {
	CHANGE_ADDED,
	CHANGE_MODIFIED,
	CHANGE_DELETED,
	CHANGE_RETYPED, /* something of another type was there */
	CHANGE_COUNT
};

struct change {
	enum change_kind kind;
	const char *path;   /* relative to the workspace */
	int directory;      /* of the upper layer; -EBADF when deleted */
	const char *name;   /* in @directory */
	struct stat status; /* of what is there now, or was before */
};

/*
 * Open @name, a directory (@flags O_DIRECTORY) or regular file of the upper
 * layer, for reading.  Where @mode, its own, forbids that or (a directory's)
 * the look at what is in it to its owner, it gets another one: for a file
 * only for the moment, for a directory until the caller's fchmod().
 * Returns the descriptor or a negative errno.
 */
int changes_open(int directory, const char *name, int flags, mode_t mode);

/* Returns 0 to go on, or a negative errno with @err filled. */
typedef int (*change_fn)(const struct change *change, void *data,
			 struct error *err);

/*
 * Call @each for every change, directories before what is in them, names of
 * one directory in byte order.  @lowers (@count) are directories, the topmost
 * first.  All descriptors stay the caller's.
 */
int changes_walk(int upper, const int *lowers, size_t count, change_fn each,
		 void *data, struct error *err);

#endif
