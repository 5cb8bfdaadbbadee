/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What became of a run: exit status or error, and the records of it.
 */
#include "engine/monitor.h"

#include "engine/child.h"
#include "engine/conditions.h"
#include "engine/diagnose.h"
#include "engine/report.h"
#include "engine/stages.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

bool verdict_payload_ran(const struct monitor *monitor)
{
	return monitor->payload_ended ||
	       monitor->run->progress->stage >= STAGE_EXEC;
}

static int verdict_status_of(int wait_status)
{
	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	return 128 + WTERMSIG(wait_status);
}

static int verdict_fail_killed(const struct monitor *monitor,
			       struct error *err)
{
	const struct condition_words none = { 0 };
	const struct run *run = monitor->run;
	const struct plan_limit *memory = &run->plan->limits[LIMIT_MEMORY];
	int signal = WTERMSIG(monitor->wait_status);

	if (signal == SIGSYS) {
		error_set(err, 0, "set-up of the sandbox");
		condition_apply(run->plan, CONDITION_SIGSYS, &none, err);
	} else {
		error_set(err, 0, "set-up of the sandbox was killed by "
			  "signal %d (%s)", signal, strsignal(signal));
		error_reason(err, "setup-killed");
		if (signal == SIGKILL && run->has_cgroup && memory->is_set)
			error_remedy(err, "%s: limits: memory = %llu may be "
				     "too little for it",
				     origin_text(run->arena, &memory->origin),
				     (unsigned long long)memory->value);
	}
	snprintf(err->stage, sizeof(err->stage), "%s",
		 engine_stage_name((size_t)run->progress->stage));
	return error_result(err);
}

/* The operation that is at work, or that shows where the payload starts. */
static const struct op *op_at_work(const struct run *run)
{
	const struct plan *plan = run->plan;

	if (run->progress->op < plan->ops.count)
		return &plan->ops.at[run->progress->op];
	if (run->progress->stage != STAGE_INIT ||
	    plan->rules != PLAN_RULES_PROFILE)
		return NULL;
	return program_op_showing(plan, plan->chdir ? plan->chdir :
				  plan->workspace.source ?
				  plan->workspace.dest : "/");
}

static int verdict_fail_setup(const struct monitor *monitor,
			      struct error *err)
{
	const struct run *run = monitor->run;
	const struct op *at_work;

	if (monitor->setup_hung) {
		at_work = op_at_work(run);
		error_set(err, 0, "%s%s%s makes no progress for %d s",
			  at_work ? origin_text(run->arena, &at_work->origin) :
			  "set-up of the sandbox", at_work ? ": " : "",
			  at_work ? op_describe(run->arena, at_work) : "",
			  SETUP_IDLE_S);
		diagnose_hung(run, at_work, err);
		snprintf(err->stage, sizeof(err->stage), "%s",
			 engine_stage_name((size_t)run->progress->stage));
	} else if (WIFSIGNALED(monitor->wait_status)) {
		return verdict_fail_killed(monitor, err);
	} else {
		error_set(err, 0, "set-up of the sandbox ended without "
			  "a word, with status %d",
			  WEXITSTATUS(monitor->wait_status));
		error_reason(err, "setup-died");
	}
	return error_result(err);
}

int verdict_find(const struct monitor *monitor,
		 struct engine_outcome *ret_outcome, struct error *err)
{
	int status;

	if (monitor->failed) {
		*err = monitor->error;
		diagnose(monitor->run, err);
		return error_result(err);
	}
	if (monitor->unkillable) {
		error_set(err, 0, "what runs inside cannot be killed: it "
			  "sleeps in the kernel, most likely for a disk or "
			  "a network file system");
		error_reason(err, "unkillable");
		return error_result(err);
	}
	if (monitor->timed_out)
		status = ERROR_STATUS_TIMEOUT;
	else if (monitor->caller_gone)
		status = 128 + SIGKILL;
	else if (monitor->end_signal && (!monitor->is_profile ||
					 !verdict_payload_ran(monitor)))
		status = 128 + monitor->end_signal;
	else if (verdict_payload_ran(monitor))
		status = verdict_status_of(monitor->wait_status);
	else
		return verdict_fail_setup(monitor, err);
	ret_outcome->status = status;
	if (!monitor->is_profile && !monitor->timed_out)
		ret_outcome->end_by_signal = monitor->end_signal;
	return 0;
}

void verdict_report(struct monitor *monitor, const struct error *cause,
		    int status)
{
	const struct report_end end = {
		.error = cause,
		.status = cause ? report_exit_status(monitor->run, cause) :
				  status,
		.ran = verdict_payload_ran(monitor),
		.wait_status = monitor->wait_status,
		.usage = monitor->usage,
		.timed_out = monitor->timed_out,
		.caller_gone = monitor->caller_gone,
	};

	monitor->has_warning |=
		report_ended(monitor->run, &end, &monitor->warning) < 0;
}
