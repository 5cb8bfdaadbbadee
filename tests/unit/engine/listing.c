/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The list of changes: how long it may become. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "engine/listing.h"

/* {"path":"0000","change":"added","type":"file","size":0} and a newline */
enum { NAMES = 3000, LINE = 56 };

static int open_new(const char *top, const char *name, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return open(path, flags | O_CLOEXEC, 0600);
}

static int directory(const char *top, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	cr_assert_eq(mkdir(path, 0700), 0);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void remove_all(const char *top, int upper)
{
	for (int i = 0; i < NAMES; i++) {
		char name[8];

		snprintf(name, sizeof(name), "%04d", i);
		unlinkat(upper, name, 0);
	}
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = { "upper", "lower", "list" };
		char path[128];

		snprintf(path, sizeof(path), "%s/%s", top, names[i]);
		remove(path);
	}
	rmdir(top);
}

/* What listing_write() returns, and (*@ret_size) how much it wrote. */
static int list(uint64_t most, off_t *ret_size, struct error *err)
{
	char top[] = "/tmp/listing-XXXXXX";
	int upper, lower, fd, r;
	struct stat written;

	cr_assert(mkdtemp(top));
	upper = directory(top, "upper");
	lower = directory(top, "lower");
	for (int i = 0; i < NAMES; i++) {
		char name[8];

		snprintf(name, sizeof(name), "%04d", i);
		fd = openat(upper, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		cr_assert_geq(fd, 0);
		close(fd);
	}
	fd = open_new(top, "list", O_WRONLY | O_CREAT);
	r = listing_write(fd, most, upper, &lower, 1, err);
	cr_assert_eq(fstat(fd, &written), 0);
	*ret_size = written.st_size;
	remove_all(top, upper);
	close(fd);
	close(upper);
	close(lower);
	return r;
}

Test(listing, of_what_there_may_be)
{
	struct error err = { 0 };
	off_t size;

	cr_expect_eq(list(NAMES * LINE, &size, &err), 0, "%s", err.text);
	cr_expect_eq(size, NAMES * LINE, "%jd", (intmax_t)size);
}

/* One byte too many, which shows at the end; and one that shows early. */
Test(listing, of_more)
{
	static const uint64_t most[] = { NAMES * LINE - 1, 0 };

	for (size_t i = 0; i < 2; i++) {
		struct error err = { 0 };
		off_t size;

		cr_expect_eq(list(most[i], &size, &err), -EFBIG);
		cr_expect_eq(err.code, EFBIG);
		cr_expect(strstr(err.text, "more than"), "%s", err.text);
		cr_expect((uint64_t)size <= most[i]);
	}
}
