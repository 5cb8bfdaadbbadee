/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A machine that is no good, around one process: for the `call` of a struct
 * program, in which nothing of Criterion may be used.  All return 0, or 1 with
 * the cause on stderr.
 */
#ifndef RUN_MACHINE_H
#define RUN_MACHINE_H

/* Write @text to the file @path, which is made if it is not there. */
int machine_write(const char *path, const char *text);

/*
 * A user namespace in which this process is an ordinary user, and those of
 * @flags (CLONE_NEWNS: one in which it may mount).
 */
int machine_enter_userns(int flags);

/* A mount namespace out of which nothing gets. */
int machine_enter_mounts(void);

/* An empty tmpfs on @path. */
int machine_cover(const char *path);

/*
 * Put @file in the place of /proc/PID/@name of this process ("attr/current",
 * the label of a security module).
 */
int machine_fake_proc(const char *name, const char *file);

#endif
