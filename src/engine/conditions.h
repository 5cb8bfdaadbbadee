/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The catalogue of what can be wrong with the machine, the container around or
 * the command: cause, remedy and reason of each.  What finds them is
 * diagnose.c, for what is seen from outside, and program.c, for what is seen
 * from inside.  Private to the engine.
 */
#ifndef ENGINE_CONDITIONS_H
#define ENGINE_CONDITIONS_H

#include "base/error.h"
#include "plan/plan.h"

enum condition {
	/* no namespaces */
	CONDITION_NS_FORBIDDEN,
	CONDITION_NS_LIMIT,
	CONDITION_NS_DEPTH,
	CONDITION_NS_UNKNOWN,
	CONDITION_USERNS_SYSCTL,
	CONDITION_USERNS_APPARMOR,
	CONDITION_USERNS_UNMAPPED,
	CONDITION_USERNS_SECCOMP,
	CONDITION_USERNS_LSM,
	CONDITION_CHROOT,
	CONDITION_CHROOT_PLAIN,
	CONDITION_NAMESPACES,
	CONDITION_PROCESS_LIMIT,
	/* no id maps */
	CONDITION_UIDMAP_READ_ONLY,
	CONDITION_UIDMAP_SETFCAP,
	CONDITION_UIDMAP,
	CONDITION_PROC_MISSING,
	CONDITION_ONLY_ROOT_ID,
	/* no mounts */
	CONDITION_MOUNT_MAX,
	CONDITION_PROC_MASKED,
	CONDITION_ROOTFS,
	CONDITION_MOUNT_UNBINDABLE,
	CONDITION_MOUNT_API,
	CONDITION_MOUNT_SECCOMP,
	CONDITION_MOUNT_LSM,
	CONDITION_MOUNT_DENIED,
	/* no source */
	CONDITION_AUTOMOUNT,
	CONDITION_SOURCE_MISSING,
	CONDITION_SOURCE_DENIED,
	CONDITION_NO_IDMAP,
	CONDITION_OPEN_FILES,
	CONDITION_WORKSPACE_READ_ONLY,
	CONDITION_OVERLAY_UPPER,
	CONDITION_OVERLAY_LOWER,
	CONDITION_OVERLAY_LOWER_KIND,
	CONDITION_OVERLAY_COUNT,
	CONDITION_OVERLAY_WORK,
	CONDITION_OVERLAY_DEPTH,
	CONDITION_OVERLAY_READ_ONLY,
	CONDITION_OVERLAY_BUSY,
	/* no mount point */
	CONDITION_POINT_KIND,
	CONDITION_POINT_PARENT,
	CONDITION_POINT_MISSING,
	/* the rest of the set-up */
	CONDITION_CAPABILITY,
	CONDITION_CALL_DENIED,
	CONDITION_SIGSYS,
	CONDITION_HUNG,
	/* the command, from inside */
	CONDITION_INTERPRETER_HIDDEN,
	CONDITION_INTERPRETER_MISSING,
	CONDITION_NOEXEC,
	CONDITION_FORMAT,
	CONDITION_MACHINE,
	CONDITION_COUNT
};

/* What stands for {call}, {name}, {path} and {value} in the catalogue. */
struct condition_words {
	const char *call, *name, *path, *value;
};

/*
 * @err is because of @which: gets its reason and its remedy, and, under a
 * profile's rules, its cause behind the text with the name of the errno.
 * bubblewrap's callers match texts, so theirs stay as they are.
 */
void condition_apply(const struct plan *plan, enum condition which,
		     const struct condition_words *words, struct error *err);

#endif
