/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations in bubblewrap's language. */
#include "print/bwrap_ops.h"

#include "plan/op_types.h"
#include "print/names.h"

#include <string.h>

static int no_words(const struct print_words *words, const struct op *op,
		    const char *detail, struct error *err)
{
	return print_no_word(words->arena, &op->origin,
			     arena_printf(words->arena, "%s on '%s'%s",
					  print_op_name(op), op->dest, detail),
			     "bubblewrap", err);
}

/* A read-only tmpfs is a tmpfs that is remounted when all is in place. */
static bool is_frozen_tmpfs(const struct op *op)
{
	return op->kind == OP_TMPFS && op->flags & OP_READ_ONLY;
}

static const struct op_type *type_of(const struct op *op)
{
	struct op plain = *op;

	if (is_frozen_tmpfs(op))
		plain.flags &= ~(unsigned)OP_READ_ONLY;
	/* That a mask of nothing is skipped stands in the comments. */
	if (op->role == ROLE_MASK)
		plain.flags &= ~(unsigned)OP_OPTIONAL;
	return op_type_of(&plain);
}

static int check_op(const struct print_words *words, const struct op *op,
		    const struct op_type *type, struct error *err)
{
	bool has_mode = op->mode != OP_MODE_NONE && op->kind != OP_CHMOD;

	if (!type)
		return no_words(words, op, "", err);
	if (op->inodes)
		return no_words(words, op, " with a number of inodes", err);
	if (op->size && !(type->allows & ALLOWS_SIZE))
		return no_words(words, op, " with a size", err);
	if (has_mode && !(type->allows & ALLOWS_PERMS))
		return no_words(words, op, " with a mode", err);
	if (op->flags & OP_NO_FOLLOW && op->role != ROLE_WORKSPACE)
		return no_words(words, op, " that refuses a link", err);
	if (type->allows & TAKES_TWO_LAYERS && op->lowers.count < 2)
		return no_words(words, op, " with one layer", err);
	if (op->kind == OP_OVERLAY && !op->work)
		return no_words(words, op, " without a work directory", err);
	return 0;
}

static void add_modifiers(struct print_words *words, const struct op *op)
{
	if (op->mode != OP_MODE_NONE && op->kind != OP_CHMOD) {
		print_bwrap_word(words, "--perms");
		print_bwrap_word(words, arena_printf(words->arena, "%04o",
						     op->mode));
	}
	if (op->size) {
		print_bwrap_word(words, "--size");
		print_bwrap_word(words,
				 arena_printf(words->arena, "%llu",
					      (unsigned long long)op->size));
	}
	for (size_t i = 0; i < op->lowers.count; i++) {
		print_bwrap_word(words, "--overlay-src");
		print_bwrap_word(words, op->lowers.at[i]);
	}
}

static void add_word(struct print_words *words, const struct op *op,
		     enum op_word role)
{
	switch (role) {
	case WORD_SOURCE:
		print_bwrap_word(words, op->source);
		break;
	case WORD_DEST:
		print_bwrap_word(words, op->dest);
		break;
	case WORD_FD:
		print_bwrap_number(words, op->fd);
		break;
	case WORD_MODE:
		print_bwrap_word(words, arena_printf(words->arena, "%04o",
						     op->mode));
		break;
	case WORD_TARGET:
		print_bwrap_word(words, op->target);
		break;
	case WORD_UPPER:
		print_bwrap_word(words, op->upper);
		break;
	case WORD_WORK:
		print_bwrap_word(words, op->work);
		break;
	case WORD_NONE:
	case WORD_COUNT:
		break;
	}
}

static int add_op(struct print_words *words, const struct op *op,
		  struct error *err)
{
	const struct op_type *type = type_of(op);
	int r = check_op(words, op, type, err);

	if (r < 0)
		return r;
	*arena_push(words->arena, &words->starts) = words->words.count;
	add_modifiers(words, op);
	print_bwrap_word(words, arena_printf(words->arena, "--%s",
					     type->name));
	for (size_t i = 0; i < op_type_arity(type); i++)
		add_word(words, op, type->words[i]);
	return 0;
}

/* Is the place of operation @index still to be seen at the end? */
static bool is_visible(const struct plan *plan, size_t index)
{
	const char *place = op_place(&plan->ops.at[index]);

	for (size_t i = index + 1; i < plan->ops.count; i++)
		if (op_kind_covers(plan->ops.at[i].kind) &&
		    path_is_below(place, op_place(&plan->ops.at[i])))
			return false;
	return true;
}

int print_bwrap_ops(struct print_words *words, const struct plan *plan,
		    struct error *err)
{
	for (size_t i = 0; i < plan->ops.count; i++) {
		int r = add_op(words, &plan->ops.at[i], err);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < plan->ops.count; i++) {
		const struct op *op = &plan->ops.at[i];

		if (!is_frozen_tmpfs(op) || !is_visible(plan, i))
			continue;
		print_bwrap_option(words, "--remount-ro");
		print_bwrap_word(words, op->dest);
	}
	return 0;
}
