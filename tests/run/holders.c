/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a run puts on the host for its time, beside other runs. */
#include <errno.h>
#include <sys/stat.h>

#include <criterion/criterion.h>

#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/program.h"
#include "harness/scratch.h"
#include "harness/tree.h"

/* A shell in @workspace that protects @name. */
static struct program shell(const char *workspace, const char *name,
			    const char *script)
{
	const char **argv = arena_take(10 * sizeof(*argv));
	size_t count = 0;

	argv[count++] = sbx_launch();
	argv[count++] = "--profile";
	argv[count++] = sbx_source("conf/sh.ini");
	argv[count++] = "--set";
	argv[count++] = arena_format("workspace.protect=%s", name);
	argv[count++] = "--";
	argv[count++] = "-c";
	argv[count++] = script;
	argv[count] = NULL;
	return (struct program){ .argv = argv, .cwd = workspace,
				 .input_open = true };
}

/* Two runs, the first of which ends before the second tries @script. */
static const struct outcome *outlive(const char *workspace, const char *name,
				     const char *script)
{
	struct program one = shell(workspace, name, "echo up; read x");
	struct program two = shell(workspace, name,
		arena_format("echo up; read x; %s", script));
	struct process *first = process_start(&one), *second;

	cr_assert(process_await(first, "up\n"));
	second = process_start(&two);
	cr_assert(process_await(second, "up\n"));
	process_write(first, "\n", 1);
	process_close_input(first);
	expect_exit(process_finish(first), 0);
	process_write(second, "\n", 1);
	process_close_input(second);
	return process_finish(second);
}

/* What @text makes in the second is refused, and nothing is there after it. */
static void expect_held(const char *name, const char *text)
{
	const char *workspace = scratch_make();
	const struct tree *before = tree_read(workspace, TREE_CONTENT);
	const struct outcome *o = outlive(workspace, name, text);

	expect_out(o, "up\n");
	cr_expect_neq(o->exit, 0);
	expect_tree_unchanged(before, workspace, TREE_CONTENT);
}

Test(protect, outlives_the_run_that_made_the_holder)
{
	expect_held(".envrc", "rmdir .envrc; echo evil > .envrc && "
		    "echo written");
}

Test(protect, holder_of_a_parent_is_shared)
{
	expect_held(".git/hooks", "mkdir -p .git/hooks && echo made");
}

Test(protect, empty_directory_of_the_users_stays)
{
	const char *workspace = scratch_make();

	directory_make(path_in(workspace, "hooks"), 0755);
	expect_exit(outlive(workspace, "hooks", "true"), 0);
	cr_expect(file_exists(path_in(workspace, "hooks")));
}

/* Who may lock it cannot make it look like what a run has made. */
Test(protect, empty_directory_that_another_command_locks_stays)
{
	const char *workspace = scratch_make();
	struct program one = shell(workspace, "hooks",
		"exec 9<hooks && flock -s 9 && echo up; read x");
	struct program two = shell(workspace, "hooks", "echo up; read x");
	struct process *first, *second;

	directory_make(path_in(workspace, "hooks"), 0755);
	first = process_start(&one);
	cr_assert(process_await(first, "up\n"));
	second = process_start(&two);
	cr_assert(process_await(second, "up\n"));
	process_close_input(first);
	process_finish(first);
	process_close_input(second);
	process_finish(second);
	cr_expect(file_exists(path_in(workspace, "hooks")));
}

Test(janitor, ends_where_signals_are_refused)
{
	const char *workspace = scratch_make();
	const struct tree *before = tree_read(workspace, TREE_CONTENT);
	struct program one = shell(workspace, ".envrc", "echo done");

	one.input_open = false;
	one.refuse = (const struct refusal[]){
		{ "pidfd_send_signal", EPERM }, { 0 } };
	expect_out(program_run(&one), "done\n");
	expect_tree_unchanged(before, workspace, TREE_CONTENT);
}

Test(overlay, work_directory_with_files_is_refused)
{
	const char *parent = scratch_make();
	const char *workspace = path_in(parent, "w");
	const char *upper = path_in(parent, "upper");
	const char *work = path_in(parent, "scratch");
	const char *file = path_in(work, "work/letter");
	const struct outcome *o;

	directory_make(workspace, 0700);
	directory_make(upper, 0700);
	directory_make(work, 0700);
	directory_make(path_in(work, "work"), 0700);
	file_write(file, "dear");
	o = program_run(&(struct program){ .cwd = workspace, .argv = ARGV(
		sbx_launch(), "--profile", sbx_source("conf/sh.ini"),
		"--set", "workspace.mode=overlay",
		"--set", arena_format("workspace.upper=%s", upper),
		"--set", arena_format("workspace.work=%s", work),
		"--", "-c", "echo ran") });
	expect_exit(o, 125);
	expect_out(o, "");
	expect_err_has(o, work);
	expect_file(file, "dear");
}
