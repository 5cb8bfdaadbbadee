/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Control groups: limits for a whole run.
 *
 * Version 2 where a subtree belongs to the caller and its controllers are
 * there; else version 1, hierarchy by hierarchy, which in practice means root.
 * One run has one group, in each hierarchy that it needs, without
 * subgroups.
 */
#ifndef SYS_CGROUP_H
#define SYS_CGROUP_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum cgroup_controller {
	CGROUP_PIDS,
	CGROUP_MEMORY,
	CGROUP_CPU,
	CGROUP_CONTROLLER_COUNT
};

enum cgroup_version {
	CGROUP_NONE, /* cannot be enforced here */
	CGROUP_V1,
	CGROUP_V2,
};

/* What could be enforced; pure information, nothing has been made. */
struct cgroup_support {
	enum cgroup_version version[CGROUP_CONTROLLER_COUNT];
	/* A clause where the version is CGROUP_NONE, else empty; static. */
	const char *why_not[CGROUP_CONTROLLER_COUNT];
};

/*
 * Look where a group could be made now.  Cheap: /proc/self/cgroup and a few
 * files of the hierarchies, no mount table.  Does not fail: what cannot be
 * read cannot be enforced.
 */
void cgroup_probe(struct cgroup_support *ret_support);

/* UINT64_MAX: no limit. */
struct cgroup_limits {
	uint64_t processes;   /* threads count, and PID 1 of the run does */
	uint64_t memory;      /* bytes; swap is refused with it */
	uint64_t cpu_percent; /* of one CPU */
};

enum { CGROUP_NAME_MAX = 64 };

/* A group's directory and the one that holds it; -EBADF: not there. */
struct cgroup_place {
	int parent_fd, fd;
};

/*
 * The group of a run.  Only descriptors and names, so that any process that
 * inherited it can remove it.
 */
struct cgroup {
	char name[CGROUP_NAME_MAX];
	enum cgroup_version version[CGROUP_CONTROLLER_COUNT]; /* in force */
	struct cgroup_place v2;                          /* one for all */
	struct cgroup_place v1[CGROUP_CONTROLLER_COUNT]; /* one each */
	/*
	 * Version 2 hands no controllers on from a group with processes in
	 * it.  When the launcher was alone in its own, it has moved itself
	 * into this leaf and enabled @self_enabled; cgroup_remove() takes
	 * both back.
	 */
	char self_name[CGROUP_NAME_MAX];
	int self_fd;
	unsigned self_enabled; /* bits of enum cgroup_controller */
};

/* No group at all; the functions below take such a one, too. */
void cgroup_init(struct cgroup *cgroup);

/*
 * Make a group for @limits and set them.  What has a limit and cannot be
 * enforced is an error (-ENOTSUP, or what the kernel said), and nothing is
 * left.  With no limit at all it is an error too (-EINVAL).
 *
 * To be called while this process has not made any other: a group that has
 * to hand on controllers must be its own.  *@ret_cgroup owns its descriptors;
 * cgroup_remove() and cgroup_close() end it.
 */
int cgroup_create(const struct cgroup_limits *limits,
		  struct cgroup *ret_cgroup, struct error *err);

/*
 * Descriptor for proc_clone(): the child starts inside.  -EBADF when the
 * group has no version 2 part.  Still owned by @cgroup.
 */
int cgroup_clone_fd(const struct cgroup *cgroup);
/*
 * Move process @pid (as seen here; 0: this one) into the version 1 parts of
 * the group and, with @v2_too, into that of version 2.  The process should be
 * held until then.
 *
 * A cgroup namespace made by the very clone(2) shows the launcher's group as
 * its root: unshare(CLONE_NEWCGROUP) once the process is inside.
 */
int cgroup_attach(const struct cgroup *cgroup, pid_t pid, bool v2_too,
		  struct error *err);

/*
 * SIGKILL to everything in it: cgroup.kill (5.14), else a walk over its
 * processes, repeated until there is none.
 */
int cgroup_kill(const struct cgroup *cgroup, struct error *err);
/*
 * Remove the group from the file system, and the launcher's leaf.  Dying
 * processes keep a group busy for a moment: tried for at most @timeout_ms,
 * then -EBUSY.  A group that is gone already is no error.
 */
int cgroup_remove(struct cgroup *cgroup, unsigned timeout_ms,
		  struct error *err);
/* UINT64_MAX: nobody counts it here. */
struct cgroup_usage {
	uint64_t memory_peak;        /* bytes, the page cache included */
	uint64_t user_us, system_us; /* of what was killed, too */
};

/* What everything in the group has used since it was made. */
void cgroup_usage(const struct cgroup *cgroup, struct cgroup_usage *ret_usage);

/* Close the descriptors; the group itself stays. */
void cgroup_close(struct cgroup *cgroup);

#endif
