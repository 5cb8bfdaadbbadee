/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a profile says in any order -> the one order in which it holds.
 *
 * Sorting by place, shallow first, is enough for "the most specific path
 * wins": an operation hides only what is at or below its place, and what is
 * below comes later.
 */
#include "plan/order.h"

#include "base/text.h"
#include "plan/op_types.h"

#include <string.h>

/* ---- sections -> operations ------------------------------------------------------- */

static bool has_op(const struct plan *plan, enum op_kind kind,
		   const char *dest)
{
	for (size_t i = 0; i < plan->ops.count; i++)
		if (plan->ops.at[i].kind == kind &&
		    !strcmp(plan->ops.at[i].dest, dest))
			return true;
	return false;
}

static void add_root(struct plan *plan)
{
	const struct plan_root *root = &plan->root;
	struct op *op = plan_add_op(plan, root->is_none ? OP_TMPFS : OP_BIND,
				    PHASE_ROOT, root->origin);

	op->dest = "/";
	op->flags = OP_READ_ONLY;
	if (!root->is_none)
		op->source = root->source ? root->source : "/";
}

static void add_builtins(struct plan *plan)
{
	static const struct {
		enum op_kind kind;
		const char *dest;
	} builtins[] = {
		{ OP_PROC, "/proc" },
		{ OP_DEV, "/dev" },
	};
	const struct origin origin = { .kind = ORIGIN_BUILTIN };

	for (size_t i = 0; i < ARRAY_SIZE(builtins); i++)
		if (!has_op(plan, builtins[i].kind, builtins[i].dest))
			plan_add_op(plan, builtins[i].kind, PHASE_SYSTEM,
				    origin)->dest = builtins[i].dest;
}

static void fill_lowers(struct plan *plan, struct op *op)
{
	const struct plan_workspace *workspace = &plan->workspace;

	if (!workspace->lowers.count)
		*arena_push(plan->arena, &op->lowers) = workspace->source;
	for (size_t i = 0; i < workspace->lowers.count; i++)
		*arena_push(plan->arena, &op->lowers) =
			workspace->lowers.at[i];
}

static void add_workspace(struct plan *plan)
{
	static const enum op_kind kinds[] = {
		[WORKSPACE_RW] = OP_BIND,
		[WORKSPACE_RO] = OP_BIND,
		[WORKSPACE_OVERLAY] = OP_OVERLAY,
		[WORKSPACE_EPHEMERAL] = OP_TMP_OVERLAY,
	};
	const struct plan_workspace *workspace = &plan->workspace;
	struct op *op = plan_add_op(plan, kinds[workspace->mode], PHASE_VIEW,
				    workspace->origin);

	op->role = ROLE_WORKSPACE;
	op->flags = OP_ID_MAPPED | OP_NO_FOLLOW;
	op->dest = workspace->dest;
	op->real_dest = workspace->real_dest;
	if (workspace->mode == WORKSPACE_RO)
		op->flags |= OP_READ_ONLY;
	if (op->kind == OP_BIND) {
		op->source = workspace->source;
		op->source_id = workspace->source_id;
		return;
	}
	fill_lowers(plan, op);
	if (op->kind == OP_OVERLAY) {
		op->upper = workspace->upper;
		op->work = workspace->work;
		op->source_id = workspace->source_id;
	}
}

static void add_protects(struct plan *plan)
{
	const struct plan_workspace *workspace = &plan->workspace;

	for (size_t i = 0; i < workspace->protects.count; i++) {
		const struct workspace_protect *protect =
			&workspace->protects.at[i];
		struct op *op = plan_add_op(plan, OP_PROTECT, PHASE_VIEW,
					    protect->origin);

		op->role = ROLE_PROTECT;
		op->dest = path_join(plan->arena, workspace->dest,
				     protect->path);
		if (workspace->real_dest)
			op->real_dest = path_join(plan->arena,
						  workspace->real_dest,
						  protect->path);
	}
}

/* ---- records ------------------------------------------------------------------------ */

