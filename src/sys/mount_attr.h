/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Attributes of mounts without mount_setattr(2); part of sys/mount_legacy.c.
 */
#ifndef SYS_MOUNT_ATTR_H
#define SYS_MOUNT_ATTR_H

#include "sys/mountfd.h"

/* Of @mount alone, at once. */
int mount_attr_set_one(int mount, const struct mountfd_attr *attr,
		       struct error *err);
/*
 * Of @mount and all that is mounted below it, at the next settle, until when
 * @mount stays open.
 */
int mount_attr_expect(int mount, const struct mountfd_attr *attr,
		      struct error *err);
int mount_attr_settle(struct error *err);

#endif
