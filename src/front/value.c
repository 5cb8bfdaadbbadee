/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The words of a profile's value. */
#include "front/variables.h"

#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Take one character, or one variable, at *@at into @word. */
static int take_one(struct variables *variables, const char **at,
		    struct text_buf *word, struct error *err)
{
	const char *value, *close;
	int r;

	if (!strncmp(*at, "$${", 3)) {
		text_add_bytes(word, "${", 2);
		*at += 3;
		return 0;
	}
	if (strncmp(*at, "${", 2) != 0) {
		text_add_bytes(word, *at, 1);
		(*at)++;
		return 0;
	}
	close = strchr(*at, '}');
	if (!close)
		return error_set(err, 0, "'${' without '}'");
	r = variables_get(variables, *at + 2, (size_t)(close - *at) - 2,
			  &value, err);
	if (r < 0)
		return r;
	text_add(word, value);
	*at = close + 1;
	return 0;
}

/* *@at is behind the opening quote; afterwards behind the closing one. */
static int take_quoted(struct variables *variables, const char **at,
		       struct text_buf *word, struct error *err)
{
	while (**at != '"') {
		int r;

		if (!**at)
			return error_set(err, 0, "the closing quote is "
					 "missing");
		if (**at != '\\') {
			r = take_one(variables, at, word, err);
			if (r < 0)
				return r;
			continue;
		}
		if ((*at)[1] != '"' && (*at)[1] != '\\')
			return error_set(err, 0, "within quotes a backslash "
					 "stands before '\"' or '\\' only");
		text_add_bytes(word, *at + 1, 1);
		*at += 2;
	}
	(*at)++;
	return 0;
}

static int take_plain(struct variables *variables, const char **at,
		      struct text_buf *word, struct error *err)
{
	while (**at && !is_blank(**at)) {
		int r;

		if (**at == '"')
			return error_set(err, 0, "a quote in the middle of a "
					 "word (quote the whole word)");
		r = take_one(variables, at, word, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int value_split(struct variables *variables, const char *text,
		struct value_words *ret_words, struct error *err)
{
	struct value_words words = { NULL };

	for (;;) {
		struct text_buf word = { .arena = variables->arena };
		int r;

		while (is_blank(*text))
			text++;
		if (!*text)
			break;
		/* So that an empty word is a string, too. */
		text_add(&word, "");
		if (*text == '"') {
			text++;
			r = take_quoted(variables, &text, &word, err);
			if (r >= 0 && *text && !is_blank(*text))
				r = error_set(err, 0, "there is text right "
					      "behind a closing quote");
		} else {
			r = take_plain(variables, &text, &word, err);
		}
		if (r < 0)
			return r;
		*arena_push(variables->arena, &words) = word.at;
	}
	*ret_words = words;
	return 0;
}

int value_text(struct variables *variables, const char *text,
	       const char **ret_text, struct error *err)
{
	struct text_buf whole = { .arena = variables->arena };
	int r = 0;

	text_add(&whole, "");
	if (*text == '"') {
		text++;
		r = take_quoted(variables, &text, &whole, err);
		while (r >= 0 && is_blank(*text))
			text++;
		if (r >= 0 && *text)
			r = error_set(err, 0, "there is text behind the "
				      "closing quote");
	}
	while (r >= 0 && *text)
		r = take_one(variables, &text, &whole, err);
	if (r < 0)
		return r;
	*ret_text = whole.at;
	return 0;
}
