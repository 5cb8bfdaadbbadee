/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The status record and the audit record. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"

/*
 * What Python's parser makes of a file of JSON lines: @expression for each,
 * with the object as `r`, a line each.
 */
static const char *json_each(const char *path, const char *expression)
{
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV(PYTHON, "-c",
			"import json, sys\n"
			"def no_twice(pairs):\n"
			"    assert len(dict(pairs)) == len(pairs)\n"
			"    return dict(pairs)\n"
			"for line in open(sys.argv[1], encoding='utf-8'):\n"
			"    assert line.endswith('\\n')\n"
			"    r = json.loads(line, object_pairs_hook=no_twice)\n"
			"    print(eval(sys.argv[2]))\n", path, expression) });

	cr_assert(o->exit == 0, "%s\n%s", outcome_describe(o),
		  file_read(path, NULL));
	return o->out;
}

#define expect_json(path, expression, text)                               \
	do {                                                              \
		const char *json_text = json_each(path, expression);      \
		cr_expect_str_eq(json_text, text, "%s\nfound: %s\nin: %s", \
				 expression, json_text,                   \
				 file_read(path, NULL));                  \
	} while (0)

static const char *status_of(struct box *box)
{
	return path_in(box->top, "status");
}

static const char *audit_of(struct box *box)
{
	return path_in(box->top, "audit");
}

/* The box's profile with both records, and more of it behind them. */
static void with_records(struct box *box, const char *more)
{
	box_profile(box, "[report]\nstatus-file = %s\naudit-file = %s\n%s",
		    status_of(box), audit_of(box), more);
}

/* ---- status ------------------------------------------------------------------------------ */

Test(status, of_a_run)
{
	struct box *box = box_make();

	with_records(box, "");
	expect_exit(BOX_SH(box, "exit 3"), 3);
	expect_json(status_of(box), "list(r)",
		    "['event', 'pid', 'initPid', 'skipped', 'enforced', "
		    "'landlock']\n"
		    "['event', 'exitCode', 'signal', 'timedOut', "
		    "'durationMs', 'maxRssKib', 'memoryPeakKib', 'userMs', "
		    "'systemMs', "
		    "'outputBytes', 'outputDropped']\n");
	expect_json(status_of(box), "[r['event']] + "
		    "[r.get(k, '-') for k in ('exitCode', 'signal', "
		    "'timedOut')]",
		    "['start', '-', '-', '-']\n"
		    "['exit', 3, None, False]\n");
	box_expect_clean(box);
}

Test(status, of_a_signal_and_of_a_timeout)
{
	struct box *box = box_make();

	with_records(box, "");
	expect_exit(BOX_SH(box, "kill -USR2 $$"), 128 + SIGUSR2);
	expect_json(status_of(box), "r.get('exitCode', 0), r.get('signal', 0)",
		    "(0, 0)\n(None, 12)\n");
	/* It is written anew for each run. */
	with_records(box, "[limits]\ntimeout = 2s\n");
	expect_exit(BOX_SH(box, "exec sleep 99"), 124);
	expect_json(status_of(box), "r.get('signal', 0), "
		    "r.get('timedOut', 0), r.get('durationMs', 2000) >= 2000",
		    "(0, 0, True)\n(15, True, True)\n");
}

