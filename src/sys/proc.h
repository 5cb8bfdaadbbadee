/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Processes: making them, waiting for them, and what one does to itself
 * before it runs something that it does not trust.
 *
 * The functions work in a single-threaded process.
 */
#ifndef SYS_PROC_H
#define SYS_PROC_H

#include "base/error.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/*
 * A descriptor (O_PATH) of the procfs at /proc, verified to be one by the
 * type of its file system.  It keeps showing that instance after a pivot or
 * an unmount.
 */
int proc_open_procfs(struct error *err);
/*
 * Open @path below the procfs root @procfs, never crossing into another
 * mount and never through a magic link (openat2(2), 5.6; without it the type
 * of the file system is checked).  -EBADF for @procfs: /proc as it is now.
 * @err names the path.
 */
int proc_open_file(int procfs, const char *path, int flags,
		   struct error *err);

/* ---- making a process ---------------------------------------------------- */

struct proc_clone {
	uint64_t flags;  /* CLONE_NEW*, and nothing that shares memory */
	int cgroup_fd;   /* directory of a version 2 cgroup; -EBADF: none */
};

/*
 * Make a process that is a copy of this one: as fork(2), but with new
 * namespaces and a pidfd, and without running atfork handlers.  It ends with
 * SIGCHLD.  Where clone3(2) (5.3) does not exist or is refused with ENOSYS,
 * clone(2) is used; the child is then moved into its cgroup from outside,
 * before this function returns, but after it has begun to run.
 *
 * Returns the pid in the parent, with *@ret_pidfd (close-on-exec, owned by
 * the caller), 0 in the child, where *@ret_pidfd is -EBADF, or a negative
 * errno; @err then names the failing call; code ENOSPC: a limit on
 * namespaces; EPERM: no right; EINVAL: not in this kernel.
 *
 * Before Linux 5.3 no pidfd tells of an end: *@ret_pidfd then is -EBADF in the
 * parent, too, and the pid has to do, which is the child's own until it has
 * been waited for.  The proc_child_ functions take either.
 */
pid_t proc_clone(const struct proc_clone *args, int *ret_pidfd,
		 struct error *err);

/* A pidfd of @pid (5.3); ESRCH: no such process. */
int proc_pidfd_open(pid_t pid, struct error *err);
/* Send @signal (0: only look).  -ESRCH when it has been waited for. */
int proc_pidfd_signal(int pidfd, int signal, struct error *err);
/*
 * Send @signal to a child that has not been waited for, so that @pid still is
 * its own: by @pidfd, or where there is none or that call is refused (filters
 * of containers older than it) by kill(2).
 */
int proc_child_signal(int pidfd, pid_t pid, int signal, struct error *err);
/*
 * Wait for the end of a child and take it from the kernel: by @pidfd, or where
 * there is none or the kernel does not know that way (before 5.4) by @pid.
 * @ret_status is as wait(2) gives it, @ret_usage may be NULL.  Without @block
 * -EAGAIN (with @err empty) while it runs.  A wait that a signal interrupts
 * goes on.
 */
int proc_child_wait(int pidfd, pid_t pid, bool block, int *ret_status,
		    struct rusage *ret_usage, struct error *err);
/* Wait at most @timeout_ms for the end of a child, and leave it to be taken. */
void proc_child_await(int pidfd, pid_t pid, int timeout_ms);

/* ---- what a process does to itself --------------------------------------- */

enum proc_fds {
	PROC_FDS_CLOSE,
	PROC_FDS_CLOEXEC, /* close them at exec (5.11) */
};

/*
 * Close every descriptor from @first on, except the @keep_count in @keep
 * (any order, doubles allowed).  close_range(2) (5.9), else a walk over
 * self/fd below @procfs, as for proc_open_file(), or if that cannot be opened
 * below /proc.  @procfs is closed like the others.
 */
int proc_close_fds(int procfs, int first, const int *keep, size_t keep_count,
		   enum proc_fds how, struct error *err);

/*
 * Overwrite this process's copy of its arguments and environment strings:
 * /proc/PID/environ shows nothing but NUL bytes from here on, and cmdline
 * shows @name.  Every pointer in environ and argv points to that memory:
 * copy before what is still needed.
 */
int proc_wipe_args(const char *name, struct error *err);

/*
 * Not dumpable: /proc/PID belongs to root, and no ptrace(2) without
 * capabilities.  A change of ids or capabilities sets it back to
 * fs.suid_dumpable, so this comes after them.
 */
int proc_set_dumpable(bool dumpable, struct error *err);
/*
 * ppoll(2) without a time limit, for a wait that may be long: the pages of
 * the program's own image that can be read again from its file are given back
 * first.  What is needed comes back by page faults.  Returns as ppoll(2).
 */
int proc_wait_small(struct pollfd *fds, nfds_t count, const sigset_t *mask);
/*
 * When memory runs out the kernel shall take this process, and those that it
 * makes, before others: its badness grows by @by thousandths of the memory,
 * up to the most there is.  Returns a descriptor for proc_give_up_later(),
 * owned by the caller, with what it was in *@ret_before.
 */
int proc_give_up_first(int procfs, int by, int *ret_before,
		       struct error *err);
/*
 * Take that back; processes made in between keep it.  By the descriptor, as
 * a process that is not dumpable can no longer open the file.
 */
int proc_give_up_later(int fd, int before, struct error *err);
/*
 * Every signal of @set (bit N - 1: signal N) has its default action; what is
 * blocked stays so.
 */
int proc_reset_signals(uint64_t set, struct error *err);

/*
 * Get SIGKILL when the thread that made this process ends, and check that it
 * has not ended yet: @parent is its pid as seen here, 0 when it lives
 * outside of this pid namespace (then the check cannot be made).  -ESRCH: it
 * is gone.  A change of ids, and one that adds capabilities, undoes it.
 */
int proc_die_with_parent(pid_t parent, struct error *err);

#endif
