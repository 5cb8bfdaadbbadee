/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is placed in the file system, as keys.  Operations that plan/order.c
 * makes out of [root] and [workspace], and the parts of a minimal root, are
 * not written: they come back from the keys that they came from.
 */
#include "print/ini_writer.h"

#include "plan/op_types.h"
#include "print/names.h"

#include <string.h>

static void refuse_op(struct ini_writer *ini, const struct op *op)
{
	ini_refuse(ini, op->origin,
		   arena_printf(ini->out->arena, "%s on '%s'",
				print_op_name(op), op->dest));
}

/*
 * Under bubblewrap's rules the root is empty until something is mounted on
 * it.  A profile says in [root] what that is, and has it read-only; nothing
 * can be mounted over it later, for /proc and /dev are there already.
 */
static bool is_on_root(const struct op *op)
{
	return op->phase == PHASE_MOUNTS && op->kind != OP_CHMOD &&
	       op->kind != OP_DIR && op_is_on_root(op);
}

static bool is_root(const struct plan *plan, const struct op *op)
{
	if (plan->rules != PLAN_RULES_BWRAP || op != &plan->ops.at[0] ||
	    !is_on_root(op))
		return false;
	if (op->kind == OP_TMPFS)
		return op->mode == OP_MODE_NONE && !op->size;
	return op->kind == OP_BIND && op->flags & OP_READ_ONLY &&
	       op->source[0] == '/';
}

static void add_root(struct ini_writer *ini, const struct plan *plan)
{
	const struct plan_root *root = &plan->root;
	const struct op *first = plan->ops.at;

	if (plan->rules == PLAN_RULES_BWRAP && plan->ops.count &&
	    is_root(plan, first) && first->kind == OP_BIND)
		ini_line(ini, "root", "source", first->source, first->origin);
	else if (root->is_none || plan->rules == PLAN_RULES_BWRAP)
		ini_line(ini, "root", "source", "none", root->origin);
	else
		ini_line(ini, "root", "source", root->source, root->origin);
	if (root->has_system)
		ini_line(ini, "root", "system", "yes", root->system_origin);
}

static void add_mask(struct ini_writer *ini, const struct op *op)
{
	struct arena *arena = ini->out->arena;

	ini_begin(ini, "mask", op->kind == OP_HIDE ? "hide" : "tmpfs",
		  op->origin);
	ini_word(ini, op->dest);
	if (op->kind != OP_HIDE) {
		if (op->size)
			ini_wordf(ini, "size=%s", print_size(arena, op->size));
		if (op->inodes)
			ini_wordf(ini, "inodes=%llu",
				  (unsigned long long)op->inodes);
		if (op->mode != OP_MODE_NONE)
			ini_wordf(ini, "mode=%04o", op->mode);
		ini_word(ini, op->flags & OP_READ_ONLY ? "ro" : "rw");
	}
	ini_end(ini);
}

static void add_layer(struct ini_writer *ini, const struct op *op)
{
	ini_begin(ini, "layers", "layer", op->origin);
	ini_word(ini, op->source);
	ini_word(ini, op->dest);
	if (op->flags & OP_OPTIONAL)
		ini_word(ini, "optional");
	ini_end(ini);
}

static void add_workspace(struct ini_writer *ini, const struct plan *plan)
{
	const struct plan_workspace *workspace = &plan->workspace;
	static const char section[] = "workspace";

	if (workspace->source) {
		ini_begin(ini, section, "path", workspace->origin);
		ini_word(ini, workspace->source);
		ini_word(ini, workspace->dest);
		ini_end(ini);
	}
	if (workspace->mode != WORKSPACE_RW)
		ini_line(ini, section, "mode",
			 print_workspace_mode_name(workspace->mode),
			 workspace->mode_origin);
	for (size_t i = 0; i < workspace->lowers.count; i++)
		ini_line(ini, section, "lower", workspace->lowers.at[i],
			 workspace->lowers_origin);
	ini_line(ini, section, "upper", workspace->upper,
		 workspace->upper_origin);
	ini_line(ini, section, "work", workspace->work,
		 workspace->work_origin);
	for (size_t i = 0; i < workspace->protects.count; i++)
		ini_line(ini, section, "protect",
			 workspace->protects.at[i].path,
			 workspace->protects.at[i].origin);
	ini_line(ini, section, "export", workspace->export_dir,
		 workspace->export_origin);
	if (workspace->commits)
		ini_line(ini, section, "commit", "on-success",
			 workspace->commit_origin);
	if (workspace->commit_fd >= 0)
		ini_line(ini, section, "commit-fd",
			 arena_printf(ini->out->arena, "%d",
				      workspace->commit_fd),
			 workspace->commit_fd_origin);
}

