/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "front/native_args.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

static int take_profile(struct parse *parse, const struct option *option,
			const char *const *values, struct origin origin,
			struct error *err)
{
	if (parse->native->profile)
		return error_set(err, 0, "%s used twice ('%s' and '%s'); a "
				 "profile can include another", option->name,
				 parse->native->profile, values[0]);
	parse->native->profile = values[0];
	return 0;
}

/* Note one more key and its value; only what is whole gets here. */
static void add_set(struct parse *parse, const struct option *option,
		    struct origin origin, struct profile_set set)
{
	set.option = option->name;
	set.argument = origin.number;
	*arena_push(parse->arena, &parse->native->sets) = set;
}

static int take_set(struct parse *parse, const struct option *option,
		    const char *const *values, struct origin origin,
		    struct error *err)
{
	char *section = arena_strdup(parse->arena, values[0]);
	char *value = strchr(section, '=');
	char *name = value ? memchr(section, '.', (size_t)(value - section))
			   : NULL;

	if (!name || name == section || name + 1 == value)
		return error_set(err, 0, "--set takes SECTION.KEY=VALUE, not "
				 "'%s'", values[0]);
	*value = '\0';
	*name = '\0';
	add_set(parse, option, origin, (struct profile_set){
		.section = section,
		.name = name + 1,
		.text = value + 1,
	});
	return 0;
}

/* The keys that have an option of their own, by the rows' tags. */
static const struct shorthand {
	const char *section, *name;
} shorthands[] = {
	{ "workspace", "path" },
	{ "limits", "timeout" },
	{ "report", "run-id" },
	{ "report", "handle-id" },
	{ "report", "status-fd" },
	{ "report", "audit-file" },
};
enum {
	SHORT_WORKSPACE, SHORT_TIMEOUT, SHORT_RUN_ID, SHORT_HANDLE_ID,
	SHORT_STATUS_FD, SHORT_AUDIT_FILE, SHORT_COUNT
};
_Static_assert(ARRAY_SIZE(shorthands) == SHORT_COUNT, "a key for each");

static int take_shorthand(struct parse *parse, const struct option *option,
			  const char *const *values, struct origin origin,
			  struct error *err)
{
	add_set(parse, option, origin, (struct profile_set){
		.section = shorthands[option->tag].section,
		.name = shorthands[option->tag].name,
		.text = values[0],
		.is_literal = true,
	});
	return 0;
}

static int take_env(struct parse *parse, const struct option *option,
		    const char *const *values, struct origin origin,
		    struct error *err)
{
	char *name = arena_strdup(parse->arena, values[0]);
	char *value = strchr(name, '=');

	if (value)
		*value++ = '\0';
	else
		value = getenv(name);
	if (!*name)
		return error_set(err, 0, "--env takes NAME or NAME=VALUE, not "
				 "'%s'", values[0]);
	if (!value)
		return error_set(err, 0, "--env %s: the environment has no "
				 "such variable", name);
	add_set(parse, option, origin, (struct profile_set){
		.section = "setenv",
		.name = name,
		.text = value,
		.is_literal = true,
	});
	return 0;
}

/* @value as a member of @names, 0 when it is NULL. */
static int take_format(const struct option *option, const char *value,
		       const char *const *names, size_t count,
		       size_t *ret_index, struct error *err)
{
	const char *nearest;

	*ret_index = 0;
	if (!value)
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(names[i], value)) {
			*ret_index = i;
			return 0;
		}
	}
	error_set(err, 0, "%s has no format '%s'", option->name, value);
	nearest = text_nearest(value, names, count);
	if (nearest)
		error_remedy(err, "did you mean '%s=%s'?", option->name,
			     nearest);
	return error_result(err);
}

static int take_explain(struct parse *parse, const struct option *option,
			const char *const *values, struct origin origin,
			struct error *err)
{
	static const char *const names[] = { "text", "json", "bwrap", "ini" };
	static const enum explain_format formats[] = {
		EXPLAIN_TEXT, EXPLAIN_JSON, EXPLAIN_BWRAP, EXPLAIN_INI,
	};
	size_t index = 0;
	int r = take_format(option, values[0], names, ARRAY_SIZE(names),
			    &index, err);

