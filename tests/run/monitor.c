/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bubblewrap's language: how a run ends, what is told about it on the way, and
 * what it hands on of the caller's state.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/program.h"
#include "harness/scratch.h"

#define PYTHON "/usr/bin/python3"

/* The program under its other name, in a directory that the sandbox sees. */
struct nest {
	const char *top;
	const char *bwrap;
	const struct host *host;
};

static struct nest nest_make(void)
{
	struct nest nest = { .top = scratch_make() };

	nest.bwrap = path_in(nest.top, "bwrap");
	link_make(sbx_launch(), nest.bwrap);
	nest.host = host_read();
	return nest;
}

/* Everything of the host, the scratch directory writable, a pid namespace. */
#define PLAIN(nest) (nest).bwrap, "--dev-bind", "/", "/"
#define APART(nest) PLAIN(nest), "--unshare-pid", "--proc", "/proc"

static const struct outcome *run(const char *const *argv)
{
	return program_run(&(struct program){ .argv = argv });
}

static void expect_clean(const struct nest *nest)
{
	expect_host_unchanged(nest->host);
}

/* ---- exit status ------------------------------------------------------------- */

Test(status, is_the_commands)
{
	struct nest nest = nest_make();

	expect_exit(run(ARGV(PLAIN(nest), "sh", "-c", "exit 7")), 7);
	expect_exit(run(ARGV(APART(nest), "sh", "-c", "exit 126")), 126);
	expect_exit(run(ARGV(APART(nest), "--as-pid-1", "sh", "-c",
			     "exit 5")), 5);
	expect_exit(run(ARGV(PLAIN(nest), "--lock-file", "/etc/passwd", "sh",
			     "-c", "exit 4")), 4);
	expect_clean(&nest);
}

Test(status, of_a_signal_is_a_status)
{
	struct nest nest = nest_make();
	const struct outcome *o;

	o = run(ARGV(PLAIN(nest), "sh", "-c", "kill -TERM $$"));
	expect_exit(o, 128 + SIGTERM);
	cr_expect_eq(o->signal, 0);
	o = run(ARGV(APART(nest), "sh", "-c", "kill -KILL $$"));
	expect_exit(o, 128 + SIGKILL);
	cr_expect_eq(o->signal, 0);
	expect_clean(&nest);
}

Test(status, of_every_failure_is_1)
{
	struct nest nest = nest_make();
	const struct outcome *o;

	o = run(ARGV(APART(nest), "no-such-command"));
	expect_exit(o, 1);
	expect_err(o, "bwrap: execvp no-such-command: "
		      "No such file or directory\n");
	o = run(ARGV(PLAIN(nest), "/etc/passwd"));
	expect_exit(o, 1);
	expect_err(o, "bwrap: execvp /etc/passwd: Permission denied\n");
	o = run(ARGV(PLAIN(nest), "--ro-bind", "/no/such", "/x", "true"));
	expect_exit(o, 1);
	expect_clean(&nest);
}

/* ---- what goes on ---------------------------------------------------------------- */

static bool appears(const char *path)
{
	for (int tries = 0; tries < 1000; tries++) {
		if (file_exists(path))
			return true;
		usleep(20000);
	}
	return false;
}

/* Runs it, with a process left in the background that makes a file. */
static const char *leave_behind(const struct nest *nest,
				const char *const *options)
{
	const char *file = path_in(nest->top, "late");
	const char *argv[24] = { nest->bwrap, "--dev-bind", "/", "/" };
	const struct outcome *o;
	int count = 4;

	while (*options)
		argv[count++] = *options++;
	argv[count++] = "sh";
	argv[count++] = "-c";
	argv[count++] = arena_format("(sleep 0.6; : >%s) >/dev/null 2>&1 & "
				     "exit 3", file);
	o = run(argv);
	expect_exit(o, 3);
	cr_expect(!file_exists(file));
	return file;
}

Test(goes_on, the_background_in_a_pid_namespace)
{
	struct nest nest = nest_make();

	cr_expect(appears(leave_behind(&nest, ARGV("--unshare-pid"))));
	expect_clean(&nest);
}

Test(goes_on, the_background_without_one)
{
	struct nest nest = nest_make();

	cr_expect(appears(leave_behind(&nest, ARGV("--unshare-ipc"))));
	expect_clean(&nest);
}

