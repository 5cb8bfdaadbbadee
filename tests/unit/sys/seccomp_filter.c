/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The default filter against its table: every system call of both
 * architectures in every variant, with arguments that matter to the rules.
 *
 * What each rule means is written down a second time here, as plain C over
 * the arguments in the kernel's own types.  Numbers come from libseccomp, or
 * for calls that it does not know from the table.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/kd.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <criterion/criterion.h>

#include "base/mem.h"
#include "bpf.h"
#include "sys/seccomp.h"

#include "filter_aarch64.inc"
#include "filter_x86_64.inc"

#define ALLOW SECCOMP_RET_ALLOW
#define ANSWER(code) (SECCOMP_RET_ERRNO | (code))

/* ---- what the rules mean ----------------------------------------------------- */

struct call {
	unsigned flags; /* the variant */
	uint64_t args[6];
};

typedef uint32_t (*rule_fn)(const struct call *call);

static uint32_t refuse_if(bool condition)
{
	return condition ? ANSWER(EPERM) : ALLOW;
}

static bool has_setid(const struct call *call, unsigned argument)
{
	mode_t mode = (uint16_t)call->args[argument]; /* umode_t */

	return call->flags & SECCOMP_DENY_SETID && mode & (S_ISUID | S_ISGID);
}

static uint32_t rule_ALLOW(const struct call *call)
{
	return ALLOW;
}

static uint32_t rule_REFUSE(const struct call *call)
{
	return ANSWER(EPERM);
}

static uint32_t rule_UNKNOWN(const struct call *call)
{
	return ANSWER(ENOSYS);
}

static uint32_t rule_NESTING(const struct call *call)
{
	return refuse_if(!(call->flags & SECCOMP_ALLOW_USERNS));
}

static uint32_t rule_CLONE(const struct call *call)
{
	unsigned flags = (unsigned)call->args[0];
	unsigned namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
			      CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
			      CLONE_NEWNET;

	return refuse_if(!(call->flags & SECCOMP_ALLOW_USERNS) &&
			 flags & namespaces);
}

static uint32_t rule_CLONE3(const struct call *call)
{
	return call->flags & SECCOMP_ALLOW_USERNS ? ALLOW : ANSWER(ENOSYS);
}

static uint32_t rule_PTRACE(const struct call *call)
{
	return refuse_if(call->flags & SECCOMP_DENY_PTRACE);
}

static uint32_t rule_INIT(const struct call *call)
{
	return refuse_if((int)call->args[0] == 1);
}

static uint32_t rule_MODE_1(const struct call *call)
{
	return refuse_if(has_setid(call, 1));
}

static uint32_t rule_MODE_2(const struct call *call)
{
	return refuse_if(has_setid(call, 2));
}

/* O_TMPFILE holds O_DIRECTORY, which alone creates nothing. */
static uint32_t rule_OPEN_1(const struct call *call)
{
	int flags = (int)call->args[1];

	return refuse_if(flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) &&
			 has_setid(call, 2));
}

static uint32_t rule_OPEN_2(const struct call *call)
{
	int flags = (int)call->args[2];

	return refuse_if(flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) &&
			 has_setid(call, 3));
}

static uint32_t rule_OPENAT2(const struct call *call)
{
	return call->flags & SECCOMP_DENY_SETID ? ANSWER(ENOSYS) : ALLOW;
}

static uint32_t rule_XATTR(const struct call *call)
{
	unsigned both = SECCOMP_DENY_SETID | SECCOMP_ALLOW_USERNS;

	return (call->flags & both) == both ? ANSWER(EOPNOTSUPP) : ALLOW;
}

static uint32_t rule_SOCKET(const struct call *call)
{
	int family = (int)call->args[0], type = (int)call->args[1];
	int protocol = (int)call->args[2];

	type &= ~(SOCK_CLOEXEC | SOCK_NONBLOCK);
	if ((type & 0xf) == SOCK_PACKET)
		return ANSWER(EAFNOSUPPORT);
	switch (family) {
	case AF_UNIX:
		return refuse_if(call->flags & SECCOMP_DENY_UNIX);
	case AF_NETLINK:
		return protocol == NETLINK_ROUTE ? ALLOW :
						   ANSWER(EPROTONOSUPPORT);
	case AF_INET:
	case AF_INET6:
		break;
	default:
		return ANSWER(EAFNOSUPPORT);
	}
	switch (protocol) {
	case 0:
	case IPPROTO_TCP:
	case IPPROTO_UDP:
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
	case IPPROTO_UDPLITE:
	case IPPROTO_RAW:
	case 262: /* multipath TCP */
		return ALLOW;
	}
	return ANSWER(EPROTONOSUPPORT);
}

