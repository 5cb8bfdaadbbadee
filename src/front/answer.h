/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether a file system answers at all.  Behind a FUSE, network or autofs
 * mount whose server is gone a look at a name sleeps in the kernel, where
 * nothing but SIGKILL wakes it.
 */
#ifndef FRONT_ANSWER_H
#define FRONT_ANSWER_H

#include "base/error.h"
#include "base/mem.h"

#include <stdbool.h>

/*
 * Can @path be looked up, whatever comes of that?  One system call when the
 * kernel knows the name already; otherwise another process looks first and is
 * given ten seconds.  A kernel that does not say what it knows (before 5.12)
 * is asked only for names below mounts that have a server.
 */
bool answer_comes(const char *path);

/* The same for the entries of a directory. */
bool answer_lists(const char *path);

/*
 * The error when it does not: names @path, and the mount that is at fault.
 * Returns a negative errno with @err filled.
 */
int answer_refuse(struct arena *arena, const char *path, struct error *err);

/* Both: 0, or a negative errno with @err filled. */
int answer_await(struct arena *arena, const char *path, struct error *err);

#endif
