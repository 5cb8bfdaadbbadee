/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "front/front.h"

#include "base/text.h"
#include "front/bwrap_args.h"
#include "front/command.h"
#include "front/host.h"
#include "plan/check.h"
#include "plan/order.h"

#include <string.h>

static void start(struct front *front, struct arena *arena, bool is_bwrap)
{
	struct parse *parse = &front->parse;

	memset(front, 0, sizeof(*front));
	front->native.log_fd = -EBADF;
	front->tables[0] = (struct option_table){
		native_options, native_options_count, NULL,
	};
	parse->arena = arena;
	parse->is_bwrap = is_bwrap;
	front->tables[1] = (struct option_table){
		bwrap_options, bwrap_options_count, bwrap_after_option,
	};
	parse->accepts = OPTION_BWRAP | (is_bwrap ? 0 : OPTION_NATIVE);
	parse->tables = front->tables;
	parse->tables_count = FRONT_TABLES_MOST;
	parse->native = &front->native;
}

/* With an interpreter: interpreter, arguments, script and its own. */
static void take_command(struct plan *plan, const struct option_words *words)
{
	if (plan->interpreter) {
		*arena_push(plan->arena, &plan->command) = plan->interpreter;
		for (size_t i = 0; i < plan->arguments.count; i++)
			*arena_push(plan->arena, &plan->command) =
				plan->arguments.at[i];
		/* "-c CODE" and the like are the interpreter's to read. */
		if (words->next < words->count &&
		    *words->at[words->next] != '-')
			plan->script_index = plan->command.count;
	}
	for (size_t i = words->next; i < words->count; i++)
		*arena_push(plan->arena, &plan->command) = words->at[i];
}

static bool needs_command(const struct front *front)
{
	return front->native.explain == EXPLAIN_NO &&
	       front->native.check == CHECK_NO;
}

static int finish_plan(struct front *front, struct error *err)
{
	struct plan *plan = front->parse.plan;
	int r = host_complete(plan, err);

	if (r >= 0)
		r = plan_order(plan, err);
	if (r >= 0)
		r = plan_check(plan, err);
	/* Last: what a rule is broken by may be what hides the command. */
	if (r >= 0)
		r = command_check(plan, err);
	if (r < 0 && !*err->reason)
		error_reason(err, "plan");
	return r;
}

/*
 * A profile's rules hold with a profile, and for --check alone: what is asked
 * then is whether a sandbox as a profile describes it can be had here.
 */
static enum plan_rules rules_for(const struct front *front,
				 const struct option_words *words,
				 size_t command)
{
	bool is_bare_check = front->native.check != CHECK_NO &&
		!front->parse.skipped && command == words->count;

	return front->native.profile || is_bare_check ? PLAN_RULES_PROFILE
						      : PLAN_RULES_BWRAP;
}

static void start_plan(struct front *front, enum plan_rules rules)
{
	struct parse *parse = &front->parse;

	parse->plan = plan_new(parse->arena, rules);
	parse->plan->caller_uid = getuid();
	parse->plan->caller_gid = getgid();
}

/* To the end, whatever fails: the profile may say where records go. */
static int read_profile(struct front *front, struct error *err)
{
	const struct native_options *native = &front->native;
	struct error further;
	int r = profile_apply_reports(front->parse.plan, native->sets.at,
				      native->sets.count, err);
	int result = profile_apply(front->parse.plan, native->profile,
				   native->sets.at, native->sets.count,
				   r < 0 ? &further : err);

	return r < 0 ? r : result;
}

/*
 * The line is wrong, which is an entry in the books: the options behind may
 * say in which, and who keeps them.  What could be a value of an unknown
 * option, or the command's, is not read.
 */
static void read_on(struct parse *parse, struct option_words *words)
{
	struct error further;

	while (options_parse(parse, words, &further) < 0)
		;
}

