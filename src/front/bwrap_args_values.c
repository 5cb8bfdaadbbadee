/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "front/bwrap_args_values.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int bwrap_usage_error(struct error *err, const char *format, ...)
{
	char text[sizeof(err->text)];
	va_list args;
	int r;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	r = error_set(err, 0, "%s", text);
	error_reason(err, "usage");
	return r;
}

/*
 * A decimal number, cut down to an int as the callers' numbers always were:
 * 4294967296 is 0.  Negative results and other words are refused.
 */
static int parse_wrapped(const char *what, const char *word, int *ret_value,
			 struct error *err)
{
	char *end;
	long long value = strtoll(word, &end, 10);

	if (end == word || *end || (int)value < 0)
		return bwrap_usage_error(err, "Invalid %s: %s", what, word);
	*ret_value = (int)value;
	return 0;
}

int bwrap_parse_fd(const char *word, int *ret_fd, struct error *err)
{
	return parse_wrapped("fd", word, ret_fd, err);
}

int bwrap_parse_id(const char *what, const char *word, uint32_t *ret_id,
		   struct error *err)
{
	int value = 0, r = parse_wrapped(what, word, &value, err);

	if (r < 0)
		return r;
	*ret_id = (uint32_t)value;
	return 0;
}

int bwrap_parse_mode(const char *option, const char *word, unsigned *ret_mode,
		     struct error *err)
{
	char *end;
	unsigned long long value = strtoull(word, &end, 8);

	if (end == word || *end || value > 07777)
		return bwrap_usage_error(err, "%s takes an octal argument "
					 "<= 07777", option);
	*ret_mode = (unsigned)value;
	return 0;
}

int bwrap_parse_size(const char *word, uint64_t *ret_bytes, struct error *err)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(word, &end, 0);
	if (!isdigit((unsigned char)*word) || errno || *end || !value)
		return bwrap_usage_error(err, "--size takes a non-zero number "
					 "of bytes");
	if (value > INT64_MAX)
		return bwrap_usage_error(err, "--size (for tmpfs) is limited "
					 "to %lld", (long long)INT64_MAX);
	*ret_bytes = value;
	return 0;
}
