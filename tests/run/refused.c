/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Profiles, commands and machines that are no good: a clear error, and
 * nothing has run.
 */
#include <errno.h>
#include <fcntl.h>
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

/* ---- what is written in it ------------------------------------------------------------------- */

struct line {
	const char *text;     /* behind a valid [workspace] of two lines */
	const char *where;
	const char *what;
	const char *remedy;   /* or NULL */
};

static const struct line lines[] = {
	/* names */
	{ "[masks]\ntmpfs = /home\n", "p.ini:", "masks", "mask" },
	{ "[mask]\ntmpf = /home\n", "p.ini:4", "tmpf", "tmpfs" },
	{ "modes = ro\n", "p.ini:3", "modes", "mode" },
	{ "tmpfs = /home\n", "p.ini:3", "tmpfs", "[mask]" },
	{ "[limits]\nnproc = 3\n", "p.ini:4", "nproc", NULL },
	{ "[mounts]\nro-bnd = /a /b\n", "p.ini:4", "ro-bnd", "ro-bind" },
	{ "[setenv]\nA=B = c\n[mask]\nx = y\n", "p.ini:6", "x", NULL },
	/* values */
	{ "mode = rx\n", "p.ini:3", "rx", NULL },
	{ "mode =\n", "p.ini:3", "mode", NULL },
	{ "mode = ro rw\n", "p.ini:3", "mode", NULL },
	{ "[limits]\nprocesses = many\n", "p.ini:4", "many", NULL },
	{ "[limits]\nprocesses = 0\n", "p.ini:4", "0", NULL },
	{ "[limits]\nprocesses = -1\n", "p.ini:4", "-1", NULL },
	{ "[limits]\nprocesses = 99999999999999999999\n", "p.ini:4",
	  "99999999999999999999", NULL },
	{ "[limits]\nfile-size = 1x\n", "p.ini:4", "1x", NULL },
	{ "[limits]\nfile-size = 99999999t\n", "p.ini:4", "99999999t", NULL },
	{ "[limits]\ntimeout = 10\n", "p.ini:4", "10", "ms" },
	{ "[limits]\ntimeout = 1d\n", "p.ini:4", "1d", NULL },
	{ "[limits]\nopen-files = 9 maybe\n", "p.ini:4", "maybe", NULL },
	{ "[environment]\nclear = true\n", "p.ini:4", "true", NULL },
	{ "[environment]\nkeep = A*B\n", "p.ini:4", "A*B", NULL },
	{ "[namespaces]\nshare = nett\n", "p.ini:4", "nett", "net" },
	{ "[namespaces]\nshare = user\n", "p.ini:4", "user", NULL },
	{ "[namespaces]\nuid = 4294967295\n", "p.ini:4", "4294967295", NULL },
	{ "[namespaces]\nuid = me\n", "p.ini:4", "me", NULL },
	{ "[namespaces]\nhostname = x\nshare = uts\n", "p.ini:4", "uts",
	  NULL },
	{ "[security]\nseccomp = /nowhere/filter\n", "p.ini:4",
	  "/nowhere/filter", NULL },
	{ "[security]\nseccomp = /etc/passwd\n", "p.ini:4", "BPF", NULL },
	{ "[security]\ntty = own\n", "p.ini:4", "own", NULL },
	{ "[security]\nrun-as = 0\n", "p.ini:4", "run-as", NULL },
	{ "[security]\nrun-as = nobody\n", "p.ini:4", "nobody", NULL },
	{ "[mask]\ntmpfs = home\n", "p.ini:4", "home", "absolute" },
	{ "[mask]\ntmpfs = /\n", "p.ini:4", "/", NULL },
	{ "[mask]\ntmpfs = /home size=\n", "p.ini:4", "size", NULL },
	{ "[mask]\ntmpfs = /home mode=9\n", "p.ini:4", "9", NULL },
	{ "[mask]\ntmpfs = /home rx\n", "p.ini:4", "rx", NULL },
	{ "[root]\nsystem = yes\n", "p.ini:4", "none", NULL },
	{ "[root]\nsource = /nowhere\n", "p.ini:4", "/nowhere", NULL },
	{ "[root]\nsource = /etc/passwd\n", "p.ini:4", "/etc/passwd", NULL },
	{ "[layers]\nlayer = /usr x y z\n", "p.ini:4", "layer", NULL },
	{ "[layers]\nlayer = /usr relative\n", "p.ini:4", "relative", NULL },
	{ "[mounts]\nbind = /usr\n", "p.ini:4", "bind", NULL },
	{ "[mounts]\nperms = 0700\n", "p.ini:4", "perms", NULL },
	{ "[mounts]\nbind = /usr /tmp/x maybe\n", "p.ini:4", "maybe", NULL },
	{ "[mounts]\ntmp-overlay = /tmp\n", "p.ini:4", "overlay-src", NULL },
	{ "[report]\nchanges-file = /tmp/x\n", "p.ini:4", "changes-file",
	  NULL },
	/* twice */
	{ "mode = ro\nmode = ro\n", "p.ini:4", "line 3", NULL },
	{ "[limits]\nprocesses = 3\n[limits]\nprocesses = 4\n", "p.ini:6",
	  "line 4", NULL },
	/* quotes, variables, lines */
	{ "protect = \"a\n", "p.ini:3", "quote", NULL },
	{ "protect = \"a\"b\n", "p.ini:3", "quote", NULL },
	{ "protect = \"a\\b\"\n", "p.ini:3", "\\", NULL },
	{ "protect = ${nothing}\n", "p.ini:3", "nothing", NULL },
	{ "protect = ${env:SBX_TEST_UNSET}\n", "p.ini:3", "SBX_TEST_UNSET",
	  NULL },
	{ "protect = ${cwd\n", "p.ini:3", "${", NULL },
	{ "protect\n", "p.ini:3", "=", NULL },
	{ "= x\n", "p.ini:3", "", NULL },
	{ "[mask\ntmpfs = /home\n", "p.ini:3", "]", NULL },
	{ "[mask] tmpfs = /home\n", "p.ini:3", "", NULL },
	{ "[]\n", "p.ini:3", "", NULL },
	{ "protect = a\xff\xfe\n", "p.ini:3", "UTF-8", NULL },
	{ "protect = a\xed\xa0\x80\n", "p.ini:3", "UTF-8", NULL },
	{ "  continued = x\n", "p.ini:3", "continued", NULL },
	{ "[profile]\ninclude = nowhere.ini\n", "p.ini:4", "nowhere.ini",
	  NULL },
	{ "[profile]\ninclude = p.ini\n", "p.ini:4", "p.ini", NULL },
};

