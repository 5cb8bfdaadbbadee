/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who the payload is: its ids inside, its ids on the host, its namespaces.
 *
 * An ordinary user's payload is that user on the host; the child maps the one
 * id itself.  Started by root, the payload gets a host id that nobody else
 * has: file permissions of root's files, the sysctls and the process limit
 * go by the host id, whatever capabilities were dropped.  The id lies above
 * every range that is handed out for users and containers, and is made of
 * the launcher's pid, so that two runs at a time never share one.
 *
 * Root of a container's user namespace is an unprivileged id on the host
 * already, and is taken as an ordinary user; unless that id is 0 after all.
 */
#include "engine/child.h"
#include "engine/conditions.h"

#include "base/text.h"
#include "sys/net.h"
#include "sys/proc.h"
#include "sys/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
	RUN_ID_FIRST = 0x70000000, /* above container ranges, below 2^31 */
	INSIDE_ID_OF_ROOT = 1000,
};

/* The highest id of the namespace: the likeliest to belong to nobody. */
static uint32_t last_id(const struct userns_map *map)
{
	uint32_t last = 0;

	for (size_t i = 0; i < map->ranges.count; i++) {
		const struct userns_range *range = &map->ranges.at[i];

		if (range->inside + (range->count - 1) > last)
			last = range->inside + (range->count - 1);
	}
	return last;
}

/* An id of this namespace that is not the host's root. */
static int choose_other_id(struct run *run, const struct userns_ids *own,
			   struct error *err)
{
	uint32_t wanted = RUN_ID_FIRST + (uint32_t)getpid();
	uint32_t uid = wanted, gid = wanted;

	if (!userns_map_find(&own->uid, uid, NULL))
		uid = last_id(&own->uid);
	if (!userns_map_find(&own->gid, gid, NULL))
		gid = last_id(&own->gid);
	if (!uid || !gid) {
		error_set(err, EPERM, "started by the host's root in a user "
			  "namespace without another id to run the payload "
			  "under");
		condition_apply(run->plan, CONDITION_ONLY_ROOT_ID,
				&(struct condition_words){ 0 }, err);
		return -EPERM;
	}
	run->ids.host_uid = uid;
	run->ids.host_gid = gid;
	return 0;
}

/* The host id that a profile or the launcher chooses for root's payload. */
static int choose_for_root(struct run *run, const struct plan_ids *wanted,
			   struct error *err)
{
	struct run_ids *ids = &run->ids;
	uint32_t outside = 0;
	struct userns_ids own;
	int r = userns_read_own(-EBADF, run->arena, &own, err);

	if (r < 0)
		return r;
	userns_map_find(&own.uid, 0, &outside);
	if (wanted->run_as == RUN_AS_CALLER || (outside && wanted->run_as ==
						RUN_AS_AUTO)) {
		ids->is_host_root = !outside;
		return 0;
	}
	if (wanted->run_as == RUN_AS_ID) {
		if (!userns_map_find(&own.uid, wanted->run_uid, NULL) ||
		    !userns_map_find(&own.gid, wanted->run_gid, NULL))
			return error_set(err, EINVAL, "%s: run-as: %u:%u does "
					 "not exist in this user namespace",
					 origin_text(run->arena,
						     &wanted->run_as_origin),
					 wanted->run_uid, wanted->run_gid);
		ids->host_uid = wanted->run_uid;
		ids->host_gid = wanted->run_gid;
	} else if (choose_other_id(run, &own, err) < 0) {
		return error_result(err);
	}
	ids->is_host_root = !ids->host_uid && !outside;
	ids->parent_maps = true;
	ids->switches = true;
	ids->id_maps_mounts = ids->host_uid != getuid();
	return 0;
}

/* Would the kernel let this user make a user namespace at all? */
static bool userns_possible(void)
{
	auto_close int fd = open("/proc/sys/user/max_user_namespaces",
				 O_RDONLY | O_CLOEXEC);
	char text[8];

	if (access("/proc/self/ns/user", F_OK) < 0)
		return false;
	return fd < 0 || read(fd, text, sizeof(text)) < 1 || text[0] != '0';
}