static uint32_t rule_SOCKETPAIR(const struct call *call)
{
	int family = (int)call->args[0], type = (int)call->args[1] & 0xf;

	if (family != AF_UNIX)
		return ANSWER(EAFNOSUPPORT);
	return refuse_if(call->flags & SECCOMP_DENY_UNIX &&
			 type != SOCK_STREAM && type != SOCK_SEQPACKET);
}

static uint32_t rule_IOCTL(const struct call *call)
{
	unsigned request = (unsigned)call->args[1];

	return refuse_if(request == TIOCSTI || request == TIOCLINUX ||
			 request == TIOCCONS || request == TIOCSETD ||
			 request == KDSKBENT || request == KDSKBSENT ||
			 request == KDSKBDIACR || request == KDSKBDIACRUC ||
			 request == KDSETKEYCODE);
}

static uint32_t rule_PERSONALITY(const struct call *call)
{
	unsigned persona = (unsigned)call->args[0];

	if (persona == 0xffffffff)
		return ALLOW;
	return refuse_if((persona & ~(unsigned)UNAME26) != PER_LINUX &&
			 (persona & ~(unsigned)UNAME26) != PER_LINUX32);
}

static uint32_t rule_RING(const struct call *call)
{
	return ANSWER(EPERM);
}

/* The same in the variants that hold only what a flag denies. */
static uint32_t rule_if_only(rule_fn rule, const struct call *call)
{
	bool no_unix = call->flags & SECCOMP_DENY_UNIX;

	if (rule == rule_PTRACE || rule == rule_MODE_1 || rule == rule_MODE_2 ||
	    rule == rule_OPEN_1 || rule == rule_OPEN_2 ||
	    rule == rule_OPENAT2 || rule == rule_XATTR)
		return rule(call);
	if (rule == rule_RING)
		return refuse_if(no_unix || call->flags & SECCOMP_DENY_SETID);
	if (rule == rule_SOCKET)
		return refuse_if(no_unix && (int)call->args[0] == AF_UNIX);
	if (rule == rule_SOCKETPAIR && (int)call->args[0] == AF_UNIX)
		return rule(call);
	return ALLOW;
}

/* ---- the table, and the programs ---------------------------------------------- */

struct row {
	const char *name;
	int number[2];
	rule_fn rule;
	bool looks; /* at arguments */
};

#define looks_ALLOW false
#define looks_RING false
#define looks_REFUSE false
#define looks_UNKNOWN false
#define looks_NESTING false
#define looks_CLONE true
#define looks_CLONE3 false
#define looks_PTRACE false
#define looks_INIT true
#define looks_MODE_1 true
#define looks_MODE_2 true
#define looks_OPEN_1 true
#define looks_OPEN_2 true
#define looks_OPENAT2 false
#define looks_XATTR false
#define looks_SOCKET true
#define looks_SOCKETPAIR true
#define looks_IOCTL true
#define looks_PERSONALITY true

static const struct row table[] = {
#define CALL(name, rule) { #name, { -1, -1 }, rule_##rule, looks_##rule },
#define CALL_AT(name, x86_64, aarch64, rule) \
	{ #name, { x86_64, aarch64 }, rule_##rule, looks_##rule },
#include "sys/seccomp/table.def"
};

struct arch {
	const char *name;
	uint32_t seccomp, audit;
	bool has_x32;
	const struct sock_filter *filters;
	const unsigned short *first;
};

static const struct arch archs[] = {
	{ "x86_64", SCMP_ARCH_X86_64, 0xc000003e, true, filters_x86_64,
	  filters_x86_64_first },
	{ "aarch64", SCMP_ARCH_AARCH64, 0xc00000b7, false, filters_aarch64,
	  filters_aarch64_first },
};

#define for_each_program(arch, flags)                                     \
	for (const struct arch *arch = archs; arch < archs + 2; arch++)   \
		for (unsigned flags = 0; flags <= SECCOMP_FLAGS_ALL; flags++)

enum { NUMBERS = 1024 }; /* no kernel has that many */

static int row_number(const struct row *row, const struct arch *arch)
{
	int known = seccomp_syscall_resolve_name_arch(arch->seccomp,
						      row->name);

	return known >= 0 ? known : row->number[arch - archs];
}

/* The rows by number; NULL where no row has it. */
static const struct row **rows_of(const struct arch *arch)
{
	static const struct row *rows[2][NUMBERS];

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		int number = row_number(&table[i], arch);

		if (number >= 0 && number < NUMBERS)
			rows[arch - archs][number] = &table[i];
	}
	return rows[arch - archs];
}

