/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bad programs, each with what is said about it, and good ones. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/mem.h"
#include "sys/seccomp.h"

#define ALLOWED BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)

struct check_case {
	const char *text; /* NULL: a good one */
	unsigned short count;
	struct sock_filter at[8];
};

static const struct check_case cases[] = {
	{ NULL, 1, { ALLOWED } },
	{ NULL, 1, { BPF_STMT(BPF_RET | BPF_A, 0) } },
	{ NULL, 2, { LOAD(60), ALLOWED } },
	{ NULL, 2, { BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), ALLOWED } },
	{ NULL, 3, { BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0), ALLOWED, ALLOWED } },
	{ NULL, 2, { BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0), ALLOWED } },
	{ NULL, 2, { BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 31), ALLOWED } },
	{ NULL, 3,
	  { BPF_STMT(BPF_ST, 15), BPF_STMT(BPF_LDX | BPF_MEM, 15), ALLOWED } },
	/* written on both ways */
	{ NULL, 6,
	  { BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2), BPF_STMT(BPF_ST, 1),
	    BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0), BPF_STMT(BPF_STX, 1),
	    BPF_STMT(BPF_LD | BPF_MEM, 1), ALLOWED } },

	{ "instruction 0: unknown opcode 0x28", 2,
	  { BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0), ALLOWED } },
	{ "instruction 1: unknown opcode 0x94", 3,
	  { LOAD(0), BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, 3), ALLOWED } },
	{ "instruction 0: unknown opcode 0xffff", 2,
	  { BPF_STMT(0xffff, 0), ALLOWED } },
	{ "instruction 0: load from offset 2, which is no multiple of 4 "
	  "below 64", 2, { LOAD(2), ALLOWED } },
	{ "instruction 0: load from offset 64, which is no multiple of 4 "
	  "below 64", 2, { LOAD(64), ALLOWED } },
	{ "instruction 0: division by zero", 2,
	  { BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), ALLOWED } },
	{ "instruction 0: shift by 32, 31 at most", 2,
	  { BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 32), ALLOWED } },
	{ "instruction 0: scratch word 16, 15 at most", 2,
	  { BPF_STMT(BPF_ST, 16), ALLOWED } },
	{ "instruction 0: scratch word 0 is not written on every way there",
	  2, { BPF_STMT(BPF_LDX | BPF_MEM, 0), ALLOWED } },
	{ "instruction 0: scratch word 3 is not written on every way there",
	  2, { BPF_STMT(BPF_LD | BPF_MEM, 3), ALLOWED } },
	{ "instruction 2: scratch word 1 is not written on every way there",
	  4, { BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
	       BPF_STMT(BPF_ST, 1), BPF_STMT(BPF_LD | BPF_MEM, 1), ALLOWED } },
	{ "instruction 0: the jump goes to 2, and the last one is 1", 2,
	  { BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0), ALLOWED } },
	{ "instruction 0: the jump goes to 4294967296, and the last one is 1",
	  2, { BPF_JUMP(BPF_JMP | BPF_JA, 0xffffffff, 0, 0), ALLOWED } },
	{ "instruction 1: the jump if true goes to 3, and the last one is 2",
	  3, { LOAD(0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
	       ALLOWED } },
	{ "instruction 1: the jump if false goes to 257, and the last one "
	  "is 2",
	  3, { LOAD(0), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_X, 0, 0, 255),
	       ALLOWED } },
	{ "instruction 1, the last, is no return", 2, { ALLOWED, LOAD(0) } },
	/* a jump as the last: nowhere to go */
	{ "instruction 0: the jump goes to 1, and the last one is 0", 1,
	  { BPF_JUMP(BPF_JMP | BPF_JA, 0, 0, 0) } },
};

static void expect_bad(const void *data, size_t size, const char *text)
{
	char expected[256];
	struct error err = { 0 };

	snprintf(expected, sizeof(expected), "not a BPF program: %s", text);
	cr_expect(seccomp_check_program(data, size, &err) == -EINVAL,
		  "taken: %s", text);
	cr_expect_str_eq(err.text, expected);
	cr_expect_str_eq(err.reason, "seccomp-program");
	cr_expect(err.code == 0); /* the text is the whole cause */
}

Test(seccomp_check, each_fault_has_its_message)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t size = cases[i].count * sizeof(cases[i].at[0]);
		struct error err = { 0 };

		if (cases[i].text)
			expect_bad(cases[i].at, size, cases[i].text);
		else
			cr_expect(seccomp_check_program(cases[i].at, size,
							&err) == 0,
				  "case %zu: %s", i, err.text);
	}
}

Test(seccomp_check, sizes)
{
	static struct sock_filter program[BPF_MAXINSNS + 1];
	struct error err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(program); i++)
		program[i] = (struct sock_filter)ALLOWED;
	expect_bad(program, 0, "it is empty");
	expect_bad("#!/bin/sh\n", 10, "size 10 is no multiple of 8");
	expect_bad("\177ELF\2\1\1\0", 8,
		   "instruction 0: unknown opcode 0x457f");
	expect_bad(program, sizeof(program),
		   "more than 32768 bytes, 4096 instructions of 8");
	/* as much as a reader of files takes of a large one */
	expect_bad(program, SECCOMP_PROGRAM_SIZE_MAX + 1,
		   "more than 32768 bytes, 4096 instructions of 8");
	cr_expect(seccomp_check_program(program, SECCOMP_PROGRAM_SIZE_MAX,
					&err) == 0,
		  "%s", err.text);
}

Test(seccomp_check, a_program_may_lie_at_any_address)
{
	struct sock_filter program[] = { LOAD(0), ALLOWED };
	char shifted[sizeof(program) + 8];
	struct error err = { 0 };

	for (size_t i = 0; i < 8; i++) {
		memcpy(shifted + i, program, sizeof(program));
		cr_expect(seccomp_check_program(shifted + i, sizeof(program),
						&err) == 0,
			  "%s", err.text);
	}
}
