/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Control groups, on whatever the machine has: each claim is about the
 * version that cgroup_probe() finds.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "attempt.h"
#include "base/mem.h"
#include "harness/arena.h"
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
		skip_test("cgroup", "%s", support.why_not[controller]);
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
	struct cgroup cgroup;
	int pidfd, status;

	limits.processes = 4;
	ATTEMPT(cgroup_create(&limits, &cgroup, &err));
	CHECK(start_inside(&cgroup, count_forks, &pidfd) > 0);
	ATTEMPT(proc_child_wait(pidfd, 0, true, &status, NULL, &err));
	CHECK(WEXITSTATUS(status) == 3);
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
	struct cgroup cgroup;
	int pidfd, status;

	limits.memory = 16 << 20;
	ATTEMPT(cgroup_create(&limits, &cgroup, &err));
	CHECK(start_inside(&cgroup, use_memory, &pidfd) > 0);
	ATTEMPT(proc_child_wait(pidfd, 0, true, &status, NULL, &err));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
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
	ATTEMPT(proc_child_wait(pidfd, 0, true, &status, NULL, &err));
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
	CHECK(strstr(support.why_not[CGROUP_PIDS], "no cgroup file system"));
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
	CHECK(*support.why_not[CGROUP_PIDS]);
	REFUSED(cgroup_create(&limits, &cgroup, &err), ENOTSUP, "pids");
	CHECK(strstr(err.remedy, "Delegate"));
	return 0;
}

Test(cgroup, an_ordinary_user_gets_it_or_is_told_why)
{
	expect_passes(without_right, .as_user = true);
}

/* ---- version 2, delegated to an ordinary user ------------------------------- */

/* The test is the service manager. */
static const char top[] = "/sys/fs/cgroup";
static const char controllers[] = "+pids +memory +cpu";

/* A group below the root that belongs to the ordinary user; its path. */
static const char *delegate(const char *name)
{
	const char *path = arena_format("%s/sbx-test-%d%s", top, getpid(),
					name);
	static const char *const files[] = {
		"", "cgroup.procs", "cgroup.subtree_control",
		"cgroup.threads",
	};

	directory_make(path, 0755);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		cr_assert(chown(path_in(path, files[i]), identity_user(),
				identity_user()) == 0);
	return path;
}

