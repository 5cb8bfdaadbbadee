/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "harness/refusal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>

#include "harness/arena.h"
#include "harness/identity.h"

enum { ERRNO_LAST = 133 };

static void add_rule(scmp_filter_ctx filter, const struct refusal *refusal)
{
	int call = seccomp_syscall_resolve_name(refusal->call);
	uint32_t action = refusal->error == REFUSAL_KILL ?
		SCMP_ACT_KILL_PROCESS :
		SCMP_ACT_ERRNO((uint16_t)refusal->error);
	struct scmp_arg_cmp compare = SCMP_CMP64(
		refusal->argument, SCMP_CMP_MASKED_EQ, refusal->mask,
		refusal->value);
	int r;

	if (call == __NR_SCMP_ERROR)
		harness_fail("refusal: unknown system call '%s'",
			     refusal->call);
	r = seccomp_rule_add_array(filter, action, call, refusal->mask ? 1 : 0,
				   &compare);
	if (r < 0)
		harness_fail("refusal: %s: %s", refusal->call, strerror(-r));
}

/* The kernel's form of @filter; libseccomp only writes it to a descriptor. */
static void export_filter(scmp_filter_ctx filter,
			  struct sock_fprog *ret_program)
{
	int fd = memfd_create("refusal", MFD_CLOEXEC);
	struct stat st;
	void *data;
	int r;

	if (fd < 0)
		harness_fail("refusal: memfd_create: %s", strerror(errno));
	r = seccomp_export_bpf(filter, fd);
	if (r < 0)
		harness_fail("refusal: export: %s", strerror(-r));
	if (fstat(fd, &st) < 0)
		harness_fail("refusal: fstat: %s", strerror(errno));
	data = arena_take((size_t)st.st_size);
	if (pread(fd, data, (size_t)st.st_size, 0) != st.st_size)
		harness_fail("refusal: short read");
	close(fd);
	ret_program->len =
		(unsigned short)((size_t)st.st_size /
				 sizeof(struct sock_filter));
	ret_program->filter = data;
}

void refusal_compile(const struct refusal *list,
		     struct sock_fprog *ret_program)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	if (!filter)
		harness_fail("refusal: seccomp_init failed");
	for (; list->call; list++)
		add_rule(filter, list);
	export_filter(filter, ret_program);
	seccomp_release(filter);
}

int refusal_apply(const struct sock_fprog *program)
{
	/* Only a privileged process may do without no_new_privs. */
	if (!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0))
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) < 0)
		return -errno;
	return 0;
}

int refusal_error(const char *name)
{
	if (!strcmp(name, "KILL"))
		return REFUSAL_KILL;
	for (int error = 1; error <= ERRNO_LAST; error++) {
		const char *known = strerrorname_np(error);

		if (known && !strcmp(known, name))
			return error;
	}
	return 0;
}
