/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Control groups, on whatever the machine has: each claim is about the
 * version that cgroup_probe() finds.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "attempt.h"
#include "base/mem.h"
#include "harness/identity.h"
#include "harness/program.h"
#include "harness/scratch.h"
#include "sys/cgroup.h"
#include "sys/proc.h"

static struct error err;

static const struct cgroup_limits no_limits = {
	.processes = UINT64_MAX,
	.memory = UINT64_MAX,
	.cpu_percent = UINT64_MAX,
};

/* Skips the test where this process cannot limit @controller. */
static void needs(enum cgroup_controller controller)
{
	struct cgroup_support support;

	cgroup_probe(&support);
	if (support.version[controller] == CGROUP_NONE)
		skip_test("cgroup", "%s", support.why_not);
}

/* Where the group of @controller is. */
static int directory_of(const struct cgroup *cgroup,
			enum cgroup_controller controller)
{
	return cgroup->version[controller] == CGROUP_V2
		? cgroup->v2.fd : cgroup->v1[controller].fd;
}

/* A process in the group, held until it is inside. */
static pid_t start_inside(const struct cgroup *cgroup, int (*call)(void),
			  int *ret_pidfd)
{
	const struct proc_clone args = {
		.cgroup_fd = cgroup_clone_fd(cgroup),
	};
	int go[2];
	char byte;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) < 0)
		return -1;
	pid = proc_clone(&args, ret_pidfd, &err);
	if (!pid)
		_exit(read(go[0], &byte, 1) == 1 ? call() : 99);
	if (pid > 0 && (cgroup_attach(cgroup, pid, false, &err) < 0 ||
			write(go[1], "x", 1) != 1))
		return -1;
	close(go[0]);
	close(go[1]);
	return pid;
}

/* ---- processes ------------------------------------------------------------- */

/* How many children can be made; all of them end with this process. */
static int count_forks(void)
{
	int count = 0;
	pid_t pid;

	while ((pid = fork()) > 0)
		count++;
	if (!pid)
		for (;;)
			pause();
	return errno == EAGAIN ? count : 98;
}

static int limit_processes(const void *unused)
{
	struct cgroup_limits limits = no_limits;
	struct cgroup_usage usage;
	struct cgroup cgroup;
	int pidfd, status;

	limits.processes = 4;
	ATTEMPT(cgroup_create(&limits, &cgroup, &err));
	CHECK(start_inside(&cgroup, count_forks, &pidfd) > 0);
	ATTEMPT(proc_pidfd_wait(pidfd, true, &status, NULL, &err));
	CHECK(WEXITSTATUS(status) == 3);
	cgroup_read_usage(&cgroup, &usage);
	CHECK(usage.forks_refused == 1);
	CHECK(usage.memory_peak == UINT64_MAX);
	/* Three are left in there */
	REFUSED(cgroup_remove(&cgroup, 5, &err), EBUSY, cgroup.name);
	ATTEMPT(cgroup_kill(&cgroup, &err));
	ATTEMPT(cgroup_remove(&cgroup, 2000, &err));
	/* Gone is gone */
	ATTEMPT(cgroup_remove(&cgroup, 0, &err));
	CHECK(faccessat(cgroup.v1[CGROUP_PIDS].parent_fd, cgroup.name, F_OK,
			0) < 0);
	cgroup_close(&cgroup);
	ATTEMPT(cgroup_remove(&cgroup, 0, &err));
	return 0;
}

Test(cgroup, limits_processes)
{
	needs(CGROUP_PIDS);
	expect_passes(limit_processes);
	expect_passes(limit_processes, REFUSING({ "clone3", ENOSYS }));
}

/* ---- memory ---------------------------------------------------------------- */

static int use_memory(void)
{
	size_t size = 64 << 20;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < size; i += 4096)
		memory[i] = 1;
	return 0;
}

static int limit_memory(const void *unused)
{
	struct cgroup_limits limits = no_limits;
	struct cgroup_usage usage;
	struct cgroup cgroup;
	int pidfd, status;

	limits.memory = 16 << 20;
	ATTEMPT(cgroup_create(&limits, &cgroup, &err));
	CHECK(start_inside(&cgroup, use_memory, &pidfd) > 0);
	ATTEMPT(proc_pidfd_wait(pidfd, true, &status, NULL, &err));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	cgroup_read_usage(&cgroup, &usage);
	CHECK(usage.oom_kills >= 1 && usage.oom_kills != UINT64_MAX);
	CHECK(usage.memory_peak > 8 << 20 && usage.memory_peak <= 16 << 20);
	ATTEMPT(cgroup_remove(&cgroup, 2000, &err));
	cgroup_close(&cgroup);
	return 0;
}

Test(cgroup, limits_memory)
{
	needs(CGROUP_MEMORY);
	expect_passes(limit_memory);
}

