/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The loop itself, with a table made for it. */
#include "front/options.h"

#include "base/text.h"

#include <criterion/criterion.h>
#include <string.h>

static struct arena *arena;
static struct parse parse;
static struct text_buf seen;
static struct error err;
static struct option_words words;

static int see(struct parse *state, const struct option *option,
	       const char *const *values, struct origin origin,
	       struct error *error)
{
	text_addf(&seen, "%s", option->name);
	for (unsigned i = 0; i < option->values; i++)
		text_addf(&seen, " <%s>", values[i]);
	if (option->flags & OPTION_MAY_HAVE_VALUE)
		text_addf(&seen, " [%s]", values[0] ? values[0] : "none");
	text_addf(&seen, " @%s\n", origin_text(arena, &origin));
	return 0;
}

static int fail(struct parse *state, const struct option *option,
		const char *const *values, struct origin origin,
		struct error *error)
{
	return error_set(error, 0, "as told");
}

static int act(struct parse *state, const struct option *option,
	       const char *const *values, struct origin origin,
	       struct error *error)
{
	state->action = PARSE_HELP;
	return 0;
}

/* Reads a source of its own before the rest of the line. */
static int nest(struct parse *state, const struct option *option,
		const char *const *values, struct origin origin,
		struct error *error)
{
	static const char *const inner[] = {
		"--two", "x", "y", "--zero", "command", "--bogus",
	};
	struct option_words source = {
		.at = inner,
		.count = ARRAY_SIZE(inner),
		.origin = ORIGIN_ARGS_FD,
		.name = values[0],
	};
	int r = options_parse(state, &source, error);

	text_addf(&seen, "left at %zu\n", source.next);
	return r;
}

static int after(struct parse *state, const struct option *option,
		 struct error *error)
{
	text_addf(&seen, "after %s\n", option->name);
	return 0;
}

#define BOTH (OPTION_NATIVE | OPTION_BWRAP)

static const struct option rows[] = {
	{ "--zero", 0, BOTH, see, 0, NULL, "" },
	{ "--one", 1, OPTION_NATIVE, see, 0, "A", "" },
	{ "--onetwo", 1, OPTION_BWRAP, see, 0, "A", "" },
	{ "--two", 2, BOTH, see, 0, "A B", "" },
	{ "--three", 3, BOTH, see, 0, "A B C", "", "--three wants more" },
	{ "--maybe", 0, OPTION_NATIVE | OPTION_MAY_HAVE_VALUE, see, 0, "",
	  "" },
	{ "--fail", 0, BOTH, fail, 0, NULL, "" },
	{ "--act", 0, BOTH, act, 0, NULL, "" },
	{ "--nest", 1, BOTH, nest, 0, "FD", "" },
	{ "-s", 1, BOTH, see, 0, "A", "" },
};
static struct option_table table = { rows, ARRAY_SIZE(rows), NULL };

/* Also from within a test, for a fresh start. */
static void setup(void)
{
	arena_free(arena);
	arena = arena_new();
	seen = (struct text_buf){ .arena = arena };
	text_add(&seen, "");
	memset(&err, 0, sizeof(err));
	parse = (struct parse){
		.arena = arena,
		.accepts = BOTH,
		.handles = BOTH,
		.tables = &table,
		.tables_count = 1,
	};
}

static void teardown(void)
{
	arena_free(arena);
}

TestSuite(options, .init = setup, .fini = teardown);

static int run(const char *const *line)
{
	words = (struct option_words){ .at = line, .origin = ORIGIN_ARGUMENT };
	while (line[words.count])
		words.count++;
	return options_parse(&parse, &words, &err);
}

#define RUN(...) run((const char *const[]){ __VA_ARGS__, NULL })

static void expect(int result, size_t next, const char *calls)
{
	cr_expect_eq(result, 0, "%s", err.text);
	cr_expect_eq(words.next, next);
	cr_expect_str_eq(seen.at, calls);
}

static void expect_error(int result, const char *message)
{
	cr_expect_lt(result, 0);
	cr_expect_str_eq(err.text, message);
}

Test(options, values_and_where_they_came_from)
{
	expect(RUN("--one", "a", "--two", "b", "c", "--three", "", "-x", "--",
		   "cmd", "--zero"), 9,
	       "--one <a> @argument 1\n--two <b> <c> @argument 3\n"
	       "--three <> <-x> <--> @argument 6\n");
}

