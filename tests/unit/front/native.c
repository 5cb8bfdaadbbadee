/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whole command lines of sbx-launch's own. */
#include "front/front.h"
#include "front/keys.h"
#include "profile_dir.h"

TestSuite(native, .init = dir_setup, .fini = dir_teardown);

static struct front front;

static int run_as(bool is_bwrap, const char *const *line)
{
	int count = 0, r;

	while (line[count])
		count++;
	memset(&err, 0, sizeof(err));
	r = front_read(&front, arena, count, line, is_bwrap, &err);
	plan = front.parse.plan;
	return r;
}

#define LINE(...) ((const char *const[]){ "sbx-launch", __VA_ARGS__, NULL })
#define RUN(...) run_as(false, LINE(__VA_ARGS__))

static void expect_ok(int result)
{
	cr_assert_eq(result, 0, "%s", err.text);
}

static void expect_error(int result, const char *message)
{
	cr_expect_lt(result, 0);
	cr_expect_str_eq(err.text, message);
}

/* A profile whose command is a shell that is there everywhere. */
static void put_shell(const char *more)
{
	cr_assert_eq(mkdir("w", 0755), 0);
	cr_assert_eq(mkdir("conf", 0755), 0);
	put("w/x.sh", "");
	put("conf/p.ini", arena_printf(arena, "[exec]\ninterpreter = /bin/sh\n"
				       "argument = -e\n[workspace]\npath = %s\n"
				       "%s", in_dir("w"), more));
}

Test(native, a_profile_and_a_script)
{
	put_shell("");
	expect_ok(RUN("--profile", "conf/p.ini", "x.sh", "-a", "--profile"));
	cr_expect_eq(front.parse.action, PARSE_RUN);
	cr_expect_eq(plan->rules, PLAN_RULES_PROFILE);
	cr_expect_eq(plan->command.count, 5);
	cr_expect_str_eq(plan->command.at[0], "/bin/sh");
	cr_expect_str_eq(plan->command.at[1], "-e");
	cr_expect_str_eq(plan->command.at[2], "x.sh");
	cr_expect_str_eq(plan->command.at[4], "--profile");
	cr_expect_eq(plan->script_index, 2);
	cr_expect_str_eq(plan->chdir, in_dir("w"));
	cr_expect_str_eq(front.native.profile, "conf/p.ini");
}

Test(native, words_behind_the_dashes_are_the_payloads)
{
	put_shell("");
	expect_ok(RUN("--profile", "conf/p.ini", "--", "-c", "echo"));
	cr_expect_str_eq(plan->command.at[2], "-c");
	cr_expect_eq(plan->script_index, 0);
	expect_ok(RUN("--profile", "conf/p.ini"));
	cr_expect_eq(plan->command.count, 2);
	cr_expect_eq(plan->script_index, 0);
}

Test(native, a_profile_without_an_interpreter)
{
	put("p.ini", "");
	expect_ok(RUN("--profile=./p.ini", "true", "x"));
	cr_expect_eq(plan->command.count, 2);
	cr_expect_str_eq(plan->command.at[0], "true");
	expect_ok(RUN("--profile", "./p.ini"));
	cr_expect_eq(front.parse.action, PARSE_USAGE);
	expect_ok(RUN("--profile", "./p.ini", "--check"));
	cr_expect_eq(front.parse.action, PARSE_RUN);
	cr_expect_eq(front.native.check, CHECK_TEXT);
}

Test(native, shorthands)
{
	put_shell("[mask]\ntmpfs = /home\n");
	setenv("SBX_FROM", "v a", 1);
	expect_ok(RUN("--timeout", "5s", "--env", "A=b c=d", "--run-id", "r 1",
		      "--env=SBX_FROM", "--handle-id", "h", "--status-fd", "9",
		      "--audit-file", "a.log", "--profile", "conf/p.ini",
		      "--set", "mask.tmpfs=/srv", "x.sh"));
	cr_expect_eq(plan->limits[LIMIT_TIMEOUT].value, 5000);
	cr_expect_str_eq(plan->report.run_id, "r 1");
	cr_expect_str_eq(plan->report.handle_id, "h");
	cr_expect_eq(plan->report.status_fd, 9);
	cr_expect_str_eq(plan->report.audit_file, in_dir("a.log"));
	cr_expect_eq(plan->environment.count, 3);
	cr_expect_str_eq(plan->environment.at[1].value, "b c=d");
	cr_expect_str_eq(plan->environment.at[2].name, "SBX_FROM");
	cr_expect_str_eq(plan->environment.at[2].value, "v a");
	cr_expect_str_eq(plan->ops.at[3].dest, "/srv");
}

