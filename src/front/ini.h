/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * INI text, read exactly or refused.
 *
 * A line is blank, a comment (`;` or `#` first), `[section]`, or
 * `name = value`; blanks around each part do not count.  Nothing is cut,
 * joined to another line or taken for a comment inside a value.
 */
#ifndef FRONT_INI_H
#define FRONT_INI_H

#include "base/error.h"

#include <stddef.h>

enum {
	INI_SIZE_MOST = 16 << 20,   /* bytes of a file */
	INI_LINES_MOST = 100000,    /* lines of a file */
	/* No environment variable or argument can be longer (execve(2)). */
	INI_LINE_MOST = 128 << 10,  /* bytes of a line */
};

/*
 * Called for each section when it begins, and for each key; the strings live until it returns.  Returns 0, or a
 * negative errno with @err filled, which ends the reading.
 */
typedef int (*ini_section_fn)(void *user, unsigned line, const char *section,
			      struct error *err);
typedef int (*ini_key_fn)(void *user, unsigned line, const char *section,
			  const char *name, const char *value,
			  struct error *err);

struct ini_handlers {
	ini_section_fn on_section;
	ini_key_fn on_key;
	void *user;
};

/*
 * Read the @size bytes of @text.  @name is put before the line number in
 * errors of the text itself; those of @handlers are passed on as they are.
 * Returns 0, or a negative errno with @err filled.
 */
int ini_text_read(const char *name, const char *text, size_t size,
		  const struct ini_handlers *handlers, struct error *err);

#endif
