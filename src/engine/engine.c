/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The stages of a run and the monitor's way through them.
 *
 * The order is security, so it lives here and in no profile:
 *
 *   stage        where    must                              must not
 *   prepare      monitor  normalise what the caller left    build anything inside
 *   spawn        monitor  make the child in its namespaces
 *   map-ids      who may  write maps, deny setgroups        run child code before
 *   gather       child    open every source once            attach
 *   switch-root  child    pivot, detach, verify             leave the host named
 *   assemble     child    the operations, below the root    look at the host again
 *   identity     child    host name, loopback, nesting
 *   confine      child    limits, capabilities, filter      mount afterwards
 *   init         child    fork the payload, be PID 1        die before it
 *   exec         payload  descriptors, last limit, exec     return
 */
#include "engine/engine.h"

#include "engine/child.h"
#include "engine/commit.h"
#include "engine/diagnose.h"
#include "engine/record.h"
#include "engine/relay.h"
#include "engine/results.h"
#include "engine/stages.h"
#include "base/text.h"
#include "plan/survey.h"
#include "sys/caps.h"
#include "sys/mountfd.h"
#include "sys/proc.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* The calls are those that can be refused; --explain shows them. */
static const struct survey_stage stages[] = {
	[STAGE_PREPARE] = { "prepare", "monitor",
		"sigprocmask, open, pidfd_open" },
	[STAGE_SPAWN] = { "spawn", "monitor", "clone3" },
	[STAGE_MAP_IDS] = { "map-ids", "child",
		"write uid_map, setgroups, gid_map" },
	[STAGE_GATHER] = { "gather", "child",
		"open_tree, mount_setattr, fsopen, fsconfig, fsmount" },
	[STAGE_SWITCH_ROOT] = { "switch-root", "child",
		"move_mount, pivot_root, umount2" },
	[STAGE_ASSEMBLE] = { "assemble", "child",
		"openat2, mkdirat, fsopen, fsmount, move_mount" },
	[STAGE_IDENTITY] = { "identity", "child", "ioctl, sethostname" },
	[STAGE_CONFINE] = { "confine", "child",
		"prlimit, keyctl, capset, prctl, landlock_restrict_self, "
		"seccomp" },
	[STAGE_INIT] = { "init", "child", "chdir, prctl" },
	[STAGE_EXEC] = { "exec", "payload",
		"setsid, setrlimit, close_range, execve" },
};
static_assert(ARRAY_SIZE(stages) == STAGE_COUNT, "a row for each stage");

const struct survey_stage *engine_stage(size_t index)
{
	return index < STAGE_COUNT ? &stages[index] : NULL;
}

const char *engine_stage_name(size_t index)
{
	return index < STAGE_COUNT ? stages[index].name : NULL;
}

const char *engine_mounts(struct arena *arena)
{
	const char *call;
	int code = mountfd_probe(&call);

	if (!code)
		return "descriptors";
	return arena_printf(arena, "legacy %s %s", call,
			    error_errno_name(code));
}

void stages_log(const struct run *run, int stage, const struct error *err)
{
	static bool nobody_reads;
	int fd = run->options->log_fd;
	const char *line;

	if (fd < 0 || nobody_reads)
		return;
	if (!err)
		line = arena_printf(run->arena, "sbx-launch: %s: %s: ok\n",
				    stages[stage].name, stages[stage].calls);
	else
		line = arena_printf(run->arena, "sbx-launch: %s: %s: %s: %s\n",
				    stages[stage].name, *err->call ? err->call :
				    stages[stage].calls, err->code ?
				    error_errno_name(err->code) : "failed",
				    text_printable(run->arena,
					error_line(run->arena, err)));
	nobody_reads = record_write(fd, line, strlen(line)) == -ETIMEDOUT;
}

/* bubblewrap's callers know its words. */
static int fail_spawn(const struct run *run, struct error *err)
{
	if (run->plan->rules == PLAN_RULES_PROFILE)
		return error_wrap(err, "make the namespaces");
	if (err->code == EPERM && run->ids.new_userns) {
		error_say(err, "No permissions to create a new namespace, "
			   "likely because the kernel does not allow "
			   "non-privileged user namespaces.");
		return -EPERM;
	}
	if (err->code != ENOSPC) {
		error_say(err, "Creating new namespace failed");
		return error_result(err);
	}
	error_say(err, "Creating new namespace failed: nesting depth or "
		   "/proc/sys/user/max_*_namespaces exceeded (ENOSPC)");
	err->is_complete = true;
	return -ENOSPC;
}

