/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the program says when it is asked: --check, --explain, --verbose.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"
#include "harness/tree.h"
#include "machine.h"

#define REFUSE(...) ((const struct refusal[]){ __VA_ARGS__, { 0 } })

/* Python's view of @text as the object d: what @expression comes to. */
static const char *of_json(const char *text, const char *expression)
{
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV(PYTHON, "-c", arena_format("import json, sys\n"
			"d = json.load(sys.stdin)\nprint((%s))", expression)),
		.input = text });

	return o->exit ? outcome_describe(o) : o->out;
}

#define expect_json(text, expression, wanted)                                \
	cr_expect_str_eq(of_json(text, expression), wanted, "%s: %s in %s", \
			 expression, of_json(text, expression), text)

/* ---- --check ------------------------------------------------------------------- */

Test(check, says_what_can_be_promised)
{
	struct box *box = box_make();
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--check=json", "--profile",
			     box->profile) });

	expect_exit(o, 0);
	expect_err(o, "");
	expect_json(o->out, "list(d)", "['schema', 'ok', 'reason', 'stage', "
		    "'errno', 'message', 'remedy', 'missing', 'promises', "
		    "'walls', 'engine', 'seccomp', 'landlock']\n");
	expect_json(o->out, "d['schema'], d['ok'], d['reason'], "
		    "d['message'], d['remedy']", "(1, True, None, None, None)\n");
	expect_json(o->out, "list(d['promises'])", "['fileSystemIsolation', "
		    "'networkControl', 'processLimit', 'memoryLimit', "
		    "'cpuLimit', 'timeout', 'outputLimit', 'audit']\n");
	expect_json(o->out, "[d['promises'][n]['holds'] for n in "
		    "('fileSystemIsolation', 'networkControl', 'processLimit', "
		    "'timeout', 'outputLimit', 'audit')]",
		    "[True, True, True, True, True, True]\n");
	expect_json(o->out, "[n for n, p in d['promises'].items() if "
		    "not p['holds']] == d['missing'], [n for n, p in "
		    "d['promises'].items() if p['holds'] == bool(p['whyNot'])]",
		    "(True, [])\n");
	expect_json(o->out, "set(d['walls'].values())", "{'ok'}\n");
	box_expect_clean(box);
}

/* What is refused and not needed is no failure. */
Test(check, with_a_call_that_can_be_done_without)
{
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--check=json"),
		.refuse = REFUSE({ "pidfd_open", EPERM }) });

	expect_exit(o, 0);
	expect_json(o->out, "d['ok'], d['reason'], d['message']",
		    "(True, None, None)\n");
}

/* A promise of --check is kept: what it says of memory holds in a run. */
Test(check, promises_what_a_run_can_do)
{
	struct box *box = box_make();
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--check=json", "--profile",
			     box->profile) });
	bool promised = !strcmp(of_json(o->out, "d['promises']['memoryLimit']"
					"['holds']"), "True\n");

	box_profile(box, "[limits]\nmemory = 64m\n");
	o = BOX_RUN(box, "true");
	cr_expect_eq(o->exit, promised ? 0 : 125, "%s, promised: %d",
		     outcome_describe(o), promised);
}

Test(check, for_people)
{
	struct box *box = box_make();
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--check", "--profile",
			     box->profile) });

	expect_exit(o, 0);
	expect_err(o, "");
	for (const char *const *wall = (const char *const[]){ "namespaces",
	     "ids", "sources", "root", "mounts", "network", "rights",
	     "command", NULL }; *wall; wall++)
		expect_out_has(o, arena_format("\n  %-14sok\n", *wall));
	expect_out_has(o, "\n  time-out      ok, by launcher\n");
	o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--check", "--profile",
			     box->profile),
		.refuse = REFUSE({ "pivot_root", EPERM }) });
	expect_exit(o, 125);
	expect_out_has(o, "\n  sources       ok\n");
	expect_out_has(o, "\n  root          pivot_root: pivot_root(2) is "
		       "refused by");
	expect_out_has(o, "\n                  start the container with a "
		       "filter");
	expect_out_has(o, "\n  mounts        not tried\n");
	expect_out_has(o, "\n  file system   no: nothing runs here\n");
	expect_err_has(o, "sbx-launch: pivot_root: ");
	box_expect_clean(box);
}

static int cover_proc(const void *path)
{
	return machine_enter_userns(CLONE_NEWNS) || machine_cover(path);
}

