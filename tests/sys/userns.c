/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* User namespaces: maps as the kernel reads them back, mounts as they look. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "attempt.h"
#include "base/mem.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/program.h"
#include "harness/scratch.h"
#include "sys/caps.h"
#include "sys/proc.h"
#include "sys/userns.h"

static struct error err;

/* ---- maps ------------------------------------------------------------------ */

static int map_myself(const void *unused)
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	char uid_map[64], gid_map[64];

	snprintf(uid_map, sizeof(uid_map), "1234 %u 1", uid);
	snprintf(gid_map, sizeof(gid_map), "4321 %u 1", gid);
	CHECK(unshare(CLONE_NEWUSER) == 0);
	ATTEMPT(userns_write_maps(-EBADF, 0, uid_map, gid_map, true, &err));
	CHECK(getuid() == 1234 && getgid() == 4321);
	CHECK(!strcmp(file_read("/proc/self/setgroups", NULL), "deny\n"));
	/* Once and no more */
	REFUSED(userns_write_maps(-EBADF, 0, uid_map, NULL, false, &err),
		EPERM, "uid_map");
	return 0;
}

Test(userns, a_process_maps_itself)
{
	expect_passes(map_myself);
	expect_passes(map_myself, .as_user = true);
	expect_passes(map_myself, REFUSING({ "openat2", ENOSYS }));
}

static int map_a_child(const void *unused)
{
	const struct proc_clone args = {
		.flags = CLONE_NEWUSER | CLONE_NEWPID,
		.cgroup_fd = -EBADF,
	};
	int go[2], pidfd, status, procfs;
	char uid_map[64], gid_map[64], byte;
	pid_t pid;

	snprintf(uid_map, sizeof(uid_map), "7 %u 1\n", getuid());
	snprintf(gid_map, sizeof(gid_map), "8 %u 1\n", getgid());
	CHECK(pipe2(go, O_CLOEXEC) == 0);
	pid = (pid_t)ATTEMPT(proc_clone(&args, &pidfd, &err));
	if (!pid) {
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		_exit(getuid() == 7 && getgid() == 8 ? 0 : 2);
	}
	procfs = (int)ATTEMPT(proc_open_procfs(&err));
	ATTEMPT(userns_write_maps(procfs, pid, uid_map, gid_map, true, &err));
	CHECK(write(go[1], "x", 1) == 1);
	ATTEMPT(proc_child_wait(pidfd, pid, true, &status, NULL, &err));
	CHECK(status == 0);
	return 0;
}

Test(userns, a_parent_maps_its_child)
{
	expect_passes(map_a_child);
	expect_passes(map_a_child, .as_user = true);
}

static int map_wrongly(const void *unused)
{
	char own[64];

	snprintf(own, sizeof(own), "0 %u 1", getgid());
	ATTEMPT(caps_apply(0, false, &err));
	CHECK(unshare(CLONE_NEWUSER) == 0);
	REFUSED(userns_write_maps(-EBADF, 0, "0 4000000 1", NULL, true, &err),
		EPERM, "uid_map: write '0 4000000 1'");
	REFUSED(userns_write_maps(-EBADF, 0, "nonsense", NULL, false, &err),
		EINVAL, "uid_map: write 'nonsense'");
	/* Without "deny", unless it is inherited from the outer namespace */
	if (!strcmp(file_read("/proc/self/setgroups", NULL), "allow\n"))
		REFUSED(userns_write_maps(-EBADF, 0, NULL, own, false, &err),
			EPERM, "gid_map: write");
	REFUSED(userns_write_maps(-EBADF, 999999999, own, NULL, true, &err),
		ENOENT, "uid_map: open '/proc/999999999/uid_map'");
	return 0;
}

Test(userns, names_the_map_that_was_refused)
{
	expect_passes(map_wrongly);
}

static int read_own(const void *expect_initial)
{
	auto_arena struct arena *arena = arena_new();
	struct userns_ids ids;
	uint32_t outside;

	ATTEMPT(userns_read_own(-EBADF, arena, &ids, &err));
	CHECK(ids.is_initial == *(const bool *)expect_initial);
	CHECK(userns_map_find(&ids.uid, getuid(), NULL));
	CHECK(userns_map_find(&ids.gid, getgid(), NULL));
	if (ids.is_initial) {
		CHECK(userns_map_find(&ids.uid, 4294967294, &outside));
		CHECK(outside == 4294967294);
	}
	CHECK(!userns_map_find(&ids.uid, UINT32_MAX, NULL));
	return 0;
}

