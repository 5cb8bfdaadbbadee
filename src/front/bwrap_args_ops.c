/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations on the file system, and the modifiers in front of them. */
#include "front/bwrap_args_handle.h"

#include "base/text.h"
#include "front/bwrap_args_values.h"

const char bwrap_overlay_src_error[] =
	"--overlay-src must be followed by another --overlay-src or one of "
	"--overlay, --tmp-overlay, or --ro-overlay";

/* The one operation that has a mode among its words. */
static int parse_chmod_mode(const char *word, unsigned *ret_mode,
			    struct error *err)
{
	return bwrap_parse_mode("--chmod", word, ret_mode, err);
}

static const struct op_numbers numbers = {
	.parse_fd = bwrap_parse_fd,
	.parse_mode = parse_chmod_mode,
};

static int check_layers(const struct option *option,
			const struct op_type *type, size_t layers,
			struct error *err)
{
	if (type->allows & TAKES_TWO_LAYERS && layers < 2)
		return bwrap_usage_error(err, "%s requires at least two "
					 "--overlay-src", option->name);
	if (type->allows & TAKES_LAYERS && layers < 1)
		return bwrap_usage_error(err, "%s requires at least one "
					 "--overlay-src", option->name);
	return 0;
}

OPTION_HANDLER(bwrap_do_op)
{
	const struct op_type *type = op_type_find(option->name + 2);
	struct op_pending *pending = &bwrap_parse_state(parse)->pending;
	struct op *op;
	int r;

	r = check_layers(option, type, pending->layers.count, err);
	if (r < 0)
		return r;
	r = op_words_add(parse->plan, type, values, &numbers, pending, origin,
			 &op, err);
	if (r < 0)
		return r;
	if (parse->plan->rules == PLAN_RULES_PROFILE)
		op->dest = path_normalise(parse->arena, op->dest);
	return 0;
}

OPTION_HANDLER(bwrap_do_perms)
{
	struct op_pending *pending = &bwrap_parse_state(parse)->pending;

	if (pending->has_perms)
		return bwrap_usage_error(err, "--perms given twice for the "
					 "same action");
	pending->has_perms = true;
	return bwrap_parse_mode("--perms", values[0], &pending->perms, err);
}

OPTION_HANDLER(bwrap_do_size)
{
	struct op_pending *pending = &bwrap_parse_state(parse)->pending;

	if (pending->has_size)
		return bwrap_usage_error(err, "--size given twice for the "
					 "same action");
	pending->has_size = true;
	return bwrap_parse_size(values[0], &pending->size, err);
}

OPTION_HANDLER(bwrap_do_overlay_src)
{
	struct op_pending *pending = &bwrap_parse_state(parse)->pending;

	*arena_push(parse->arena, &pending->layers) = values[0];
	return 0;
}

int bwrap_after_option(struct parse *parse, const struct option *option,
		       struct error *err)
{
	const struct op_pending *pending = &bwrap_parse_state(parse)->pending;
	bool is_modifier = option->handle == bwrap_do_perms ||
			   option->handle == bwrap_do_size;

	/* --help wins over everything that stands before it. */
	if (parse->action != PARSE_RUN)
		return 0;
	if (pending->has_perms && !is_modifier)
		return bwrap_usage_error(err, "--perms must be followed by an "
					 "option that creates a file");
	if (pending->has_size && !is_modifier)
		return bwrap_usage_error(err, "--size must be followed by "
					 "--tmpfs");
	if (pending->layers.count && option->handle != bwrap_do_overlay_src)
		return bwrap_usage_error(err, "%s", bwrap_overlay_src_error);
	return 0;
}
