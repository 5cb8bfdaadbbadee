/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rules of table.def as pieces of BPF, and the growing program they go
 * into.  For the build machine only: generate.c is its one user.
 */
#ifndef SECCOMP_RULES_H
#define SECCOMP_RULES_H

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rule {
	RULE_ALLOW,
	RULE_REFUSE,
	RULE_UNKNOWN,
	RULE_NESTING,
	RULE_CLONE,
	RULE_CLONE3,
	RULE_PTRACE,
	RULE_INIT,
	RULE_MODE_1,
	RULE_MODE_2,
	RULE_OPEN_1,
	RULE_OPEN_2,
	RULE_OPENAT2,
	RULE_XATTR,
	RULE_SOCKET,
	RULE_SOCKETPAIR,
	RULE_IOCTL,
	RULE_PERSONALITY,
	RULE_RING,
	/* not in the table: */
	RULE_NEW,  /* numbers that nobody has looked at */
	RULE_KILL, /* numbers of a foreign ABI */
	RULE_COUNT
};

/* What a filter returns: linux/seccomp.h, seccomp(2). */
enum {
	ANSWER_ALLOW = SECCOMP_RET_ALLOW,
	ANSWER_EPERM = SECCOMP_RET_ERRNO | EPERM,
	ANSWER_ENOSYS = SECCOMP_RET_ERRNO | ENOSYS,
	ANSWER_UNSUPPORTED = SECCOMP_RET_ERRNO | EOPNOTSUPP,
	ANSWER_FAMILY = SECCOMP_RET_ERRNO | EAFNOSUPPORT,
	ANSWER_PROTOCOL = SECCOMP_RET_ERRNO | EPROTONOSUPPORT,
};
/* It does not fit an int, as an enumerator would have to. */
#define ANSWER_KILL SECCOMP_RET_KILL_PROCESS

/* A program in the making; BPF_MAXINSNS is what the kernel takes. */
struct code {
	struct sock_filter at[BPF_MAXINSNS];
	size_t count;
};

/* Append one instruction; ends the process when there is no room. */
void code_emit(struct code *code, uint16_t op, uint32_t k);
/* Append a comparison of the accumulator: skip @jt or @jf instructions. */
void code_jump(struct code *code, uint16_t op, uint32_t k, size_t jt,
	       size_t jf);
/* Load a field of struct seccomp_data. */
void code_load(struct code *code, size_t offset);
void code_answer(struct code *code, uint32_t answer);

/*
 * The rule's answer when it looks at no argument in this variant (@flags,
 * enum seccomp_flags).  Returns true with @ret_answer, or false.
 */
bool rule_answer(enum rule rule, unsigned flags, uint32_t *ret_answer);

/*
 * Append the rule: code that ends in an answer on every way through it and
 * jumps nowhere else.
 */
void rule_emit(struct code *code, enum rule rule, unsigned flags);

#endif