Test(native, bubblewraps_options_come_on_top)
{
	put_shell("[mounts]\nro-bind = /usr /m1\n[setenv]\nA = 1\n");
	expect_ok(RUN("--bind", "/usr", "/m2", "--setenv", "A", "2",
		      "--profile", "conf/p.ini", "--tmpfs", "/m3", "x.sh"));
	cr_assert_eq(plan->ops.count, 7);
	cr_expect_str_eq(plan->ops.at[4].dest, "/m1");
	cr_expect_str_eq(plan->ops.at[5].dest, "/m2");
	cr_expect_eq(plan->ops.at[5].origin.kind, ORIGIN_ARGUMENT);
	cr_expect_str_eq(plan->ops.at[6].dest, "/m3");
	cr_expect_str_eq(plan->environment.at[2].value, "2");
}

Test(native, without_a_profile_it_is_bubblewraps_language)
{
	expect_ok(RUN("--ro-bind", "/", "/", "--timeout", "1s", "true"));
	cr_expect_eq(plan->rules, PLAN_RULES_BWRAP);
	cr_expect_eq(plan->ops.count, 1);
	cr_expect_eq(plan->limits[LIMIT_TIMEOUT].value, 1000);
	expect_error(RUN("--workspace", "/tmp", "true"),
		     "--workspace needs a profile");
	expect_error(RUN("--set", "mask.hide=/a", "true"),
		     "--set needs a profile");
}

Test(native, under_bubblewraps_name_there_are_no_options_of_ours)
{
	expect_error(run_as(true, LINE("--profile", "p.ini", "true")),
		     "Unknown option --profile");
	expect_error(run_as(true, LINE("--explain", "true")),
		     "Unknown option --explain");
	expect_ok(run_as(true, LINE("--ro-bind", "/", "/", "true")));
	expect_ok(run_as(true, LINE("--help", "--bogus")));
	cr_expect_eq(front.parse.action, PARSE_HELP);
}

Test(native, nothing_at_all)
{
	expect_ok(run_as(false, LINE(NULL)));
	cr_expect_eq(front.parse.action, PARSE_USAGE);
	expect_ok(run_as(true, (const char *const[]){ NULL }));
	cr_expect_eq(front.parse.action, PARSE_USAGE);
}

Test(native, actions)
{
	expect_ok(RUN("--version"));
	cr_expect_eq(front.parse.action, PARSE_VERSION);
	expect_ok(RUN("--features"));
	cr_expect_eq(front.parse.action, PARSE_FEATURES);
	expect_ok(RUN("--profile", "/nope.ini", "--help", "--bogus"));
	cr_expect_eq(front.parse.action, PARSE_HELP);
	expect_error(RUN("--bogus", "--help"), "Unknown option --bogus");
}

Test(native, formats)
{
	static const struct {
		const char *word;
		enum explain_format format;
	} formats[] = {
		{ "--explain", EXPLAIN_TEXT },
		{ "--explain=text", EXPLAIN_TEXT },
		{ "--explain=json", EXPLAIN_JSON },
		{ "--explain=bwrap", EXPLAIN_BWRAP },
		{ "--explain=ini", EXPLAIN_INI },
	};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		expect_ok(RUN(formats[i].word, "--ro-bind", "/", "/"));
		cr_expect_eq(front.native.explain, formats[i].format);
	}
	expect_error(RUN("--explain=jsno"), "--explain has no format 'jsno'");
	cr_expect_str_eq(err.remedy, "did you mean '--explain=json'?");
	expect_ok(RUN("--check=json"));
	cr_expect_eq(front.native.check, CHECK_JSON);
	expect_error(RUN("--check=ini"), "--check has no format 'ini'");
}

Test(native, a_check_of_nothing_is_one_of_a_profiles_walls)
{
	expect_ok(RUN("--check"));
	cr_expect_eq(front.parse.action, PARSE_RUN);
	cr_expect_eq(plan->rules, PLAN_RULES_PROFILE);
	cr_expect_eq(plan->ns[NS_NET].want, NS_WANT_NEW);
	expect_ok(RUN("--check=json", "--ro-bind", "/", "/"));
	cr_expect_eq(plan->rules, PLAN_RULES_BWRAP);
	expect_ok(RUN("--check", "true"));
	cr_expect_eq(plan->rules, PLAN_RULES_BWRAP);
}

