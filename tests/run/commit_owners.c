/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whose it is what a commit puts into a layer that several people write to. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"

/* The user's own group, and @group. */
static void expect_run_as_user(const struct box *box, const char *group,
			       const char *script)
{
	const char *user = arena_format("%u", identity_user());

	expect_exit(program_run(&(struct program){
		.argv = ARGV("setpriv", "--reuid", user, "--regid", user,
			     "--groups", group, sbx_launch(), "--profile",
			     box->profile, "--", "sh", "-c", script) }),
		    0);
	box_expect_tidy(box);
}

#define expect_owners(path, expected)                                     \
	expect_found(path, "%U:%G %m %P\\n", expected)

/* The workspace belongs to 4242 and its group 4343, whose members may write. */
static struct box *make_box_of_a_group(mode_t mode)
{
	struct box *box = box_make();

	file_write(path_in(box->work, "f"), "x\n");
	box_overlay(box, "commit = on-success\n");
	scratch_give(box->top);
	chmod(getenv("TMPDIR"), 0711);
	expect_exit(program_run(&(struct program){
		.argv = ARGV("sh", "-ec", "chmod 664 f; chown -R 4242:4343 .; "
			     "chmod $1 .", "sh", arena_format("%o", mode)),
		.cwd = box->work }), 0);
	return box;
}

Test(commit_owners, somebody_else)
{
	struct box *box;

	box_need_root();
	box = make_box_of_a_group(0777);
	expect_run_as_user(box, "1", "echo x >>new");
	expect_run_as_user(box, "1", "echo x >>new");
	expect_file(path_in(box->work, "new"), "x\nx\n");
}

/* The kernel copies no file of another user up; but it can be replaced. */
#define APPEND_TO_F "cat f >t; chmod 664 t; echo x >>t; mv t f; "

/* What it makes is its own, what it replaces stays the group's. */
Test(commit_owners, a_member_of_the_group)
{
	struct box *box;
	unsigned int user = identity_user();

	box_need_root();
	box = make_box_of_a_group(0770);
	expect_run_as_user(box, "4343", APPEND_TO_F "echo x >new");
	expect_file(path_in(box->work, "f"), "x\nx\n");
	expect_owners(box->work, arena_format(
		"4242:4343 770 \n%u:4343 664 f\n%u:%u 644 new\n", user, user,
		user));
	/* Somebody else has no such group to give. */
	box = make_box_of_a_group(0777);
	expect_run_as_user(box, "1", APPEND_TO_F);
	expect_owners(box->work, arena_format(
		"4242:4343 777 \n%u:%u 664 f\n", user, user));
}

/* The bit goes on to all that is new; one that the command sets does not. */
Test(commit_owners, in_a_directory_that_hands_its_group_on)
{
	struct box *box;
	unsigned int user = identity_user();

	box_need_root();
	box = make_box_of_a_group(02770);
	expect_run_as_user(box, "4343", APPEND_TO_F
			   "echo x >new; mkdir -p d/e; echo x >d/e/f; "
			   "ln -s f l");
	expect_owners(box->work, arena_format(
		"4242:4343 2770 \n%u:4343 2755 d\n%u:4343 2755 d/e\n"
		"%u:4343 644 d/e/f\n%u:4343 664 f\n%u:4343 777 l\n"
		"%u:4343 644 new\n", user, user, user, user, user, user));
	box = make_box_of_a_group(0770);
	expect_run_as_user(box, "4343", "mkdir -p d/e; chmod 2755 d d/e; "
			   "echo x >d/e/f; chmod 2755 d/e/f");
	expect_owners(path_in(box->work, "d"), arena_format(
		"%u:%u 755 \n%u:%u 755 e\n%u:%u 755 e/f\n", user, user, user,
		user, user, user));
}

/* In its own directory it can give files away, and they stay whose they are. */
Test(commit_owners, root_and_files_of_others)
{
	struct box *box;

	box_need_root();
	box = box_make();
	expect_exit(program_run(&(struct program){
		.argv = ARGV("sh", "-ec", "echo x >f; chown 4242:4343 f; "
			     "echo x >link; chown 4242:0 link; chgrp 4444 .; "
			     "chmod 2700 ."),
		.cwd = box->work }), 0);
	box_overlay(box, "commit = on-success\n[security]\n"
		    "run-as = caller\n");
	expect_exit(BOX_SH(box, APPEND_TO_F "mkdir d; echo x >d/new; "
			   "rm link; ln -s f link"), 0);
	expect_owners(box->work, "0:4444 2700 \n0:4444 2755 d\n"
		      "0:4444 644 d/new\n4242:4343 664 f\n"
		      "0:4444 777 link\n");
	expect_file(path_in(box->work, "f"), "x\nx\n");
	box_expect_tidy(box);
}