static uint32_t ask(const struct arch *arch, unsigned flags, uint32_t audit,
		    uint32_t number, const uint64_t args[6])
{
	struct seccomp_data data = { .nr = (int)number, .arch = audit };

	memcpy(data.args, args, sizeof(data.args));
	return bpf_run(arch->filters + arch->first[flags],
		       (size_t)(arch->first[flags + 1] - arch->first[flags]),
		       &data, NULL);
}

static const uint64_t no_args[6];

/* ---- every row ------------------------------------------------------------------ */

/* Arguments that some rule tells apart, and neighbours of them. */
static const uint32_t values[] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 16, 17, 33, 38, 40, 44, 58,
	132, 136, 255, 256, 262, 01777, 0644, 02000, 04755, 06777, 010644,
	0100, 0101, 0200000, 020000000, 020200000, 02000001, SOCK_CLOEXEC | 1,
	SOCK_CLOEXEC | 2, SOCK_NONBLOCK | 5, SOCK_CLOEXEC | 10, 0x20000,
	0x20008, 0x40000, 0x28, 0x80, 0x5411, 0x5412, 0x5413, 0x541b, 0x541c,
	0x541d, 0x541e, 0x5422, 0x5423, 0x5424, 0x4b46, 0x4b47, 0x4b48, 0x4b49,
	0x4b4a, 0x4b4b, 0x4b4c, 0x4b4d, 0x4b4e, 0x4bfb, 0x00020000, 0x01200011,
	0x003d0f00, 0x02000000, 0x04000000, 0x08000000, 0x10000000,
	0x20000000, 0x40000000, 0x80000000, 0x7e020000, 0xfffffffe,
	0xffffffff,
};

/* What a caller may put above the 32 bits that the kernel takes. */
static const uint64_t above[] = { 0, 0x8000000100000000 };

static void compare(const struct arch *arch, const struct row *row,
		    uint32_t number, const struct call *call)
{
	uint32_t is = ask(arch, call->flags, arch->audit, number, call->args);
	uint32_t expected = call->flags & SECCOMP_ONLY ?
				    rule_if_only(row->rule, call) :
				    row->rule(call);

	cr_assert(is == expected,
		  "%s %s (%u) variant %u (%#llx, %#llx, %#llx, %#llx): %#x, "
		  "expected %#x", arch->name, row->name, number, call->flags,
		  (unsigned long long)call->args[0],
		  (unsigned long long)call->args[1],
		  (unsigned long long)call->args[2],
		  (unsigned long long)call->args[3], is, expected);
}

/* Each value in each argument, two at a time where the rule looks at any. */
static void compare_all(const struct arch *arch, const struct row *row,
			uint32_t number, unsigned flags)
{
	struct call call = { .flags = flags };

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		for (size_t n = 0; n < 4; n++)
			call.args[n] = values[i];
		compare(arch, row, number, &call);
	}
	if (!row->looks)
		return;
	for (size_t h = 0; h < ARRAY_SIZE(above); h++)
		for (size_t i = 0; i < ARRAY_SIZE(values); i++)
			for (size_t j = 0; j < ARRAY_SIZE(values); j++)
				for (size_t n = 0; n < 4; n++) {
					memset(call.args, 0, sizeof(call.args));
					call.args[n] = values[i] | above[h];
					call.args[(n + 1) % 4] = values[j] |
								 above[h];
					compare(arch, row, number, &call);
				}
}

Test(seccomp_filter, every_row_is_what_the_table_says)
{
	for_each_program(arch, flags) {
		const struct row **rows = rows_of(arch);

		for (uint32_t number = 0; number < NUMBERS; number++)
			if (rows[number])
				compare_all(arch, rows[number], number, flags);
	}
}

Test(seccomp_filter, all_three_arguments_of_socket_count)
{
	struct call call = { 0 };
	const struct row *row = table;

	while (strcmp(row->name, "socket"))
		row++;
	for_each_program(arch, flags) {
		uint32_t number = (uint32_t)row_number(row, arch);

		call.flags = flags;
		for (uint64_t family = 0; family < 64; family++)
			for (uint64_t type = 0; type < 16; type++)
				for (uint64_t protocol = 0; protocol < 300;
				     protocol++) {
					call.args[0] = family;
					call.args[1] = type | SOCK_CLOEXEC;
					call.args[2] = protocol;
					compare(arch, row, number, &call);
				}
	}
}