Test(native, logging)
{
	expect_ok(RUN("--ro-bind", "/", "/", "true"));
	cr_expect_not(front.native.is_verbose);
	cr_expect_eq(front.native.log_fd, -EBADF);
	expect_ok(RUN("--verbose", "true"));
	cr_expect(front.native.is_verbose);
	expect_ok(RUN("--log-fd", "2", "true"));
	cr_expect(front.native.is_verbose);
	cr_expect_eq(front.native.log_fd, 2);
	expect_error(RUN("--log-fd", "99999"), "--log-fd: descriptor 99999");
	expect_error(RUN("--log-fd", "x"), "--log-fd: 'x' is not a descriptor");
}

Test(native, wrong_values)
{
	expect_error(RUN("--profile"), "--profile takes an argument");
	expect_error(RUN("--profile", "a", "--profile", "b"),
		     "--profile used twice ('a' and 'b'); a profile can "
		     "include another");
	expect_error(RUN("--set", "x"), "--set takes SECTION.KEY=VALUE, not "
		     "'x'");
	expect_error(RUN("--set", "a=b.c"), "--set takes SECTION.KEY=VALUE, "
		     "not 'a=b.c'");
	expect_error(RUN("--set", ".a=b"), "--set takes SECTION.KEY=VALUE, "
		     "not '.a=b'");
	expect_error(RUN("--set", "a.=b"), "--set takes SECTION.KEY=VALUE, "
		     "not 'a.=b'");
	expect_error(RUN("--env", "=x"), "--env takes NAME or NAME=VALUE, not "
		     "'=x'");
	unsetenv("SBX_NONE");
	expect_error(RUN("--env", "SBX_NONE"), "--env SBX_NONE: the "
		     "environment has no such variable");
	expect_error(RUN("--status-fd", "-1", "true"),
		     "--status-fd: '-1' is not a number");
}

Test(native, records_of_a_line_that_is_wrong)
{
	expect_error(RUN("--audit-file", "/a", "--bogus"),
		     "Unknown option --bogus");
	cr_expect_str_eq(plan->report.audit_file, "/a");
	cr_expect_eq(plan->command.count, 0);
	expect_error(RUN("--audit-file", "/a", "--profile", "/nope.ini", "x",
			 "y"), "profile '/nope.ini'");
	cr_expect_str_eq(plan->report.audit_file, "/a");
	cr_expect_eq(plan->command.count, 2);
}

/* What is wrong stands before the name of the audit file. */
Test(native, records_of_a_line_that_is_wrong_at_its_start)
{
	static const char *const wrong[] = {
		"--bogus=1", "--set=x", "--set=a.b=c", "--env==x",
		"--status-fd=x", "--set=report.nonsense=1", "--timeout=x",
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		cr_expect_lt(RUN(wrong[i], "--audit-file", "/a", "--run-id",
				 "r", "x", "--audit-file", "/b"), 0);
		cr_assert_not_null(plan->report.audit_file, "%s", wrong[i]);
		cr_expect_str_eq(plan->report.audit_file, "/a");
		cr_expect_str_eq(plan->report.run_id, "r");
		cr_expect_eq(plan->command.count, 3, "%s", wrong[i]);
	}
	expect_error(RUN("--bogus=1", "--bogus=2", "--audit-file", "/a"),
		     "Unknown option --bogus=1");
	cr_expect_str_eq(plan->report.audit_file, "/a");
	cr_expect_lt(RUN("--audit-file", "/a", "--uid", "u", "--", "x",
			 "--bogus"), 0);
	cr_expect_eq(plan->command.count, 2);
}

/* What could be another option's value, or the command's, is no file's name. */
Test(native, words_that_may_name_no_audit_file)
{
	cr_expect_lt(RUN("--bogus", "--audit-file", "/a", "x"), 0);
	cr_expect_null(plan->report.audit_file);
	cr_expect_lt(RUN("--bogus", "x", "--audit-file", "/a", "--", "y"), 0);
	cr_expect_null(plan->report.audit_file);
	cr_expect_lt(RUN("--bogus", "--audit-file=/a", "x"), 0);
	cr_expect_null(plan->report.audit_file);
	cr_expect_lt(RUN("--set=x", "--", "--audit-file", "/a"), 0);
	cr_expect_null(plan->report.audit_file);
	cr_expect_lt(RUN("--set=x", "--setenv", "A", "--audit-file", "/a"), 0);
	cr_expect_null(plan->report.audit_file);
	cr_expect_lt(RUN("--set=x", "--run-id", "--audit-file", "/a"), 0);
	cr_expect_null(plan->report.audit_file);
	/* Too few values are values, too. */
	expect_error(RUN("--ro-bind", "--audit-file=/a"),
		     "--ro-bind takes two arguments");
	cr_expect_null(plan->report.audit_file);
	cr_expect_lt(RUN("--set=x", "--setenv", "--audit-file=/a"), 0);
	cr_expect_null(plan->report.audit_file);
}

