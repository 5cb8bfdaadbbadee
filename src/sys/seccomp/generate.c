/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Turn table.def into the programs that are compiled in.
 *
 *	generate x86_64|aarch64 > filter_ARCH.inc
 *
 * Runs on the build machine, for either architecture on either.  One program
 * a variant (a combination of enum seccomp_flags), rather than one base and
 * small ones stacked on it: each filter of a stack costs its own compilation
 * in the kernel at load, and at each system call that any of them looks at.
 *
 * A program checks the architecture and then finds the system call in a
 * binary tree over ranges of numbers: neighbours with the same rule are one
 * range, so that there are far fewer ranges than system calls.  A leaf holds
 * the whole rule.  The kernel (5.11) runs a new filter once for each number
 * and never again for those that are allowed whatever the arguments; the
 * short paths are for that pass, for older kernels, and for the rest.
 *
 * libseccomp only knows the numbers.  What it generates itself has one answer
 * for a value outside of a list and for an unknown call, compares 64 bits, and
 * for the other architecture knows no call that is newer than itself.  It also
 * is twice as long.
 */
#include "sys/seccomp.h"
#include "sys/seccomp/rules.h"

#include <linux/audit.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

struct row {
	const char *name;
	int number[2]; /* by architecture, for libseccomps that lack it */
	enum rule rule;
};

static const struct row table[] = {
#define CALL(name, rule) { #name, { -1, -1 }, RULE_##rule },
#define CALL_AT(name, x86_64, aarch64, rule) \
	{ #name, { x86_64, aarch64 }, RULE_##rule },
#include "sys/seccomp/table.def"
};

struct arch {
	const char *name;
	uint32_t seccomp; /* as libseccomp calls it */
	uint32_t audit;   /* as the kernel does: seccomp_data.arch */
	bool has_x32;     /* numbers with bit 30 are a second ABI */
};

static const struct arch archs[] = {
	{ "x86_64", SCMP_ARCH_X86_64, AUDIT_ARCH_X86_64, true },
	{ "aarch64", SCMP_ARCH_AARCH64, AUDIT_ARCH_AARCH64, false },
};

enum {
	X32_FIRST = 0x40000000,
	/* No call, but what a tracer puts to have none made. */
	NO_CALL = 0xffffffff,
};

/* From @first up to the next range's; sorted, the first begins at 0. */
struct range {
	uint32_t first;
	enum rule rule;
};

struct ranges {
	struct range at[2 * ARRAY_SIZE(table) + 4];
	size_t count;
};

/* ---- table to ranges ----------------------------------------------------- */

static int compare_ranges(const void *a, const void *b)
{
	const struct range *left = a, *right = b;

	return (left->first > right->first) - (left->first < right->first);
}

/* The number of @row, or -1 where @arch has no such call. */
static int row_number(const struct row *row, const struct arch *arch)
{
	int given = row->number[arch - archs];
	int known = seccomp_syscall_resolve_name_arch(arch->seccomp,
						      row->name);

	if (given >= 0 && known >= 0 && given != known) {
		fprintf(stderr, "%s on %s is %d, the table says %d\n",
			row->name, arch->name, known, given);
		exit(1);
	}
	if (given >= 0)
		return given;
	if (known == __NR_SCMP_ERROR && row->number[0] < 0) {
		fprintf(stderr, "%s is no system call libseccomp knows\n",
			row->name);
		exit(1);
	}
	return known >= 0 ? known : -1; /* below 0: on other machines only */
}

/* Do the two rules give the same code in this variant? */
static bool rules_agree(enum rule left, enum rule right, unsigned flags)
{
	uint32_t a, b;

	if (left == right)
		return true;
	return rule_answer(left, flags, &a) && rule_answer(right, flags, &b) &&
	       a == b;
}

/* Fill @calls with one entry a call, sorted by number. */
static size_t list_calls(struct range *calls, const struct arch *arch)
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		int number = row_number(&table[i], arch);

		if (number >= 0)
			calls[count++] = (struct range){ (uint32_t)number,
							 table[i].rule };
	}
	qsort(calls, count, sizeof(*calls), compare_ranges);
	for (size_t i = 1; i < count; i++) {
		if (calls[i].first == calls[i - 1].first) {
			fprintf(stderr, "number %u is in the table twice\n",
				calls[i].first);
			exit(1);
		}
	}
	return count;
}

