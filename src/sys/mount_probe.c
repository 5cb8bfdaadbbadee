/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A call that a filter refuses fails like one that lacks a right: EPERM.  What
 * tells the two apart is the same call with arguments that make no sense,
 * which the kernel looks at before it looks at rights, or at least also says
 * EPERM to only who has no right to mount at all.
 */
#include "sys/mount_probe.h"

#include "base/mem.h"
#include "sys/mountfd.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>

static const struct {
	const char *name;
	long number;
	/* EPERM can also mean that the caller may not mount. */
	bool checks_rights;
} calls[] = {
	[PROBE_OPEN_TREE] = { "open_tree", SYS_open_tree, false },
	[PROBE_MOUNT_SETATTR] = { "mount_setattr", SYS_mount_setattr, false },
	[PROBE_FSOPEN] = { "fsopen", SYS_fsopen, true },
	[PROBE_FSCONFIG] = { "fsconfig", SYS_fsconfig, false },
	[PROBE_FSMOUNT] = { "fsmount", SYS_fsmount, true },
	[PROBE_MOVE_MOUNT] = { "move_mount", SYS_move_mount, true },
};
static_assert(ARRAY_SIZE(calls) == PROBE_COUNT, "a row for each call");

static int missing; /* errno, or 0 */
static enum probe_call missing_call;

/*
 * Flags that no call has, or an attribute structure of no size, and a
 * descriptor that cannot be.
 */
int mount_probe_ask(enum probe_call call)
{
	int saved = errno, code = 0;

	if (syscall(calls[call].number, -1, "", call == PROBE_MOUNT_SETATTR ?
		    0 : ~0U, "", call == PROBE_MOUNT_SETATTR ? 0 : ~0U) < 0)
		code = errno;
	errno = saved;
	if (code != ENOSYS && code != EPERM)
		return 0;
	missing = code;
	missing_call = call;
	return code;
}

int mount_probe_failed(enum probe_call call)
{
	int code = errno;

	if (code == ENOSYS || code == EPERM)
		mount_probe_ask(call);
	return code;
}

int mountfd_missing(const char **ret_call)
{
	if (missing)
		*ret_call = calls[missing_call].name;
	return missing;
}

int mountfd_probe(const char **ret_call)
{
	for (int call = 0; call < PROBE_COUNT; call++) {
		int code = mount_probe_ask(call);

		if (!code)
			continue;
		/* Whoever asks may have no right to mount here. */
		if (code == EPERM && calls[call].checks_rights) {
			missing = 0;
			continue;
		}
		return mountfd_missing(ret_call);
	}
	return 0;
}