/* Where @path of the host would be seen through the bind @op, or NULL. */
static const char *seen_through(const struct plan *plan, const struct op *op,
				const char *path)
{
	const char *source;

	if (op->kind != OP_BIND)
		return NULL;
	source = path_normalise(plan->arena, op->source);
	if (!path_is_below(path, source))
		return NULL;
	path += source[1] ? strlen(source) : 0;
	path += *path == '/';
	return *path ? path_join(plan->arena, op->dest, path) : op->dest;
}

/* What shows nothing of the host's file system. */
static bool covers(const struct op *op)
{
	return op->role == ROLE_MASK || op->kind == OP_DEV ||
	       op->kind == OP_PROC;
}

/* Is there a mask between what @op shows and @place? */
static bool is_masked(const struct plan *plan, const struct op *op,
		      const char *place)
{
	size_t depth = path_depth(op->dest);

	for (size_t i = 0; i < plan->ops.count; i++) {
		const struct op *mask = &plan->ops.at[i];

		if (covers(mask) && op->phase != PHASE_MOUNTS &&
		    path_depth(mask->dest) >= depth &&
		    path_is_below(place, mask->dest))
			return true;
	}
	return false;
}

/* The audit file tells of other runs: it is seen in none. */
static void hide_audit_file(struct plan *plan)
{
	const struct plan_report *report = &plan->report;
	size_t count = plan->ops.count;
	const char *path;

	if (!report->audit_file)
		return;
	path = path_normalise(plan->arena, report->audit_file);
	for (size_t i = 0; i < count; i++) {
		enum op_phase phase = plan->ops.at[i].phase;
		const char *place = seen_through(plan, &plan->ops.at[i], path);
		struct op *op;

		if (!place || is_masked(plan, &plan->ops.at[i], place))
			continue;
		op = plan_add_op(plan, OP_HIDE, phase == PHASE_MOUNTS
				 ? PHASE_MOUNTS : PHASE_VIEW,
				 report->audit_origin);
		op->dest = place;
		op->role = ROLE_MASK;
		op->flags = OP_OPTIONAL;
	}
}

/* ---- sorting ---------------------------------------------------------------------- */

struct sortable {
	const struct op *op;
	const char *place;
	size_t depth, index;
};

