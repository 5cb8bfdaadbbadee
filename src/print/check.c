/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What came of --check: the set-up wall by wall, and what this machine can
 * promise to somebody who has to tell others what he isolates by.
 */
#include "print/print.h"

#include "print/json_writer.h"
#include "print/text_sheet.h"
#include "plan/survey.h"

#include <string.h>

enum { CHECK_SCHEMA = 1 };

/* ---- walls --------------------------------------------------------------------- */

/* In the order of the stages that build them. */
static const struct {
	const char *name, *stage;
} walls[] = {
	{ "namespaces", "spawn" },
	{ "ids", "map-ids" },
	{ "sources", "gather" },
	{ "root", "switch-root" },
	{ "mounts", "assemble" },
	{ "network", "identity" },
	{ "rights", "confine" },
	{ "command", "exec" },
};

enum wall_state { WALL_STANDS, WALL_FAILED, WALL_NOT_TRIED };

/* Index of the wall that a failure in @stage is one of. */
static size_t failed_wall(const char *stage)
{
	for (size_t i = 0; i < ARRAY_SIZE(walls); i++)
		if (!strcmp(walls[i].stage, stage))
			return i;
	/* "init" is the last step before the command. */
	return !strcmp(stage, "init") ? ARRAY_SIZE(walls) - 1 : SIZE_MAX;
}

static enum wall_state wall_state(const struct print_check *check, size_t i)
{
	size_t failed;

	if (!check->error)
		return WALL_STANDS;
	failed = failed_wall(check->error->stage);
	if (failed == SIZE_MAX || i > failed)
		return WALL_NOT_TRIED;
	return i < failed ? WALL_STANDS : WALL_FAILED;
}

/* ---- promises ------------------------------------------------------------------ */

/* What holds it: a limit of the plan, or the set-up as such. */
static const struct promise {
	const char *name, *label;
	int limit; /* enum limit_kind, or -1 */
	const char *by;
} promises[] = {
	{ "fileSystemIsolation", "file system", -1, "mount namespace" },
	{ "networkControl", "network", -1, "network namespace" },
	{ "processLimit", "processes", LIMIT_PROCESSES, NULL },
	{ "memoryLimit", "memory", LIMIT_MEMORY, NULL },
	{ "cpuLimit", "cpu", LIMIT_CPU, NULL },
	{ "timeout", "time-out", LIMIT_TIMEOUT, NULL },
	{ "outputLimit", "output", LIMIT_OUTPUT, NULL },
	{ "audit", "audit", -1, "launcher" },
};

/* NULL: it cannot be promised; then *@ret_why may say why. */
static const char *promised_by(const struct print_check *check,
			       const struct promise *promise,
			       const char **ret_why)
{
	const struct survey_limit *limit;

	*ret_why = NULL;
	if (check->error || !check->survey) {
		*ret_why = "nothing runs here";
		return NULL;
	}
	if (promise->limit < 0)
		return promise->by;
	limit = &check->survey->limits[promise->limit];
	*ret_why = limit->why_not;
	return limit->by;
}

/* ---- for people ------------------------------------------------------------------ */

static void text_walls(struct sheet *sheet, const struct print_check *check)
{
	bool is_told = false;

	sheet_heading(sheet, "walls");
	for (size_t i = 0; i < ARRAY_SIZE(walls); i++) {
		const char *name = walls[i].name;

		switch (wall_state(check, i)) {
		case WALL_STANDS:
			sheet_line(sheet, name, NULL, "ok");
			break;
		case WALL_NOT_TRIED:
			sheet_line(sheet, name, NULL, "not tried");
			break;
		case WALL_FAILED:
			is_told = true;
			sheet_line(sheet, name, NULL, "%s",
				   text_printable(sheet->arena,
					error_line(sheet->arena,
						   check->error)));
			if (*check->error->remedy)
				sheet_note(sheet, "%s", text_printable(
					   sheet->arena,
					   check->error->remedy));
			break;
		}
	}
	if (!check->error || is_told)
		return;
	sheet_heading(sheet, "before that");
	sheet_note(sheet, "%s", text_printable(sheet->arena,
		   error_line(sheet->arena, check->error)));
	if (*check->error->remedy)
		sheet_note(sheet, "%s", text_printable(sheet->arena,
			   check->error->remedy));
}

