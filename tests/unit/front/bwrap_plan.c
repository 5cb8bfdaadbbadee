/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What bubblewrap's options put into the plan. */
#include "bwrap_line.h"

#include "plan/op_types.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct line *read_good(const char *const *words)
{
	struct line *line = line_read(words);

	cr_assert_eq(line->result, 0, "%s: %s", words[0], line->err.text);
	return line;
}

Test(bwrap_plan, every_operation_is_an_option_with_as_many_words)
{
	struct parse parse = { .accepts = OPTION_BWRAP };
	struct option_table table = { bwrap_options, bwrap_options_count,
				      NULL };

	parse.tables = &table;
	parse.tables_count = 1;
	for (size_t i = 0; i < op_types_count; i++) {
		char name[64];
		const struct option *option;

		snprintf(name, sizeof(name), "--%s", op_types[i].name);
		option = options_find(&parse, name);
		cr_assert(option, "no option %s", name);
		cr_expect_eq(option->values, op_type_arity(&op_types[i]),
			     "%s", name);
	}
}

Test(bwrap_plan, operations_in_order_with_their_origins)
{
	struct line *line = read_good(WORDS(
		"--ro-bind", "/", "/", "--perms", "01777", "--size", "0x1000",
		"--tmpfs", "tmp", "--symlink", "a b", "/l", "--chmod", "700",
		"/tmp", "--bind-fd", "7", "/fd", "--", "ls", "--bind"));
	const struct plan *plan = line->parse.plan;
	const struct op *op = plan->ops.at;

	cr_assert_eq(plan->ops.count, 5);
	cr_expect_eq(op[0].kind, OP_BIND);
	cr_expect_eq(op[0].flags, OP_READ_ONLY);
	cr_expect_eq(op[0].phase, PHASE_MOUNTS);
	cr_expect_eq(op[0].origin.number, 1);
	cr_expect_eq(op[1].kind, OP_TMPFS);
	cr_expect_str_eq(op[1].dest, "tmp");
	cr_expect_eq(op[1].mode, 01777);
	cr_expect_eq(op[1].size, 4096);
	cr_expect_eq(op[1].origin.number, 8);
	cr_expect_str_eq(op[2].target, "a b");
	cr_expect_eq(op[3].mode, 0700);
	cr_expect_eq(op[4].fd, 7);
	cr_expect_eq(plan->command.count, 2);
	cr_expect_str_eq(plan->command.at[1], "--bind");
	arena_free(line->arena);
}

Test(bwrap_plan, layers_belong_to_the_next_overlay)
{
	struct line *line = read_good(WORDS(
		"--overlay-src", "a", "--overlay-src", "b", "--ro-overlay",
		"/r", "--overlay-src", "c", "--overlay", "u", "w", "/o",
		"x"));
	const struct op *op = line->parse.plan->ops.at;

	cr_assert_eq(line->parse.plan->ops.count, 2);
	cr_expect_eq(op[0].lowers.count, 2);
	cr_expect_str_eq(op[0].lowers.at[0], "a");
	cr_expect_eq(op[1].lowers.count, 1);
	cr_expect_str_eq(op[1].lowers.at[0], "c");
	cr_expect_str_eq(op[1].upper, "u");
	cr_expect_str_eq(op[1].work, "w");
	arena_free(line->arena);
}

struct ns_row {
	enum ns_want user, pid, net, cgroup;
	bool pid_also_new;
	const char *const words[8];
};

