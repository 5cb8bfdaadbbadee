/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The control group of one run: made, filled, read, emptied, removed.
 *
 * A group is a directory, a limit is a file in it.  Which files, for which
 * controller and version, is a table; everything else treats the versions
 * alike: version 2 is one directory, version 1 one for each controller.
 *
 * Where to make them is found by cgroup_site.c.
 */
#include "sys/cgroup.h"

#include "base/mem.h"
#include "sys/cgroup_files.h"
#include "sys/cgroup_site.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	CGROUP_NAMES = 1000,       /* tries to find a free one */
	CGROUP_CPU_PERIOD = 100000, /* microseconds, the kernel's default */
};

static const char cgroup_remedy[] =
	"start it in a cgroup of its own: systemd-run --user --scope "
	"-p Delegate=yes …, or from a service with Delegate=yes";

/* ---- limits ---------------------------------------------------------------- */

enum cgroup_value {
	VALUE_LIMIT,   /* the limit's number */
	VALUE_QUOTA,   /* microseconds of CPU a period, from per cent */
	VALUE_QUOTA_AND_PERIOD,
	VALUE_PERIOD,
	VALUE_ZERO,
	VALUE_ONE,
};

/* What is written for a limit, in this order. */
static const struct {
	enum cgroup_version version;
	enum cgroup_controller controller;
	const char *file;
	enum cgroup_value value;
	bool is_optional; /* not in every kernel or configuration */
} cgroup_files[] = {
	{ CGROUP_V2, CGROUP_PIDS, "pids.max", VALUE_LIMIT, false },
	{ CGROUP_V2, CGROUP_MEMORY, "memory.max", VALUE_LIMIT, false },
	{ CGROUP_V2, CGROUP_MEMORY, "memory.swap.max", VALUE_ZERO, true },
	{ CGROUP_V2, CGROUP_MEMORY, "memory.oom.group", VALUE_ONE, true },
	{ CGROUP_V2, CGROUP_CPU, "cpu.max", VALUE_QUOTA_AND_PERIOD, false },
	{ CGROUP_V1, CGROUP_PIDS, "pids.max", VALUE_LIMIT, false },
	{ CGROUP_V1, CGROUP_MEMORY, "memory.limit_in_bytes", VALUE_LIMIT,
	  false },
	{ CGROUP_V1, CGROUP_MEMORY, "memory.memsw.limit_in_bytes",
	  VALUE_LIMIT, true },
	{ CGROUP_V1, CGROUP_MEMORY, "memory.swappiness", VALUE_ZERO, true },
	{ CGROUP_V1, CGROUP_CPU, "cpu.cfs_period_us", VALUE_PERIOD, false },
	{ CGROUP_V1, CGROUP_CPU, "cpu.cfs_quota_us", VALUE_QUOTA, false },
};

static uint64_t cgroup_limit(const struct cgroup_limits *limits,
			     enum cgroup_controller controller)
{
	const uint64_t by_controller[] = {
		[CGROUP_PIDS] = limits->processes,
		[CGROUP_MEMORY] = limits->memory,
		[CGROUP_CPU] = limits->cpu_percent,
	};

	static_assert(ARRAY_SIZE(by_controller) == CGROUP_CONTROLLER_COUNT,
		      "a limit for each controller");
	return by_controller[controller];
}

static void cgroup_format(enum cgroup_value value, uint64_t limit,
			  char *ret_text, size_t room)
{
	uint64_t quota;

	if (__builtin_mul_overflow(limit, CGROUP_CPU_PERIOD / 100, &quota))
		quota = INT64_MAX / 1000;
	switch (value) {
	case VALUE_LIMIT:
		snprintf(ret_text, room, "%" PRIu64, limit);
		break;
	case VALUE_QUOTA:
		snprintf(ret_text, room, "%" PRIu64, quota);
		break;
	case VALUE_QUOTA_AND_PERIOD:
		snprintf(ret_text, room, "%" PRIu64 " %d", quota,
			 CGROUP_CPU_PERIOD);
		break;
	case VALUE_PERIOD:
		snprintf(ret_text, room, "%d", CGROUP_CPU_PERIOD);
		break;
	case VALUE_ZERO:
		snprintf(ret_text, room, "0");
		break;
	case VALUE_ONE:
		snprintf(ret_text, room, "1");
		break;
	}
}

/* The directory in which @controller's files are; -EBADF: none. */
static int cgroup_directory(const struct cgroup *cgroup,
			    enum cgroup_controller controller)
{
	switch (cgroup->version[controller]) {
	case CGROUP_V2:
		return cgroup->v2.fd;
	case CGROUP_V1:
		return cgroup->v1[controller].fd;
	case CGROUP_NONE:
		break;
	}
	return -EBADF;
}