Test(profile, each_bad_line_is_an_error_with_its_number)
{
	struct box *box = box_make();

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const struct line *line = &lines[i];
		const struct outcome *o;

		box_profile_alone(box, "[workspace]\npath = %s\n%s", box->work,
				  line->text);
		o = BOX_RUN(box, BOX_MARK);
		if (o->exit != 125)
			cr_expect_fail("not refused: %s", line->text);
		box_expect_refused(box, o, 125, line->where, line->what,
				   line->remedy ? line->remedy : "", NULL);
	}
}

Test(profile, before_the_first_section)
{
	struct box *box = box_make();

	box_profile_alone(box, "path = /tmp\n[workspace]\n");
	BOX_EXPECT_REFUSED(box, "p.ini:1", "section");
}

static void expect_bytes_refused(struct box *box, const void *data,
				 size_t length, const char *where,
				 const char *what)
{
	file_write_bytes(box->profile, data, length, 0644);
	BOX_EXPECT_REFUSED(box, where, what);
}

Test(profile, zero_bytes)
{
	static const char inside[] = "[mask]\ntmpfs = /home\0/x\n";
	static const char at_start[] = "\0[mask]\n";
	static const char behind[] = "[mask]\ntmpfs = /home\n\0";
	struct box *box = box_make();

	expect_bytes_refused(box, inside, sizeof(inside) - 1, "p.ini:2",
			     "NUL");
	expect_bytes_refused(box, at_start, sizeof(at_start) - 1, "p.ini:1",
			     "NUL");
	expect_bytes_refused(box, behind, sizeof(behind) - 1, "p.ini:3",
			     "NUL");
}

