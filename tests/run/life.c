/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a run ends: its status, its signals, and nothing left of it. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"

/* ---- exit status ------------------------------------------------------------------------- */

Test(status, of_the_payload)
{
	static const int statuses[] = { 0, 1, 7, 124, 125, 126, 127, 255 };
	struct box *box = box_make();

	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		expect_exit(BOX_SH(box, arena_format("exit %d", statuses[i])),
			    statuses[i]);
	box_expect_clean(box);
}

Test(status, of_a_signal)
{
	static const int signals[] = {
		SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGSEGV, SIGPIPE, SIGTERM,
		SIGUSR1, SIGXCPU, SIGSYS, SIGABRT,
	};
	struct box *box = box_make();

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		const struct outcome *o = BOX_SH(box,
			arena_format("kill -%d $$", signals[i]));

		expect_exit(o, 128 + signals[i]);
		/* A status, not the launcher's own death. */
		cr_expect_eq(o->signal, 0, "%d", signals[i]);
		expect_err(o, "");
	}
}

Test(status, a_command_that_cannot_be)
{
	struct box *box = box_make();
	const char *text = path_in(box->work, "text");
	const char *bad = path_in(box->work, "bad");
	const struct {
		const char *command;
		int status;
		const char *text;
	} commands[] = {
		{ "no-such-command", 127, "No such file or directory" },
		{ "/no/such/command", 127, "No such file or directory" },
		{ "./missing", 127, "No such file or directory" },
		{ "/home/user/command", 127, "hidden by mask" },
		{ "/etc/passwd", 126, "Permission denied" },
		{ "/usr", 126, "Permission denied" },
		{ "./text", 126, "neither a program nor a script" },
		{ "./bad", 126, "#!" },
		{ "", 127, "No such file or directory" },
	};

	file_write_script(text, "just text\n");
	file_write_script(bad, "#!/no/such/interpreter\n");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		box_expect_refused(box, BOX_RUN(box, commands[i].command),
				   commands[i].status, commands[i].command,
				   commands[i].text, NULL);
	box_profile(box, "%s", "");
	expect_exit(program_run(&(struct program){
			.argv = ARGV(sbx_launch(), "--profile",
				     box->profile) }), 125);
}

/* ---- the end of everything inside -------------------------------------------------------------- */

Test(ends, what_runs_in_the_background)
{
	struct box *box = box_make();
	const struct outcome *o = BOX_SH(box,
		"sleep 97 & setsid sleep 98 & (setsid sh -c 'trap \"\" TERM "
		"HUP INT; sleep 99' >/dev/null 2>&1 &) ; echo done");

	expect_exit(o, 0);
	expect_out(o, "done\n");
	/* The end of the output does not wait for who holds it open. */
	cr_expect(!o->held_open);
	cr_expect_lt(o->eof_ms, 5000);
	box_expect_clean(box);
}

/*
 * The processes of a run, by what they are: the launcher is the test's child,
 * PID 1 and the payload are told by their names.
 */
static pid_t payload_of(const char *name)
{
	for (int tries = 0; tries < 1000; tries++) {
		for (const pid_t *pid = host_descendants(); *pid; pid++)
			if (!strcmp(box_field(host_process_file(*pid, "status",
								NULL),
					      "Name:"), name))
				return *pid;
		usleep(20000);
	}
	harness_fail("no process %s", name);
}

static pid_t parent_of(pid_t pid)
{
	const char *status = file_read(arena_format("/proc/%d/status", pid),
				       NULL);

	return atoi(box_field(status, "PPid:"));
}

/* Start something that would go on for ever, kill @who of it. */
static const struct outcome *kill_one(struct box *box, int who)
{
	struct process *p = process_start(&(struct program){
		.argv = BOX_ARGV(box, PYTHON, "-c",
			"import os, signal, time\n"
			"for number in range(1, 32):\n"
			"    if number not in (9, 17, 19):\n"
			"        signal.signal(number, signal.SIG_IGN)\n"
			"os.fork() or os.setsid()\n"
			"print('on', flush=True)\n"
			"open('/proc/self/comm', 'w').write('payload')\n"
			"time.sleep(100)\n") });
	pid_t payload;

	cr_assert(process_await(p, "on\non\n"));
	payload = payload_of("payload");
	if (who == 2)
		while (parent_of(parent_of(payload)) != process_pid(p))
			payload = parent_of(payload);
	kill(who == 0 ? process_pid(p) :
	     who == 1 ? parent_of(payload) : payload, SIGKILL);
	return process_finish(p);
}

Test(ends, by_the_death_of_the_launcher)
{
	struct box *box = box_make();

	cr_expect_eq(kill_one(box, 0)->signal, SIGKILL);
	box_expect_clean(box);
}

