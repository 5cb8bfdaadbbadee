/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Detached mounts: clone one, make one, change it, attach it.
 *
 * A mount that is not attached anywhere is a descriptor; everything that it
 * shall be (read-only, without set-uid, id-mapped) is set on the whole tree
 * before anybody can walk into it.  Rests on open_tree(2), fsopen(2),
 * fsconfig(2), fsmount(2), mount_setattr(2) and move_mount(2), Linux 5.12.
 *
 * All functions return 0 or a descriptor (owned by the caller, close-on-exec)
 * or a negative errno with @err filled; the text names the system call and
 * what it was called on.
 */
#ifndef SYS_MOUNTFD_H
#define SYS_MOUNTFD_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What may be set on a tree; see mount_setattr(2). */
struct mountfd_attr {
	uint64_t set;         /* MOUNT_ATTR_* to set */
	uint64_t clear;       /* MOUNT_ATTR_* to clear */
	uint64_t propagation; /* MS_PRIVATE, MS_SLAVE or 0 */
	int idmap_userns;     /* user namespace to map ids by; 0 or negative:
			       * none */
	bool recursive;
};

enum mountfd_clone_flags {
	MOUNTFD_RECURSIVE = 1 << 0, /* with everything mounted below */
	MOUNTFD_NOFOLLOW = 1 << 1,  /* @path itself may not be a symlink */
};

/* Clone the mount that @path (below @dirfd; empty: @dirfd itself) is in. */
int mountfd_clone(int dirfd, const char *path, unsigned flags,
		  struct error *err);

int mountfd_set_attr(int mount, const struct mountfd_attr *attr,
		     struct error *err);

/*
 * Attach @mount on the object that @target, an O_PATH descriptor, refers to.
 * @place is its name for the error text.
 */
int mountfd_attach(int mount, int target, const char *place,
		   struct error *err);

/* One parameter of a new file system; see fsconfig(2). */
struct mountfd_option {
	const char *key;
	const char *value; /* NULL: a flag, unless @fd is used */
	int fd;            /* with @value NULL and not 0: a descriptor */
};

/*
 * A new instance of file system @type with @options (@count), as a detached
 * mount with MOUNT_ATTR_* @attrs.  What the kernel says about a parameter
 * that it refuses becomes part of the error text.
 */
int mountfd_new(const char *type, const struct mountfd_option *options,
		size_t count, unsigned attrs, struct error *err);

/* The unique id of the mount that @fd is in; statx(2). */
int mountfd_id(int fd, const char *path, uint64_t *ret_id, struct error *err);

#endif
