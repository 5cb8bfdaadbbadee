/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"

#include <criterion/criterion.h>
#include <inttypes.h>

/* What a parser must say of a word; result 0 comes with the value. */
struct number {
	const char *text;
	int result;
	uint64_t value;
};

typedef int (*parse_fn)(const char *text, uint64_t *ret_value);

static void check_numbers(parse_fn parse, const struct number *numbers,
			  size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct number *number = &numbers[i];
		uint64_t value = 4711;

		cr_expect_eq(parse(number->text, &value), number->result,
			     "'%s'", number->text);
		cr_expect_eq(value, number->result ? 4711 : number->value,
			     "'%s' gives %" PRIu64, number->text, value);
	}
}

Test(text, numbers)
{
	static const struct number numbers[] = {
		{ "0", 0, 0 },
		{ "7", 0, 7 },
		{ "007", 0, 7 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "99999999999999999999999", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "1.5", -EINVAL, 0 },
		{ "\xc2\xb2", -EINVAL, 0 },
	};

	check_numbers(text_parse_u64, numbers, ARRAY_SIZE(numbers));
}

Test(text, sizes)
{
	static const struct number numbers[] = {
		{ "0", 0, 0 },
		{ "512", 0, 512 },
		{ "1k", 0, 1024 },
		{ "1K", 0, 1024 },
		{ "3m", 0, 3 << 20 },
		{ "2g", 0, 2147483648 },
		{ "1T", 0, 1099511627776 },
		{ "16777215t", 0, 16777215ULL << 40 },
		{ "16777216t", -ERANGE, 0 },
		{ "k", -EINVAL, 0 },
		{ "1kb", -EINVAL, 0 },
		{ "1 k", -EINVAL, 0 },
		{ "1p", -EINVAL, 0 },
		{ "-1k", -EINVAL, 0 },
	};

	check_numbers(text_parse_size, numbers, ARRAY_SIZE(numbers));
}

Test(text, durations)
{
	static const struct number numbers[] = {
		{ "0", 0, 0 },
		{ "0s", 0, 0 },
		{ "1ms", 0, 1 },
		{ "250ms", 0, 250 },
		{ "30s", 0, 30000 },
		{ "5m", 0, 300000 },
		{ "2h", 0, 7200000 },
		{ "30", -EINVAL, 0 },
		{ "1.5s", -EINVAL, 0 },
		{ "1H", -EINVAL, 0 },
		{ "5M", -EINVAL, 0 },
		{ "5Ms", -EINVAL, 0 },
		{ "1d", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ "5124095576031h", -ERANGE, 0 },
	};

	check_numbers(text_parse_duration, numbers, ARRAY_SIZE(numbers));
}

Test(text, modes)
{
	static const struct {
		const char *text;
		int result;
		unsigned mode;
	} modes[] = {
		{ "0", 0, 0 },		 { "755", 0, 0755 },
		{ "0755", 0, 0755 },	 { "7777", 0, 07777 },
		{ "10000", -ERANGE, 0 }, { "8", -EINVAL, 0 },
		{ "u+x", -EINVAL, 0 },	 { "", -EINVAL, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		unsigned mode = 12345;

		cr_expect_eq(text_parse_mode(modes[i].text, &mode),
			     modes[i].result, "'%s'", modes[i].text);
		cr_expect_eq(mode, modes[i].result ? 12345 : modes[i].mode);
	}
}

Test(text, booleans)
{
	static const char *const wrong[] = {
		"", "1", "true", "Yes", "YES", "on", "yes ", "n",
	};
	bool value = false;

	cr_expect_eq(text_parse_bool("yes", &value), 0);
	cr_expect(value);
	cr_expect_eq(text_parse_bool("no", &value), 0);
	cr_expect_not(value);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		cr_expect_eq(text_parse_bool(wrong[i], &value), -EINVAL, "%s",
			     wrong[i]);
}

Test(text, nearest_name)
{
	static const char *const names[] = {
		"tmpfs", "hide", NULL, "interpreter", "--ro-bind", "--bind",
		"open-files",
	};
	static const struct {
		const char *word, *nearest;
	} cases[] = {
		{ "tmfs", "tmpfs" },	     { "tpmfs", "tmpfs" },
		{ "tmpfss", "tmpfs" },	     { "hid", "hide" },
		{ "interpeter", "interpreter" }, { "--ro-bnd", "--ro-bind" },
		{ "openfiles", "open-files" }, { "hide", "hide" },
		{ "zzzzz", NULL },	     { "", NULL },
		{ "x", NULL },
		{ "a-word-that-is-much-longer-than-any-name-there-is", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *got = text_nearest(cases[i].word, names,
					       ARRAY_SIZE(names));

		if (cases[i].nearest)
			cr_expect_str_eq(got ? got : "(none)",
					 cases[i].nearest, "%s", cases[i].word);
		else
			cr_expect_null(got, "%s -> %s", cases[i].word, got);
	}
}

Test(text, matching)
{
	static const struct {
		const char *pattern, *name;
		bool matches;
	} cases[] = {
		{ "LANG", "LANG", true },    { "LANG", "LANGUAGE", false },
		{ "LC_*", "LC_ALL", true },  { "LC_*", "LC_", true },
		{ "LC_*", "LC", false },     { "*", "ANY", true },
		{ "*", "", true },	     { "", "", true },
		{ "", "A", false },	     { "A*B", "AxB", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect_eq(text_matches(cases[i].pattern, cases[i].name),
			     cases[i].matches, "%s on %s", cases[i].pattern,
			     cases[i].name);
}

Test(text, utf8)
{
	static const char *const right[] = {
		"", "plain", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
		"\xf4\x8f\xbf\xbf", "\xed\x9f\xbf", "\xee\x80\x80",
		"\xef\xbb\xbf",
	};
	static const char *const wrong[] = {
		"\x80", "\xff", "\xc3", "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf",
		"\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80", "a\xe2\x82", "\xe2\x28\xa1",
	};

	for (size_t i = 0; i < ARRAY_SIZE(right); i++)
		cr_expect(text_is_utf8(right[i], strlen(right[i])), "%zu", i);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		cr_expect_not(text_is_utf8(wrong[i], strlen(wrong[i])), "%zu",
			      i);
	cr_expect(text_is_utf8("a\0b", 3));
}

Test(text, a_growing_string)
{
	auto_arena struct arena *arena = arena_new();
	struct text_buf buf = { .arena = arena };

	for (int i = 0; i < 10000; i++)
		text_addf(&buf, "%d,", i % 10);
	cr_expect_eq(buf.count, 20000);
	cr_expect_eq(strlen(buf.at), 20000);
	cr_expect_eq(memcmp(buf.at + 19980, "0,1,2,3,4,5,6,7,8,9,", 21), 0);
	text_add_bytes(&buf, "\0x", 2);
	cr_expect_eq(buf.count, 20002);
	cr_expect_eq(buf.at[20001], 'x');
	cr_expect_eq(buf.at[20002], '\0');
}
