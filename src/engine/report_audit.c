/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The audit record: one JSON line a launch, for whoever keeps books.
 */
#include "engine/report.h"

#include <stdio.h>
#include <sys/random.h>
#include <time.h>

/* What the line may have for a message, every byte of it escaped. */
enum { ROOM_OF_MESSAGE = sizeof(((struct error *)NULL)->text) };

/* A random UUID, RFC 9562 version 4. */
static const char *report_new_id(struct arena *arena)
{
	unsigned char b[16];

	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		return "unknown";
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	return arena_printf(arena, "%02x%02x%02x%02x-%02x%02x-%02x%02x-"
			    "%02x%02x-%02x%02x%02x%02x%02x%02x",
			    b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7],
			    b[8], b[9], b[10], b[11], b[12], b[13], b[14],
			    b[15]);
}

static const char *report_time(struct arena *arena,
			       const struct timespec *moment)
{
	char date[32];
	struct tm utc;

	gmtime_r(&moment->tv_sec, &utc);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc);
	return arena_printf(arena, "%s.%03ldZ", date,
			    moment->tv_nsec / 1000000);
}

static const char *report_audit_error(const struct run *run,
				      const struct report_end *end)
{
	if (end->error)
		return error_line(run->arena, end->error);
	if (end->timed_out)
		return "timed out";
	if (end->caller_gone)
		return "the calling process ended";
	return NULL;
}

static void report_add_audit(struct text_buf *line, const struct run *run,
			     const struct report_end *end)
{
	const struct plan *plan = run->plan;
	const char *id = plan->report.run_id;

	text_add(line, "{\"runId\":");
	text_add_json(line, id ? id : report_new_id(run->arena));
	report_add_text(line, "handleId", plan->report.handle_id);
	report_add_name(line, "command");
	text_add(line, "[");
	for (size_t i = 0; i < plan->command.count; i++) {
		if (i)
			text_add(line, ",");
		text_add_json(line, plan->command.at[i]);
	}
	text_add(line, "]");
	report_add_bool(line, "ok", !end->error && end->status == 0);
	report_add_number(line, "exitCode", true, (uint64_t)end->status);
	report_add_number(line, "durationMs", true, report_elapsed_ms(run));
	report_add_number(line, "outputBytes", run->output.is_counted,
			  run->output.passed);
	report_add_text(line, "error", report_audit_error(run, end));
	report_add_text(line, "createdAt",
			report_time(run->arena, &run->created_at));
	report_add_text(line, "profile", run->options->profile);
	text_add(line, "}\n");
}

size_t report_audit_size(const struct run *run)
{
	const struct report_end end = { 0 };
	struct text_buf line = { .arena = run->arena };

	report_add_audit(&line, run, &end);
	return line.count + ROOM_OF_MESSAGE;
}

int report_audit_ended(struct run *run, const struct report_end *end,
		       struct error *err)
{
	struct text_buf line = { .arena = run->arena };

	if (run->report->audit_file < 0)
		return 0;
	report_add_audit(&line, run, end);
	return report_write(run->report->audit_file, &line, "audit record",
			    err);
}
