/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the payload starts with: limits, descriptors, directory, signals,
 * umask, terminal.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"

/* ---- limits ------------------------------------------------------------------------ */

/* "SOFT HARD" of the line of /proc/self/limits. */
static const char *limit_of(const char *limits, const char *name)
{
	const char *line = box_field(limits, name);
	char soft[32], hard[32];

	if (sscanf(line, "%31s %31s", soft, hard) != 2)
		return line;
	return arena_format("%s %s", soft, hard);
}

static rlim_t core_limit(void)
{
	struct rlimit own = { 0 };

	getrlimit(RLIMIT_CORE, &own);
	return own.rlim_max;
}

Test(limits, each_is_there_hard_and_soft)
{
	static const struct {
		const char *key, *value, *line, *now;
	} limits[] = {
		{ "processes", "64", "Max processes", "64 64" },
		{ "open-files", "77", "Max open files", "77 77" },
		{ "file-size", "3k", "Max file size", "3072 3072" },
		{ "cpu-time", "9s", "Max cpu time", "9 9" },
		{ "cpu-time", "1500ms", "Max cpu time", "2 2" },
		{ "address-space", "1g", "Max address space",
		  "1073741824 1073741824" },
		{ "stack", "1m", "Max stack size", "1048576 1048576" },
		/* One byte: 0 would not keep the kernel's pipe from it. */
		{ "core", "0", "Max core file size", "1 1" },
		{ "memlock", "16k", "Max locked memory", "16384 16384" },
	};
	struct box *box = box_make();

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		const struct outcome *o;

		if (!strcmp(limits[i].key, "address-space") &&
		    sbx_sanitized())
			continue;
		/* Where the caller may have none, it cannot be 1. */
		if (!strcmp(limits[i].key, "core") && !core_limit())
			continue;
		box_profile(box, "[limits]\n%s = %s\n", limits[i].key,
			    limits[i].value);
		o = BOX_RUN(box, "cat", "/proc/self/limits");
		assert_exit(o, 0);
		cr_expect_str_eq(limit_of(o->out, limits[i].line),
				 limits[i].now, "%s = %s: %s", limits[i].key,
				 limits[i].value,
				 limit_of(o->out, limits[i].line));
	}
	box_expect_clean(box);
}

Test(limits, all_of_them_together)
{
	struct box *box = box_make();
	const struct outcome *o;

	box_profile(box, "[limits]\nprocesses = 30\nopen-files = 40\n"
		    "file-size = 50k\nstack = 2m\n");
	o = BOX_RUN(box, "cat", "/proc/self/limits");
	assert_exit(o, 0);
	cr_expect_str_eq(limit_of(o->out, "Max processes"), "30 30");
	cr_expect_str_eq(limit_of(o->out, "Max open files"), "40 40");
	cr_expect_str_eq(limit_of(o->out, "Max file size"), "51200 51200");
	cr_expect_str_eq(limit_of(o->out, "Max stack size"),
			 "2097152 2097152");
}

Test(limits, without_any_only_core_dumps_are_off)
{
	struct box *box = box_make();
	const struct outcome *o = BOX_RUN(box, "cat", "/proc/self/limits");
	const char *mine = file_read("/proc/self/limits", NULL);

	assert_exit(o, 0);
	cr_expect_str_eq(limit_of(o->out, "Max address space"),
			 limit_of(mine, "Max address space"));
	cr_expect_str_eq(limit_of(o->out, "Max open files"),
			 limit_of(mine, "Max open files"));
	/* 1 is what makes the kernel spare a helper of core_pattern, too. */
	cr_expect(!strcmp(limit_of(o->out, "Max core file size"), "0 0") ||
		  !strcmp(limit_of(o->out, "Max core file size"), "1 1"));
}

/* The fourth is what the loader needs for a library. */
Test(limits, on_files_are_for_the_command_and_not_for_the_launcher)
{
	struct box *box = box_make();

	box_profile(box, "[limits]\nopen-files = 4\n");
	expect_out(BOX_SH(box, "ulimit -n; ulimit -Hn"), "4\n4\n");
	box_expect_clean(box);
}

