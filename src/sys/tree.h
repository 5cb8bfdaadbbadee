/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Directory trees that somebody else made: of any depth, with names that hold
 * any bytes, and in as many descriptors as one directory takes.
 *
 * Nothing here follows a symlink or takes a path; a directory is left
 * through its "..", which has to be the very one it was entered from.
 */
#ifndef SYS_TREE_H
#define SYS_TREE_H

#include <stddef.h>
#include <sys/types.h>
#include <time.h>

/* Names of a directory without "." and "..", in byte order. */
struct tree_names {
	const char **at;
	size_t count;
	char *text; /* what they point into */
};

/*
 * The names in @directory, which may be an O_PATH descriptor.  Returns 0 with
 * them, for tree_forget(), or a negative errno.
 */
int tree_list(int directory, struct tree_names *ret_names);
void tree_forget(struct tree_names *names);

/* Which directory it is. */
struct tree_id {
	dev_t dev;
	ino_t ino;
};

int tree_identify(int directory, struct tree_id *ret_id);

/*
 * Open @directory's "..".  Returns the descriptor; -ESTALE when it is not
 * @above, since somebody has moved it; or another negative errno.
 */
int tree_up(int directory, const struct tree_id *above);

/*
 * Remove @name in @parent with everything in it; as "." what is in @parent
 * and not itself.  Directories that are closed to their owner are opened.
 * What is not there is no error.  Returns 0 or a negative errno.
 */
int tree_remove(int parent, const char *name);

/*
 * The latest time of change (st_ctim) of @name in @parent and everything in
 * it.  Returns 0, or a negative errno, also when a part cannot be seen.
 */
int tree_newest(int parent, const char *name, struct timespec *ret_newest);

#endif
