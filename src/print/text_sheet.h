/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Layout of the text for people: headings, lines, origins.  Internal. */
#ifndef PRINT_TEXT_SHEET_H
#define PRINT_TEXT_SHEET_H

#include "base/text.h"
#include "plan/plan.h"

struct sheet {
	struct text_buf *out;
	struct arena *arena;
	bool in_colour;
};

/* A blank line (but before the first one) and the heading. */
void sheet_heading(struct sheet *sheet, const char *heading);
/*
 * One line: @label in its column, then the text; @origin (may be NULL) at the
 * right edge, or on a line of its own when it does not fit there.  A text of
 * more than a line goes on below its own column.
 */
void sheet_line(struct sheet *sheet, const char *label,
		const struct origin *origin, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Prose below a line, broken between words. */
void sheet_note(struct sheet *sheet, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* @text as one word that can be pasted into a shell and is fit to be seen. */
const char *sheet_word(struct sheet *sheet, const char *text);

/* text_ops.c: the section on operations. */
void text_operations(struct sheet *sheet, const struct plan *plan);

#endif