Test(options, the_end_of_options)
{
	expect(RUN("cmd"), 0, "");
	setup();
	expect(RUN("--zero", ""), 1, "--zero @argument 1\n");
	setup();
	expect(RUN("--", "--zero"), 1, "");
	setup();
	expect(RUN("--zero", "--"), 2, "--zero @argument 1\n");
	setup();
	expect(run((const char *const[]){ NULL }), 0, "");
}

Test(options, an_equals_sign_belongs_to_our_own_language)
{
	expect(RUN("--one=a b=c", "--maybe", "--maybe=", "--maybe=x", "cmd"),
	       4, "--one <a b=c> @argument 1\n--maybe [none] @argument 2\n"
	       "--maybe [] @argument 3\n--maybe [x] @argument 4\n");
	setup();
	expect_error(RUN("--onetwo=x"), "Unknown option --onetwo=x");
	expect_error(RUN("--zero=x"), "Unknown option --zero=x");
	expect_error(RUN("--two=x", "y"), "Unknown option --two=x");
}

Test(options, exact_words)
{
	expect_error(RUN("--on", "a"), "Unknown option --on");
	expect_error(RUN("-"), "Unknown option -");
	expect_error(RUN("---zero"), "Unknown option ---zero");
	expect_error(RUN("--zero", "-sx"), "Unknown option -sx");
	cr_expect_str_eq(seen.at, "--zero @argument 1\n",
			 "earlier ones have been handled");
}

Test(options, the_nearest_name)
{
	expect_error(RUN("--thre", "a"), "Unknown option --thre");
	cr_expect(text_has_prefix(err.remedy, "did you mean '--three'?"));
	cr_expect_str_eq(err.reason, "usage");
	expect_error(RUN("--zzz"), "Unknown option --zzz");
	cr_expect_str_empty(err.remedy);
}

Test(options, too_few_words)
{
	expect_error(RUN("--one"), "--one takes an argument");
	expect_error(RUN("--two", "a"), "--two takes two arguments");
	expect_error(RUN("--three", "a", "b"), "--three wants more");
	cr_expect_str_empty(seen.at);
	expect(RUN("--one", "--two"), 2, "--one <--two> @argument 1\n");
}

Test(options, the_first_error_ends_it)
{
	expect_error(RUN("--zero", "--fail", "--zero"), "as told");
	cr_expect_str_eq(seen.at, "--zero @argument 1\n");
}

Test(options, an_action_ends_it)
{
	expect(RUN("--zero", "--act", "--bogus"), 2, "--zero @argument 1\n");
	cr_expect_eq(parse.action, PARSE_HELP);
}

Test(options, a_source_within)
{
	expect(RUN("--zero", "--nest", "7", "--one", "b", "cmd"), 5,
	       "--zero @argument 1\n"
	       "--two <x> <y> @word 1 of --args 7\n"
	       "--zero @word 4 of --args 7\nleft at 4\n"
	       "--one <b> @argument 4\n");
	cr_expect_null(parse.words);
}

Test(options, what_must_follow_is_checked_behind_each)
{
	table.after = after;
	expect(RUN("--zero", "--one", "a"), 3,
	       "--zero @argument 1\nafter --zero\n"
	       "--one <a> @argument 2\nafter --one\n");
	setup();
	parse.handles = OPTION_NATIVE;
	expect(RUN("--zero"), 1, "--zero @argument 1\n");
	table.after = NULL;
}

Test(options, rows_of_the_other_language_do_not_exist)
{
	parse.accepts = parse.handles = OPTION_BWRAP;
	expect_error(RUN("--one", "a"), "Unknown option --one");
	expect(RUN("--onetwo", "a"), 2, "--onetwo <a> @argument 1\n");
}

Test(options, a_reading_for_one_language_skips_the_other)
{
	parse.handles = OPTION_NATIVE;
	expect(RUN("--onetwo", "--one", "--one", "a"), 4,
	       "--one <a> @argument 3\n");
	setup();
	parse.handles = OPTION_NATIVE;
	expect_error(RUN("--onetwo"), "--onetwo takes an argument");
}

Test(options, warnings_know_the_level)
{
	parse.plan = plan_new(arena, PLAN_RULES_BWRAP);
	options_warn(&parse, "first %d", 1);
	parse.plan->bwrap.level_prefix = true;
	options_warn(&parse, "second");
	cr_expect_eq(parse.warnings.count, 2);
	cr_expect_str_eq(parse.warnings.at[0].text, "first 1");
	cr_expect_not(parse.warnings.at[0].has_level);
	cr_expect(parse.warnings.at[1].has_level);
}
