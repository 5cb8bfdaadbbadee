/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is wrong with a BPF program?
 *
 * The kernel answers EINVAL to every bad one.  This check takes and refuses
 * exactly what it does (bpf_check_classic() and seccomp_check_filter(),
 * unchanged from Linux 3.5 to 6.18 in what they take), so that a program is
 * never refused here that would have worked, and says why.
 */
#include "sys/seccomp.h"

#include "base/mem.h"

#include <assert.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <string.h>

/* What has to hold for the operands of an instruction. */
enum operand {
	OPERAND_ANY,
	OPERAND_FIELD,   /* k: offset of a word in struct seccomp_data */
	OPERAND_DIVISOR, /* k: not 0 */
	OPERAND_SHIFT,   /* k: below 32 */
	OPERAND_SCRATCH, /* k: a word of scratch memory */
	OPERAND_JUMP,    /* k: instructions to skip */
	OPERAND_BRANCH,  /* jt, jf: instructions to skip */
};

struct opcode {
	uint16_t code;
	enum operand operand;
};

/* All that a filter may consist of. */
/* NOLINTBEGIN(misc-redundant-expression): some of the names are 0 */
static const struct opcode opcodes[] = {
	{ BPF_LD | BPF_W | BPF_ABS, OPERAND_FIELD },
	{ BPF_LD | BPF_W | BPF_LEN, OPERAND_ANY },
	{ BPF_LD | BPF_IMM, OPERAND_ANY },
	{ BPF_LD | BPF_MEM, OPERAND_SCRATCH },
	{ BPF_LDX | BPF_W | BPF_LEN, OPERAND_ANY },
	{ BPF_LDX | BPF_IMM, OPERAND_ANY },
	{ BPF_LDX | BPF_MEM, OPERAND_SCRATCH },
	{ BPF_ST, OPERAND_SCRATCH },
	{ BPF_STX, OPERAND_SCRATCH },
	{ BPF_ALU | BPF_ADD | BPF_K, OPERAND_ANY },
	{ BPF_ALU | BPF_ADD | BPF_X, OPERAND_ANY },
	{ BPF_ALU | BPF_SUB | BPF_K, OPERAND_ANY },
	{ BPF_ALU | BPF_SUB | BPF_X, OPERAND_ANY },
	{ BPF_ALU | BPF_MUL | BPF_K, OPERAND_ANY },
	{ BPF_ALU | BPF_MUL | BPF_X, OPERAND_ANY },
	{ BPF_ALU | BPF_DIV | BPF_K, OPERAND_DIVISOR },
	{ BPF_ALU | BPF_DIV | BPF_X, OPERAND_ANY },
	{ BPF_ALU | BPF_AND | BPF_K, OPERAND_ANY },
	{ BPF_ALU | BPF_AND | BPF_X, OPERAND_ANY },
	{ BPF_ALU | BPF_OR | BPF_K, OPERAND_ANY },
	{ BPF_ALU | BPF_OR | BPF_X, OPERAND_ANY },
	{ BPF_ALU | BPF_XOR | BPF_K, OPERAND_ANY },
	{ BPF_ALU | BPF_XOR | BPF_X, OPERAND_ANY },
	{ BPF_ALU | BPF_LSH | BPF_K, OPERAND_SHIFT },
	{ BPF_ALU | BPF_LSH | BPF_X, OPERAND_ANY },
	{ BPF_ALU | BPF_RSH | BPF_K, OPERAND_SHIFT },
	{ BPF_ALU | BPF_RSH | BPF_X, OPERAND_ANY },
	{ BPF_ALU | BPF_NEG, OPERAND_ANY },
	{ BPF_MISC | BPF_TAX, OPERAND_ANY },
	{ BPF_MISC | BPF_TXA, OPERAND_ANY },
	{ BPF_JMP | BPF_JA, OPERAND_JUMP },
	{ BPF_JMP | BPF_JEQ | BPF_K, OPERAND_BRANCH },
	{ BPF_JMP | BPF_JEQ | BPF_X, OPERAND_BRANCH },
	{ BPF_JMP | BPF_JGE | BPF_K, OPERAND_BRANCH },
	{ BPF_JMP | BPF_JGE | BPF_X, OPERAND_BRANCH },
	{ BPF_JMP | BPF_JGT | BPF_K, OPERAND_BRANCH },
	{ BPF_JMP | BPF_JGT | BPF_X, OPERAND_BRANCH },
	{ BPF_JMP | BPF_JSET | BPF_K, OPERAND_BRANCH },
	{ BPF_JMP | BPF_JSET | BPF_X, OPERAND_BRANCH },
	{ BPF_RET | BPF_K, OPERAND_ANY },
	{ BPF_RET | BPF_A, OPERAND_ANY },
};
/* NOLINTEND(misc-redundant-expression) */

static const struct opcode *check_find_opcode(uint16_t code)
{
	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++)
		if (opcodes[i].code == code)
			return &opcodes[i];
	return NULL;
}

/* The program, at whatever address it lies. */
struct program {
	const char *data;
	size_t count;
};

