/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * System calls that are to fail, by a seccomp filter: what a container's
 * filter, an old kernel or a full resource does to a program.
 */
#ifndef HARNESS_REFUSAL_H
#define HARNESS_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sock_fprog;

/* As @error: the call ends the process with SIGSYS. */
#define REFUSAL_KILL (-1)

/*
 * One call that fails with errno @error.  With @mask, only calls whose
 * argument @argument (from 0) equals @value in the bits of @mask; without,
 * every one.  A list ends with an entry whose @call is NULL.
 *
 *     .refuse = (const struct refusal[]){
 *             { "open_tree", ENOSYS },
 *             { "clone", EPERM, 0, CLONE_NEWUSER, CLONE_NEWUSER },
 *             { 0 } }
 *
 * What a call like clone3(2) passes by pointer cannot be looked at.
 */
struct refusal {
	const char *call;
	int error;
	unsigned int argument;
	uint64_t mask;
	uint64_t value;
};

/*
 * Compile @list into @ret_program; its instructions live in the arena.  Ends
 * the test when a name is unknown.
 */
void refusal_compile(const struct refusal *list,
		     struct sock_fprog *ret_program);

/*
 * Put @program on the calling thread and what it starts, for good.  Sets
 * no_new_privs when the kernel wants that.  Async-signal-safe.  Returns 0 or
 * a negative errno.
 */
int refusal_apply(const struct sock_fprog *program);

/* The errno value that @name ("ENOSYS", "KILL") stands for, or 0. */
int refusal_error(const char *name);

#endif
