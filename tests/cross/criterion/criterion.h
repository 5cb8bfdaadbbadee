/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * As much of Criterion as the unit tests use, in a header: Criterion starts
 * each test as a program of its own, which an emulator of one program cannot
 * do.  Each test is a fork here.  Include it in one file of a program.
 */
#ifndef CROSS_CRITERION_H
#define CROSS_CRITERION_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct cross_options {
	void (*init)(void), (*fini)(void);
	int exit_code, signal;
	double timeout; /* seconds */
};

struct cross_test {
	const char *suite, *name;
	void (*run)(void);
	const struct cross_options *shared;
	struct cross_options own;
	struct cross_test *next;
};

static struct cross_test *cross_first;
static bool cross_failed;

static inline void cross_add(struct cross_test *test)
{
	test->next = cross_first;
	cross_first = test;
}

#define TestSuite(suite, ...) \
	static struct cross_options cross_suite_##suite = { __VA_ARGS__ }

/* A suite without options of its own has the tentative definition's. */
#define Test(suite_, name_, ...)                                            \
	static struct cross_options cross_suite_##suite_;                   \
	static void cross_##suite_##_##name_(void);                         \
	__attribute__((constructor)) static void                            \
	cross_add_##suite_##_##name_(void)                                  \
	{                                                                   \
		static struct cross_test test = {                           \
			#suite_, #name_, cross_##suite_##_##name_,          \
			&cross_suite_##suite_, { __VA_ARGS__ }, NULL };     \
		cross_add(&test);                                           \
	}                                                                   \
	static void cross_##suite_##_##name_(void)

#define cross_claim(is_fatal, holds, text, ...)                             \
	do {                                                                \
		if (holds)                                                  \
			break;                                              \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, text);   \
		fprintf(stderr, "" __VA_ARGS__);                            \
		fprintf(stderr, "\n");                                      \
		cross_failed = true;                                        \
		if (is_fatal)                                               \
			exit(1);                                            \
	} while (0)

#define cross_equal(one, other) (!strcmp((one), (other)))

#define cr_assert(a, ...) cross_claim(true, (a), #a, __VA_ARGS__)
#define cr_expect(a, ...) cross_claim(false, (a), #a, __VA_ARGS__)
#define cr_expect_not(a, ...) cross_claim(false, !(a), "not " #a, __VA_ARGS__)
#define cr_assert_fail(...) cross_claim(true, false, "fail", __VA_ARGS__)
#define cr_assert_null(a, ...) cr_assert(!(a), __VA_ARGS__)
#define cr_expect_null(a, ...) cr_expect(!(a), __VA_ARGS__)
#define cr_assert_not_null(a, ...) cr_assert((a) != NULL, __VA_ARGS__)
#define cr_expect_not_null(a, ...) cr_expect((a) != NULL, __VA_ARGS__)
#define cr_assert_eq(a, b, ...) cr_assert((a) == (b), __VA_ARGS__)
#define cr_expect_eq(a, b, ...) cr_expect((a) == (b), __VA_ARGS__)
#define cr_expect_neq(a, b, ...) cr_expect((a) != (b), __VA_ARGS__)
#define cr_assert_lt(a, b, ...) cr_assert((a) < (b), __VA_ARGS__)
#define cr_expect_lt(a, b, ...) cr_expect((a) < (b), __VA_ARGS__)
#define cr_assert_geq(a, b, ...) cr_assert((a) >= (b), __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) cr_assert(cross_equal(a, b), __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...) cr_expect(cross_equal(a, b), __VA_ARGS__)
#define cr_expect_str_neq(a, b, ...) cr_expect(!cross_equal(a, b), __VA_ARGS__)
#define cr_expect_str_empty(a, ...) cr_expect(!*(a), __VA_ARGS__)
#define cr_expect_str_not_empty(a, ...) cr_expect(*(a), __VA_ARGS__)

static inline void cross_run(const struct cross_test *test)
{
	void (*init)(void) = test->own.init ? test->own.init :
			     test->shared->init;
	void (*fini)(void) = test->own.fini ? test->own.fini :
			     test->shared->fini;

	alarm(test->shared->timeout > 0 ? (unsigned)test->shared->timeout : 60);
	if (init)
		init();
	test->run();
	if (fini)
		fini();
	exit(cross_failed);
}

int main(void)
{
	unsigned tested = 0, failing = 0;

	for (const struct cross_test *test = cross_first; test;
	     test = test->next, tested++) {
		pid_t pid = fork();
		int status;

		if (!pid)
			cross_run(test);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 2;
		if (WIFSIGNALED(status) ? WTERMSIG(status) == test->own.signal
		    : !test->own.signal &&
		      WEXITSTATUS(status) == test->own.exit_code)
			continue;
		failing++;
		fprintf(stderr, "[FAIL] %s::%s\n", test->suite, test->name);
	}
	fprintf(stderr, "[====] Synthesis: Tested: %u | Passing: %u | "
		"Failing: %u\n", tested, tested - failing, failing);
	return failing || !tested;
}

#endif
