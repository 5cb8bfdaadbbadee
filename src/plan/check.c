/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules over a whole plan, one function each, run in the order of a table. */
#include "plan/check.h"

#include "base/text.h"
#include "plan/op_types.h"
#include "plan/trust.h"

#include <string.h>

typedef int (*rule_fn)(const struct plan *plan, struct error *err);

/* "py.ini:12: " and so on in front of what is wrong. */
static int refuse(const struct plan *plan, const struct origin *origin,
		  const char *text, const char *remedy, struct error *err)
{
	error_set(err, 0, "%s: %s", origin_text(plan->arena, origin), text);
	if (remedy)
		error_remedy(err, "%s", remedy);
	return error_result(err);
}

static bool is_given(const struct origin *origin)
{
	return origin->kind != ORIGIN_BUILTIN;
}

/* ---- the workspace ------------------------------------------------------------------ */

static int workspace_has_path(const struct plan *plan, struct error *err)
{
	const struct plan_workspace *workspace = &plan->workspace;
	const struct origin *asked[] = {
		&workspace->mode_origin, &workspace->upper_origin,
		&workspace->work_origin, &workspace->lowers_origin,
		&workspace->export_origin, &workspace->commit_origin,
		&workspace->commit_fd_origin,
		workspace->protects.count ? &workspace->protects.at[0].origin
					  : NULL,
	};

	if (workspace->source)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		if (asked[i] && is_given(asked[i]))
			return refuse(plan, asked[i], "there is no workspace",
				      "set 'path' in [workspace], or use "
				      "--workspace DIR", err);
	return 0;
}

static int overlay_is_complete(const struct plan *plan, struct error *err)
{
	const struct plan_workspace *workspace = &plan->workspace;

	if (workspace->mode == WORKSPACE_OVERLAY && !workspace->upper)
		return refuse(plan, &workspace->mode_origin,
			      "an overlay needs 'upper' in [workspace]",
			      "'mode = ephemeral' keeps the changes in memory",
			      err);
	if (workspace->mode != WORKSPACE_OVERLAY && workspace->upper)
		return refuse(plan, &workspace->upper_origin,
			      "'upper' is of use with 'mode = overlay' only",
			      NULL, err);
	if (workspace->mode != WORKSPACE_OVERLAY && workspace->work)
		return refuse(plan, &workspace->work_origin,
			      "'work' is of use with 'mode = overlay' only",
			      NULL, err);
	if (workspace->mode != WORKSPACE_OVERLAY &&
	    workspace->mode != WORKSPACE_EPHEMERAL && workspace->lowers.count)
		return refuse(plan, &workspace->lowers_origin,
			      "'lower' is of use with 'mode = overlay' or "
			      "'mode = ephemeral' only", NULL, err);
	return 0;
}

/*
 * The payload could reach the layers from inside otherwise, and the kernel
 * leaves undefined what overlapping layers do.
 */
static int overlay_is_apart(const struct plan *plan, struct error *err)
{
	const struct plan_workspace *workspace = &plan->workspace;
	const char *upper, *lower;

	if (workspace->mode != WORKSPACE_OVERLAY || !workspace->source ||
	    !workspace->upper)
		return 0;
	upper = path_normalise(plan->arena, workspace->upper);
	for (size_t i = 0; i <= workspace->lowers.count; i++) {
		lower = path_normalise(plan->arena, i < workspace->lowers.count
				       ? workspace->lowers.at[i]
				       : workspace->source);
		if (path_is_below(upper, lower) || path_is_below(lower, upper))
			return refuse(plan, &workspace->upper_origin,
				      arena_printf(plan->arena, "upper '%s' "
						   "and lower '%s' overlap",
						   upper, lower), NULL, err);
	}
	return 0;
}

static bool keeps_changes(const struct plan *plan)
{
	return plan->workspace.mode == WORKSPACE_OVERLAY ||
	       plan->workspace.mode == WORKSPACE_EPHEMERAL;
}

static int changes_are_known(const struct plan *plan, struct error *err)
{
	const struct plan_workspace *workspace = &plan->workspace;

	if (keeps_changes(plan) && workspace->source)
		return 0;
	if (workspace->export_dir)
		return refuse(plan, &workspace->export_origin, "'export' needs "
			      "'mode = overlay' or 'mode = ephemeral'", NULL,
			      err);
	if (plan->report.changes_file)
		return refuse(plan, &plan->report.changes_origin,
			      "'changes-file' needs a workspace with 'mode = "
			      "overlay' or 'mode = ephemeral'", NULL, err);
	return 0;
}

/* The launcher empties the upper layer, and writes to one lower layer. */
static int commit_is_possible(const struct plan *plan, struct error *err)
{
	const struct plan_workspace *workspace = &plan->workspace;

	if (!workspace->commits && workspace->commit_fd >= 0)
		return refuse(plan, &workspace->commit_fd_origin, "'commit-fd' "
			      "is of use with 'commit = on-success' only",
			      NULL, err);
	if (!workspace->commits)
		return 0;
	if (workspace->mode != WORKSPACE_OVERLAY)
		return refuse(plan, &workspace->commit_origin, "'commit' needs "
			      "'mode = overlay'", NULL, err);
	if (workspace->lowers.count > 1)
		return refuse(plan, &workspace->commit_origin, "'commit' needs "
			      "one lower layer, to which it writes", NULL, err);
	if (workspace->work)
		return refuse(plan, &workspace->work_origin, "'work' cannot be "
			      "chosen with 'commit'", NULL, err);
	return 0;
}

