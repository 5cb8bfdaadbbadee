/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files in a control group's directory. */
#ifndef SYS_CGROUP_FILES_H
#define SYS_CGROUP_FILES_H

#include "sys/cgroup.h"

#include <stddef.h>

/* Names of the controllers in the kernel's files. */
extern const char *const cgroup_names[CGROUP_CONTROLLER_COUNT];

/* A whole small file as text, cut off at @room; 0 or a negative errno. */
int cgroup_read_file(int directory, const char *file, char *ret_text,
		     size_t room);
/* One write; 0 or a negative errno. */
int cgroup_write_file(int directory, const char *file, const char *text);

/* Move @pid (0: this process) into the group; 0 or a negative errno. */
int cgroup_move(int directory, pid_t pid);
/*
 * Hand @controllers (bits of enum cgroup_controller) on to the groups below,
 * @sign '+', or no longer, '-'; 0 or a negative errno.
 */
int cgroup_switch_controllers(int directory, char sign, unsigned controllers);

#endif