static int spawn(struct run *run, struct error *err)
{
	struct proc_clone args = {
		.flags = identity_clone_flags(run),
		.cgroup_fd = run->has_cgroup ? cgroup_clone_fd(&run->cgroup) :
			     -EBADF,
	};
	const struct plan_ns *pid = &run->plan->ns[NS_PID];

	if (diagnose_before_spawn(run, err) < 0 || run_connect(run, err) < 0 ||
	    join_before(run, err) < 0)
		return error_result(err);
	if (pid->want == NS_WANT_JOIN && pid->also_new) {
		if (join_spawn(run, &args, err) < 0)
			return error_result(err);
		close(run->child_socket);
		run->child_socket = -EBADF;
		return 0;
	}
	run->child = proc_clone(&args, &run->child_pidfd, err);
	if (run->child < 0)
		return fail_spawn(run, err);
	if (!run->child)
		child_run(run);
	close(run->child_socket);
	run->child_socket = -EBADF;
	return resources_attach(run, err);
}

/* @r of a step whose failures are the one thing or, unexplained, @reason. */
static int step(const struct run *run, int r, const char *reason,
		struct error *err)
{
	if (r >= 0)
		return r;
	diagnose(run, err);
	if (!*err->reason)
		error_reason(err, reason);
	return r;
}

static int prepare(struct run *run, struct error *err)
{
	const struct plan_bwrap *bwrap = &run->plan->bwrap;

	run->progress = mmap(NULL, sizeof(*run->progress),
			     PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (run->progress == MAP_FAILED) {
		run->progress = NULL;
		return error_set(err, errno, "mmap");
	}
	run->progress->op = SIZE_MAX;
	gather_init(run);
	if (prepare_run(run, err) < 0 ||
	    step(run, commit_settle(run, err), "commit", err) < 0 ||
	    step(run, commit_prepare(run, err), "commit", err) < 0 ||
	    step(run, filters_read(run, err), "seccomp-program", err) < 0 ||
	    step(run, identity_choose(run, err), "plan", err) < 0 ||
	    step(run, resources_prepare(run, err), "limit", err) < 0)
		return error_result(err);
	if (run->plan->rules == PLAN_RULES_PROFILE) {
		verify_note_namespaces(run);
	} else if (!run->ids.host_uid) {
		if (caps_read_effective(&run->caller_caps, err) < 0)
			return error_result(err);
	}
	run->child_waits = run->ids.parent_maps || run->has_cgroup ||
			   bwrap->info_fd >= 0 ||
			   bwrap->json_status_fd >= 0 ||
			   bwrap->userns_block_fd >= 0;
	/* Groups that root has would go on to open files inside. */
	if (run->ids.switches && setgroups(0, NULL) < 0)
		return error_call(err, errno, "setgroups", "setgroups");
	if (run->ids.switches && relay_give(run, err) < 0)
		return error_result(err);
	if (step(run, host_prepare(run, err), "mount-point", err) < 0 ||
	    step(run, results_prepare(run, err), "results", err) < 0)
		return error_result(err);
	return step(run, gather_outside(run, err), "source-denied", err);
}

static int (*const steps[STAGE_COUNT])(struct run *, struct error *) = {
	[STAGE_PREPARE] = prepare,
	[STAGE_SPAWN] = spawn,
	[STAGE_MAP_IDS] = identity_map_outside,
};

static int run_stages(struct run *run, struct error *err)
{
	for (int stage = 0; stage < STAGE_COUNT; stage++) {
		int r;

		if (!steps[stage])
			continue;
		r = steps[stage](run, err);
		/* The child, once it is there, speaks for both. */
		if (r < 0 || stage == STAGE_PREPARE)
			stages_log(run, stage, r < 0 ? err : NULL);
		if (r < 0) {
			snprintf(err->stage, sizeof(err->stage), "%s",
				 stages[stage].name);
			diagnose(run, err);
			return r;
		}
	}
	return 0;
}

/* Nothing of the payload ran; the child, if there is one, waits for us. */
static int give_up(struct run *run, const struct error *err)
{
	struct error ignored;

	if (run->child > 0) {
		int status;

		proc_child_signal(run->child_pidfd, run->child, SIGKILL,
				  &ignored);
		proc_child_wait(run->child_pidfd, run->child, true, &status,
				NULL, &ignored);
	}
	janitor_finish(run, &ignored);
	report_failed(run, err);
	return error_result(err);
}

int engine_run(const struct plan *plan, const struct engine_options *options,
	       struct engine_outcome *ret_outcome, struct error *err)
{
	struct run run = {
		.plan = plan, .options = options, .arena = plan->arena,
		.caller_pidfd = -EBADF, .child_pidfd = -EBADF,
		.monitor_socket = -EBADF, .child_socket = -EBADF,
		.janitor_socket = -EBADF, .janitor_pidfd = -EBADF,
		.payload_stdio = { -EBADF, -EBADF, -EBADF },
	};
	struct error ignored;
	int r;

	if (run_stages(&run, err) < 0)
		r = give_up(&run, err);
	else
		r = monitor_run(&run, ret_outcome, err);
	/* Where there was no janitor yet. */
	resources_remove(&run, &ignored);
	return r;
}
