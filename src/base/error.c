/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/error.h"

#include "base/mem.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static_assert(sizeof(struct error) < PIPE_BUF, "an error is one write");

int error_result(const struct error *err)
{
	return err->code ? -err->code : -EINVAL;
}

/* Everything is forgotten but the stage. */
static void error_start(struct error *err, int code)
{
	char stage[sizeof(err->stage)];

	memcpy(stage, err->stage, sizeof(stage));
	memset(err, 0, sizeof(*err));
	memcpy(err->stage, stage, sizeof(stage));
	err->code = code;
}

int error_set(struct error *err, int code, const char *format, ...)
{
	va_list args;

	error_start(err, code);
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return error_result(err);
}

int error_call(struct error *err, int code, const char *call,
	       const char *format, ...)
{
	va_list args;

	assert(strlen(call) < sizeof(err->call));
	error_start(err, code);
	snprintf(err->call, sizeof(err->call), "%s", call);
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return error_result(err);
}

void error_say(struct error *err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
}

int error_wrap(struct error *err, const char *format, ...)
{
	char cause[sizeof(err->text)];
	va_list args;
	int used;

	memcpy(cause, err->text, sizeof(cause));
	va_start(args, format);
	used = vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	if (used >= 0 && (size_t)used < sizeof(err->text))
		snprintf(err->text + used, sizeof(err->text) - (size_t)used,
			 ": %s", cause);
	return error_result(err);
}

void error_remedy(struct error *err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(err->remedy, sizeof(err->remedy), format, args);
	va_end(args);
}

void error_reason(struct error *err, const char *reason)
{
	assert(strlen(reason) < sizeof(err->reason));
	snprintf(err->reason, sizeof(err->reason), "%s", reason);
}

void error_status(struct error *err, int status)
{
	err->status = status;
}

const char *error_line(struct arena *arena, const struct error *err)
{
	if (!err->code || err->is_complete)
		return err->text;
	return arena_printf(arena, "%s: %s", err->text, strerror(err->code));
}

const char *error_errno_name(int code)
{
	return code > 0 ? strerrorname_np(code) : NULL;
}
