/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The end of a control group: its processes killed, its directories removed.
 *
 * Version 2 kills a whole group with one write.  Version 1 has only the list
 * of processes, which may fork while it is read: it is killed over and over
 * until it is empty.  A number in that list can belong to somebody else by
 * the time it is used; so each is opened as a pidfd first and must still be
 * in the list afterwards.
 */
#include "sys/cgroup.h"

#include "base/mem.h"
#include "sys/cgroup_files.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	CGROUP_KILL_ROUNDS = 1000, /* a millisecond between two */
	CGROUP_LIST_MAX = 1 << 16, /* bytes of a list that are looked at */
};

static void cgroup_sleep(unsigned milliseconds)
{
	const struct timespec time = {
		.tv_sec = milliseconds / 1000,
		.tv_nsec = (long)(milliseconds % 1000) * 1000000,
	};

	nanosleep(&time, NULL);
}

/* ---- killing --------------------------------------------------------------- */

/* The next number of a list of processes; 0: no more. */
static pid_t cgroup_next_pid(const char **list)
{
	char *end;
	long pid = strtol(*list, &end, 10);

	/* Processes of a pid namespace that cannot be seen are listed as 0 */
	while (end != *list && pid <= 0) {
		*list = end;
		pid = strtol(*list, &end, 10);
	}
	if (end == *list)
		return 0;
	*list = end;
	return (pid_t)pid;
}

static bool cgroup_has(int directory, pid_t pid)
{
	auto_free char *list = malloc(CGROUP_LIST_MAX);
	const char *at = list;
	pid_t other;

	if (!list || cgroup_read_file(directory, "cgroup.procs", list,
				      CGROUP_LIST_MAX) < 0)
		return false;
	while ((other = cgroup_next_pid(&at)))
		if (other == pid)
			return true;
	return false;
}

static void cgroup_kill_process(int directory, pid_t pid)
{
	auto_close int pidfd = -EBADF;
	struct error ignored;

	pidfd = proc_pidfd_open(pid, &ignored);
	if (!cgroup_has(directory, pid))
		return;
	/* Before Linux 5.3 the number of a moment ago is all there is. */
	if (pidfd >= 0)
		proc_pidfd_signal(pidfd, SIGKILL, &ignored);
	else if (ignored.code != ESRCH)
		kill(pid, SIGKILL);
}

/* Kill what is listed; the number of processes, negative errno. */
static int cgroup_kill_listed(int directory)
{
	auto_free char *list = malloc(CGROUP_LIST_MAX);
	const char *at = list;
	int count = 0, result;
	pid_t pid;

	if (!list)
		return -ENOMEM;
	result = cgroup_read_file(directory, "cgroup.procs", list,
				  CGROUP_LIST_MAX);
	if (result < 0)
		return result == -ENODEV ? 0 : result;
	for (; (pid = cgroup_next_pid(&at)); count++)
		cgroup_kill_process(directory, pid);
	return count;
}

static int cgroup_kill_directory(int directory)
{
	int left = 0;
	int result = cgroup_write_file(directory, "cgroup.kill", "1");

	if (result != -ENOENT)
		return result == -ENODEV ? 0 : result;
	for (int round = 0; round < CGROUP_KILL_ROUNDS; round++) {
		left = cgroup_kill_listed(directory);
		if (left <= 0)
			return left;
		cgroup_sleep(1);
	}
	return -EBUSY;
}

int cgroup_kill(const struct cgroup *cgroup, struct error *err)
{
	int result = 0;

	/* All have the same processes; one each is needed if not quite */
	if (cgroup->v2.fd >= 0)
		result = cgroup_kill_directory(cgroup->v2.fd);
	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT && !result; i++)
		if (cgroup->v1[i].fd >= 0)
			result = cgroup_kill_directory(cgroup->v1[i].fd);
	if (result < 0)
		return error_set(err, -result, "cgroup: kill everything in "
					       "'%s'", cgroup->name);
	return 0;
}

/* ---- removing -------------------------------------------------------------- */

static int cgroup_remove_directory(int parent_fd, const char *name,
				   unsigned timeout_ms, struct error *err)
{
	unsigned waited = 0;

	if (parent_fd < 0)
		return 0;
	while (unlinkat(parent_fd, name, AT_REMOVEDIR) < 0) {
		if (errno == ENOENT || errno == ENODEV)
			return 0;
		if (errno != EBUSY || waited >= timeout_ms)
			return error_set(err, errno, "cgroup: rmdir '%s'",
					 name);
		cgroup_sleep(1);
		waited++;
	}
	return 0;
}

/* Are there groups beside the launcher's leaf? */
static bool cgroup_has_others(int parent_fd)
{
	struct stat info;

	/* "." and "..", and one for each directory */
	return fstat(parent_fd, &info) < 0 || info.st_nlink > 3;
}

/* Everybody in the leaf goes back to the group that it was made in. */
static int cgroup_return(struct cgroup *cgroup, unsigned timeout_ms,
			 struct error *err)
{
	int parent_fd = cgroup->v2.parent_fd;
	char list[4096];
	const char *at = list;
	pid_t pid;
	int result;

	if (cgroup->self_enabled && cgroup_has_others(parent_fd))
		return error_set(err, EBUSY, "cgroup: other groups are beside "
					     "'%s'", cgroup->self_name);
	if (cgroup->self_enabled) {
		result = cgroup_switch_controllers(parent_fd, '-',
						   cgroup->self_enabled);
		if (result < 0 && result != -ENODEV)
			return error_set(err, -result, "cgroup: disable "
						       "controllers in "
						       "cgroup.subtree_control");
		cgroup->self_enabled = 0;
	}
	if (!cgroup_read_file(cgroup->self_fd, "cgroup.procs", list,
			      sizeof(list)))
		while ((pid = cgroup_next_pid(&at)))
			cgroup_move(parent_fd, pid);
	return cgroup_remove_directory(parent_fd, cgroup->self_name,
				       timeout_ms, err);
}

int cgroup_remove(struct cgroup *cgroup, unsigned timeout_ms,
		  struct error *err)
{
	int result = 0, first = 0;

	/* One that stays does not keep the others from going */
	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
		if (cgroup->v1[i].fd < 0)
			continue;
		result = cgroup_remove_directory(cgroup->v1[i].parent_fd,
						 cgroup->name, timeout_ms,
						 err);
		first = first ? first : result;
	}
	if (cgroup->v2.fd >= 0) {
		result = cgroup_remove_directory(cgroup->v2.parent_fd,
						 cgroup->name, timeout_ms,
						 err);
		first = first ? first : result;
	}
	if (cgroup->self_fd >= 0) {
		result = cgroup_return(cgroup, timeout_ms, err);
		first = first ? first : result;
	}
	return first;
}

void cgroup_close(struct cgroup *cgroup)
{
	mem_close_fd(&cgroup->v2.parent_fd);
	mem_close_fd(&cgroup->v2.fd);
	mem_close_fd(&cgroup->self_fd);
	for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
		mem_close_fd(&cgroup->v1[i].parent_fd);
		mem_close_fd(&cgroup->v1[i].fd);
	}
}