/* A refused launch is recorded with the command that it was for. */
static int note_refusal(struct front *front, struct option_words *words,
			size_t command, struct error *err)
{
	words->next = command;
	take_command(front->parse.plan, words);
	return error_result(err);
}

/* The word for programs, unless there is a better one. */
static int as_usage(int r, struct error *err)
{
	if (r < 0 && !*err->reason)
		error_reason(err, "usage");
	return r;
}

/* sbx-launch's own options, and the profile.  Without a plan all is said. */
static int read_native(struct front *front, struct option_words *words,
		       struct error *err)
{
	struct parse *parse = &front->parse;
	struct error further;
	int r, result;

	parse->handles = OPTION_NATIVE;
	r = as_usage(options_parse(parse, words, err), err);
	if (r < 0)
		read_on(parse, words);
	if (parse->action != PARSE_RUN)
		return r;
	start_plan(front, rules_for(front, words, words->next));
	result = read_profile(front, r < 0 ? &further : err);
	return r < 0 ? r : result;
}

static int read_line(struct front *front, struct arena *arena, int argc,
		     const char *const *argv, bool is_bwrap,
		     struct error *err)
{
	struct option_words words = {
		.at = argv + 1,
		.count = argc > 0 ? (size_t)argc - 1 : 0,
		.origin = ORIGIN_ARGUMENT,
	};
	struct parse *parse = &front->parse;
	size_t command;
	int r = 0;

	start(front, arena, is_bwrap);
	if (is_bwrap)
		start_plan(front, PLAN_RULES_BWRAP);
	else
		r = read_native(front, &words, err);
	if (!parse->plan)
		return r;
	command = words.next;
	if (r >= 0) {
		words.next = 0;
		parse->handles = OPTION_BWRAP;
		r = as_usage(options_parse(parse, &words, err), err);
	}
	if (r < 0 && !is_bwrap)
		return note_refusal(front, &words, command, err);
	if (r < 0 || parse->action != PARSE_RUN)
		return r;
	take_command(parse->plan, &words);
	r = as_usage(bwrap_finish(parse, err), err);
	if (r < 0)
		return r;
	if (parse->action == PARSE_USAGE && !needs_command(front))
		parse->action = PARSE_RUN;
	if (parse->action != PARSE_RUN)
		return 0;
	return finish_plan(front, err);
}

int front_read(struct front *front, struct arena *arena, int argc,
	       const char *const *argv, bool is_bwrap, struct error *err)
{
	int r = read_line(front, arena, argc, argv, is_bwrap, err);

	if (r < 0 && front->parse.plan)
		host_drop_reports(front->parse.plan);
	return r;
}

static void add_rows(struct text_buf *text, const struct option_table *table,
		     unsigned accepts)
{
	enum { COLUMN = 34 };

	for (size_t i = 0; i < table->count; i++) {
		const struct option *option = &table->rows[i];
		const char *operands = option->operands ? option->operands : "";
		bool is_glued = *operands == '[';
		int width;

		if (!(option->flags & accepts) || !option->help)
			continue;
		width = COLUMN - (int)strlen(option->name);
		text_addf(text, "    %s%s%-*s %s\n", option->name,
			  is_glued ? "" : " ",
			  width > 0 ? width - !is_glued : 0, operands,
			  option->help);
	}
}

const char *front_help(const struct front *front, const char *argv0)
{
	const struct parse *parse = &front->parse;
	struct text_buf text = { .arena = parse->arena };

	if (parse->is_bwrap) {
		bwrap_usage(argv0, &text);
		return text.at;
	}
	if (!argv0)
		argv0 = "sbx-launch";
	text_addf(&text, "usage: %s [OPTIONS...] [--] COMMAND [ARGS...]\n",
		  argv0);
	text_addf(&text, "       %s --profile NAME [OPTIONS...] [--] "
		  "SCRIPT [ARGS...]\n\n", argv0);
	for (size_t t = 0; t < parse->tables_count; t++)
		add_rows(&text, &parse->tables[t], parse->accepts);
	return text.at;
}
