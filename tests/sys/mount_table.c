/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The mount table: what was just mounted is in it, as it was mounted. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <criterion/criterion.h>

#include "attempt.h"
#include "harness/program.h"
#include "harness/scratch.h"
#include "sys/mount_table.h"

#define TRICKY "a b\tc\\d\ne"

enum { FLAGS = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC };

static struct error err;

static int bind_on_itself(const char *path, unsigned long flags)
{
	if (mount(path, path, NULL, MS_BIND, NULL) < 0)
		return -errno;
	if (mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | flags, NULL) < 0)
		return -errno;
	return 0;
}

static int see_mounts(const void *data)
{
	const char *top = data;
	const char *tricky = path_in(top, TRICKY);
	const char *inner = path_in(tricky, "inner");
	struct arena *arena = arena_new();
	struct mount_table table;
	const struct mount_entry *outer, *entry;

	CHECK(bind_on_itself(top, 0) == 0);
	CHECK(bind_on_itself(tricky, FLAGS) == 0);
	CHECK(bind_on_itself(inner, MS_NOSUID | MS_NODEV) == 0);
	ATTEMPT(mount_table_read(arena, -EBADF, &table, &err));

	outer = mount_table_below(&table, top, NULL);
	CHECK(outer && !strcmp(outer->target, tricky));
	CHECK((outer->flags & FLAGS) == FLAGS);
	CHECK(!strcmp(mount_table_find(&table, outer->parent)->target, top));
	entry = mount_table_below(&table, top, outer);
	CHECK(entry && !strcmp(entry->target, inner));
	CHECK((entry->flags & FLAGS) == (MS_NOSUID | MS_NODEV));
	CHECK(entry->parent == outer->id && entry->type[0]);
	CHECK(mount_table_find(&table, entry->id) == entry);
	CHECK(!mount_table_below(&table, top, entry));
	CHECK(!mount_table_below(&table, inner, NULL));
	CHECK(!mount_table_find(&table, -1));
	arena_free(arena);
	return 0;
}

Test(mount_table, shows_what_is_mounted)
{
	const char *top = scratch_make();

	directory_make(path_in(top, TRICKY), 0755);
	directory_make(path_in(path_in(top, TRICKY), "inner"), 0755);
	expect_passes(see_mounts, .data = top,
		      .unshare = CLONE_NEWUSER | CLONE_NEWNS);
}

/* A sibling whose name starts with the same letters is not below. */
static int keep_apart(const void *data)
{
	const char *top = data;
	struct arena *arena = arena_new();
	struct mount_table table;
	const struct mount_entry *entry = NULL;
	size_t count = 0;

	CHECK(bind_on_itself(path_in(top, "one"), 0) == 0);
	CHECK(bind_on_itself(path_in(top, "one-more"), 0) == 0);
	ATTEMPT(mount_table_read(arena, -EBADF, &table, &err));
	CHECK(!mount_table_below(&table, path_in(top, "one"), NULL));
	while ((entry = mount_table_below(&table, "/", entry)))
		count++;
	/* All but the root, which may have been mounted over */
	CHECK(count > 2 && count < table.entries.count);
	arena_free(arena);
	return 0;
}

Test(mount_table, a_sibling_is_not_below)
{
	const char *top = scratch_make();

	directory_make(path_in(top, "one"), 0755);
	directory_make(path_in(top, "one-more"), 0755);
	expect_passes(keep_apart, .data = top,
		      .unshare = CLONE_NEWUSER | CLONE_NEWNS);
}

static int no_library(const void *unused)
{
	struct arena *arena = arena_new();
	struct mount_table table = { .entries.count = 7 };

	REFUSED(mount_table_read(arena, -EBADF, &table, &err), ELIBACC,
		"libmount");
	CHECK(!strcmp(err.reason, "libmount") && err.remedy[0]);
	CHECK(table.entries.count == 7);
	arena_free(arena);
	return 0;
}

Test(mount_table, a_missing_library_is_named)
{
	/* No library can be mapped from a file; the test has its own already */
	expect_passes(no_library, REFUSING({ "pread64", EIO }, { "read", EIO }));
}
