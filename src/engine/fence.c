/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Landlock over the same plan: a second wall, which asks paths where the
 * first asks mounts.  Everything may be read that is mounted, and only what
 * the plan makes writable written to; signals and abstract sockets end at the
 * sandbox.
 *
 * It is there when the kernel has it, and never required.  A payload that may
 * make user namespaces of its own gets only the scopes: Landlock refuses
 * every mount to whom it restricts files.
 */
#include "engine/child.h"

#include "sys/landlock.h"

#include <errno.h>
#include <fcntl.h>

struct places {
	struct landlock_hierarchy *at;
	size_t count, cap;
};

static bool is_writable(const struct op *op)
{
	switch (op->kind) {
	case OP_PROC:
	case OP_DEV:
	case OP_OVERLAY:
	case OP_TMP_OVERLAY:
	case OP_MQUEUE:
		return true;
	case OP_BIND:
	case OP_BIND_FD:
	case OP_TMPFS:
	case OP_BIND_DATA:
		return !(op->flags & OP_READ_ONLY);
	case OP_REMOUNT_RO:
	case OP_RO_OVERLAY:
	case OP_DIR:
	case OP_FILE:
	case OP_SYMLINK:
	case OP_CHMOD:
	case OP_HIDE:
	case OP_PROTECT:
	case OP_COUNT:
		break;
	}
	return false;
}

static int add_place(struct child *child, struct places *places,
		     const struct op *op, struct error *err)
{
	int fd = point_find(child, op->dest, err);

	/* Nothing there: an optional mask, or covered by a later mount. */
	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	*arena_push(child->arena, places) = (struct landlock_hierarchy){
		.fd = fd, .is_writable = true,
		.has_devices = op->kind == OP_DEV || op->flags & OP_DEVICES,
	};
	return 0;
}

int fence_raise(struct child *child, struct error *err)
{
	const struct plan *plan = child->plan;
	struct places places = { 0 };
	struct landlock_rules rules = {
		.scope_abstract_sockets = true, .scope_signals = true,
	};
	int abi = 0, r = 0;

	if (!landlock_abi())
		return 0;
	if (!plan->security.allow_nested_userns) {
		*arena_push(child->arena, &places) =
			(struct landlock_hierarchy){ .fd = child->root };
		for (size_t i = 0; !r && i < plan->ops.count; i++)
			if (is_writable(&plan->ops.at[i]) &&
			    !child->sources[i].skipped)
				r = add_place(child, &places,
					      &plan->ops.at[i], err);
	}
	rules.hierarchies = places.at;
	rules.count = places.count;
	if (!r)
		r = landlock_restrict(&rules, &abi, err);
	for (size_t i = 1; i < places.count; i++)
		close(places.at[i].fd);
	child->run->progress->landlock_abi = abi;
	return r;
}