Test(userns, reads_its_own_maps)
{
	bool is_initial = identity_self() != IDENTITY_UNSHARE, no = false;

	expect_passes(read_own, .data = &is_initial);
	expect_passes(read_own, .data = &no, .unshare = CLONE_NEWUSER);
}

/* A namespace with every id looks like the first one in its maps. */
static int read_full_map(const void *unused)
{
	const struct proc_clone args = {
		.flags = CLONE_NEWUSER,
		.cgroup_fd = -EBADF,
	};
	static const char all[] = "0 0 4294967295";
	bool no = false;
	int go[2], pidfd, status;
	char byte;
	pid_t pid;

	CHECK(pipe2(go, O_CLOEXEC) == 0);
	pid = (pid_t)ATTEMPT(proc_clone(&args, &pidfd, &err));
	if (!pid) {
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		_exit(read_own(&no));
	}
	ATTEMPT(userns_write_maps(-EBADF, pid, all, all, false, &err));
	CHECK(write(go[1], "x", 1) == 1);
	ATTEMPT(proc_child_wait(pidfd, pid, true, &status, NULL, &err));
	CHECK(status == 0);
	return 0;
}

Test(userns, is_not_fooled_by_a_full_map)
{
	if (identity_self() == IDENTITY_ROOT)
		expect_passes(read_full_map);
}

Test(userns, finds_ids_in_several_ranges)
{
	struct userns_range ranges[] = {
		{ .inside = 0, .outside = 1000, .count = 1 },
		{ .inside = 1, .outside = 100000, .count = 65536 },
		{ .inside = 4294967290, .outside = 7, .count = 5 },
	};
	const struct userns_map map = {
		.ranges = { .at = ranges, .count = ARRAY_SIZE(ranges) }
	};
	uint32_t outside = 5;

	cr_expect(userns_map_find(&map, 0, &outside));
	cr_expect_eq(outside, 1000);
	cr_expect(userns_map_find(&map, 65536, &outside));
	cr_expect_eq(outside, 165535);
	cr_expect(!userns_map_find(&map, 65537, &outside));
	cr_expect_eq(outside, 165535);
	cr_expect(userns_map_find(&map, 4294967294, &outside));
	cr_expect_eq(outside, 11);
	cr_expect(!userns_map_find(&map, 4294967295, &outside));
}

/* ---- id-mapped mounts ------------------------------------------------------ */

/* A detached, id-mapped clone of @path. */
static int mapped_clone(const char *path, int userns)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_IDMAP,
		.userns_fd = (unsigned)userns,
	};
	int tree = (int)syscall(SYS_open_tree, AT_FDCWD, path,
				OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0 || syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH,
				&attr, sizeof(attr)) < 0)
		return -1;
	return tree;
}

static int sigchld_seen;

static void on_sigchld(int signal)
{
	sigchld_seen++;
}

static int make_for_mounts(const void *unused)
{
	int userns, status;

	signal(SIGCHLD, on_sigchld);
	userns = (int)ATTEMPT(userns_create_idmap(0, 1, 231072, 231073,
						  &err));
	CHECK(fcntl(userns, F_GETFD) == FD_CLOEXEC);
	/* Nobody is left, and nobody was told */
	CHECK(waitpid(-1, NULL, __WALL | WNOHANG) == -1 && errno == ECHILD);
	CHECK(sigchld_seen == 0);
	signal(SIGCHLD, SIG_DFL);
	if (!fork()) {
		auto_arena struct arena *arena = arena_new();
		struct userns_ids ids;

		CHECK(setns(userns, CLONE_NEWUSER) == 0);
		ATTEMPT(userns_read_own(-EBADF, arena, &ids, &err));
		CHECK(ids.uid.ranges.count == 1 && ids.gid.ranges.count == 1);
		CHECK(!memcmp(ids.uid.ranges.at,
			      &(struct userns_range){ 0, 231072, 1 },
			      sizeof(struct userns_range)));
		CHECK(!memcmp(ids.gid.ranges.at,
			      &(struct userns_range){ 1, 231073, 1 },
			      sizeof(struct userns_range)));
		_exit(0);
	}
	CHECK(wait(&status) > 0 && status == 0);
	return 0;
}

