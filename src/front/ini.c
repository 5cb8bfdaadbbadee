/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libinih, kept from being lenient.  Its variables switch off what it would
 * cut, join or skip; what has no switch (text behind `]`, `:` for `=`, a NUL
 * in the middle) is refused by the reader that hands it the lines.
 */
#include "front/ini.h"

#include "base/text.h"

#include <ini.h>
#include <stdio.h>
#include <string.h>

struct reading {
	const char *name;    /* of the file, for errors */
	const char *at, *end;
	unsigned line;       /* number of the line handed out last, from 1 */
	bool has_section;
	const struct ini_handlers *handlers;
	struct error *err;
	int result;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static int refuse_line(struct reading *reading, const char *what)
{
	return error_set(reading->err, 0, "%s:%u: %s", reading->name,
			 reading->line, what);
}

/* Bytes that no line may hold; @line is @length bytes without the newline. */
static int check_bytes(struct reading *reading, const char *line,
		       size_t length)
{
	if (length > INI_LINE_MOST)
		return refuse_line(reading,
				   "the line is longer than 131072 bytes");
	if (memchr(line, '\0', length))
		return refuse_line(reading, "the line holds a NUL byte");
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)line[i];

		if (c == '\r' && i == length - 1) {
			refuse_line(reading,
				    "the line ends in a carriage return");
			error_remedy(reading->err, "save '%s' with Unix line "
				     "ends (sed -i 's/\\r$//' FILE)",
				     reading->name);
			return error_result(reading->err);
		}
		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return refuse_line(reading,
					   "the line holds a control "
					   "character");
	}
	if (!text_is_utf8(line, length))
		return refuse_line(reading, "the line is not valid UTF-8");
	return 0;
}

static int check_section(struct reading *reading, const char *line,
			 const char *end)
{
	const char *close = memchr(line, ']', (size_t)(end - line));
	char name[40];
	size_t length;

	if (!close)
		return refuse_line(reading, "']' is missing");
	for (const char *rest = close + 1; rest < end; rest++)
		if (!is_blank(*rest))
			return refuse_line(reading,
					   "there is text behind ']'");
	/* libinih copies the name into 50 bytes: check it whole, here. */
	length = (size_t)(close - line) - 1;
	if (length >= sizeof(name))
		return refuse_line(reading, "there is no section of so long "
				   "a name");
	snprintf(name, sizeof(name), "%.*s", (int)length, line + 1);
	reading->has_section = true;
	return reading->handlers->on_section(reading->handlers->user,
					     reading->line, name,
					     reading->err);
}

static int check_key(struct reading *reading, const char *line,
		     const char *end)
{
	size_t length = (size_t)(end - line);
	const char *equals = memchr(line, '=', length);
	const char *colon;

	if (!equals)
		return refuse_line(reading, "neither '[section]' nor "
				   "'key = value' nor a comment");
	if (equals == line)
		return refuse_line(reading, "there is no key before '='");
	colon = memchr(line, ':', (size_t)(equals - line));
	if (colon)
		return refuse_line(reading, "a key cannot hold ':'");
	if (!reading->has_section)
		return refuse_line(reading, "there is no '[section]' before "
				   "this key");
	return 0;
}

static int check_line(struct reading *reading, const char *line,
		      size_t length)
{
	const char *end = line + length;
	int r = check_bytes(reading, line, length);

	if (r < 0)
		return r;
	while (line < end && is_blank(*line))
		line++;
	if (line == end || *line == ';' || *line == '#')
		return 0;
	if (reading->line == 1 && end - line >= 3 &&
	    !strncmp(line, "\xef\xbb\xbf", 3))
		return refuse_line(reading, "the file starts with a byte "
				   "order mark");
	if (*line == '[')
		return check_section(reading, line, end);
	return check_key(reading, line, end);
}

/* Length of the longest line that is not refused for its length. */
static int longest_line(const struct reading *reading)
{
	size_t longest = 0;

	for (const char *at = reading->at; at < reading->end;) {
		const char *newline =
			memchr(at, '\n', (size_t)(reading->end - at));
		const char *end = newline ? newline : reading->end;

		if ((size_t)(end - at) > longest)
			longest = (size_t)(end - at);
		at = end + 1;
	}
	return longest < INI_LINE_MOST ? (int)longest : INI_LINE_MOST;
}

/* libinih's reader: one line, as fgets(3) would. */
static char *read_line(char *buffer, int size, void *stream)
{
	struct reading *reading = stream;
	const char *line = reading->at, *newline;
	size_t length;

	if (line == reading->end || reading->result < 0)
		return NULL;
	newline = memchr(line, '\n', (size_t)(reading->end - line));
	length = (size_t)((newline ? newline : reading->end) - line);
	reading->at = line + length + (newline ? 1 : 0);
	reading->line++;
	if (reading->line > INI_LINES_MOST)
		reading->result = refuse_line(reading, "the file has more "
					      "than 100000 lines");
	else
		reading->result = check_line(reading, line, length);
	if (reading->result < 0 || length + 1 > (size_t)size)
		return NULL;
	memcpy(buffer, line, length);
	buffer[length] = '\0';
	return buffer;
}

static int take_key(void *user, const char *section, const char *name,
		    const char *value)
{
	struct reading *reading = user;

	reading->result = reading->handlers->on_key(reading->handlers->user,
						    reading->line, section,
						    name, value, reading->err);
	return reading->result >= 0;
}

int ini_text_read(const char *name, const char *text, size_t size,
		  const struct ini_handlers *handlers, struct error *err)
{
	struct reading reading = {
		.name = name,
		.at = text,
		.end = text + size,
		.handlers = handlers,
		.err = err,
	};
	int line;

	if (size > INI_SIZE_MOST)
		return error_set(err, 0, "'%s' is larger than 16 MiB", name);
	ini_allow_multiline = false;
	ini_allow_inline_comments = false;
	ini_allow_bom = false;
	ini_allow_no_value = false;
	ini_allow_realloc = false;
	ini_stop_on_first_error = true;
	ini_use_stack = false;
	/* A line, and three bytes that libinih wants besides. */
	ini_max_line = ini_initial_alloc = longest_line(&reading) + 3;
	line = ini_parse_stream(read_line, &reading, take_key, &reading);
	if (reading.result < 0)
		return reading.result;
	if (line == -2)
		return error_set(err, ENOMEM, "cannot read '%s'", name);
	/* The lines were checked; a libinih of other tastes is possible. */
	if (line != 0)
		return error_set(err, 0, "%s:%d: the line cannot be read",
				 name, line);
	return 0;
}
