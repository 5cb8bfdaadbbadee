/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The payload's environment, and what is to be seen of the launcher's. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"

static const char *const callers[] = {
	"PATH=/usr/bin:/bin", "HOME=/home/nobody", "USER=caller",
	"SECRET=hunter2", "LC_ALL=C", "LC_TIME=C.UTF-8", "TZ=UTC",
	"LD_LIBRARY_PATH=/nonexistent", "PYTHONSTARTUP=/x", "EMPTY=",
	"MULTI=one\ntwo", NULL,
};

/* The variables of `env -0`, sorted, a line each. */
static const char *variables_inside(struct box *box, const char *const *argv)
{
	const struct outcome *o = program_run(&(struct program){
		.argv = argv, .env = callers });
	const struct outcome *sorted;

	assert_exit(o, 0);
	sorted = program_run(&(struct program){
		.argv = ARGV("sort", "-z"), .input = o->out,
		.input_length = o->out_length });
	for (size_t i = 0; i < sorted->out_length; i++)
		if (!sorted->out[i])
			sorted->out[i] = '\n';
	return sorted->out;
}

#define VARIABLES(box) variables_inside(box, BOX_ARGV(box, "env", "-0"))

static const char *user_name(void)
{
	return getuid() ? "caller" : "user";
}

/* What is there without a word in the profile, but for HOME's line. */
static const char *defaults(struct box *box, const char *more)
{
	return arena_format("HOME=%s\nLANG=C.UTF-8\nLOGNAME=%s\n%s"
			    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:"
			    "/usr/bin:/sbin:/bin\nPWD=%s\nTERM=dumb\n"
			    "TMPDIR=/tmp\nUSER=%s\n", box->work, user_name(),
			    more, box->work, user_name());
}

Test(environment, nothing_of_the_callers_by_default)
{
	struct box *box = box_make();

	cr_expect_str_eq(VARIABLES(box), defaults(box, ""));
	box_expect_clean(box);
}

Test(environment, what_is_kept)
{
	struct box *box = box_make();

	box_profile(box, "[environment]\nkeep = MULTI NOT_THERE\n");
	cr_expect_str_eq(VARIABLES(box), defaults(box, "MULTI=one\ntwo\n"));
	box_profile(box, "[environment]\nkeep = LC_*\nkeep = EMPTY\n"
		    "[setenv]\nHOME = /tmp\n");
	cr_expect_str_eq(VARIABLES(box),
		arena_format("EMPTY=\nHOME=/tmp\nLANG=C.UTF-8\nLC_ALL=C\n"
			     "LC_TIME=C.UTF-8\nLOGNAME=%s\n"
			     "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:"
			     "/usr/bin:/sbin:/bin\nPWD=%s\nTERM=dumb\n"
			     "TMPDIR=/tmp\nUSER=%s\n", user_name(), box->work,
			     user_name()));
}

Test(environment, what_is_set_is_taken_as_it_is)
{
	struct box *box = box_make();
	const struct outcome *o;

	box_profile(box, "[setenv]\n"
		    "A = two  blanks, \"quotes\", a \\ and 100%% ; # $HOME\n"
		    "B =\n"
		    "C = x = y\n"
		    "D = ${workspace} $${workspace}\n");
	o = BOX_SH(box, "printf '%s|' \"$A\" \"$B\" \"${B+set}\" \"$C\" "
		   "\"$D\"");
	expect_exit(o, 0);
	expect_out(o, arena_format("two  blanks, \"quotes\", a \\ and 100%% "
				   "; # $HOME||set|x = y|%s ${workspace}|",
				   box->work));
	/* A shell would not pass this name on. */
	box_profile(box, "[setenv]\nÜnï-x = äöü\n");
	expect_out_has(BOX_RUN(box, "env"), "Ünï-x=äöü\n");
}

Test(environment, clear_no_keeps_all_but_what_runs_code)
{
	struct box *box = box_make();
	const char *seen;

	box_profile(box, "[environment]\nclear = no\n");
	seen = VARIABLES(box);
	cr_expect(strstr(seen, "\nSECRET=hunter2\n"));
	cr_expect(strstr(seen, "HOME=/home/nobody\n"));
	cr_expect(!strstr(seen, "LD_LIBRARY_PATH"));
	cr_expect(!strstr(seen, "PYTHONSTARTUP"));
}