Test(goes_on, nothing_when_the_command_is_pid_1)
{
	struct nest nest = nest_make();
	const char *file = leave_behind(&nest, ARGV("--unshare-pid",
						    "--as-pid-1"));

	expect_clean(&nest);
	usleep(800000);
	cr_expect(!file_exists(file));
	expect_clean(&nest);
}

Test(goes_on, nothing_with_die_with_parent)
{
	struct nest nest = nest_make();
	const char *file = leave_behind(&nest, ARGV("--unshare-pid",
						    "--die-with-parent"));

	expect_clean(&nest);
	usleep(800000);
	cr_expect(!file_exists(file));
	expect_clean(&nest);
}

Test(goes_on, without_a_hold_on_the_output)
{
	struct nest nest = nest_make();
	const struct outcome *o = run(ARGV(APART(nest), "sh", "-c",
		"sleep 1 >/dev/null 2>&1 & echo done"));

	expect_exit(o, 0);
	expect_out(o, "done\n");
	cr_expect_lt(o->eof_ms, 900, "%s", outcome_describe(o));
	host_kill_descendants();
	expect_clean(&nest);
}

/* ---- signals ------------------------------------------------------------------------ */

/* A command that says "on", and "TERM" for that signal, and goes on. */
#define STUBBORN "trap 'echo TERM' TERM; echo on; " \
		 "while :; do sleep 0.05; done"

static const struct outcome *signalled(const char *const *argv, int number)
{
	struct process *p = process_start(&(struct program){ .argv = argv });

	cr_assert(process_await(p, "on\n"));
	process_signal(p, number);
	return process_finish(p);
}

Test(signals, that_end_the_monitor_reach_the_command)
{
	static const struct {
		int number;
		const char *name;
	} signals[] = {
		{ SIGTERM, "TERM" }, { SIGINT, "INT" }, { SIGHUP, "HUP" },
		{ SIGQUIT, "QUIT" },
	};
	struct nest nest = nest_make();

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		const char *script = arena_format("trap 'echo %s; exit 0' %s; "
			"echo on; while :; do sleep 0.02; done",
			signals[i].name, signals[i].name);
		const char *text = arena_format("on\n%s\n", signals[i].name);
		const struct outcome *o;

		o = signalled(ARGV(APART(nest), "sh", "-c", script),
			      signals[i].number);
		cr_expect_eq(o->signal, signals[i].number, "%s",
			     outcome_describe(o));
		expect_out(o, text);
		o = signalled(ARGV(PLAIN(nest), "sh", "-c", script),
			      signals[i].number);
		cr_expect_eq(o->signal, signals[i].number, "%s",
			     outcome_describe(o));
		expect_out(o, text);
	}
	expect_clean(&nest);
}

/* Whoever holds the output open after the monitor's end is the command. */
static unsigned int monitor_end_after_term(const char *const *argv,
					   bool *ret_goes_on)
{
	struct process *p = process_start(&(struct program){
		.argv = argv, .time_limit = 5000 });
	const struct outcome *o;

	cr_assert(process_await(p, "on\n"));
	process_signal(p, SIGTERM);
	o = process_finish(p);
	cr_expect_eq(o->signal, SIGTERM, "%s", outcome_describe(o));
	expect_out_has(o, "TERM\n");
	*ret_goes_on = o->held_open;
	return o->end_ms;
}

Test(signals, the_monitor_does_not_wait_long)
{
	struct nest nest = nest_make();
	bool goes_on;

	cr_expect_lt(monitor_end_after_term(ARGV(APART(nest), "sh", "-c",
						 STUBBORN), &goes_on), 3000);
	cr_expect(goes_on, "it is not killed without --die-with-parent");
	expect_clean(&nest);
}

Test(signals, with_die_with_parent_all_is_dead_then)
{
	struct nest nest = nest_make();
	bool goes_on;

	cr_expect_lt(monitor_end_after_term(ARGV(APART(nest),
						 "--die-with-parent", "sh",
						 "-c", STUBBORN), &goes_on),
		     3000);
	cr_expect(!goes_on);
	expect_clean(&nest);
}

static int state_of_signals(const void *data)
{
	sigset_t set;

	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGRTMIN + 3);
	sigprocmask(SIG_SETMASK, &set, NULL);
	return 0;
}

