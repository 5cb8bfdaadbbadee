/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who runs the test, what it tests, and how it ends early.
 */
#ifndef HARNESS_IDENTITY_H
#define HARNESS_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

enum identity {
	IDENTITY_ROOT,    /* the real root */
	IDENTITY_USER,    /* an ordinary user */
	IDENTITY_UNSHARE, /* root of a user namespace with one id in it */
	IDENTITY_COUNT
};

/* From SBX_TEST_IDENTITY; without it, root or user by the user id. */
enum identity identity_self(void);

/*
 * The errno ("ENOSYS", "EPERM") with which the calls for detached mounts fail
 * everywhere in this run (harness/run-as), or NULL.
 */
const char *identity_refused(void);
/* "root", "user" or "unshare". */
const char *identity_name(enum identity identity);

/*
 * The ordinary user that a test running as root drops to (as group too); for
 * every other identity the caller's own id.
 */
uid_t identity_user(void);

/* The program under test, a file of the source tree, a program of helpers. */
const char *sbx_launch(void);
const char *sbx_source(const char *path);
const char *sbx_helper(const char *name);

/*
 * Whether what is under test was built with AddressSanitizer, which wants
 * terabytes of addresses and cannot live under a limit on them.
 */
bool sbx_sanitized(void);

/* End the test as failed. */
_Noreturn void harness_fail(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/*
 * End the test as skipped: the one way to do so.  @reason is a word from
 * tests/expected-skips that is listed there for this identity, otherwise the
 * test fails; SBX_ANY_SKIP=1 in the environment allows every reason, for a
 * machine that lacks something.  The text says what is missing.
 */
_Noreturn void skip_test(const char *reason, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