Test(profile, a_line_of_a_megabyte)
{
	enum { LENGTH = 1 << 20, MOST = 100000 };
	struct box *box = box_make();
	char *line = arena_take(LENGTH + 64);
	const struct outcome *o;

	sprintf(line, "[setenv]\nA = ");
	memset(line + strlen(line), 'x', LENGTH);
	strcat(line, "\n");
	file_write(box->profile, line);
	BOX_EXPECT_REFUSED(box, "p.ini:2", "longer than");
	sprintf(line, "; ");
	memset(line + strlen(line), 'x', LENGTH);
	strcat(line, "\n[exec]\nchdir = /usr\n");
	file_write(box->profile, line);
	BOX_EXPECT_REFUSED(box, "p.ini:1", "longer than");
	sprintf(line, "[workspace]\npath = /");
	memset(line + strlen(line), 'x', LENGTH);
	strcat(line, "\n");
	file_write(box->profile, line);
	BOX_EXPECT_REFUSED(box, "p.ini:2");
	/* What an exec can pass on is read to its last byte. */
	line = memset(arena_take(MOST + 1), 'x', MOST);
	file_write(box->profile, arena_format("[setenv]\nA = %sy\n", line));
	o = BOX_SH(box, "printf %s \"$A\" | wc -c; printf %s \"$A\" | tail -c2");
	expect_exit(o, 0);
	expect_out(o, arena_format("%d\nxy", MOST + 1));
}

Test(profile, a_million_lines)
{
	enum { LINES = 1000000, MOST = 99990 };
	struct box *box = box_make();
	char *text = arena_take(LINES * 2 + 64);

	for (int i = 0; i < LINES; i++)
		memcpy(text + 2 * i, ";\n", 2);
	file_write(box->profile, text);
	BOX_EXPECT_REFUSED(box, "p.ini:100001", "more than 100000 lines");
	/* As many as there may be are read to the last. */
	strcpy(text + MOST * 2, "chdri = /usr\n");
	memcpy(text, "[exec]\n", 7);
	file_write(box->profile, text);
	BOX_EXPECT_REFUSED(box, "p.ini:99989", "chdri", "chdir");
}

Test(profile, huge)
{
	struct box *box = box_make();

	cr_assert_eq(truncate(box->profile, (off_t)1 << 33), 0);
	BOX_EXPECT_REFUSED(box, "p.ini");
}

Test(profile, values_are_exact)
{
	struct box *box = box_make();
	char *name = arena_take(300);
	const char *path;

	/* The lengths at which a line used to be cut, and what a comment is. */
	memset(name, 'n', 230);
	path = arena_format("/home/%s ; # end", name);
	box_profile_alone(box, "# comment = x\n  ; and another\n\n[mask]\n"
			  "tmpfs = /home\n[layers]\nlayer = /usr/bin \"%s\"\n"
			  "[setenv]\nA = value ; not a comment\n"
			  "\tB = # neither\n", path);
	expect_out(BOX_SH(box, arena_format(
			  "test -x '%s/env' && echo \"$A\" \"$B\"", path)),
		   "value ; not a comment # neither\n");
	/* Without a last newline, with carriage returns, with a mark. */
	box_profile_alone(box, "[exec]\nchdir = /usr");
	expect_out(BOX_RUN(box, "pwd"), "/usr\n");
}

Test(profile, includes)
{
	struct box *box = box_make();
	const char *deep = path_in(box->conf, "deep");

	directory_make(deep, 0755);
	file_write(path_in(deep, "one.ini"),
		   "[profile]\ninclude = ../two.ini\n[exec]\nchdir = /usr\n"
		   "[setenv]\nA = of one\n");
	file_write(path_in(box->conf, "two.ini"),
		   "[setenv]\nA = of two\nB = of two\n[mask]\n"
		   "tmpfs = /home\n");
	box_profile_alone(box, "[mask]\ntmpfs = /root\n"
			  "[profile]\ninclude = deep/one.ini\n");
	expect_out(BOX_SH(box, "echo $A, $B; pwd; ls -A /home /root"),
		   "of one, of two\n/usr\n/home:\n\n/root:\n");
	/* An error names the file that has it. */
	file_write(path_in(box->conf, "two.ini"), "[mask]\n\ntmpf = /home\n");
	BOX_EXPECT_REFUSED(box, "two.ini:3", "tmpfs");
	file_write(path_in(box->conf, "two.ini"),
		   "[profile]\ninclude = p.ini\n");
	BOX_EXPECT_REFUSED(box, "two.ini:2", "includes itself");
}

