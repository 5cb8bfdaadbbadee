/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a commit finds beside the lower layer: the place of an earlier one, of
 * another one, or something else by that name.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"
#include "harness/tree.h"

struct place {
	struct box *box;
	const char *stage, *status;
};

static struct place make_place(void)
{
	struct place place = { .box = box_make() };

	place.stage = path_in(place.box->top, ".work.sbx-commit");
	place.status = path_in(place.box->conf, "status");
	box_fill(place.box);
	box_overlay(place.box, arena_format("commit = on-success\n[report]\n"
					    "status-file = %s\n",
					    place.status));
	return place;
}

static void expect_reason(const struct place *place, const char *reason)
{
	const char *record = file_read(place->status, NULL);

	cr_expect(strstr(record, arena_format("\"reason\":\"%s\"", reason)),
		  "%s", record);
}

/* ---- what is none of a commit's ------------------------------------------------------------ */

static void make_link(const char *path)
{
	link_make("nowhere", path);
}

static void make_link_to_directory(const char *path)
{
	link_make("conf", path);
}

static void make_file(const char *path)
{
	file_write(path, "mine\n");
}

static void make_fifo(const char *path)
{
	cr_assert_eq(mkfifo(path, 0600), 0);
}

static void make_directory_with_a_file(const char *path)
{
	directory_make(path, 0700);
	file_write(path_in(path, "0"), "a slot\n");
	file_write(path_in(path, "mine"), "mine\n");
}

static void make_directory_for_all(const char *path)
{
	directory_make(path, 0777);
}

static void make_nonsense(const char *path)
{
	directory_make(path, 0700);
	file_write(path_in(path, "journal"), "P 1 2 3 4\n");
}

static void make_linked_journal(const char *path)
{
	directory_make(path, 0700);
	link_make("/etc/passwd", path_in(path, "journal"));
}

static void make_strangers(const char *path)
{
	directory_make(path, 0700);
	cr_assert_eq(chown(path, 4242, 4343), 0);
}

static const struct {
	void (*make)(const char *path);
	const char *what;
	bool is_believed; /* to be of a commit, so that nobody goes on */
	bool by_root;
} strange[] = {
	{ make_link, "symbolic link", false, false },
	{ make_link_to_directory, "symbolic link", false, false },
	{ make_file, "not a directory", false, false },
	{ make_fifo, "not a directory", false, false },
	{ make_directory_with_a_file, "holds 'mine'", true, false },
	{ make_directory_for_all, "others can write", false, false },
	{ make_nonsense, "journal", true, false },
	{ make_linked_journal, "journal", true, false },
	{ make_strangers, "belongs to user 4242", false, true },
};

/* Before anything has run, and what is there stays. */
Test(commit_place, that_somebody_else_has)
{
	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
		const struct tree *before;
		struct place place;

		if (strange[i].by_root && identity_self() != IDENTITY_ROOT)
			continue;
		place = make_place();
		strange[i].make(place.stage);
		before = tree_read(place.box->top, TREE_CONTENT);
		BOX_EXPECT_REFUSED(place.box, place.stage, strange[i].what);
		expect_reason(&place, "commit-pending");
		unlink(place.status);
		expect_tree_unchanged(before, place.box->top, TREE_CONTENT);
	}
}

/* Those who commit nothing go on, unless the layer may be half changed. */
Test(commit_place, that_does_not_matter)
{
	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
		struct place place;
		const struct outcome *o;

		if (strange[i].by_root && identity_self() != IDENTITY_ROOT)
			continue;
		place = make_place();
		box_profile(place.box, "%s", "");
		strange[i].make(place.stage);
		o = BOX_SH(place.box, "cat kept");
		expect_exit(o, strange[i].is_believed ? 125 : 0);
		if (strange[i].is_believed)
			expect_err_has(o, place.stage);
		/* A layer that others may commit to. */
		cr_assert_eq(chmod(place.box->work, 0770), 0);
		BOX_EXPECT_REFUSED(place.box, place.stage, strange[i].what);
	}
}

/* It has come while the command ran: nothing lands, and nothing is lost. */
Test(commit_place, that_is_taken_meanwhile)
{
	struct place place = make_place();
	struct process *p = process_start(&(struct program){
		.argv = BOX_ARGV(place.box, "sh", "-c",
				 "echo x >new; echo on; read x; true"),
		.input_open = true });
	const struct outcome *o;

	cr_assert(process_await(p, "on\n"));
	make_file(place.stage);
	process_close_input(p);
	o = process_finish(p);
	expect_exit(o, 125);
	expect_err_has(o, place.stage);
	expect_names(place.box->work, "changed deleted dir kept ");
	expect_names(path_in(place.box->top, "upper"), "new ");
	expect_file(place.stage, "mine\n");
}

/* ---- what an earlier one left ------------------------------------------------------------- */

