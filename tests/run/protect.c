/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names in a writable workspace that stay as they are. */
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"
#include "harness/tree.h"

static struct box *make_repository(void)
{
	struct box *box = box_make();

	directory_make(path_in(box->work, "git"), 0755);
	directory_make(path_in(box->work, "git/hooks"), 0755);
	directory_make(path_in(box->work, "git/objects"), 0755);
	file_write(path_in(box->work, "git/config"), "safe\n");
	file_write_script(path_in(box->work, "git/hooks/old"), "safe\n");
	file_write(path_in(box->work, "source"), "text\n");
	box->host = host_read();
	return box;
}

/* Each line a try; those that succeed are printed. */
static const char *try_all(struct box *box, const char *const *tries)
{
	struct arena_text text = { 0 };
	const struct outcome *o;

	for (int i = 0; tries[i]; i++)
		arena_add_format(&text, "(%s) 2>/dev/null && echo '%s'\n",
				 tries[i], tries[i]);
	arena_add_format(&text, "true\n");
	o = BOX_SH(box, arena_string(&text));
	assert_exit(o, 0);
	return o->out;
}

Test(protect, a_file_and_a_directory)
{
	struct box *box = make_repository();
	const struct tree *before = tree_read(path_in(box->work, "git"),
					      TREE_TOUCHED);

	box_profile(box, "protect = git/config\nprotect = git/hooks\n");
	cr_expect_str_eq(try_all(box, ARGV(
		"echo evil >git/config", "echo evil >>git/config",
		"rm -f git/config", "mv git/config git/c",
		"ln -f source git/config", "chmod 777 git/config",
		"echo evil >git/hooks/new", "echo evil >git/hooks/old",
		"rm -f git/hooks/old", "mv git/hooks git/h",
		"rm -rf git/hooks", "touch git/config",
		"test \"$(cat git/config)\" = safe")),
		"test \"$(cat git/config)\" = safe\n");
	expect_tree_unchanged(before, path_in(box->work, "git"),
			      TREE_TOUCHED);
	box_expect_clean(box);
}

Test(protect, renaming_what_is_above_gains_nothing)
{
	struct box *box = make_repository();

	box_profile(box, "protect = git/config\n");
	cr_expect_str_eq(try_all(box, ARGV(
		"mv git git2 && mkdir git && echo evil >git/config",
		"rm -rf git && mkdir git && echo evil >git/config",
		PYTHON " -c \"import ctypes; exit(ctypes.CDLL(None)"
		".renameat2(-100, b\\\"git\\\", -100, b\\\"source\\\", 2))\"",
		"mkdir -p git/objects && echo fine >git/objects/new")),
		"mkdir -p git/objects && echo fine >git/objects/new\n");
	expect_file(path_in(box->work, "git/config"), "safe\n");
	/* What is not protected can still be changed. */
	expect_file(path_in(box->work, "git/objects/new"), "fine\n");
	box_expect_clean(box);
}

Test(protect, a_name_that_is_not_there)
{
	struct box *box = make_repository();
	const struct tree *before = tree_read(box->work, TREE_CONTENT);

	box_profile(box, "protect = .envrc\nprotect = .vscode/settings.json\n"
		    "protect = git/info/attributes\n");
	cr_expect_str_eq(try_all(box, ARGV(
		"echo evil >.envrc", "rm -rf .envrc; echo evil >.envrc",
		"mkdir -p .vscode && echo evil >.vscode/settings.json",
		"mv .vscode v && mkdir .vscode", "ln -s source .envrc",
		"mv source .envrc", "mv -T source .envrc", "mv .envrc e",
		"mkdir git/info/x", "rmdir git/info",
		"mkdir -p git/info && echo evil >git/info/attributes",
		"cat .envrc", "cat .vscode/settings.json")), "");
	/* And nothing says afterwards that it was ever held. */
	expect_tree_unchanged(before, box->work, TREE_CONTENT);
	box_expect_clean(box);
}

Test(protect, holds_for_overlays_and_what_is_in_memory)
{
	struct box *box = make_repository();
	const char *upper = path_in(box->top, "upper");
	const struct tree *before = tree_read(box->work, TREE_TOUCHED);

	directory_make(upper, 0700);
	for (int i = 0; i < 2; i++) {
		box_profile(box, "protect = git/config\nprotect = .envrc\n"
			    "mode = %s\n", i ? "ephemeral" :
			    arena_format("overlay\nupper = %s", upper));
		cr_expect_str_eq(try_all(box, ARGV(
			"echo evil >git/config", "rm -rf git", "mv git g",
			"echo evil >.envrc", "rm -rf .envrc",
			"mv git g; mkdir git && echo evil >git/config",
			"echo fine >source", "cat source")),
			"echo fine >source\nfine\ncat source\n");
		expect_tree_unchanged(before, box->work, TREE_TOUCHED);
	}
	expect_file(path_in(upper, "source"), "fine\n");
	cr_expect(!file_exists(path_in(upper, ".envrc")));
	box_expect_clean(box);
}

Test(protect, nothing_is_left_when_everything_is_killed)
{
	struct box *box = make_repository();
	const struct tree *before = tree_read(box->work, TREE_CONTENT);
	struct process *p;

	box_profile(box, "protect = a/b\nprotect = .envrc\n");
	p = process_start(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c", "echo on; sleep 60") });
	cr_assert(process_await(p, "on\n"));
	process_signal(p, SIGKILL);
	process_finish(p);
	box_expect_clean(box);
	expect_tree_unchanged(before, box->work, TREE_CONTENT);
}

/* An object of the payload's that takes a held name is not removed with it. */
Test(protect, what_cannot_be_held)
{
	struct box *box = make_repository();
	static const struct {
		const char *line, *text;
	} bad[] = {
		{ "protect = ../x", "leaves the workspace" },
		{ "protect = a/../../x", "leaves the workspace" },
		{ "protect = /etc/passwd", "relative" },
		{ "protect = .", "whole workspace" },
		{ "protect = \"\"", "empty" },
		{ "protect = source/x", "source" },
		{ "protect = out/x", "link" },
	};

	link_make("/etc", path_in(box->work, "out"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		box_profile_alone(box, "[workspace]\npath = %s\n%s\n",
				  box->work, bad[i].line);
		box_expect_refused(box, BOX_RUN(box, BOX_MARK), 125,
				   "p.ini:3", bad[i].text, NULL);
	}
}
