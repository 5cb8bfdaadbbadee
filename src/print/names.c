/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "print/names.h"

#include "plan/cap_names.h"
#include "plan/op_types.h"

#include <assert.h>
#include <ctype.h>

static const char *const ns_names[] = {
	[NS_USER] = "user",
	[NS_MOUNT] = "mount",
	[NS_PID] = "pid",
	[NS_NET] = "net",
	[NS_IPC] = "ipc",
	[NS_UTS] = "uts",
	[NS_CGROUP] = "cgroup",
};
static_assert(ARRAY_SIZE(ns_names) == NS_COUNT, "a name for each namespace");

static const char *const phase_names[] = {
	[PHASE_ROOT] = "root",
	[PHASE_SYSTEM] = "system",
	[PHASE_VIEW] = "view",
	[PHASE_MOUNTS] = "mounts",
};
static_assert(ARRAY_SIZE(phase_names) == PHASE_COUNT, "a name for each phase");

static const char *const role_names[] = {
	[ROLE_PLAIN] = "plain",
	[ROLE_MASK] = "mask",
	[ROLE_LAYER] = "layer",
	[ROLE_WORKSPACE] = "workspace",
	[ROLE_PROTECT] = "protect",
};
static_assert(ARRAY_SIZE(role_names) == ROLE_COUNT, "a name for each role");

static const char *const workspace_mode_names[] = {
	[WORKSPACE_RW] = "rw",
	[WORKSPACE_RO] = "ro",
	[WORKSPACE_OVERLAY] = "overlay",
	[WORKSPACE_EPHEMERAL] = "ephemeral",
};
static_assert(ARRAY_SIZE(workspace_mode_names) == WORKSPACE_MODE_COUNT,
	      "a name for each mode");

static const char *const tty_names[] = {
	[TTY_INHERIT] = "inherit",
	[TTY_NONE] = "none",
	[TTY_KEEP] = "keep",
};

static const char *const run_as_names[] = {
	[RUN_AS_AUTO] = "auto",
	[RUN_AS_CALLER] = "caller",
	[RUN_AS_ID] = "id",
};

static const char *const env_names[] = {
	[ENV_CLEAR] = "clear",
	[ENV_KEEP] = "keep",
	[ENV_SET] = "set",
	[ENV_UNSET] = "unset",
};

const char *print_ns_name(enum ns_kind kind)
{
	return ns_names[kind];
}

const char *print_phase_name(enum op_phase phase)
{
	return phase_names[phase];
}

const char *print_role_name(enum op_role role)
{
	return role_names[role];
}

const char *print_workspace_mode_name(enum workspace_mode mode)
{
	return workspace_mode_names[mode];
}

const char *print_tty_name(enum tty_mode mode)
{
	return tty_names[mode];
}

const char *print_run_as_name(enum run_as run_as)
{
	return run_as_names[run_as];
}

const char *print_env_name(enum env_kind kind)
{
	return env_names[kind];
}

const char *print_op_name(const struct op *op)
{
	const struct op_type *type = op_type_of(op);

	return type ? type->name : op_kind_name(op->kind);
}

enum limit_unit { UNIT_NUMBER, UNIT_BYTES, UNIT_TIME, UNIT_PER_CENT };

static const enum limit_unit limit_units[] = {
	[LIMIT_PROCESSES] = UNIT_NUMBER,
	[LIMIT_OPEN_FILES] = UNIT_NUMBER,
	[LIMIT_FILE_SIZE] = UNIT_BYTES,
	[LIMIT_CPU_TIME] = UNIT_TIME,
	[LIMIT_ADDRESS_SPACE] = UNIT_BYTES,
	[LIMIT_STACK] = UNIT_BYTES,
	[LIMIT_CORE] = UNIT_BYTES,
	[LIMIT_MEMLOCK] = UNIT_BYTES,
	[LIMIT_MEMORY] = UNIT_BYTES,
	[LIMIT_CPU] = UNIT_PER_CENT,
	[LIMIT_TIMEOUT] = UNIT_TIME,
	[LIMIT_GRACE] = UNIT_TIME,
	[LIMIT_OUTPUT] = UNIT_BYTES,
};
static_assert(ARRAY_SIZE(limit_units) == LIMIT_COUNT, "a unit for each limit");

const char *print_size(struct arena *arena, uint64_t bytes)
{
	static const char units[] = "\0kmgt";
	size_t unit = 0;

	while (bytes && bytes % 1024 == 0 && unit + 1 < sizeof(units) - 1) {
		bytes /= 1024;
		unit++;
	}
	return arena_printf(arena, "%llu%.1s", (unsigned long long)bytes,
			    units + unit);
}

static const char *duration(struct arena *arena, uint64_t ms)
{
	if (ms % 1000)
		return arena_printf(arena, "%llums", (unsigned long long)ms);
	return arena_printf(arena, "%llus", (unsigned long long)ms / 1000);
}

const char *print_limit_value(struct arena *arena, enum limit_kind kind,
			      uint64_t value)
{
	switch (limit_units[kind]) {
	case UNIT_BYTES:
		return print_size(arena, value);
	case UNIT_TIME:
		return duration(arena, value);
	case UNIT_PER_CENT:
		return arena_printf(arena, "%llu%%",
				    (unsigned long long)value);
	case UNIT_NUMBER:
		break;
	}
	return arena_printf(arena, "%llu", (unsigned long long)value);
}

const char *print_cap_name(struct arena *arena, int cap)
{
	char *name;

	if (cap == CAP_ALL)
		return "ALL";
	if ((size_t)cap >= cap_names_count)
		return arena_printf(arena, "%d", cap);
	name = arena_strdup(arena, cap_names[cap]);
	for (char *at = name; *at; at++)
		*at = (char)toupper((unsigned char)*at);
	return name;
}