Test(status, to_a_descriptor_while_it_runs)
{
	struct box *box = box_make();
	int fds[2];
	char line[4096] = "";
	struct process *p;
	int pid, init;

	cr_assert(pipe2(fds, O_CLOEXEC) == 0);
	p = process_start(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", box->profile,
			     "--status-fd", "9", "--", "sh", "-c",
			     "[ -e /proc/self/fd/9 ] && echo there; "
			     "echo on; exec sleep 98"),
		.fds = { { fds[1], 9 } } });
	close(fds[1]);
	cr_assert(process_await(p, "on\n"));
	cr_assert(read(fds[0], line, sizeof(line) - 1) > 0);
	cr_assert_eq(sscanf(line, "{\"event\":\"start\",\"pid\":%d,"
			    "\"initPid\":%d,", &pid, &init), 2, "%s", line);
	cr_expect_neq(pid, init);
	/* They are the host's. */
	cr_expect_eq(kill(pid, SIGUSR1), 0);
	expect_exit(process_finish(p), 128 + SIGUSR1);
	memset(line, 0, sizeof(line));
	cr_assert(read(fds[0], line, sizeof(line) - 1) > 0);
	cr_expect(strstr(line, "{\"event\":\"exit\",\"exitCode\":null,"
			       "\"signal\":10,"), "%s", line);
	cr_expect_eq(read(fds[0], line, sizeof(line)), 0);
	close(fds[0]);
	box_expect_clean(box);
}

Test(status, names_what_was_left_out_and_what_holds_limits)
{
	struct box *box = box_make();

	with_records(box, "[layers]\nskills = /no/such/skills optional\n"
			  "layer = /no/other/layer optional\n"
			  "[limits]\nopen-files = 50\ntimeout = 1m\n");
	expect_exit(BOX_SH(box, "true"), 0);
	expect_json(status_of(box), "r.get('skipped')",
		    "['/no/such/skills', '/no/other/layer']\nNone\n");
	expect_json(status_of(box), "r.get('enforced', {}).get('open-files'), "
		    "r.get('enforced', {}).get('timeout')",
		    "('rlimit', 'launcher')\n(None, None)\n");
}

/* It holds, and says by what; or the command does not run. */
Test(status, names_what_holds_the_limits_of_the_whole_run)
{
	struct box *box = box_make();
	const struct outcome *o;

	with_records(box, "[limits]\nmemory = 400m optional\n"
			  "cpu = 100% optional\nprocesses = 50\n");
	expect_exit(BOX_SH(box, "true"), 0);
	expect_json(status_of(box), "r['event'] == 'exit' or "
		    "[r['enforced'][k] in v for k, v in (('memory', "
		    "('cgroup', 'none')), ('cpu', ('cgroup', 'none')), "
		    "('processes', ('cgroup', 'rlimit')))]",
		    "[True, True, True]\nTrue\n");
	with_records(box, "[limits]\nmemory = 400m\n");
	o = BOX_RUN(box, BOX_MARK);
	if (!o->exit) {
		/* One that holds it counts it. */
		expect_json(status_of(box), "r['event'] == 'exit' and "
			    "0 < r['memoryPeakKib'] <= 409600 or "
			    "r['enforced']['memory']", "cgroup\nTrue\n");
		return;
	}
	box_expect_refused(box, o, 125, "memory", NULL);
	expect_json(status_of(box), "r['event'], r['reason']",
		    "('error', 'limit')\n");
}

Test(status, of_what_is_used)
{
	struct box *box = box_make();

	with_records(box, "");
	expect_exit(BOX_PYTHON(box, "import time\n"
			       "b = b'x' * (60 << 20)\n"
			       "end = time.process_time() + 0.4\n"
			       "while time.process_time() < end: pass\n"), 0);
	expect_json(status_of(box), "r['event'] == 'start' or "
		    "(60000 < r['maxRssKib'] < 200000, "
		    "r['memoryPeakKib'] is None, "
		    "r['userMs'] + r['systemMs'] >= 400, "
		    "r['durationMs'] >= 400)", "True\n(True, True, True, True)\n");
}

Test(status, of_what_a_background_process_used)
{
	struct box *box = box_make();

	with_records(box, "");
	/*
	 * By the clock it would get little on a machine that is busy; and what
	 * is killed with the sandbox is not counted.
	 */
	expect_exit(BOX_SH(box, "{ sh -c 'i=0; while [ $i -lt 300000 ]; "
				"do i=$((i+1)); done'; : >done; } & "
				"until [ -e done ]; do sleep 0.1; done; "
				"sleep 0.5"), 0);
	expect_json(status_of(box), "r['event'] == 'start' or "
		    "r['userMs'] + r['systemMs'] >= 100", "True\nTrue\n");
}

