/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Limits that no rlimit can hold, or not for this payload.
 *
 * An rlimit on processes counts the payload's host id in its own user
 * namespace, and holds for everybody but the host's root.  Memory and CPU of
 * a whole run take a control group.  What the profile asks for and nothing
 * here can hold is an error, unless it says `optional`; which mechanism holds
 * what goes into the status record.
 */
#include "engine/child.h"

#include "sys/proc.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>

enum {
	REMOVE_TIMEOUT_MS = 2000,
	OOM_RAISED_BY = 500, /* half of the memory, in thousandths */
};

static const struct {
	enum limit_kind limit;
	enum cgroup_controller controller;
} grouped[] = {
	{ LIMIT_PROCESSES, CGROUP_PIDS },
	{ LIMIT_MEMORY, CGROUP_MEMORY },
	{ LIMIT_CPU, CGROUP_CPU },
};

static bool needs_group(const struct run *run, enum limit_kind kind)
{
	if (!run->plan->limits[kind].is_set)
		return false;
	return kind != LIMIT_PROCESSES || run->ids.is_host_root;
}

static uint64_t *limit_of(struct cgroup_limits *limits, enum limit_kind kind)
{
	if (kind == LIMIT_PROCESSES)
		return &limits->processes;
	return kind == LIMIT_MEMORY ? &limits->memory : &limits->cpu_percent;
}

static int refuse(const struct run *run, enum limit_kind kind, const char *why,
		  struct error *err)
{
	const struct plan_limit *limit = &run->plan->limits[kind];

	error_set(err, 0, "%s: limits: %s cannot be enforced here: %s",
		  origin_text(run->arena, &limit->origin), limit_names[kind],
		  why);
	error_reason(err, "limit");
	if (kind == LIMIT_PROCESSES)
		error_remedy(err, "leave run-as at auto: the limit holds for "
			     "every host id but root's");
	else
		error_remedy(err, "start it where a cgroup is delegated "
			     "(systemd-run --user --scope -p Delegate=yes), or "
			     "write: %s = %llu optional", limit_names[kind],
			     (unsigned long long)limit->value);
	return -ENOTSUP;
}

int resources_prepare(struct run *run, struct error *err)
{
	struct cgroup_limits limits = { UINT64_MAX, UINT64_MAX, UINT64_MAX };
	struct cgroup_support support;
	bool is_needed = false, is_probed = false;

	cgroup_init(&run->cgroup);
	cgroup_usage(&run->cgroup, &run->group_usage);
	if (run->plan->rules != PLAN_RULES_PROFILE)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(grouped); i++) {
		enum limit_kind kind = grouped[i].limit;

		if (!needs_group(run, kind))
			continue;
		if (!is_probed)
			cgroup_probe(&support);
		is_probed = true;
		if (support.version[grouped[i].controller] != CGROUP_NONE) {
			*limit_of(&limits, kind) =
				run->plan->limits[kind].value;
			run->enforced[kind] = "cgroup";
			is_needed = true;
		} else if (run->plan->limits[kind].is_optional) {
			run->enforced[kind] = "none";
		} else {
			return refuse(run, kind, support.why_not[
				      grouped[i].controller], err);
		}
	}
	if (!is_needed)
		return 0;
	run->has_cgroup = true;
	if (cgroup_create(&limits, &run->cgroup, err) < 0)
		return error_result(err);
	return janitor_group(run, err);
}

int resources_attach(struct run *run, struct error *err)
{
	if (!run->has_cgroup)
		return 0;
	return cgroup_attach(&run->cgroup, run->child, false, err);
}

/*
 * When memory runs out, rather what runs inside than who started it.  Here,
 * while the child still owns its files in /proc: a change of ids ends that.
 */
static int give_up_first(struct child *child, struct error *err)
{
	struct run *run = child->run;

	if (child_is_bwrap(child))
		return 0;
	run->oom_fd = proc_give_up_first(child->procfs, OOM_RAISED_BY,
					 &run->oom_before, err);
	return run->oom_fd < 0 ? run->oom_fd : 0;
}

int resources_inside(struct child *child, struct error *err)
{
	bool is_new = child->plan->ns[NS_CGROUP].want == NS_WANT_NEW;

	/* The namespace's root is the run's group, not the launcher's. */
	if (child->run->has_cgroup && is_new && unshare(CLONE_NEWCGROUP) < 0)
		return error_set(err, errno, "unshare the cgroup namespace");
	return give_up_first(child, err);
}

size_t resources_fds(const struct run *run, int *ret_fds)
{
	const struct cgroup *cgroup = &run->cgroup;
	const struct cgroup_place *places[] = {
		&cgroup->v2, &cgroup->v1[CGROUP_PIDS],
		&cgroup->v1[CGROUP_MEMORY], &cgroup->v1[CGROUP_CPU],
	};
	size_t count = 0;

	static_assert(2 * ARRAY_SIZE(places) + 1 == RESOURCES_FDS_MOST,
		      "room for all");
	if (!run->has_cgroup)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (places[i]->parent_fd >= 0)
			ret_fds[count++] = places[i]->parent_fd;
		if (places[i]->fd >= 0)
			ret_fds[count++] = places[i]->fd;
	}
	if (cgroup->self_fd >= 0)
		ret_fds[count++] = cgroup->self_fd;
	return count;
}

int resources_remove(struct run *run, struct error *err)
{
	int r;

	if (!run->has_cgroup)
		return 0;
	r = cgroup_remove(&run->cgroup, REMOVE_TIMEOUT_MS, err);
	if (r < 0)
		return r;
	cgroup_close(&run->cgroup);
	run->has_cgroup = false;
	return 0;
}