Test(limits, cannot_be_raised)
{
	struct box *box = box_make();

	box_profile(box, "[limits]\nprocesses = 40\nopen-files = 50\n");
	expect_out(BOX_SH(box, "prlimit --nproc=4096:4096 2>/dev/null || "
			  "echo no; prlimit --nofile=60:60 2>/dev/null || "
			  "echo no; prlimit --nofile=20:20 && echo lower"),
		   "no\nno\nlower\n");
}

Test(limits, a_file_cannot_grow_beyond)
{
	struct box *box = box_make();
	const struct outcome *o;
	struct stat made;

	box_profile(box, "[limits]\nfile-size = 8k\n");
	o = BOX_SH(box, "dd if=/dev/zero of=big bs=1k count=20 2>/dev/null");
	expect_exit(o, 128 + SIGXFSZ);
	cr_assert_eq(stat(path_in(box->work, "big"), &made), 0);
	cr_expect_eq(made.st_size, 8192);
}

Test(limits, address_space)
{
	struct box *box = box_make();
	const struct outcome *o;

	if (sbx_sanitized())
		skip_test("sanitizer", "needs more addresses than that");
	box_profile(box, "[limits]\naddress-space = 512m\n");
	o = BOX_PYTHON(box, "bytearray(1 << 30)");
	expect_exit(o, 1);
	expect_err_has(o, "MemoryError");
}

static const char count_forks[] =
	"import os, signal, time\n"
	"children = []\n"
	"try:\n"
	"    for _ in range(300):\n"
	"        pid = os.fork()\n"
	"        if not pid:\n"
	"            time.sleep(60)\n"
	"        children.append(pid)\n"
	"    print('no limit', len(children))\n"
	"except BlockingIOError:\n"
	"    print(len(children))\n"
	"for pid in children:\n"
	"    os.kill(pid, signal.SIGKILL)\n";

Test(limits, processes_are_counted_for_everybody)
{
	struct box *box = box_make();
	const struct outcome *o;
	int forks;

	box_profile(box, "[limits]\nprocesses = 20\n");
	o = BOX_PYTHON(box, count_forks);
	expect_exit(o, 0);
	/* PID 1 and the one that forks may count, nothing else does. */
	cr_assert_eq(sscanf(o->out, "%d", &forks), 1, "%s",
		     outcome_describe(o));
	cr_expect(forks >= 17 && forks <= 20, "%d", forks);
	box_expect_clean(box);
}

Test(limits, processes_outside_are_not_counted)
{
	struct box *box = box_make();
	struct process *crowd[30];
	const struct outcome *o;
	enum { CROWD = sizeof(crowd) / sizeof(crowd[0]) };

	box_profile(box, "[limits]\nprocesses = 10\n");
	for (int i = 0; i < CROWD; i++)
		crowd[i] = process_start(&(struct program){
			.argv = ARGV("sleep", "60") });
	o = BOX_SH(box, "sleep 0 & wait; echo on");
	expect_exit(o, 0);
	expect_out(o, "on\n");
	for (int i = 0; i < CROWD; i++) {
		process_signal(crowd[i], SIGKILL);
		process_finish(crowd[i]);
	}
}

/* Each forks for as long as it can, the bomb's usual form. */
static const char bomb[] =
	"import os, sys\n"
	"print('lit', flush=True)\n"
	"while True:\n"
	"    try:\n"
	"        os.fork()\n"
	"    except OSError:\n"
	"        pass\n";

