/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Words, quotes and variables of a value. */
#include "front/variables.h"

#include <criterion/criterion.h>
#include <string.h>

static struct arena *arena;
static struct variables variables;
static struct error err;

static void setup(void)
{
	arena = arena_new();
	variables = (struct variables){
		.arena = arena,
		.profile_dir = "/etc/sbx",
		.workspace = "/w s",
	};
	memset(&err, 0, sizeof(err));
	setenv("SBX_A", "a value", 1);
	setenv("SBX_QUOTED", "\"q\" ${cwd} \\", 1);
	setenv("SBX_EMPTY", "", 1);
	unsetenv("SBX_NONE");
	setenv("HOME", "/home/u", 1);
}

static void teardown(void)
{
	arena_free(arena);
}

TestSuite(value, .init = setup, .fini = teardown);

/* The words of @text as <one><two>. */
static const char *words_of(const char *text)
{
	struct text_buf out = { .arena = arena };
	struct value_words words;

	cr_assert_eq(value_split(&variables, text, &words, &err), 0, "%s: %s",
		     text, err.text);
	text_add(&out, "");
	for (size_t i = 0; i < words.count; i++)
		text_addf(&out, "<%s>", words.at[i]);
	return out.at;
}

Test(value, words)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "", "" },
		{ " \t ", "" },
		{ "a", "<a>" },
		{ "a b\tc", "<a><b><c>" },
		{ "\"a b\" c", "<a b><c>" },
		{ "\"\"", "<>" },
		{ "\"\" \"\"", "<><>" },
		{ "\"a\\\"b\\\\c\"", "<a\"b\\c>" },
		{ "a\\b", "<a\\b>" },
		{ "a;b #c ;d", "<a;b><#c><;d>" },
		{ "'a b'", "<'a><b'>" },
		{ "$a $ $$", "<$a><$><$$>" },
		{ "\xc3\xa4 \xe2\x82\xac", "<\xc3\xa4><\xe2\x82\xac>" },
		{ "${workspace}/x", "</w s/x>" },
		{ "\"${workspace}/x y\"", "</w s/x y>" },
		{ "${profile-dir}", "</etc/sbx>" },
		{ "${home}", "</home/u>" },
		{ "${env:SBX_A}", "<a value>" },
		{ "x${env:SBX_A}y z", "<xa valuey><z>" },
		{ "${env:SBX_QUOTED}", "<\"q\" ${cwd} \\>" },
		{ "${env:SBX_EMPTY}", "<>" },
		{ "${env:SBX_EMPTY:-d}", "<d>" },
		{ "${env:SBX_NONE:-}", "<>" },
		{ "${env:SBX_NONE:-/a:-b}", "</a:-b>" },
		{ "\"${env:SBX_NONE:-a b}\"", "<a b>" },
		{ "$${cwd}", "<${cwd}>" },
		{ "$$${cwd}", "<$${cwd}>" },
		{ "a$${b c", "<a${b><c>" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect_str_eq(words_of(cases[i].text), cases[i].words, "%s",
				 cases[i].text);
}

Test(value, a_default_with_a_blank_needs_quotes)
{
	/* Splitting comes first only outside of ${}. */
	cr_expect_str_eq(words_of("${env:SBX_NONE:-a b}"), "<a b>");
}

Test(value, uid_and_cwd)
{
	char cwd[4096];

	cr_assert_not_null(getcwd(cwd, sizeof(cwd)));
	cr_expect_str_eq(words_of("${uid}"),
			 arena_printf(arena, "<%u>", getuid()));
	cr_expect_str_eq(words_of("${cwd}"), arena_printf(arena, "<%s>", cwd));
}

Test(value, a_relative_profile_directory_is_made_absolute)
{
	char cwd[4096];

	variables.profile_dir = "./conf";
	cr_assert_not_null(getcwd(cwd, sizeof(cwd)));
	cr_expect_str_eq(words_of("${profile-dir}"),
			 strcmp(cwd, "/") ? arena_printf(arena, "<%s/conf>", cwd)
					  : "</conf>");
}

