/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A command line from any bytes: its words end in NUL bytes.  The first byte
 * says in which language and as whom; a "\xff" word begins what every --args
 * reads.
 */
#include "front/bwrap_args_handle.h"
#include "front/native_args.h"

#include "base/text.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static const char *args_data;
static size_t args_size;

static int read_args(int fd, struct text_buf *out)
{
	text_add_bytes(out, args_data, args_size);
	return 0;
}

static void require(bool holds)
{
	if (!holds)
		abort();
}

struct line {
	const char **at;
	size_t count, cap;
};

static void split(struct arena *arena, const char *bytes, size_t size,
		  struct line *line)
{
	const char *end = bytes + size;

	args_data = "";
	args_size = 0;
	while (bytes < end) {
		const char *stop = memchr(bytes, '\0', (size_t)(end - bytes));
		size_t length = (size_t)((stop ? stop : end) - bytes);

		if (length && (unsigned char)*bytes == 0xff) {
			args_data = bytes + 1;
			args_size = (size_t)(end - bytes) - 1;
			return;
		}
		*arena_push(arena, line) = arena_strndup(arena, bytes, length);
		bytes += length + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_arena struct arena *arena = arena_new();
	struct native_options native = { .log_fd = -EBADF };
	struct option_table tables[] = {
		{ native_options, native_options_count, NULL },
		{ bwrap_options, bwrap_options_count, bwrap_after_option },
	};
	struct line line = { NULL };
	struct error err = { 0 };
	struct parse parse = {
		.arena = arena,
		.tables = tables,
		.tables_count = ARRAY_SIZE(tables),
		.native = &native,
	};
	struct option_words words = { .origin = ORIGIN_ARGUMENT };
	int r;

	if (!size)
		return 0;
	parse.is_bwrap = data[0] & 1;
	parse.accepts = parse.handles = OPTION_BWRAP |
		(parse.is_bwrap ? 0 : OPTION_NATIVE);
	parse.plan = plan_new(arena, data[0] & 2 ? PLAN_RULES_PROFILE
						 : PLAN_RULES_BWRAP);
	parse.plan->caller_uid = data[0] & 4 ? 1000 : 0;
	bwrap_parse_state(&parse)->read_args = read_args;
	split(arena, arena_memdup(arena, data + 1, size - 1), size - 1, &line);
	words.at = line.at;
	words.count = line.count;
	r = options_parse(&parse, &words, &err);
	require(words.next <= words.count);
	if (r >= 0 && parse.action == PARSE_RUN) {
		for (size_t i = words.next; i < words.count; i++)
			*arena_push(arena, &parse.plan->command) =
				words.at[i];
		r = bwrap_finish(&parse, &err);
	}
	require(r >= 0 || *err.text);
	for (size_t i = 0; r >= 0 && i < parse.plan->ops.count; i++)
		require(parse.plan->ops.at[i].dest != NULL);
	return 0;
}
