/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/error.h"

#include "base/mem.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>

Test(error, fits_one_write)
{
	cr_expect_lt(sizeof(struct error), PIPE_BUF);
}

Test(error, context_comes_first)
{
	struct error err = { 0 };

	cr_expect_eq(error_set(&err, ENOENT, "open '%s'", "/x"), -ENOENT);
	cr_expect_eq(error_wrap(&err, "bind on '%s'", "/y"), -ENOENT);
	cr_expect_eq(error_wrap(&err, "%s:%d", "p.ini", 3), -ENOENT);
	cr_expect_str_eq(err.text, "p.ini:3: bind on '/y': open '/x'");
	cr_expect_eq(err.code, ENOENT);
	cr_expect_eq(error_result(&err), -ENOENT);
}

Test(error, without_an_errno)
{
	struct error err = { 0 };

	cr_expect_eq(error_set(&err, 0, "no"), -EINVAL);
	cr_expect_eq(error_result(&err), -EINVAL);
}

Test(error, a_new_cause_forgets_the_old_one_but_the_stage)
{
	struct error err = { .stage = "gather" };

	error_set(&err, EPERM, "first");
	error_remedy(&err, "do %d", 1);
	error_reason(&err, "idmap");
	error_status(&err, ERROR_STATUS_NOT_FOUND);
	error_set(&err, EIO, "second");
	cr_expect_str_eq(err.text, "second");
	cr_expect_str_empty(err.remedy);
	cr_expect_str_empty(err.reason);
	cr_expect_eq(err.status, 0);
	cr_expect_str_eq(err.stage, "gather");
}

Test(error, too_long_is_cut_not_overrun)
{
	struct error err = { 0 };
	char text[2 * sizeof(err.text)];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	error_set(&err, 0, "%s", text);
	cr_expect_eq(strlen(err.text), sizeof(err.text) - 1);
	error_wrap(&err, "%s", text);
	cr_expect_eq(strlen(err.text), sizeof(err.text) - 1);
	error_remedy(&err, "%s", text);
	cr_expect_eq(strlen(err.remedy), sizeof(err.remedy) - 1);
}

Test(error, names_of_errno)
{
	cr_expect_str_eq(error_errno_name(EPERM), "EPERM");
	cr_expect_null(error_errno_name(0));
	cr_expect_null(error_errno_name(-1));
	cr_expect_null(error_errno_name(99999));
}

Test(error, of_a_system_call)
{
	auto_arena struct arena *arena = arena_new();
	struct error err = { .stage = "gather" };

	cr_expect_eq(error_call(&err, EPERM, "open_tree", "open_tree '%s'",
				"/x"), -EPERM);
	error_wrap(&err, "bind");
	cr_expect_str_eq(err.call, "open_tree");
	cr_expect_str_eq(err.stage, "gather");
	cr_expect_str_eq(error_line(arena, &err),
			 "bind: open_tree '/x': Operation not permitted");
	error_say(&err, "refused (%s)", "EPERM");
	err.is_complete = true;
	cr_expect_str_eq(error_line(arena, &err), "refused (EPERM)");
	cr_expect_str_eq(err.call, "open_tree");
	/* Another cause is another call, or none. */
	error_set(&err, 0, "no");
	cr_expect_str_eq(err.call, "");
	cr_expect_str_eq(error_line(arena, &err), "no");
}