/* ---- the file ----------------------------------------------------------------------------------- */

static void expect_profile_refused(struct box *box, const char *path,
				   const char *what)
{
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", path, "--", BOX_MARK),
		.cwd = box->work });

	box_expect_refused(box, o, 125, path, what, NULL);
}

Test(trust, what_is_no_profile)
{
	struct box *box = box_make();
	const char *fifo = path_in(box->conf, "fifo");
	const char *dangling = path_in(box->conf, "dangling");
	const char *loop = path_in(box->conf, "loop");

	cr_assert_eq(mkfifo(fifo, 0644), 0);
	link_make("nowhere", dangling);
	link_make("loop", loop);
	expect_profile_refused(box, path_in(box->conf, "missing"),
			       "No such file or directory");
	expect_profile_refused(box, box->conf, "directory");
	expect_profile_refused(box, fifo, "FIFO");
	expect_profile_refused(box, "/dev/null",
			       identity_self() == IDENTITY_UNSHARE ?
			       "'/dev' belongs to" : "device");
	expect_profile_refused(box, dangling, "No such file or directory");
	expect_profile_refused(box, loop, "Too many levels");
	expect_profile_refused(box, path_in(box->profile, "x"),
			       "Not a directory");
	expect_profile_refused(box, "no-such-name",
			       "No such file or directory");
	expect_profile_refused(box, "", "empty");
}

Test(trust, who_may_write_it)
{
	struct box *box = box_make();
	static const mode_t modes[] = { 0666, 0664, 0646, 0777 };

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		chmod(box->profile, modes[i]);
		expect_profile_refused(box, box->profile, "written");
	}
	chmod(box->profile, 0600);
	chmod(box->conf, 0777);
	expect_profile_refused(box, box->profile, "written");
	chmod(box->conf, 0775);
	expect_profile_refused(box, box->profile, "written");
	chmod(box->conf, 0700);
	expect_exit(BOX_RUN(box, "true"), 0);
}

Test(trust, unreadable)
{
	struct box *box = box_make();

	if (identity_self() == IDENTITY_ROOT)
		skip_test("root-reads-all", "no file is unreadable");
	chmod(box->profile, 0);
	if (identity_self() == IDENTITY_UNSHARE)
		skip_test("root-reads-all", "no file is unreadable");
	expect_profile_refused(box, box->profile, "Permission denied");
}

Test(trust, of_somebody_else)
{
	struct box *box;

	box_need_root();
	box = box_make();
	cr_assert_eq(chown(box->profile, identity_user(), 0), 0);
	expect_profile_refused(box, box->profile, "belongs to");
	cr_assert_eq(chown(box->profile, 0, 0), 0);
	cr_assert_eq(chown(box->conf, identity_user(), 0), 0);
	expect_profile_refused(box, box->profile, "belongs to");
	cr_assert_eq(chown(box->conf, 0, 0), 0);
	expect_exit(BOX_RUN(box, "true"), 0);
}

Test(trust, below_what_the_sandbox_can_write)
{
	struct box *box = box_make();
	const char *deep = path_in(box->work, "deep");
	const char *profile = path_in(deep, "q.ini");
	const char *text = arena_format("[workspace]\npath = %s\n", box->work);

	directory_make(deep, 0755);
	file_write(profile, text);
	expect_profile_refused(box, profile, "below");
	/* By whatever name it is reached. */
	link_make(profile, path_in(box->conf, "link.ini"));
	expect_profile_refused(box, path_in(box->conf, "link.ini"), "below");
	box_profile_alone(box, "[profile]\ninclude = ../work/deep/q.ini\n");
	BOX_EXPECT_REFUSED(box, "q.ini", "below");
	file_write(profile, arena_format("[mounts]\nbind = %s /tmp\n",
					 box->work));
	expect_profile_refused(box, profile, "below");
	/* Nothing is wrong with one that cannot be written. */
	file_write(profile, arena_format("%smode = ro\n", text));
	expect_exit(program_run(&(struct program){
			.argv = ARGV(sbx_launch(), "--profile", profile, "--",
				     "true") }), 0);
}

