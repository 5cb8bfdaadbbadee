/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Making a process and keeping hold of it.
 *
 * A pid is a number that the kernel gives to somebody else one day; a pidfd
 * is the process.  So clone3(2) hands out the pidfd with the process, signals
 * go through pidfd_send_signal(2), and waitid(P_PIDFD) takes exactly that
 * one.  Before Linux 5.4 some or all of that is missing.  Then the pid is
 * used, and only while the process is a child that nobody has waited for: so
 * long the kernel gives its number to nobody else.
 *
 * What is below /proc can be mounted over by whoever prepared the mount
 * namespace.  A write meant for an id map must not land in a file of theirs:
 * every descriptor into procfs that this launcher writes to comes from
 * proc_open_file().
 */
#include "sys/proc.h"

#include "base/mem.h"
#include "sys/cgroup_files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* In <sched.h> only with a prototype of clone() that nobody needs here. */
#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif

static int proc_check_type(int fd, const char *path, struct error *err)
{
	struct statfs info;

	if (fstatfs(fd, &info) < 0)
		return error_set(err, errno, "statfs '/proc/%s'", path);
	if (info.f_type != PROC_SUPER_MAGIC)
		return error_call(err, EXDEV, "/proc", "'/proc/%s' is not in "
				  "a procfs", path);
	return 0;
}

int proc_open_procfs(struct error *err)
{
	auto_close int fd = -EBADF;
	int result;

	fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_call(err, errno, "/proc", "open '/proc'");
	result = proc_check_type(fd, "", err);
	if (result < 0)
		return result;
	return take_fd(&fd);
}

/* Without openat2(2): the file must at least be one of a procfs. */
static int proc_open_checked(int procfs, const char *path, int flags,
			     struct error *err)
{
	auto_close int fd = -EBADF;
	int result;

	fd = openat(procfs, path, flags);
	if (fd < 0)
		return error_set(err, errno, "open '/proc/%s'", path);
	result = proc_check_type(fd, path, err);
	if (result < 0)
		return result;
	return take_fd(&fd);
}

int proc_open_file(int procfs, const char *path, int flags, struct error *err)
{
	struct open_how how = {
		.flags = (unsigned)flags | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_BENEATH,
	};
	auto_close int own = -EBADF;
	int fd;

	if (procfs < 0) {
		own = proc_open_procfs(err);
		if (own < 0)
			return own;
		procfs = own;
	}
	fd = (int)syscall(SYS_openat2, procfs, path, &how, sizeof(how));
	/* EPERM: system-call filters of containers older than openat2 */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return proc_open_checked(procfs, path, (int)how.flags, err);
	if (fd < 0)
		return error_set(err, errno, "open '/proc/%s'", path);
	return fd;
}

/* ---- clone ---------------------------------------------------------------- */

/* clone(2) with the arguments in the order of this architecture. */
static pid_t proc_clone_old(unsigned long flags, int *ret_pidfd)
{
#if defined(__s390__) || defined(__CRIS__)
	return (pid_t)syscall(SYS_clone, NULL, flags, ret_pidfd, NULL, NULL);
#else
	return (pid_t)syscall(SYS_clone, flags, NULL, ret_pidfd, NULL, NULL);
#endif
}

/*
 * Before Linux 5.2 the flag for a pidfd means nothing, and others than Linux
 * refuse what they do not know.  Those of 5.2 cannot be polled: they say
 * at once that they can be read.
 */
static pid_t proc_clone_by_pid(unsigned long flags, int *ret_pidfd)
{
	struct pollfd end = { .fd = -EBADF, .events = POLLIN };
	pid_t pid;

	flags |= SIGCHLD;
	pid = proc_clone_old(flags | CLONE_PIDFD, &end.fd);
	if (pid < 0 && errno == EINVAL)
		pid = proc_clone_old(flags, &end.fd);
	if (pid > 0 && end.fd >= 0 && poll(&end, 1, 0) != 0)
		mem_close_fd(&end.fd);
	*ret_pidfd = pid > 0 ? end.fd : -EBADF;
	return pid;
}

static pid_t proc_clone_fallback(const struct proc_clone *args, int *ret_pidfd,
				 struct error *err)
{
	auto_close int pidfd = -EBADF;
	pid_t pid;
	int result;

	/* Flags that came with clone3(2) share bits with the exit signal */
	if (args->flags & (CSIGNAL | ~(uint64_t)UINT32_MAX))
		return error_set(err, ENOSYS, "clone3");
	pid = proc_clone_by_pid((unsigned long)args->flags, &pidfd);
	if (pid < 0)
		return error_call(err, errno, "clone", "clone");
	if (!pid) {
		*ret_pidfd = -EBADF;
		return 0;
	}
	if (args->cgroup_fd >= 0) {
		result = cgroup_move(args->cgroup_fd, pid);
		if (result < 0) {
			struct error ignored;
			int status;

			proc_child_signal(pidfd, pid, SIGKILL, &ignored);
			proc_child_wait(pidfd, pid, true, &status, NULL,
					&ignored);
			return error_set(err, -result,
					 "move the child to its cgroup");
		}
	}
	*ret_pidfd = take_fd(&pidfd);
	return pid;
}