static struct sock_filter check_at(const struct program *program, size_t pc)
{
	struct sock_filter instruction;

	memcpy(&instruction, program->data + pc * sizeof(instruction),
	       sizeof(instruction));
	return instruction;
}

/* May the instruction at @pc skip @skip others?  @what is the jump's name. */
static int check_jump(const struct program *program, size_t pc, size_t skip,
		      const char *what, struct error *err)
{
	if (skip < program->count - pc - 1)
		return 0;
	return error_set(err, 0,
			 "instruction %zu: %s goes to %zu, and the last one "
			 "is %zu",
			 pc, what, pc + 1 + skip, program->count - 1);
}

static int check_instruction(const struct program *program, size_t pc,
			     struct error *err)
{
	struct sock_filter at = check_at(program, pc);
	const struct opcode *opcode = check_find_opcode(at.code);
	int r;

	if (!opcode)
		return error_set(err, 0,
				 "instruction %zu: unknown opcode 0x%02x", pc,
				 at.code);
	switch (opcode->operand) {
	case OPERAND_ANY:
		break;
	case OPERAND_FIELD:
		if (at.k % sizeof(uint32_t) == 0 &&
		    at.k < sizeof(struct seccomp_data))
			break;
		return error_set(err, 0,
				 "instruction %zu: load from offset %u, which "
				 "is no multiple of 4 below %zu",
				 pc, at.k, sizeof(struct seccomp_data));
	case OPERAND_DIVISOR:
		if (at.k != 0)
			break;
		return error_set(err, 0, "instruction %zu: division by zero",
				 pc);
	case OPERAND_SHIFT:
		if (at.k < 32)
			break;
		return error_set(err, 0,
				 "instruction %zu: shift by %u, 31 at most", pc,
				 at.k);
	case OPERAND_SCRATCH:
		if (at.k < BPF_MEMWORDS)
			break;
		return error_set(err, 0,
				 "instruction %zu: scratch word %u, %d at most",
				 pc, at.k, BPF_MEMWORDS - 1);
	case OPERAND_JUMP:
		return check_jump(program, pc, at.k, "the jump", err);
	case OPERAND_BRANCH:
		r = check_jump(program, pc, at.jt, "the jump if true", err);
		if (r < 0)
			return r;
		return check_jump(program, pc, at.jf, "the jump if false", err);
	}
	return 0;
}

/*
 * Is every word of scratch memory written before it is read, on each way?
 * All jumps go forward, so one pass is enough; @written holds for each
 * instruction the words that are written on every way to it.  As in the
 * kernel, what follows a return counts as a way on.
 */
static int check_scratch(const struct program *program, struct error *err)
{
	uint16_t written[BPF_MAXINSNS], here = 0;

	static_assert(BPF_MEMWORDS == 16, "a bit a word");
	memset(written, 0xff, sizeof(written));
	for (size_t pc = 0; pc < program->count; pc++) {
		struct sock_filter at = check_at(program, pc);

		here &= written[pc];
		switch (at.code) {
		case BPF_ST:
		case BPF_STX:
			here |= (uint16_t)(1U << at.k);
			break;
		case BPF_LD | BPF_MEM:
		case BPF_LDX | BPF_MEM:
			if (here & 1U << at.k)
				break;
			return error_set(err, 0,
					 "instruction %zu: scratch word %u is "
					 "not written on every way there",
					 pc, at.k);
		case BPF_JMP | BPF_JA:
			written[pc + 1 + at.k] &= here;
			here = UINT16_MAX;
			break;
		default:
			if (BPF_CLASS(at.code) != BPF_JMP)
				break;
			written[pc + 1 + at.jt] &= here;
			written[pc + 1 + at.jf] &= here;
			here = UINT16_MAX;
		}
	}
	return 0;
}

static int check_instructions(const struct program *program, struct error *err)
{
	struct sock_filter last;
	int r;

	for (size_t pc = 0; pc < program->count; pc++) {
		r = check_instruction(program, pc, err);
		if (r < 0)
			return r;
	}
	last = check_at(program, program->count - 1);
	if (BPF_CLASS(last.code) != BPF_RET)
		return error_set(err, 0,
				 "instruction %zu, the last, is no return",
				 program->count - 1);
	return check_scratch(program, err);
}

int seccomp_check_program(const void *data, size_t size, struct error *err)
{
	struct program program = {
		.data = data,
		.count = size / sizeof(struct sock_filter),
	};
	int r;

	if (size == 0)
		r = error_set(err, 0, "it is empty");
	else if (size > SECCOMP_PROGRAM_SIZE_MAX)
		r = error_set(err, 0,
			      "more than %d bytes, %d instructions of %zu",
			      SECCOMP_PROGRAM_SIZE_MAX, BPF_MAXINSNS,
			      sizeof(struct sock_filter));
	else if (size % sizeof(struct sock_filter) != 0)
		r = error_set(err, 0, "size %zu is no multiple of %zu", size,
			      sizeof(struct sock_filter));
	else
		r = check_instructions(&program, err);
	if (r < 0) {
		error_wrap(err, "not a BPF program");
		error_reason(err, "seccomp-program");
	}
	return r;
}