Test(limits, a_fork_bomb_stops_at_the_limit)
{
	enum { LIMIT = 64, OURS = 3, LOOKS = 20 };
	struct box *box = box_make();
	const struct outcome *o;
	struct process *p;
	size_t most = 0;

	box_profile(box, "[limits]\nprocesses = %d\n", LIMIT);
	p = process_start(&(struct program){
		.argv = BOX_ARGV(box, PYTHON, "-c", bomb) });
	cr_assert(process_await(p, "lit\n"));
	for (int i = 0; i < LOOKS; i++) {
		const pid_t *pids = host_descendants();
		size_t count = 0;

		while (pids[count])
			count++;
		most = count > most ? count : most;
		usleep(50000);
	}
	cr_expect(most <= LIMIT + OURS && most >= LIMIT / 2, "%zu", most);
	/* A look at what changes all the time misses some of them.  The
	 * machine goes on, and so does the sandbox's end. */
	expect_exit(program_run(&(struct program){ .argv = ARGV("true") }), 0);
	process_signal(p, SIGKILL);
	o = process_finish(p);
	cr_expect_eq(o->signal, SIGKILL);
	box_expect_clean(box);
}

Test(limits, root_on_the_host_is_no_silent_exception)
{
	struct box *box;
	const struct outcome *o;
	int forks;

	box_need_root();
	box = box_make();
	box_profile(box, "[security]\nrun-as = caller\n"
		    "[limits]\nprocesses = 20\n");
	o = BOX_PYTHON(box, count_forks);
	/* Either something else than the rlimit counts, or nothing runs. */
	if (o->exit == 0) {
		cr_assert_eq(sscanf(o->out, "%d", &forks), 1, "%s",
			     outcome_describe(o));
		cr_expect_leq(forks, 20);
		return;
	}
	box_expect_refused(box, o, 125, "processes", NULL);
}

/* ---- descriptors --------------------------------------------------------------------- */

Test(descriptors, none_but_the_three)
{
	struct box *box = box_make();
	int secret = open("/proc/self/status", O_RDONLY);
	int root = open("/", O_RDONLY | O_DIRECTORY);
	const struct outcome *o;

	box->host = host_read();
	o = program_run(&(struct program){
		/* ls needs one more, to read the directory. */
		.argv = BOX_ARGV(box, "ls", "/proc/self/fd"),
		.fds = { { secret, 9 }, { root, 200 }, { root, 3 } } });

	expect_exit(o, 0);
	expect_out(o, "0\n1\n2\n3\n");
	box_expect_clean(box);
}

Test(descriptors, pid_1_has_none_either)
{
	struct box *box = box_make();
	struct process *p = process_start(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c", "echo on; sleep 60"),
		.fds = { { open("/", O_RDONLY | O_DIRECTORY), 9 } } });
	bool seen = false;

	cr_assert(process_await(p, "on\n"));
	/* All of ours: the monitor, PID 1, the payload. */
	for (const pid_t *pid = host_descendants(); *pid; pid++) {
		char target[4096];
		ssize_t length = readlink(arena_format("/proc/%d/fd/9", *pid),
					  target, sizeof(target));

		seen |= length == 1 && target[0] == '/';
	}
	process_signal(p, SIGKILL);
	process_finish(p);
	cr_expect(!seen);
}

Test(descriptors, those_that_are_kept)
{
	struct box *box = box_make();
	const struct outcome *o;
	const char *file = path_in(box->top, "kept");
	int kept;

	file_write(file, "through 7\n");
	kept = open(file, O_RDONLY);
	box_profile(box, "[security]\nkeep-fd = 7 9\nkeep-fd = 12\n");
	o = program_run(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c",
				 "cat <&7; ls /proc/self/fd"),
		.fds = { { kept, 7 }, { kept, 8 }, { kept, 9 },
			 { kept, 12 } } });
	expect_exit(o, 0);
	/* And ls's own for the directory, the lowest that is free. */
	expect_out(o, "through 7\n0\n1\n12\n2\n3\n7\n9\n");
}

Test(descriptors, one_to_keep_that_is_closed)
{
	struct box *box = box_make();

	box_profile_alone(box, "[security]\nkeep-fd = 7\n"
			  "[workspace]\npath = %s\n", box->work);
	box_expect_refused(box, BOX_RUN(box, BOX_MARK), 125, "p.ini:2", "7",
			   "Bad file descriptor", NULL);
}

