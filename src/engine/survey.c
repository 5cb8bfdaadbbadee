/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What this machine has for a plan: read, never made.  What a run would come
 * to is decided by the same functions that a run asks.
 */
#include "engine/child.h"

#include "base/text.h"
#include "plan/op_types.h"
#include "plan/survey.h"
#include "sys/landlock.h"
#include "sys/mount_table.h"

#include <grp.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

/* ---- mounts ----------------------------------------------------------------- */

static bool is_covered_after(const struct plan *plan, size_t op,
			     const char *place)
{
	for (size_t i = op + 1; i < plan->ops.count; i++)
		if (op_kind_covers(plan->ops.at[i].kind) &&
		    path_is_below(place, path_normalise(plan->arena,
					op_place(&plan->ops.at[i]))))
			return true;
	return false;
}

/* Of mounts that are stacked on one place the last is seen. */
static struct survey_mount *mount_at(struct arena *arena,
				     struct survey *survey, size_t op,
				     const char *place)
{
	for (size_t i = 0; i < survey->mounts.count; i++)
		if (survey->mounts.at[i].op == op &&
		    !strcmp(survey->mounts.at[i].place, place))
			return &survey->mounts.at[i];
	return arena_push(arena, &survey->mounts);
}

static void add_carried(const struct plan *plan, size_t op,
			const struct mount_table *table,
			struct survey *survey)
{
	const char *source = plan->ops.at[op].source;
	const char *dest = path_normalise(plan->arena,
					  op_place(&plan->ops.at[op]));
	const struct mount_entry *entry = NULL;
	size_t length = strcmp(source, "/") ? strlen(source) : 0;

	while ((entry = mount_table_below(table, source, entry))) {
		const char *place = path_join(plan->arena, dest,
					      entry->target + length + 1);
		struct survey_mount *mount = mount_at(plan->arena, survey, op,
						      place);

		mount->op = op;
		mount->place = place;
		mount->type = entry->type;
		mount->is_hidden = is_covered_after(plan, op, mount->place);
	}
}

static void survey_mounts(const struct plan *plan, struct survey *survey)
{
	struct mount_table table;
	struct error err = { 0 };

	if (mount_table_read(plan->arena, -EBADF, &table, &err) < 0) {
		survey->mounts_unknown = error_line(plan->arena, &err);
		return;
	}
	for (size_t i = 0; i < plan->ops.count; i++)
		if (plan->ops.at[i].kind == OP_BIND &&
		    *plan->ops.at[i].source == '/')
			add_carried(plan, i, &table, survey);
}

/* ---- groups ------------------------------------------------------------------ */

/* Groups whose members can do what root can, or nearly. */
static const struct {
	const char *name, *power;
} powerful[] = {
	{ "root", "reads and writes much of what is root's" },
	{ "docker", "is root on the host through its daemon" },
	{ "lxd", "is root on the host through its daemon" },
	{ "incus-admin", "is root on the host through its daemon" },
	{ "libvirt", "is root on the host through its daemon" },
	{ "disk", "reads and writes every disk" },
	{ "shadow", "reads every password's hash" },
	{ "sudo", "may become root" },
	{ "wheel", "may become root" },
	{ "adm", "reads the logs of the system" },
	{ "systemd-journal", "reads the logs of the system" },
	{ "input", "reads every key that is pressed" },
};

/* The name of @gid in /etc/group, which needs no library to be read. */
static const char *group_name(struct arena *arena, gid_t gid)
{
	FILE *file = fopen("/etc/group", "re");
	char *line = NULL, *name = NULL;
	size_t size = 0;

	while (file && !name && getline(&line, &size, file) > 0) {
		char found[128];
		unsigned number;

		/* NOLINTNEXTLINE(cert-err34-c): else another group */
		if (sscanf(line, "%127[^:]:%*[^:]:%u", found, &number) == 2 &&
		    number == gid)
			name = arena_strdup(arena, found);
	}
	free(line);
	if (file)
		fclose(file);
	return name;
}

static void survey_groups(const struct plan *plan, const struct run *run,
			  struct survey *survey)
{
	gid_t groups[1024];
	int count = getgroups(ARRAY_SIZE(groups), groups);

	survey->groups_dropped = run->ids.switches;
	for (int i = 0; i < count && !survey->groups_dropped; i++) {
		struct survey_group *group;

		if (groups[i] == getgid())
			continue;
		group = arena_push(plan->arena, &survey->groups);
		group->gid = groups[i];
		group->name = group_name(plan->arena, groups[i]);
		for (size_t n = 0; group->name && n < ARRAY_SIZE(powerful);
		     n++)
			if (!strcmp(powerful[n].name, group->name))
				group->power = powerful[n].power;
	}
}

/* ---- limits ------------------------------------------------------------------- */

static const struct survey_limit holders[LIMIT_COUNT] = {
	[LIMIT_PROCESSES] = { "rlimit", NULL },
	[LIMIT_OPEN_FILES] = { "rlimit", NULL },
	[LIMIT_FILE_SIZE] = { "rlimit", NULL },
	[LIMIT_CPU_TIME] = { "rlimit", NULL },
	[LIMIT_ADDRESS_SPACE] = { "rlimit", NULL },
	[LIMIT_STACK] = { "rlimit", NULL },
	[LIMIT_CORE] = { "rlimit", NULL },
	[LIMIT_MEMLOCK] = { "rlimit", NULL },
	[LIMIT_TIMEOUT] = { "launcher", NULL },
	[LIMIT_GRACE] = { "launcher", NULL },
	[LIMIT_OUTPUT] = { "launcher", NULL },
};

static void survey_group_limit(const struct cgroup_support *support,
			       enum cgroup_controller controller,
			       struct survey_limit *ret_limit)
{
	bool can = support->version[controller] != CGROUP_NONE;

	ret_limit->by = can ? "cgroup" : NULL;
	ret_limit->why_not = can ? NULL : support->why_not[controller];
}

static void survey_limits(const struct run *run, struct survey *survey)
{
	struct cgroup_support support;

	cgroup_probe(&support);
	memcpy(survey->limits, holders, sizeof(holders));
	survey_group_limit(&support, CGROUP_MEMORY,
			   &survey->limits[LIMIT_MEMORY]);
	survey_group_limit(&support, CGROUP_CPU, &survey->limits[LIMIT_CPU]);
	if (run->ids.is_host_root)
		survey_group_limit(&support, CGROUP_PIDS,
				   &survey->limits[LIMIT_PROCESSES]);
}

/* ---- all of it ------------------------------------------------------------------ */

static void survey_stages(const struct plan *plan, struct survey *survey)
{
	const struct survey_stage *stage;

	for (size_t i = 0; (stage = engine_stage(i)); i++)
		*arena_push(plan->arena, &survey->stages) = *stage;
}

void engine_survey(const struct plan *plan, struct survey *survey)
{
	const unsigned action = SECCOMP_RET_ERRNO;
	struct run run = { .plan = plan, .arena = plan->arena };
	struct error ignored;

	identity_choose(&run, &ignored);
	survey_stages(plan, survey);
	survey_mounts(plan, survey);
	survey_groups(plan, &run, survey);
	survey_limits(&run, survey);
	survey->has_seccomp = !syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL,
				       0, &action);
	survey->landlock_abi = landlock_abi();
	survey->engine = engine_mounts(plan->arena);
	survey->shows_other_owners = run.ids.id_maps_mounts;
}