Test(ends, by_the_death_of_pid_1)
{
	struct box *box = box_make();
	struct process *p = process_start(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c", "echo on; exec sleep 96") });
	const struct outcome *o;

	cr_assert(process_await(p, "on\n"));
	kill(parent_of(payload_of("sleep")), SIGKILL);
	o = process_finish(p);
	cr_expect(!o->timed_out);
	expect_exit(o, 128 + SIGKILL);
	box_expect_clean(box);
}

Test(ends, by_the_death_of_the_payload)
{
	struct box *box = box_make();

	expect_exit(kill_one(box, 2), 128 + SIGKILL);
	box_expect_clean(box);
}

Test(ends, at_any_moment_of_the_start)
{
	struct box *box = box_make();

	box_profile(box, "protect = held\n");
	for (int i = 0; i < 60; i++) {
		struct process *p = process_start(&(struct program){
			.argv = BOX_ARGV(box, "sleep", "95") });

		usleep((useconds_t)(i * 300));
		process_signal(p, SIGKILL);
		process_finish(p);
	}
	box_expect_clean(box);
	cr_expect(!file_exists(path_in(box->work, "held")));
}

/* ---- the caller --------------------------------------------------------------------------------- */

/* Starts its arguments from a thread that ends at once, waits for them. */
static const char from_a_thread[] =
	"import subprocess, sys, threading, time\n"
	"started = []\n"
	"def start():\n"
	"    started.append(subprocess.Popen(sys.argv[1:]))\n"
	"thread = threading.Thread(target=start)\n"
	"thread.start()\n"
	"thread.join()\n"
	"sys.exit(started[0].wait())\n";

Test(caller, the_thread_that_started_it_may_end)
{
	struct box *box = box_make();
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV(PYTHON, "-c", from_a_thread, sbx_launch(),
			     "--profile", box->profile, "--", "sh", "-c",
			     "sleep 0.7; echo finished") });

	expect_exit(o, 0);
	expect_out(o, "finished\n");
	box_expect_clean(box);
}

Test(caller, its_process_may_not)
{
	struct box *box = box_make();
	struct process *p = process_start(&(struct program){
		.argv = ARGV(PYTHON, "-c", from_a_thread, sbx_launch(),
			     "--profile", box->profile, "--", "sh", "-c",
			     "trap '' TERM HUP; echo on; sleep 94") });

	cr_assert(process_await(p, "on\n"));
	process_signal(p, SIGKILL);
	process_finish(p);
	box_expect_clean(box);
}

/*
 * Its caller dies @delay microseconds after the launcher has done its first
 * step, or before it can do the next one.  The first step is that it has read
 * what it waits for on descriptor 5: from then on it has begun for sure.
 */
static void lose_caller(struct box *box, int delay)
{
	static const char options[] = "--setenv\0A\0B";
	int ends[2], unread = 1;
	struct process *p;

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	p = process_start(&(struct program){
		.argv = ARGV("sh", "-c", "\"$@\" & echo on; wait", "sh",
			     sbx_launch(), "--profile", box->profile,
			     "--args", "5", "--", "sh", "-c",
			     ": >ran; sleep 93"),
		.fds = { { ends[0], 5 } } });
	cr_assert(process_await(p, "on\n"));
	cr_assert_eq(write(ends[1], options, sizeof(options)),
		     sizeof(options));
	while (unread) {
		usleep(1000);
		cr_assert_eq(ioctl(ends[0], FIONREAD, &unread), 0);
	}
	if (delay < 0)
		process_signal(p, SIGKILL);
	close(ends[0]);
	close(ends[1]);
	if (delay >= 0) {
		usleep((useconds_t)delay);
		process_signal(p, SIGKILL);
	}
	/* Whoever survived would have kept its output open. */
	cr_expect(!process_finish(p)->held_open, "after %d", delay);
}

Test(caller, may_be_gone_when_it_has_only_begun)
{
	struct box *box = box_make();

	lose_caller(box, -1);
	box_expect_clean(box);
	cr_expect(!file_exists(box->marker));
	for (int i = 0; i < 25; i++)
		lose_caller(box, i * 400);
	box_expect_clean(box);
}

static int ignore_children(const void *data)
{
	signal(SIGCHLD, SIG_IGN);
	return 0;
}

Test(caller, may_ignore_its_children)
{
	struct box *box = box_make();
	const struct outcome *o = program_run(&(struct program){
		.call = ignore_children,
		.argv = BOX_ARGV(box, "sh", "-c", "sh -c 'exit 3'; exit $?"),
		.time_limit = 10000 });

	expect_exit(o, 3);
	box_expect_clean(box);
}