	/* With an unknown format, too, nothing was to be launched. */
	parse->native->explain = formats[index];
	return r;
}

static int take_check(struct parse *parse, const struct option *option,
		      const char *const *values, struct origin origin,
		      struct error *err)
{
	static const char *const names[] = { "text", "json" };
	size_t index = 0;
	int r = take_format(option, values[0], names, ARRAY_SIZE(names),
			    &index, err);

	parse->native->check = index ? CHECK_JSON : CHECK_TEXT;
	return r;
}

static int take_verbose(struct parse *parse, const struct option *option,
			const char *const *values, struct origin origin,
			struct error *err)
{
	parse->native->is_verbose = true;
	return 0;
}

static int take_log_fd(struct parse *parse, const struct option *option,
		       const char *const *values, struct origin origin,
		       struct error *err)
{
	uint64_t fd;

	if (text_parse_u64(values[0], &fd) < 0 || fd > INT_MAX)
		return error_set(err, 0, "%s: '%s' is not a descriptor",
				 option->name, values[0]);
	/* What the caller handed on is not close-on-exec; what we opened is. */
	if (fcntl((int)fd, F_GETFD) != 0) {
		error_set(err, EBADF, "%s: descriptor %s", option->name,
			  values[0]);
		error_reason(err, "descriptor");
		return error_result(err);
	}
	parse->native->log_fd = (int)fd;
	parse->native->is_verbose = true;
	return 0;
}

static int take_action(struct parse *parse, const struct option *option,
		       const char *const *values, struct origin origin,
		       struct error *err)
{
	parse->action = (enum parse_action)option->tag;
	return 0;
}

#define MAYBE (OPTION_NATIVE | OPTION_MAY_HAVE_VALUE)

const struct option native_options[] = {
	{ "--profile", 1, OPTION_NATIVE, take_profile, 0, "NAME",
	  "Run by the profile: a path, or a name that is searched" },
	{ "--set", 1, OPTION_NATIVE, take_set, 0, "SECTION.KEY=VALUE",
	  "Replace what the profile says" },
	{ "--workspace", 1, OPTION_NATIVE, take_shorthand, SHORT_WORKSPACE,
	  "DIR", "Work in DIR (workspace: path)" },
	{ "--timeout", 1, OPTION_NATIVE, take_shorthand, SHORT_TIMEOUT,
	  "DURATION", "End the run after DURATION (limits: timeout)" },
	{ "--env", 1, OPTION_NATIVE, take_env, 0, "NAME[=VALUE]",
	  "Set a variable, or take it from the caller (setenv)" },
	{ "--run-id", 1, OPTION_NATIVE, take_shorthand, SHORT_RUN_ID, "ID",
	  "Name the run in its records (report: run-id)" },
	{ "--handle-id", 1, OPTION_NATIVE, take_shorthand, SHORT_HANDLE_ID,
	  "ID", "Name the run's owner in its records (report: handle-id)" },
	{ "--status-fd", 1, OPTION_NATIVE, take_shorthand, SHORT_STATUS_FD,
	  "FD", "Write JSON lines about the run to FD (report: status-fd)" },
	{ "--audit-file", 1, OPTION_NATIVE, take_shorthand, SHORT_AUDIT_FILE,
	  "FILE", "Append a JSON line a launch (report: audit-file)" },
	{ "--explain", 0, MAYBE, take_explain, 0, "[=text|json|bwrap|ini]",
	  "Print what would be run, and run nothing" },
	{ "--check", 0, MAYBE, take_check, 0, "[=text|json]",
	  "Set everything up, run nothing in it, say if it works" },
	{ "--features", 0, OPTION_NATIVE, take_action, PARSE_FEATURES, NULL,
	  "Print what this program can do, a line a feature" },
	{ "--verbose", 0, OPTION_NATIVE, take_verbose, 0, NULL,
	  "Print a line a stage to stderr" },
	{ "--log-fd", 1, OPTION_NATIVE, take_log_fd, 0, "FD",
	  "Print the lines of --verbose to FD" },
};
const size_t native_options_count = ARRAY_SIZE(native_options);
