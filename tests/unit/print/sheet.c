/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the plans of the golden cases do not show. */
#include "print/print.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct origin here = { ORIGIN_FILE, 7, "a.ini" };

static struct op *add(struct plan *plan, enum op_kind kind, const char *dest)
{
	struct op *op = plan_add_op(plan, kind, PHASE_MOUNTS, here);

	op->dest = dest;
	return op;
}

static const char *print(const struct plan *plan, print_fn printer)
{
	struct text_buf out = { .arena = plan->arena };
	struct error err = { 0 };

	cr_assert_eq(printer(plan, &out, &err), 0, "%s", err.text);
	return out.at;
}

static const char *refusal(const struct plan *plan, print_fn printer)
{
	struct text_buf out = { .arena = plan->arena };
	struct error err = { 0 };

	cr_assert_lt(printer(plan, &out, &err), 0);
	cr_expect_str_eq(err.reason, "not-printable");
	return arena_strdup(plan->arena, err.text);
}

Test(print, lines_of_text_fit_unless_a_word_does_not)
{
	auto_arena struct arena *arena = arena_new();
	struct plan *plan = plan_new(arena, PLAN_RULES_PROFILE);
	const char *text;

	for (int i = 0; i < 60; i++)
		add(plan, OP_BIND, arena_printf(arena, "/%0*d", i + 1, 0))
			->source = arena_printf(arena, "/s%0*d", i, 0);
	text = print(plan, print_text);
	while (*text) {
		size_t length = strcspn(text, "\n");

		cr_expect(length <= 80 || !memchr(text + 16, ' ', 60),
			  "%.*s", (int)length, text);
		text += length + 1;
	}
}

Test(print, text_says_what_hides_what)
{
	auto_arena struct arena *arena = arena_new();
	struct plan *plan = plan_new(arena, PLAN_RULES_BWRAP);
	const char *text;

	add(plan, OP_DIR, "a/b");
	add(plan, OP_TMPFS, "/c");
	add(plan, OP_TMPFS, "//a/");
	add(plan, OP_SYMLINK, "/c")->target = "x";
	add(plan, OP_TMPFS, "/");
	text = print(plan, print_text);
	cr_expect(strstr(text, "tmpfs //a/"));
	cr_expect(strstr(text, "hides 1\n"), "%s", text);
	cr_expect(strstr(text, "hides 1, 2, 3, 4\n"), "%s", text);
}

Test(print, text_is_fit_for_a_terminal)
{
	auto_arena struct arena *arena = arena_new();
	struct plan *plan = plan_new(arena, PLAN_RULES_BWRAP);

	add(plan, OP_DIR, "/\033[31m\n\xff");
	cr_expect(!strpbrk(print(plan, print_text), "\033\xff"));
	cr_expect(strstr(print(plan, print_text_in_colour), "\033[1m"));
}

Test(print, json_keeps_bytes_that_are_no_text)
{
	auto_arena struct arena *arena = arena_new();
	struct plan *plan = plan_new(arena, PLAN_RULES_BWRAP);
	const char *text;

	add(plan, OP_DIR, "/\xff\"\\\t");
	text = print(plan, print_json);
	cr_expect(strstr(text, "\"dest\": \"/\\udcff\\\"\\\\\\u0009\""), "%s",
		  text);
	cr_expect(text_has_prefix(text, "{\n  \"schema\": 1,\n"));
}

Test(print, an_operation_without_words_is_named)
{
	auto_arena struct arena *arena = arena_new();
	struct plan *plan = plan_new(arena, PLAN_RULES_PROFILE);

	add(plan, OP_HIDE, "/etc/shadow");
	cr_expect_str_eq(refusal(plan, print_bwrap),
			 "a.ini:7: bubblewrap has no words for hide on "
			 "'/etc/shadow'");
	plan->ops.count = 0;
	add(plan, OP_TMPFS, "/x")->inodes = 5;
	cr_expect_str_eq(refusal(plan, print_bwrap),
			 "a.ini:7: bubblewrap has no words for tmpfs on '/x' "
			 "with a number of inodes");
	plan->ops.count = 0;
	add(plan, OP_DIR, "/a/../b");
	cr_expect_str_eq(refusal(plan, print_ini),
			 "a.ini:7: a profile has no words for dir on "
			 "'/a/../b'");
}

Test(print, a_profile_refuses_what_it_cannot_hold)
{
	auto_arena struct arena *arena = arena_new();
	struct plan *plan = plan_new(arena, PLAN_RULES_PROFILE);

	plan_add_env(plan, ENV_CLEAR, NULL, NULL, here);
	plan_add_env(plan, ENV_SET, "A", "two\nlines", here);
	cr_expect(strstr(refusal(plan, print_ini), "a.ini:7: "));
	plan->environment.at[1].value = "\xff";
	cr_expect(strstr(refusal(plan, print_ini), "a.ini:7: "));
	plan->environment.at[1].value = "plain";
	plan->environment.at[1].name = "[A";
	cr_expect(strstr(refusal(plan, print_ini), "the name '[A'"));
	plan->environment.at[1].name = "A";
	cr_expect(strstr(print(plan, print_ini), "[setenv]\nA = plain\n"));
}