Test(signals, state_is_the_callers_but_for_sigchld)
{
	struct nest nest = nest_make();
	const char *const *argvs[] = {
		ARGV(PLAIN(nest), "grep", "-E", "Sig(Blk|Ign)",
		     "/proc/self/status"),
		ARGV(APART(nest), "grep", "-E", "Sig(Blk|Ign)",
		     "/proc/self/status"),
	};
	const char *expected = arena_format(
		"SigBlk:\t%016llx\nSigIgn:\t%016llx\n",
		1ULL << (SIGUSR2 - 1) | 1ULL << (SIGRTMIN + 3 - 1),
		1ULL << (SIGPIPE - 1) | 1ULL << (SIGUSR1 - 1));

	for (int i = 0; i < 2; i++) {
		const struct outcome *o = program_run(&(struct program){
			.call = state_of_signals, .argv = argvs[i],
			.time_limit = 10000 });

		expect_exit(o, 0);
		expect_out(o, expected);
	}
	expect_clean(&nest);
}

Test(signals, the_reaper_may_be_killed)
{
	struct nest nest = nest_make();
	struct process *p = process_start(&(struct program){
		.argv = ARGV(APART(nest), "--info-fd", "2", "sh", "-c",
			     "echo on; sleep 93") });
	const pid_t *pids;

	cr_assert(process_await(p, "on\n"));
	/* The namespace's first process is the monitor's first child. */
	for (pids = host_descendants(); *pids; pids++)
		if (*pids == process_pid(p))
			break;
	cr_assert_neq(pids[1], 0);
	cr_assert(process_await_err(p, arena_format("\"child-pid\": %d,",
						    pids[1])));
	kill(pids[1], SIGKILL);
	expect_exit(process_finish(p), 128 + SIGKILL);
	expect_clean(&nest);
}

/* ---- the caller's end ------------------------------------------------------------------- */

static void kill_the_caller(const char *const *argv)
{
	/* A shell with a second command does not exec the first. */
	const char *words[24] = { "sh", "-c", "\"$@\"; true", "sh" };
	struct process *p;

	for (int count = 4; *argv; argv++)
		words[count++] = *argv;
	p = process_start(&(struct program){ .argv = words,
					     .time_limit = 3000 });
	cr_assert(process_await(p, "on\n"));
	process_signal(p, SIGKILL);
	process_finish(p);
}

Test(caller, takes_all_along_with_die_with_parent)
{
	struct nest nest = nest_make();

	kill_the_caller(ARGV(APART(nest), "--die-with-parent", "sh", "-c",
			     "trap '' TERM HUP; echo on; sleep 92"));
	expect_clean(&nest);
	kill_the_caller(ARGV(PLAIN(nest), "--die-with-parent", "sh", "-c",
			     "echo on; exec sleep 91"));
	expect_clean(&nest);
}

Test(caller, may_go_without_it)
{
	struct nest nest = nest_make();
	const char *file = path_in(nest.top, "late");

	kill_the_caller(ARGV(APART(nest), "sh", "-c",
			     arena_format("echo on; sleep 0.5; : >%s",
					  file)));
	cr_expect(appears(file));
	expect_clean(&nest);
}

Test(caller, with_sigkill_of_the_monitor)
{
	struct nest nest = nest_make();
	const char *file = path_in(nest.top, "late");
	struct process *p = process_start(&(struct program){
		.argv = ARGV(APART(nest), "--die-with-parent", "sh", "-c",
			     "setsid sleep 90 & trap '' TERM; echo on; "
			     "sleep 90") });

	cr_assert(process_await(p, "on\n"));
	process_signal(p, SIGKILL);
	process_finish(p);
	expect_clean(&nest);
	p = process_start(&(struct program){
		.argv = ARGV(APART(nest), "sh", "-c",
			     arena_format("echo on; sleep 0.5; : >%s",
					  file)) });
	cr_assert(process_await(p, "on\n"));
	process_signal(p, SIGKILL);
	process_finish(p);
	cr_expect(appears(file));
	expect_clean(&nest);
}

/* ---- locks and descriptors ----------------------------------------------------------------- */

/* Can somebody else have the file alone? */
static bool is_locked(const char *path)
{
	struct flock whole = { .l_type = F_WRLCK };
	int fd = open(path, O_RDWR | O_CLOEXEC);

	cr_assert(fd >= 0 && fcntl(fd, F_GETLK, &whole) == 0);
	close(fd);
	return whole.l_type != F_UNLCK;
}