Test(check, of_a_machine_that_is_no_good)
{
	static const struct {
		const char *reason, *cover;
		struct refusal refuse[3];
	} rows[] = {
		{ "userns-seccomp", NULL, { { "clone3", ENOSYS },
			{ "clone", EPERM, 0, CLONE_NEWUSER, CLONE_NEWUSER } } },
		{ "mount-denied", NULL, { { "pivot_root", EPERM } } },
		{ "proc-masked", "/proc/fs", { { 0 } } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct outcome *o = program_run(&(struct program){
			.argv = ARGV(sbx_launch(), "--check=json"),
			.call = rows[i].cover ? cover_proc : NULL,
			.data = rows[i].cover,
			.refuse = rows[i].cover ? NULL : rows[i].refuse });

		expect_exit(o, 125);
		expect_err(o, "");
		expect_json(o->out, "d['ok'], d['reason'], len(d['missing']), "
			    "bool(d['remedy'])",
			    arena_format("(False, '%s', 8, True)\n",
					 rows[i].reason));
	}
}

Test(check, of_a_profile_that_is_no_good)
{
	struct box *box = box_make();
	const struct outcome *o;

	box_profile(box, "[limits]\nprocesses = many\n");
	o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--check=json", "--profile",
			     box->profile) });
	expect_exit(o, 125);
	expect_json(o->out, "d['ok'], d['reason'], 'p.ini:9' in d['message'], "
		    "set(d['walls'].values())",
		    "(False, 'profile', True, {'not-tried'})\n");
}

/* ---- --explain ------------------------------------------------------------------- */

static const struct outcome *explain(struct box *box, const char *format)
{
	return program_run(&(struct program){
		.argv = ARGV(sbx_launch(), arena_format("--explain=%s",
			     format), "--profile", box->profile, "--", "true"),
	});
}

Test(explain, twice_the_same_and_nothing_made)
{
	struct box *box = box_make();
	const struct outcome *o, *again;
	const struct tree *before;

	/* Nothing of a host on which others come and go. */
	box_profile_alone(box, "[root]\nsource = none\nsystem = yes\n"
			  "[workspace]\npath = %s\n", box->work);
	before = tree_read(box->top, TREE_TOUCHED);
	o = explain(box, "text");
	expect_exit(o, 0);
	expect_err(o, "");
	again = explain(box, "text");
	cr_expect_str_eq(o->out, again->out);
	o = explain(box, "json");
	again = explain(box, "json");
	cr_expect_str_eq(o->out, again->out);
	expect_json(o->out, "d['schema'], list(d['host'])",
		    "(1, ['mounts', 'mountsUnknown', 'endpoints', "
		    "'endpointsCut', 'groups', 'groupsDropped', 'enforcement', "
		    "'seccomp', 'landlock', 'mappedOwners', 'stages'])\n");
	expect_json(o->out, "[s['name'] for s in d['host']['stages']]",
		    "['prepare', 'spawn', 'map-ids', 'gather', 'switch-root', "
		    "'assemble', 'identity', 'confine', 'init', 'exec']\n");
	expect_tree_unchanged(before, box->top, TREE_TOUCHED);
	box_expect_clean(box);
}

/* Only a word that has no blank in it may be longer. */
static void expect_narrow(const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");
		const char *line = arena_format("%.*s", (int)length, text);
		const char *first = line + strspn(line, " ");

		if (length > 80)
			cr_expect_null(strchr(first, ' '), "%s", line);
		text += length + (text[length] == '\n');
	}
}

Test(explain, on_80_columns)
{
	struct box *box = box_make();
	const struct outcome *o;

	box_profile(box, "[limits]\nprocesses = 20\ntimeout = 3s\n");
	o = explain(box, "text");
	expect_narrow(o->out);
	cr_expect_null(strchr(o->out, '\033'));
	expect_out_has(o, "\nwhat holds the limits here\n"
		       "  processes     rlimit\n");
	expect_out_has(o, "\n  timeout       launcher\n");
	o = program_run(&(struct program){ .pty = true,
		.argv = ARGV(sbx_launch(), "--explain", "--profile",
			     box->profile, "--", "true") });
	expect_out_has(o, "\033[1mstages of the run, in order\033[0m");
	o = program_run(&(struct program){ .pty = true,
		.set = (const char *const[]){ "NO_COLOR=1", NULL },
		.argv = ARGV(sbx_launch(), "--explain", "--profile",
			     box->profile, "--", "true") });
	cr_expect_null(strchr(o->out, '\033'));
}

/* In the workspace, but not where a mask lies over it. */
static void expect_reached(struct box *box)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const char *hidden = path_in(box->work, "hidden");
	const struct outcome *o;

	directory_make(hidden, 0755);
	cr_assert_eq(mkfifo(path_in(box->work, "fifo"), 0600), 0);
	cr_assert_eq(mkfifo(path_in(hidden, "fifo"), 0600), 0);
	snprintf(name.sun_path, sizeof(name.sun_path), "%s/socket", box->work);
	cr_assert_eq(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	box_profile(box, "[mask]\ntmpfs = %s\n", hidden);
	o = explain(box, "json");
	expect_json(o->out, "[e for e in d['host']['endpoints'] if "
		    "e['path'].startswith(d['workspace']['dest'])] == "
		    "[{'kind': 'fifo', 'path': d['workspace']['dest'] + "
		    "'/fifo'}, {'kind': 'socket', 'path': "
		    "d['workspace']['dest'] + '/socket'}]", "True\n");
	o = explain(box, "text");
	expect_out_has(o, arena_format("  FIFO          %s/fifo\n", box->work));
	close(fd);
}

Test(explain, what_can_be_reached)
{
	expect_reached(box_make());
}

