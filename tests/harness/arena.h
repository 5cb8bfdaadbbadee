/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory of a test: what is allocated here lives as long as the test's
 * process, so that tests and the harness never free.
 */
#ifndef HARNESS_ARENA_H
#define HARNESS_ARENA_H

#include <stddef.h>

/* @size zeroed bytes; ends the test when there are none. */
void *arena_take(size_t size);

/* A formatted string. */
char *arena_format(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/*
 * Text that grows.  A zeroed one is empty; @data is NULL until the first
 * byte is added and is always followed by a NUL byte that @length leaves out.
 */
struct arena_text {
	char *data;
	size_t length;
	size_t size;
};

void arena_add(struct arena_text *text, const void *data, size_t length);
void arena_add_format(struct arena_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The text as a string: never NULL. */
const char *arena_string(const struct arena_text *text);

#endif
