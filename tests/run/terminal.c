/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keys that make signals, and a terminal that goes away. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"

#define CTRL_C "\x03"
#define CTRL_BACKSLASH "\x1c"

/*
 * Counts the interrupts that arrive within half a second after the first, and
 * goes on.
 */
static const char count_interrupts[] =
	"import signal, sys, time\n"
	"count = 0\n"
	"def got(*_):\n"
	"    global count\n"
	"    count += 1\n"
	"signal.signal(signal.SIGINT, got)\n"
	"print('on', flush=True)\n"
	"while not count:\n"
	"    time.sleep(0.01)\n"
	"end = time.monotonic() + 0.5\n"
	"while time.monotonic() < end:\n"
	"    time.sleep(0.01)\n"
	"print('interrupts', count, flush=True)\n"
	"sys.exit(6)\n";

static const struct outcome *type(const char *const *argv, const char *keys)
{
	struct process *p = process_start(&(struct program){
		.argv = argv, .pty = true, .input_open = true });

	cr_assert(process_await(p, "on\r\n"), "%s",
		  outcome_describe(process_finish(p)));
	process_write(p, keys, strlen(keys));
	return process_finish(p);
}

Test(interrupt, reaches_the_command_once)
{
	struct box *box = box_make();
	const struct outcome *o = type(BOX_ARGV(box, PYTHON, "-c",
						count_interrupts), CTRL_C);

	expect_exit(o, 6);
	expect_out_has(o, "interrupts 1\r\n");
	box_expect_clean(box);
}

/* As at a terminal: all of the group, so that a shell's command ends, too. */
Test(interrupt, reaches_what_the_command_started)
{
	struct box *box = box_make();
	const struct outcome *o = type(BOX_ARGV(box, "sh", "-c",
		"trap 'echo shell' INT; "
		PYTHON " -c 'import time\n"
		"try:\n"
		"    print(\"on\", flush=True)\n"
		"    while True: time.sleep(0.05)\n"
		"except KeyboardInterrupt: print(\"child\", flush=True)'; "
		"exit 3"), CTRL_C);

	expect_exit(o, 3);
	expect_out_has(o, "child\r\n");
	expect_out_has(o, "shell\r\n");
	box_expect_clean(box);
}

Test(interrupt, with_the_terminal_kept)
{
	struct box *box = box_make();
	const struct outcome *o;

	box_profile(box, "[security]\ntty = keep\n");
	o = type(BOX_ARGV(box, PYTHON, "-c", count_interrupts), CTRL_C);
	expect_exit(o, 6);
	expect_out_has(o, "interrupts 1\r\n");
	box_expect_clean(box);
}

Test(interrupt, in_bubblewraps_language)
{
	const char *top = scratch_make();
	const struct host *host = host_read();
	const char *bwrap = path_in(top, "bwrap");
	const struct outcome *o;

	link_make(sbx_launch(), bwrap);
	o = type(ARGV(bwrap, "--dev-bind", "/", "/", "--unshare-pid", PYTHON,
		      "-c", count_interrupts), CTRL_C);
	cr_expect_eq(o->signal, SIGINT, "%s", outcome_describe(o));
	o = type(ARGV(bwrap, "--dev-bind", "/", "/", "--unshare-pid",
		      "--new-session", "sh", "-c", "trap 'echo got it; exit' "
		      "INT; echo on; while :; do sleep 0.02; done"), CTRL_C);
	cr_expect_eq(o->signal, SIGINT, "%s", outcome_describe(o));
	expect_out_has(o, "got it\r\n");
	expect_host_unchanged(host);
}

Test(quit, reaches_the_command)
{
	struct box *box = box_make();
	const struct outcome *o = type(BOX_ARGV(box, "sh", "-c",
		"trap 'echo quit; exit 4' QUIT; echo on; "
		"while :; do sleep 0.02; done"), CTRL_BACKSLASH);

	expect_exit(o, 4);
	expect_out_has(o, "quit\r\n");
	box_expect_clean(box);
}

/* The terminal is closed: HUP, the grace, the end. */
Test(hangup, ends_the_run)
{
	struct box *box = box_make();
	struct process *p;

	box_profile(box, "[limits]\ngrace = 200ms\n");
	p = process_start(&(struct program){
		.argv = ARGV("sh", "-c", "\"$@\"; :", "sh", sbx_launch(),
			     "--profile", box->profile, "--", "sh", "-c",
			     "trap '' HUP TERM; echo on; sleep 99; sleep 98"),
		.pty = true, .input_open = true });
	cr_assert(process_await(p, "on\r\n"));
	/* What a terminal does with its session. */
	process_signal(p, SIGHUP);
	for (const pid_t *pid = host_descendants(); *pid; pid++)
		if (*pid != process_pid(p)) {
			kill(*pid, SIGHUP);
			break;
		}
	process_finish(p);
	box_expect_clean(box);
}

/* nohup(1) is meant. */
Test(hangup, is_ignored_where_the_caller_ignores_it)
{
	struct box *box = box_make();
	struct process *p = process_start(&(struct program){
		.argv = ARGV("sh", "-c", "trap '' HUP; exec \"$@\"", "sh",
			     sbx_launch(), "--profile", box->profile, "--",
			     "sh", "-c", "echo on; sleep 0.5; exit 7") });

	cr_assert(process_await(p, "on\n"));
	process_signal(p, SIGHUP);
	expect_exit(process_finish(p), 7);
	box_expect_clean(box);
}
