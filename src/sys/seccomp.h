/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * System call filters: the compiled-in default, and programs from a caller.
 *
 * Everything here is for a single-threaded process: the filter holds for the
 * calling thread and what it forks and execs from then on, and nothing takes
 * it off again (seccomp(2)).  Nothing here allocates or opens anything, so
 * all of it may be called between fork and exec.
 *
 * A filter may be loaded by a process that has no_new_privs, or
 * CAP_SYS_ADMIN in its user namespace.  The caller sets no_new_privs first.
 */
#ifndef SYS_SECCOMP_H
#define SYS_SECCOMP_H

#include "base/error.h"

#include <stddef.h>

struct sock_filter;

/*
 * Variants of the default filter, to be combined freely.  With none of them
 * it allows what ordinary programs, compilers, debuggers and language
 * runtimes use, refuses namespaces and mounts and everything that reaches
 * past the sandbox with EPERM, answers ENOSYS for system calls that it does
 * not know (and for clone3, whose flags it cannot see), and kills a process
 * that uses a foreign ABI.  src/sys/seccomp/table.def is the whole list.
 */
enum seccomp_flags {
	/*
	 * socket(AF_UNIX) is EPERM.  socketpair() goes on working for the
	 * types whose ends cannot be connected to anything else: stream and
	 * seqpacket, but not datagram.
	 */
	SECCOMP_DENY_UNIX = 1 << 0,
	/*
	 * Namespaces, mounts, chroot and host names are the kernel's to
	 * refuse: what a sandbox within the sandbox needs.
	 */
	SECCOMP_ALLOW_USERNS = 1 << 1,
	/*
	 * No file can get a set-user-id or set-group-id bit (EPERM); openat2,
	 * whose mode cannot be seen, is ENOSYS.  With SECCOMP_ALLOW_USERNS no
	 * extended attribute can be set either (EOPNOTSUPP): it may be a
	 * file's capabilities.  For a workspace whose files belong to
	 * somebody else on the host than inside.
	 */
	SECCOMP_DENY_SETID = 1 << 2,
	/* ptrace is EPERM. */
	SECCOMP_DENY_PTRACE = 1 << 3,
	/*
	 * Nothing but what the DENY flags beside it say, and what would get
	 * around that: foreign ABIs, system calls that are not in the table
	 * and, with unix sockets or set-id bits denied, io_uring.  The rest
	 * is the kernel's to refuse.  For a run that has another filter than
	 * the default, or none, and a rule that must hold all the same.
	 */
	SECCOMP_ONLY = 1 << 4,

	SECCOMP_FLAGS_ALL = (1 << 5) - 1,
};

/*
 * Load the default filter.  It may be loaded by PID 1 and by the payload
 * alike; everything that is needed to fork, wait, exchange messages, close
 * descriptors and exec passes it.  Afterwards the caller can no longer mount,
 * unshare, join namespaces or use keyrings.
 *
 * Returns 0, or a negative errno with @err filled: -EACCES without
 * no_new_privs, -EINVAL where the kernel has no CONFIG_SECCOMP_FILTER (or
 * this process is in strict mode), -ENOMEM above the kernel's total of
 * instructions (32768 over all filters).
 */
int seccomp_load_default(unsigned flags, struct error *err);

/*
 * Load a classic BPF program: @size bytes of struct sock_filter in this
 * machine's byte order, as `seccomp_export_bpf` and `bpf_dbg` write it.  It
 * is checked first, so that the error says what is wrong and where, which
 * the kernel's EINVAL does not; a bad program always is -EINVAL, its cause
 * in the error's text ("not a BPF program: size 5 is no multiple of 8").
 * Otherwise as seccomp_load_default().  @data needs no alignment.
 *
 * Whatever the caller does next is subject to the program, its next
 * system call included.
 */
int seccomp_load_program(const void *data, size_t size, struct error *err);

/*
 * What seccomp_load_program() checks, without loading: size, length,
 * opcodes, operands, jumps, the last instruction and scratch memory, by the
 * kernel's own rules: it takes what Linux 3.5 to 6.18 take.  The error counts
 * instructions from 0, as disassemblers do.  Returns 0, or -EINVAL with @err
 * filled (and no errno in it, the reason "seccomp-program").
 */
int seccomp_check_program(const void *data, size_t size, struct error *err);

/* At most this many bytes can be a program (BPF_MAXINSNS, 4096). */
enum { SECCOMP_PROGRAM_SIZE_MAX = 4096 * 8 };

/*
 * Is a filter active, as the kernel sees it (PR_GET_SECCOMP is 2)?  Returns
 * 0, or -EPROTO with @err filled.  It calls prctl(), which the default filter
 * allows and a caller's program may not; there the 0 of
 * seccomp_load_program() has to be enough.
 */
int seccomp_verify(struct error *err);

/* The default filter itself, to be read; lives as long as the process. */
const struct sock_filter *seccomp_default_program(unsigned flags,
						  size_t *ret_count);

#endif
