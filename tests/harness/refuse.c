/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * refuse [CALL=ERRNO]... -- PROGRAM [ARGUMENT...]
 *
 * Run PROGRAM where each CALL fails with ERRNO (a name such as ENOSYS; KILL
 * ends the process with SIGSYS).  For whole test programs and for a look by
 * hand; a test in C gives struct program a list of its own.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/filter.h>

#include "harness/arena.h"
#include "harness/identity.h"
#include "harness/refusal.h"

/*
 * In the place of the harness's own: a program that links Criterion and is
 * started by a test takes itself for one of Criterion's workers.
 */
void harness_fail(const char *format, ...)
{
	va_list list;

	fprintf(stderr, "refuse: ");
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fprintf(stderr, "\n");
	exit(99);
}

static int usage(void)
{
	fprintf(stderr, "usage: refuse [CALL=ERRNO]... -- "
			"PROGRAM [ARGUMENT...]\n");
	return 99;
}

int main(int argc, char **argv)
{
	struct refusal *list = arena_take(sizeof(*list) * ((size_t)argc + 1));
	struct sock_fprog program;
	int i, r;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		char *equals = strchr(argv[i], '=');

		if (!equals)
			return usage();
		*equals = '\0';
		list[i - 1].call = argv[i];
		list[i - 1].error = refusal_error(equals + 1);
		if (!list[i - 1].error) {
			fprintf(stderr, "refuse: unknown errno '%s'\n",
				equals + 1);
			return 99;
		}
	}
	if (i + 1 >= argc)
		return usage();
	refusal_compile(list, &program);
	r = refusal_apply(&program);
	if (r < 0) {
		fprintf(stderr, "refuse: seccomp: %s\n", strerror(-r));
		return 99;
	}
	execvp(argv[i + 1], argv + i + 1);
	fprintf(stderr, "refuse: %s: %s\n", argv[i + 1], strerror(errno));
	return 127;
}