/* The profile names it, and the line is wrong. */
Test(native, records_where_the_profile_says)
{
	put_shell("[report]\nstatus-fd = x\naudit-file = /a\n");
	expect_error(RUN("--profile", "conf/p.ini", "--bogus", "x"),
		     "Unknown option --bogus");
	cr_expect_str_eq(plan->report.audit_file, "/a");
	cr_expect_lt(RUN("--profile", "conf/p.ini", "--set",
			 "report.nonsense=1", "x"), 0);
	cr_expect_str_eq(plan->report.audit_file, "/a");
	cr_expect_lt(RUN("--profile", "conf/p.ini", "--set", "mask.tmpfz=1",
			 "x"), 0);
	cr_expect_str_eq(plan->report.audit_file, "/a");
	cr_expect_lt(RUN("--set=x", "--profile", "conf/p.ini", "x"), 0);
	cr_expect_str_eq(plan->report.audit_file, "/a");
}

/* Who asks for no launch has none in the books. */
Test(native, a_wrong_format_asks_for_no_launch)
{
	cr_expect_lt(RUN("--explain=jsn", "x"), 0);
	cr_expect_neq(front.native.explain, EXPLAIN_NO);
	cr_expect_lt(RUN("--check=jsn", "x"), 0);
	cr_expect_neq(front.native.check, CHECK_NO);
}

/* ---- what the host says ---------------------------------------------------------- */

Test(native, workspaces_that_are_none)
{
	put_shell("");
	expect_error(RUN("--profile", "conf/p.ini", "--workspace", "nope"),
		     arena_printf(arena, "--workspace: workspace '%s'",
				  in_dir("nope")));
	cr_expect_eq(err.code, ENOENT);
	put("file", "");
	expect_error(RUN("--profile", "conf/p.ini", "--workspace", "file"),
		     arena_printf(arena, "--workspace: workspace '%s'",
				  in_dir("file")));
	cr_expect_eq(err.code, ENOTDIR);
	cr_assert_eq(symlink("gone", "dangling"), 0);
	expect_error(RUN("--profile", "conf/p.ini", "--workspace", "dangling"),
		     arena_printf(arena, "--workspace: workspace '%s' "
				  "is a symlink", in_dir("dangling")));
}

Test(native, a_workspace_of_any_name)
{
	static const char *const names[] = {
		"a b", "quo\"te", "it's", "\xc3\xa4\xe2\x82\xac", "new\nline",
		"back\\slash", "co:lon,comma", "${cwd}", "-dash", "#x",
	};

	put_shell("");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		cr_assert_eq(mkdir(names[i], 0755), 0);
		put(arena_printf(arena, "%s/x.sh", names[i]), "");
		expect_ok(RUN("--profile", "conf/p.ini", "--workspace",
			      names[i], "x.sh"));
		cr_expect_str_eq(plan->workspace.source, in_dir(names[i]));
		cr_expect_str_eq(plan->chdir, in_dir(names[i]));
	}
}

Test(native, a_profile_in_its_own_workspace)
{
	put_shell("");
	expect_error(RUN("--profile", "conf/p.ini", "--workspace", "."),
		     arena_printf(arena, "--workspace: profile "
				  "'conf/p.ini' lies below '%s', which the "
				  "sandbox can write", in_dir(".")));
	cr_expect_str_eq(err.reason, "profile-trust");
	expect_ok(RUN("--profile", "conf/p.ini", "--workspace", ".",
		      "--set", "workspace.mode=ro"));
	expect_ok(RUN("--profile", "conf/p.ini", "--workspace", ".",
		      "--set", "workspace.mode=ephemeral"));
	expect_error(RUN("--profile", "conf/p.ini", "--bind", in_dir("conf"),
			 "/m"), arena_printf(arena, "argument 3: profile "
					     "'conf/p.ini' lies below '%s', "
					     "which the sandbox can write",
					     in_dir("conf")));
}

Test(native, a_profile_reached_by_another_name)
{
	put_shell("");
	cr_assert_eq(symlink("conf", "alias"), 0);
	expect_error(RUN("--profile", "conf/p.ini", "--bind",
			 in_dir("alias"), "/m"),
		     arena_printf(arena, "argument 3: profile 'conf/p.ini' "
				  "lies below '%s', which the sandbox can "
				  "write", in_dir("alias")));
}

