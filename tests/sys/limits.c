/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Limits: what getrlimit(2) says, and that they hold. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "attempt.h"
#include "base/mem.h"
#include "harness/identity.h"
#include "harness/program.h"
#include "sys/limits.h"

static struct error err;

static const struct row {
	const char *name;
	enum limits_kind kind;
	int resource;
	uint64_t value;
	rlim_t expected;
} rows[] = {
	{ "processes", LIMITS_PROCESSES, RLIMIT_NPROC, 256, 256 },
	{ "open-files", LIMITS_OPEN_FILES, RLIMIT_NOFILE, 100, 100 },
	{ "file-size", LIMITS_FILE_SIZE, RLIMIT_FSIZE, 1 << 20, 1 << 20 },
	{ "cpu-time", LIMITS_CPU_TIME, RLIMIT_CPU, 1001, 2 },
	{ "address-space", LIMITS_ADDRESS_SPACE, RLIMIT_AS,
	  1ULL << 40, 1ULL << 40 },
	{ "stack", LIMITS_STACK, RLIMIT_STACK, 8 << 20, 8 << 20 },
	{ "core", LIMITS_CORE, RLIMIT_CORE, LIMITS_CORE_NONE, 1 },
	{ "memlock", LIMITS_MEMLOCK, RLIMIT_MEMLOCK, 65536, 65536 },
	{ "signals", LIMITS_SIGNALS, RLIMIT_SIGPENDING, 100, 100 },
	{ "message-queues", LIMITS_MESSAGE_QUEUES, RLIMIT_MSGQUEUE,
	  65536, 65536 },
	{ "nice", LIMITS_NICE, RLIMIT_NICE, 0, 0 },
	{ "rt-priority", LIMITS_RT_PRIORITY, RLIMIT_RTPRIO, 0, 0 },
};

static int set_one(const void *data)
{
	const struct row *row = data;
	struct rlimit now;

	CHECK(limits_verify(row->kind, row->value, &err) == -EIO);
	ATTEMPT(limits_set(row->kind, row->value, &err));
	CHECK(getrlimit(row->resource, &now) == 0);
	CHECK(now.rlim_cur == row->expected && now.rlim_max == row->expected);
	ATTEMPT(limits_verify(row->kind, row->value, &err));
	/* Never up again, for nobody */
	REFUSED(limits_set(row->kind, row->value + 1001, &err), EPERM,
		row->name);
	CHECK(getrlimit(row->resource, &now) == 0);
	CHECK(now.rlim_max == row->expected);
	/* Twice the same is fine */
	ATTEMPT(limits_set(row->kind, row->value, &err));
	return 0;
}

/* Nice and real-time priority are 0 already where nobody raised them. */
static bool is_set_already(const struct row *row)
{
	return limits_verify(row->kind, row->value, &err) == 0;
}

Test(limits, sets_each)
{
	cr_assert_eq(ARRAY_SIZE(rows), LIMITS_KIND_COUNT);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cr_expect_eq(rows[i].kind, i);
		if (!is_set_already(&rows[i]))
			expect_passes(set_one, .data = &rows[i]);
	}
}

static int round_cpu_time(const void *unused)
{
	static const struct {
		uint64_t milliseconds;
		rlim_t seconds;
	} steps[] = { { 2001, 3 }, { 2000, 2 }, { 1001, 2 }, { 1000, 1 },
		      { 1, 1 } };
	struct rlimit now;

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		ATTEMPT(limits_set(LIMITS_CPU_TIME, steps[i].milliseconds,
				   &err));
		CHECK(getrlimit(RLIMIT_CPU, &now) == 0);
		CHECK(now.rlim_cur == steps[i].seconds);
	}
	return 0;
}

Test(limits, rounds_cpu_time_up)
{
	expect_passes(round_cpu_time);
}

static int forbid_core(const void *unused)
{
	const struct rlimit none = { 0, 0 };

	CHECK(setrlimit(RLIMIT_CORE, &none) == 0);
	ATTEMPT(limits_set(LIMITS_CORE, LIMITS_CORE_NONE, &err));
	ATTEMPT(limits_verify(LIMITS_CORE, LIMITS_CORE_NONE, &err));
	REFUSED(limits_set(LIMITS_CORE, 2, &err), EPERM, "core");
	return 0;
}

Test(limits, no_core_stays_no_core)
{
	expect_passes(forbid_core);
}

Test(limits, refuses_what_cannot_be_counted)
{
	struct error error;

	cr_expect_eq(limits_set(LIMITS_FILE_SIZE, UINT64_MAX, &error),
		     -ERANGE);
	cr_expect(strstr(error.text, "file-size"));
	cr_expect_eq(limits_verify(LIMITS_STACK, UINT64_MAX, &error),
		     -ERANGE);
}

/* The limit counts in the namespace: what the user runs outside is free. */
static int hold_processes(const void *unused)
{
	int count = 0, failure = 0;
	pid_t pids[16];

	ATTEMPT(limits_set(LIMITS_PROCESSES, 5, &err));
	for (; count < 16; count++) {
		pids[count] = fork();
		if (!pids[count])
			for (;;)
				pause();
		if (pids[count] < 0) {
			failure = errno;
			break;
		}
	}
	for (int i = 0; i < count; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	CHECK(failure == EAGAIN && count == 4);
	return 0;
}

/* Does not hold for the real root, whatever its namespace says. */
Test(limits, processes_hold)
{
	expect_passes(hold_processes, .as_user = true,
		      .unshare = CLONE_NEWUSER);
}

static int spend_cpu_time(const void *unused)
{
	ATTEMPT(limits_set(LIMITS_CPU_TIME, 1, &err));
	for (volatile unsigned i = 0;; i++)
		;
}

Test(limits, cpu_time_ends_the_process)
{
	const struct outcome *o =
		program_run(&(struct program){ .call = spend_cpu_time });

	cr_expect_eq(o->signal, SIGKILL, "%s", outcome_describe(o));
	cr_expect(!o->timed_out);
}
