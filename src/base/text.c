/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Numbers, words and growing strings.  Paths as text are in path.c, quoting
 * for other readers in quote.c.
 */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* Digits of @base at the start of @text; returns what follows them. */
static int parse_digits(const char *text, unsigned base, uint64_t *ret_value,
			const char **ret_rest)
{
	const char *at = text;
	uint64_t value = 0;

	for (; *at >= '0' && *at < (char)('0' + base); at++) {
		uint64_t digit = (uint64_t)(*at - '0');

		if (value > (UINT64_MAX - digit) / base)
			return -ERANGE;
		value = value * base + digit;
	}
	if (at == text)
		return -EINVAL;
	*ret_value = value;
	*ret_rest = at;
	return 0;
}

int text_parse_u64(const char *text, uint64_t *ret_value)
{
	const char *rest;
	uint64_t value;
	int r = parse_digits(text, 10, &value, &rest);

	if (r < 0)
		return r;
	if (*rest)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

int text_parse_mode(const char *text, unsigned *ret_mode)
{
	const char *rest;
	uint64_t value;
	int r = parse_digits(text, 8, &value, &rest);

	if (r < 0)
		return r;
	if (*rest)
		return -EINVAL;
	if (value > 07777)
		return -ERANGE;
	*ret_mode = (unsigned)value;
	return 0;
}

struct unit {
	const char *name;
	uint64_t factor;
};

static int parse_with_unit(const char *text, const struct unit *units,
			   size_t count,
			   int (*compare)(const char *a, const char *b),
			   uint64_t *ret_value)
{
	const char *rest;
	uint64_t value;
	int r = parse_digits(text, 10, &value, &rest);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		if (compare(rest, units[i].name) != 0)
			continue;
		if (value > UINT64_MAX / units[i].factor)
			return -ERANGE;
		*ret_value = value * units[i].factor;
		return 0;
	}
	return -EINVAL;
}

int text_parse_size(const char *text, uint64_t *ret_bytes)
{
	static const struct unit units[] = {
		{ "", 1 },
		{ "k", 1ULL << 10 },
		{ "m", 1ULL << 20 },
		{ "g", 1ULL << 30 },
		{ "t", 1ULL << 40 },
	};

	return parse_with_unit(text, units, ARRAY_SIZE(units), strcasecmp,
			       ret_bytes);
}

int text_parse_duration(const char *text, uint64_t *ret_ms)
{
	static const struct unit units[] = {
		{ "ms", 1 },
		{ "s", 1000 },
		{ "m", 60000 },
		{ "h", 3600000 },
	};

	if (!strcmp(text, "0")) {
		*ret_ms = 0;
		return 0;
	}
	/* "5M" is a size, for whoever reads it. */
	return parse_with_unit(text, units, ARRAY_SIZE(units), strcmp, ret_ms);
}

int text_parse_bool(const char *text, bool *ret_value)
{
	if (!strcmp(text, "yes"))
		*ret_value = true;
	else if (!strcmp(text, "no"))
		*ret_value = false;
	else
		return -EINVAL;
	return 0;
}

enum { NEAREST_LONGEST = 40 };

/*
 * Edits (insert, delete, replace, swap neighbours) from @a to @b; three rows
 * of the usual table are enough.
 */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[3][NEAREST_LONGEST + 1];
	size_t *two = rows[0], *one = rows[1], *now = rows[2];
	size_t length = strlen(b);

	for (size_t j = 0; j <= length; j++)
		one[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t *spare = two;

		now[0] = i;
		for (size_t j = 1; j <= length; j++) {
			size_t best = one[j - 1] + (a[i - 1] != b[j - 1]);

			if (one[j] + 1 < best)
				best = one[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && two[j - 2] + 1 < best)
				best = two[j - 2] + 1;
			now[j] = best;
		}
		two = one;
		one = now;
		now = spare;
	}
	return one[length];
}

const char *text_nearest(const char *word, const char *const *names,
			 size_t count)
{
	size_t length = strlen(word), best = SIZE_MAX;
	const char *nearest = NULL;

	if (!length || length > NEAREST_LONGEST)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t distance;

		if (!names[i] || strlen(names[i]) > NEAREST_LONGEST)
			continue;
		distance = edit_distance(word, names[i]);
		if (distance < best) {
			best = distance;
			nearest = names[i];
		}
	}
	/* A third of the word wrong is still a slip; more is another word. */
	return best <= 1 + length / 3 && best < length ? nearest : NULL;
}

bool text_has_prefix(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

bool text_matches(const char *pattern, const char *name)
{
	size_t length = strlen(pattern);

	if (length && pattern[length - 1] == '*')
		return !strncmp(pattern, name, length - 1);
	return !strcmp(pattern, name);
}

void text_add_bytes(struct text_buf *buf, const char *bytes, size_t size)
{
	if (buf->cap - buf->count < size + 1) {
		size_t wider = buf->cap ? buf->cap : 128;
		char *moved;

		while (wider - buf->count < size + 1)
			wider *= 2;
		moved = arena_alloc(buf->arena, wider);
		if (buf->count)
			memcpy(moved, buf->at, buf->count);
		buf->at = moved;
		buf->cap = wider;
	}
	memcpy(buf->at + buf->count, bytes, size);
	buf->count += size;
	buf->at[buf->count] = '\0';
}

void text_add(struct text_buf *buf, const char *text)
{
	text_add_bytes(buf, text, strlen(text));
}

void text_addf(struct text_buf *buf, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_add(buf, arena_vprintf(buf->arena, format, args));
	va_end(args);
}