pid_t proc_clone(const struct proc_clone *args, int *ret_pidfd,
		 struct error *err)
{
	int pidfd = -EBADF;
	struct clone_args clone = {
		.flags = args->flags | CLONE_PIDFD,
		.pidfd = (uintptr_t)&pidfd,
		/* A sibling ends with the signal that we end with, clone(2). */
		.exit_signal = args->flags & CLONE_PARENT ? 0 : SIGCHLD,
	};
	pid_t pid;

	if (args->cgroup_fd >= 0) {
		clone.flags |= CLONE_INTO_CGROUP;
		clone.cgroup = (unsigned)args->cgroup_fd;
	}
	pid = (pid_t)syscall(SYS_clone3, &clone, sizeof(clone));
	if (pid < 0 && errno == ENOSYS)
		return proc_clone_fallback(args, ret_pidfd, err);
	if (pid < 0)
		return error_call(err, errno, "clone3", "clone3");
	*ret_pidfd = pid ? pidfd : -EBADF;
	return pid;
}

/* ---- pidfd ---------------------------------------------------------------- */

int proc_pidfd_open(pid_t pid, struct error *err)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return error_call(err, errno, "pidfd_open",
				  "pidfd_open of process %d", (int)pid);
	return fd;
}

int proc_pidfd_signal(int pidfd, int signal, struct error *err)
{
	if (syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) < 0)
		return error_set(err, errno, "pidfd_send_signal of signal %d",
				 signal);
	return 0;
}

/* ---- a child, by its pidfd or by its pid ------------------------------------ */

int proc_child_signal(int pidfd, pid_t pid, int signal, struct error *err)
{
	if (proc_pidfd_signal(pidfd, signal, err) >= 0)
		return 0;
	/* Never a whole group, nor everybody. */
	if (pid <= 0 || kill(pid, signal) < 0)
		return error_result(err);
	*err = (struct error){ 0 };
	return 0;
}

/* A wait status as wait(2) builds it. */
static int proc_wait_status(const siginfo_t *info)
{
	switch (info->si_code) {
	case CLD_EXITED:
		return (info->si_status & 0xff) << 8;
	case CLD_DUMPED:
		return info->si_status | 0x80;
	default:
		return info->si_status;
	}
}

static int proc_wait_by_pid(pid_t pid, bool block, int *ret_status,
			    struct rusage *ret_usage, struct error *err)
{
	pid_t found;

	do
		found = wait4(pid, ret_status, __WALL | (block ? 0 : WNOHANG),
			      ret_usage);
	while (found < 0 && errno == EINTR);
	if (found < 0)
		return error_set(err, errno, "wait4");
	return found ? 0 : -EAGAIN;
}

int proc_child_wait(int pidfd, pid_t pid, bool block, int *ret_status,
		    struct rusage *ret_usage, struct error *err)
{
	int options = WEXITED | __WALL | (block ? 0 : WNOHANG);
	struct rusage usage;
	siginfo_t info = { .si_pid = 0 };
	long result;

	/* The C library's waitid() leaves out the resource usage */
	do
		result = syscall(SYS_waitid, P_PIDFD, pidfd, &info, options,
				 &usage);
	while (result < 0 && errno == EINTR);
	/* No pidfd; not known before 5.4; a filter's list is older than it */
	if (result < 0 && errno != ECHILD && pid > 0)
		return proc_wait_by_pid(pid, block, ret_status, ret_usage,
					err);
	if (result < 0)
		return error_set(err, errno, "waitid");
	if (!info.si_pid)
		return -EAGAIN;
	*ret_status = proc_wait_status(&info);
	if (ret_usage)
		*ret_usage = usage;
	return 0;
}

void proc_child_await(int pidfd, pid_t pid, int timeout_ms)
{
	enum { STEP_MS = 2 };
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };
	struct pollfd end = { .fd = pidfd, .events = POLLIN };
	siginfo_t info = { .si_pid = 0 };

	if (pidfd >= 0) {
		poll(&end, 1, timeout_ms);
		return;
	}
	for (; timeout_ms > 0; timeout_ms -= STEP_MS) {
		if (waitid(P_PID, (id_t)pid, &info,
			   WEXITED | WNOWAIT | WNOHANG | __WALL) < 0 ||
		    info.si_pid)
			return;
		nanosleep(&step, NULL);
	}
}
