/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A machine for the classic BPF that our filters are made of, so that a test
 * can ask what a filter says without making the system call.
 */
#ifndef UNIT_SYS_BPF_H
#define UNIT_SYS_BPF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

/* What the machine returns for a program that it cannot run. */
#define BPF_STUCK 0xdeadbeefU

/*
 * Run @program over @data.  Returns what the program returns, and in
 * *@ret_steps (may be NULL) how many instructions that took.
 */
static inline uint32_t bpf_run(const struct sock_filter *program,
			       size_t count, const struct seccomp_data *data,
			       unsigned *ret_steps)
{
	uint32_t a = 0;
	unsigned steps = 0;

	for (size_t pc = 0; pc < count; pc++) {
		const struct sock_filter *at = &program[pc];
		size_t skip = 0;

		steps++;
		switch (at->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (at->k % 4 != 0 || at->k > sizeof(*data) - 4)
				return BPF_STUCK;
			memcpy(&a, (const char *)data + at->k, sizeof(a));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= at->k;
			break;
		case BPF_JMP | BPF_JA:
			skip = at->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			skip = a == at->k ? at->jt : at->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			skip = a >= at->k ? at->jt : at->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			skip = a & at->k ? at->jt : at->jf;
			break;
		case BPF_RET | BPF_K:
			if (ret_steps)
				*ret_steps = steps;
			return at->k;
		default:
			return BPF_STUCK;
		}
		pc += skip;
	}
	return BPF_STUCK;
}

#endif
