/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What was asked for is read back from the kernel before the payload runs;
 * a difference ends the launch.  None of it should ever be seen: each of the
 * calls before has succeeded.  It is here for the kernel, emulator or filter
 * that says yes and does nothing.
 */
#include "engine/child.h"
#include "engine/conditions.h"

#include "sys/limits.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static const char *const ns_files[NS_COUNT] = {
	[NS_USER] = "user", [NS_MOUNT] = "mnt", [NS_PID] = "pid",
	[NS_NET] = "net", [NS_IPC] = "ipc", [NS_UTS] = "uts",
	[NS_CGROUP] = "cgroup",
};

static int fail(struct error *err, const char *what)
{
	error_set(err, 0, "the kernel did not do what it was asked: %s", what);
	error_reason(err, "verify");
	return error_result(err);
}

void verify_note_namespaces(struct run *run)
{
	auto_close int files = open("/proc/self/ns", O_PATH | O_DIRECTORY |
				    O_CLOEXEC);
	struct stat status;

	for (int kind = 0; kind < NS_COUNT; kind++)
		if (run->plan->ns[kind].want == NS_WANT_NEW)
			run->ns_inodes[kind] =
				fstatat(files, ns_files[kind], &status, 0) ?
				0 : status.st_ino;
}

int verify_namespaces(const struct child *child, struct error *err)
{
	auto_close int files = proc_open_file(child->procfs, "self/ns",
					      O_PATH | O_DIRECTORY, err);
	struct stat status;

	if (files < 0)
		return files;
	for (int kind = 0; kind < NS_COUNT; kind++) {
		if (child->plan->ns[kind].want != NS_WANT_NEW)
			continue;
		/* What it leads to is what counts. */
		if (fstatat(files, ns_files[kind], &status, 0) < 0)
			return error_set(err, errno, "stat '/proc/self/ns/%s'",
					 ns_files[kind]);
		if (status.st_ino == child->run->ns_inodes[kind])
			return fail(err, arena_printf(child->arena,
				    "the %s namespace is not new",
				    ns_files[kind]));
	}
	return 0;
}

int verify_mount(const struct plan *plan, int mount, const struct op *op,
		 struct error *err)
{
	struct statvfs status;
	unsigned long wanted = ST_NOSUID;

	if (fstatvfs(mount, &status) < 0)
		return error_set(err, errno, "statvfs of the mount");
	if (op->flags & OP_READ_ONLY)
		wanted |= ST_RDONLY;
	if ((status.f_flag & wanted) != wanted)
		return fail(err, "a mount is not read-only or not nosuid");
	if (op->role != ROLE_WORKSPACE || op->flags & OP_READ_ONLY ||
	    !(status.f_flag & ST_RDONLY))
		return 0;
	error_set(err, EROFS, "workspace '%s' is on a read-only mount",
		  op->source ? op->source : op->dest);
	condition_apply(plan, CONDITION_WORKSPACE_READ_ONLY,
			&(struct condition_words){ 0 }, err);
	return -EROFS;
}

int verify_limits(const struct child *child, struct error *err)
{
	const struct plan_limit *limits = child->plan->limits;
	static const struct {
		enum limit_kind plan;
		enum limits_kind kernel;
	} checked[] = {
		{ LIMIT_PROCESSES, LIMITS_PROCESSES },
		{ LIMIT_OPEN_FILES, LIMITS_OPEN_FILES },
		{ LIMIT_FILE_SIZE, LIMITS_FILE_SIZE },
		{ LIMIT_CPU_TIME, LIMITS_CPU_TIME },
		{ LIMIT_ADDRESS_SPACE, LIMITS_ADDRESS_SPACE },
		{ LIMIT_STACK, LIMITS_STACK },
		{ LIMIT_MEMLOCK, LIMITS_MEMLOCK },
	};

	for (size_t i = 0; i < ARRAY_SIZE(checked); i++)
		if (limits[checked[i].plan].is_set &&
		    limits_verify(checked[i].kernel,
				  limits[checked[i].plan].value, err) < 0)
			return error_result(err);
	return 0;
}
