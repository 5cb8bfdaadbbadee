/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a run changed: the upper layer of its overlay, read against the layers
 * below.
 *
 * The upper layer was written by the payload and is read as such: by
 * descriptor, one name at a time, no symlink followed, nothing opened that is
 * not a directory, to any depth (sys/tree.h).
 */
#ifndef ENGINE_CHANGES_H
#define ENGINE_CHANGES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

enum change_kind {
	CHANGE_NONE,    /* a directory, as it was: only entered */
	CHANGE_ADDED,
	CHANGE_MODIFIED,
	CHANGE_DELETED,
	CHANGE_RETYPED, /* something of another type was there */
	CHANGE_COUNT
};

/* "added" and so on; NULL for CHANGE_NONE. */
extern const char *const change_names[CHANGE_COUNT];

struct change {
	enum change_kind kind;
	const char *path;   /* relative to the workspace */
	const char *name;   /* the last part of it */
	int directory;      /* of the upper layer, with @name in it; -EBADF
			     * when deleted */
	struct stat status; /* of what is there now, or was before */
	int below;          /* the directory of the layers below that shows
			     * @name; -EBADF: it was not there */
	struct stat before; /* of that */
	int beside;         /* the topmost directory of the layers below that
			     * could have @name; -EBADF: there is none */
	bool is_opaque;     /* a directory that replaces the one below */
};

/*
 * Open @name, a directory (@flags O_DIRECTORY) or regular file of the upper
 * layer, for reading.  Where @mode, its own, forbids that or (a directory's)
 * the look at what is in it to its owner, it gets another one: for a file
 * only for the moment, for a directory until the caller's fchmod().
 * Returns the descriptor or a negative errno.
 */
int changes_open(int directory, const char *name, int flags, mode_t mode);
/* Did the kernel copy what is there now from a layer below? */
bool changes_is_copied(const struct change *change);

/* Each returns 0 to go on, or a negative errno with @err filled. */
struct change_visitor {
	int (*change)(const struct change *change, void *data,
		      struct error *err);
	/*
	 * What comes until leave() is in this directory of the upper layer,
	 * which may have been a change itself.  May be NULL, both.
	 */
	int (*enter)(const struct change *directory, void *data,
		     struct error *err);
	int (*leave)(void *data, struct error *err);
	void *data;
};

/*
 * Call @visitor for every change, directories before what is in them, names of
 * one directory in byte order (first those that an opaque one covers).  @lowers (@count) are directories, the topmost
 * first.  All descriptors stay the caller's.
 */
int changes_walk(int upper, const int *lowers, size_t count,
		 const struct change_visitor *visitor, struct error *err);

#endif
