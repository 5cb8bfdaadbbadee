/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The arena is a chain of blocks, newest first; an allocation comes from the
 * newest block or opens another one.  Blocks double up to a limit, so that a
 * plan of three mounts touches few pages and one of ten thousand makes few
 * calls.
 */
#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* 0 gives each allocation a block of its own: for fuzzing. */
#ifndef MEM_BLOCK_FIRST
#define MEM_BLOCK_FIRST (8 * 1024)
#endif

enum {
	BLOCK_FIRST = MEM_BLOCK_FIRST,
	BLOCK_LIMIT = 1024 * 1024,
	ALIGNMENT = 16,
};

struct block {
	struct block *older;
	size_t used, size;
	_Alignas(ALIGNMENT) char data[];
};

struct arena {
	struct block *newest;
	size_t next_size;
};

static mem_oom_fn oom_handler = abort;

void mem_set_oom_handler(mem_oom_fn handler)
{
	oom_handler = handler;
}

static void *checked(void *memory)
{
	if (!memory) {
		oom_handler();
		abort();
	}
	return memory;
}

struct arena *arena_new(void)
{
	struct arena *arena = checked(calloc(1, sizeof(*arena)));

	arena->next_size = BLOCK_FIRST;
	return arena;
}

void arena_free(struct arena *arena)
{
	if (!arena)
		return;
	while (arena->newest) {
		struct block *block = arena->newest;

		arena->newest = block->older;
		free(block);
	}
	free(arena);
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct block *block = arena->newest;
	size_t want;
	void *memory;

	if (size > SIZE_MAX / 4)
		checked(NULL);
	size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	if (!block || block->size - block->used < size) {
		want = size > arena->next_size ? size : arena->next_size;
		block = checked(malloc(sizeof(*block) + want));
		block->used = 0;
		block->size = want;
		block->older = arena->newest;
		arena->newest = block;
		if (arena->next_size < BLOCK_LIMIT)
			arena->next_size *= 2;
	}
	memory = block->data + block->used;
	block->used += size;
	/* Not the block: a page that nobody needs is never touched. */
	return memset(memory, 0, size);
}

void *arena_memdup(struct arena *arena, const void *data, size_t size)
{
	char *copy = arena_alloc(arena, size + 1);

	if (size)
		memcpy(copy, data, size);
	return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return arena_memdup(arena, text, strlen(text));
}

char *arena_strndup(struct arena *arena, const char *text, size_t size)
{
	return arena_memdup(arena, text, strnlen(text, size));
}

char *arena_vprintf(struct arena *arena, const char *format, va_list args)
{
	va_list again;
	char *text;
	int length;

	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0)
		checked(NULL);
	text = arena_alloc(arena, (size_t)length + 1);
	vsnprintf(text, (size_t)length + 1, format, args);
	return text;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = arena_vprintf(arena, format, args);
	va_end(args);
	return text;
}

void *arena_grow(struct arena *arena, void *array, size_t count, size_t *cap,
		 size_t element)
{
	size_t wider;
	void *moved;

	if (count < *cap)
		return array;
	wider = *cap ? *cap * 2 : 8;
	if (wider > SIZE_MAX / 4 / element)
		checked(NULL);
	moved = arena_alloc(arena, wider * element);
	if (count)
		memcpy(moved, array, count * element);
	*cap = wider;
	return moved;
}
