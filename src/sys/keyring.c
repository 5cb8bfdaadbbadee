/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/keyring.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool keyring_is_refusal(int code)
{
	return code == ENOSYS || code == EPERM || code == EACCES ||
	       code == EDQUOT;
}

int keyring_join_new(bool tolerate, struct error *err)
{
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0)
		return 0;
	if (tolerate && keyring_is_refusal(errno))
		return 1;
	error_set(err, errno, "new session keyring");
	if (err->code == EDQUOT)
		error_remedy(err, "the user's quota of keys is used up: raise "
			     "kernel.keys.maxkeys and maxbytes, or leave "
			     "seccomp = default, which keeps keys out of "
			     "reach without one");
	return error_result(err);
}
