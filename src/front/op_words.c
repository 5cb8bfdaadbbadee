/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "front/op_words.h"

#include <string.h>

static int take_word(struct op *op, enum op_word role, const char *word,
		     const struct op_numbers *numbers, struct error *err)
{
	switch (role) {
	case WORD_SOURCE:
		op->source = word;
		return 0;
	case WORD_DEST:
		op->dest = word;
		return 0;
	case WORD_FD:
		return numbers->parse_fd(word, &op->fd, err);
	case WORD_MODE:
		return numbers->parse_mode(word, &op->mode, err);
	case WORD_TARGET:
		op->target = word;
		return 0;
	case WORD_UPPER:
		op->upper = word;
		return 0;
	case WORD_WORK:
		op->work = word;
		return 0;
	case WORD_NONE:
	case WORD_COUNT:
		break;
	}
	return error_set(err, 0, "the row of '%s' holds an unknown word",
			 op_kind_name(op->kind));
}

static void take_pending(struct op *op, const struct op_type *type,
			 struct op_pending *pending)
{
	if (type->allows & ALLOWS_PERMS && pending->has_perms) {
		op->mode = pending->perms;
		pending->has_perms = false;
	}
	if (type->allows & ALLOWS_SIZE && pending->has_size) {
		op->size = pending->size;
		pending->has_size = false;
	}
	if (type->allows & TAKES_LAYERS) {
		op->lowers.at = pending->layers.at;
		op->lowers.count = pending->layers.count;
		op->lowers.cap = pending->layers.cap;
		pending->layers.at = NULL;
		pending->layers.count = pending->layers.cap = 0;
	}
}

int op_words_add(struct plan *plan, const struct op_type *type,
		 const char *const *words, const struct op_numbers *numbers,
		 struct op_pending *pending, struct origin origin,
		 struct op **ret_op, struct error *err)
{
	struct op *op = plan_add_op(plan, type->kind, PHASE_MOUNTS, origin);

	op->flags = type->flags;
	for (size_t i = 0; i < op_type_arity(type); i++) {
		int r = take_word(op, type->words[i], words[i], numbers, err);

		if (r < 0) {
			plan->ops.count--;
			return r;
		}
	}
	take_pending(op, type, pending);
	*ret_op = op;
	return 0;
}
