/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"

#include <criterion/criterion.h>

typedef void (*quote_fn)(struct text_buf *buf, const char *text);

struct quoted {
	const char *text, *quoted;
};

static void check_quoted(quote_fn quote, const struct quoted *cases,
			 size_t count)
{
	auto_arena struct arena *arena = arena_new();

	for (size_t i = 0; i < count; i++) {
		struct text_buf buf = { .arena = arena };

		quote(&buf, cases[i].text);
		cr_expect_str_eq(buf.at, cases[i].quoted);
	}
}

Test(quote, json)
{
	static const struct quoted cases[] = {
		{ "", "\"\"" },
		{ "a b", "\"a b\"" },
		{ "\"\\/", "\"\\\"\\\\/\"" },
		{ "\n\t\x01\x7f", "\"\\n\\u0009\\u0001\\u007f\"" },
		{ "\xc3\xa4", "\"\xc3\xa4\"" },
		{ "\xff\xc3", "\"\\udcff\\udcc3\"" },
		{ "\xed\xa0\x80", "\"\\udced\\udca0\\udc80\"" },
	};

	check_quoted(text_add_json, cases, ARRAY_SIZE(cases));
}

Test(quote, shell)
{
	static const struct quoted cases[] = {
		{ "", "''" },
		{ "plain-1.2_/x:y=z,@%+^", "plain-1.2_/x:y=z,@%+^" },
		{ "a b", "'a b'" },
		{ "it's", "'it'\\''s'" },
		{ "$HOME", "'$HOME'" },
		{ "a\nb", "'a\nb'" },
		{ "*", "'*'" },
		{ "~", "'~'" },
		{ "\xc3\xa4", "'\xc3\xa4'" },
	};

	check_quoted(text_add_shell_word, cases, ARRAY_SIZE(cases));
}

Test(quote, a_word_of_a_profile)
{
	static const struct quoted cases[] = {
		{ "", "\"\"" },
		{ "/a/b", "/a/b" },
		{ "a b", "\"a b\"" },
		{ "a\tb", "\"a\tb\"" },
		{ "a;b#c", "a;b#c" },
		{ ";b", "\";b\"" },
		{ "#b", "\"#b\"" },
		{ "say \"hi\"", "\"say \\\"hi\\\"\"" },
		{ "a\\b", "\"a\\\\b\"" },
		{ "$HOME", "$HOME" },
		{ "${HOME}", "$${HOME}" },
		{ "$${x}", "$$${x}" },
		{ "a ${b}", "\"a $${b}\"" },
	};

	check_quoted(text_add_ini_word, cases, ARRAY_SIZE(cases));
}

Test(quote, printable)
{
	static const struct quoted cases[] = {
		{ "", "" },
		{ "plain \xe2\x82\xac", "plain \xe2\x82\xac" },
		{ "a\x1b[31mb", "a\\x1b[31mb" },
		{ "a\nb\r", "a\\x0ab\\x0d" },
		{ "\xff", "\\xff" },
	};
	auto_arena struct arena *arena = arena_new();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect_str_eq(text_printable(arena, cases[i].text),
				 cases[i].quoted);
	cr_expect_eq(text_printable(arena, cases[1].text), cases[1].text,
		     "what is printable is not copied");
}