static bool userns_wanted(const struct plan *plan)
{
	const struct plan_ns *user = &plan->ns[NS_USER];

	if (user->want == NS_WANT_NEW)
		return true;
	if (user->want == NS_WANT_JOIN)
		return false;
	if (getuid())
		return true;
	return user->want == NS_WANT_TRY && userns_possible();
}

int identity_choose(struct run *run, struct error *err)
{
	const struct plan_ids *wanted = &run->plan->ids;
	struct run_ids *ids = &run->ids;
	bool is_profile = run->plan->rules == PLAN_RULES_PROFILE;
	int r = 0;

	ids->new_userns = userns_wanted(run->plan);
	ids->host_uid = getuid();
	ids->host_gid = getgid();
	if (is_profile && !geteuid())
		r = choose_for_root(run, wanted, err);
	else if (wanted->run_as == RUN_AS_ID &&
		 (wanted->run_uid != getuid() || wanted->run_gid != getgid()))
		r = error_set(err, EPERM, "%s: run-as: only root can run as "
			      "somebody else", origin_text(run->arena,
			      &wanted->run_as_origin));
	if (r < 0)
		return r;
	ids->inside_uid = is_profile && !getuid() ? INSIDE_ID_OF_ROOT :
			  getuid();
	ids->inside_gid = is_profile && !getuid() ? INSIDE_ID_OF_ROOT :
			  getgid();
	if (wanted->has_uid)
		ids->inside_uid = wanted->uid;
	if (wanted->has_gid)
		ids->inside_gid = wanted->gid;
	return 0;
}

uint64_t identity_clone_flags(const struct run *run)
{
	static const uint64_t flags[NS_COUNT] = {
		[NS_PID] = CLONE_NEWPID, [NS_NET] = CLONE_NEWNET,
		[NS_IPC] = CLONE_NEWIPC, [NS_UTS] = CLONE_NEWUTS,
		[NS_CGROUP] = CLONE_NEWCGROUP,
	};
	uint64_t all = CLONE_NEWNS;

	if (run->ids.new_userns)
		all |= CLONE_NEWUSER;
	for (int kind = 0; kind < NS_COUNT; kind++) {
		enum ns_want want = run->plan->ns[kind].want;

		if (want == NS_WANT_NEW || want == NS_WANT_TRY)
			all |= flags[kind];
	}
	return all;
}

/* "INSIDE OUTSIDE 1\n" */
static const char *one_line(struct arena *arena, uint32_t inside,
			    uint32_t outside)
{
	return arena_printf(arena, "%u %u 1\n", inside, outside);
}

int identity_map_outside(struct run *run, struct error *err)
{
	const struct run_ids *ids = &run->ids;

	if (!ids->parent_maps)
		return 0;
	return userns_write_maps(-EBADF, run->child,
				 one_line(run->arena, ids->inside_uid,
					  ids->host_uid),
				 one_line(run->arena, ids->inside_gid,
					  ids->host_gid), true, err);
}

/*
 * Under bubblewrap's rules a /dev is built by uid 0 of a first namespace; the
 * payload then gets its ids in a second one.
 */
static bool needs_second(const struct run *run)
{
	const struct plan *plan = run->plan;
	bool has_dev = plan->bwrap.disable_userns;
	bool is_root = !run->ids.inside_uid && !run->ids.inside_gid;

	if (plan->rules != PLAN_RULES_BWRAP || !run->ids.new_userns ||
	    plan->bwrap.userns_block_fd >= 0)
		return false;
	for (size_t i = 0; !is_root && !has_dev && i < plan->ops.count; i++)
		has_dev = plan->ops.at[i].kind == OP_DEV;
	return has_dev;
}

static bool builds_as_root(const struct run *run)
{
	const struct plan *plan = run->plan;

	for (size_t i = 0; i < plan->ops.count; i++)
		if (plan->ops.at[i].kind == OP_DEV)
			return needs_second(run);
	return false;
}

