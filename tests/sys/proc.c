/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Processes: what the kernel shows of them afterwards. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "attempt.h"
#include "base/mem.h"
#include "harness/arena.h"
#include "harness/identity.h"
#include "harness/program.h"
#include "harness/scratch.h"
#include "sys/proc.h"

static struct error err;

/* ---- clone ---------------------------------------------------------------- */

static int clone_and_wait(const void *unused)
{
	const struct proc_clone args = {
		.flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS,
		.cgroup_fd = -EBADF,
	};
	struct rusage usage;
	int pidfd = -EBADF, status;
	pid_t pid;

	pid = (pid_t)ATTEMPT(proc_clone(&args, &pidfd, &err));
	if (!pid) {
		/* In the child: no pidfd, and the first of its namespace */
		_exit(pidfd == -EBADF && getpid() == 1 ? 41 : 1);
	}
	CHECK(fcntl(pidfd, F_GETFD) == FD_CLOEXEC);
	ATTEMPT(proc_child_wait(pidfd, pid, true, &status, &usage, &err));
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 41);
	CHECK(usage.ru_minflt > 0);
	REFUSED(proc_child_wait(pidfd, pid, true, &status, NULL, &err), ECHILD,
		"waitid");
	REFUSED(proc_pidfd_signal(pidfd, 0, &err), ESRCH, "pidfd_send_signal");
	return 0;
}

Test(proc, clones_into_namespaces_with_a_pidfd)
{
	expect_passes(clone_and_wait);
}

Test(proc, clones_where_clone3_is_unknown)
{
	expect_passes(clone_and_wait, REFUSING({ "clone3", ENOSYS }));
}

static int clone_is_refused(const void *unused)
{
	const struct proc_clone args = {
		.flags = CLONE_NEWUSER,
		.cgroup_fd = -EBADF,
	};
	int pidfd = 12345;

	REFUSED(proc_clone(&args, &pidfd, &err), EPERM, "clone");
	CHECK(pidfd == 12345);
	return 0;
}

Test(proc, says_that_a_clone_was_refused)
{
	expect_passes(clone_is_refused, REFUSING({ "clone3", EPERM }));
	expect_passes(clone_is_refused,
		      REFUSING({ "clone3", ENOSYS }, { "clone", EPERM }));
}

/* What only clone3(2) can say must not turn into something else. */
static int clone_of_new_flags(const void *unused)
{
	const struct proc_clone args = {
		.flags = 0x80 /* CLONE_NEWTIME */,
		.cgroup_fd = -EBADF,
	};
	int pidfd;

	REFUSED(proc_clone(&args, &pidfd, &err), ENOSYS, "clone3");
	return 0;
}

Test(proc, does_not_pass_new_flags_to_the_old_clone)
{
	expect_passes(clone_of_new_flags, REFUSING({ "clone3", ENOSYS }));
}

static int wait_for_signals(const void *unused)
{
	const struct proc_clone args = { .cgroup_fd = -EBADF };
	const struct rlimit no_core = { 0, 0 };
	int pidfd, again, status = 99;
	pid_t pid;

	pid = (pid_t)ATTEMPT(proc_clone(&args, &pidfd, &err));
	if (!pid) {
		setrlimit(RLIMIT_CORE, &no_core);
		for (;;)
			pause();
	}
	CHECK(proc_child_wait(pidfd, pid, false, &status, NULL, &err) ==
	      -EAGAIN);
	CHECK(status == 99);
	again = (int)ATTEMPT(proc_pidfd_open(pid, &err));
	ATTEMPT(proc_pidfd_signal(again, SIGABRT, &err));
	ATTEMPT(proc_child_wait(pidfd, pid, true, &status, NULL, &err));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	REFUSED(proc_pidfd_open(pid, &err), ESRCH, "pidfd_open");
	return 0;
}

Test(proc, signals_and_waits_through_the_pidfd)
{
	expect_passes(wait_for_signals);
	/* Before Linux 5.4 waitid(2) knows no pidfd. */
	expect_passes(wait_for_signals,
		      REFUSING({ "waitid", EINVAL, 0, ~0U, P_PIDFD }));
}

static int wait_without_a_pidfd(const void *unused)
{
	const struct proc_clone args = { .cgroup_fd = -EBADF };
	int pidfd = 12345, status = 99;
	pid_t pid;

	pid = (pid_t)ATTEMPT(proc_clone(&args, &pidfd, &err));
	if (!pid)
		for (;;)
			pause();
	CHECK(pidfd == -EBADF);
	CHECK(proc_child_wait(pidfd, pid, false, &status, NULL, &err) ==
	      -EAGAIN);
	ATTEMPT(proc_child_signal(pidfd, pid, SIGKILL, &err));
	proc_child_await(pidfd, pid, PROGRAM_TIME_LIMIT / 2);
	ATTEMPT(proc_child_wait(pidfd, pid, false, &status, NULL, &err));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	REFUSED(proc_child_wait(pidfd, pid, true, &status, NULL, &err),
		ECHILD, "wait4");
	return 0;
}

