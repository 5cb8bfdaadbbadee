/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a control group has used.  memory.peak came with 5.19, cpu.stat is in
 * every group of version 2, with and without the controller.  Version 1 counts
 * time in a hierarchy of its own, which no limit needs.
 */
#include "sys/cgroup.h"

#include "sys/cgroup_files.h"

#include <stdlib.h>
#include <string.h>

/* The number behind @key in the file, which begins a line; UINT64_MAX: none. */
static uint64_t cgroup_number(int directory, const char *file,
			      const char *key)
{
	size_t length = strlen(key);
	char text[4096];
	char *end;

	if (directory < 0 ||
	    cgroup_read_file(directory, file, text, sizeof(text)) < 0)
		return UINT64_MAX;
	for (char *at = text; at; at = strchr(at, '\n'), at += at ? 1 : 0) {
		unsigned long long number;

		if (strncmp(at, key, length) != 0)
			continue;
		number = strtoull(at + length, &end, 10);
		return end == at + length ? UINT64_MAX : number;
	}
	return UINT64_MAX;
}

void cgroup_usage(const struct cgroup *cgroup, struct cgroup_usage *ret_usage)
{
	int v2 = cgroup->v2.fd;

	ret_usage->memory_peak = cgroup_number(v2, "memory.peak", "");
	if (ret_usage->memory_peak == UINT64_MAX)
		ret_usage->memory_peak = cgroup_number(
			cgroup->v1[CGROUP_MEMORY].fd,
			"memory.max_usage_in_bytes", "");
	ret_usage->user_us = cgroup_number(v2, "cpu.stat", "user_usec ");
	ret_usage->system_us = cgroup_number(v2, "cpu.stat", "system_usec ");
}