static int cgroup_set_limits(const struct cgroup *cgroup,
			     const struct cgroup_limits *limits,
			     struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(cgroup_files); i++) {
		enum cgroup_controller controller = cgroup_files[i].controller;
		char text[64];
		int result;

		if (cgroup->version[controller] != cgroup_files[i].version)
			continue;
		cgroup_format(cgroup_files[i].value,
			      cgroup_limit(limits, controller), text,
			      sizeof(text));
		result = cgroup_write_file(cgroup_directory(cgroup,
							    controller),
					   cgroup_files[i].file, text);
		if (!result)
			continue;
		if (cgroup_files[i].is_optional && result == -ENOENT)
			continue;
		return error_set(err, -result, "cgroup: write '%s' to '%s'",
				 text, cgroup_files[i].file);
	}
	return 0;
}

/* ---- making ---------------------------------------------------------------- */

/* Make the directory @name below @parent_fd and open it. */
static int cgroup_make_place(int parent_fd, const char *name,
			     struct cgroup_place *ret_place,
			     struct error *err)
{
	struct cgroup_place place = { parent_fd, -EBADF };

	if (mkdirat(parent_fd, name, 0755) < 0)
		return error_set(err, errno, "cgroup: mkdir '%s'", name);
	place.fd = openat(parent_fd, name,
			  O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (place.fd < 0) {
		error_set(err, errno, "cgroup: open '%s'", name);
		unlinkat(parent_fd, name, AT_REMOVEDIR);
		return error_result(err);
	}
	*ret_place = place;
	return 0;
}

/* A name that no group in any of the @sites has. */
static int cgroup_choose_name(const struct cgroup_site *sites, size_t count,
			      char *ret_name, struct error *err)
{
	for (int try = 0; try < CGROUP_NAMES; try++) {
		bool is_free = true;
		struct stat status;

		snprintf(ret_name, CGROUP_NAME_MAX, "sbx-launch-%d-%d",
			 (int)getpid(), try);
		for (size_t i = 0; i < count && is_free; i++)
			is_free = sites[i].fd < 0 ||
				  (fstatat(sites[i].fd, ret_name, &status,
					   0) < 0 && errno == ENOENT);
		if (is_free)
			return 0;
	}
	return error_set(err, EEXIST, "cgroup: no free name");
}

/* Out of the group that is to hand on controllers, into a leaf of it. */
static int cgroup_leave(struct cgroup *cgroup, struct error *err)
{
	int parent_fd = cgroup->v2.parent_fd;
	struct cgroup_place self = { .fd = -EBADF };
	int result;

	snprintf(cgroup->self_name, sizeof(cgroup->self_name), "%.40s-self",
		 cgroup->name);
	result = cgroup_make_place(parent_fd, cgroup->self_name, &self, err);
	if (result < 0)
		return result;
	cgroup->self_fd = self.fd;
	result = cgroup_move(self.fd, 0);
	if (result < 0)
		return error_set(err, -result,
				 "cgroup: move the launcher to '%s'",
				 cgroup->self_name);
	return 0;
}

/* Let @site hand on what it does not yet. */
static int cgroup_prepare_v2(struct cgroup *cgroup,
			     const struct cgroup_site *site, struct error *err)
{
	int result;

	if (!site->enable)
		return 0;
	if (site->must_leave) {
		result = cgroup_leave(cgroup, err);
		if (result < 0)
			return result;
	}
	result = cgroup_switch_controllers(cgroup->v2.parent_fd, '+',
					   site->enable);
	if (result < 0)
		return error_set(err, -result,
				 "cgroup: enable controllers in "
				 "cgroup.subtree_control");
	/* The root is left with them: others may have begun to use them */
	if (site->must_leave)
		cgroup->self_enabled = site->enable;
	return 0;
}

void cgroup_init(struct cgroup *cgroup)
{
	static const struct cgroup_place none = { -EBADF, -EBADF };

	*cgroup = (struct cgroup){ .v2 = none, .self_fd = -EBADF };
	for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		cgroup->v1[i] = none;
}

/*
 * Find places for the controllers of @wanted: one of version 2 for all, or
 * version 1 for those that have it, and one of version 2 for the others.
 * @sites has the version 1 ones by controller and the other last; the
 * versions are entered in @version.  Returns the controllers that there is no
 * place for, with *@ret_why, or 0.
 */
static unsigned cgroup_find_sites(unsigned wanted, struct cgroup_site *sites,
				  enum cgroup_version *version,
				  const char **ret_why)
{
	struct cgroup_site *v2 = &sites[CGROUP_CONTROLLER_COUNT];
	struct cgroup_view view;
	unsigned left = wanted;

	cgroup_view_read(&view);
	if (cgroup_find_v2(&view, wanted, v2, ret_why) < 0) {
		const char *ignored;

		for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
			if (!(wanted & 1U << i) ||
			    cgroup_find_v1(&view, i, &sites[i], &ignored) < 0)
				continue;
			version[i] = CGROUP_V1;
			left &= ~(1U << i);
		}
		if (left && cgroup_find_v2(&view, left, v2, ret_why) < 0)
			return left;
	}
	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		if (left & 1U << i)
			version[i] = CGROUP_V2;
	return 0;
}