Test(seccomp_filter, what_has_no_row_is_unknown)
{
	static const uint32_t far[] = { NUMBERS,    4095,       0x10000,
					0x3fffffff, 0xffffffff };

	for_each_program(arch, flags) {
		const struct row **rows = rows_of(arch);

		for (uint32_t number = 0; number < NUMBERS; number++)
			cr_assert(rows[number] ||
				  ask(arch, flags, arch->audit, number,
				      no_args) == ANSWER(ENOSYS),
				  "%s: %u", arch->name, number);
		for (size_t i = 0; i < ARRAY_SIZE(far); i++)
			cr_assert(ask(arch, flags, arch->audit, far[i],
				      no_args) == ANSWER(ENOSYS),
				  "%s: %#x", arch->name, far[i]);
	}
}

/* ---- other ABIs -------------------------------------------------------------------- */

Test(seccomp_filter, another_architecture_is_the_end)
{
	/* i386, arm, their sisters, big-endian arm, none */
	static const uint32_t foreign[] = {
		0x40000003, 0x40000028, 0x00000028, 0xc000003e, 0xc00000b7,
		0x800000b7, 0x0000003e, 0,          0xffffffff,
	};

	for_each_program(arch, flags)
		for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
			for (uint32_t number = 0; number < NUMBERS; number++) {
				if (foreign[i] == arch->audit)
					continue;
				cr_assert(ask(arch, flags, foreign[i], number,
					      no_args) ==
						  SECCOMP_RET_KILL_PROCESS,
					  "%s: %#x, %u", arch->name,
					  foreign[i], number);
			}
}

Test(seccomp_filter, the_x32_bit_is_the_end_on_x86_64)
{
	static const uint32_t bits[] = { 0x40000000, 0x7ffffc00, 0xc0000000,
					 0xfffff000 };

	for_each_program(arch, flags) {
		uint32_t expected = arch->has_x32 ? SECCOMP_RET_KILL_PROCESS :
						    ANSWER(ENOSYS);

		for (size_t i = 0; i < ARRAY_SIZE(bits); i++)
			for (uint32_t number = 0; number < NUMBERS; number++)
				cr_assert(ask(arch, flags, arch->audit,
					      bits[i] | number,
					      no_args) == expected,
					  "%s: %#x", arch->name,
					  bits[i] | number);
	}
}

/* ---- the table ---------------------------------------------------------------------- */

Test(seccomp_filter, no_call_that_libseccomp_knows_is_left_out)
{
	for (const struct arch *arch = archs; arch < archs + 2; arch++) {
		const struct row **rows = rows_of(arch);
		unsigned known = 0;

		for (int number = 0; number < NUMBERS; number++) {
			char *name = seccomp_syscall_resolve_num_arch(
				arch->seccomp, number);

			known += name != NULL;
			cr_expect(!name || rows[number],
				  "%s: %s (%d) is not in the table",
				  arch->name, name, number);
			free(name);
		}
		cr_expect(known > 300, "%s: %u", arch->name, known);
	}
}

Test(seccomp_filter, numbers_in_the_table_are_libseccomps)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		for (const struct arch *arch = archs; arch < archs + 2;
		     arch++) {
			int known = seccomp_syscall_resolve_name_arch(
				arch->seccomp, table[i].name);
			int given = table[i].number[arch - archs];

			cr_expect(known < 0 || given < 0 || known == given,
				  "%s: %s is %d, not %d", arch->name,
				  table[i].name, known, given);
		}
}

/* ---- the programs --------------------------------------------------------------------- */

Test(seccomp_filter, the_programs_are_well_formed_and_short)
{
	for_each_program(arch, flags) {
		const struct sock_filter *at = arch->filters +
					       arch->first[flags];
		size_t count = (size_t)(arch->first[flags + 1] -
					arch->first[flags]);
		struct error err = { 0 };
		unsigned most = 0;

		cr_assert(seccomp_check_program(at, count * sizeof(*at),
						&err) == 0,
			  "%s", err.text);
		cr_expect(count < 400, "%s: %zu", arch->name, count);
		for (int number = 0; number < NUMBERS; number++) {
			struct seccomp_data data = { .nr = number,
						     .arch = arch->audit };
			unsigned steps = 0;

			bpf_run(at, count, &data, &steps);
			if (steps > most)
				most = steps;
		}
		cr_expect(most <= 24, "%s: %u steps", arch->name, most);
	}
}

Test(seccomp_filter, a_variant_is_had_by_its_flags)
{
#ifdef __x86_64__
	const struct arch *arch = &archs[0];
#else
	const struct arch *arch = &archs[1];
#endif

	for (unsigned flags = 0; flags <= SECCOMP_FLAGS_ALL; flags++) {
		size_t count, expected = (size_t)(arch->first[flags + 1] -
						  arch->first[flags]);
		const struct sock_filter *at = seccomp_default_program(flags,
								       &count);

		cr_assert(count == expected);
		cr_assert(!memcmp(at, arch->filters + arch->first[flags],
				  count * sizeof(*at)));
	}
}
