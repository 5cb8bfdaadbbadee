/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/seccomp/rules.h"

#include "sys/seccomp.h"

#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Values that headers of the build machine lack, or that differ between it
 * and the machine the filter is for (both here: as on x86-64 and aarch64).
 */
enum {
	CLONE_NEW_ANY = 0x7e020000, /* every CLONE_NEW flag clone() knows */
	OPEN_CREATES = 000000100 | 020000000, /* O_CREAT, __O_TMPFILE */
	MODE_SETID = 06000,
	SOCKET_TYPE_MASK = 0xf, /* the rest is SOCK_CLOEXEC and the like */
	REQUEST_TIOCSTI = 0x5412,
	REQUEST_TIOCLINUX = 0x541c,
	REQUEST_TIOCCONS = 0x541d,
	REQUEST_TIOCSETD = 0x5423,
	REQUEST_KDSKBENT = 0x4b47,
	REQUEST_KDSKBSENT = 0x4b49,
	REQUEST_KDSKBDIACR = 0x4b4b,
	REQUEST_KDSETKEYCODE = 0x4b4d,
	REQUEST_KDSKBDIACRUC = 0x4bfb,
	PROTOCOL_MPTCP = 262,
};

/* ---- the program ----------------------------------------------------------- */

void code_emit(struct code *code, uint16_t op, uint32_t k)
{
	if (code->count == ARRAY_SIZE(code->at)) {
		fprintf(stderr, "the filter has more than %zu instructions\n",
			ARRAY_SIZE(code->at));
		exit(1);
	}
	code->at[code->count++] = (struct sock_filter){ .code = op, .k = k };
}

void code_jump(struct code *code, uint16_t op, uint32_t k, size_t jt, size_t jf)
{
	if (jt > UINT8_MAX || jf > UINT8_MAX) {
		fprintf(stderr, "a jump over %zu or %zu instructions\n", jt,
			jf);
		exit(1);
	}
	code_emit(code, BPF_JMP | BPF_K | op, k);
	code->at[code->count - 1].jt = (uint8_t)jt;
	code->at[code->count - 1].jf = (uint8_t)jf;
}