/* The row that spells @op, with "optional" behind it when that is needed. */
static const struct op_type *mount_type(const struct op *op,
					bool *ret_optional)
{
	const struct op_type *type = op_type_of(op);
	struct op plain = *op;

	*ret_optional = !type && op->flags & OP_OPTIONAL;
	if (type)
		return type;
	plain.flags &= ~(unsigned)OP_OPTIONAL;
	return op_type_of(&plain);
}

/* A profile makes places absolute and normal; ".." is more than text. */
static void add_dest(struct ini_writer *ini, const struct op *op)
{
	struct arena *arena = ini->out->arena;
	const char *dest = op->dest;

	for (const char *at = strstr(dest, ".."); at; at = strstr(at + 1, ".."))
		if ((at == dest || at[-1] == '/') && (!at[2] || at[2] == '/'))
			refuse_op(ini, op);
	ini_word(ini, path_normalise(arena, dest));
}

static void add_mount_word(struct ini_writer *ini, const struct op *op,
			   enum op_word role)
{
	switch (role) {
	case WORD_SOURCE:
		ini_word(ini, op->source);
		break;
	case WORD_DEST:
		add_dest(ini, op);
		break;
	case WORD_FD:
		ini_wordf(ini, "%d", op->fd);
		break;
	case WORD_MODE:
		ini_wordf(ini, "%04o", op->mode);
		break;
	case WORD_TARGET:
		ini_word(ini, op->target);
		break;
	case WORD_UPPER:
		ini_word(ini, op->upper);
		break;
	case WORD_WORK:
		ini_word(ini, op->work);
		break;
	case WORD_NONE:
	case WORD_COUNT:
		break;
	}
}

static void add_modifiers(struct ini_writer *ini, const struct op *op)
{
	struct arena *arena = ini->out->arena;

	if (op->mode != OP_MODE_NONE && op->kind != OP_CHMOD)
		ini_line(ini, "mounts", "perms",
			 arena_printf(arena, "%04o", op->mode), op->origin);
	if (op->size)
		ini_line(ini, "mounts", "size", print_size(arena, op->size),
			 op->origin);
	for (size_t i = 0; i < op->lowers.count; i++)
		ini_line(ini, "mounts", "overlay-src", op->lowers.at[i],
			 op->origin);
}

static void add_mount(struct ini_writer *ini, const struct op *op)
{
	bool is_optional;
	const struct op_type *type = mount_type(op, &is_optional);

	if (!type || op->flags & (OP_NO_FOLLOW | OP_ID_MAPPED) || op->inodes) {
		refuse_op(ini, op);
		return;
	}
	add_modifiers(ini, op);
	ini_begin(ini, "mounts", type->name, op->origin);
	for (size_t i = 0; i < op_type_arity(type); i++)
		add_mount_word(ini, op, type->words[i]);
	if (is_optional)
		ini_word(ini, "optional");
	ini_end(ini);
}

static void add_role(struct ini_writer *ini, const struct plan *plan,
		     enum op_role role,
		     void (*add)(struct ini_writer *ini, const struct op *op))
{
	for (size_t i = 0; i < plan->ops.count; i++)
		if (plan->ops.at[i].phase == PHASE_VIEW &&
		    plan->ops.at[i].role == role)
			add(ini, &plan->ops.at[i]);
}

void ini_operations(struct ini_writer *ini, const struct plan *plan)
{
	add_root(ini, plan);
	add_role(ini, plan, ROLE_MASK, add_mask);
	add_role(ini, plan, ROLE_LAYER, add_layer);
	add_workspace(ini, plan);
	for (size_t i = 0; i < plan->ops.count; i++) {
		const struct op *op = &plan->ops.at[i];

		if (op->phase != PHASE_MOUNTS || is_root(plan, op))
			continue;
		if (plan->rules != PLAN_RULES_BWRAP || !is_on_root(op))
			add_mount(ini, op);
		else if (op->kind != OP_REMOUNT_RO)
			refuse_op(ini, op);
	}
}
