/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where a run's group could be made: the part of cgroup.c that only looks.
 */
#ifndef SYS_CGROUP_SITE_H
#define SYS_CGROUP_SITE_H

#include "sys/cgroup.h"

/* The hierarchies, and what this process's own groups in them are called. */
struct cgroup_view {
	char own[16384]; /* /proc/self/cgroup */
};

void cgroup_view_read(struct cgroup_view *view);

struct cgroup_site {
	int fd;           /* directory to make a group in; owned by the caller */
	/*
	 * Version 2: controllers that it has and does not yet hand on to
	 * groups below; it is this process's own group then.
	 */
	unsigned enable;
	bool must_leave;  /* it can do so only without processes: this one,
			   * the only one there, has to go first */
};

/*
 * A directory in which this process may make a group with all of @wanted, bits
 * of enum cgroup_controller.
 * Returns 0, or -1 with *@ret_why a sentence.
 */
int cgroup_find_v2(const struct cgroup_view *view, unsigned wanted,
		   struct cgroup_site *ret_site, const char **ret_why);
int cgroup_find_v1(const struct cgroup_view *view,
		   enum cgroup_controller controller,
		   struct cgroup_site *ret_site, const char **ret_why);

#endif
