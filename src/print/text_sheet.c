/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "print/text_sheet.h"

#include <string.h>

enum {
	SHEET_WIDTH = 80,
	LABEL_COLUMN = 2,
	TEXT_COLUMN = 16,
	NOTE_COLUMN = 18,
};

#define COLOUR_HEADING "\033[1m"
#define COLOUR_ORIGIN "\033[2m"
#define COLOUR_END "\033[0m"

/* Columns that UTF-8 text takes when each character takes one. */
static size_t columns(const char *text, size_t size)
{
	size_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

static void add_blanks(struct sheet *sheet, size_t count)
{
	text_addf(sheet->out, "%*s", (int)count, "");
}

static void add_coloured(struct sheet *sheet, const char *colour,
			 const char *text)
{
	if (sheet->in_colour)
		text_addf(sheet->out, "%s%s%s", colour, text, COLOUR_END);
	else
		text_add(sheet->out, text);
}

void sheet_heading(struct sheet *sheet, const char *heading)
{
	if (sheet->out->count)
		text_add(sheet->out, "\n");
	add_coloured(sheet, COLOUR_HEADING, heading);
	text_add(sheet->out, "\n");
}

/*
 * Length of the piece of @text that fits into @room columns: up to a blank
 * outside quotes if there is one, else the whole word, however long: a path
 * that is cut in two is of no use.
 */
static size_t piece_length(const char *text, size_t room)
{
	size_t length = 0, fits = 0;
	bool quoted = false;

	if (columns(text, strlen(text)) <= room)
		return strlen(text);
	for (; text[length]; length++) {
		if (text[length] == '\'')
			quoted = !quoted;
		if (text[length] != ' ' || quoted)
			continue;
		if (columns(text, length) > room && fits)
			break;
		fits = length;
		if (columns(text, length) > room)
			break;
	}
	return fits ? fits : strlen(text);
}

/* @text from the column where the cursor is; returns the column behind it. */
static size_t add_wrapped(struct sheet *sheet, const char *text, size_t column)
{
	size_t length = piece_length(text, SHEET_WIDTH - column);

	text_add_bytes(sheet->out, text, length);
	while (text[length]) {
		text += length + strspn(text + length, " ");
		if (!*text)
			break;
		text_add(sheet->out, "\n");
		add_blanks(sheet, column);
		length = piece_length(text, SHEET_WIDTH - column);
		text_add_bytes(sheet->out, text, length);
	}
	return column + columns(text, length);
}

static void add_origin(struct sheet *sheet, const struct origin *origin,
		       size_t column)
{
	const char *text = text_printable(sheet->arena,
					  origin_text(sheet->arena, origin));
	size_t width = columns(text, strlen(text));

	if (column + 2 + width > SHEET_WIDTH) {
		text_add(sheet->out, "\n");
		column = 0;
	}
	add_blanks(sheet, width + NOTE_COLUMN < SHEET_WIDTH ?
			  SHEET_WIDTH - width - column :
			  NOTE_COLUMN);
	add_coloured(sheet, COLOUR_ORIGIN, text);
}

void sheet_line(struct sheet *sheet, const char *label,
		const struct origin *origin, const char *format, ...)
{
	size_t width = columns(label, strlen(label));
	size_t column = TEXT_COLUMN;
	va_list args;
	char *text;

	va_start(args, format);
	text = arena_vprintf(sheet->arena, format, args);
	va_end(args);
	add_blanks(sheet, LABEL_COLUMN);
	text_add(sheet->out, label);
	if (LABEL_COLUMN + width >= column)
		text_add(sheet->out, "\n");
	add_blanks(sheet, LABEL_COLUMN + width < column ?
			  column - LABEL_COLUMN - width :
			  column);
	column = add_wrapped(sheet, text, column);
	if (origin)
		add_origin(sheet, origin, column);
	text_add(sheet->out, "\n");
}

void sheet_note(struct sheet *sheet, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = arena_vprintf(sheet->arena, format, args);
	va_end(args);
	add_blanks(sheet, NOTE_COLUMN);
	add_wrapped(sheet, text, NOTE_COLUMN);
	text_add(sheet->out, "\n");
}

const char *sheet_word(struct sheet *sheet, const char *text)
{
	struct text_buf buf = { .arena = sheet->arena };

	text_add_shell_word(&buf, text_printable(sheet->arena, text));
	return buf.at;
}
