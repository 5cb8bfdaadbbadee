/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Resource limits of a process, setrlimit(2); soft and hard are always one.
 */
#ifndef SYS_LIMITS_H
#define SYS_LIMITS_H

#include "base/error.h"

#include <stdint.h>

enum limits_kind {
	LIMITS_PROCESSES,      /* of the user, in the user namespace (5.14) */
	LIMITS_OPEN_FILES,
	LIMITS_FILE_SIZE,      /* bytes */
	LIMITS_CPU_TIME,       /* milliseconds, rounded up to seconds */
	LIMITS_ADDRESS_SPACE,  /* bytes */
	LIMITS_STACK,          /* bytes */
	LIMITS_CORE,           /* bytes */
	LIMITS_MEMLOCK,        /* bytes */
	LIMITS_SIGNALS,        /* queued signals */
	LIMITS_MESSAGE_QUEUES, /* bytes in POSIX message queues */
	LIMITS_NICE,           /* 20 - the lowest nice value */
	LIMITS_RT_PRIORITY,
	LIMITS_KIND_COUNT
};

/*
 * The value of LIMITS_CORE that gives no core dump at all.  With 0 the kernel
 * still pipes a core to a helper that core_pattern names, and that helper
 * runs as the host's root; 1 is the value at which it starts none, core(5).
 * A core_pattern that names a socket ("@", 6.16) is told of the crash at any
 * value, 6.18 at least: no limit keeps a crash from that one.
 */
enum { LIMITS_CORE_NONE = 1 };

/*
 * Set the limit, hard and soft, in @kind's unit.  More than the hard limit
 * that this process has is -EPERM with @err saying both values, root or not;
 * LIMITS_CORE_NONE is the one exception: 0 stays 0.  Values that a resource
 * cannot count are -ERANGE.
 *
 * LIMITS_PROCESSES does not hold for a process whose host uid is 0.
 */
int limits_set(enum limits_kind kind, uint64_t value, struct error *err);
/* Is the limit as limits_set() leaves it?  -EIO with @err if it is not. */
int limits_verify(enum limits_kind kind, uint64_t value, struct error *err);

#endif