Test(explain, what_can_be_reached_on_another_file_system)
{
	struct box *box;

	box_need_mounts();
	box = box_make();
	cr_assert_eq(mount("none", box->work, "tmpfs", 0, NULL), 0);
	box->host = host_read();
	expect_reached(box);
	umount2(box->work, MNT_DETACH);
}

Test(explain, mounts_that_come_along)
{
	struct box *box;
	const char *seen, *hidden;
	const struct outcome *o;

	box_need_mounts();
	box = box_make();
	seen = path_in(box->work, "seen");
	hidden = path_in(box->work, "hidden");
	directory_make(seen, 0755);
	directory_make(hidden, 0755);
	cr_assert_eq(mount("none", seen, "tmpfs", 0, NULL), 0);
	cr_assert_eq(mount("none", hidden, "ramfs", 0, NULL), 0);
	box_profile(box, "[mask]\ntmpfs = %s\n", hidden);
	o = explain(box, "json");
	expect_json(o->out, "[(m['type'], m['hidden']) for m in "
		    "d['host']['mounts'] if d['operations'][m['operation']]"
		    "['role'] == 'workspace']",
		    "[('tmpfs', False), ('ramfs', True)]\n");
	o = explain(box, "text");
	expect_out_has(o, arena_format(" %s, tmpfs\n", seen));
	expect_out_has(o, arena_format(" %s, ramfs,", hidden));
	umount2(seen, MNT_DETACH);
	umount2(hidden, MNT_DETACH);
}

static int join_groups(const void *data)
{
	const gid_t groups[] = { 6, 424242 };

	CHECK(setgroups(2, groups) == 0);
	CHECK(setresgid(identity_user(), identity_user(),
			identity_user()) == 0);
	CHECK(setresuid(identity_user(), identity_user(),
			identity_user()) == 0);
	return 0;
}

Test(explain, groups_that_stay)
{
	const struct outcome *o;

	box_need_root();
	o = program_run(&(struct program){ .call = join_groups,
		.argv = ARGV(sbx_launch(), "--explain", "--ro-bind", "/usr",
			     "/usr", "true") });
	expect_exit(o, 0);
	expect_out_has(o, "\n  group         6 disk\n"
		       "                  Careful: it reads and writes every "
		       "disk.\n  group         424242\n");
	o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--explain", "--profile",
			     box_make()->profile, "--", "true") });
	expect_out_has(o, "none: started by root, they are dropped");
}

/* ---- --verbose ---------------------------------------------------------------------- */

static const char log_of_a_run[] =
	"sbx-launch: prepare: sigprocmask, open, pidfd_open: ok\n"
	"sbx-launch: spawn: clone3: ok\n"
	"sbx-launch: map-ids: write uid_map, setgroups, gid_map: ok\n"
	"sbx-launch: gather: open_tree, mount_setattr, fsopen, fsconfig, "
	"fsmount: ok\n"
	"sbx-launch: switch-root: move_mount, pivot_root, umount2: ok\n"
	"sbx-launch: assemble: openat2, mkdirat, fsopen, fsmount, move_mount: "
	"ok\n"
	"sbx-launch: identity: ioctl, sethostname: ok\n"
	"sbx-launch: confine: prlimit, keyctl, capset, prctl, "
	"landlock_restrict_self, seccomp: ok\n"
	"sbx-launch: init: chdir, prctl: ok\n";

Test(verbose, a_line_a_stage)
{
	struct box *box = box_make();
	const char *log = path_in(box->top, "log");
	const struct outcome *o;
	int fd;

	o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--verbose", "--profile",
			     box->profile, "--", "echo", "on") });
	expect_exit(o, 0);
	expect_out(o, "on\n");
	expect_err(o, log_of_a_run);
	fd = open(log, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	o = program_run(&(struct program){ .fds = { { fd, 7 } },
		.argv = ARGV(sbx_launch(), "--log-fd", "7", "--profile",
			     box->profile, "--", "sh", "-c",
			     "ls /proc/self/fd | wc -l") });
	expect_exit(o, 0);
	/* ls(1) has opened the directory; the log is not the payload's. */
	expect_out(o, "4\n");
	expect_err(o, "");
	cr_expect_str_eq(file_read(log, NULL), log_of_a_run);
	close(fd);
	box_expect_clean(box);
}

Test(verbose, the_last_line_is_what_failed)
{
	struct box *box = box_make();
	const char *log = path_in(box->top, "log");
	int fd = open(log, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	const struct outcome *o = program_run(&(struct program){
		.fds = { { fd, 7 } },
		.argv = ARGV(sbx_launch(), "--log-fd", "7", "--profile",
			     box->profile, "--", "true"),
		.refuse = REFUSE({ "pivot_root", EPERM }) });
	const char *last;

	expect_exit(o, 125);
	expect_out(o, "");
	last = strstr(file_read(log, NULL), "sbx-launch: switch-root: ");
	cr_expect(last && !strcmp(last, "sbx-launch: switch-root: pivot_root: "
				  "EPERM: pivot_root: Operation not "
				  "permitted\n"), "%s", file_read(log, NULL));
	close(fd);
}
