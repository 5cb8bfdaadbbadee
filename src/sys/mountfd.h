/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Detached mounts: clone one, make one, change it, attach it.
 *
 * A mount that is not attached anywhere is a descriptor; everything that it
 * shall be (read-only, without set-uid, id-mapped) is set on the whole tree
 * before anybody can walk into it.  Rests on open_tree(2), fsopen(2),
 * fsconfig(2), fsmount(2), mount_setattr(2) and move_mount(2), Linux 5.12.
 *
 * Where these calls do not exist or are refused, the same functions work
 * through mount(2) once mountfd_fall_back() has been called.
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
#include <sys/types.h>

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

/*
 * The same on @name below @directory, where nobody but us and the kernel makes
 * names; a symlink is not followed.  -ENOENT: there is no such name.
 */
int mountfd_attach_below(int mount, int directory, const char *name,
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

/*
 * The id of the mount that @path below @fd (empty: @fd) is in, as in
 * /proc/PID/mountinfo; statx(2), and before Linux 5.8 /proc/PID/fdinfo.
 */
int mountfd_id(int fd, const char *path, uint64_t *ret_id, struct error *err);
/* Is @fd, O_PATH, the root of a mount?  1, 0, or a negative errno. */
int mountfd_is_root(int fd, struct error *err);
/* ... of the mount with this id? */
int mountfd_is_root_of(int fd, uint64_t id, struct error *err);
/* Where the three look without statx(2): the procfs root, see sys/proc.h. */
void mountfd_set_procfs(int procfs);

/* ---- without the descriptor calls ----------------------------------------- */

/*
 * Has one of the calls failed because it is unknown (ENOSYS) or refused by a
 * filter?  Then *@ret_call is its name and the errno is returned; 0: not so
 * far.  On a working kernel that costs nothing: only a failure asks.
 */
int mountfd_missing(const char **ret_call);
/* Ask now; harmless to whoever calls. */
int mountfd_probe(const char **ret_call);
/*
 * Is the last of the calls, mount_setattr (5.12; the others are of 5.2),
 * there?  Asks the kernel when none has succeeded yet.  -ENOSYS, -EPERM.
 */
int mountfd_prove(struct error *err);
/*
 * From here on use mount(2), in this mount namespace.  What was made before
 * cannot be used any more.  See mount_legacy_begin().
 */
int mountfd_fall_back(int procfs, uid_t uid, gid_t gid, struct error *err);
bool mountfd_has_fallen_back(void);
/* Finish what mountfd_set_attr() was told; before a tree is looked at. */
int mountfd_settle(struct error *err);
/*
 * Make @mount, a directory and the working directory, the root in place of
 * "/", and detach what was there.
 */
int mountfd_pivot(int mount, struct error *err);

#endif
