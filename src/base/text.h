/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text: numbers with units, quoting, growing strings, paths as text.
 *
 * The parsers take the whole string or nothing: no blanks, no sign, no
 * trailing characters, no overflow.  They return 0, or -EINVAL (not such a
 * number) or -ERANGE (too large).
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/mem.h"

#include <stdint.h>

int text_parse_u64(const char *text, uint64_t *ret_value);
/* Octal, at most 07777. */
int text_parse_mode(const char *text, unsigned *ret_mode);
/* Bytes, with an optional k, m, g or t (powers of 1024, either case). */
int text_parse_size(const char *text, uint64_t *ret_bytes);
/* Milliseconds; the unit (ms, s, m, h; no capitals) must be there unless it
 * is "0". */
int text_parse_duration(const char *text, uint64_t *ret_ms);
/* "yes" or "no". */
int text_parse_bool(const char *text, bool *ret_value);

/* The entry of @names (@count, NULLs skipped) nearest to @word, or NULL. */
const char *text_nearest(const char *word, const char *const *names,
			 size_t count);

bool text_has_prefix(const char *text, const char *prefix);
/* Is @text well-formed UTF-8 (no overlong form, no surrogate)? */
bool text_is_utf8(const char *text, size_t size);
/* Shell-like match where only a last `*` is special ("LC_*"). */
bool text_matches(const char *pattern, const char *name);

/* A string that grows in an arena; always NUL-terminated once used. */
struct text_buf {
	struct arena *arena;
	char *at;
	size_t count, cap;
};

void text_add(struct text_buf *buf, const char *text);
void text_add_bytes(struct text_buf *buf, const char *bytes, size_t size);
void text_addf(struct text_buf *buf, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * A JSON string with its quotes.  Bytes that are not UTF-8 are written as
 * U+DC80..U+DCFF escapes (the surrogateescape of Python), so that the
 * result is valid JSON for any bytes and loses none.
 */
void text_add_json(struct text_buf *buf, const char *text);
/* One word for sh(1), quoted only where it must be. */
void text_add_shell_word(struct text_buf *buf, const char *text);
/* One word of a profile value, quoted only where it must be. */
void text_add_ini_word(struct text_buf *buf, const char *text);

/*
 * @text fit for a terminal or log: control characters and bytes that are
 * not UTF-8 as \xNN.  Returns @text itself when nothing has to be changed.
 */
const char *text_printable(struct arena *arena, const char *text);

/* Paths as text; none of these looks at a file system. */

/* Absolute and without empty, "." and ".." components ("/" stays "/"). */
bool path_is_normal(const char *path);
/*
 * @path made absolute against "/", with doubled and trailing slashes and "."
 * removed, and ".." taken lexically (never above "/").
 */
char *path_normalise(struct arena *arena, const char *path);
/* @base/@name, or @name when it is absolute. */
char *path_join(struct arena *arena, const char *base, const char *name);
/* Is normal @path the same as or below normal @top? */
bool path_is_below(const char *path, const char *top);
/* Number of components of a normal path ("/" has none). */
size_t path_depth(const char *path);
/*
 * Does a mount on @place show @path, rather than an earlier one on @best (NULL:
 * none)?  For a walk over a mount table from its start.
 */
bool path_is_shown_by(const char *path, const char *place, const char *best);

#endif