Test(value, what_is_refused)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "\"a", "the closing quote is missing" },
		{ "a \"", "the closing quote is missing" },
		{ "\"a\\\"", "the closing quote is missing" },
		{ "\"a\\n\"", "within quotes a backslash stands before '\"' or "
		  "'\\' only" },
		{ "\"a\\", "within quotes a backslash stands before '\"' or "
		  "'\\' only" },
		{ "\"a\"b", "there is text right behind a closing quote" },
		{ "\"a\"\"b\"", "there is text right behind a closing quote" },
		{ "a\"b\"", "a quote in the middle of a word (quote the whole "
		  "word)" },
		{ "${cwd", "'${' without '}'" },
		{ "${}", "there is no variable ${}" },
		{ "${CWD}", "there is no variable ${CWD}" },
		{ "${env:}", "${env:} without a name" },
		{ "${env::-x}", "${env:} without a name" },
		{ "${env:SBX_NONE}", "the environment has no SBX_NONE, which "
		  "${env:SBX_NONE} asks for" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct value_words words;

		cr_expect_lt(value_split(&variables, cases[i].text, &words,
					 &err), 0, "%s", cases[i].text);
		cr_expect_str_eq(err.text, cases[i].message);
	}
}

Test(value, a_workspace_that_is_not_known)
{
	struct value_words words;

	variables.workspace = NULL;
	cr_expect_lt(value_split(&variables, "${workspace}", &words, &err), 0);
	cr_expect_str_eq(err.text, "${workspace} is not known: there is no "
			 "'path' in [workspace]");
}

Test(value, the_nearest_variable)
{
	struct value_words words;

	cr_expect_lt(value_split(&variables, "${worksapce}", &words, &err), 0);
	cr_expect_str_eq(err.remedy, "did you mean ${workspace}?");
}

Test(value, one_text_to_the_end_of_the_line)
{
	static const struct {
		const char *text, *value;
	} cases[] = {
		{ "", "" },
		{ "a  b ;c", "a  b ;c" },
		{ "say \"hi\"", "say \"hi\"" },
		{ "\" a \"", " a " },
		{ "\"\"", "" },
		{ "\"a\\\"b\"  ", "a\"b" },
		{ "x${env:SBX_A}:${home}", "xa value:/home/u" },
		{ "\"${home} \"", "/home/u " },
		{ "$${home}", "${home}" },
		{ "a\\\\b", "a\\\\b" },
	};
	const char *value;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cr_assert_eq(value_text(&variables, cases[i].text, &value,
					&err), 0, "%s", cases[i].text);
		cr_expect_str_eq(value, cases[i].value);
	}
	cr_expect_lt(value_text(&variables, "\"a\" b", &value, &err), 0);
	cr_expect_str_eq(err.text, "there is text behind the closing quote");
	cr_expect_lt(value_text(&variables, "\"a", &value, &err), 0);
}

/* Any word, quoted for a profile, is read as itself: words of every byte. */
Test(value, quoting_and_reading_are_inverse)
{
	static const char letters[] = "ab \t\"\\$${{}};#'=\xc3\xa4\n\x01";

	srand(3);
	for (int round = 0; round < 20000; round++) {
		struct text_buf quoted = { .arena = arena };
		struct value_words words;
		const char *text;
		char word[16];
		int length = rand() % (int)(sizeof(word) - 1);

		for (int i = 0; i < length; i++)
			word[i] = letters[rand() %
					  (int)(sizeof(letters) - 1)];
		word[length] = '\0';
		text_add_ini_word(&quoted, word);
		cr_assert_eq(value_split(&variables, quoted.at, &words, &err),
			     0, "%s: %s", quoted.at, err.text);
		cr_assert_eq(words.count, 1);
		cr_assert_str_eq(words.at[0], word, "as %s", quoted.at);
		cr_assert_eq(value_text(&variables, quoted.at, &text, &err),
			     0);
		cr_assert_str_eq(text, word);
		if (round % 1000 == 0) {
			arena_free(arena);
			setup();
		}
	}
}
