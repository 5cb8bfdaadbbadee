/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Directories and files of a test.  Whatever goes wrong in these functions
 * ends the test with a message.
 */
#ifndef HARNESS_SCRATCH_H
#define HARNESS_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * A new empty directory of mode 0700 below TMPDIR (@parent), removed when the
 * test's process ends, however it ends.
 */
const char *scratch_make(void);
const char *scratch_make_in(const char *parent);

/*
 * Remove @path and everything below it, directories of mode 000 too; mounts
 * are not followed.  Nothing there is fine.
 */
void scratch_remove(const char *path);

/* Give @path and everything below it to identity_user(), as root. */
void scratch_give(const char *path);

/* "@directory/@name". */
const char *path_in(const char *directory, const char *name);

/* A new file (what was there is lost) with this content and mode. */
void file_write(const char *path, const char *text);
void file_write_bytes(const char *path, const void *data, size_t length,
		      mode_t mode);

/* The same with execute permission. */
void file_write_script(const char *path, const char *text);

/* The content, with a NUL byte behind it; @ret_length may be NULL. */
const char *file_read(const char *path, size_t *ret_length);
/* NULL with errno where the other would let the test fail. */
const char *file_try(const char *path, size_t *ret_length);

bool file_exists(const char *path); /* a dangling link does */
bool file_equal(const char *path, const char *other);
mode_t file_mode(const char *path); /* type too; of a link itself */

/* mkdir with exactly this mode; the second makes missing parents (0755). */
void directory_make(const char *path, mode_t mode);
void directory_make_all(const char *path);

/* The names in it, sorted, each with a blank behind it. */
const char *directory_names(const char *path);

void link_make(const char *target, const char *path);

#define expect_names(path, names)                                        \
	do {                                                             \
		const char *names_found = directory_names(path);         \
		cr_expect_str_eq(names_found, names, "in %s: '%s'", path, \
				 names_found);                           \
	} while (0)

#define expect_file(path, text)                                          \
	cr_expect(file_exists(path) && !strcmp(file_read(path, NULL), text), \
		  "expected '%s' in %s, found '%s'", text, path,         \
		  file_exists(path) ? file_read(path, NULL) : "(nothing)")

#endif
