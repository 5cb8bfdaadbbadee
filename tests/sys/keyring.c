/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The session keyring: a key of the caller's is not found afterwards. */
#include <errno.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "attempt.h"
#include "harness/program.h"
#include "sys/keyring.h"

static struct error err;

static long find_key(const char *name)
{
	return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING,
		       "user", name, 0);
}

static int lose_a_key(const void *unused)
{
	char text[32];
	long key;

	/* A session keyring of this test's own, and a secret in it */
	CHECK(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0);
	key = syscall(SYS_add_key, "user", "sbx-test", "secret", 6,
		      KEY_SPEC_SESSION_KEYRING);
	CHECK(key >= 0);
	CHECK(find_key("sbx-test") == key);
	CHECK(syscall(SYS_keyctl, KEYCTL_READ, key, text, sizeof(text)) == 6);
	CHECK(unshare(CLONE_NEWUSER) == 0);
	CHECK(find_key("sbx-test") == key);
	CHECK(keyring_join_new(false, &err) == 0);
	CHECK(find_key("sbx-test") < 0 && errno == ENOKEY);
	CHECK(syscall(SYS_keyctl, KEYCTL_READ, key, text, sizeof(text)) < 0);
	return 0;
}

Test(keyring, the_callers_keys_are_out_of_reach)
{
	expect_passes(lose_a_key);
	expect_passes(lose_a_key, .as_user = true);
}

static int refused(const void *code)
{
	REFUSED(keyring_join_new(false, &err), *(const int *)code,
		"session keyring");
	CHECK(keyring_join_new(true, &err) == 1);
	return 0;
}

Test(keyring, a_refusal_is_tolerated_when_told)
{
	static const int codes[] = { ENOSYS, EPERM, EACCES, EDQUOT };

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		expect_passes(refused, .data = &codes[i],
			      REFUSING({ "keyctl", codes[i] }));
}

static int unexpected(const void *unused)
{
	REFUSED(keyring_join_new(true, &err), ENOMEM, "session keyring");
	return 0;
}

Test(keyring, other_failures_never_are)
{
	expect_passes(unexpected, REFUSING({ "keyctl", ENOMEM }));
}
