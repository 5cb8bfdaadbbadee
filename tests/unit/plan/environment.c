/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/plan.h"

#include <criterion/criterion.h>
#include <string.h>

static struct arena *arena;
static struct plan *plan;

static void setup(void)
{
	arena = arena_new();
	plan = plan_new(arena, PLAN_RULES_PROFILE);
	plan->caller_uid = 1234;
}

static void teardown(void)
{
	arena_free(arena);
}

TestSuite(environment, .init = setup, .fini = teardown);

static char *const hostile[] = {
	(char *)"PATH=/evil",		  (char *)"HOME=/home/u",
	(char *)"USER=u",		  (char *)"LANG=de_DE.UTF-8",
	(char *)"LC_ALL=C",		  (char *)"LC_TIME=C",
	(char *)"LD_PRELOAD=/evil.so",	  (char *)"LD_LIBRARY_PATH=/evil",
	(char *)"GCONV_PATH=/evil",	  (char *)"BASH_ENV=/evil",
	(char *)"ENV=/evil",		  (char *)"PYTHONSTARTUP=/evil",
	(char *)"PYTHONPATH=/evil",	  (char *)"NODE_OPTIONS=-r/evil",
	(char *)"GIT_SSH_COMMAND=evil",	  (char *)"TERM=xterm",
	(char *)"BASH_FUNC_ls%%=() { evil; }", (char *)"TOKEN=secret",
	(char *)"EMPTY=",		  (char *)"nothing",
	(char *)"=odd",			  NULL,
};

static void step(enum env_kind kind, const char *name, const char *value)
{
	plan_add_env(plan, kind, name, value,
		     (struct origin){ ORIGIN_FILE, 1, "p.ini" });
}

static void option(enum env_kind kind, const char *name, const char *value)
{
	plan_add_env(plan, kind, name, value,
		     (struct origin){ .kind = ORIGIN_ARGUMENT, .number = 1 });
}

static char **made;

static void make(char *const *caller)
{
	made = plan_environment(plan, arena, caller);
}

static const char *get(const char *name)
{
	size_t length = strlen(name);
	const char *value = NULL;

	for (char **at = made; *at; at++) {
		if (strncmp(*at, name, length) != 0 || (*at)[length] != '=')
			continue;
		cr_assert_null(value, "%s is there twice", name);
		value = *at + length + 1;
	}
	return value;
}

static void expect_value(const char *name, const char *value)
{
	const char *got = get(name);

	if (value)
		cr_expect_str_eq(got ? got : "(unset)", value, "%s", name);
	else
		cr_expect_null(got, "%s=%s", name, got);
}

static size_t count(void)
{
	size_t entries = 0;

	while (made[entries])
		entries++;
	return entries;
}

Test(environment, cleared_it_has_the_defaults_alone)
{
	step(ENV_CLEAR, NULL, NULL);
	make(hostile);
	cr_expect_eq(count(), 7);
	expect_value("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:"
		     "/usr/bin:/sbin:/bin");
	expect_value("HOME", "/");
	expect_value("USER", "u");
	expect_value("LOGNAME", "u");
	expect_value("TMPDIR", "/");
	expect_value("LANG", "C.UTF-8");
	expect_value("TERM", "dumb");
}

Test(environment, kept_by_name_and_by_pattern)
{
	step(ENV_CLEAR, NULL, NULL);
	step(ENV_KEEP, "LC_*", NULL);
	step(ENV_KEEP, "TOKEN", NULL);
	step(ENV_KEEP, "LANG", NULL);
	step(ENV_KEEP, "NOT_THERE", NULL);
	step(ENV_KEEP, "EMPTY", NULL);
	make(hostile);
	expect_value("LC_ALL", "C");
	expect_value("LC_TIME", "C");
	expect_value("TOKEN", "secret");
	expect_value("LANG", "de_DE.UTF-8");
	expect_value("NOT_THERE", NULL);
	expect_value("EMPTY", "");
}

Test(environment, what_runs_something_is_kept_in_full_only)
{
	static const char *const names[] = {
		"LD_PRELOAD", "LD_LIBRARY_PATH", "GCONV_PATH", "BASH_ENV",
		"ENV", "PYTHONSTARTUP", "PYTHONPATH", "NODE_OPTIONS",
		"GIT_SSH_COMMAND", "BASH_FUNC_ls%%",
	};

	step(ENV_CLEAR, NULL, NULL);
	step(ENV_KEEP, "*", NULL);
	step(ENV_KEEP, "LD_*", NULL);
	step(ENV_KEEP, "PYTHON*", NULL);
	make(hostile);
	expect_value("TOKEN", "secret");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		expect_value(names[i], NULL);
	step(ENV_KEEP, "PYTHONPATH", NULL);
	make(hostile);
	expect_value("PYTHONPATH", "/evil");
	expect_value("LD_PRELOAD", NULL);
}