Test(descriptors, closed_ones_below_three_are_open_inside)
{
	static const char code[] =
		"import os, sys\n"
		"links = [os.readlink('/proc/self/fd/%d' % n)\n"
		"         for n in range(3)]\n"
		"with open('links', 'w') as file:\n"
		"    print(*links, file=file)\n";

	for (int closed = 0; closed < 8; closed++) {
		struct box *box = box_make();
		struct program program = {
			.argv = BOX_ARGV(box, PYTHON, "-c", code) };
		const char *links;
		int at = 0;

		for (int fd = 0; fd < 3; fd++)
			if (closed & 1 << fd)
				program.fds[at++] =
					(struct program_fd){ -1, fd };
		expect_exit(program_run(&program), 0);
		links = file_read(path_in(box->work, "links"), NULL);
		for (int fd = 0; fd < 3; fd++) {
			bool null = !strncmp(links, "/dev/null", 9);

			cr_expect(null || !(closed & 1 << fd),
				  "closed %d: %d is %s", closed, fd, links);
			links += strcspn(links, " \n") + 1;
		}
		box_expect_clean(box);
	}
}

/* ---- directory, signals, umask --------------------------------------------------------- */

Test(directory, workspace_or_root_or_the_named_one)
{
	struct box *box = box_make();

	expect_out(BOX_SH(box, "pwd; pwd -P"),
		   arena_format("%s\n%s\n", box->work, box->work));
	box_profile(box, "[exec]\nchdir = /usr/lib\n");
	expect_out(BOX_SH(box, "pwd; pwd -P"), "/usr/lib\n/usr/lib\n");
	box_profile_alone(box, "[mask]\ntmpfs = /tmp\n");
	expect_out(BOX_SH(box, "pwd -P"), "/\n");
}

Test(directory, one_that_is_hidden_or_missing)
{
	struct box *box = box_make();

	box_profile_alone(box, "[mask]\ntmpfs = /usr/share\n"
			  "[exec]\nchdir = /usr/share/doc\n");
	box_expect_refused(box, BOX_RUN(box, BOX_MARK), 125, "p.ini:4",
			   "/usr/share/doc", "mask", NULL);
	box_profile_alone(box, "[exec]\nchdir = /usr/nowhere\n");
	box_expect_refused(box, BOX_RUN(box, BOX_MARK), 125, "p.ini:2",
			   "/usr/nowhere", "No such file or directory", NULL);
	box_profile_alone(box, "[exec]\nchdir = /usr/bin/env\n");
	box_expect_refused(box, BOX_RUN(box, BOX_MARK), 125, "p.ini:2",
			   "/usr/bin/env", "Not a directory", NULL);
	box_profile_alone(box, "[exec]\nchdir = usr\n");
	box_expect_refused(box, BOX_RUN(box, BOX_MARK), 125, "p.ini:2",
			   "absolute", NULL);
}

static int upset(const void *data)
{
	/* The kernel's struct, for the signals that the C library keeps. */
	const uint64_t ignore[16] = { (uint64_t)(uintptr_t)SIG_IGN };
	const struct itimerval alarm_soon = { .it_value.tv_usec = 300000 };
	sigset_t all;

	for (int i = 1; i <= SIGRTMAX; i++)
		syscall(SYS_rt_sigaction, i, ignore, NULL, 8);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	/* Ignored here, and its default action would kill inside. */
	CHECK(setitimer(ITIMER_REAL, &alarm_soon, NULL) == 0);
	umask(0);
	return 0;
}

Test(directory, signals_timers_and_umask_are_not_the_callers)
{
	struct box *box = box_make();
	const struct outcome *o = program_run(&(struct program){
		.call = upset,
		.argv = BOX_ARGV(box, "sh", "-c",
			"grep -E '^Sig(Blk|Ign)' /proc/self/status; umask; "
			"sleep 1; echo on") });

	expect_exit(o, 0);
	expect_out(o, "SigBlk:\t0000000000000000\n"
		   "SigIgn:\t0000000000000000\n0022\non\n");
}

