/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The verbs of sys/mountfd.h through mount(2), for kernels and containers
 * without the calls that work on detached mounts.  mountfd.c calls these once
 * mount_legacy_begin() has succeeded; the contracts are the same ones but for
 * what is said here.
 */
#ifndef SYS_MOUNT_LEGACY_H
#define SYS_MOUNT_LEGACY_H

#include "sys/mountfd.h"

#include <sys/types.h>

/*
 * Make the staging area, in the mount namespace in which everything else will
 * happen and after its propagation has been cut off.  @procfs as in
 * sys/proc.h; @uid and @gid are who files are made as where the caller has no
 * id in its user namespace.
 */
int mount_legacy_begin(int procfs, uid_t uid, gid_t gid, struct error *err);
/* Between begin and end. */
bool mount_legacy_is_active(void);

int mount_legacy_clone(int dirfd, const char *path, unsigned flags,
		       struct error *err);
/*
 * What is recursive is done at the next mount_legacy_settle() or attach, for
 * all trees together.  An id map is refused: -ENOSYS.
 */
int mount_legacy_set_attr(int mount, const struct mountfd_attr *attr,
			  struct error *err);
/* Once no relative path is to be looked up any more. */
int mount_legacy_settle(struct error *err);
int mount_legacy_attach(int mount, int target, const char *place,
			struct error *err);
/* A descriptor as the value of an option is refused: -EOPNOTSUPP. */
int mount_legacy_new(const char *type, const struct mountfd_option *options,
		     size_t count, unsigned attrs, struct error *err);

/*
 * Make @mount, a directory, the root of this process in place of "/", and
 * detach what was there with all that is still staged.
 */
int mount_legacy_pivot(int mount, struct error *err);

#endif
