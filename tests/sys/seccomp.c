/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Loading filters: what the kernel takes, refuses and shows, and that our
 * check of programs agrees with it.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "attempt.h"
#include "base/mem.h"
#include "filtered.h"
#include "harness/identity.h"
#include "harness/program.h"
#include "harness/scratch.h"
#include "sys/seccomp.h"

static struct error err;

/* ---- loading --------------------------------------------------------------- */

static int load_and_verify(const void *unused)
{
	REFUSED(seccomp_verify(&err), EPROTO, "not active");
	LOAD(0);
	ATTEMPT(seccomp_verify(&err));
	/* A second one is no fault, PID 1 and the payload may both load. */
	LOAD(SECCOMP_DENY_UNIX);
	CHECK(strstr(file_read("/proc/self/status", NULL), "Seccomp:\t2\n"));
	return 0;
}

Test(seccomp, loading_is_seen_by_the_kernel)
{
	expect_passes(load_and_verify);
	expect_passes(load_and_verify, .as_user = true);
}

static int load_with_privileges_to_gain(const void *unused)
{
	REFUSED(seccomp_load_default(0, &err), EACCES, "no_new_privs");
	CHECK(!strcmp(err.reason, "seccomp"));
	return 0;
}

Test(seccomp, without_no_new_privs)
{
	if (identity_self() == IDENTITY_UNSHARE)
		return; /* has the capability in its namespace */
	expect_passes(load_with_privileges_to_gain, .as_user = true);
}

/* The filter that refuses PR_SET_SECCOMP stands for a kernel without. */
static int load_without_kernel_support(const void *unused)
{
	REFUSED(seccomp_load_default(0, &err), EINVAL, "CONFIG_SECCOMP_FILTER");
	return 0;
}

Test(seccomp, a_kernel_without_filters)
{
	expect_passes(load_without_kernel_support,
		      REFUSING({ "prctl", EINVAL, 0, UINT32_MAX,
				 PR_SET_SECCOMP }));
}

static int load_too_many(const void *unused)
{
	static struct sock_filter program[BPF_MAXINSNS];
	int loaded = 0, r;

	for (size_t i = 0; i < BPF_MAXINSNS; i++)
		program[i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
							  SECCOMP_RET_ALLOW);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	while ((r = seccomp_load_program(program, sizeof(program), &err)) == 0)
		CHECK(++loaded < 100);
	CHECK(loaded > 0 && r == -ENOMEM && strstr(err.text, "too many"));
	return 0;
}

Test(seccomp, too_many_programs)
{
	expect_passes(load_too_many);
}

static int load_own_program(const void *unused)
{
	static const struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	REFUSED(seccomp_load_program(program, sizeof(program) - 1, &err),
		EINVAL, "size 31 is no multiple of 8");
	CHECK(getppid() > 0);
	ATTEMPT(seccomp_load_program(program, sizeof(program), &err));
	CHECK(syscall(SYS_getppid) == -1 && errno == ENOTTY);
	return 0;
}

Test(seccomp, a_program_of_the_callers)
{
	expect_passes(load_own_program);
}

/* ---- the check and the kernel ------------------------------------------------ */

/*
 * Does the kernel take @program?  Must not be asked twice by a process for one
 * that it takes.
 */
static bool kernel_takes(const struct sock_filter *program, size_t count)
{
	struct sock_fprog prog = { .len = (unsigned short)count,
				   .filter = (struct sock_filter *)program };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) == 0 ||
	       errno != EINVAL;
}

/*
 * The same in a process of its own, which may well end by the program's hand;
 * only if it can say so with its exit status was the program refused.
 */
static bool kernel_takes_elsewhere(const struct sock_filter *program,
				   size_t count)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(kernel_takes(program, count) ? 0 : EINVAL);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		harness_fail("a process to load a program in");
	return !WIFEXITED(status) || WEXITSTATUS(status) != EINVAL;
}

/* Opcodes, known and unknown, to make programs of. */
static const uint16_t codes[] = {
	BPF_LD | BPF_W | BPF_ABS, BPF_LD | BPF_W | BPF_LEN, BPF_LD | BPF_IMM,
	BPF_LD | BPF_MEM, BPF_LDX | BPF_W | BPF_LEN, BPF_LDX | BPF_IMM,
	BPF_LDX | BPF_MEM, BPF_ST, BPF_ST, BPF_STX, BPF_ALU | BPF_ADD | BPF_K,
	BPF_ALU | BPF_DIV | BPF_K, BPF_ALU | BPF_LSH | BPF_K,
	BPF_ALU | BPF_RSH | BPF_X, BPF_ALU | BPF_NEG, BPF_MISC | BPF_TAX,
	BPF_JMP | BPF_JA, BPF_JMP | BPF_JEQ | BPF_K, BPF_JMP | BPF_JSET | BPF_X,
	BPF_JMP | BPF_JGE | BPF_K, BPF_RET | BPF_K, BPF_RET | BPF_A,
	BPF_RET | BPF_X, BPF_LD | BPF_H | BPF_ABS, BPF_ALU | BPF_MOD | BPF_K,
	BPF_LDX | BPF_B | BPF_MSH, BPF_LD | BPF_W | BPF_IND,
	BPF_MISC | BPF_TXA, BPF_ALU | BPF_XOR | BPF_X, BPF_ALU | BPF_MOD | BPF_X,
};

static unsigned random_below(unsigned bound)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 16) % bound;
}

/* A short program that is nearly right: each wrong thing is rare. */
static size_t make_program(struct sock_filter *program)
{
	size_t count = 1 + random_below(8);

	for (size_t i = 0; i < count; i++) {
		bool is_odd = random_below(12) == 0;
		unsigned known = 22;

		program[i] = (struct sock_filter){
			.code = codes[random_below(is_odd ? ARRAY_SIZE(codes) :
							    known)],
			.jt = (uint8_t)random_below(is_odd ? 256 : 2),
			.jf = (uint8_t)random_below(is_odd ? 256 : 2),
			.k = random_below(is_odd ? 80 : 2) * 4 / 2,
		};
	}
	if (random_below(8))
		program[count - 1] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return count;
}

static int compare_with_the_kernel(const void *unused)
{
	unsigned taken = 0, refused = 0;

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	while (taken < 200 || refused < 2000) {
		struct sock_filter program[8];
		size_t count = make_program(program);

		if (seccomp_check_program(program, count * sizeof(program[0]),
					  &err) < 0) {
			CHECK(++refused && !kernel_takes(program, count));
		} else if (taken < 200) {
			CHECK(++taken && kernel_takes_elsewhere(program, count));
		}
	}
	return 0;
}

Test(seccomp, the_check_says_what_the_kernel_says)
{
	expect_passes(compare_with_the_kernel);
}
