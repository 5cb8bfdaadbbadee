/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Resource limits.
 *
 * The launcher sets them itself, last, in the process that becomes the
 * payload: a shell inside could be told otherwise, and set earlier they would
 * hit the set-up.  Soft and hard are one value, so that there is nothing to
 * raise.
 */
#include "sys/limits.h"

#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/resource.h>

static const struct {
	const char *name;
	int resource;
	uint64_t divisor; /* the kernel's unit in ours; rounded up */
} limits_table[] = {
	[LIMITS_PROCESSES] = { "processes", RLIMIT_NPROC, 1 },
	[LIMITS_OPEN_FILES] = { "open-files", RLIMIT_NOFILE, 1 },
	[LIMITS_FILE_SIZE] = { "file-size", RLIMIT_FSIZE, 1 },
	[LIMITS_CPU_TIME] = { "cpu-time", RLIMIT_CPU, 1000 },
	[LIMITS_ADDRESS_SPACE] = { "address-space", RLIMIT_AS, 1 },
	[LIMITS_STACK] = { "stack", RLIMIT_STACK, 1 },
	[LIMITS_CORE] = { "core", RLIMIT_CORE, 1 },
	[LIMITS_MEMLOCK] = { "memlock", RLIMIT_MEMLOCK, 1 },
	[LIMITS_SIGNALS] = { "signals", RLIMIT_SIGPENDING, 1 },
	[LIMITS_MESSAGE_QUEUES] = { "message-queues", RLIMIT_MSGQUEUE, 1 },
	[LIMITS_NICE] = { "nice", RLIMIT_NICE, 1 },
	[LIMITS_RT_PRIORITY] = { "rt-priority", RLIMIT_RTPRIO, 1 },
};
static_assert(ARRAY_SIZE(limits_table) == LIMITS_KIND_COUNT,
	      "one row a limit");
static_assert(sizeof(rlim_t) == sizeof(uint64_t), "values fit");

/* @value in the kernel's unit; RLIM_INFINITY is no number. */
static int limits_convert(enum limits_kind kind, uint64_t value,
			  rlim_t *ret_value, struct error *err)
{
	uint64_t divisor = limits_table[kind].divisor;
	uint64_t whole = value / divisor + (value % divisor != 0);

	if (whole >= RLIM_INFINITY)
		return error_set(err, ERANGE, "limit %s of %llu",
				 limits_table[kind].name,
				 (unsigned long long)value);
	*ret_value = whole;
	return 0;
}

static int limits_get(enum limits_kind kind, struct rlimit *ret_limit,
		      struct error *err)
{
	if (getrlimit(limits_table[kind].resource, ret_limit) < 0)
		return error_set(err, errno, "read limit %s",
				 limits_table[kind].name);
	return 0;
}

/* No core where the hard limit is 0 already: it cannot become 1. */
static bool limits_is_core_zero(enum limits_kind kind, rlim_t wanted,
				rlim_t hard)
{
	return kind == LIMITS_CORE && wanted == LIMITS_CORE_NONE && hard == 0;
}

/* @value as the kernel wants it, and what there is now. */
static int limits_look(enum limits_kind kind, uint64_t value,
		       rlim_t *ret_wanted, struct rlimit *ret_now,
		       struct error *err)
{
	int result = limits_convert(kind, value, ret_wanted, err);

	return result < 0 ? result : limits_get(kind, ret_now, err);
}

int limits_set(enum limits_kind kind, uint64_t value, struct error *err)
{
	struct rlimit old, new;
	rlim_t wanted = 0;
	int result = limits_look(kind, value, &wanted, &old, err);

	if (result < 0)
		return result;
	if (limits_is_core_zero(kind, wanted, old.rlim_max))
		wanted = 0;
	if (wanted > old.rlim_max) {
		error_set(err, EPERM, "limit %s of %llu: the caller's own hard "
				      "limit is %llu",
			  limits_table[kind].name, (unsigned long long)wanted,
			  (unsigned long long)old.rlim_max);
		error_remedy(err, "ask for at most that much, or raise it for "
				  "the caller (ulimit -H, LimitXXX= of its "
				  "service)");
		return error_result(err);
	}
	new = (struct rlimit){ .rlim_cur = wanted, .rlim_max = wanted };
	if (setrlimit(limits_table[kind].resource, &new) < 0)
		return error_set(err, errno, "set limit %s to %llu",
				 limits_table[kind].name,
				 (unsigned long long)wanted);
	return 0;
}

int limits_verify(enum limits_kind kind, uint64_t value, struct error *err)
{
	struct rlimit now;
	rlim_t wanted = 0;
	int result = limits_look(kind, value, &wanted, &now, err);

	if (result < 0)
		return result;
	if (now.rlim_cur == wanted && now.rlim_max == wanted)
		return 0;
	if (now.rlim_cur == 0 &&
	    limits_is_core_zero(kind, wanted, now.rlim_max))
		return 0;
	return error_set(err, EIO,
			 "limit %s is %llu (hard %llu) and not %llu",
			 limits_table[kind].name,
			 (unsigned long long)now.rlim_cur,
			 (unsigned long long)now.rlim_max,
			 (unsigned long long)wanted);
}