static void add_range(struct ranges *ranges, uint32_t first, enum rule rule,
		      unsigned flags)
{
	if (ranges->count &&
	    rules_agree(ranges->at[ranges->count - 1].rule, rule, flags))
		return;
	ranges->at[ranges->count++] = (struct range){ first, rule };
}

/* Cover all numbers: the calls, and what is unknown between and behind. */
static void list_ranges(struct ranges *ranges, const struct arch *arch,
			unsigned flags)
{
	struct range calls[ARRAY_SIZE(table)];
	size_t count = list_calls(calls, arch);
	uint32_t next = 0;

	ranges->count = 0;
	for (size_t i = 0; i < count; i++) {
		if (calls[i].first != next)
			add_range(ranges, next, RULE_NEW, flags);
		add_range(ranges, calls[i].first, calls[i].rule, flags);
		next = calls[i].first + 1;
	}
	add_range(ranges, next, RULE_NEW, flags);
	if (arch->has_x32) {
		add_range(ranges, X32_FIRST, RULE_KILL, flags);
		add_range(ranges, NO_CALL, RULE_NEW, flags);
	}
}

/* ---- ranges to a program --------------------------------------------------- */

/*
 * Append the tree over @count ranges.  The number is in the accumulator; the
 * leaf that it leads to ends the program.
 */
static void emit_tree(struct code *code, const struct range *ranges,
		      size_t count, unsigned flags)
{
	size_t half = count / 2, jump = code->count, skip;

	if (count == 1) {
		rule_emit(code, ranges->rule, flags);
		return;
	}
	code_jump(code, BPF_JGE, ranges[half].first, 0, 0);
	emit_tree(code, ranges, half, flags);
	skip = code->count - jump - 1;
	if (skip <= UINT8_MAX) {
		code->at[jump].jt = (uint8_t)skip;
	} else { /* too far for a condition: over a plain jump */
		code_emit(code, BPF_JMP | BPF_JA, 0);
		memmove(&code->at[jump + 2], &code->at[jump + 1],
			skip * sizeof(code->at[0]));
		code->at[jump].jf = 1;
		code->at[jump + 1] = (struct sock_filter){
			.code = BPF_JMP | BPF_JA, .k = (uint32_t)skip
		};
	}
	emit_tree(code, ranges + half, count - half, flags);
}

static void emit_program(struct code *code, const struct arch *arch,
			 unsigned flags)
{
	struct ranges ranges;

	list_ranges(&ranges, arch, flags);
	code->count = 0;
	code_load(code, offsetof(struct seccomp_data, arch));
	code_jump(code, BPF_JEQ, arch->audit, 1, 0);
	code_answer(code, ANSWER_KILL);
	code_load(code, offsetof(struct seccomp_data, nr));
	emit_tree(code, ranges.at, ranges.count, flags);
}

/*
 * All variants in one array and an index of numbers: an array of pointers
 * would be relocated at every start of the launcher.
 */
static void print_header(const struct arch *arch)
{
	static struct code code[SECCOMP_FLAGS_ALL + 1];
	size_t first = 0;

	printf("/* Made by src/sys/seccomp/generate.c from table.def. */\n\n"
	       "static const struct sock_filter filters_%s[] = {",
	       arch->name);
	for (unsigned flags = 0; flags <= SECCOMP_FLAGS_ALL; flags++) {
		emit_program(&code[flags], arch, flags);
		for (size_t i = 0; i < code[flags].count; i++)
			printf("%s{ 0x%02x, %u, %u, 0x%x },",
			       i % 4 ? " " : "\n\t", code[flags].at[i].code,
			       code[flags].at[i].jt, code[flags].at[i].jf,
			       code[flags].at[i].k);
		printf("\n");
	}
	printf("};\n\n/* Where in it each variant begins, and the end. */\n"
	       "static const unsigned short filters_%s_first[] = {\n",
	       arch->name);
	for (unsigned flags = 0; flags <= SECCOMP_FLAGS_ALL; flags++) {
		printf("\t%zu,\n", first);
		first += code[flags].count;
	}
	printf("\t%zu,\n};\n", first);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < ARRAY_SIZE(archs); i++) {
		if (strcmp(argv[1], archs[i].name) == 0) {
			print_header(&archs[i]);
			return fflush(stdout) ? 1 : 0;
		}
	}
	fprintf(stderr, "there is a filter for x86_64 and aarch64 only\n");
	return 2;
}