/* Before Linux 5.2 clone(2) has none, either. */
Test(proc, keeps_hold_of_a_child_without_a_pidfd)
{
	expect_passes(wait_without_a_pidfd, REFUSING({ "clone3", ENOSYS },
		{ "clone", EINVAL, 0, CLONE_PIDFD, CLONE_PIDFD },
		{ "pidfd_send_signal", ENOSYS }));
}

/* ---- procfs ---------------------------------------------------------------- */

enum { IN_MOUNTS = CLONE_NEWUSER | CLONE_NEWNS };

static int open_covered_file(const void *own_file)
{
	CHECK(mount(own_file, "/proc/uptime", NULL, MS_BIND, NULL) == 0);
	REFUSED(proc_open_file(-EBADF, "uptime", O_RDONLY, &err), EXDEV,
		"uptime");
	ATTEMPT(proc_open_file(-EBADF, "self/status", O_RDONLY, &err));
	/* A magic link leads anywhere */
	CHECK(proc_open_file(-EBADF, "self/exe", O_RDONLY, &err) < 0);
	return 0;
}

Test(proc, opens_nothing_that_was_mounted_over)
{
	const char *file = path_in(scratch_make(), "file");

	file_write(file, "forged");
	expect_passes(open_covered_file, .data = file,
		      .unshare = IN_MOUNTS);
	expect_passes(open_covered_file, .data = file,
		      .unshare = IN_MOUNTS, REFUSING({ "openat2", ENOSYS }));
}

static int open_covered_proc(const void *unused)
{
	int before = (int)ATTEMPT(proc_open_procfs(&err));

	CHECK(mount("tmpfs", "/proc", "tmpfs", 0, NULL) == 0);
	REFUSED(proc_open_procfs(&err), EXDEV, "/proc");
	REFUSED(proc_open_file(-EBADF, "self/status", O_RDONLY, &err), EXDEV,
		"/proc");
	/* The one from before still is what it was */
	ATTEMPT(proc_open_file(before, "self/status", O_RDONLY, &err));
	return 0;
}

Test(proc, refuses_a_proc_that_is_none)
{
	expect_passes(open_covered_proc, .unshare = IN_MOUNTS);
}

/* ---- descriptors ----------------------------------------------------------- */

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static int close_all_but_some(const void *unused)
{
	static const int keep[] = { 20, 7, 7, 8, 1, 500 };
	static const int gone[] = { 5, 6, 9, 19, 21, 499 };

	for (int fd = 5; fd < 25; fd++)
		CHECK(dup2(0, fd) == fd);
	CHECK(dup2(0, 499) == 499 && dup2(0, 500) == 500);
	ATTEMPT(proc_close_fds(-EBADF, 3, keep, ARRAY_SIZE(keep),
			       PROC_FDS_CLOSE, &err));
	for (size_t i = 0; i < ARRAY_SIZE(keep); i++)
		CHECK(is_open(keep[i]));
	for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
		CHECK(!is_open(gone[i]));
	CHECK(is_open(0) && is_open(2) && !is_open(3) && !is_open(4));
	ATTEMPT(proc_close_fds(-EBADF, 3, NULL, 0, PROC_FDS_CLOSE, &err));
	CHECK(!is_open(7) && !is_open(20) && !is_open(500) && is_open(2));
	return 0;
}

static int mark_all_but_one(const void *unused)
{
	static const int keep[] = { 6 };

	for (int fd = 5; fd < 8; fd++)
		CHECK(dup2(0, fd) == fd);
	ATTEMPT(proc_close_fds(-EBADF, 3, keep, 1, PROC_FDS_CLOEXEC, &err));
	CHECK(fcntl(5, F_GETFD) == FD_CLOEXEC);
	CHECK(fcntl(6, F_GETFD) == 0);
	CHECK(fcntl(7, F_GETFD) == FD_CLOEXEC);
	CHECK(fcntl(2, F_GETFD) == 0);
	return 0;
}

Test(proc, closes_descriptors)
{
	expect_passes(close_all_but_some);
	expect_passes(close_all_but_some, REFUSING({ "close_range", ENOSYS }));
	expect_passes(mark_all_but_one);
	expect_passes(mark_all_but_one, REFUSING({ "close_range", EPERM }));
}

static int close_without_proc(const void *unused)
{
	CHECK(mount("tmpfs", "/proc", "tmpfs", 0, NULL) == 0);
	REFUSED(proc_close_fds(-EBADF, 3, NULL, 0, PROC_FDS_CLOSE, &err), EXDEV,
		"descriptors");
	return 0;
}

static int close_with_a_proc_of_before(const void *unused)
{
	int procfs = (int)ATTEMPT(proc_open_procfs(&err));
	int other = dup(0);

	CHECK(mount("tmpfs", "/proc", "tmpfs", 0, NULL) == 0);
	ATTEMPT(proc_close_fds(procfs, 3, NULL, 0, PROC_FDS_CLOSE, &err));
	CHECK(!is_open(procfs) && !is_open(other) && is_open(0));
	return 0;
}