Test(status, of_a_launch_that_failed)
{
	struct box *box = box_make();

	with_records(box, "");
	expect_exit(BOX_RUN(box, "no-such-command"), 127);
	expect_json(status_of(box), "r['event'], r.get('reason'), "
		    "r.get('errno'), r.get('stage')",
		    "('start', None, None, None)\n"
		    "('error', 'not-found', 'ENOENT', 'exec')\n");
	with_records(box, "[layers]\nskills = /no/such/skills\n");
	expect_exit(BOX_RUN(box, BOX_MARK), 125);
	expect_json(status_of(box), "r['event'], r['errno'], "
		    "'/no/such/skills' in r['message']",
		    "('error', 'ENOENT', True)\n");
}

Test(status, where_it_cannot_be_written)
{
	struct box *box = box_make();

	box_expect_refused(box, program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", box->profile,
			     "--status-fd", "9", "--", BOX_MARK) }),
		125, "status-fd: descriptor 9: Bad file descriptor", NULL);
	box_profile(box, "[report]\nstatus-file = /no/such/file\n");
	BOX_EXPECT_REFUSED(box, "status-file '/no/such/file'");
}

/* The pipe is full: the run is supervised, and says what is lost. */
Test(status, that_nobody_takes)
{
	struct box *box = box_make();
	char page[4096] = { 0 };
	const struct outcome *o;
	int fds[2];

	cr_assert(pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0);
	while (write(fds[1], page, sizeof(page)) > 0)
		;
	cr_assert_eq(fcntl(fds[1], F_SETFL, 0), 0);
	box_profile(box, "[limits]\ntimeout = 200ms\ngrace = 0s\n");
	o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", box->profile,
			     "--status-fd", "9", "--", "sleep", "60"),
		.fds = { { fds[1], 9 } }, .time_limit = 60000 });
	expect_exit(o, 124);
	expect_err_has(o, "write the status record: nobody made room");
	expect_err_has(o, "has to read");
	close(fds[0]);
	close(fds[1]);
	box_expect_clean(box);
}

/* What is emptied for one record must not be what another one keeps. */
Test(status, one_file_for_two_records)
{
	struct box *box = box_make();
	const char *file = path_in(box->top, "file");

	file_write(file, "kept\n");
	box_profile(box, "[report]\nstatus-file = %s\naudit-file = %s\n",
		    file, file);
	BOX_EXPECT_REFUSED(box, "status-file", "audit-file, too");
	cr_expect(!strncmp(file_read(file, NULL), "kept\n{", 6));
	box_profile(box, "mode = ephemeral\n[report]\nstatus-file = %s\n"
		    "changes-file = %s\n", file, file);
	BOX_EXPECT_REFUSED(box, "p.ini:", "changes-file", "status-file, too");
}

/* A reader that goes away is no reason to stop, nor to die. */
Test(status, that_nobody_reads)
{
	struct box *box = box_make();
	int fds[2];

	cr_assert(pipe2(fds, O_CLOEXEC) == 0);
	close(fds[0]);
	expect_exit(program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", box->profile,
			     "--status-fd", "9", "--", "sh", "-c", "exit 4"),
		.fds = { { fds[1], 9 } } }), 4);
	expect_exit(program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", box->profile,
			     "--status-fd", "9", "--workspace", "/no/such",
			     "--", "sh", "-c", "exit 4"),
		.fds = { { fds[1], 9 } } }), 125);
	close(fds[1]);
	box_expect_clean(box);
}

