/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * System call filters that somebody else wrote: a profile's `seccomp = FILE`
 * and bubblewrap's --seccomp and --add-seccomp-fd.
 */
#include "engine/child.h"

#include "sys/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* Read @fd to its end, at most one byte more than a program can have. */
static int read_program(struct run *run, int fd, struct filter *ret_filter,
			struct error *err)
{
	enum { MOST = SECCOMP_PROGRAM_SIZE_MAX + 1 };
	char *data = arena_alloc(run->arena, MOST);
	size_t size = 0;
	ssize_t got;

	while (size < MOST && (got = read(fd, data + size, MOST - size))) {
		if (got < 0 && errno != EINTR)
			return error_set(err, errno, "Can't read seccomp data");
		if (got > 0)
			size += (size_t)got;
	}
	ret_filter->data = data;
	ret_filter->size = size;
	return 0;
}

static int read_file(struct run *run, struct error *err)
{
	const struct plan_security *security = &run->plan->security;
	const char *where = origin_text(run->arena,
					&security->seccomp_origin);
	struct filter *filter = arena_push(run->arena, &run->filters);
	auto_close int fd = open(security->seccomp_file, O_RDONLY | O_CLOEXEC |
				 O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return error_set(err, errno, "%s: seccomp: open '%s'", where,
				 security->seccomp_file);
	if (read_program(run, fd, filter, err) < 0 ||
	    seccomp_check_program(filter->data, filter->size, err) < 0) {
		error_reason(err, "seccomp-program");
		return error_wrap(err, "%s: seccomp '%s'", where,
				  security->seccomp_file);
	}
	return 0;
}

static int read_fd(struct run *run, int fd, struct error *err)
{
	struct filter *filter = arena_push(run->arena, &run->filters);

	if (read_program(run, fd, filter, err) < 0)
		return error_result(err);
	close(fd);
	if (filter->size % 8)
		return error_set(err, 0, "Invalid seccomp data, must be "
				 "multiple of 8");
	return 0;
}

int filters_read(struct run *run, struct error *err)
{
	const struct plan *plan = run->plan;

	if (plan->security.seccomp == SECCOMP_FROM_FILE &&
	    read_file(run, err) < 0)
		return error_result(err);
	if (plan->bwrap.seccomp_fd >= 0 &&
	    read_fd(run, plan->bwrap.seccomp_fd, err) < 0)
		return error_result(err);
	for (size_t i = 0; i < plan->bwrap.seccomp_fds.count; i++)
		if (read_fd(run, plan->bwrap.seccomp_fds.at[i], err) < 0)
			return error_result(err);
	return 0;
}