void code_load(struct code *code, size_t offset)
{
	code_emit(code, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

void code_answer(struct code *code, uint32_t answer)
{
	code_emit(code, BPF_RET | BPF_K, answer);
}

/*
 * Load the low half of argument @n, which is all that the kernel takes of an
 * int, an unsigned int or a umode_t.  Both machines are little-endian.
 */
static void load_argument(struct code *code, size_t n)
{
	code_load(code, offsetof(struct seccomp_data, args) + 8 * n);
}

static void answer_if_equal(struct code *code, uint32_t value, uint32_t answer)
{
	code_jump(code, BPF_JEQ, value, 0, 1);
	code_answer(code, answer);
}

/* One @answer for all of @values, another for anything else; an end. */
static void answer_by_list(struct code *code, const uint32_t *values,
			   size_t count, uint32_t answer, uint32_t otherwise)
{
	for (size_t i = 0; i < count; i++)
		code_jump(code, BPF_JEQ, values[i], count - i, 0);
	code_answer(code, otherwise);
	code_answer(code, answer);
}

/* ---- the rules -------------------------------------------------------------- */

/* The accumulator holds what may not have a bit of @mask; an end. */
static void refuse_bits(struct code *code, uint32_t mask)
{
	code_jump(code, BPF_JSET, mask, 0, 1);
	code_answer(code, ANSWER_EPERM);
	code_answer(code, ANSWER_ALLOW);
}

static void emit_clone(struct code *code)
{
	load_argument(code, 0);
	refuse_bits(code, CLONE_NEW_ANY);
}

static void emit_init(struct code *code)
{
	load_argument(code, 0);
	answer_if_equal(code, 1, ANSWER_EPERM);
	code_answer(code, ANSWER_ALLOW);
}

static void emit_mode(struct code *code, size_t argument)
{
	load_argument(code, argument);
	refuse_bits(code, MODE_SETID);
}

static void emit_open(struct code *code, size_t argument)
{
	load_argument(code, argument);
	code_jump(code, BPF_JSET, OPEN_CREATES, 1, 0);
	code_answer(code, ANSWER_ALLOW);
	emit_mode(code, argument + 1);
}

static void emit_socket(struct code *code, unsigned flags)
{
	/*
	 * What an unprivileged program may have of the two families: the
	 * protocols that are part of them.  Others (sctp, dccp, smc, l2tp)
	 * would be loaded by the call.
	 */
	static const uint32_t protocols[] = {
		IPPROTO_IP,     IPPROTO_TCP,     IPPROTO_UDP, IPPROTO_ICMP,
		IPPROTO_ICMPV6, IPPROTO_UDPLITE, IPPROTO_RAW, PROTOCOL_MPTCP,
	};

	if (!(flags & SECCOMP_ONLY)) {
		/* The kernel makes packet sockets of inet with this type. */
		load_argument(code, 1);
		code_emit(code, BPF_ALU | BPF_AND | BPF_K, SOCKET_TYPE_MASK);
		answer_if_equal(code, SOCK_PACKET, ANSWER_FAMILY);
	}
	load_argument(code, 0);
	answer_if_equal(code, AF_UNIX,
			flags & SECCOMP_DENY_UNIX ? ANSWER_EPERM :
						    ANSWER_ALLOW);
	if (flags & SECCOMP_ONLY) {
		code_answer(code, ANSWER_ALLOW);
		return;
	}
	code_jump(code, BPF_JEQ, AF_NETLINK, 0, 4);
	load_argument(code, 2);
	answer_if_equal(code, NETLINK_ROUTE, ANSWER_ALLOW);
	code_answer(code, ANSWER_PROTOCOL);

	code_jump(code, BPF_JEQ, AF_INET, 2, 0);
	code_jump(code, BPF_JEQ, AF_INET6, 1, 0);
	code_answer(code, ANSWER_FAMILY);
	load_argument(code, 2);
	answer_by_list(code, protocols, ARRAY_SIZE(protocols), ANSWER_ALLOW,
		       ANSWER_PROTOCOL);
}

static void emit_socketpair(struct code *code, unsigned flags)
{
	static const uint32_t connected[] = { SOCK_STREAM, SOCK_SEQPACKET };

	load_argument(code, 0);
	if (!(flags & SECCOMP_DENY_UNIX)) {
		answer_if_equal(code, AF_UNIX, ANSWER_ALLOW);
		code_answer(code, ANSWER_FAMILY);
		return;
	}
	code_jump(code, BPF_JEQ, AF_UNIX, 1, 0);
	code_answer(code, flags & SECCOMP_ONLY ? ANSWER_ALLOW : ANSWER_FAMILY);
	load_argument(code, 1);
	code_emit(code, BPF_ALU | BPF_AND | BPF_K, SOCKET_TYPE_MASK);
	answer_by_list(code, connected, ARRAY_SIZE(connected), ANSWER_ALLOW,
		       ANSWER_EPERM);
}

static void emit_ioctl(struct code *code)
{
	static const uint32_t requests[] = {
		REQUEST_TIOCSTI, REQUEST_TIOCLINUX, REQUEST_TIOCCONS,
		REQUEST_TIOCSETD, /* loads line disciplines */
		/* What the keys of the console type for whoever comes next. */
		REQUEST_KDSKBENT, REQUEST_KDSKBSENT, REQUEST_KDSKBDIACR,
		REQUEST_KDSETKEYCODE, REQUEST_KDSKBDIACRUC,
	};

	load_argument(code, 1);
	answer_by_list(code, requests, ARRAY_SIZE(requests), ANSWER_EPERM,
		       ANSWER_ALLOW);
}

static void emit_personality(struct code *code)
{
	static const uint32_t values[] = {
		0x0,        /* PER_LINUX */
		0x8,        /* PER_LINUX32 */
		0x20000,    /* PER_LINUX and UNAME26 */
		0x20008,    /* PER_LINUX32 and UNAME26 */
		0xffffffff, /* the query */
	};

	load_argument(code, 0);
	answer_by_list(code, values, ARRAY_SIZE(values), ANSWER_ALLOW,
		       ANSWER_EPERM);
}

/* The rule that stands for @rule in a variant of SECCOMP_ONLY. */
static enum rule rule_if_only(enum rule rule, unsigned flags)
{
	switch (rule) {
	case RULE_PTRACE:
	case RULE_MODE_1:
	case RULE_MODE_2:
	case RULE_OPEN_1:
	case RULE_OPEN_2:
	case RULE_OPENAT2:
	case RULE_XATTR:
	case RULE_NEW:
	case RULE_KILL:
		return rule;
	case RULE_SOCKET:
	case RULE_SOCKETPAIR:
		return flags & SECCOMP_DENY_UNIX ? rule : RULE_ALLOW;
	case RULE_RING:
		return flags & (SECCOMP_DENY_UNIX | SECCOMP_DENY_SETID) ?
			       rule : RULE_ALLOW;
	default:
		return RULE_ALLOW;
	}
}

bool rule_answer(enum rule rule, unsigned flags, uint32_t *ret_answer)
{
	bool may_nest = flags & SECCOMP_ALLOW_USERNS;
	bool no_setid = flags & SECCOMP_DENY_SETID;

	if (flags & SECCOMP_ONLY)
		rule = rule_if_only(rule, flags);
	switch (rule) {
	case RULE_ALLOW:
		*ret_answer = ANSWER_ALLOW;
		return true;
	case RULE_REFUSE:
	case RULE_RING:
		*ret_answer = ANSWER_EPERM;
		return true;
	case RULE_UNKNOWN:
	case RULE_NEW:
		*ret_answer = ANSWER_ENOSYS;
		return true;
	case RULE_KILL:
		*ret_answer = ANSWER_KILL;
		return true;
	case RULE_NESTING:
		*ret_answer = may_nest ? ANSWER_ALLOW : ANSWER_EPERM;
		return true;
	case RULE_CLONE3:
		*ret_answer = may_nest ? ANSWER_ALLOW : ANSWER_ENOSYS;
		return true;
	case RULE_PTRACE:
		*ret_answer = flags & SECCOMP_DENY_PTRACE ? ANSWER_EPERM :
							    ANSWER_ALLOW;
		return true;
	case RULE_OPENAT2:
		*ret_answer = no_setid ? ANSWER_ENOSYS : ANSWER_ALLOW;
		return true;
	case RULE_XATTR:
		*ret_answer = no_setid && may_nest ? ANSWER_UNSUPPORTED :
						     ANSWER_ALLOW;
		return true;
	case RULE_CLONE:
		*ret_answer = ANSWER_ALLOW;
		return may_nest;
	case RULE_MODE_1:
	case RULE_MODE_2:
	case RULE_OPEN_1:
	case RULE_OPEN_2:
		*ret_answer = ANSWER_ALLOW;
		return !no_setid;
	case RULE_INIT:
	case RULE_SOCKET:
	case RULE_SOCKETPAIR:
	case RULE_IOCTL:
	case RULE_PERSONALITY:
	case RULE_COUNT:
		break;
	}
	return false;
}

void rule_emit(struct code *code, enum rule rule, unsigned flags)
{
	uint32_t answer;

	if (rule_answer(rule, flags, &answer)) {
		code_answer(code, answer);
		return;
	}
	switch (rule) {
	case RULE_CLONE:
		emit_clone(code);
		break;
	case RULE_INIT:
		emit_init(code);
		break;
	case RULE_MODE_1:
		emit_mode(code, 1);
		break;
	case RULE_MODE_2:
		emit_mode(code, 2);
		break;
	case RULE_OPEN_1:
		emit_open(code, 1);
		break;
	case RULE_OPEN_2:
		emit_open(code, 2);
		break;
	case RULE_SOCKET:
		emit_socket(code, flags);
		break;
	case RULE_SOCKETPAIR:
		emit_socketpair(code, flags);
		break;
	case RULE_IOCTL:
		emit_ioctl(code);
		break;
	case RULE_PERSONALITY:
		emit_personality(code);
		break;
	default:
		fprintf(stderr, "rule %d has no code\n", rule);
		exit(1);
	}
}
