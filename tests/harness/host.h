/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a run may leave behind on the host: mounts, processes, descriptors,
 * shared memory.
 *
 *     const struct host *before = host_read();
 *     ... program_run() ...
 *     expect_host_unchanged(before);
 */
#ifndef HARNESS_HOST_H
#define HARNESS_HOST_H

#include <stddef.h>
#include <sys/types.h>

struct host;

/*
 * Now: the lines of this thread's mountinfo, the descendants of the test's
 * process (see program.c: what a program leaves behind is one), the test's
 * own descriptors, the names in /dev/shm that belong to the test's user.
 */
const struct host *host_read(void);

/*
 * What differs from @before, a line each ("+" new, "-" gone), or an empty
 * string.  Waits up to twenty seconds for it to be empty, since the kernel takes
 * a killed process apart in its own time.
 */
const char *host_changes(const struct host *before);
const char *host_changes_after(const struct host *before, int wait_ms);

#define expect_host_unchanged(before)                                    \
	do {                                                             \
		const char *host_changes_now = host_changes(before);     \
		cr_expect(!*host_changes_now, "left on the host:\n%s",   \
			  host_changes_now);                             \
	} while (0)

/*
 * A mount namespace for the test alone, whose mounts are shared among each
 * other but with nothing outside: for tests that mount something on their
 * own (root and unshare).
 */
void host_private_mounts(void);

/* Number of mounts in this thread's mount namespace. */
size_t host_mount_count(void);

/* Number of processes on the host whose real user is @uid. */
size_t host_processes_of(uid_t uid);

/*
 * The living descendants of the test's process, ended by 0; zombies that
 * nobody waits for are reaped.  Named processes of process_start() are not
 * reaped here.
 */
const pid_t *host_descendants(void);

/*
 * The file @name of the process @pid in /proc; empty when it has ended, at
 * whatever moment.  @ret_length may be NULL.
 */
const char *host_process_file(pid_t pid, const char *name,
			      size_t *ret_length);

/* End all of those, and wait for their end. */
void host_kill_descendants(void);

/* For program.c: @pid is waited for by its process_finish(). */
void host_own_process(pid_t pid);
void host_disown_process(pid_t pid);

#endif
