/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "box.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"

const char *box_quoted(const char *word)
{
	struct arena_text text = { 0 };

	arena_add(&text, "\"", 1);
	for (; *word; word++) {
		if (*word == '"' || *word == '\\')
			arena_add(&text, "\\", 1);
		arena_add(&text, word, 1);
	}
	arena_add(&text, "\"", 1);
	return arena_string(&text);
}

struct box *box_make_named(const char *name)
{
	struct box *box = arena_take(sizeof(*box));

	box->top = scratch_make();
	box->work = path_in(box->top, name);
	box->conf = path_in(box->top, "conf");
	box->profile = path_in(box->conf, "p.ini");
	box->marker = path_in(box->work, "ran");
	directory_make(box->work, 0700);
	directory_make(box->conf, 0755);
	box_profile(box, "%s", "");
	box->host = host_read();
	return box;
}

struct box *box_make(void)
{
	return box_make_named("work");
}

void box_fill(const struct box *box)
{
	file_write(path_in(box->work, "kept"), "kept\n");
	file_write(path_in(box->work, "changed"), "before\n");
	file_write(path_in(box->work, "deleted"), "before\n");
	directory_make(path_in(box->work, "dir"), 0755);
	directory_make(path_in(box->work, "dir/sub"), 0755);
	file_write(path_in(box->work, "dir/old"), "before\n");
	file_write(path_in(box->work, "dir/sub/old"), "before\n");
}

__attribute__((format(printf, 1, 0)))
static const char *format_list(const char *format, va_list list)
{
	char *text;

	if (vasprintf(&text, format, list) < 0)
		abort();
	format = arena_format("%s", text);
	free(text);
	return format;
}

void box_profile(struct box *box, const char *format, ...)
{
	/* Without id-mapped mounts root's workspace is for root alone. */
	bool is_own = identity_refused() && identity_self() == IDENTITY_ROOT;
	const char *text;
	va_list list;

	va_start(list, format);
	text = format_list(format, list);
	va_end(list);
	file_write(box->profile,
		   arena_format("%s[mask]\n"
				"tmpfs = /home\n"
				"tmpfs = /root\n"
				"tmpfs = /run\n"
				"tmpfs = /tmp\n"
				"[workspace]\n"
				"path = %s\n"
				"%s", is_own ? "[security]\n"
				"run-as = caller\n" : "",
				box_quoted(box->work), text));
}

void box_profile_alone(struct box *box, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	file_write(box->profile, format_list(format, list));
	va_end(list);
}

const char *box_overlay(struct box *box, const char *more)
{
	const char *upper = path_in(box->top, "upper");

	if (!file_exists(upper))
		directory_make(upper, 0700);
	box_profile(box, "mode = overlay\nupper = %s\n%s", upper, more);
	return upper;
}

void box_expect_clean(const struct box *box)
{
	expect_host_unchanged(box->host);
}

void box_expect_tidy(const struct box *box)
{
	expect_names(box->top, "conf upper work ");
	expect_names(path_in(box->top, "upper"), "");
	box_expect_clean(box);
}

void box_expect_refused(const struct box *box, const struct outcome *outcome,
			int status, ...)
{
	const char *text;
	va_list list;

	expect_exit(outcome, status);
	expect_out(outcome, "");
	cr_expect(!file_exists(box->marker), "the command ran");
	cr_expect(!strncmp(outcome->err, "sbx-launch: ", 12),
		  "not a message of ours: %s", outcome_describe(outcome));
	va_start(list, status);
	while ((text = va_arg(list, const char *)))
		expect_err_has(outcome, text);
	va_end(list);
	box_expect_clean(box);
}

void expect_found(const char *path, const char *format, const char *expected)
{
	const char *found = program_run(&(struct program){
		.argv = ARGV("sh", "-c", "cd \"$1\" && find . -printf \"$2\" | "
			     "LC_ALL=C sort -k3", "sh", path, format) })->out;

	cr_expect_str_eq(found, expected, "expected:\n%sfound:\n%s", expected,
			 found);
}

void box_need_root(void)
{
	if (identity_self() != IDENTITY_ROOT)
		skip_test("needs-root", "not root on the host");
}

void box_need_mounts(void)
{
	if (identity_self() == IDENTITY_USER)
		skip_test("needs-mounts", "cannot mount");
	host_private_mounts();
}

const char *box_field(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (; text; text = strchr(text, '\n'), text = text ? text + 1 : NULL) {
		const char *value = text + length;

		if (strncmp(text, name, length) != 0)
			continue;
		value += strspn(value, " \t");
		return arena_format("%.*s", (int)strcspn(value, "\n"), value);
	}
	return "(no such line)";
}