/* ---- the command line ---------------------------------------------------------------------------- */

Test(arguments, that_are_wrong)
{
	struct box *box = box_make();
	const char *p = box->profile;
	const struct {
		const char *const *argv;
		const char *what, *more;
	} bad[] = {
		{ ARGV("--profil", p, "--", BOX_MARK), "--profil",
		  "--profile" },
		{ ARGV("--profile"), "--profile", "" },
		{ ARGV("--profile", p, "--profile", p, "--", BOX_MARK),
		  "--profile", "" },
		{ ARGV("--profile", p, "--set", "x", "--", BOX_MARK), "x",
		  "" },
		{ ARGV("--profile", p, "--set", "mask.tmpf=/x", "--",
		       BOX_MARK), "tmpf", "tmpfs" },
		{ ARGV("--profile", p, "--set", "limits.processes=x", "--",
		       BOX_MARK), "limits.processes", "'x'" },
		{ ARGV("--profile", p, "--timeout", "soon", "--", BOX_MARK),
		  "timeout", "soon" },
		{ ARGV("--profile", p, "--env", "=x", "--", BOX_MARK), "env",
		  "" },
		{ ARGV("--profile", p, "--status-fd", "x", "--", BOX_MARK),
		  "status-fd", "x" },
		{ ARGV("--profile", p, "--status-fd", "77", "--", BOX_MARK),
		  "77", "Bad file descriptor" },
		{ ARGV("--profile", p, "--ro-bind", "/nowhere", "/tmp/x",
		       "--", BOX_MARK), "/nowhere",
		  "No such file or directory" },
		{ ARGV("--profile", p, "--ro-bnd", "/a", "/b", "--",
		       BOX_MARK), "--ro-bnd", "--ro-bind" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *argv[24] = { sbx_launch() };

		for (int n = 0; bad[i].argv[n]; n++)
			argv[n + 1] = bad[i].argv[n];
		box_expect_refused(box, program_run(&(struct program){
				.argv = argv }), 125, bad[i].what,
				   bad[i].more, NULL);
	}
}

Test(arguments, no_command)
{
	struct box *box = box_make();
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", box->profile) });

	expect_exit(o, 125);
	expect_out(o, "");
	expect_err_has(o, "COMMAND");
	box_expect_clean(box);
}

Test(script, missing_hidden_or_no_script)
{
	struct box *box = box_make();
	const char *outside = path_in(box->top, "outside.sh");

	file_write(outside, "echo ran\n");
	box_profile(box, "[exec]\ninterpreter = /bin/sh\n");
	box_expect_refused(box, BOX_RUN(box, "missing.sh"), 127,
			   "missing.sh", "script", NULL);
	box_expect_refused(box, BOX_RUN(box, path_in(box->top, "none.sh")),
			   127, "none.sh", "script", NULL);
	box_expect_refused(box, BOX_RUN(box, "/home/user/s.sh"), 127,
			   "/home/user/s.sh", "hidden by mask '/home'",
			   "p.ini:2", NULL);
	/* What is outside of the workspace can still be read-only inside. */
	box_profile(box, "[exec]\ninterpreter = /bin/sh\n[mask]\n"
		    "tmpfs = %s\n", box->top);
	box_expect_refused(box, BOX_RUN(box, outside), 127, outside,
			   arena_format("hidden by mask '%s'", box->top),
			   "p.ini:11", NULL);
	file_write(path_in(box->work, "s.sh"), "echo \"$0\" \"$@\"\n");
	expect_out(BOX_RUN(box, "s.sh", "--", "-a", "b c"),
		   "s.sh -- -a b c\n");
}

Test(script, an_interpreter_that_is_not_there)
{
	struct box *box = box_make();
	const char *script = path_in(box->work, "s");
	const struct {
		const char *interpreter;
		int status;
		const char *text;
	} bad[] = {
		{ "no-such-interpreter", 127, "PATH" },
		{ "/no/such/interpreter", 127, "No such file or directory" },
		{ "/etc/passwd", 126, "Permission denied" },
		{ "/home/python3", 127, "hidden by mask '/home'" },
	};

	file_write(script, "");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		box_profile_alone(box, "[exec]\ninterpreter = %s\n[mask]\n"
				  "tmpfs = /home\n[workspace]\npath = %s\n",
				  bad[i].interpreter, box->work);
		box_expect_refused(box, BOX_RUN(box, "s"), bad[i].status,
				   "p.ini:2", bad[i].interpreter, bad[i].text,
				   NULL);
	}
}

