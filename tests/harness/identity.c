/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "harness/identity.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "harness/arena.h"

void harness_fail(const char *format, ...)
{
	char text[4096];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	cr_assert_fail("%s", text);
	abort();
}

/* When nobody says who is to be dropped to: an id that Debian gives nobody. */
enum { DEFAULT_USER = 65533 };

static const char *const names[] = {
	[IDENTITY_ROOT] = "root",
	[IDENTITY_USER] = "user",
	[IDENTITY_UNSHARE] = "unshare",
};
_Static_assert(sizeof(names) / sizeof(*names) == IDENTITY_COUNT,
	       "a name for every identity");

enum identity identity_self(void)
{
	const char *name = getenv("SBX_TEST_IDENTITY");

	if (!name)
		return getuid() == 0 ? IDENTITY_ROOT : IDENTITY_USER;
	for (int i = 0; i < IDENTITY_COUNT; i++)
		if (!strcmp(name, names[i]))
			return (enum identity)i;
	harness_fail("SBX_TEST_IDENTITY: unknown identity '%s'", name);
}

const char *identity_refused(void)
{
	const char *name = getenv("SBX_TEST_REFUSED");

	return name && *name ? name : NULL;
}

const char *identity_name(enum identity identity)
{
	return names[identity];
}

uid_t identity_user(void)
{
	const char *id = getenv("SBX_TEST_UID");

	if (identity_self() != IDENTITY_ROOT)
		return getuid();
	return id && strcmp(id, "0") ? (uid_t)strtoul(id, NULL, 10)
				     : (uid_t)DEFAULT_USER;
}

static const char *environment_path(const char *name)
{
	const char *path = getenv(name);

	if (!path || !*path)
		harness_fail("%s is not set; start tests with meson test",
			     name);
	return path;
}

const char *sbx_launch(void)
{
	return environment_path("SBX_LAUNCH");
}

const char *sbx_source(const char *path)
{
	return arena_format("%s/%s", environment_path("SBX_SOURCE_DIR"), path);
}

const char *sbx_helper(const char *name)
{
	return arena_format("%s/%s", environment_path("SBX_HELPER_DIR"), name);
}

bool sbx_sanitized(void)
{
	return SANITIZED;
}

/*
 * A line of tests/expected-skips is "REASON IDENTITY...", where "any" stands
 * for every identity; a '#' starts a comment.
 */
static bool skip_is_expected(const char *reason)
{
	const char *path = sbx_source("tests/expected-skips");
	const char *self = identity_name(identity_self());
	FILE *file = fopen(path, "re");
	char line[1024];
	bool found = false;

	if (!file)
		harness_fail("cannot read %s", path);
	while (!found && fgets(line, sizeof(line), file)) {
		char *place, *word;

		line[strcspn(line, "#")] = '\0';
		word = strtok_r(line, " \t\n", &place);
		if (!word || strcmp(word, reason) != 0)
			continue;
		while (!found && (word = strtok_r(NULL, " \t\n", &place)))
			found = !strcmp(word, self) || !strcmp(word, "any");
	}
	fclose(file);
	return found;
}

void skip_test(const char *reason, const char *format, ...)
{
	const char *any = getenv("SBX_ANY_SKIP");
	char text[1024];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	if (!(any && !strcmp(any, "1")) && !skip_is_expected(reason))
		harness_fail("unexpected skip (%s): %s", reason, text);
	/* Criterion itself is silent about it. */
	fprintf(stderr, "[SKIP] %s: %s\n", reason, text);
	cr_skip_test("%s: %s", reason, text);
	abort();
}
