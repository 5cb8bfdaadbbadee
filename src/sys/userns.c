/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * User namespaces.
 *
 * Ids: three files of procfs, written once each, in the order uid_map,
 * setgroups, gid_map.  A process may write its own (one id, its own) or have
 * them written by one outside, which is why they are addressed by pid.
 *
 * A namespace for an id-mapped mount needs a process to live in while its
 * maps are written.  It is made with CLONE_VM, so nothing is copied for it,
 * and does nothing but wait for its SIGKILL; the descriptor keeps the
 * namespace.
 *
 * Nesting ends by a limit and not only by a system-call filter: the limit
 * holds for every way to ask, clone3(2) included.
 */
#include "sys/userns.h"

#include "base/text.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The inode of the first user namespace, USER_NS_INIT_INO since 6.18. */
enum { USERNS_INITIAL_INODE = (int)0xEFFFFFFDU };

/* ---- maps ----------------------------------------------------------------- */

/* One write, as the kernel wants it; @file is below the process's directory. */
static int userns_write_file(int procfs, pid_t pid, const char *file,
			     const char *text, struct error *err)
{
	char path[64];
	auto_close int fd = -EBADF;

	if (pid)
		snprintf(path, sizeof(path), "%d/%s", (int)pid, file);
	else
		snprintf(path, sizeof(path), "self/%s", file);
	fd = proc_open_file(procfs, path, O_WRONLY, err);
	if (fd < 0)
		return error_call(err, -fd, file, "%s: open '/proc/%s'", file,
				  path);
	if (write(fd, text, strlen(text)) < 0) {
		int first = (int)strcspn(text, "\n");

		return error_call(err, errno, file, "%s: write '%.*s' to "
				  "'/proc/%s'", file, first, text, path);
	}
	return 0;
}

int userns_write_maps(int procfs, pid_t pid, const char *uid_map,
		      const char *gid_map, bool deny_setgroups,
		      struct error *err)
{
	const struct {
		const char *file, *text;
	} steps[] = {
		{ "uid_map", uid_map },
		{ "setgroups", deny_setgroups ? "deny" : NULL },
		{ "gid_map", gid_map },
	};
	auto_close int own = -EBADF;

	if (procfs < 0) {
		own = proc_open_procfs(err);
		if (own < 0)
			return own;
		procfs = own;
	}
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		int result;

		if (!steps[i].text)
			continue;
		result = userns_write_file(procfs, pid, steps[i].file,
					   steps[i].text, err);
		if (result < 0)
			return result;
	}
	return 0;
}

/* Where the reading of a map stands. */
struct userns_reader {
	uint32_t number[3]; /* of the line at hand */
	int count;          /* complete ones */
	bool is_inside;     /* of the next one */
};

/* Take one more character; false: not one of a map. */
static bool userns_read_char(struct userns_reader *reader, char next,
			     struct arena *arena, struct userns_map *map)
{
	if (next >= '0' && next <= '9' && reader->count < 3) {
		uint32_t *number = &reader->number[reader->count];

		*number = reader->is_inside ? *number * 10 : 0;
		*number += (uint32_t)(next - '0');
		reader->is_inside = true;
		return true;
	}
	if (next != ' ' && next != '\n')
		return false;
	reader->count += reader->is_inside;
	reader->is_inside = false;
	if (next == '\n') {
		if (reader->count != 3)
			return false;
		reader->count = 0;
		*arena_push(arena, &map->ranges) = (struct userns_range){
			.inside = reader->number[0],
			.outside = reader->number[1],
			.count = reader->number[2],
		};
	}
	return true;
}

/*
 * By hand and through a small buffer: this is on the way of every start, and
 * the pages that stdio touches first cost more than all of the reading.
 */
static int userns_read_map(int procfs, const char *path, struct arena *arena,
			   struct userns_map *map, struct error *err)
{
	struct userns_reader reader = { .count = 0 };
	auto_close int fd = -EBADF;
	char text[256];
	ssize_t size;

	fd = proc_open_file(procfs, path, O_RDONLY, err);
	if (fd < 0)
		return fd;
	while ((size = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < size; i++)
			if (!userns_read_char(&reader, text[i], arena, map))
				return error_set(err, EBADMSG,
						 "'/proc/%s' is no id map",
						 path);
	if (size < 0)
		return error_set(err, errno, "read '/proc/%s'", path);
	return 0;
}

int userns_read_own(int procfs, struct arena *arena,
		    struct userns_ids *ret_ids, struct error *err)
{
	struct userns_ids ids = { .is_initial = false };
	auto_close int own = -EBADF;
	struct stat info;
	int result;

