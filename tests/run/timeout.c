/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Time-out and grace: how long a run may take, and how it is ended. */
#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"

/*
 * Upper bounds are generous: the machine may be busy with other tests, and a
 * command that has to do something first has two seconds for it.  That a run
 * is not ended too early is exact.
 */
#define expect_between(outcome, least, most)                              \
	cr_expect((outcome)->end_ms >= (least) &&                         \
		  (outcome)->end_ms < (most) + 4000, "%s",                \
		  outcome_describe(outcome))

/* The time-out in @limits ends @argv, and nothing is left. */
static const struct outcome *time_out(const char *limits,
				      const char *const *argv)
{
	struct box *box = box_make();
	const struct outcome *o;

	box_profile(box, "[limits]\n%s", limits);
	o = BOX_RUN(box, argv[0], argv[1], argv[2]);
	expect_exit(o, 124);
	box_expect_clean(box);
	return o;
}

#define TIME_OUT_SH(limits, text) time_out(limits, ARGV("sh", "-c", text))
#define TIME_OUT_PYTHON(limits, ...)                                      \
	time_out(limits, ARGV(PYTHON, "-c", __VA_ARGS__))

Test(timeout, ends_what_takes_too_long)
{
	const struct outcome *o = TIME_OUT_SH("timeout = 2s\n",
		"echo so far; exec sleep 99");

	expect_out(o, "so far\n");
	expect_between(o, 2000U, 3000U);
}

Test(timeout, leaves_alone_what_does_not)
{
	struct box *box = box_make();

	box_profile(box, "[limits]\ntimeout = 1h\n");
	expect_exit(BOX_SH(box, "sleep 0.2; exit 3"), 3);
	box_profile(box, "[limits]\ntimeout = 5000000h\n");
	expect_exit(BOX_SH(box, "exit 4"), 4);
	box_expect_clean(box);
}

Test(timeout, gives_the_command_its_grace)
{
	const struct outcome *o = TIME_OUT_SH("timeout = 2s\ngrace = 10s\n",
		"trap 'echo tidy; exit 0' TERM; "
		"while :; do sleep 0.05; done");

	expect_out(o, "tidy\n");
	expect_between(o, 2000U, 3000U);
}

Test(timeout, kills_all_after_the_grace)
{
	const struct outcome *o = TIME_OUT_SH("timeout = 2s\ngrace = 500ms\n",
		"trap '' TERM HUP INT; setsid sleep 98 & "
		"sleep 97 & sleep 96; sleep 95");

	expect_between(o, 2500U, 3500U);
}

/* As by the system-call filter of a container that is older than the call. */
Test(timeout, kills_where_pidfd_send_signal_is_refused)
{
	static const int errors[] = { ENOSYS, EPERM };
	struct box *box = box_make();

	box_profile(box, "[limits]\ntimeout = 300ms\ngrace = 200ms\n");
	for (int i = 0; i < 2; i++)
		expect_exit(program_run(&(struct program){
			.argv = BOX_ARGV(box, "sh", "-c",
				"trap '' TERM; sleep 98 & sleep 97"),
			.refuse = (const struct refusal[]){
				{ "pidfd_send_signal", errors[i] },
				{ 0 } } }), 124);
	box_expect_clean(box);
}

Test(timeout, kills_what_is_stopped)
{
	TIME_OUT_SH("timeout = 400ms\ngrace = 300ms\n",
		"trap '' TERM; kill -STOP $$");
}

/* A tracer holds its process, deaf to TERM both, and nobody continues it. */
Test(timeout, kills_what_is_traced)
{
	const struct outcome *o = TIME_OUT_PYTHON("timeout = 3s\ngrace = 200ms\n",
		"import ctypes, os, signal, time\n"
		"signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
		"pid = os.fork()\n"
		"if not pid:\n"
		"    ctypes.CDLL(None).ptrace(0, 0, 0, 0)\n"
		"    os.kill(os.getpid(), signal.SIGSTOP)\n"
		"    time.sleep(99)\n"
		"os.waitpid(pid, 0)\n"
		"state = open(f'/proc/{pid}/status').read()\n"
		"print(state[state.index('State:'):][7:8], flush=True)\n"
		"time.sleep(99)\n");

	expect_out(o, "t\n");
}

/* TERM reaches it as soon as it goes on, and it is made to go on. */
Test(timeout, wakes_what_is_stopped)
{
	const struct outcome *o = TIME_OUT_SH("timeout = 2s\ngrace = 20s\n",
		"trap 'echo awake; exit 1' TERM; kill -STOP $$");

	expect_out(o, "awake\n");
	expect_between(o, 2000U, 5000U);
}

Test(timeout, ends_a_fork_loop)
{
	TIME_OUT_PYTHON("processes = 30\ntimeout = 700ms\ngrace = 300ms\n",
		"import os, signal\n"
		"signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
		"while True:\n"
		"    try:\n"
		"        os.fork()\n"
		"    except OSError:\n"
		"        pass\n");
}

