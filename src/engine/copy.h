/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A copy of a part of an upper layer, made while the layer is walked
 * (engine/changes.h): the directory that is walked has its counterpart here,
 * which is made only when something is put into it.
 *
 * Regular files, directories and symlinks can be copied; nothing of
 * what the payload could make dangerous comes along: no set-user-id,
 * set-group-id or sticky bits, owners or attributes.  (A directory keeps the
 * set-group-id bit that the kernel gives it.)  Holes stay holes, so
 * that a file costs what it cost inside.
 */
#ifndef ENGINE_COPY_H
#define ENGINE_COPY_H

#include "engine/changes.h"

#include "base/mem.h"

#include <sys/types.h>

/* Who writes; root can for somebody else, with the rights of that one. */
struct copy_owner {
	bool is_other; /* than who we are */
	uid_t uid;
	gid_t gid;
};

/* Until copy_as_self() what is done to files is done as @owner. */
void copy_as(const struct copy_owner *owner);
void copy_as_self(const struct copy_owner *owner);

/* Asked again and again: does nobody want the copy any more? */
struct copy_question {
	bool (*is_unwanted)(void *data);
	void *data;
};

struct copy;

/*
 * A copy that is made in @directory, which is taken over.  Directories have
 * the mode @mode, or (0) in the end what copy_enter() says.  Filled and empty
 * alike, it is ended with copy_end().  @question, which has to stay, may be
 * NULL.
 */
int copy_begin(int directory, mode_t mode, const struct copy_owner *owner,
	       const struct copy_question *question, struct copy **ret_copy,
	       struct error *err);
/* -ECANCELED when the answer is yes; copy_file() asks in between as well. */
int copy_ask(const struct copy *copy, struct error *err);
void copy_end(struct copy *copy);

/* The walk is in the directory @name, of mode @mode; in the one above again. */
int copy_enter(struct copy *copy, const char *name, mode_t mode,
	       struct error *err);
int copy_leave(struct copy *copy, struct error *err);

/* Make the directory where the walk is. */
int copy_reach(struct copy *copy, struct error *err);
/*
 * @change is a regular file or a symlink: put it there as @name.  A file's
 * time of change is kept.
 */
int copy_file(struct copy *copy, const struct change *change,
	      const char *name, struct error *err);
int copy_link(struct copy *copy, const struct change *change,
	      const char *name, struct error *err);

/* Does the symlink @change stay below the top of the tree? */
bool copy_link_stays(const struct change *change);

#endif