Test(lock_file, is_held_until_all_have_ended)
{
	struct nest nest = nest_make();
	const char *lock = path_in(nest.top, "lock");
	const struct outcome *o;

	file_write(lock, "");
	o = program_run(&(struct program){
		.argv = ARGV(APART(nest), "--lock-file", "lock", "--chdir",
			     nest.top, "sh", "-c",
			     "sleep 0.6 >/dev/null 2>&1 & exit 2"),
		.cwd = "/" });
	expect_exit(o, 2);
	cr_expect(is_locked(lock));
	expect_clean(&nest);
	cr_expect(!is_locked(lock));
	expect_clean(&nest);
}

Test(lock_file, that_cannot_be_had_is_an_error)
{
	struct nest nest = nest_make();
	const char *ran = path_in(nest.top, "ran");
	const struct outcome *o = run(ARGV(APART(nest), "--lock-file",
					   "/no/such/lock", "touch", ran));

	expect_exit(o, 1);
	expect_err(o, "bwrap: Unable to open lock file /no/such/lock: "
		      "No such file or directory\n");
	cr_expect(!file_exists(ran));
	expect_clean(&nest);
}

Test(sync_fd, ends_with_the_last_process)
{
	struct nest nest = nest_make();
	struct pollfd end;
	int pipe_fds[2];
	const struct outcome *o;

	cr_assert(pipe(pipe_fds) == 0);
	end = (struct pollfd){ .fd = pipe_fds[0] };
	o = program_run(&(struct program){
		.argv = ARGV(APART(nest), "--sync-fd", "7", "sh", "-c",
			     "[ ! -e /proc/self/fd/7 ] || exit 9; "
			     "sleep 0.6 >/dev/null 2>&1 & exit 2"),
		.fds = { { pipe_fds[1], 7 } } });
	close(pipe_fds[1]);
	expect_exit(o, 2);
	cr_expect_eq(poll(&end, 1, 100), 0, "the reaper holds it");
	cr_expect_eq(poll(&end, 1, 5000), 1, "and has closed it");
	close(pipe_fds[0]);
	expect_clean(&nest);
}

Test(sync_fd, without_a_reaper_is_the_commands)
{
	struct nest nest = nest_make();
	int pipe_fds[2];

	cr_assert(pipe(pipe_fds) == 0);
	expect_exit(program_run(&(struct program){
		.argv = ARGV(APART(nest), "--as-pid-1", "--sync-fd", "7",
			     "sh", "-c", "[ -e /proc/self/fd/7 ]"),
		.fds = { { pipe_fds[1], 7 } } }), 0);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	expect_clean(&nest);
}

Test(block_fd, holds_the_command_back)
{
	struct nest nest = nest_make();
	int pipe_fds[2];
	struct process *p;
	const struct outcome *o;

	cr_assert(pipe2(pipe_fds, O_CLOEXEC) == 0);
	p = process_start(&(struct program){
		.argv = ARGV(APART(nest), "--block-fd", "7", "--info-fd", "2",
			     "sh", "-c", "echo ran; [ ! -e /proc/self/fd/7 ]"),
		.fds = { { pipe_fds[0], 7 } } });
	cr_expect(process_await_err(p, "}\n"));
	usleep(300000);
	cr_expect_str_eq(process_output(p), "");
	close(pipe_fds[1]);
	o = process_finish(p);
	expect_exit(o, 0);
	expect_out(o, "ran\n");
	close(pipe_fds[0]);
	expect_clean(&nest);
}

Test(closed, descriptors_stay_closed)
{
	struct nest nest = nest_make();
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV(APART(nest), "sh", "-c",
			     "[ -e /proc/self/fd/0 ] && echo open; "
			     "[ -e /proc/self/fd/1 ] && echo there"),
		.fds = { { -1, 0 } } });

	expect_exit(o, 0);
	expect_out(o, "there\n");
	expect_clean(&nest);
}

/* ---- documents ---------------------------------------------------------------------------------- */

static const char *ns_inode(pid_t pid, const char *name)
{
	struct stat ns;

	cr_assert(stat(arena_format("/proc/%d/ns/%s", pid, name), &ns) == 0);
	return arena_format("%ju", (uintmax_t)ns.st_ino);
}