	if (procfs < 0) {
		own = proc_open_procfs(err);
		if (own < 0)
			return own;
		procfs = own;
	}
	result = userns_read_map(procfs, "self/uid_map", arena, &ids.uid, err);
	if (result < 0)
		return result;
	result = userns_read_map(procfs, "self/gid_map", arena, &ids.gid, err);
	if (result < 0)
		return result;
	/*
	 * The maps do not tell: root can give a namespace all ids, too.  A
	 * kernel without user namespaces has no such file, and one level.
	 */
	if (fstatat(procfs, "self/ns/user", &info, 0) == 0)
		ids.is_initial = info.st_ino == (unsigned)USERNS_INITIAL_INODE;
	else if (errno == ENOENT)
		ids.is_initial = true;
	else
		return error_set(err, errno, "stat '/proc/self/ns/user'");
	*ret_ids = ids;
	return 0;
}

bool userns_map_find(const struct userns_map *map, uint32_t id,
		     uint32_t *ret_outside)
{
	for (size_t i = 0; i < map->ranges.count; i++) {
		const struct userns_range *range = &map->ranges.at[i];

		if (id < range->inside || id - range->inside >= range->count)
			continue;
		if (ret_outside)
			*ret_outside = range->outside + (id - range->inside);
		return true;
	}
	return false;
}

/* ---- a namespace for an id-mapped mount ------------------------------------ */

/*
 * Runs in the memory of its parent, beside it: it must not touch anything,
 * not even errno.  All signals are blocked, so pause() never returns.
 */
static int userns_helper(void *parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != *(const pid_t *)parent)
		return 0;
	for (;;)
		pause();
}

/* Start the helper on @stack; returns its pid. */
static pid_t userns_start_helper(char *stack, size_t size, pid_t *parent,
				 int *ret_pidfd, struct error *err)
{
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	/* No exit signal: nobody's SIGCHLD handling learns of it */
	pid = clone(userns_helper, stack + size,
		    CLONE_VM | CLONE_NEWUSER | CLONE_PIDFD, parent, ret_pidfd);
	if (pid < 0)
		error_call(err, errno, "clone", "clone a user namespace for "
			   "id-mapped mounts");
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid < 0 ? error_result(err) : pid;
}

static int userns_open_of(int procfs, pid_t pid, struct error *err)
{
	auto_close int fd = -EBADF;
	char path[64];
	struct statfs info;

	/* A magic link by its nature; what it leads to is checked instead */
	snprintf(path, sizeof(path), "%d/ns/user", (int)pid);
	fd = openat(procfs, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, errno, "open '/proc/%s'", path);
	if (fstatfs(fd, &info) < 0 || info.f_type != NSFS_MAGIC)
		return error_set(err, EXDEV, "'/proc/%s' is no namespace",
				 path);
	return take_fd(&fd);
}

/* Maps of the helper's namespace; returns the namespace. */
static int userns_map_helper(pid_t pid, const char *uid_map,
			     const char *gid_map, struct error *err)
{
	auto_close int procfs = -EBADF;
	int result;

	procfs = proc_open_procfs(err);
	if (procfs < 0)
		return procfs;
	result = userns_write_maps(procfs, pid, uid_map, gid_map, false, err);
	if (result < 0)
		return result;
	return userns_open_of(procfs, pid, err);
}

int userns_create_idmap(uid_t disk_uid, gid_t disk_gid, uid_t host_uid,
			gid_t host_gid, struct error *err)
{
	_Alignas(16) char stack[16384];
	char uid_map[64], gid_map[64];
	auto_close int pidfd = -EBADF;
	pid_t parent = getpid(), pid;
	struct error ignored;
	int fd, status;

	snprintf(uid_map, sizeof(uid_map), "%u %u 1", disk_uid, host_uid);
	snprintf(gid_map, sizeof(gid_map), "%u %u 1", disk_gid, host_gid);
	pid = userns_start_helper(stack, sizeof(stack), &parent, &pidfd, err);
	if (pid < 0)
		return pid;
	fd = userns_map_helper(pid, uid_map, gid_map, err);
	if (fd < 0)
		error_wrap(err, "id map for mounts");
	/* It uses our stack and memory: gone before we return. */
	proc_child_signal(pidfd, pid, SIGKILL, &ignored);
	proc_child_wait(pidfd, pid, true, &status, NULL, &ignored);
	return fd;
}

/* ---- nesting --------------------------------------------------------------- */

int userns_check_no_nesting(struct error *err)
{
	if (unshare(CLONE_NEWUSER) == 0)
		return error_set(err, EEXIST,
				 "a further user namespace could be made");
	return 0;
}

int userns_disable_nesting(int procfs, struct error *err)
{
	static const char path[] = "sys/user/max_user_namespaces";
	auto_close int fd = -EBADF;
	char text[16] = "";

	fd = proc_open_file(procfs, path, O_RDWR, err);
	if (fd < 0)
		return error_wrap(err, "end nesting of user namespaces");
	if (write(fd, "0", 1) < 0)
		return error_set(err, errno, "write '0' to '/proc/%s'", path);
	if (pread(fd, text, sizeof(text) - 1, 0) < 0)
		return error_set(err, errno, "read '/proc/%s'", path);
	if (strcmp(text, "0\n") != 0)
		return error_set(err, EIO, "'/proc/%s' did not become 0", path);
	return userns_check_no_nesting(err);
}
