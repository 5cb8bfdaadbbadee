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
	char why_not[256]; /* one sentence when something is CGROUP_NONE */
};

/*
 * Look where a group could be made now.  Cheap: /proc/self/cgroup and a few
 * files of the hierarchies, no mount table.  Does not fail: what cannot be
 * read cannot be enforced.
 */
void cgroup_probe(struct cgroup_support *ret_support);

/* UINT64_MAX: no limit. */
struct cgroup_limits {
	uint64_t processes;
	uint64_t memory;      /* bytes; swap is refused with it */
	uint64_t cpu_percent; /* of one CPU */
};

enum { CGROUP_NAME_MAX = 64 };

/* A directory of a group; parent_fd -EBADF: not there. */
struct cgroup_place {
	int parent_fd, fd;
};

/*
 * The group of a run.  Only descriptors and a name, so that any process that
 * inherited it can remove it.
 */
struct cgroup {
	char name[CGROUP_NAME_MAX];
	/* the one place of version 2 ... */
	struct cgroup_place v2;
	/* ... and those of version 1, by controller */
	struct cgroup_place v1[CGROUP_CONTROLLER_COUNT];
	enum cgroup_version version[CGROUP_CONTROLLER_COUNT]; /* in force */
	/*
	 * Version 2 allows no processes beside groups with controllers: when
	 * the launcher was alone in its own group, it has moved itself into
	 * this leaf, and cgroup_remove() brings it back.
	 */
	struct cgroup_place self;
	char self_name[CGROUP_NAME_MAX];
};

/*
 * Make a group for @limits and set them.  What has a limit and cannot be
 * enforced is an error, and nothing is left.  With no limit at all it is an
 * error too (-EINVAL).
 *
 * *@ret_cgroup owns its descriptors; cgroup_remove() and cgroup_close() end
 * it.
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

/* What the group has used; UINT64_MAX: not known. */
struct cgroup_usage {
	uint64_t memory_peak;    /* bytes (version 2: 5.19) */
	uint64_t cpu_usec;
	uint64_t forks_refused;  /* by the limit on processes */
	uint64_t oom_kills;
};
void cgroup_read_usage(const struct cgroup *cgroup,
		       struct cgroup_usage *ret_usage);

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
/* Close the descriptors; the group itself stays. */
void cgroup_close(struct cgroup *cgroup);

#endif
