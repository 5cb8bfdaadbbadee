/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which of the calls on detached mounts are there; private to sys/mountfd.c.
 */
#ifndef SYS_MOUNT_PROBE_H
#define SYS_MOUNT_PROBE_H

enum probe_call {
	PROBE_OPEN_TREE,
	PROBE_MOUNT_SETATTR,
	PROBE_FSOPEN,
	PROBE_FSCONFIG,
	PROBE_FSMOUNT,
	PROBE_MOVE_MOUNT,
	PROBE_COUNT
};

/*
 * @call has just failed with errno, which is returned.  When that means that
 * there is no such call, mountfd_missing() says so from here on.
 */
int mount_probe_failed(enum probe_call call);
/* Ask the kernel: 0 when it is there, otherwise ENOSYS or EPERM. */
int mount_probe_ask(enum probe_call call);

#endif
