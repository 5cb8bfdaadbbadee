/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A profile and some --set values, from any bytes.  Input: the profile's
 * text, then one --set a line behind the first line that is "==".
 *
 * Whatever they say: an error has a text, and an accepted profile that can be
 * written as a profile again gives the same text when that is read.
 */
#include "front/profile.h"
#include "front/profile_file.h"

#include "base/text.h"
#include "fuzz.h"
#include "plan/check.h"
#include "plan/order.h"
#include "print/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETS_MOST = 16 };

static char caller_path[] = "PATH=/usr/bin", caller_lang[] = "LC_ALL=C";
static char caller_preload[] = "LD_PRELOAD=/x.so";
static char *const caller[] = {
	caller_path, caller_lang, caller_preload, NULL,
};

static char last_error[sizeof(((struct error *)NULL)->text)];

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* As the option --set reads it. */
static size_t read_sets(struct arena *arena, char *text,
			struct profile_set *sets)
{
	size_t count = 0;

	for (char *line; count < SETS_MOST && (line = strsep(&text, "\n"));) {
		char *value = strchr(line, '=');
		char *name = value ? memchr(line, '.', (size_t)(value - line))
				   : NULL;

		if (!name)
			continue;
		*name++ = '\0';
		*value++ = '\0';
		sets[count++] = (struct profile_set){
			.section = line,
			.name = name,
			.text = value,
			.option = "--set",
		};
	}
	return count;
}

static struct plan *read_plan(struct arena *arena, const char *bytes,
			      size_t size, const struct profile_set *sets,
			      size_t count)
{
	struct plan *plan = plan_new(arena, PLAN_RULES_PROFILE);
	struct profile_text text = {
		.path = "p.ini",
		.directory = "/nonexistent",
		.text = bytes,
		.size = size,
	};
	struct error err = { 0 };
	int r = profile_apply_text(plan, &text, sets, count, &err);

	if (r >= 0)
		r = plan_order(plan, &err);
	if (r >= 0)
		r = plan_check(plan, &err);
	if (r >= 0)
		return plan;
	require(*err.text && *err.reason);
	memcpy(last_error, err.text, sizeof(last_error));
	return NULL;
}

static const char *print(struct arena *arena, struct plan *plan)
{
	struct text_buf out = { .arena = arena };
	struct error err = { 0 };

	if (print_ini(plan, &out, &err) < 0) {
		require(*err.text);
		return NULL;
	}
	return out.at;
}

static void check_other_uses(struct arena *arena, const struct plan *plan)
{
	struct text_buf text = { .arena = arena }, json = { .arena = arena };
	struct error err = { 0 };
	char **environment = plan_environment(plan, arena, caller);

	for (; *environment; environment++)
		require(strchr(*environment, '=') != NULL);
	require(print_text(plan, &text, &err) >= 0);
	require(print_json(plan, &json, &err) >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_arena struct arena *arena = arena_new();
	char *bytes = arena_memdup(arena, data, size);
	char *rest = memmem(bytes, size, "\n==\n", 4);
	struct profile_set sets[SETS_MOST];
	const char *once, *twice;
	struct plan *plan;
	size_t count = 0;

	setenv("HOME", "/home/u", 1);
	setenv("SBX_A", "a b", 1);
	if (rest) {
		size = (size_t)(rest - bytes) + 1;
		count = read_sets(arena, rest + 4, sets);
	}
	plan = read_plan(arena, bytes, size, sets, count);
	if (!plan)
		return 0;
	check_other_uses(arena, plan);
	once = print(arena, plan);
	if (!once)
		return 0;
	plan = read_plan(arena, once, strlen(once), NULL, 0);
	twice = plan ? print(arena, plan) : NULL;
	if (twice && !strcmp(once, twice))
		return 0;
	fprintf(stderr, "written once:\n%s\nand again:\n%s\n", once,
		twice ? twice : last_error);
	abort();
}
