/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a process does to itself before it runs, or stands beside, something
 * that it does not trust: descriptors, argument block, signals, dumpable.
 *
 * Nothing here allocates, so that PID 1 can use all of it.
 */
#include "sys/proc.h"

#include "base/mem.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/oom.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

/* ---- descriptors ---------------------------------------------------------- */

/* The smallest number in @keep that is @from or more; INT_MAX: none. */
static int proc_next_kept(int from, const int *keep, size_t keep_count)
{
	int next = INT_MAX;

	for (size_t i = 0; i < keep_count; i++)
		if (keep[i] >= from && keep[i] < next)
			next = keep[i];
	return next;
}

static int proc_end_fd(int fd, enum proc_fds how)
{
	if (how == PROC_FDS_CLOSE)
		return close(fd);
	return fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* A directory entry of /proc/self/fd as a number; -1: "." and "..". */
static int proc_entry_fd(const struct dirent64 *entry)
{
	uint64_t fd;

	if (text_parse_u64(entry->d_name, &fd) < 0 || fd > INT_MAX)
		return -1;
	return (int)fd;
}

/*
 * Kernels before 5.9 (5.11 for close-on-exec), and filters that refuse.
 * Entries are numbered by descriptor, so closing one does not move the
 * others.
 */
static int proc_walk_fds(int procfs, int first, const int *keep,
			 size_t keep_count, enum proc_fds how,
			 struct error *err)
{
	_Alignas(struct dirent64) char buffer[4096];
	auto_close int directory = -EBADF;
	long size;

	directory = proc_open_file(procfs, "self/fd", O_RDONLY | O_DIRECTORY,
				   err);
	/* Landlock knows mounts that are inside, and no others. */
	if (directory < 0 && procfs >= 0)
		directory = proc_open_file(-EBADF, "self/fd",
					   O_RDONLY | O_DIRECTORY, err);
	if (directory < 0)
		return error_wrap(err, "descriptors from %d on", first);
	while ((size = syscall(SYS_getdents64, directory, buffer,
			       sizeof(buffer))) > 0) {
		const struct dirent64 *entry;

		for (long at = 0; at < size; at += entry->d_reclen) {
			int fd;

			entry = (const void *)(buffer + at);
			fd = proc_entry_fd(entry);
			if (fd < first || fd == directory ||
			    proc_next_kept(fd, keep, keep_count) == fd)
				continue;
			proc_end_fd(fd, how);
		}
	}
	if (size < 0)
		return error_set(err, errno, "read '/proc/self/fd'");
	return 0;
}

int proc_close_fds(int procfs, int first, const int *keep, size_t keep_count,
		   enum proc_fds how, struct error *err)
{
	unsigned flags = how == PROC_FDS_CLOEXEC ? CLOSE_RANGE_CLOEXEC : 0;
	unsigned from = (unsigned)first;
	int kept;

	do {
		unsigned last;

		kept = proc_next_kept((int)from, keep, keep_count);
		last = kept == INT_MAX ? UINT_MAX : (unsigned)kept - 1;
		/* Nothing between two that are kept */
		if (kept != INT_MAX && (unsigned)kept == from) {
			from++;
			continue;
		}
		if (syscall(SYS_close_range, from, last, flags) < 0)
			return proc_walk_fds(procfs, first, keep, keep_count,
					     how, err);
		from = last + 1;
	} while (kept != INT_MAX);
	return 0;
}

/* ---- argument block ------------------------------------------------------- */

int proc_wipe_args(const char *name, struct error *err)
{
	/*
	 * The kernel lays out the strings as arguments, environment, file
	 * name, without gaps, and tells where the last one is.  glibc keeps
	 * the first in program_invocation_name.
	 */
	char *start = program_invocation_name;
	char *end = (char *)getauxval(AT_EXECFN);
	size_t room, length;

	/* At most 6 MiB, see execve(2); anything else is not that block */
	if (!start || !end || start >= end || end - start > 8 << 20)
		return error_set(err, EFAULT,
				 "argument block is not where it should be");
	room = (size_t)(end - start);
	explicit_bzero(start, room);
	length = strlen(name);
	memcpy(start, name, length < room ? length : room - 1);
	return 0;
}

/* ---- attributes ----------------------------------------------------------- */

int proc_set_dumpable(bool dumpable, struct error *err)
{
	if (prctl(PR_SET_DUMPABLE, dumpable ? 1 : 0, 0, 0, 0) < 0)
		return error_call(err, errno, "prctl",
				  "prctl PR_SET_DUMPABLE");
	return 0;
}

int proc_give_up_later(int fd, int before, struct error *err)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%d", before);

	if (pwrite(fd, text, (size_t)length, 0) < 0)
		return error_set(err, errno, "write '%s' to oom_score_adj",
				 text);
	return 0;
}

int proc_give_up_first(int procfs, int by, int *ret_before, struct error *err)
{
	auto_close int fd = proc_open_file(procfs, "self/oom_score_adj",
					   O_RDWR, err);
	char text[16] = "";
	long before;

	if (fd < 0)
		return fd;
	if (pread(fd, text, sizeof(text) - 1, 0) < 0)
		return error_set(err, errno, "read oom_score_adj");
	before = strtol(text, NULL, 10);
	if (before + by > OOM_SCORE_ADJ_MAX)
		by = (int)(OOM_SCORE_ADJ_MAX - before);
	if (proc_give_up_later(fd, (int)before + by, err) < 0)
		return error_result(err);
	*ret_before = (int)before;
	return take_fd(&fd);
}

int proc_reset_signals(uint64_t set, struct error *err)
{
	/*
	 * An all-zero struct of the kernel's is SIG_DFL without flags on
	 * every architecture.  The C library's sigaction() refuses the two
	 * signals that it keeps for threads, and those can be ignored, too.
	 */
	static const uint64_t default_action[16];

	for (int signal = 1; signal < _NSIG; signal++) {
		if (!(set >> (signal - 1) & 1) || signal == SIGKILL ||
		    signal == SIGSTOP)
			continue;
		if (syscall(SYS_rt_sigaction, signal, default_action, NULL,
			    _NSIG / 8) < 0)
			return error_set(err, errno, "sigaction of signal %d",
					 signal);
	}
	return 0;
}

int proc_die_with_parent(pid_t parent, struct error *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return error_call(err, errno, "prctl",
				  "prctl PR_SET_PDEATHSIG");
	if (parent && getppid() != parent)
		return error_set(err, ESRCH, "the parent process has ended");
	return 0;
}