/* One that cannot be read, as behind Landlock: then /proc. */
static int close_with_another_proc(const void *unused)
{
	int other = open("/", O_PATH | O_CLOEXEC);

	ATTEMPT(proc_close_fds(other, 3, NULL, 0, PROC_FDS_CLOSE, &err));
	CHECK(!is_open(other) && is_open(0));
	return 0;
}

Test(proc, closes_descriptors_without_the_call)
{
	expect_passes(close_without_proc, .unshare = IN_MOUNTS,
		      REFUSING({ "close_range", ENOSYS }));
	expect_passes(close_with_a_proc_of_before, .unshare = IN_MOUNTS,
		      REFUSING({ "close_range", ENOSYS }));
	expect_passes(close_with_another_proc,
		      REFUSING({ "close_range", EPERM }));
}

/* ---- argument block -------------------------------------------------------- */

/* Everything of a file of /proc/self that is not NUL. */
static int visible_bytes(const char *path, char *ret_text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	static char block[1 << 20];
	ssize_t size = read(fd, block, sizeof(block));
	size_t count = 0;

	close(fd);
	for (ssize_t i = 0; i < size; i++)
		if (block[i] && count + 1 < room)
			ret_text[count++] = block[i];
	ret_text[count] = '\0';
	return size < 0 ? -1 : (int)count;
}

static int wipe_args(const void *unused)
{
	char text[256];

	CHECK(visible_bytes("/proc/self/environ", text, sizeof(text)) > 0);
	/* What was moved away in the meantime does not matter */
	setenv("HOME", "/elsewhere", 1);
	setenv("ANOTHER", "variable", 1);
	ATTEMPT(proc_wipe_args("init", &err));
	CHECK(visible_bytes("/proc/self/environ", text, sizeof(text)) == 0);
	CHECK(visible_bytes("/proc/self/cmdline", text, sizeof(text)) == 4);
	CHECK(!strcmp(text, "init"));
	/* A name that is longer than the block is cut off */
	char name[70000];
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	ATTEMPT(proc_wipe_args(name, &err));
	CHECK(visible_bytes("/proc/self/cmdline", text, sizeof(text)) > 0);
	return 0;
}

Test(proc, wipes_arguments_and_environment)
{
	expect_passes(wipe_args);
}

/* ---- attributes ------------------------------------------------------------ */

/* The value of a line "Name:\tVALUE" of /proc/self/status. */
static const char *status_line(const char *name)
{
	static char text[8192];
	const char *label = arena_format("\n%s:\t", name);
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t size = read(fd, text, sizeof(text) - 1);
	char *line;

	close(fd);
	text[size < 0 ? 0 : size] = '\0';
	line = strstr(text, label);
	if (!line)
		return "";
	line += strlen(label);
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static int reset_signals(const void *unused)
{
	uint64_t ignore[16] = { (uint64_t)(uintptr_t)SIG_IGN };

	for (int signal = 1; signal < _NSIG; signal++)
		syscall(SYS_rt_sigaction, signal, ignore, NULL, 8);
	CHECK(strcmp(status_line("SigIgn"), "fffffffffffbfeff") == 0);
	ATTEMPT(proc_reset_signals(1ULL << (SIGALRM - 1), &err));
	CHECK(strcmp(status_line("SigIgn"), "fffffffffffbdeff") == 0);
	ATTEMPT(proc_reset_signals(UINT64_MAX, &err));
	CHECK(strcmp(status_line("SigIgn"), "0000000000000000") == 0);
	CHECK(strcmp(status_line("SigCgt"), "0000000000000000") == 0);
	return 0;
}

Test(proc, resets_every_signal)
{
	expect_passes(reset_signals);
}

static int set_attributes(const void *unused)
{
	ATTEMPT(proc_set_dumpable(false, &err));
	CHECK(prctl(PR_GET_DUMPABLE) == 0);
	ATTEMPT(proc_set_dumpable(true, &err));
	CHECK(prctl(PR_GET_DUMPABLE) == 1);
	return 0;
}

Test(proc, sets_dumpable)
{
	expect_passes(set_attributes);
}

static int die_with_parent(const void *unused)
{
	int ends[2], status;
	pid_t middle, child;
	char byte = 0;

	CHECK(pipe2(ends, O_CLOEXEC) == 0);
	CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	middle = fork();
	if (!middle) {
		pid_t parent = getpid();

		child = fork();
		if (!child) {
			if (proc_die_with_parent(parent, &err) < 0)
				_exit(1);
			if (write(ends[1], "x", 1) != 1)
				_exit(1);
			for (;;)
				pause();
		}
		if (read(ends[0], &byte, 1) != 1)
			_exit(1);
		_exit(0);
	}
	CHECK(waitpid(middle, &status, 0) == middle && status == 0);
	close(ends[1]);
	/* End of file: the grandchild is gone as well */
	CHECK(read(ends[0], &byte, 1) == 0);
	CHECK(wait(&status) > 0 && WTERMSIG(status) == SIGKILL);
	REFUSED(proc_die_with_parent(getpid(), &err), ESRCH, "parent");
	return 0;
}

Test(proc, dies_with_its_parent)
{
	expect_passes(die_with_parent);
}
