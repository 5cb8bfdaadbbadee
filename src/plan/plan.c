/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/plan.h"

#include "base/text.h"

#include <assert.h>
#include <string.h>

const char *const limit_names[] = {
	[LIMIT_PROCESSES] = "processes",
	[LIMIT_OPEN_FILES] = "open-files",
	[LIMIT_FILE_SIZE] = "file-size",
	[LIMIT_CPU_TIME] = "cpu-time",
	[LIMIT_ADDRESS_SPACE] = "address-space",
	[LIMIT_STACK] = "stack",
	[LIMIT_CORE] = "core",
	[LIMIT_MEMLOCK] = "memlock",
	[LIMIT_MEMORY] = "memory",
	[LIMIT_CPU] = "cpu",
	[LIMIT_TIMEOUT] = "timeout",
	[LIMIT_GRACE] = "grace",
	[LIMIT_OUTPUT] = "output",
};
static_assert(ARRAY_SIZE(limit_names) == LIMIT_COUNT, "a name for each limit");

const char *origin_text(struct arena *arena, const struct origin *origin)
{
	switch (origin->kind) {
	case ORIGIN_FILE:
		return arena_printf(arena, "%s:%u", origin->name,
				    origin->number);
	case ORIGIN_ARGUMENT:
		return arena_printf(arena, "argument %u", origin->number);
	case ORIGIN_SET:
		/* A shorthand is its own name. */
		return *origin->name == '-' ? origin->name :
		       arena_printf(arena, "--set %s", origin->name);
	case ORIGIN_ARGS_FD:
		return arena_printf(arena, "word %u of --args %s",
				    origin->number, origin->name);
	case ORIGIN_BUILTIN:
	case ORIGIN_COUNT:
		break;
	}
	return "default";
}

struct plan *plan_new(struct arena *arena, enum plan_rules rules)
{
	struct plan *plan = arena_alloc(arena, sizeof(*plan));
	bool is_profile = rules == PLAN_RULES_PROFILE;

	plan->arena = arena;
	plan->rules = rules;
	for (int kind = 0; kind < NS_COUNT; kind++) {
		plan->ns[kind].fd = -EBADF;
		plan->ns[kind].want = is_profile ? NS_WANT_NEW : NS_WANT_HOST;
	}
	plan->ns[NS_MOUNT].want = NS_WANT_NEW;
	plan->hostname = is_profile ? "localhost" : NULL;
	plan->bring_up_loopback = true;
	plan->ids.run_as = is_profile ? RUN_AS_AUTO : RUN_AS_CALLER;
	plan->security.seccomp = is_profile ? SECCOMP_DEFAULT : SECCOMP_NONE;
	plan->security.tty = is_profile ? TTY_NONE : TTY_INHERIT;
	plan->security.keep_all_fds = !is_profile;
	plan->security.allow_nested_userns = !is_profile;
	plan->report.status_fd = -EBADF;
	plan->workspace.commit_fd = -EBADF;
	plan->bwrap.userns2_fd = -EBADF;
	plan->bwrap.block_fd = -EBADF;
	plan->bwrap.userns_block_fd = -EBADF;
	plan->bwrap.info_fd = -EBADF;
	plan->bwrap.json_status_fd = -EBADF;
	plan->bwrap.sync_fd = -EBADF;
	plan->bwrap.seccomp_fd = -EBADF;
	return plan;
}

struct op *plan_add_op(struct plan *plan, enum op_kind kind,
		       enum op_phase phase, struct origin origin)
{
	struct op *op = arena_push(plan->arena, &plan->ops);

	op->kind = kind;
	op->phase = phase;
	op->origin = origin;
	op->fd = -EBADF;
	op->mode = OP_MODE_NONE;
	return op;
}

void plan_add_env(struct plan *plan, enum env_kind kind, const char *name,
		  const char *value, struct origin origin)
{
	struct env_step *step = arena_push(plan->arena, &plan->environment);

	step->kind = kind;
	step->name = name;
	step->value = value;
	step->origin = origin;
}

const char *op_place(const struct op *op)
{
	return op->real_dest ? op->real_dest : op->dest;
}

const char *plan_commit_target(const struct plan *plan)
{
	const struct plan_workspace *workspace = &plan->workspace;

	if (!workspace->commits)
		return NULL;
	return workspace->lowers.count ? workspace->lowers.at[0] :
	       workspace->source;
}
