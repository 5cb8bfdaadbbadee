/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For functions that run in a process of their own: the default filter. */
#ifndef SYS_FILTERED_H
#define SYS_FILTERED_H

#include <sys/prctl.h>

#include "attempt.h"
#include "sys/seccomp.h"

/* Load the variant that *@flags names; may be a struct program's @call. */
static inline int filter_myself(const void *flags)
{
	struct error err = { 0 };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	ATTEMPT(seccomp_load_default(*(const unsigned *)flags, &err));
	return 0;
}

#define LOAD(flags) CHECK(filter_myself(&(unsigned){ flags }) == 0)

#endif
