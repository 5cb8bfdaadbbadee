/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is a line, to the byte. */
#include "front/ini.h"

#include "base/text.h"

#include <criterion/criterion.h>
#include <string.h>

static struct arena *arena;
static struct text_buf seen;
static struct error err;

static void setup(void)
{
	arena = arena_new();
	seen = (struct text_buf){ .arena = arena };
	text_add(&seen, "");
	memset(&err, 0, sizeof(err));
}

static void teardown(void)
{
	arena_free(arena);
}

TestSuite(ini, .init = setup, .fini = teardown);

static int see_section(void *user, unsigned line, const char *section,
		       struct error *error)
{
	text_addf(&seen, "%u[%s]\n", line, section);
	return 0;
}

static int see_key(void *user, unsigned line, const char *section,
		   const char *name, const char *value, struct error *error)
{
	if (user && !strcmp(user, name))
		return error_set(error, ERANGE, "no %s", name);
	text_addf(&seen, "%u(%s)%s<%s>\n", line, section, name, value);
	return 0;
}

static int parse_bytes(const char *text, size_t size, const char *refuse)
{
	const struct ini_handlers handlers = {
		see_section, see_key, (void *)(uintptr_t)refuse,
	};

	return ini_text_read("f", text, size, &handlers, &err);
}

static void expect(const char *text, const char *expected)
{
	cr_assert_eq(parse_bytes(text, strlen(text), NULL), 0, "%s", err.text);
	cr_expect_str_eq(seen.at, expected);
}

static void refuse(const char *text, size_t size, const char *message)
{
	cr_expect_lt(parse_bytes(text, size, NULL), 0);
	cr_expect_str_eq(err.text, message);
}

#define REFUSE(text, message) refuse(text, sizeof(text) - 1, message)

Test(ini, nothing)
{
	expect("", "");
}

Test(ini, blank_lines_and_comments)
{
	expect("\n \t \n; a = b\n# c\n  ; d\n\t#e", "");
}

Test(ini, keys)
{
	expect("[s]\na=b\n c  =\td e \nf =\n[t]\na=",
	       "1[s]\n2(s)a<b>\n3(s)c<d e>\n4(s)f<>\n5[t]\n6(t)a<>\n");
}

Test(ini, an_indented_line_is_a_line)
{
	expect("[s]\na = 1\n  b = 2\n\ta = 3\n",
	       "1[s]\n2(s)a<1>\n3(s)b<2>\n4(s)a<3>\n");
}

Test(ini, a_value_is_the_whole_rest)
{
	expect("[s]\na = b ; c # d = e : f [g]\n",
	       "1[s]\n2(s)a<b ; c # d = e : f [g]>\n");
}

Test(ini, quotes_are_not_its_business)
{
	expect("[s]\na = \" b\"\n", "1[s]\n2(s)a<\" b\">\n");
}

Test(ini, the_last_line_may_lack_its_end)
{
	expect("[s]\na = 1", "1[s]\n2(s)a<1>\n");
}

Test(ini, a_section_may_come_again)
{
	expect("[s]\n[t]\n  [s]  \n", "1[s]\n2[t]\n3[s]\n");
}

Test(ini, unicode)
{
	expect("[s]\na = \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n",
	       "1[s]\n2(s)a<\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80>\n");
}

/* Around libinih's own 198 and 200, and up to the limit. */
Test(ini, lines_of_any_length_arrive_whole)
{
	static const size_t lengths[] = {
		1, 190, 195, 196, 197, 198, 199, 200, 201, 255, 256, 4095,
		4096, 65536, INI_LINE_MOST - 4,
	};

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct text_buf text = { .arena = arena };
		struct text_buf expected = { .arena = arena };
		char *value = arena_alloc(arena, lengths[i] + 1);

		memset(value, 'x', lengths[i]);
		value[lengths[i] - 1] = 'y';
		text_addf(&text, "[s]\na = %s\nb = 1\n", value);
		text_addf(&expected, "1[s]\n2(s)a<%s>\n3(s)b<1>\n", value);
		seen.count = 0;
		cr_assert_eq(parse_bytes(text.at, text.count, NULL), 0, "%s",
			     err.text);
		cr_expect_str_eq(seen.at, expected.at, "length %zu",
				 lengths[i]);
	}
}

Test(ini, a_longer_line_is_refused)
{
	char *text = arena_alloc(arena, INI_LINE_MOST + 10);

	memset(text, ';', INI_LINE_MOST + 1);
	cr_expect_eq(parse_bytes(text, INI_LINE_MOST, NULL), 0);
	refuse(text, INI_LINE_MOST + 1,
	       "f:1: the line is longer than 131072 bytes");
}

Test(ini, many_lines)
{
	char *text = arena_alloc(arena, INI_LINES_MOST + 1);

	memset(text, '\n', INI_LINES_MOST + 1);
	cr_expect_eq(parse_bytes(text, INI_LINES_MOST, NULL), 0);
	refuse(text, INI_LINES_MOST + 1,
	       "f:100001: the file has more than 100000 lines");
}

Test(ini, bytes_that_no_line_holds)
{
	REFUSE("[s]\na = b\0c\n", "f:2: the line holds a NUL byte");
	REFUSE("[s]\n;\0\n", "f:2: the line holds a NUL byte");
	REFUSE("\0", "f:1: the line holds a NUL byte");
	REFUSE("[s]\na = \x1b[0m\n", "f:2: the line holds a control character");
	REFUSE("[s]\na = \x7f\n", "f:2: the line holds a control character");
	REFUSE("[s]\na = b\rc\n", "f:2: the line holds a control character");
	REFUSE("[s]\r\na = b\r\n", "f:1: the line ends in a carriage return");
	REFUSE("[s]\na = \xff\n", "f:2: the line is not valid UTF-8");
	REFUSE("[s]\n; \xc3\n", "f:2: the line is not valid UTF-8");
	REFUSE("[s]\na = \xed\xa0\x80\n", "f:2: the line is not valid UTF-8");
	REFUSE("\xef\xbb\xbf[s]\n", "f:1: the file starts with a byte order "
	       "mark");
}

Test(ini, shapes_that_are_no_line)
{
	REFUSE("a = 1\n", "f:1: there is no '[section]' before this key");
	REFUSE("[s]\nword\n", "f:2: neither '[section]' nor 'key = value' nor "
	       "a comment");
	REFUSE("[s]\na: b\n", "f:2: neither '[section]' nor 'key = value' nor "
	       "a comment");
	REFUSE("[s]\na: b = c\n", "f:2: a key cannot hold ':'");
	REFUSE("[s]\n = b\n", "f:2: there is no key before '='");
	REFUSE("[s\n", "f:1: ']' is missing");
	REFUSE("[s] x\n", "f:1: there is text behind ']'");
	REFUSE("[s];x\n", "f:1: there is text behind ']'");
	REFUSE("[0123456789012345678901234567890123456789]\n",
	       "f:1: there is no section of so long a name");
}

Test(ini, the_first_error_ends_it)
{
	cr_expect_lt(parse_bytes("[s]\na=1\nb=2\nc=3\n=\n", 18, "b"), 0);
	cr_expect_str_eq(err.text, "no b");
	cr_expect_eq(err.code, ERANGE);
	cr_expect_str_eq(seen.at, "1[s]\n2(s)a<1>\n");
}

Test(ini, a_huge_file)
{
	refuse("", (size_t)INI_SIZE_MOST + 1, "'f' is larger than 16 MiB");
}
