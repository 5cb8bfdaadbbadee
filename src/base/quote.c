/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text for other readers: JSON, the shell, a profile, a terminal. */
#include "base/text.h"

#include <string.h>

/*
 * Length of the well-formed UTF-8 sequence at @at (@left bytes are there), or
 * 0.  The ranges are those of table 3-7 of the Unicode standard.
 */
static size_t utf8_length(const unsigned char *at, size_t left)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t length;

	if (at[0] < 0x80)
		return 1;
	if (at[0] >= 0xc2 && at[0] <= 0xdf)
		length = 2;
	else if (at[0] >= 0xe0 && at[0] <= 0xef)
		length = 3;
	else if (at[0] >= 0xf0 && at[0] <= 0xf4)
		length = 4;
	else
		return 0;
	if (at[0] == 0xe0)
		low = 0xa0;
	else if (at[0] == 0xed)
		high = 0x9f;
	else if (at[0] == 0xf0)
		low = 0x90;
	else if (at[0] == 0xf4)
		high = 0x8f;
	if (left < length || at[1] < low || at[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

bool text_is_utf8(const char *text, size_t size)
{
	const unsigned char *at = (const unsigned char *)text;

	while (size) {
		size_t length = utf8_length(at, size);

		if (!length)
			return false;
		at += length;
		size -= length;
	}
	return true;
}

static bool is_control(unsigned char c)
{
	return c < 0x20 || c == 0x7f;
}

void text_add_json(struct text_buf *buf, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t left = strlen(text);

	text_add(buf, "\"");
	while (left) {
		size_t length = utf8_length(at, left);

		if (!length) {
			text_addf(buf, "\\udc%02x", *at);
			length = 1;
		} else if (*at == '"' || *at == '\\') {
			text_addf(buf, "\\%c", *at);
		} else if (*at == '\n') {
			text_add(buf, "\\n");
		} else if (is_control(*at)) {
			text_addf(buf, "\\u%04x", *at);
		} else {
			text_add_bytes(buf, (const char *)at, length);
		}
		at += length;
		left -= length;
	}
	text_add(buf, "\"");
}

void text_add_shell_word(struct text_buf *buf, const char *text)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789_-./,:=@%+^";

	if (*text && strspn(text, plain) == strlen(text)) {
		text_add(buf, text);
		return;
	}
	text_add(buf, "'");
	for (; *text; text++) {
		if (*text == '\'')
			text_add(buf, "'\\''");
		else
			text_add_bytes(buf, text, 1);
	}
	text_add(buf, "'");
}

/* A plain "${" is written "$${"; every other byte stands for itself. */
static void add_ini_byte(struct text_buf *buf, const char *at)
{
	if (at[0] == '$' && at[1] == '{')
		text_add(buf, "$");
	text_add_bytes(buf, at, 1);
}

void text_add_ini_word(struct text_buf *buf, const char *text)
{
	if (*text && !strpbrk(text, " \t\"\\") && *text != ';' &&
	    *text != '#') {
		for (; *text; text++)
			add_ini_byte(buf, text);
		return;
	}
	text_add(buf, "\"");
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			text_add(buf, "\\");
		add_ini_byte(buf, text);
	}
	text_add(buf, "\"");
}

const char *text_printable(struct arena *arena, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	struct text_buf buf = { .arena = arena };
	size_t left = strlen(text);
	bool changed = false;

	while (left) {
		size_t length = utf8_length(at, left);

		if (!length || is_control(*at)) {
			text_addf(&buf, "\\x%02x", *at);
			length = 1;
			changed = true;
		} else {
			text_add_bytes(&buf, (const char *)at, length);
		}
		at += length;
		left -= length;
	}
	return changed ? buf.at : text;
}