Test(bwrap_plan, namespaces)
{
	static const struct ns_row rows[] = {
		{ NS_WANT_HOST, NS_WANT_HOST, NS_WANT_HOST, NS_WANT_HOST,
		  false, { "c" } },
		{ NS_WANT_TRY, NS_WANT_NEW, NS_WANT_NEW, NS_WANT_TRY, false,
		  { "--unshare-all", "c" } },
		{ NS_WANT_NEW, NS_WANT_NEW, NS_WANT_HOST, NS_WANT_NEW, false,
		  { "--unshare-user", "--unshare-cgroup", "--unshare-all",
		    "--share-net", "c" } },
		{ NS_WANT_TRY, NS_WANT_NEW, NS_WANT_NEW, NS_WANT_TRY, false,
		  { "--share-net", "--unshare-all", "c" } },
		{ NS_WANT_NEW, NS_WANT_HOST, NS_WANT_NEW, NS_WANT_HOST, false,
		  { "--unshare-user-try", "--unshare-user",
		    "--unshare-net", "c" } },
		{ NS_WANT_JOIN, NS_WANT_JOIN, NS_WANT_HOST, NS_WANT_HOST,
		  true,
		  { "--userns", "8", "--unshare-pid", "--pidns", "9", "c" } },
		{ NS_WANT_HOST, NS_WANT_JOIN, NS_WANT_HOST, NS_WANT_HOST,
		  true, { "--pidns", "9", "--unshare-pid", "c" } },
		{ NS_WANT_HOST, NS_WANT_JOIN, NS_WANT_HOST, NS_WANT_HOST,
		  false, { "--pidns", "9", "c" } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct line *line = read_good(rows[i].words);
		const struct plan_ns *ns = line->parse.plan->ns;

		cr_expect_eq(ns[NS_USER].want, rows[i].user, "row %zu", i);
		cr_expect_eq(ns[NS_PID].want, rows[i].pid, "row %zu", i);
		cr_expect_eq(ns[NS_NET].want, rows[i].net, "row %zu", i);
		cr_expect_eq(ns[NS_CGROUP].want, rows[i].cgroup, "row %zu",
			     i);
		cr_expect_eq(ns[NS_PID].also_new, rows[i].pid_also_new,
			     "row %zu", i);
		arena_free(line->arena);
	}
}

Test(bwrap_plan, settings)
{
	struct line *line = read_good(WORDS(
		"--uid", "4294967296", "--gid", "7", "--unshare-uts",
		"--hostname", "", "--chdir", "rel", "--argv0", "-sh",
		"--die-with-parent", "--new-session", "--level-prefix",
		"--disable-userns", "--unshare-user", "--sync-fd", "5",
		"--add-seccomp-fd", "6", "--add-seccomp-fd", "7",
		"--lock-file", "a", "--lock-file", "b", "--cap-drop", "all",
		"--cap-add", "cap_Kill", "x"));
	const struct plan *plan = line->parse.plan;
	const struct plan_bwrap *bwrap = &plan->bwrap;

	cr_expect(plan->ids.has_uid && plan->ids.uid == 0);
	cr_expect(plan->ids.has_gid && plan->ids.gid == 7);
	cr_expect_str_eq(plan->hostname, "");
	cr_expect_str_eq(plan->chdir, "rel");
	cr_expect_str_eq(plan->argv0, "-sh");
	cr_expect(bwrap->die_with_parent && bwrap->new_session &&
		  bwrap->level_prefix && bwrap->disable_userns);
	cr_expect(!bwrap->as_pid_1 && !bwrap->assert_userns_disabled);
	cr_expect_eq(bwrap->sync_fd, 5);
	cr_expect_eq(bwrap->info_fd, -EBADF);
	cr_assert_eq(bwrap->seccomp_fds.count, 2);
	cr_expect_eq(bwrap->seccomp_fds.at[1], 7);
	cr_assert_eq(bwrap->lock_files.count, 2);
	cr_assert_eq(bwrap->caps.count, 2);
	cr_expect(!bwrap->caps.at[0].is_add && bwrap->caps.at[0].cap == -1);
	cr_expect(bwrap->caps.at[1].is_add && bwrap->caps.at[1].cap == 5);
	arena_free(line->arena);
}

Test(bwrap_plan, the_environment_in_order)
{
	struct line *line = read_good(WORDS(
		"--setenv", "C", "lost", "--clearenv", "--setenv", "-n",
		"a=b\nc", "--unsetenv", "D", "x"));
	const struct plan *plan = line->parse.plan;
	const struct env_step *step = plan->environment.at;

	cr_assert_eq(plan->environment.count, 4);
	cr_expect_eq(step[0].kind, ENV_SET);
	cr_expect_eq(step[1].kind, ENV_CLEAR);
	cr_expect_str_eq(step[2].name, "-n");
	cr_expect_str_eq(step[2].value, "a=b\nc");
	cr_expect_eq(step[3].kind, ENV_UNSET);
	cr_expect_str_eq(step[3].name, "D");
	arena_free(line->arena);
}

Test(bwrap_plan, the_last_one_wins_with_a_warning)
{
	struct line *line = read_good(WORDS(
		"--chdir", "a", "--chdir", "b", "--level-prefix", "--uid",
		"1", "--uid", "2", "--unshare-pid", "--unshare-pid",
		"--new-session", "--new-session", "x"));
	const struct parse *parse = &line->parse;

	cr_expect_str_eq(parse->plan->chdir, "b");
	cr_expect_eq(parse->plan->ids.uid, 2);
	cr_assert_eq(parse->warnings.count, 2);
	cr_expect_str_eq(parse->warnings.at[0].text,
			 "Only the last --chdir option will take effect");
	cr_expect(!parse->warnings.at[0].has_level);
	cr_expect_str_eq(parse->warnings.at[1].text,
			 "Only the last --uid option will take effect");
	cr_expect(parse->warnings.at[1].has_level);
	arena_free(line->arena);
}

Test(bwrap_plan, words_of_a_file_stand_where_it_is_named)
{
	static const char data[] = "--tmpfs\0/a\0--setenv\0N\0\0--bind\0\0"
				   "/b\0--\0--nonsense\0";
	struct arena *arena = arena_new();
	struct line *line = read_good(WORDS(
		"--dir", "/1", "--perms", "0711", "--args",
		line_data(arena, data, sizeof(data) - 1), "--dir", "/2",
		"command"));
	const struct plan *plan = line->parse.plan;

	cr_assert_eq(plan->ops.count, 4);
	cr_expect_str_eq(plan->ops.at[1].dest, "/a");
	cr_expect_eq(plan->ops.at[1].mode, 0711);
	cr_expect_eq(plan->ops.at[1].origin.kind, ORIGIN_ARGS_FD);
	cr_expect_eq(plan->ops.at[1].origin.number, 1);
	cr_expect_str_eq(plan->ops.at[2].source, "");
	cr_expect_str_eq(plan->ops.at[3].dest, "/2");
	cr_expect_str_eq(plan->environment.at[0].value, "");
	cr_assert_eq(plan->command.count, 1);
	cr_expect_str_eq(plan->command.at[0], "command");
	arena_free(line->arena);
	arena_free(arena);
}

Test(bwrap_plan, ten_thousand_binds)
{
	enum { BINDS = 10000 };
	struct arena *arena = arena_new();
	const char **words = arena_alloc(arena, (3 * BINDS + 2) *
					 sizeof(*words));
	struct line *line;

	for (size_t i = 0; i < 3 * BINDS; i += 3) {
		words[i] = "--ro-bind";
		words[i + 1] = words[i + 2] = "/usr";
	}
	words[3 * BINDS] = "true";
	line = read_good(words);
	cr_expect_eq(line->parse.plan->ops.count, BINDS);
	arena_free(line->arena);
	arena_free(arena);
}

Test(bwrap_plan, help_and_version_end_the_reading)
{
	struct line *line = read_good(WORDS("--perms", "0", "--help",
					    "--nonsense"));

	cr_expect_eq(line->parse.action, PARSE_HELP);
	arena_free(line->arena);
	line = read_good(WORDS("--unshare-all", "--version", "--bind"));
	cr_expect_eq(line->parse.action, PARSE_VERSION);
	arena_free(line->arena);
	line = line_read(WORDS("--nonsense", "--help"));
	cr_expect_lt(line->result, 0);
	arena_free(line->arena);
}

Test(bwrap_plan, no_command_is_usage)
{
	struct line *line = read_good(WORDS("--hostname", "x"));

	cr_expect_eq(line->parse.action, PARSE_USAGE);
	arena_free(line->arena);
	line = read_good(WORDS("--as-pid-1", "--"));
	cr_expect_eq(line->parse.action, PARSE_USAGE);
	arena_free(line->arena);
}

Test(bwrap_plan, usage_names_every_option_on_a_line_of_its_own)
{
	struct arena *arena = arena_new();
	struct text_buf out = { .arena = arena };

	bwrap_usage("./bwrap", &out);
	cr_expect(text_has_prefix(out.at, "usage: ./bwrap [OPTIONS...] [--] "
				  "COMMAND [ARGS...]\n"));
	for (size_t i = 0; i < bwrap_options_count; i++) {
		const char *line = arena_printf(arena, "\n    %s ",
						bwrap_options[i].name);

		cr_expect(strstr(out.at, line), "%s", line);
	}
	out.count = 0;
	bwrap_version(&out);
	cr_expect(text_has_prefix(out.at, "bubblewrap 0.12.0\nsbx-launch "));
	arena_free(arena);
}