Test(environment, from_the_command_line)
{
	struct box *box = box_make();
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", box->profile, "--env",
			     "A=a \"quoted\" ${cwd} value", "--env", "SECRET",
			     "--", "sh", "-c", "echo \"$A\"; echo $SECRET"),
		.env = callers });

	expect_exit(o, 0);
	expect_out(o, "a \"quoted\" ${cwd} value\nhunter2\n");
}

Test(environment, home_and_tmp_can_be_written)
{
	struct box *box = box_make();
	static const char write_there[] =
		"import os, tempfile\n"
		"open(os.path.expanduser('~/x'), 'w').close()\n"
		"tempfile.TemporaryFile().close()\n";

	expect_exit(BOX_PYTHON(box, write_there), 0);
	box_profile_alone(box, "[mask]\ntmpfs = /tmp\n");
	expect_exit(BOX_PYTHON(box, write_there), 0);
	expect_out(BOX_RUN(box, "locale", "charmap"), "UTF-8\n");
}

/* ---- what the launcher itself shows -------------------------------------------------------- */

Test(environment, process_1_keeps_its_callers_secrets)
{
	struct box *box = box_make();
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", box->profile, "--env",
			     "TOKEN=argv-secret", "--", "sh", "-c",
			     "cd /proc; cat 1/environ; tr '\\0' ' ' <1/cmdline;"
			     "echo; grep -al hunter2 [0-9]*/environ;"
			     "readlink 1/fd/* 1/exe 1/root 1/cwd; "
			     "dd if=1/mem count=1; cat 1/maps 1/io; true"),
		.env = callers });

	expect_exit(o, 0);
	cr_expect(!strstr(o->out, "hunter2"), "%s", outcome_describe(o));
	cr_expect(!strstr(o->out, "argv-secret"), "%s", outcome_describe(o));
	cr_expect(!strstr(o->out, box->conf), "%s", outcome_describe(o));
	cr_expect(!strstr(o->out, "/environ\n"), "%s", outcome_describe(o));
	/* One line, its name. */
	cr_expect_eq(strchr(o->out, '\n') + 1, o->out + o->out_length, "%s",
		     outcome_describe(o));
}

Test(environment, nobody_outside_reads_a_secret_from_a_command_line)
{
	struct box *box = box_make();
	struct process *p = process_start(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", box->profile, "--env",
			     "SECRET", "--", "sh", "-c",
			     "echo on; exec sleep 60"),
		.env = callers });
	struct arena_text all = { 0 };

	cr_assert(process_await(p, "on\n"));
	for (const pid_t *pid = host_descendants(); *pid; pid++) {
		size_t length;
		const char *line = host_process_file(*pid, "cmdline",
						     &length);

		arena_add(&all, line, length);
	}
	process_signal(p, SIGKILL);
	process_finish(p);
	cr_expect_gt(all.length, 0);
	cr_expect(!memmem(all.data, all.length, "hunter2", 7));
}

/* ---- the caller's limit on open files ------------------------------------------------------ */

static int few_files(const void *data)
{
	const struct rlimit *limit = data;

	return setrlimit(RLIMIT_NOFILE, limit) < 0;
}

static const struct outcome *with_few_files(const struct box *box,
					    const struct rlimit *limit)
{
	return program_run(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c", "ulimit -n; ulimit -Hn"),
		.call = few_files, .data = limit });
}

/* It takes more than the caller has, and the command has what he has. */
Test(files, soft_limit_of_the_caller)
{
	struct box *box = box_make();
	const struct rlimit soft = { 9, 300 }, hard = { 9, 9 };
	const struct outcome *o;

	box_profile(box, "[limits]\nprocesses = 50\n");
	expect_out(with_few_files(box, &soft), "9\n300\n");
	o = with_few_files(box, &hard);
	expect_exit(o, 125);
	expect_err_has(o, "no more than 9 open files are allowed");
	expect_err_has(o, "ulimit -Hn");
}

Test(files, log_that_is_not_open)
{
	struct box *box = box_make();

	box_profile(box, "[limits]\nprocesses = 50\n");
	box_expect_refused(box, program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", box->profile,
			     "--log-fd", "9", "--", BOX_MARK) }),
		125, "--log-fd: descriptor 9: Bad file descriptor", NULL);
}