/* It had not come to its journal: nothing has happened. */
Test(commit_place, that_holds_no_journal)
{
	struct place place = make_place();
	const struct tree *before = tree_read(place.box->work, TREE_TOUCHED);

	directory_make(place.stage, 0700);
	file_write(path_in(place.stage, "0"), "never\n");
	directory_make(path_in(place.stage, "1"), 0700);
	file_write(path_in(place.stage, "1/any name"), "never\n");
	file_write(path_in(place.stage, "journal.new"), "sbx-launch-comm");
	expect_exit(BOX_SH(place.box, "test ! -e never"), 0);
	expect_names(place.box->top, "conf upper work ");
	expect_tree_unchanged(before, place.box->work, TREE_TOUCHED);
}

/* One step, which puts what is staged into the layer as "landed". */
static void leave_journal(const struct place *place)
{
	struct stat layer, slot;

	directory_make(place->stage, 0700);
	file_write(path_in(place->stage, "0"), "landed\n");
	cr_assert_eq(stat(place->box->work, &layer), 0);
	cr_assert_eq(stat(path_in(place->stage, "0"), &slot), 0);
	file_write(path_in(place->stage, "journal"),
		   arena_format("sbx-launch-commit 1 %lu %lu\n"
				"P 0 %lu 0 6\nlanded\nend 1\n",
				(unsigned long)layer.st_dev,
				(unsigned long)layer.st_ino,
				(unsigned long)slot.st_ino));
}

static void expect_landed(const struct place *place)
{
	expect_file(path_in(place->box->work, "landed"), "landed\n");
	cr_expect(!file_exists(place->stage));
}

Test(commit_place, that_holds_a_journal)
{
	struct place place = make_place();

	leave_journal(&place);
	expect_out(BOX_SH(place.box, "cat landed"), "landed\n");
	expect_landed(&place);
}

/* Whoever comes next, and by whatever name. */
Test(commit_place, of_a_layer_with_another_name)
{
	struct place place = make_place();
	const char *link = path_in(place.box->top, "link");

	leave_journal(&place);
	link_make("work", link);
	box_profile(place.box, "mode = ephemeral\nlower = %s\n", link);
	expect_out(BOX_SH(place.box, "cat landed"), "landed\n");
	expect_landed(&place);
}

/* An earlier payload may have had what holds the layer for a workspace. */
Test(commit_place, that_leads_out)
{
	static const char *const paths[] = { "..", "dir/../..", "/", ".", "" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct place place = make_place();
		struct stat layer;

		directory_make(place.stage, 0700);
		cr_assert_eq(stat(place.box->work, &layer), 0);
		file_write(path_in(place.stage, "journal"), arena_format(
			"sbx-launch-commit 1 %lu %lu\nM 0 %d %d %zu\n%s\n"
			"end 1\n", (unsigned long)layer.st_dev,
			(unsigned long)layer.st_ino, 0711, 0700,
			strlen(paths[i]), paths[i]));
		expect_exit(BOX_SH(place.box, "true"), 125);
		expect_reason(&place, "commit-pending");
		cr_expect_eq(file_mode(place.box->top), S_IFDIR | 0700);
		cr_expect_eq(file_mode(place.box->work), S_IFDIR | 0700);
	}
}

static const struct outcome *check(const struct place *place)
{
	return program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--check", "--profile",
			     place->box->profile) });
}

/* It only looks. */
Test(commit_place, and_a_check)
{
	struct place place = make_place();
	const struct outcome *o;

	leave_journal(&place);
	expect_exit(check(&place), 0);
	cr_expect(file_exists(path_in(place.stage, "journal")));
	scratch_remove(place.stage);
	make_link(place.stage);
	o = check(&place);
	expect_exit(o, 125);
	cr_expect(strstr(arena_format("%s%s", o->out, o->err), place.stage),
		  "%s", outcome_describe(o));
}

/* ---- two at once ------------------------------------------------------------------------- */

Test(commit_place, that_another_has_locked)
{
	struct place place = make_place();
	int lock = open(place.box->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct process *p;

	cr_assert_eq(flock(lock, LOCK_EX), 0);
	p = process_start(&(struct program){
		.argv = BOX_ARGV(place.box, "sh", "-c", "true >new; echo on") });
	cr_assert(process_await(p, "on\n"));
	usleep(300000);
	cr_expect(!file_exists(path_in(place.box->work, "new")));
	close(lock);
	expect_exit(process_finish(p), 0);
	cr_expect(file_exists(path_in(place.box->work, "new")));
}

/* Some seconds, during which nothing is done. */
Test(commit_place, that_another_does_not_give_back)
{
	struct place place = make_place();
	int lock = open(place.box->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct outcome *o;

	/* They are the same for everybody. */
	if (identity_self() != IDENTITY_USER)
		return;
	cr_assert_eq(flock(lock, LOCK_EX), 0);
	o = BOX_SH(place.box, "true >new");
	close(lock);
	expect_exit(o, 125);
	expect_err_has(o, "another run has locked");
	expect_reason(&place, "commit-busy");
	expect_names(place.box->work, "changed deleted dir kept ");
	expect_names(path_in(place.box->top, "upper"), "new ");
	expect_names(place.box->top, "conf upper work ");
}