void print_check_text(const struct print_check *check, struct text_buf *out,
		      bool in_colour)
{
	struct sheet sheet = {
		.out = out, .arena = out->arena, .in_colour = in_colour,
	};

	text_walls(&sheet, check);
	if (check->survey) {
		sheet_line(&sheet, "engine", NULL, "%s",
			   check->survey->engine);
		sheet_line(&sheet, "seccomp", NULL, "%s",
			   check->survey->has_seccomp ? "ok" :
			   "not in this kernel (CONFIG_SECCOMP_FILTER)");
		if (check->survey->landlock_abi)
			sheet_line(&sheet, "Landlock", NULL, "ok, ABI %d",
				   check->survey->landlock_abi);
		else
			sheet_line(&sheet, "Landlock", NULL, "not in this "
				   "kernel, or switched off (lsm=landlock)");
	}
	sheet_heading(&sheet, "what can be promised here");
	for (size_t i = 0; i < ARRAY_SIZE(promises); i++) {
		const char *why, *by = promised_by(check, &promises[i], &why);

		if (by)
			sheet_line(&sheet, promises[i].label, NULL,
				   "ok, by %s", by);
		else
			sheet_line(&sheet, promises[i].label, NULL, "no: %s",
				   why ? why : "not known why");
	}
}

/* ---- for programs ------------------------------------------------------------------ */

static void json_error(struct json_writer *json, const struct error *error)
{
	struct arena *arena = json->out->arena;

	json_string(json, "reason", !error ? NULL :
		    *error->reason ? error->reason : "other");
	json_string(json, "stage", error && *error->stage ? error->stage :
		    NULL);
	json_string(json, "errno", error ? error_errno_name(error->code) :
		    NULL);
	json_string(json, "message", error ? error_line(arena, error) : NULL);
	json_string(json, "remedy", error && *error->remedy ? error->remedy :
		    NULL);
}

static void json_walls(struct json_writer *json,
		       const struct print_check *check)
{
	static const char *const states[] = {
		[WALL_STANDS] = "ok",
		[WALL_FAILED] = "failed",
		[WALL_NOT_TRIED] = "not-tried",
	};

	json_open(json, "walls", '{');
	for (size_t i = 0; i < ARRAY_SIZE(walls); i++)
		json_string(json, walls[i].name,
			    states[wall_state(check, i)]);
	json_close(json, '}');
}

static void json_promises(struct json_writer *json,
			  const struct print_check *check)
{
	const char *why;

	json_open(json, "missing", '[');
	for (size_t i = 0; i < ARRAY_SIZE(promises); i++)
		if (!promised_by(check, &promises[i], &why))
			json_string(json, NULL, promises[i].name);
	json_close(json, ']');
	json_open(json, "promises", '{');
	for (size_t i = 0; i < ARRAY_SIZE(promises); i++) {
		const char *by = promised_by(check, &promises[i], &why);

		json_open(json, promises[i].name, '{');
		json_bool(json, "holds", by);
		json_string(json, "by", by);
		json_string(json, "whyNot", why);
		json_close(json, '}');
	}
	json_close(json, '}');
}

void print_check_json(const struct print_check *check, struct text_buf *out)
{
	struct json_writer json = { .out = out };

	json_open(&json, NULL, '{');
	json_number(&json, "schema", CHECK_SCHEMA);
	json_bool(&json, "ok", !check->error);
	json_error(&json, check->error);
	json_promises(&json, check);
	json_walls(&json, check);
	json_string(&json, "engine", check->survey ? check->survey->engine :
		    NULL);
	json_bool(&json, "seccomp", check->survey &&
		  check->survey->has_seccomp);
	json_number(&json, "landlock", check->survey ?
		    (uint64_t)check->survey->landlock_abi : 0);
	json_close(&json, '}');
	text_add(out, "\n");
}