Test(userns, makes_a_namespace_for_mounts)
{
	if (identity_self() == IDENTITY_ROOT)
		expect_passes(make_for_mounts);
}

enum { NO_ID_MAPS = 77 };

static int map_a_mount(const void *directory)
{
	struct stat info;
	int userns, tree;

	userns = (int)ATTEMPT(userns_create_idmap(0, 0, 231072, 231073,
						  &err));
	tree = mapped_clone(directory, userns);
	if (tree < 0 && errno == EINVAL)
		return NO_ID_MAPS;
	CHECK(tree >= 0);
	CHECK(fstatat(tree, "of-root", &info, 0) == 0);
	CHECK(info.st_uid == 231072 && info.st_gid == 231073);
	CHECK(fstatat(tree, "of-other", &info, 0) == 0);
	CHECK(info.st_uid == 65534 && info.st_gid == 65534);
	return 0;
}

Test(userns, its_mounts_show_the_other_owner)
{
	const char *directory = scratch_make();
	const struct outcome *o;

	if (identity_self() != IDENTITY_ROOT)
		return;
	file_write(path_in(directory, "of-root"), "");
	file_write(path_in(directory, "of-other"), "");
	cr_assert(chown(path_in(directory, "of-other"), 1, 1) == 0);
	o = program_run(&(struct program){
		.call = map_a_mount, .data = directory });
	if (o->exit == NO_ID_MAPS)
		skip_test("idmap", "a file system with id-mapped mounts");
	expect_exit(o, 0);
}

static int map_without_right(const void *unused)
{
	ATTEMPT(caps_apply(0, false, &err));
	REFUSED(userns_create_idmap(getuid(), getgid(), 0, 0, &err), EPERM,
		"id map for mounts");
	CHECK(waitpid(-1, NULL, __WALL | WNOHANG) == -1 && errno == ECHILD);
	return 0;
}

Test(userns, a_mapping_without_right_leaves_nothing)
{
	expect_passes(map_without_right);
}

/* ---- nesting --------------------------------------------------------------- */

static int disable_nesting(const void *unused)
{
	ATTEMPT(userns_disable_nesting(-EBADF, &err));
	CHECK(unshare(CLONE_NEWUSER) < 0 && errno == ENOSPC);
	CHECK(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL,
		      NULL) < 0 && errno == ENOSPC);
	ATTEMPT(userns_check_no_nesting(&err));
	return 0;
}

Test(userns, ends_nesting)
{
	expect_passes(disable_nesting, .unshare = CLONE_NEWUSER);
	expect_passes(disable_nesting, .unshare = CLONE_NEWUSER,
		      .as_user = true);
}

static int disable_under_cover(const void *unused)
{
	int procfs;

	/* Read-only for us; a descriptor from before still leads past it */
	procfs = (int)syscall(SYS_open_tree, AT_FDCWD, "/proc",
			      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
			      AT_RECURSIVE);
	CHECK(procfs >= 0);
	CHECK(mount("/proc/sys", "/proc/sys", NULL, MS_BIND, NULL) == 0);
	CHECK(mount(NULL, "/proc/sys", NULL,
		    MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV |
		    MS_NOEXEC, NULL) == 0);
	CHECK(userns_disable_nesting(-EBADF, &err) < 0);
	CHECK(strstr(err.text, "max_user_namespaces"));
	ATTEMPT(userns_disable_nesting(procfs, &err));
	return 0;
}

Test(userns, ends_nesting_through_an_earlier_descriptor)
{
	expect_passes(disable_under_cover,
		      .unshare = CLONE_NEWUSER | CLONE_NEWNS);
}

static int disable_without_right(const void *unused)
{
	ATTEMPT(caps_apply(0, false, &err));
	REFUSED(userns_disable_nesting(-EBADF, &err), EACCES,
		"max_user_namespaces");
	REFUSED(userns_check_no_nesting(&err), EEXIST, "user namespace");
	return 0;
}

Test(userns, says_that_nesting_could_not_be_ended)
{
	expect_passes(disable_without_right);
}
