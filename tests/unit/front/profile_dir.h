/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A directory of its own for each test, with profiles in it. */
#ifndef TESTS_UNIT_FRONT_PROFILE_DIR_H
#define TESTS_UNIT_FRONT_PROFILE_DIR_H

#include "base/text.h"
#include "front/profile.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct arena *arena;
static struct plan *plan;
static struct error err;
static char dir[] = "/tmp/sbx-unit-XXXXXX";

static inline void dir_setup(void)
{
	arena = arena_new();
	umask(022);
	cr_assert_not_null(mkdtemp(dir));
	cr_assert_eq(chdir(dir), 0);
}

static inline int dir_remove_one(const char *path, const struct stat *info,
				 int type, struct FTW *ftw)
{
	if (type == FTW_DP)
		chmod(path, 0700);
	return remove(path);
}

static inline void dir_teardown(void)
{
	nftw(dir, dir_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	arena_free(arena);
}

/* "DIR/name" */
static inline const char *in_dir(const char *name)
{
	return arena_printf(arena, "%s/%s", dir, name);
}

static inline void put_bytes(const char *name, const void *bytes, size_t size)
{
	FILE *file = fopen(name, "we");

	cr_assert_not_null(file);
	cr_assert_eq(fwrite(bytes, 1, size, file), size);
	fclose(file);
}

static inline void put(const char *name, const char *text)
{
	put_bytes(name, text, strlen(text));
}

/* Read profile ./name, with @sets applied, into a new plan. */
static inline int apply_with(const char *name, const struct profile_set *sets,
			     size_t count)
{
	memset(&err, 0, sizeof(err));
	plan = plan_new(arena, PLAN_RULES_PROFILE);
	return profile_apply(plan, arena_printf(arena, "./%s", name), sets,
			     count, &err);
}

/* The profile @text, which must be right. */
static inline void read_text(const char *text)
{
	put("p.ini", text);
	cr_assert_eq(apply_with("p.ini", NULL, 0), 0, "%s", err.text);
}

/* The profile @text must be refused with @message, after "./p.ini:". */
static inline void refuse_text(const char *text, const char *message,
			       const char *remedy)
{
	put("p.ini", text);
	cr_assert_lt(apply_with("p.ini", NULL, 0), 0, "accepted:\n%s", text);
	cr_expect(text_has_prefix(err.text, "./p.ini:"), "%s", err.text);
	cr_expect_str_eq(err.text + strlen("./p.ini:"), message);
	if (remedy)
		cr_expect_str_eq(err.remedy, remedy);
	cr_expect_str_eq(err.reason, "profile");
}

/* One --set, "SECTION.KEY=VALUE". */
static inline struct profile_set set_of(const char *text)
{
	char *section = arena_strdup(arena, text);
	char *name = strchr(section, '.');
	char *value = strchr(name, '=');

	*name++ = '\0';
	*value++ = '\0';
	return (struct profile_set){
		.section = section,
		.name = name,
		.text = value,
		.option = "--set",
		.argument = 1,
	};
}

#endif