/* ---- CPU ------------------------------------------------------------------- */

static int nothing(void)
{
	return 0;
}

static int limit_cpu(const void *unused)
{
	struct cgroup_limits limits = no_limits;
	struct cgroup cgroup;
	char text[64] = "";
	int pidfd, status, fd;
	bool is_v2;

	limits.cpu_percent = 150;
	ATTEMPT(cgroup_create(&limits, &cgroup, &err));
	CHECK(start_inside(&cgroup, nothing, &pidfd) > 0);
	ATTEMPT(proc_pidfd_wait(pidfd, true, &status, NULL, &err));
	is_v2 = cgroup.version[CGROUP_CPU] == CGROUP_V2;
	fd = openat(directory_of(&cgroup, CGROUP_CPU),
		    is_v2 ? "cpu.max" : "cpu.cfs_quota_us",
		    O_RDONLY | O_CLOEXEC);
	CHECK(read(fd, text, sizeof(text) - 1) > 0);
	CHECK(!strcmp(text, is_v2 ? "150000 100000\n" : "150000\n"));
	ATTEMPT(cgroup_remove(&cgroup, 2000, &err));
	cgroup_close(&cgroup);
	return 0;
}

Test(cgroup, limits_cpu)
{
	needs(CGROUP_CPU);
	expect_passes(limit_cpu);
}

/* ---- failures -------------------------------------------------------------- */

static int refuse_limits(const void *unused)
{
	struct cgroup_limits limits = no_limits;
	struct cgroup cgroup = { .self_fd = 4711 };

	REFUSED(cgroup_create(&limits, &cgroup, &err), EINVAL, "limit");
	CHECK(cgroup.self_fd == 4711);
	return 0;
}

Test(cgroup, a_group_without_a_limit_is_an_error)
{
	expect_passes(refuse_limits);
}

/* Whatever was made before the failing limit is gone again. */
static int fail_half_way(const void *unused)
{
	struct cgroup_limits limits = {
		.processes = 10, .memory = UINT64_MAX, .cpu_percent = 0,
	};
	struct cgroup cgroup, other;
	struct stat before, after;

	ATTEMPT(cgroup_create(&(struct cgroup_limits){
		10, UINT64_MAX, UINT64_MAX }, &other, &err));
	CHECK(fstat(other.version[CGROUP_PIDS] == CGROUP_V2
		    ? other.v2.parent_fd
		    : other.v1[CGROUP_PIDS].parent_fd, &before) == 0);
	/* No CPU at all is no limit that the kernel knows */
	REFUSED(cgroup_create(&limits, &cgroup, &err), EINVAL, "cpu.");
	CHECK(fstat(other.version[CGROUP_PIDS] == CGROUP_V2
		    ? other.v2.parent_fd
		    : other.v1[CGROUP_PIDS].parent_fd, &after) == 0);
	CHECK(before.st_nlink == after.st_nlink);
	ATTEMPT(cgroup_remove(&other, 0, &err));
	return 0;
}

Test(cgroup, a_failure_leaves_nothing)
{
	needs(CGROUP_PIDS);
	needs(CGROUP_CPU);
	expect_passes(fail_half_way);
}

static int without_cgroups(const void *unused)
{
	struct cgroup_limits limits = no_limits;
	struct cgroup_support support;
	struct cgroup cgroup;

	CHECK(mount("tmpfs", "/sys/fs/cgroup", "tmpfs", 0, NULL) == 0);
	cgroup_probe(&support);
	for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		CHECK(support.version[i] == CGROUP_NONE);
	CHECK(strstr(support.why_not, "no cgroup file system"));
	limits.memory = 1 << 20;
	REFUSED(cgroup_create(&limits, &cgroup, &err), ENOTSUP, "memory");
	CHECK(*err.remedy);
	return 0;
}

Test(cgroup, says_that_there_are_none)
{
	expect_passes(without_cgroups,
		      .unshare = CLONE_NEWUSER | CLONE_NEWNS);
}

/* An ordinary user in a group that is not the user's. */
static int without_right(const void *unused)
{
	struct cgroup_support support;
	struct cgroup_limits limits = no_limits;
	struct cgroup cgroup;

	cgroup_probe(&support);
	limits.processes = 10;
	if (support.version[CGROUP_PIDS] != CGROUP_NONE) {
		/* A machine that delegates: then it must work */
		ATTEMPT(cgroup_create(&limits, &cgroup, &err));
		ATTEMPT(cgroup_remove(&cgroup, 0, &err));
		return 0;
	}
	CHECK(*support.why_not);
	REFUSED(cgroup_create(&limits, &cgroup, &err), ENOTSUP, "pids");
	CHECK(strstr(err.remedy, "Delegate"));
	return 0;
}

Test(cgroup, an_ordinary_user_gets_it_or_is_told_why)
{
	expect_passes(without_right, .as_user = true);
}
