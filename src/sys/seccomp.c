/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Loading filters.
 *
 * The programs of the default are made when the launcher is built, from
 * seccomp/table.def, and lie in the read-only part of the binary; a run hands
 * one to the kernel as it is.  prctl(PR_SET_SECCOMP) is used rather than
 * seccomp(2): it does all that is needed, and an outer filter that knows only
 * the one is older than those that know both.
 *
 * What a filter costs: about 90 microseconds at load, of which 50 are there
 * for a program of one instruction too; nothing that can be measured for a
 * system call that is allowed whatever its arguments (Linux 5.11 remembers
 * those); 0.1 to 0.2 microseconds for one whose arguments are looked at.
 */
#include "sys/seccomp.h"

#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>

#if defined(__x86_64__) && !defined(__ILP32__)
#include "filter_x86_64.inc"
#define FILTERS filters_x86_64
#define FILTERS_FIRST filters_x86_64_first
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#include "filter_aarch64.inc"
#define FILTERS filters_aarch64
#define FILTERS_FIRST filters_aarch64_first
#else
#error "seccomp/generate.c has no filter for this architecture"
#endif

static_assert(ARRAY_SIZE(FILTERS_FIRST) == SECCOMP_FLAGS_ALL + 2,
	      "a program for every combination of flags");
static_assert(sizeof(struct sock_filter) == 8 &&
		      SECCOMP_PROGRAM_SIZE_MAX ==
			      BPF_MAXINSNS * sizeof(struct sock_filter),
	      "the size of an instruction is part of our interface");

const struct sock_filter *seccomp_default_program(unsigned flags,
						  size_t *ret_count)
{
	assert(flags <= SECCOMP_FLAGS_ALL);
	*ret_count = (size_t)(FILTERS_FIRST[flags + 1] - FILTERS_FIRST[flags]);
	return &FILTERS[FILTERS_FIRST[flags]];
}

/* Name the cause where the kernel has only a number. */
static int seccomp_load_failed(int code, struct error *err)
{
	switch (code) {
	case EINVAL:
		error_set(err, code,
			  "load the system call filter: the kernel has none "
			  "(CONFIG_SECCOMP_FILTER), or strict mode is on");
		break;
	case EACCES:
		error_set(err, code,
			  "load the system call filter without no_new_privs");
		break;
	case ENOMEM:
		error_set(err, code,
			  "load the system call filter: no memory, or too "
			  "many filters already");
		break;
	default:
		error_set(err, code, "load the system call filter");
	}
	error_reason(err, "seccomp");
	return error_result(err);
}

static int seccomp_load(const struct sock_filter *program, size_t count,
			struct error *err)
{
	struct sock_fprog prog = {
		.len = (unsigned short)count,
		/* the kernel copies it and writes nothing */
		.filter = (struct sock_filter *)program,
	};

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) < 0)
		return seccomp_load_failed(errno, err);
	return 0;
}

int seccomp_load_default(unsigned flags, struct error *err)
{
	size_t count;
	const struct sock_filter *program =
		seccomp_default_program(flags, &count);

	return seccomp_load(program, count, err);
}

int seccomp_load_program(const void *data, size_t size, struct error *err)
{
	struct sock_filter program[BPF_MAXINSNS];
	int r;

	r = seccomp_check_program(data, size, err);
	if (r < 0)
		return r;
	memcpy(program, data, size); /* aligned */
	return seccomp_load(program, size / sizeof(program[0]), err);
}

int seccomp_verify(struct error *err)
{
	int mode = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);

	if (mode == SECCOMP_MODE_FILTER)
		return 0;
	error_set(err, EPROTO, "the system call filter is not active (mode %d)",
		  mode);
	error_reason(err, "seccomp");
	return error_result(err);
}