/* Where no room can be kept, the command has run and its status counts. */
Test(status, that_cannot_be_written_any_more)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct box *box = box_make();
	const struct outcome *o;

	cr_assert(full >= 0 && input >= 0);
	o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", box->profile,
			     "--status-fd", "9", "--", "sh", "-c", "exit 4"),
		.fds = { { full, 9 } } });
	expect_exit(o, 4);
	expect_err(o, "sbx-launch: write the status record: "
		      "No space left on device\n");
	box_expect_refused(box, program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", box->profile,
			     "--status-fd", "9", "--", BOX_MARK),
		.fds = { { input, 9 } } }),
		125, "status-fd 9 to write to: Bad file descriptor", NULL);
	close(full);
	close(input);
}

/* By name, and with room asked for in vain; the audit's line likewise. */
Test(status, and_audit_of_a_full_device)
{
	static const char *const keys[][2] = {
		{ "status-file", "status" }, { "audit-file", "audit" },
	};
	struct box *box = box_make();

	for (size_t i = 0; i < 2; i++) {
		box_profile(box, "[report]\n%s = /dev/full\n", keys[i][0]);
		for (int status = 0; status < 6; status += 5) {
			const struct outcome *o = BOX_SH(box, arena_format(
				"echo ran; exit %d", status));

			expect_exit(o, status);
			expect_out(o, "ran\n");
			expect_err(o, arena_format(
				"sbx-launch: write the %s record: "
				"No space left on device\n", keys[i][1]));
		}
	}
	/* The one that can be written is. */
	box_profile(box, "[report]\nstatus-file = /dev/full\n"
		    "audit-file = %s\n", audit_of(box));
	expect_exit(BOX_SH(box, "exit 3"), 3);
	expect_json(audit_of(box), "r['exitCode']", "3\n");
	/* A launch that fails says why it did. */
	expect_err_has(BOX_RUN(box, "no-such-command"), "no-such-command");
	box_expect_clean(box);
}

/* ---- audit --------------------------------------------------------------------------------- */

Test(audit, of_a_run)
{
	struct box *box = box_make();

	with_records(box, "run-id = r-1\nhandle-id = h-1\n");
	expect_exit(BOX_SH(box, "exit 3"), 3);
	expect_json(audit_of(box), "list(r)",
		    "['runId', 'handleId', 'command', 'ok', 'exitCode', "
		    "'durationMs', 'outputBytes', 'error', 'createdAt', "
		    "'profile']\n");
	expect_json(audit_of(box), "r['runId'], r['handleId'], r['command'], "
		    "r['ok'], r['exitCode'], r['error'], r['profile'] == "
		    "sys.argv[1].replace('audit', 'conf/p.ini')",
		    "('r-1', 'h-1', ['sh', '-c', 'exit 3'], False, 3, None, "
		    "True)\n");
	expect_json(audit_of(box), "bool(__import__('re').fullmatch("
		    "r'\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z', "
		    "r['createdAt']))", "True\n");
	cr_expect_eq(file_mode(audit_of(box)) & 07777, 0600);
	box_expect_clean(box);
}

Test(audit, is_appended_to)
{
	struct box *box = box_make();

	file_write(audit_of(box), "{}\n");
	with_records(box, "");
	expect_exit(BOX_SH(box, "true"), 0);
	expect_exit(BOX_RUN(box, "no-such-command"), 127);
	with_records(box, "[limits]\ntimeout = 2s\n");
	expect_exit(BOX_SH(box, "exec sleep 97"), 124);
	expect_json(audit_of(box), "r.get('ok'), r.get('exitCode'), "
		    "(r.get('error') or '-')[:9]",
		    "(None, None, '-')\n(True, 0, '-')\n"
		    "(False, 127, \"exec 'no-\")\n"
		    "(False, 124, 'timed out')\n");
	expect_json(audit_of(box), "len(r.get('runId', 'x' * 36))",
		    "36\n36\n36\n36\n");
}

