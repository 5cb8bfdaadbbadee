/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "harness/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/identity.h"

/* Blocks are reachable from here, so that LeakSanitizer finds no leak. */
struct block {
	struct block *next;
	max_align_t data[];
};

static struct block *blocks;

void *arena_take(size_t size)
{
	struct block *block = calloc(1, sizeof(*block) + size);

	if (!block)
		harness_fail("out of memory");
	block->next = blocks;
	blocks = block;
	return block->data;
}

__attribute__((format(printf, 1, 0)))
static char *format_list(const char *format, va_list list)
{
	va_list again;
	int length;
	char *ret;

	va_copy(again, list);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0)
		harness_fail("cannot format '%s'", format);
	ret = arena_take((size_t)length + 1);
	vsnprintf(ret, (size_t)length + 1, format, list);
	return ret;
}

char *arena_format(const char *format, ...)
{
	va_list list;
	char *ret;

	va_start(list, format);
	ret = format_list(format, list);
	va_end(list);
	return ret;
}

void arena_add(struct arena_text *text, const void *data, size_t length)
{
	if (text->size - text->length <= length) {
		size_t size = (text->length + length + 1) * 2;
		char *bigger = arena_take(size);

		if (text->length)
			memcpy(bigger, text->data, text->length);
		text->data = bigger;
		text->size = size;
	}
	if (length)
		memcpy(text->data + text->length, data, length);
	text->length += length;
	text->data[text->length] = '\0';
}

void arena_add_format(struct arena_text *text, const char *format, ...)
{
	va_list list;
	const char *piece;

	va_start(list, format);
	piece = format_list(format, list);
	va_end(list);
	arena_add(text, piece, strlen(piece));
}

const char *arena_string(const struct arena_text *text)
{
	return text->data ? text->data : "";
}