Test(caller, may_be_a_process_1_that_never_waits)
{
	struct box *box = box_make();
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV(PYTHON, "-c",
			"import ctypes, os, subprocess, sys\n"
			"ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n"
			"print(subprocess.run(sys.argv[1:]).returncode)\n"
			"print(open('/proc/self/task/%d/children' %\n"
			"           os.getpid()).read())\n",
			sbx_launch(), "--profile", box->profile, "--", "sh",
			"-c", "sleep 92 & sleep 91 & exit 4") });

	expect_exit(o, 0);
	expect_out(o, "4\n\n");
}

/* ---- signals ---------------------------------------------------------------------------------- */

/* Says which signals it got; print() could not be called again meanwhile. */
static const char say_signals[] =
	"import os, signal\n"
	"for name in ('HUP', 'INT', 'QUIT', 'USR1', 'USR2', 'CONT', 'WINCH',\n"
	"             'TERM'):\n"
	"    number = getattr(signal, 'SIG' + name)\n"
	"    def got(_, __, name=name):\n"
	"        os.write(1, name.encode() + b'\\n')\n"
	"    signal.signal(number, got)\n"
	"os.write(1, b'on\\n')\n"
	"while True:\n"
	"    signal.pause()\n";

Test(signals, reach_the_payload)
{
	static const struct {
		int number;
		const char *name;
	} signals[] = {
		{ SIGHUP, "HUP" }, { SIGINT, "INT" }, { SIGQUIT, "QUIT" },
		{ SIGUSR1, "USR1" }, { SIGUSR2, "USR2" },
		{ SIGCONT, "CONT" }, { SIGWINCH, "WINCH" },
		{ SIGTERM, "TERM" },
	};
	struct box *box = box_make();
	struct process *p = process_start(&(struct program){
		.argv = BOX_ARGV(box, PYTHON, "-c", say_signals),
		.time_limit = 15000 });

	cr_assert(process_await(p, "on\n"));
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		process_signal(p, signals[i].number);
		cr_expect(process_await(p, arena_format("%s\n",
						       signals[i].name)),
			  "%s", signals[i].name);
	}
	process_signal(p, SIGKILL);
	expect_err(process_finish(p), "");
	box_expect_clean(box);
}

Test(signals, term_ends_it_the_payloads_way)
{
	struct box *box = box_make();
	const struct outcome *o;
	struct process *p = process_start(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c",
			"trap 'echo got TERM; exit 5' TERM; echo on; "
			"while :; do sleep 0.05; done") });

	cr_assert(process_await(p, "on\n"));
	process_signal(p, SIGTERM);
	o = process_finish(p);
	expect_exit(o, 5);
	expect_out(o, "on\ngot TERM\n");
	box_expect_clean(box);
}

Test(signals, term_without_a_handler)
{
	struct box *box = box_make();
	struct process *p = process_start(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c", "echo on; exec sleep 90") });

	cr_assert(process_await(p, "on\n"));
	process_signal(p, SIGTERM);
	expect_exit(process_finish(p), 128 + SIGTERM);
	box_expect_clean(box);
}

/* A stop is no end, and the continuation goes on. */
Test(signals, a_stopped_payload_can_be_continued_or_killed)
{
	struct box *box = box_make();
	const char *script = "echo on; kill -STOP $$; echo on again; exit 6";
	struct process *p = process_start(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c", script) });

	cr_assert(process_await(p, "on\n"));
	usleep(100000);
	process_signal(p, SIGCONT);
	expect_exit(process_finish(p), 6);
	p = process_start(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c", script) });
	cr_assert(process_await(p, "on\n"));
	process_signal(p, SIGKILL);
	process_finish(p);
	box_expect_clean(box);
}

/* ---- output -------------------------------------------------------------------------------------- */

Test(output, all_of_it_arrives)
{
	struct box *box = box_make();
	const struct outcome *o = BOX_SH(box,
		"head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2");

	expect_exit(o, 0);
	cr_expect_eq(o->out_length, 3000000);
	cr_expect_eq(o->err_length, 2000000);
}

Test(output, input_reaches_the_payload_and_ends)
{
	struct box *box = box_make();
	const struct outcome *o = program_run(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c", "cat; echo end"),
		.input = "in\n" });

	expect_exit(o, 0);
	expect_out(o, "in\nend\n");
}

Test(output, nobody_reads_it)
{
	struct box *box = box_make();
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV("sh", "-c", "{ \"$@\"; echo $? >status; } | true",
			     "sh", sbx_launch(), "--profile", box->profile,
			     "--", "sh", "-c", "sleep 0.3; yes"),
		.cwd = box->top });

	expect_exit(o, 0);
	expect_file(path_in(box->top, "status"), "141\n");
	box_expect_clean(box);
}