Test(timeout, from_the_command_line)
{
	struct box *box = box_make();
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", box->profile,
			     "--timeout", "300ms", "--", "sleep", "94") });

	expect_exit(o, 124);
	box_expect_clean(box);
}

Test(timeout, in_bubblewraps_language)
{
	struct box *box = box_make();
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--timeout", "300ms",
			     "--unshare-pid", "--dev-bind", "/", "/", "sh",
			     "-c", "sleep 93 & sleep 92") });

	expect_exit(o, 124);
	box_expect_clean(box);
}

/* ---- TERM to the launcher ------------------------------------------------------------- */

static const struct outcome *terminate(struct box *box, int times)
{
	struct process *p = process_start(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c",
				 "trap '' TERM HUP; echo on; sleep 91; "
				 "sleep 90") });

	cr_assert(process_await(p, "on\n"));
	while (times--) {
		process_signal(p, times % 2 ? SIGHUP : SIGTERM);
		usleep(100000);
	}
	return process_finish(p);
}

Test(term, is_enforced_after_the_grace)
{
	struct box *box = box_make();
	const struct outcome *o;

	box_profile(box, "[limits]\ngrace = 700ms\n");
	o = terminate(box, 1);
	expect_exit(o, 128 + SIGKILL);
	cr_expect_eq(o->signal, 0);
	expect_between(o, 700U, 1500U);
	box_expect_clean(box);
}

Test(term, again_shortens_the_grace)
{
	struct box *box = box_make();
	const struct outcome *o;

	box_profile(box, "[limits]\ngrace = 20s\n");
	o = terminate(box, 2);
	expect_exit(o, 128 + SIGKILL);
	expect_between(o, 2000U, 5000U);
	box_expect_clean(box);
}

Test(term, int_and_quit_are_no_end)
{
	struct box *box = box_make();
	const struct outcome *o;
	struct process *p;

	box_profile(box, "[limits]\ngrace = 1ms\n");
	p = process_start(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c",
			"trap 'echo int' INT; trap 'echo quit' QUIT; echo on; "
			"for i in 1 2 3 4 5 6 7 8; do sleep 0.1; done; "
			"exit 5") });
	cr_assert(process_await(p, "on\n"));
	process_signal(p, SIGINT);
	cr_expect(process_await(p, "int\n"));
	process_signal(p, SIGQUIT);
	o = process_finish(p);
	expect_exit(o, 5);
	expect_out_has(o, "quit\n");
	box_expect_clean(box);
}

/* ---- without a pid namespace ------------------------------------------------------------- */

Test(shared, the_end_of_the_command_is_the_end_of_all)
{
	struct box *box = box_make();
	const struct outcome *o;

	box_profile(box, "[namespaces]\nshare = pid\n");
	o = BOX_SH(box, "setsid sleep 89 & (setsid sh -c 'trap \"\" TERM; "
			"sleep 88; sleep 87' &) ; sleep 0.1; exit 6");
	expect_exit(o, 6);
	box_expect_clean(box);
}

Test(shared, a_timeout_ends_all)
{
	struct box *box = box_make();
	const struct outcome *o;

	box_profile(box, "[namespaces]\nshare = pid\n"
			 "[limits]\ntimeout = 400ms\ngrace = 200ms\n");
	o = BOX_SH(box, "trap '' TERM; setsid sleep 86 & sleep 85; sleep 84");
	expect_exit(o, 124);
	box_expect_clean(box);
}

/* ---- long runs ------------------------------------------------------------------------------ */

/*
 * Orphans come to PID 1, which must take each and grow by none.  Few of them:
 * this is about the rule, and a shell forks slowly on a busy machine.
 */
Test(reaping, three_hundred_orphans)
{
	struct box *box = box_make();
	const struct outcome *o = program_run(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c",
			"orphans() {\n"
			"    i=0\n"
			"    while [ $i -lt $1 ]; do (: &); i=$((i + 1)); done\n"
			"}\n"
			"orphans 20\n"
			"before=$(grep VmData /proc/1/status)\n"
			"orphans 300\n"
			"for try in 1 2 3 4 5 6 7 8 9; do\n"
			"    left=$(ls /proc | grep -c '^[0-9]')\n"
			/* PID 1, the shell, its copy in $(), ls and grep */
			"    [ $left -gt 5 ] || break\n"
			"    sleep 0.5\n"
			"done\n"
			"[ $left -le 5 ] && echo none left\n"
			"[ \"$before\" = \"$(grep VmData /proc/1/status)\" ] && "
			"echo no larger\n"),
		.time_limit = 120000 });

	expect_out(o, "none left\nno larger\n");
	box_expect_clean(box);
}
