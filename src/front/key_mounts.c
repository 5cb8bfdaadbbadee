/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * [mounts]: bubblewrap's options as keys.  The rows are those of op_types[];
 * perms, size and overlay-src are kept for the key that follows, as they are
 * on the command line.
 */
#include "front/keys.h"

#include <string.h>

static int parse_mode(const char *word, unsigned *ret_mode, struct error *err)
{
	if (text_parse_mode(word, ret_mode) < 0)
		return error_set(err, 0, "'%s' is not an octal mode of at "
				 "most 7777", word);
	return 0;
}

static int pend_perms(struct key_target *target, const char *word,
		      struct error *err)
{
	if (target->pending.has_perms)
		return error_set(err, 0, "'perms' twice for the same mount");
	target->pending.has_perms = true;
	return parse_mode(word, &target->pending.perms, err);
}

static int pend_size(struct key_target *target, const char *word,
		     struct error *err)
{
	uint64_t *size = &target->pending.size;

	if (target->pending.has_size)
		return error_set(err, 0, "'size' twice for the same mount");
	target->pending.has_size = true;
	if (text_parse_size(word, size) < 0 || !*size || *size > INT64_MAX)
		return error_set(err, 0, "'%s' is not a size above 0", word);
	return 0;
}

static int pend_layer(struct key_target *target, const char *word,
		      struct error *err)
{
	return key_host_path(target, word,
			     arena_push(target->plan->arena,
					&target->pending.layers), err);
}

static const struct modifier {
	const char *name;
	int (*pend)(struct key_target *target, const char *word,
		    struct error *err);
} modifiers[] = {
	{ "perms", pend_perms },
	{ "size", pend_size },
	{ "overlay-src", pend_layer },
};

static int unknown_mount(const char *name, struct error *err)
{
	const char *names[ARRAY_SIZE(modifiers) + 64], *nearest;
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(modifiers); i++)
		names[count++] = modifiers[i].name;
	for (size_t i = 0; i < op_types_count && count < ARRAY_SIZE(names);
	     i++)
		names[count++] = op_types[i].name;
	error_set(err, 0, "there is no key '%s' in [mounts]", name);
	nearest = text_nearest(name, names, count);
	if (nearest)
		error_remedy(err, "did you mean '%s'?", nearest);
	return error_result(err);
}

/* What is pending must have been taken by the key that follows it. */
static int check_pending(struct key_target *target,
			 const struct op_type *type, size_t layers,
			 struct error *err)
{
	struct op_pending *pending = &target->pending;
	const char *left = pending->has_perms ? "perms"
		: pending->has_size ? "size"
		: pending->layers.count ? "overlay-src" : NULL;

	if (left)
		return error_set(err, 0, "'%s' takes no '%s', which %s says",
				 type->name, left,
				 origin_text(target->plan->arena,
					     &target->pending_origin));
	if (type->allows & TAKES_LAYERS && !layers)
		return error_set(err, 0, "'%s' requires at least one "
				 "'overlay-src' before it", type->name);
	if (type->allows & TAKES_TWO_LAYERS && layers < 2)
		return error_set(err, 0, "'%s' requires at least two "
				 "'overlay-src' before it", type->name);
	return 0;
}

/* Paths of a profile are absolute and normal, wherever they stand. */
static int settle_paths(struct key_target *target, struct op *op,
			struct error *err)
{
	int r = key_inside_path(target, op->dest, &op->dest, err);

	if (r >= 0 && op->source)
		r = key_host_path(target, op->source, &op->source, err);
	if (r >= 0 && op->upper)
		r = key_host_path(target, op->upper, &op->upper, err);
	if (r >= 0 && op->work)
		r = key_host_path(target, op->work, &op->work, err);
	return r;
}

static int add_mount(struct key_target *target, const struct op_type *type,
		     const struct key_value *value, struct error *err)
{
	static const struct op_numbers numbers = { key_fd, parse_mode };
	size_t arity = op_type_arity(type);
	struct op *op;
	int r;

	if (value->count == arity + 1 &&
	    strcmp(value->words[arity], "optional") != 0)
		return error_set(err, 0, "'%s' is not 'optional'",
				 value->words[arity]);
	if (value->count != arity && value->count != arity + 1)
		return error_set(err, 0, "'%s' takes %zu word%s, not %zu "
				 "(quote words with blanks)", type->name,
				 arity, arity == 1 ? "" : "s", value->count);
	r = op_words_add(target->plan, type, value->words, &numbers,
			 &target->pending, value->origin, &op, err);
	if (r < 0)
		return r;
	if (value->count > arity)
		op->flags |= OP_OPTIONAL;
	r = check_pending(target, type, op->lowers.count, err);
	if (r < 0)
		return r;
	return settle_paths(target, op, err);
}

int key_mount(struct key_target *target, const struct key *key,
	      const struct key_value *value, struct error *err)
{
	const struct op_type *type = op_type_find(value->name);

	if (type)
		return add_mount(target, type, value, err);
	for (size_t i = 0; i < ARRAY_SIZE(modifiers); i++) {
		if (strcmp(modifiers[i].name, value->name) != 0)
			continue;
		if (value->count != 1)
			return error_set(err, 0, "'%s' takes one word",
					 value->name);
		target->pending_origin = value->origin;
		return modifiers[i].pend(target, value->words[0], err);
	}
	return unknown_mount(value->name, err);
}