static int private_umask(const void *data)
{
	umask(077);
	return 0;
}

Test(directory, a_stricter_umask_stays)
{
	struct box *box = box_make();
	const struct outcome *o = program_run(&(struct program){
		.call = private_umask,
		.argv = BOX_ARGV(box, "sh", "-c", "umask; true >made; mkdir d") });

	expect_exit(o, 0);
	expect_out(o, "0077\n");
	cr_expect_eq(file_mode(path_in(box->work, "made")), S_IFREG | 0600);
	cr_expect_eq(file_mode(path_in(box->work, "d")), S_IFDIR | 0700);
	/* What the launcher makes does not depend on it. */
	expect_out(program_run(&(struct program){
			.call = private_umask,
			.argv = BOX_ARGV(box, "stat", "-c", "%a", "/tmp",
					 "/dev/shm", "/dev/pts", "/home") }),
		   "1777\n1777\n755\n755\n");
}

/* ---- when memory runs out ----------------------------------------------------------------- */

/* PID 1 takes it back a moment after the command was started. */
static const char say_scores[] =
	"for i in $(seq 400); do read one </proc/1/oom_score_adj; "
	"[ $one = \"$1\" ] && break; sleep 0.05; done; "
	"cat /proc/self/oom_score_adj /proc/1/oom_score_adj";

Test(memory, command_is_given_up_before_its_caller)
{
	struct box *box = box_make();
	long own = strtol(file_read("/proc/self/oom_score_adj", NULL), NULL,
			  10);
	const struct outcome *o = BOX_RUN(box, "sh", "-c", say_scores, "sh",
					  arena_format("%ld", own));

	expect_exit(o, 0);
	expect_out(o, arena_format("%ld\n%ld\n", own > 500 ? 1000 : own + 500,
				   own));
}

/* ---- the terminal ------------------------------------------------------------------------ */

static const char push[] =
	"import ctypes, os\n"
	"libc = ctypes.CDLL(None, use_errno=True)\n"
	"libc.ioctl.argtypes = ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p\n"
	"for number in 0x5412, 0x5412 + (1 << 32), 0x541c:\n"
	"    if libc.ioctl(0, number, b'X') == 0:\n"
	"        print('pushed')\n"
	"    else:\n"
	"        print(os.strerror(ctypes.get_errno()))\n"
	"try:\n"
	"    os.close(os.open('/dev/tty', os.O_RDWR))\n"
	"    print('terminal')\n"
	"except OSError:\n"
	"    print('none')\n"
	"print(os.getsid(0) == os.getpid())\n";

Test(terminal, none_by_default)
{
	struct box *box = box_make();
	const struct outcome *o = program_run(&(struct program){
		.argv = BOX_ARGV(box, PYTHON, "-c", push), .pty = true });

	expect_exit(o, 0);
	expect_out(o, "Operation not permitted\r\n"
		   "Operation not permitted\r\n"
		   "Operation not permitted\r\nnone\r\nTrue\r\n");
}

Test(terminal, kept_but_not_to_be_typed_into)
{
	struct box *box = box_make();
	const struct outcome *o;

	box_profile(box, "[security]\ntty = keep\n");
	o = program_run(&(struct program){
		.argv = BOX_ARGV(box, PYTHON, "-c", push), .pty = true });
	expect_exit(o, 0);
	expect_out(o, "Operation not permitted\r\n"
		   "Operation not permitted\r\n"
		   "Operation not permitted\r\nterminal\r\nFalse\r\n");
}

Test(terminal, a_signal_to_everybody_stays_inside)
{
	struct box *box = box_make();
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV("sh", "-c", "\"$@\"; echo then $?", "sh",
			     sbx_launch(), "--profile", box->profile, "--",
			     PYTHON, "-c",
			     "import os\nos.kill(0, 9)\n") });

	expect_exit(o, 0);
	expect_out(o, "then 137\n");
}