Test(audit, of_what_was_refused)
{
	struct box *box = box_make();
	const char *audit = audit_of(box);

	box_profile(box, "[workspace]\n");
	expect_exit(program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", "/no/such/profile",
			     "--audit-file", audit, "--run-id", "a", "--",
			     "one", "two words") }), 125);
	box_profile(box, "[nonsense]\nkey = 1\n");
	expect_exit(program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--audit-file", audit,
			     "--profile", box->profile, "--run-id", "b", "--",
			     "x") }), 125);
	box_profile(box, "[layers]\nskills = /no/such/skills\n");
	expect_exit(program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--audit-file", audit,
			     "--profile", box->profile, "--run-id", "c", "--",
			     "y") }), 125);
	expect_exit(program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--set", "x", "--audit-file",
			     audit, "--run-id", "e", "z") }), 125);
	expect_exit(program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--bogus", "--audit-file", audit,
			     "--run-id", "f", "z") }), 125);
	box_profile(box, "[report]\naudit-file = %s\nstatus-file = %s\n",
		    audit, status_of(box));
	expect_exit(program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", box->profile,
			     "--run-id", "d") }), 125);
	expect_json(status_of(box), "r['event'], r['reason']",
		    "('error', 'usage')\n");
	expect_json(audit, "r['runId'], r['ok'], r['exitCode'], r['command'], "
		    "bool(r['error'])",
		    "('a', False, 125, ['one', 'two words'], True)\n"
		    "('b', False, 125, ['x'], True)\n"
		    "('c', False, 125, ['y'], True)\n"
		    "('e', False, 125, ['z'], True)\n"
		    "('d', False, 125, [], True)\n");
}

/* A profile that is not trusted does not say where to write. */
Test(audit, is_not_where_a_strangers_profile_says)
{
	struct box *box = box_make();

	with_records(box, "");
	cr_assert(chmod(box->profile, 0666) == 0);
	expect_exit(BOX_RUN(box, BOX_MARK), 125);
	cr_expect(!file_exists(audit_of(box)));
	cr_expect(!file_exists(status_of(box)));
}

Test(audit, that_cannot_be_opened_refuses_the_launch)
{
	struct box *box = box_make();

	box_profile(box, "[report]\naudit-file = /no/such/file\n");
	BOX_EXPECT_REFUSED(box, "audit-file '/no/such/file': "
			   "No such file or directory");
}

Test(audit, of_any_bytes)
{
	struct box *box = box_make();
	static const char odd[] = "echo '\xff\xfe \xc3\xa4 \xed\xa0\x80 "
				  "\x01\x7f \" \\ \t\r' >/dev/null\nexit 0";

	with_records(box, "");
	expect_exit(BOX_RUN(box, "sh", "-c", odd, "\xf0\x9f\x98\x80", ""), 0);
	/* The exact bytes can be had back. */
	expect_json(audit_of(box), "[w.encode('utf-8', 'surrogateescape') "
		    "for w in r['command']][2:] == [b\"echo '\\xff\\xfe "
		    "\\xc3\\xa4 \\xed\\xa0\\x80 \\x01\\x7f \\\" \\\\ \\t\\r' "
		    ">/dev/null\\nexit 0\", b'\\xf0\\x9f\\x98\\x80', b'']",
		    "True\n");
}

Test(audit, fifty_at_once)
{
	enum { COUNT = 50 };
	struct box *box = box_make();
	struct process *processes[COUNT];
	const char *long_word;
	char *word = arena_take(20001);

	memset(word, 'w', 20000);
	long_word = word;
	box_profile(box, "[report]\naudit-file = %s\n", audit_of(box));
	for (int i = 0; i < COUNT; i++)
		processes[i] = process_start(&(struct program){
			.argv = ARGV(sbx_launch(), "--profile", box->profile,
				     "--run-id", arena_format("%d", i), "--",
				     "sh", "-c", "exit 0", long_word),
			.time_limit = 120000 });
	for (int i = 0; i < COUNT; i++)
		expect_exit(process_finish(processes[i]), 0);
	expect_json(audit_of(box), "''", arena_format("%*s", COUNT, "") ?
		    "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
		    "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n" : "");
	cr_expect_str_eq(program_run(&(struct program){
		.argv = ARGV("sh", "-c", "grep -o '\"runId\":\"[0-9]*\"' \"$1\" "
			     "| sort -u | wc -l", "sh", audit_of(box)) })->out,
			 "50\n");
	box_expect_clean(box);
}

