/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * User namespaces: id maps, and the end of nesting.
 */
#ifndef SYS_USERNS_H
#define SYS_USERNS_H

#include "base/error.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* @count ids from @inside on are @outside and following one level up. */
struct userns_range {
	uint32_t inside, outside, count;
};

struct userns_map {
	LIST_OF(struct userns_range) ranges;
};

struct userns_ids {
	struct userns_map uid, gid;
	bool is_initial; /* it is the machine's first user namespace */
};

/*
 * Write the id maps of @pid's user namespace; @pid 0: this process's own.
 * @procfs: root of a procfs (proc_open_procfs()) that shows this process's
 * pid namespace; -EBADF: /proc.  The texts are as in user_namespaces(7),
 * lines of "INSIDE OUTSIDE COUNT"; a NULL one is left out.  The order is
 * uid_map, setgroups (when @deny_setgroups), gid_map; @err names the file.
 *
 * A process that writes its own maps can map one line with one id, its own
 * (and then must deny setgroups); for more the writer must be outside, with
 * CAP_SETUID and CAP_SETGID in the parent namespace.
 */
int userns_write_maps(int procfs, pid_t pid, const char *uid_map,
		      const char *gid_map, bool deny_setgroups,
		      struct error *err);

/* Read this process's own maps; the ranges live in @arena. */
int userns_read_own(int procfs, struct arena *arena,
		    struct userns_ids *ret_ids, struct error *err);

/* Does @id exist in the namespace?  @ret_outside (may be NULL) if it does. */
bool userns_map_find(const struct userns_map *map, uint32_t id,
		     uint32_t *ret_outside);
/*
 * A user namespace for MOUNT_ATTR_IDMAP (mount_setattr(2), 5.12): what
 * belongs to @disk_uid and @disk_gid on disk is shown as @host_uid and
 * @host_gid, ids of the caller's namespace, and the other way round; every
 * other owner is nobody.  Needs CAP_SYS_ADMIN, CAP_SETUID and CAP_SETGID.
 * Returns its descriptor; the helper process that it takes is gone by then.
 */
int userns_create_idmap(uid_t disk_uid, gid_t disk_gid, uid_t host_uid,
			gid_t host_gid, struct error *err);

/*
 * No user namespace can be made any more in or below the caller's: writes 0
 * into user.max_user_namespaces, which counts for the namespace of the
 * writer, reads it back, and tries.  Needs CAP_SYS_RESOURCE in the namespace,
 * so whoever keeps no capability there cannot undo it.  @procfs must lead to
 * a writable /proc/sys (one opened before a read-only cover went on it);
 * -EBADF: /proc.
 */
int userns_disable_nesting(int procfs, struct error *err);
/*
 * Is it impossible to make a user namespace?  Tries to: on success the caller
 * has moved into the new one and must end.  0: impossible, for whatever
 * reason; -EEXIST with @err: it was possible.
 */
int userns_check_no_nesting(struct error *err);

#endif