static int compare_numbers(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

static int compare(const void *a_pointer, const void *b_pointer)
{
	const struct sortable *a = a_pointer, *b = b_pointer;
	int r = compare_numbers(a->op->phase, b->op->phase);

	if (!r && a->op->phase == PHASE_VIEW) {
		r = compare_numbers(a->depth, b->depth);
		if (!r)
			r = compare_numbers(a->op->role, b->op->role);
	}
	return r ? r : compare_numbers(a->index, b->index);
}

static void sort(struct plan *plan)
{
	struct sortable *list = arena_alloc(plan->arena, plan->ops.count *
					    sizeof(*list));
	struct op *sorted = arena_alloc(plan->arena, plan->ops.cap *
					sizeof(*sorted));

	for (size_t i = 0; i < plan->ops.count; i++) {
		const struct op *op = &plan->ops.at[i];

		list[i].op = op;
		list[i].index = i;
		if (op->phase == PHASE_VIEW)
			list[i].depth = path_depth(op_place(op));
	}
	qsort(list, plan->ops.count, sizeof(*list), compare);
	for (size_t i = 0; i < plan->ops.count; i++)
		sorted[i] = *list[i].op;
	plan->ops.at = sorted;
}

/* ---- a place asked for twice --------------------------------------------------------- */

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool is_same_op(const struct op *a, const struct op *b)
{
	if (a->lowers.count != b->lowers.count)
		return false;
	for (size_t i = 0; i < a->lowers.count; i++)
		if (strcmp(a->lowers.at[i], b->lowers.at[i]) != 0)
			return false;
	/* That one of them may be missing does not make them differ. */
	return a->kind == b->kind &&
	       !((a->flags ^ b->flags) & ~(unsigned)OP_OPTIONAL) &&
	       is_same_text(a->source, b->source) &&
	       is_same_text(a->upper, b->upper) &&
	       is_same_text(a->work, b->work) && a->mode == b->mode &&
	       a->size == b->size && a->inodes == b->inodes;
}

static int compare_places(const void *a_pointer, const void *b_pointer)
{
	const struct sortable *a = a_pointer, *b = b_pointer;
	int r = strcmp(a->place, b->place);

	return r ? r : compare_numbers(a->index, b->index);
}

static int different(const struct plan *plan, const struct op *a,
		     const struct op *b, struct error *err)
{
	const char *where = origin_text(plan->arena, &b->origin);
	int r = error_set(err, 0, "%s: %s on '%s', where %s puts %s already",
			  where, op_kind_name(b->kind), b->dest,
			  origin_text(plan->arena, &a->origin),
			  op_kind_name(a->kind));

	if (b->role == ROLE_WORKSPACE && a->role == ROLE_MASK)
		error_remedy(err, "this directory is hidden, so it cannot be "
			     "the workspace: use one below it, or elsewhere "
			     "(--workspace DIR)");
	else
		error_remedy(err, "a place can have one meaning: remove one "
			     "of the two");
	error_reason(err, "same-place");
	return r;
}

/*
 * A mask is refined by the file that includes its file, which was read later:
 * both hide the place, and that one says how.
 */
static bool is_refined(const struct op *mask, const struct op *again)
{
	return mask->role == ROLE_MASK && again->role == ROLE_MASK &&
	       mask->kind == again->kind &&
	       mask->origin.kind == ORIGIN_FILE &&
	       again->origin.kind == ORIGIN_FILE &&
	       strcmp(mask->origin.name, again->origin.name) != 0;
}

/*
 * Drop operations that say the same as an earlier one of the same place, and
 * masks that a later file refines.  What drops out is marked by kind OP_COUNT
 * and squeezed out at the end.
 */
static int drop_doubles(struct plan *plan, struct error *err)
{
	struct sortable *list = arena_alloc(plan->arena, plan->ops.count *
					    sizeof(*list));
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < plan->ops.count; i++) {
		if (plan->ops.at[i].phase != PHASE_VIEW)
			continue;
		list[count].place = op_place(&plan->ops.at[i]);
		list[count++].index = i;
	}
	qsort(list, count, sizeof(*list), compare_places);
	for (size_t i = 1; i < count; i++) {
		struct op *first = &plan->ops.at[list[i - 1].index];
		struct op *again = &plan->ops.at[list[i].index];

		if (strcmp(list[i - 1].place, list[i].place) != 0)
			continue;
		if (is_refined(first, again)) {
			first->kind = OP_COUNT;
			continue;
		}
		if (!is_same_op(first, again))
			return different(plan, first, again, err);
		first->flags &= again->flags | ~(unsigned)OP_OPTIONAL;
		again->kind = OP_COUNT;
		/* The next one is compared with the one that stays. */
		list[i].index = list[i - 1].index;
	}
	for (size_t i = 0; i < plan->ops.count; i++)
		if (plan->ops.at[i].kind != OP_COUNT)
			plan->ops.at[kept++] = plan->ops.at[i];
	plan->ops.count = kept;
	return 0;
}

/* ---- defaults that depend on the whole ------------------------------------------------ */

static void set_default_limit(struct plan *plan, enum limit_kind kind,
			      uint64_t value)
{
	struct plan_limit *limit = &plan->limits[kind];

	if (limit->is_set)
		return;
	limit->is_set = true;
	limit->value = value;
}

static void set_defaults(struct plan *plan)
{
	enum { GRACE_MS = 2000 };

	if (!plan->chdir)
		plan->chdir = plan->workspace.source ? plan->workspace.dest
						     : "/";
	/* The name of a shared UTS namespace is the host's. */
	if (plan->ns[NS_UTS].want == NS_WANT_HOST &&
	    plan->hostname_origin.kind == ORIGIN_BUILTIN)
		plan->hostname = NULL;
	set_default_limit(plan, LIMIT_CORE, 0);
	set_default_limit(plan, LIMIT_GRACE, GRACE_MS);
}

int plan_order(struct plan *plan, struct error *err)
{
	int r;

	if (plan->rules != PLAN_RULES_PROFILE)
		return 0;
	add_root(plan);
	add_builtins(plan);
	if (plan->workspace.source) {
		add_workspace(plan);
		add_protects(plan);
	}
	hide_audit_file(plan);
	sort(plan);
	r = drop_doubles(plan, err);
	if (r < 0)
		return r;
	set_defaults(plan);
	return 0;
}
