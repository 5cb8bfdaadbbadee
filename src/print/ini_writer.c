/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "print/ini_writer.h"

#include "print/bwrap_ops.h"

#include <string.h>

void ini_refuse(struct ini_writer *ini, struct origin origin,
		const char *what)
{
	if (ini->result < 0)
		return;
	ini->result = print_no_word(ini->out->arena, &origin, what,
				    "a profile", ini->err);
}

/* Bytes that a profile refuses wherever they stand. */
static bool is_writable(const char *text)
{
	for (const char *at = text; *at; at++)
		if (((unsigned char)*at < 0x20 && *at != '\t') || *at == 0x7f)
			return false;
	return text_is_utf8(text, strlen(text));
}

static void check(struct ini_writer *ini, const char *text)
{
	struct arena *arena = ini->out->arena;

	if (ini->result >= 0 && !is_writable(text))
		ini_refuse(ini, ini->origin,
			   arena_printf(arena, "control characters, or bytes "
					"that are not UTF-8: '%s'",
					text_printable(arena, text)));
}

void ini_begin(struct ini_writer *ini, const char *section, const char *name,
	       struct origin origin)
{
	bool is_key = *name && !strpbrk(name, "=:") &&
		      !strchr(" \t[;#", name[0]) &&
		      !strchr(" \t", name[strlen(name) - 1]);

	ini->name = name;
	ini->origin = origin;
	check(ini, name);
	if (!is_key)
		ini_refuse(ini, origin,
			   arena_printf(ini->out->arena, "the name '%s'",
					name));
	if (ini->result < 0)
		return;
	if (!ini->section || strcmp(ini->section, section) != 0)
		text_addf(ini->out, "%s[%s]\n", ini->section ? "\n" : "",
			  section);
	ini->section = section;
	text_addf(ini->out, "%s =", name);
}

/* "${" begins a variable; "$${" is the two characters. */
static const char *without_variables(struct arena *arena, const char *text)
{
	struct text_buf buf = { .arena = arena };
	const char *at;

	text_add(&buf, "");
	while ((at = strstr(text, "${"))) {
		text_add_bytes(&buf, text, (size_t)(at - text));
		text_add(&buf, "$${");
		text = at + 2;
	}
	text_add(&buf, text);
	return buf.at;
}

void ini_word(struct ini_writer *ini, const char *word)
{
	check(ini, word);
	if (ini->result < 0)
		return;
	text_add(ini->out, " ");
	text_add_ini_word(ini->out, word);
}

void ini_wordf(struct ini_writer *ini, const char *format, ...)
{
	va_list args;
	char *word;

	va_start(args, format);
	word = arena_vprintf(ini->out->arena, format, args);
	va_end(args);
	ini_word(ini, word);
}

void ini_text(struct ini_writer *ini, const char *text)
{
	size_t length = strlen(text);
	bool is_plain = length && *text != '"' && !strchr(" \t", *text) &&
			!strchr(" \t", text[length - 1]);

	check(ini, text);
	if (ini->result < 0)
		return;
	text = without_variables(ini->out->arena, text);
	if (is_plain) {
		text_addf(ini->out, " %s", text);
		return;
	}
	text_add(ini->out, " \"");
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			text_add(ini->out, "\\");
		text_add_bytes(ini->out, text, 1);
	}
	text_add(ini->out, "\"");
}

void ini_end(struct ini_writer *ini)
{
	if (ini->result >= 0)
		text_add(ini->out, "\n");
}

void ini_line(struct ini_writer *ini, const char *section, const char *name,
	      const char *word, struct origin origin)
{
	if (!word)
		return;
	ini_begin(ini, section, name, origin);
	ini_word(ini, word);
	ini_end(ini);
}
