/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any words, read as bubblewrap's language and printed in every way; what is
 * taken must come back from its own command line as an equal plan.
 *
 * The input is a command line, words ended by NUL bytes; a byte 0xff ends it,
 * and what follows is what the files of --args hold, in the order in which
 * they are read, each ended by 0xff again.
 */
#include "front/bwrap_args_handle.h"
#include "fuzz.h"
#include "golden/plan_equal.h"
#include "print/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MOST = 20000, SECTION_END = 0xff };

static const uint8_t *rest;
static size_t rest_size;

/* The next part of the input, copied so that a word's end is its own. */
static char *take_section(struct arena *arena, size_t *ret_size)
{
	const uint8_t *end = rest_size ? memchr(rest, SECTION_END, rest_size)
				       : NULL;
	size_t size = end ? (size_t)(end - rest) : rest_size;
	char *section = arena_memdup(arena, rest, size);

	rest += size + (end ? 1 : 0);
	rest_size -= size + (end ? 1 : 0);
	*ret_size = size;
	return section;
}

static int read_section(int fd, struct text_buf *out)
{
	size_t size;
	char *section;

	(void)fd;
	if (!rest_size)
		return -EBADF;
	section = take_section(out->arena, &size);
	text_add_bytes(out, section, size);
	return 0;
}

struct reading {
	struct plan *plan;     /* NULL: refused, or not to be run */
	struct error err;
};

static void read_words(struct reading *reading, struct arena *arena,
		       const char *const *at, size_t count)
{
	struct option_table table = { bwrap_options, bwrap_options_count,
				      bwrap_after_option };
	struct parse parse = {
		.arena = arena,
		.plan = plan_new(arena, PLAN_RULES_BWRAP),
		.is_bwrap = true,
		.accepts = OPTION_BWRAP,
		.handles = OPTION_BWRAP,
		.tables = &table,
		.tables_count = 1,
	};
	struct option_words words = {
		.at = at, .count = count, .origin = ORIGIN_ARGUMENT,
	};

	memset(reading, 0, sizeof(*reading));
	bwrap_parse_state(&parse)->read_args = read_section;
	if (options_parse(&parse, &words, &reading->err) < 0 ||
	    parse.action != PARSE_RUN)
		return;
	for (size_t i = words.next; i < count; i++)
		*arena_push(arena, &parse.plan->command) = at[i];
	if (bwrap_finish(&parse, &reading->err) >= 0 &&
	    parse.action == PARSE_RUN)
		reading->plan = parse.plan;
}

static _Noreturn void broken(const char *what, const char *detail)
{
	fprintf(stderr, "%s: %s\n", what, detail);
	abort();
}

static void print_all(struct arena *arena, const struct plan *plan)
{
	static const print_fn printers[] = {
		print_text, print_text_in_colour, print_json, print_bwrap,
		print_ini,
	};

	for (size_t i = 0; i < ARRAY_SIZE(printers); i++) {
		struct text_buf out = { .arena = arena };
		struct error err = { 0 };

		if (printers[i](plan, &out, &err) < 0 &&
		    printers[i] != print_ini)
			broken("cannot be printed", err.text);
	}
}

static void check_again(struct arena *arena, const struct plan *plan)
{
	struct print_words words;
	struct reading again;
	struct error err = { 0 };
	const char *difference;

	if (print_bwrap_words(plan, &words, &err) < 0)
		broken("no words", err.text);
	read_words(&again, arena, words.words.at + 1, words.words.count - 1);
	if (!again.plan)
		broken("not taken again", again.err.text);
	difference = plan_difference(plan, again.plan);
	if (difference)
		broken("not the same plan", difference);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_arena struct arena *arena = arena_new();
	LIST_OF(const char *) words = { 0 };
	struct reading reading;
	size_t line_size, at = 0;
	char *line;

	rest = data;
	rest_size = size;
	line = take_section(arena, &line_size);
	while (at < line_size && words.count < WORDS_MOST) {
		*arena_push(arena, &words) = line + at;
		at += strlen(line + at) + 1;
	}
	read_words(&reading, arena, words.at, words.count);
	if (!reading.plan)
		return 0;
	print_all(arena, reading.plan);
	check_again(arena, reading.plan);
	return 0;
}
