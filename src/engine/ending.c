/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How a run is made to end.
 *
 * What runs inside is first told (SIGTERM, or the signal that the monitor got)
 * and has the grace; then PID 1 gets SIGKILL, and the kernel kills the rest of
 * the pid namespace, stopped and traced processes too.  What is not dead ten
 * seconds later sleeps in the kernel, and is reported: waiting longer would
 * hang the caller too.
 *
 * Without a pid namespace the reaper kills what it can find, and is killed
 * itself if it takes too long over that.
 */
#include "engine/monitor.h"

#include "sys/proc.h"

#include <limits.h>
#include <time.h>

#define NS_PER_MS UINT64_C(1000000)

enum {
	GRACE_DEFAULT_MS = 2000,
	GRACE_BWRAP_MS = 500,
	REAPER_MS = 1000,
	DYING_MS = 10000,
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void ending_arm(struct monitor *monitor, enum deadline deadline,
		       uint64_t ms)
{
	uint64_t now = now_ns();

	monitor->deadline = deadline;
	monitor->deadline_at = ms > (UINT64_MAX - now) / NS_PER_MS ?
		UINT64_MAX : now + ms * NS_PER_MS;
}

int ending_wait_ms(const struct monitor *monitor)
{
	uint64_t now, ms;

	if (monitor->deadline == DEADLINE_NONE)
		return -1;
	now = now_ns();
	if (now >= monitor->deadline_at)
		return 0;
	ms = (monitor->deadline_at - now + NS_PER_MS - 1) / NS_PER_MS;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

bool ending_is_killing(const struct monitor *monitor)
{
	return monitor->deadline == DEADLINE_REAPER ||
	       monitor->deadline == DEADLINE_DYING;
}

static void ending_signal_child(const struct monitor *monitor, int signal)
{
	const struct run *run = monitor->run;
	struct error ignored;

	/* Once it has been waited for, its pid may be somebody else's. */
	if (!monitor->child_ended)
		proc_child_signal(run->child_pidfd, run->child, signal,
				  &ignored);
}

void ending_signal(struct monitor *monitor, int signal, bool to_group)
{
	const struct message message = {
		.kind = MESSAGE_SIGNAL,
		.signal = signal,
		.to_group = to_group,
	};
	struct error ignored;

	if (monitor->has_init)
		run_send(monitor->run->monitor_socket, &message, &ignored);
	else
		ending_signal_child(monitor, signal);
}

void ending_kill(struct monitor *monitor)
{
	struct run *run = monitor->run;
	struct error ignored;

	if (monitor->has_init && !run_has_pid_namespace(run) &&
	    !ending_is_killing(monitor)) {
		ending_signal(monitor, SIGKILL, false);
		ending_arm(monitor, DEADLINE_REAPER, REAPER_MS);
		return;
	}
	ending_signal_child(monitor, SIGKILL);
	if (run->has_cgroup)
		cgroup_kill(&run->cgroup, &ignored);
	ending_arm(monitor, DEADLINE_DYING, DYING_MS);
}

static uint64_t ending_grace_ms(const struct monitor *monitor)
{
	const struct plan_limit *grace =
		&monitor->run->plan->limits[LIMIT_GRACE];

	if (grace->is_set)
		return grace->value;
	return monitor->is_profile || monitor->timed_out ? GRACE_DEFAULT_MS :
							   GRACE_BWRAP_MS;
}

void ending_start_grace(struct monitor *monitor)
{
	uint64_t ms = ending_grace_ms(monitor);
	uint64_t before = monitor->deadline_at;

	if (ending_is_killing(monitor))
		return;
	if (!monitor->was_told_to_end) {
		monitor->was_told_to_end = true;
		ending_arm(monitor, DEADLINE_GRACE, ms);
		return;
	}
	ending_arm(monitor, DEADLINE_GRACE, ms / 10);
	if (before < monitor->deadline_at)
		monitor->deadline_at = before;
}

/* Under bubblewrap's rules the rest goes on, unless it was to end, too. */
static bool ending_takes_all(const struct monitor *monitor)
{
	return monitor->is_profile || monitor->timed_out ||
	       monitor->caller_gone ||
	       (monitor->end_signal &&
		monitor->run->plan->bwrap.die_with_parent);
}

void ending_payload_ended(struct monitor *monitor)
{
	if (ending_is_killing(monitor))
		return;
	if (!ending_takes_all(monitor))
		monitor->is_over = true;
	else if (monitor->is_profile)
		/* PID 1 is on its way out and takes the others along. */
		ending_arm(monitor, DEADLINE_DYING, DYING_MS);
	else
		ending_kill(monitor);
}

void ending_check(struct monitor *monitor)
{
	if (monitor->deadline == DEADLINE_NONE ||
	    now_ns() < monitor->deadline_at)
		return;
	switch (monitor->deadline) {
	case DEADLINE_GRACE:
		if (ending_takes_all(monitor))
			ending_kill(monitor);
		else
			monitor->is_over = true;
		break;
	case DEADLINE_REAPER:
		ending_kill(monitor);
		break;
	case DEADLINE_DYING:
		monitor->unkillable = true;
		monitor->is_over = true;
		break;
	case DEADLINE_NONE:
	case DEADLINE_COUNT:
		break;
	}
}

void ending_abandon(struct monitor *monitor)
{
	const struct run *run = monitor->run;

	if (monitor->child_ended)
		return;
	ending_signal_child(monitor, SIGKILL);
	proc_child_await(run->child_pidfd, run->child, DYING_MS);
}
