/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Real programs under the default filter: language runtimes and developers'
 * tools do what they always do, in the strictest variant, which refuses all
 * that the others do.  The programs are in programs/.
 */
#include <criterion/criterion.h>

#include "filtered.h"
#include "harness/identity.h"
#include "harness/program.h"
#include "harness/scratch.h"

static void expect_ok(const char *const *argv, unsigned flags)
{
	const struct outcome *o = program_run(&(struct program){
		.argv = argv, .call = filter_myself, .data = &flags,
		.cwd = scratch_make(), .time_limit = 120000 });

	expect_exit(o, 0);
	expect_out(o, "ok\n");
}

/* All that takes rights away at once. */
enum { STRICT = SECCOMP_DENY_SETID | SECCOMP_DENY_UNIX | SECCOMP_DENY_PTRACE };

Test(seccomp_programs, python)
{
	const char *script = sbx_source("tests/sys/programs/python.py");

	expect_ok(ARGV("python3", script), 0);
	expect_ok(ARGV("python3", script, "--no-unix"), STRICT);
}

Test(seccomp_programs, node)
{
	const char *script = sbx_source("tests/sys/programs/node.js");

	expect_ok(ARGV("node", script), STRICT);
}

Test(seccomp_programs, tools)
{
	const char *script = sbx_source("tests/sys/programs/tools.sh");

	expect_ok(ARGV("sh", script), STRICT);
}