/* ---- the machine --------------------------------------------------------------------------------- */

Test(machine, namespaces_that_are_refused)
{
	static const struct refusal refusals[][3] = {
		{ { "clone", EPERM, 0, CLONE_NEWUSER, CLONE_NEWUSER },
		  { "clone3", ENOSYS } },
		{ { "clone", ENOSPC, 0, CLONE_NEWUSER, CLONE_NEWUSER },
		  { "clone3", ENOSPC } },
		{ { "clone", EPERM }, { "clone3", EPERM } },
		{ { "unshare", EPERM }, { "clone3", EPERM } },
		{ { "mount", EPERM }, { "move_mount", EPERM } },
		{ { "pivot_root", EPERM } },
		{ { "sethostname", EPERM } },
		{ { "mount_setattr", EPERM }, { "mount", EPERM } },
		{ { "prctl", EINVAL, 0, 0xff, 22 }, { "seccomp", EINVAL } },
		{ { "capset", EPERM } },
		{ { "prctl", EPERM, 0, 0xff, 38 } },
	};
	struct box *box = box_make();

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct outcome *o = program_run(&(struct program){
			.argv = BOX_ARGV(box, BOX_MARK),
			.refuse = refusals[i] });

		if (o->exit == 0 && i == 3)
			continue; /* it need not use it */
		box_expect_refused(box, o, 125, NULL);
	}
}

Test(machine, limits_on_namespaces)
{
	static const char *const kinds[] = { "user", "pid", "mnt", "net" };
	struct box *box = box_make();

	/* In a namespace that knows one id root's payload can be nobody else. */
	box_profile(box, "[security]\nrun-as = caller\n");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct outcome *o = program_run(&(struct program){
			.argv = ARGV("sh", "-c", arena_format(
				"echo 0 >/proc/sys/user/max_%s_namespaces && "
				"exec \"$@\"", kinds[i]), "sh", sbx_launch(),
				"--profile", box->profile, "--", BOX_MARK),
			.unshare = CLONE_NEWUSER });

		box_expect_refused(box, o, 125, arena_format(
			"max_%s_namespaces", kinds[i]), NULL);
		cr_expect(!strstr(o->err, "No space left"), "%s", o->err);
	}
}

/* Root's payload is somebody else, who may not enter what is root's alone. */
Test(machine, a_root_that_only_root_may_enter)
{
	struct box *box;
	const char *root;

	box_need_root();
	box = box_make();
	root = path_in(box->top, "root");
	directory_make(root, 0700);
	box_profile_alone(box, "[root]\nsource = %s\n", root);
	BOX_EXPECT_REFUSED(box, arena_format("enter '%s' as the root of the "
			   "sandbox: Permission denied\n", root), "chmod o+x");
}

Test(machine, directories_of_the_system_are_no_workspaces)
{
	struct box *box = box_make();

	box_profile_alone(box, "[workspace]\npath = /etc\n");
	BOX_EXPECT_REFUSED(box, "p.ini:2",
			   "'/etc' is a directory of the system");
	box_profile_alone(box, "[workspace]\npath = /etc\nmode = ro\n");
	expect_exit(BOX_RUN(box, "sh", "-c", "exit 5"), 5);
	box_profile_alone(box, "[mask]\ntmpfs = /proc\n");
	BOX_EXPECT_REFUSED(box, "p.ini:2", "'/proc' is the sandbox's own");
}