Test(native, a_root_that_is_not_there)
{
	put("p.ini", "[root]\nsource = /no/such/root\n");
	expect_error(RUN("--profile", "./p.ini", "true"),
		     "./p.ini:2: root '/no/such/root'");
}

Test(native, a_minimal_root)
{
	bool has_usr = false, has_passwd = false, has_bin = false;

	put("p.ini", "[root]\nsource = none\nsystem = yes\n");
	expect_ok(RUN("--profile", "./p.ini", "true"));
	cr_expect_eq(plan->ops.at[0].kind, OP_TMPFS);
	for (size_t i = 1; i < plan->ops.count; i++) {
		const struct op *op = &plan->ops.at[i];

		cr_expect_eq(op->phase, PHASE_SYSTEM);
		cr_expect(op->kind != OP_BIND || op->flags & OP_READ_ONLY);
		has_usr |= !strcmp(op->dest, "/usr") && op->kind == OP_BIND;
		has_bin |= !strcmp(op->dest, "/bin");
		has_passwd |= !strcmp(op->dest, "/etc/passwd");
		cr_expect_str_neq(op->dest, "/etc/shadow");
		cr_expect_str_neq(op->dest, "/etc");
	}
	cr_expect(has_usr && has_bin && has_passwd);
}

Test(native, links_of_the_root_are_followed)
{
	cr_assert_eq(mkdir("r", 0755), 0);
	cr_assert_eq(mkdir("r/run", 0755), 0);
	cr_assert_eq(mkdir("r/var", 0755), 0);
	cr_assert_eq(symlink("/run", "r/var/run"), 0);
	cr_assert_eq(symlink("../../../../run", "r/var/up"), 0);
	cr_assert_eq(symlink("loop", "r/loop"), 0);
	put("p.ini", arena_printf(arena, "[root]\nsource = %s\n[mask]\n"
				  "tmpfs = /var/run/a/b\ntmpfs = /var/up\n"
				  "tmpfs = /run/a\ntmpfs = /loop/x\n"
				  "tmpfs = /var/none/x\n", in_dir("r")));
	expect_ok(RUN("--profile", "./p.ini", "true"));
	for (size_t i = 0; i < plan->ops.count; i++) {
		const struct op *op = &plan->ops.at[i];

		if (!strcmp(op->dest, "/var/run/a/b"))
			cr_expect_str_eq(op->real_dest, "/run/a/b");
		else if (!strcmp(op->dest, "/var/up"))
			cr_expect_str_eq(op->real_dest, "/run");
		else
			cr_expect_null(op->real_dest, "%s", op->dest);
	}
	/* /run before /run/a before /run/a/b, by the real places. */
	cr_expect_str_eq(plan->ops.at[3].dest, "/var/up");
}

Test(native, a_link_below_a_mask_is_not_followed)
{
	cr_assert_eq(mkdir("r", 0755), 0);
	cr_assert_eq(mkdir("r/home", 0755), 0);
	cr_assert_eq(symlink("/elsewhere", "r/home/link"), 0);
	put("p.ini", arena_printf(arena, "[root]\nsource = %s\n[mask]\n"
				  "tmpfs = /home\n[layers]\n"
				  "layer = /usr /home/link/x\n",
				  in_dir("r")));
	expect_ok(RUN("--profile", "./p.ini", "true"));
	cr_expect_str_eq(plan->ops.at[4].dest, "/home/link/x");
	cr_expect_null(plan->ops.at[4].real_dest);
}

/* ---- help ------------------------------------------------------------------------- */

Test(native, help_has_a_line_for_each_option)
{
	const char *help;

	expect_ok(RUN("--help"));
	help = front_help(&front, "sbx-launch");
	cr_expect(text_has_prefix(help, "usage: sbx-launch [OPTIONS...] [--] "
				  "COMMAND [ARGS...]\n"));
	for (size_t t = 0; t < front.parse.tables_count; t++)
		for (size_t i = 0; i < front.parse.tables[t].count; i++)
			cr_expect_not_null(
				strstr(help, arena_printf(
					arena, "    %s",
					front.parse.tables[t].rows[i].name)));
	expect_ok(run_as(true, LINE("--help")));
	help = front_help(&front, NULL);
	cr_expect(text_has_prefix(help, "usage: bwrap [OPTIONS...]"));
	cr_expect_null(strstr(help, "--profile"));
}