static int protects_mean_something(const struct plan *plan, struct error *err)
{
	const struct plan_workspace *workspace = &plan->workspace;

	if (workspace->mode != WORKSPACE_RO || !workspace->protects.count)
		return 0;
	return refuse(plan, &workspace->protects.at[0].origin,
		      "the workspace is read-only as a whole", NULL, err);
}

/* ---- the root and what is on it -------------------------------------------------------- */

static int system_has_empty_root(const struct plan *plan, struct error *err)
{
	if (!plan->root.has_system || plan->root.is_none)
		return 0;
	return refuse(plan, &plan->root.system_origin,
		      "'system = yes' needs 'source = none'", NULL, err);
}

static bool is_vital(const struct op *op)
{
	return op->phase != PHASE_MOUNTS &&
	       (op->kind == OP_PROC || op->kind == OP_DEV ||
		op->role == ROLE_WORKSPACE);
}

/* Does @above, a later mount, hide @op?  A /proc or /dev may be replaced. */
static bool buries(const struct op *above, const struct op *op)
{
	return path_is_below(op_place(op), op_place(above)) &&
	       (op->role == ROLE_WORKSPACE ||
		strcmp(op_place(op), op_place(above)) != 0);
}

/* A mount that hides what the plan put there before is a slip of order. */
static int nothing_is_buried(const struct plan *plan, struct error *err)
{
	LIST_OF(size_t) vital = { NULL }; /* indices */

	for (size_t i = 0; i < plan->ops.count; i++) {
		const struct op *op = &plan->ops.at[i];

		if (is_vital(op))
			*arena_push(plan->arena, &vital) = i;
		if (op->phase != PHASE_MOUNTS || !op_kind_covers(op->kind))
			continue;
		for (size_t j = 0; j < vital.count; j++) {
			const struct op *below = &plan->ops.at[vital.at[j]];

			if (buries(op, below))
				return refuse(plan, &op->origin,
					      arena_printf(plan->arena,
							   "%s on '%s' hides "
							   "'%s'",
							   op_kind_name(op->kind),
							   op->dest,
							   below->dest),
					      NULL, err);
		}
	}
	return 0;
}

/* /proc and /dev are the sandbox's own, so that nothing is there to mask. */
static int masks_hide_something(const struct plan *plan, struct error *err)
{
	for (size_t i = 0; i < plan->ops.count; i++) {
		const struct op *mask = &plan->ops.at[i];

		if (mask->role != ROLE_MASK || mask->phase != PHASE_VIEW)
			continue;
		for (size_t j = 0; j < plan->ops.count; j++) {
			const struct op *own = &plan->ops.at[j];

			if (own->phase != PHASE_SYSTEM ||
			    (own->kind != OP_PROC && own->kind != OP_DEV) ||
			    strcmp(op_place(own), op_place(mask)) != 0)
				continue;
			refuse(plan, &mask->origin,
			       arena_printf(plan->arena, "'%s' is the "
					    "sandbox's own and cannot be "
					    "masked", mask->dest),
			       "name what is below it that is to be hidden",
			       err);
			error_reason(err, "same-place");
			return error_result(err);
		}
	}
	return 0;
}

/* ---- ids and namespaces ------------------------------------------------------------------ */

static int hostname_is_ours(const struct plan *plan, struct error *err)
{
	if (!is_given(&plan->hostname_origin) ||
	    plan->ns[NS_UTS].want != NS_WANT_HOST)
		return 0;
	return refuse(plan, &plan->hostname_origin, "a host name needs an own "
		      "uts namespace", "remove 'uts' from 'share'", err);
}

static int host_root_is_explicit(const struct plan *plan, struct error *err)
{
	const struct plan_ids *ids = &plan->ids;

	if (ids->run_as != RUN_AS_ID || (ids->run_uid && ids->run_gid))
		return 0;
	return refuse(plan, &ids->run_as_origin, "'run-as' cannot be the "
		      "host's root", "'run-as = caller' keeps the caller's id, "
		      "whatever it is", err);
}

static const rule_fn profile_rules[] = {
	workspace_has_path,
	overlay_is_complete,
	overlay_is_apart,
	changes_are_known,
	commit_is_possible,
	protects_mean_something,
	system_has_empty_root,
	masks_hide_something,
	nothing_is_buried,
	hostname_is_ours,
	host_root_is_explicit,
	trust_check,
};

int plan_check(const struct plan *plan, struct error *err)
{
	if (plan->rules != PLAN_RULES_PROFILE)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(profile_rules); i++) {
		int r = profile_rules[i](plan, err);

		if (r < 0) {
			if (!*err->reason)
				error_reason(err, "plan");
			return r;
		}
	}
	return 0;
}