Test(environment, not_cleared_it_lacks_what_runs_something)
{
	make(hostile);
	expect_value("TOKEN", "secret");
	expect_value("PATH", "/evil");
	expect_value("LD_PRELOAD", NULL);
	expect_value("BASH_ENV", NULL);
	for (char **at = made; *at; at++)
		cr_expect_not_null(strchr(*at, '='), "%s", *at);
}

Test(environment, set_is_stronger_than_kept_and_default)
{
	step(ENV_CLEAR, NULL, NULL);
	step(ENV_KEEP, "LANG", NULL);
	step(ENV_SET, "LANG", "C");
	step(ENV_SET, "HOME", "/h");
	step(ENV_SET, "LD_PRELOAD", "/mine.so");
	step(ENV_SET, "A", "1");
	step(ENV_SET, "A", "2=3 4");
	make(hostile);
	expect_value("LANG", "C");
	expect_value("HOME", "/h");
	expect_value("LD_PRELOAD", "/mine.so");
	expect_value("A", "2=3 4");
}

Test(environment, options_behind_the_profile_can_take_defaults_away)
{
	step(ENV_CLEAR, NULL, NULL);
	option(ENV_UNSET, "HOME", NULL);
	make(hostile);
	expect_value("HOME", NULL);
	expect_value("LANG", "C.UTF-8");
	option(ENV_CLEAR, NULL, NULL);
	option(ENV_SET, "A", "1");
	make(hostile);
	cr_expect_eq(count(), 1);
	expect_value("A", "1");
}

static struct op *add_op(enum op_kind kind, const char *dest, unsigned flags)
{
	struct op *op = plan_add_op(plan, kind, PHASE_VIEW,
				    (struct origin){ .kind = ORIGIN_BUILTIN });

	op->dest = dest;
	op->flags = flags;
	return op;
}

Test(environment, home_is_a_place_that_can_be_written)
{
	add_op(OP_BIND, "/", OP_READ_ONLY);
	add_op(OP_TMPFS, "/tmp", 0);
	step(ENV_CLEAR, NULL, NULL);
	make(hostile);
	expect_value("HOME", "/tmp");
	expect_value("TMPDIR", "/tmp");

	plan->workspace.source = plan->workspace.dest = "/w";
	plan->workspace.mode = WORKSPACE_RO;
	make(hostile);
	expect_value("HOME", "/tmp");

	plan->workspace.mode = WORKSPACE_EPHEMERAL;
	make(hostile);
	expect_value("HOME", "/w");
	expect_value("TMPDIR", "/tmp");
}

Test(environment, without_a_tmp_the_workspace_has_to_do)
{
	add_op(OP_BIND, "/", OP_READ_ONLY);
	add_op(OP_TMPFS, "/tmp", OP_READ_ONLY);
	plan->workspace.source = plan->workspace.dest = "/w";
	step(ENV_CLEAR, NULL, NULL);
	make(hostile);
	expect_value("HOME", "/w");
	expect_value("TMPDIR", "/w");
}

Test(environment, the_user_is_named_for_the_id_inside)
{
	static const struct {
		uint32_t caller, inside;
		bool has_uid;
		const char *user;
	} cases[] = {
		{ 1234, 0, false, "u" },     { 1234, 1234, true, "u" },
		{ 1234, 1000, true, "user" }, { 1234, 0, true, "root" },
		{ 0, 0, false, "user" },     { 0, 0, true, "root" },
		{ 0, 7, true, "user" },
	};

	step(ENV_CLEAR, NULL, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		plan->caller_uid = cases[i].caller;
		plan->ids.has_uid = cases[i].has_uid;
		plan->ids.uid = cases[i].inside;
		make(hostile);
		expect_value("USER", cases[i].user);
		expect_value("LOGNAME", cases[i].user);
	}
}

Test(environment, the_terminals_name_comes_with_the_terminal)
{
	step(ENV_CLEAR, NULL, NULL);
	plan->security.tty = TTY_KEEP;
	make(hostile);
	expect_value("TERM", "xterm");
}

Test(environment, bubblewrap_passes_everything_on)
{
	plan = plan_new(arena, PLAN_RULES_BWRAP);
	make(hostile);
	cr_expect_eq(count(), ARRAY_SIZE(hostile) - 1);
	for (size_t i = 0; hostile[i]; i++)
		cr_expect_str_eq(made[i], hostile[i]);
	option(ENV_UNSET, "PATH", NULL);
	option(ENV_SET, "X", "1");
	make(hostile);
	expect_value("PATH", NULL);
	expect_value("X", "1");
	option(ENV_CLEAR, NULL, NULL);
	make(hostile);
	cr_expect_eq(count(), 0);
}