static void write_to(const char *directory, const char *file,
		     const char *text)
{
	const char *path = path_in(directory, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		harness_fail("write '%s' to %s: %s", text, path,
			     strerror(errno));
	close(fd);
}

/* Somebody else's process in @group. */
static struct process *start_in(const char *group)
{
	struct process *process =
		process_start(&(struct program){ .argv = ARGV("sleep", "60") });

	write_to(group, "cgroup.procs",
		 arena_format("%d", process_pid(process)));
	return process;
}

static void needs_v2(void)
{
	struct statfs info;

	if (identity_self() != IDENTITY_ROOT)
		skip_test("cgroup2", "a user to delegate to");
	if (statfs(top, &info) < 0 || info.f_type != CGROUP2_SUPER_MAGIC ||
	    !strstr(file_read(path_in(top, "cgroup.controllers"), NULL),
		    "pids"))
		skip_test("cgroup2", "controllers of version 2");
	write_to(top, "cgroup.subtree_control", controllers);
}

/* Into @group, and then the ordinary user. */
static int become_user_in(const char *group)
{
	int fd = open(path_in(group, "cgroup.procs"), O_WRONLY | O_CLOEXEC);

	CHECK(write(fd, "0", 1) == 1);
	close(fd);
	CHECK(setgid(identity_user()) == 0 && setuid(identity_user()) == 0);
	return 0;
}

/* A whole run with all limits, as the engine makes it. */
static int run_limited(const char *place)
{
	const struct cgroup_limits limits = {
		.processes = 5, .memory = 32 << 20, .cpu_percent = 50,
	};
	struct cgroup_support support;
	struct cgroup cgroup;
	struct proc_clone args;
	int go[2], pidfd, status;
	const char *group;
	char byte;

	cgroup_probe(&support);
	for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		CHECK(support.version[i] == CGROUP_V2);
	ATTEMPT(cgroup_create(&limits, &cgroup, &err));
	group = path_in(place, cgroup.name);
	CHECK(file_exists(group));
	CHECK(!strcmp(file_read(path_in(group, "pids.max"), NULL), "5\n"));
	CHECK(!strcmp(file_read(path_in(group, "memory.max"), NULL),
		      "33554432\n"));
	CHECK(!strcmp(file_read(path_in(group, "memory.oom.group"), NULL),
		      "1\n"));
	CHECK(!strcmp(file_read(path_in(group, "cpu.max"), NULL),
		      "50000 100000\n"));
	args = (struct proc_clone){ .cgroup_fd = cgroup_clone_fd(&cgroup) };
	CHECK(pipe2(go, O_CLOEXEC) == 0);
	/* Held, since the old clone(2) moves it when it runs already */
	if (!ATTEMPT(proc_clone(&args, &pidfd, &err)))
		_exit(read(go[0], &byte, 1) == 1 ? count_forks() : 99);
	CHECK(write(go[1], "x", 1) == 1);
	ATTEMPT(proc_child_wait(pidfd, 0, true, &status, NULL, &err));
	CHECK(WEXITSTATUS(status) == 4);
	CHECK(strstr(file_read(path_in(group, "pids.events"), NULL),
		     "max 1\n"));
	CHECK(strstr(file_read(path_in(group, "memory.events"), NULL),
		     "oom_kill 0\n"));
	REFUSED(cgroup_remove(&cgroup, 5, &err), EBUSY, cgroup.name);
	ATTEMPT(cgroup_kill(&cgroup, &err));
	ATTEMPT(cgroup_remove(&cgroup, 2000, &err));
	cgroup_close(&cgroup);
	CHECK(!file_exists(group));
	return 0;
}

static int run_alone(const void *group)
{
	struct stat info;

	CHECK(become_user_in(group) == 0);
	CHECK(run_limited(group) == 0);
	/* As before: in the group, which has none below, hands on nothing */
	CHECK(stat(group, &info) == 0 && info.st_nlink == 2);
	CHECK(!strcmp(file_read(path_in(group, "cgroup.procs"), NULL),
		      arena_format("%d\n", getpid())));
	CHECK(!strcmp(file_read(path_in(group, "cgroup.subtree_control"),
				NULL), "\n") ||
	      !*file_read(path_in(group, "cgroup.subtree_control"), NULL));
	/* And again */
	return run_limited(group);
}

Test(cgroup, a_launcher_alone_in_its_group)
{
	const char *group;

	needs_v2();
	group = delegate("");
	expect_passes(run_alone, .data = group);
	expect_passes(run_alone, .data = group, REFUSING({ "clone3", ENOSYS }));
	cr_expect(rmdir(group) == 0);
}

static int run_below(const void *group)
{
	CHECK(become_user_in(path_in(group, "main")) == 0);
	return run_limited(group);
}

Test(cgroup, a_service_that_sits_in_a_leaf)
{
	const char *group, *leaf;
	struct process *other;

	needs_v2();
	group = delegate("");
	leaf = delegate("/main");
	write_to(group, "cgroup.subtree_control", controllers);
	/* Someone else is in the leaf: no matter */
	other = start_in(leaf);
	expect_passes(run_below, .data = group);
	process_signal(other, SIGKILL);
	process_finish(other);
	cr_expect(rmdir(leaf) == 0 && rmdir(group) == 0);
}

static int refuse_beside_others(const void *group)
{
	const struct cgroup_limits limits = {
		.processes = 5, .memory = UINT64_MAX, .cpu_percent = UINT64_MAX,
	};
	struct cgroup cgroup;

	CHECK(become_user_in(group) == 0);
	REFUSED(cgroup_create(&limits, &cgroup, &err), ENOTSUP, "pids");
	CHECK(strstr(err.remedy, "Delegate"));
	return 0;
}

Test(cgroup, refuses_a_group_that_others_are_in)
{
	const char *group;
	struct process *other;

	needs_v2();
	group = delegate("");
	other = start_in(group);
	expect_passes(refuse_beside_others, .data = group);
	process_signal(other, SIGKILL);
	process_finish(other);
	cr_expect(rmdir(group) == 0);
}

/* The launcher is killed; a process that it made cleans up. */
static int leave_it_to_another(const void *group)
{
	const struct cgroup_limits limits = {
		.processes = 5, .memory = UINT64_MAX, .cpu_percent = UINT64_MAX,
	};
	struct cgroup cgroup;
	pid_t launcher = getpid();

	CHECK(become_user_in(group) == 0);
	ATTEMPT(cgroup_create(&limits, &cgroup, &err));
	if (!fork()) {
		while (getppid() == launcher)
			usleep(1000);
		ATTEMPT(cgroup_remove(&cgroup, 2000, &err));
	}
	return 0;
}

Test(cgroup, another_process_removes_it)
{
	const char *group;
	int tries = 0;

	needs_v2();
	group = delegate("");
	expect_passes(leave_it_to_another, .data = group);
	/* Nothing below it once nobody is in it */
	while (rmdir(group) < 0 && tries++ < 20000)
		usleep(1000);
	cr_expect(!file_exists(group));
}

/* ---- what was used ------------------------------------------------------------------- */

Test(cgroup, what_was_used_is_in_its_files)
{
	const char *group = scratch_make();
	struct cgroup cgroup;
	struct cgroup_usage usage;

	cgroup_init(&cgroup);
	cgroup_usage(&cgroup, &usage);
	cr_expect(usage.memory_peak == UINT64_MAX &&
		  usage.user_us == UINT64_MAX && usage.system_us == UINT64_MAX);
	file_write(path_in(group, "memory.peak"), "1234567\n");
	file_write(path_in(group, "cpu.stat"), "usage_usec 300\n"
		   "user_usec 200\nsystem_usec 100\nnr_periods 0\n");
	cgroup.v2.fd = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cgroup_usage(&cgroup, &usage);
	cr_expect_eq(usage.memory_peak, 1234567);
	cr_expect_eq(usage.user_us, 200);
	cr_expect_eq(usage.system_us, 100);
	/* Before 5.19; and of version 1. */
	unlink(path_in(group, "memory.peak"));
	file_write(path_in(group, "cpu.stat"), "user_usec\n");
	cgroup_usage(&cgroup, &usage);
	cr_expect(usage.memory_peak == UINT64_MAX &&
		  usage.user_us == UINT64_MAX);
	file_write(path_in(group, "memory.max_usage_in_bytes"), "77\n");
	cgroup.v1[CGROUP_MEMORY].fd = fcntl(cgroup.v2.fd, F_DUPFD_CLOEXEC, 3);
	cgroup_usage(&cgroup, &usage);
	cr_expect_eq(usage.memory_peak, 77);
	cgroup_close(&cgroup);
}