Test(audit, cannot_be_seen_by_descriptor)
{
	struct box *box = box_make();

	with_records(box, "");
	expect_exit(BOX_SH(box, "exec ls /proc/self/fd | wc -l >fds"), 0);
	/* 0, 1, 2 and the directory that ls reads. */
	expect_file(path_in(box->work, "fds"), "4\n");
}

/* ---- full disks ------------------------------------------------------------------------------ */

/* A file system of 64 KiB. */
static const char *small_disk(struct box *box)
{
	const char *disk = path_in(box->top, "disk");

	directory_make(disk, 0700);
	cr_assert(mount("disk", disk, "tmpfs", 0, "size=65536") == 0);
	return disk;
}

Test(full, disk_of_the_workspace)
{
	struct box *box;
	const struct outcome *o;

	box_need_mounts();
	box = box_make();
	cr_assert(mount("work", box->work, "tmpfs", 0,
			"size=65536,mode=0777") == 0);
	with_records(box, "");
	o = BOX_SH(box, "head -c 200000 /dev/zero >big || exit 7");
	expect_exit(o, 7);
	expect_json(audit_of(box), "r['exitCode']", "7\n");
	expect_json(status_of(box), "r['event']", "start\nexit\n");
	umount2(box->work, MNT_DETACH);
}

/* The command's own failure; what could be written is there and is listed. */
Test(full, disk_of_the_upper_layer)
{
	struct box *box;
	const struct outcome *o;
	const char *disk;

	box_need_mounts();
	box = box_make();
	disk = small_disk(box);
	directory_make(path_in(disk, "upper"), 0777);
	with_records(box, arena_format("changes-file = %s/list\n"
		"[workspace]\nmode = overlay\nupper = %s/upper\n",
		box->conf, disk));
	o = BOX_SH(box, "echo x >small; head -c 200000 /dev/zero >big || "
		   "exit 7");
	expect_exit(o, 7);
	expect_json(audit_of(box), "r['exitCode']", "7\n");
	expect_json(status_of(box), "r['event']", "start\nexit\n");
	expect_json(path_in(box->conf, "list"), "r['path'], r['change']",
		    "('big', 'added')\n('small', 'added')\n");
	umount2(disk, MNT_DETACH);
}

/* What has no room for its record does not run. */
Test(full, disk_of_the_audit_file)
{
	struct box *box;
	const char *disk, *audit;
	char *word = arena_take(6001);
	const struct outcome *o = NULL;

	box_need_mounts();
	box = box_make();
	disk = small_disk(box);
	audit = path_in(disk, "audit");
	memset(word, 'w', 5700);
	box_profile(box, "[report]\naudit-file = %s\n", audit);
	for (int i = 0; i < 12; i++) {
		o = BOX_RUN(box, "sh", "-c", "echo >>count; exit 5", word);
		if (o->exit == 125)
			break;
		expect_exit(o, 5);
	}
	expect_exit(o, 125);
	expect_err(o, arena_format("sbx-launch: audit-file '%s': room for a "
				   "record: No space left on device\n",
				   audit));
	/* A line a run: none has half a line, none that ran has no line. */
	expect_file(path_in(box->work, "count"), "\n\n\n\n\n\n\n\n\n\n");
	cr_expect_str_eq(json_each(audit, "r['exitCode']"),
			 "5\n5\n5\n5\n5\n5\n5\n5\n5\n5\n");
	umount2(disk, MNT_DETACH);
}