/* Everything in @sites that was found, made; @sites are emptied. */
static int cgroup_make(struct cgroup *cgroup, struct cgroup_site *sites,
		       struct error *err)
{
	struct cgroup_site *v2 = &sites[CGROUP_CONTROLLER_COUNT];
	int result;

	result = cgroup_choose_name(sites, CGROUP_CONTROLLER_COUNT + 1,
				    cgroup->name, err);
	if (result < 0)
		return result;
	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
		if (sites[i].fd < 0)
			continue;
		cgroup->v1[i].parent_fd = take_fd(&sites[i].fd);
		result = cgroup_make_place(cgroup->v1[i].parent_fd,
					   cgroup->name, &cgroup->v1[i], err);
		if (result < 0)
			return result;
	}
	if (v2->fd < 0)
		return 0;
	cgroup->v2.parent_fd = take_fd(&v2->fd);
	result = cgroup_prepare_v2(cgroup, v2, err);
	if (result < 0)
		return result;
	return cgroup_make_place(cgroup->v2.parent_fd, cgroup->name,
				 &cgroup->v2, err);
}

int cgroup_create(const struct cgroup_limits *limits,
		  struct cgroup *ret_cgroup, struct error *err)
{
	struct cgroup_site sites[CGROUP_CONTROLLER_COUNT + 1];
	struct cgroup cgroup;
	struct error ignored;
	unsigned wanted = 0, missing;
	const char *why = "";
	int result;

	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		if (cgroup_limit(limits, i) != UINT64_MAX)
			wanted |= 1U << i;
	if (!wanted)
		return error_set(err, EINVAL, "cgroup without a limit");
	cgroup_init(&cgroup);
	for (size_t i = 0; i < ARRAY_SIZE(sites); i++)
		sites[i] = (struct cgroup_site){ .fd = -EBADF };
	missing = cgroup_find_sites(wanted, sites, cgroup.version, &why);
	if (missing) {
		result = error_set(err, ENOTSUP,
				   "no cgroup for the limit on %s: %s",
				   cgroup_names[__builtin_ctz(missing)], why);
		error_remedy(err, "%s", cgroup_remedy);
	} else {
		result = cgroup_make(&cgroup, sites, err);
	}
	if (!result)
		result = cgroup_set_limits(&cgroup, limits, err);
	for (size_t i = 0; i < ARRAY_SIZE(sites); i++)
		mem_close_fd(&sites[i].fd);
	if (result < 0) {
		cgroup_remove(&cgroup, 0, &ignored);
		cgroup_close(&cgroup);
		return result;
	}
	*ret_cgroup = cgroup;
	return 0;
}

void cgroup_probe(struct cgroup_support *ret_support)
{
	struct cgroup_support support;

	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
		struct cgroup_site sites[CGROUP_CONTROLLER_COUNT + 1];
		const char *why = "";

		for (size_t k = 0; k < ARRAY_SIZE(sites); k++)
			sites[k] = (struct cgroup_site){ .fd = -EBADF };
		support.version[i] = CGROUP_NONE;
		support.why_not[i] =
			cgroup_find_sites(1U << i, sites, support.version,
					  &why) ? why : "";
		for (size_t k = 0; k < ARRAY_SIZE(sites); k++)
			mem_close_fd(&sites[k].fd);
	}
	*ret_support = support;
}

/* ---- filling --------------------------------------------------------------- */

int cgroup_clone_fd(const struct cgroup *cgroup)
{
	return cgroup->v2.fd;
}

int cgroup_attach(const struct cgroup *cgroup, pid_t pid, bool v2_too,
		  struct error *err)
{
	int result = 0;

	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT && !result; i++)
		if (cgroup->v1[i].fd >= 0)
			result = cgroup_move(cgroup->v1[i].fd, pid);
	if (!result && v2_too && cgroup->v2.fd >= 0)
		result = cgroup_move(cgroup->v2.fd, pid);
	if (result < 0)
		return error_set(err, -result,
				 "cgroup: move process %d to '%s'", (int)pid,
				 cgroup->name);
	return 0;
}
