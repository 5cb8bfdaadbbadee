/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"

#include <criterion/criterion.h>
#include <stdlib.h>

Test(path, normal_forms)
{
	static const struct {
		const char *path, *normal;
	} cases[] = {
		{ "/", "/" },		 { "//", "/" },
		{ "", "/" },		 { ".", "/" },
		{ "..", "/" },		 { "/..", "/" },
		{ "/a", "/a" },		 { "a", "/a" },
		{ "/a/", "/a" },	 { "//a///b//", "/a/b" },
		{ "/a/./b/.", "/a/b" },	 { "/a/../b", "/b" },
		{ "/a/b/../..", "/" },	 { "/a/b/../../..", "/" },
		{ "/../../a", "/a" },	 { "/...", "/..." },
		{ "/a/..b", "/a/..b" },	 { "/a/b..", "/a/b.." },
		{ "/.a", "/.a" },	 { "/ ", "/ " },
	};
	auto_arena struct arena *arena = arena_new();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cr_expect_str_eq(path_normalise(arena, cases[i].path),
				 cases[i].normal, "'%s'", cases[i].path);
		cr_expect(path_is_normal(cases[i].normal), "'%s'",
			  cases[i].normal);
		cr_expect_eq(path_is_normal(cases[i].path),
			     !strcmp(cases[i].path, cases[i].normal), "'%s'",
			     cases[i].path);
	}
}

/* Whatever is put in: the result is normal, and normalising is idempotent. */
Test(path, normalising_any_text)
{
	static const char letters[] = "//..ab";
	auto_arena struct arena *arena = arena_new();

	srand(1);
	for (int round = 0; round < 20000; round++) {
		char path[24];
		int length = rand() % (int)(sizeof(path) - 1);
		const char *normal;

		for (int i = 0; i < length; i++)
			path[i] = letters[rand() % (int)(sizeof(letters) - 1)];
		path[length] = '\0';
		normal = path_normalise(arena, path);
		cr_assert(path_is_normal(normal), "'%s' -> '%s'", path, normal);
		cr_assert_str_eq(path_normalise(arena, normal), normal);
	}
}

Test(path, joining)
{
	auto_arena struct arena *arena = arena_new();

	cr_expect_str_eq(path_join(arena, "/a", "b"), "/a/b");
	cr_expect_str_eq(path_join(arena, "/a/", "b"), "/a/b");
	cr_expect_str_eq(path_join(arena, "/", "b"), "/b");
	cr_expect_str_eq(path_join(arena, "/a", "/b"), "/b");
	cr_expect_str_eq(path_join(arena, "/a", ""), "/a/");
}

Test(path, what_is_below)
{
	cr_expect(path_is_below("/a", "/a"));
	cr_expect(path_is_below("/a/b", "/a"));
	cr_expect(path_is_below("/a", "/"));
	cr_expect(path_is_below("/", "/"));
	cr_expect_not(path_is_below("/ab", "/a"));
	cr_expect_not(path_is_below("/", "/a"));
	cr_expect_not(path_is_below("/a", "/a/b"));
}

Test(path, depth)
{
	cr_expect_eq(path_depth("/"), 0);
	cr_expect_eq(path_depth("/a"), 1);
	cr_expect_eq(path_depth("/a/b/c"), 3);
}

Test(path, what_shows_it)
{
	cr_expect(path_is_shown_by("/a/b", "/", NULL));
	cr_expect(path_is_shown_by("/a/b", "/a", "/"));
	cr_expect(path_is_shown_by("/a/b", "/a", "/a"), "the later covers it");
	cr_expect_not(path_is_shown_by("/a/b", "/", "/a"));
	cr_expect_not(path_is_shown_by("/a/b", "/a/b/c", "/a"));
	cr_expect_not(path_is_shown_by("/ab", "/a", NULL));
}
