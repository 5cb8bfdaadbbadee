/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The status record: a JSON line an event, for the caller.
 */
#include "engine/report.h"

#include "engine/changes.h"
#include "engine/commit.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

/* What holds a limit that is set, unless run->enforced knows better. */
static const char *const report_mechanisms[] = {
	[LIMIT_PROCESSES] = "rlimit",
	[LIMIT_OPEN_FILES] = "rlimit",
	[LIMIT_FILE_SIZE] = "rlimit",
	[LIMIT_CPU_TIME] = "rlimit",
	[LIMIT_ADDRESS_SPACE] = "rlimit",
	[LIMIT_STACK] = "rlimit",
	[LIMIT_CORE] = "rlimit",
	[LIMIT_MEMLOCK] = "rlimit",
	[LIMIT_MEMORY] = "none",
	[LIMIT_CPU] = "none",
	[LIMIT_TIMEOUT] = "launcher",
	[LIMIT_GRACE] = "launcher",
	[LIMIT_OUTPUT] = "launcher",
};
static_assert(ARRAY_SIZE(report_mechanisms) == LIMIT_COUNT,
	      "a mechanism for each limit");

/* What the lines have besides names. */
enum { ROOM_OF_LINES = 4096 };

size_t report_status_size(const struct run *run)
{
	const struct plan *plan = run->plan;
	size_t size = ROOM_OF_LINES;

	/* Each may be named as one that was left out. */
	for (size_t i = 0; i < plan->ops.count; i++)
		if (plan->ops.at[i].source)
			size += strlen(plan->ops.at[i].source) + 4;
	return size;
}

static bool report_wants_status(const struct run *run)
{
	return run->report && (run->report->status_fd >= 0 ||
			       run->report->status_file >= 0);
}

bool report_wants_payload(const struct run *run)
{
	return report_wants_status(run) ||
	       run->plan->bwrap.json_status_fd >= 0;
}

static int report_write_status(const struct run *run,
			       const struct text_buf *line, struct error *err)
{
	struct report *report = run->report;
	int r = report_write(report->status_fd, line, "status record", err);
	int other = report_write(report->status_file, line, "status record",
				 err);

	/* Nobody reads it, and the run does not wait twice. */
	if (r == -ETIMEDOUT)
		report->status_fd = -EBADF;
	if (other == -ETIMEDOUT)
		report->status_file = -EBADF;
	return r < 0 ? r : other;
}

static void report_add_skipped(struct text_buf *line, const struct run *run)
{
	report_add_name(line, "skipped");
	text_add(line, "[");
	for (size_t i = 0; i < run->skipped.count; i++) {
		const struct op *op = &run->plan->ops.at[run->skipped.at[i]];

		if (i)
			text_add(line, ",");
		text_add_json(line, op->source ? op->source : op_place(op));
	}
	text_add(line, "]");
}

static void report_add_enforced(struct text_buf *line, const struct run *run)
{
	const char *before = "";

	report_add_name(line, "enforced");
	text_add(line, "{");
	for (int kind = 0; kind < LIMIT_COUNT; kind++) {
		const char *by = run->enforced[kind];

		/* The grace is a part of the time-out. */
		if (!run->plan->limits[kind].is_set || kind == LIMIT_GRACE)
			continue;
		text_addf(line, "%s\"%s\":\"%s\"", before, limit_names[kind],
			  by ? by : report_mechanisms[kind]);
		before = ",";
	}
	text_add(line, "}");
}

int report_started(struct run *run, struct error *err)
{
	struct text_buf line = { .arena = run->arena };

	if (!report_wants_status(run))
		return 0;
	text_add(&line, "{\"event\":\"start\"");
	report_add_number(&line, "pid", run->payload > 0,
			  (uint64_t)run->payload);
	report_add_number(&line, "initPid", run_has_init(run),
			  (uint64_t)run->child);
	report_add_skipped(&line, run);
	report_add_enforced(&line, run);
	report_add_number(&line, "landlock", true, run->progress ?
			  (uint64_t)run->progress->landlock_abi : 0);
	text_add(&line, "}\n");
	return report_write_status(run, &line, err);
}

int report_changes(struct run *run, const size_t *counts, struct error *err)
{
	struct text_buf line = { .arena = run->arena };

	if (!report_wants_status(run))
		return 0;
	text_add(&line, "{\"event\":\"changes\"");
	for (int kind = CHANGE_ADDED; kind < CHANGE_COUNT; kind++)
		report_add_number(&line, change_names[kind], true,
				  counts[kind]);
	text_add(&line, "}\n");
	return report_write_status(run, &line, err);
}

/* The group, if it counts, knows of more: what was killed, for instance. */
static uint64_t report_ms(const struct timeval *time, uint64_t group_us)
{
	uint64_t ms = (uint64_t)time->tv_sec * 1000 +
		      (uint64_t)time->tv_usec / 1000;

	return group_us != UINT64_MAX && group_us / 1000 > ms ?
	       group_us / 1000 : ms;
}

static void report_add_exit(struct text_buf *line, const struct run *run,
			    const struct report_end *end)
{
	bool exited = WIFEXITED(end->wait_status);
	bool killed = WIFSIGNALED(end->wait_status);
	const struct cgroup_usage *group = &run->group_usage;

	text_add(line, "{\"event\":\"exit\"");
	report_add_number(line, "exitCode", exited,
			  (uint64_t)WEXITSTATUS(end->wait_status));
	report_add_number(line, "signal", killed,
			  (uint64_t)WTERMSIG(end->wait_status));
	report_add_bool(line, "timedOut", end->timed_out);
	report_add_number(line, "durationMs", true, report_elapsed_ms(run));
	report_add_number(line, "maxRssKib", true,
			  (uint64_t)end->usage.ru_maxrss);
	report_add_number(line, "memoryPeakKib",
			  group->memory_peak != UINT64_MAX,
			  group->memory_peak / 1024);
	report_add_number(line, "userMs", true,
			  report_ms(&end->usage.ru_utime, group->user_us));
	report_add_number(line, "systemMs", true,
			  report_ms(&end->usage.ru_stime, group->system_us));
	report_add_number(line, "outputBytes", run->output.is_counted,
			  run->output.passed);
	report_add_number(line, "outputDropped", run->output.is_counted,
			  run->output.dropped);
	if (run->commit)
		report_add_bool(line, "committed", run->commit->is_done);
	text_add(line, "}\n");
}

static void report_add_error(struct text_buf *line, const struct run *run,
			     const struct error *err)
{
	text_add(line, "{\"event\":\"error\"");
	report_add_text(line, "stage", err->stage[0] ? err->stage : NULL);
	report_add_text(line, "reason",
			err->reason[0] ? err->reason : "other");
	report_add_text(line, "errno", error_errno_name(err->code));
	report_add_text(line, "message", error_line(run->arena, err));
	report_add_text(line, "remedy", err->remedy[0] ? err->remedy : NULL);
	text_add(line, "}\n");
}

int report_status_ended(struct run *run, const struct report_end *end,
			struct error *err)
{
	struct text_buf line = { .arena = run->arena };

	if (!report_wants_status(run))
		return 0;
	if (end->error)
		report_add_error(&line, run, end->error);
	else
		report_add_exit(&line, run, end);
	return report_write_status(run, &line, err);
}
