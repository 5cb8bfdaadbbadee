/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The example that README's first command runs, under every identity. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "harness/host.h"
#include "harness/identity.h"
#include "harness/program.h"
#include "harness/scratch.h"
#include "harness/tree.h"

static const char *workspace_with_report(void)
{
	const char *dir = scratch_make();

	file_write(path_in(dir, "report.py"),
		   file_read(sbx_source("tests/examples/report.py"), NULL));
	return dir;
}

static void expect_row(const struct outcome *o, const char *name,
		       const char *value)
{
	char line[128];

	snprintf(line, sizeof(line), "  %-26s %s", name, value);
	expect_out_has(o, line);
}

Test(report, works_and_finds_every_door_closed)
{
	const char *workspace = workspace_with_report();
	const struct host *before = host_read();
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile",
			     sbx_source("conf/py.ini"), "--workspace",
			     workspace, "report.py") });

	assert_exit(o, 0);
	expect_err(o, "");
	expect_row(o, "sum of squares", "328350\n");
	expect_row(o, "temporary file", "1000000 bytes\n");
	expect_row(o, "child process", "42\n");
	expect_row(o, "read /etc/shadow", "closed (Permission denied)\n");
	expect_row(o, "write to /usr", "closed (Read-only file system)\n");
	expect_row(o, "list /home", "closed (empty)\n");
	expect_row(o, "list /root", "closed (empty)\n");
	expect_row(o, "network", "closed (Network is unreachable)\n");
	expect_row(o, "environment of process 1",
		   "closed (Permission denied)\n");
	cr_expect(file_exists(path_in(workspace, "report.db")));
	expect_host_unchanged(before);
}

Test(report, prints_the_same_work_as_outside)
{
	const char *workspace = workspace_with_report();
	const struct outcome *inside, *outside;
	const char *end;

	outside = program_run(&(struct program){
		.argv = ARGV("/usr/bin/python3", "report.py"),
		.cwd = workspace });
	inside = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile",
			     sbx_source("conf/py.ini"), "report.py"),
		.cwd = workspace });
	assert_exit(outside, 0);
	assert_exit(inside, 0);
	end = strstr(outside->out, "doors:\n");
	cr_assert(end);
	cr_expect(!strncmp(inside->out, outside->out,
			   (size_t)(end - outside->out)),
		  "%s", outcome_describe(inside));
}
