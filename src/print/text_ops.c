/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operations for people: in order, each with what it covers. */
#include "print/text_sheet.h"

#include "plan/op_types.h"
#include "print/names.h"

#include <string.h>

/* The words between the name and the place. */
static const char *what_of(struct sheet *sheet, const struct op *op)
{
	struct text_buf buf = { .arena = sheet->arena };

	text_add(&buf, "");
	switch (op->kind) {
	case OP_BIND:
		text_addf(&buf, " %s on", sheet_word(sheet, op->source));
		break;
	case OP_BIND_FD:
	case OP_FILE:
	case OP_BIND_DATA:
		text_addf(&buf, " descriptor %d on", op->fd);
		break;
	case OP_SYMLINK:
		text_addf(&buf, " to %s at", sheet_word(sheet, op->target));
		break;
	case OP_OVERLAY:
	case OP_TMP_OVERLAY:
	case OP_RO_OVERLAY:
	case OP_REMOUNT_RO:
	case OP_PROC:
	case OP_DEV:
	case OP_TMPFS:
	case OP_MQUEUE:
	case OP_DIR:
	case OP_CHMOD:
	case OP_HIDE:
	case OP_PROTECT:
	case OP_COUNT:
		break;
	}
	return buf.at;
}

/* What follows the place, each with a comma in front. */
static const char *details_of(struct sheet *sheet, const struct op *op)
{
	const struct op_type *type = op_type_of(op);
	unsigned said = type ? type->flags : 0;
	struct text_buf buf = { .arena = sheet->arena };

	text_add(&buf, "");
	if (op->mode != OP_MODE_NONE)
		text_addf(&buf, ", mode %04o", op->mode);
	if (op->size)
		text_addf(&buf, ", size %s",
			  print_size(sheet->arena, op->size));
	if (op->inodes)
		text_addf(&buf, ", %llu inodes",
			  (unsigned long long)op->inodes);
	if (op->flags & ~said & OP_READ_ONLY)
		text_add(&buf, ", read-only");
	if (op->flags & ~said & OP_DEVICES)
		text_add(&buf, ", with devices");
	if (op->flags & ~said & OP_OPTIONAL)
		text_add(&buf, ", optional");
	if (op->flags & OP_NO_FOLLOW)
		text_add(&buf, ", source is no link");
	if (op->flags & OP_ID_MAPPED)
		text_add(&buf, ", with the owner's rights");
	return buf.at;
}

static void add_layers(struct sheet *sheet, const struct op *op)
{
	for (size_t i = 0; i < op->lowers.count; i++)
		sheet_note(sheet, "lower %s", sheet_word(sheet, op->lowers.at[i]));
	if (op->upper)
		sheet_note(sheet, "upper %s", sheet_word(sheet, op->upper));
	if (op->work)
		sheet_note(sheet, "work %s", sheet_word(sheet, op->work));
}

/* The numbers of the operations before @index that @index covers. */
static void add_covered(struct sheet *sheet, char *const *places,
			const struct plan *plan, size_t index)
{
	struct text_buf buf = { .arena = sheet->arena };
	size_t count = 0;

	if (!op_kind_covers(plan->ops.at[index].kind))
		return;
	for (size_t i = 0; i < index; i++) {
		if (!path_is_below(places[i], places[index]))
			continue;
		text_addf(&buf, "%s%zu", count ? ", " : "", i + 1);
		count++;
	}
	if (count)
		sheet_note(sheet, "hides %s", buf.at);
}

void text_operations(struct sheet *sheet, const struct plan *plan)
{
	char **places = arena_alloc(sheet->arena,
				    (plan->ops.count + 1) * sizeof(*places));

	sheet_heading(sheet, "operations, in order");
	if (!plan->ops.count)
		sheet_line(sheet, "", NULL, "none: an empty root");
	for (size_t i = 0; i < plan->ops.count; i++) {
		const struct op *op = &plan->ops.at[i];
		const char *role = "";

		places[i] = path_normalise(sheet->arena, op_place(op));
		if (op->role != ROLE_PLAIN)
			role = print_role_name(op->role);
		else if (op->phase != PHASE_MOUNTS)
			role = print_phase_name(op->phase);
		sheet_line(sheet,
			   arena_printf(sheet->arena, "%zu%s%s", i + 1,
					*role ? " " : "", role),
			   &op->origin, "%s%s %s%s", print_op_name(op),
			   what_of(sheet, op), sheet_word(sheet, op->dest),
			   details_of(sheet, op));
		if (op->real_dest && strcmp(op->real_dest, op->dest) != 0)
			sheet_note(sheet, "which is %s",
				   sheet_word(sheet, op->real_dest));
		add_layers(sheet, op);
		add_covered(sheet, places, plan, i);
	}
}
