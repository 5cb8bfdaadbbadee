/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command line in bubblewrap's language, read. */
#ifndef UNIT_FRONT_BWRAP_LINE_H
#define UNIT_FRONT_BWRAP_LINE_H

#include "front/bwrap_args.h"

#include <string.h>
#include <sys/mman.h>

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

struct line {
	struct arena *arena;
	struct parse parse;
	struct error err;
	int result; /* of the first step that failed, or 0 */
};

static const struct option_table line_tables[1] = {
	{ .after = bwrap_after_option },
};

/* Read @words (NULL behind the last) as user @uid; lives to the end. */
static inline struct line *line_read_as(uint32_t uid, const char *const *words)
{
	static struct option_table table;
	struct arena *arena = arena_new();
	struct line *line = arena_alloc(arena, sizeof(*line));
	struct option_words source = { .origin = ORIGIN_ARGUMENT };

	table = line_tables[0];
	table.rows = bwrap_options;
	table.count = bwrap_options_count;
	line->arena = arena;
	line->parse.arena = arena;
	line->parse.plan = plan_new(arena, PLAN_RULES_BWRAP);
	line->parse.plan->caller_uid = line->parse.plan->caller_gid = uid;
	line->parse.is_bwrap = true;
	line->parse.accepts = line->parse.handles = OPTION_BWRAP;
	line->parse.tables = &table;
	line->parse.tables_count = 1;
	source.at = words;
	while (words[source.count])
		source.count++;
	line->result = options_parse(&line->parse, &source, &line->err);
	if (line->result < 0 || line->parse.action != PARSE_RUN)
		return line;
	for (size_t i = source.next; i < source.count; i++)
		*arena_push(arena, &line->parse.plan->command) = words[i];
	line->result = bwrap_finish(&line->parse, &line->err);
	return line;
}

static inline struct line *line_read(const char *const *words)
{
	return line_read_as(1000, words);
}

/* A descriptor that holds @data, as a word. */
static inline const char *line_data(struct arena *arena, const char *data,
				    size_t size)
{
	int fd = memfd_create("args", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
	    lseek(fd, 0, SEEK_SET))
		return "no memory for a test";
	return arena_printf(arena, "%d", fd);
}

#endif
