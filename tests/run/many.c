/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Many launches and many children leave nothing and grow nothing.  The large
 * numbers are in tests/load/run.
 */
#include <stdio.h>
#include <stdlib.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"
#include "harness/tree.h"

enum { AT_ONCE = 40, IN_A_ROW = 60 };

Test(many, at_once)
{
	struct box *box = box_make();
	const struct tree *before = tree_read(box->work, TREE_TOUCHED);
	struct process *running[AT_ONCE];

	box_profile(box, "mode = ephemeral\n");
	for (int i = 0; i < AT_ONCE; i++)
		running[i] = process_start(&(struct program){
			.argv = BOX_ARGV(box, "sh", "-c",
					 arena_format("echo %d >f; cat f; "
						      "exit %d", i, i)) });
	for (int i = 0; i < AT_ONCE; i++) {
		const struct outcome *o = process_finish(running[i]);

		expect_exit(o, i);
		expect_out(o, arena_format("%d\n", i));
	}
	expect_tree_unchanged(before, box->work, TREE_TOUCHED);
	box_expect_clean(box);
}

Test(many, in_a_row)
{
	struct box *box = box_make();
	const char *upper = path_in(box->top, "upper");
	const struct tree *before;

	directory_make(upper, 0700);
	box_profile(box, "mode = overlay\nupper = %s\ncommit = on-success\n",
		    upper);
	file_write(path_in(box->work, "count"), "");
	/* overlayfs gives the upper layer a number, once. */
	expect_exit(BOX_SH(box, "echo first >count"), 0);
	file_write(path_in(box->work, "count"), "");
	before = tree_read(box->top, TREE_CONTENT);
	for (int i = 0; i < IN_A_ROW; i++) {
		const char *text = arena_format("echo %d >count; exit %d", i,
						i % 3);

		expect_exit(BOX_SH(box, text), i % 3);
		if (!(i % 3))
			expect_file(path_in(box->work, "count"),
				    arena_format("%d\n", i));
	}
	file_write(path_in(box->work, "count"), "");
	expect_tree_unchanged(before, box->top, TREE_CONTENT);
	box_expect_clean(box);
}

/* Kilobytes that PID 1 and the launcher have in memory. */
static long resident(pid_t launcher)
{
	long sum = 0;

	for (const pid_t *pid = host_descendants(); *pid; pid++) {
		const char *status = host_process_file(*pid, "status", NULL);

		if (*pid == launcher ||
		    atoi(box_field(status, "PPid:")) == launcher)
			sum += atol(box_field(status, "VmRSS:"));
	}
	return sum;
}

/* Orphans, which PID 1 has to wait for. */
Test(many, children_in_one_run)
{
	struct box *box = box_make();
	struct process *p = process_start(&(struct program){
		.argv = BOX_ARGV(box, PYTHON, "-c",
			"import os, time\n"
			"def orphans(n):\n"
			"    for i in range(n):\n"
			"        if not os.fork():\n"
			"            os.fork(); os._exit(0)\n"
			"        os.wait()\n"
			"orphans(20); time.sleep(0.8)\n"
			"print('on', flush=True); input()\n"
			"orphans(150)\n"
			"while len([p for p in os.listdir('/proc') if\n"
			"           p.isdigit()]) > 2: time.sleep(0.1)\n"
			"time.sleep(0.8)\n"
			"print('done', flush=True); input()\n"),
		.input_open = true });
	long before, after;

	cr_assert(process_await(p, "on\n"));
	before = resident(process_pid(p));
	process_write(p, "\n", 1);
	cr_assert(process_await(p, "done\n"));
	after = resident(process_pid(p));
	cr_expect_gt(before, 0);
	cr_expect_leq(after, before + 64, "%ld, then %ld KiB", before, after);
	process_write(p, "\n", 1);
	expect_exit(process_finish(p), 0);
	box_expect_clean(box);
}