Test(documents, to_the_byte)
{
	struct nest nest = nest_make();
	const char *info = path_in(nest.top, "info");
	const char *json = path_in(nest.top, "json");
	int info_fd = open(info, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int json_fd = open(json, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct process *p = process_start(&(struct program){
		.argv = ARGV(APART(nest), "--unshare-ipc", "--unshare-uts",
			     "--info-fd", "7", "--json-status-fd", "8", "sh",
			     "-c", "[ ! -e /proc/self/fd/7 ] && "
			     "[ ! -e /proc/self/fd/8 ] && echo on; read x; "
			     "exit 6"),
		.input_open = true,
		.fds = { { info_fd, 7 }, { json_fd, 8 } } });
	const char *one_line;
	pid_t child;

	cr_assert(process_await(p, "on\n"));
	cr_assert_eq(sscanf(file_read(info, NULL), "{\n    \"child-pid\": %d",
			    &child), 1, "%s", file_read(info, NULL));
	expect_file(info, arena_format("{\n    \"child-pid\": %d,\n"
				       "    \"ipc-namespace\": %s,\n"
				       "    \"mnt-namespace\": %s,\n"
				       "    \"pid-namespace\": %s,\n"
				       "    \"uts-namespace\": %s\n}\n", child,
				       ns_inode(child, "ipc"),
				       ns_inode(child, "mnt"),
				       ns_inode(child, "pid"),
				       ns_inode(child, "uts")));
	one_line = arena_format("{ \"child-pid\": %d, \"ipc-namespace\": %s, "
				"\"mnt-namespace\": %s, \"pid-namespace\": %s, "
				"\"uts-namespace\": %s }\n", child,
				ns_inode(child, "ipc"), ns_inode(child, "mnt"),
				ns_inode(child, "pid"), ns_inode(child, "uts"));
	expect_file(json, one_line);
	process_close_input(p);
	expect_exit(process_finish(p), 6);
	expect_file(json, arena_format("%s{ \"exit-code\": 6 }\n", one_line));
	close(info_fd);
	close(json_fd);
	expect_clean(&nest);
}

Test(documents, no_exit_line_without_a_command)
{
	struct nest nest = nest_make();
	const struct outcome *o = run(ARGV(APART(nest), "--json-status-fd",
					   "1", "no-such-command"));

	expect_exit(o, 1);
	expect_out_has(o, "{ \"child-pid\": ");
	cr_expect(!strstr(o->out, "exit-code"), "%s", o->out);
	expect_clean(&nest);
}

Test(documents, of_a_signal)
{
	struct nest nest = nest_make();
	const struct outcome *o = run(ARGV(APART(nest), "--json-status-fd",
					   "1", "sh", "-c", "kill -9 $$"));

	expect_exit(o, 137);
	expect_out_has(o, "{ \"exit-code\": 137 }\n");
	expect_clean(&nest);
}

Test(documents, that_cannot_be_written_are_an_error)
{
	struct nest nest = nest_make();
	const char *ran = path_in(nest.top, "ran");
	const struct outcome *o;

	o = run(ARGV(APART(nest), "--info-fd", "9", "touch", ran));
	expect_exit(o, 1);
	expect_err(o, "bwrap: Write to info_fd: Bad file descriptor\n");
	o = run(ARGV(APART(nest), "--info-fd", "1", "--json-status-fd", "1",
		     "touch", ran));
	expect_exit(o, 1);
	expect_err(o, "bwrap: Write to info_fd: Bad file descriptor\n");
	cr_expect(!file_exists(ran));
	/* Nobody waits for a word of the monitor. */
	expect_clean(&nest);
}

Test(documents, come_before_anything_is_set_up)
{
	struct nest nest = nest_make();
	int pipe_fds[2];
	struct process *p;
	pid_t child;

	cr_assert(pipe2(pipe_fds, O_CLOEXEC) == 0);
	p = process_start(&(struct program){
		.argv = ARGV(APART(nest), "--unshare-user", "--userns-block-fd",
			     "7", "--info-fd", "2", "--uid", "0", "id", "-u"),
		.fds = { { pipe_fds[0], 7 } } });
	cr_assert(process_await_err(p, "}\n"));
	usleep(200000);
	child = host_descendants()[1];
	cr_expect_str_eq(file_read(arena_format("/proc/%d/uid_map", child),
				   NULL), "");
	process_signal(p, SIGTERM);
	cr_expect_eq(process_finish(p)->signal, SIGTERM);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	expect_clean(&nest);
}