/* With --userns-block-fd the caller writes the maps, and must have done so. */
static int check_maps(const struct child *child, struct error *err)
{
	static const char *const maps[] = { "self/uid_map", "self/gid_map" };

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		auto_close int fd = openat(child->procfs, maps[i],
					   O_RDONLY | O_CLOEXEC);
		char first;

		if (fd < 0 || read(fd, &first, 1) != 1)
			return error_set(err, EOVERFLOW,
					 "Creating newroot failed");
	}
	return 0;
}

int identity_map_self(struct child *child, struct error *err)
{
	const struct run *run = child->run;
	bool as_root = builds_as_root(run);

	if (run->plan->bwrap.userns_block_fd >= 0)
		return check_maps(child, err);
	if (!run->ids.new_userns || run->ids.parent_maps)
		return 0;
	return userns_write_maps(child->procfs, 0,
				 one_line(child->arena, as_root ? 0 :
					  run->ids.inside_uid,
					  run->ids.host_uid),
				 one_line(child->arena, as_root ? 0 :
					  run->ids.inside_gid,
					  run->ids.host_gid), true, err);
}

/*
 * Become the payload's id.  Until here a child of root's was the host's root
 * without a single right outside its namespaces, which was what it took to
 * enter root's directories; from here on files are made under the new id.
 */
int identity_switch(struct child *child, struct error *err)
{
	const struct run_ids *ids = &child->run->ids;

	if (!ids->switches)
		return join_ids(child, err);
	if (setresgid(ids->inside_gid, ids->inside_gid, ids->inside_gid) < 0)
		return error_call(err, errno, "setresgid", "become gid %u",
				  ids->inside_gid);
	if (setresuid(ids->inside_uid, ids->inside_uid, ids->inside_uid) < 0)
		return error_call(err, errno, "setresuid", "become uid %u",
				  ids->inside_uid);
	/* The change of ids forgot it. */
	return proc_die_with_parent(0, err);
}

static int second_userns(struct child *child, struct error *err)
{
	const struct run_ids *ids = &child->run->ids;
	bool as_root = builds_as_root(child->run);

	if (!needs_second(child->run))
		return 0;
	if (child->plan->bwrap.disable_userns) {
		auto_close int fd = proc_open_file(child->procfs,
			"sys/user/max_user_namespaces", O_WRONLY, err);

		if (fd < 0)
			return fd;
		if (write(fd, "1", 1) != 1)
			return error_set(err, errno, "sysctl "
					 "user.max_user_namespaces");
	}
	if (unshare(CLONE_NEWUSER) < 0)
		return error_call(err, errno, "unshare", "unshare user ns");
	return userns_write_maps(child->procfs, 0,
				 one_line(child->arena, ids->inside_uid,
					  as_root ? 0 : ids->inside_uid),
				 one_line(child->arena, ids->inside_gid,
					  as_root ? 0 : ids->inside_gid),
				 false, err);
}

static int check_no_nesting(const struct child *child, struct error *err)
{
	int r = userns_check_no_nesting(err);

	if (r < 0 && child_is_bwrap(child))
		return error_set(err, 0, "creation of new user namespaces was "
				 "not disabled as requested");
	return r;
}

int identity_settle(struct child *child, struct error *err)
{
	const struct plan *plan = child->plan;
	bool new_net = plan->ns[NS_NET].want == NS_WANT_NEW;

	if (new_net && plan->bring_up_loopback && net_loopback_up(err) < 0)
		return op_say(child, err, "loopback: Failed to bring lo up");
	if (plan->hostname && plan->ns[NS_UTS].want != NS_WANT_HOST &&
	    sethostname(plan->hostname, strlen(plan->hostname)) < 0) {
		error_call(err, errno, "sethostname", "sethostname '%s'",
			   plan->hostname);
		return op_say(child, err, "Can't set hostname to %s",
			      plan->hostname);
	}
	if (join_second(child, err) < 0 || second_userns(child, err) < 0)
		return error_result(err);
	if (!child_is_bwrap(child) && !plan->security.allow_nested_userns)
		return userns_disable_nesting(child->procfs, err);
	if (plan->bwrap.disable_userns || plan->bwrap.assert_userns_disabled)
		return check_no_nesting(child, err);
	return 0;
}
