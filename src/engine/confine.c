/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the payload may no longer do, in the order in which it can still be
 * said: limits and keyrings first, then capabilities, then the filter.  After
 * an exec(2) a signal of the caller's is ignored or as by default, so that of
 * those that the monitor does not set itself the ignored ones are reset.
 *
 * Most of it is done once, in the child that becomes PID 1, and is inherited;
 * the limits on processes and open files are set by the payload itself, last,
 * so that they count what is inside and never stop the start.
 */
#include "engine/child.h"

#include "sys/caps.h"
#include "sys/keyring.h"
#include "sys/limits.h"
#include "sys/proc.h"
#include "sys/seccomp.h"

#include <errno.h>

static const struct {
	enum limit_kind plan;
	enum limits_kind kernel;
} rlimits[] = {
	{ LIMIT_FILE_SIZE, LIMITS_FILE_SIZE },
	{ LIMIT_CPU_TIME, LIMITS_CPU_TIME },
	{ LIMIT_ADDRESS_SPACE, LIMITS_ADDRESS_SPACE },
	{ LIMIT_STACK, LIMITS_STACK },
	{ LIMIT_MEMLOCK, LIMITS_MEMLOCK },
};

static int fail_limit(const struct child *child, enum limit_kind kind,
		      struct error *err)
{
	const struct plan_limit *limit = &child->plan->limits[kind];

	error_reason(err, "limit");
	return error_wrap(err, "%s: limits: %s = %llu",
			  origin_text(child->arena, &limit->origin),
			  limit_names[kind], (unsigned long long)limit->value);
}

static int set_rlimits(const struct child *child, struct error *err)
{
	const struct plan_limit *limits = child->plan->limits;

	for (size_t i = 0; i < ARRAY_SIZE(rlimits); i++)
		if (limits[rlimits[i].plan].is_set &&
		    limits_set(rlimits[i].kernel,
			       limits[rlimits[i].plan].value, err) < 0)
			return fail_limit(child, rlimits[i].plan, err);
	if (child_is_bwrap(child))
		return 0;
	if (limits_set(LIMITS_CORE, limits[LIMIT_CORE].is_set &&
		       limits[LIMIT_CORE].value ? limits[LIMIT_CORE].value :
		       LIMITS_CORE_NONE, err) < 0)
		return fail_limit(child, LIMIT_CORE, err);
	if (limits_set(LIMITS_NICE, 0, err) < 0 ||
	    limits_set(LIMITS_RT_PRIORITY, 0, err) < 0)
		return error_result(err);
	return 0;
}

static unsigned filter_flags(const struct child *child)
{
	const struct plan_security *security = &child->plan->security;
	unsigned flags = 0;

	if (security->deny_unix_sockets)
		flags |= SECCOMP_DENY_UNIX;
	if (security->allow_nested_userns)
		flags |= SECCOMP_ALLOW_USERNS;
	/* On disk the files belong to somebody else: to root, perhaps. */
	if (child->run->ids.id_maps_mounts)
		flags |= SECCOMP_DENY_SETID;
	return flags;
}

static int confine_profile(struct child *child, struct error *err)
{
	const struct plan_security *security = &child->plan->security;
	bool has_filter = security->seccomp == SECCOMP_DEFAULT;
	unsigned flags = filter_flags(child);
	uint64_t ignored;

	if (set_rlimits(child, err) < 0 ||
	    keyring_join_new(has_filter, err) < 0 ||
	    caps_drop_all(child->procfs, &ignored, err) < 0 ||
	    proc_reset_signals(ignored, err) < 0 ||
	    caps_no_new_privs(err) < 0 || fence_raise(child, err) < 0 ||
	    proc_set_dumpable(false, err) < 0)
		return error_result(err);
	if (!has_filter) {
		/* What was denied holds beside any other filter, or none. */
		if (!(flags & (SECCOMP_DENY_UNIX | SECCOMP_DENY_SETID)))
			return 0;
		flags |= SECCOMP_ONLY;
	}
	if (seccomp_load_default(flags, err) < 0)
		return error_result(err);
	return seccomp_verify(err);
}

/*
 * Did entering a user namespace give every capability there is?  What
 * --userns2 gives on top of a joined one is the caller's wish.
 */
static bool starts_full(const struct child *child)
{
	return child->run->ids.new_userns ||
	       (child->plan->ns[NS_USER].want == NS_WANT_JOIN &&
		child->plan->bwrap.userns2_fd < 0);
}

/*
 * bubblewrap's capabilities: an ordinary user's payload gets those that were
 * added, root's keeps its own without an option.
 */
static int confine_bwrap(struct child *child, struct error *err)
{
	const struct plan_bwrap *bwrap = &child->plan->bwrap;
	uint64_t wanted = child->run->caller_caps;
	bool is_root = !child->run->ids.host_uid;
	int r;

	for (size_t i = 0; i < bwrap->caps.count; i++) {
		const struct cap_step *step = &bwrap->caps.at[i];
		uint64_t mask = step->cap < 0 ? caps_all() :
				1ULL << step->cap;

		wanted = step->is_add ? wanted | mask : wanted & ~mask;
	}
	if (caps_no_new_privs(err) < 0)
		return error_result(err);
	if (starts_full(child) && caps_cut_bounding(wanted, err) < 0)
		return error_result(err);
	if (is_root && !bwrap->caps.count)
		return 0;
	r = caps_apply(wanted, true, err);
	/* Root that lacks what was asked for goes on as it is. */
	return r == -EPERM && is_root ? 0 : r;
}

int confine_child(struct child *child, struct error *err)
{
	return child_is_bwrap(child) ? confine_bwrap(child, err) :
	       confine_profile(child, err);
}

int confine_payload(struct child *child, struct error *err)
{
	const struct plan_limit *limits = child->plan->limits;

	/* As many as the caller had, after the last that needed more. */
	if (!limits[LIMIT_OPEN_FILES].is_set &&
	    setrlimit(RLIMIT_NOFILE, &child->run->options->start.files) < 0)
		return error_set(err, errno, "setrlimit RLIMIT_NOFILE");
	if (limits[LIMIT_OPEN_FILES].is_set &&
	    limits_set(LIMITS_OPEN_FILES, limits[LIMIT_OPEN_FILES].value,
		       err) < 0)
		return fail_limit(child, LIMIT_OPEN_FILES, err);
	if (limits[LIMIT_PROCESSES].is_set &&
	    limits_set(LIMITS_PROCESSES, limits[LIMIT_PROCESSES].value,
		       err) < 0)
		return fail_limit(child, LIMIT_PROCESSES, err);
	return child_is_bwrap(child) ? 0 : verify_limits(child, err);
}
