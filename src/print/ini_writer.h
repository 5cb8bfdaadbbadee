/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lines of a profile.  The first thing that cannot be written is kept as the
 * error, and what follows it does nothing, so that callers need not look
 * after each word.  Internal to print/.
 */
#ifndef PRINT_INI_WRITER_H
#define PRINT_INI_WRITER_H

#include "base/error.h"
#include "base/text.h"
#include "plan/plan.h"

struct ini_writer {
	struct text_buf *out;
	struct error *err;
	int result;            /* 0, or the negative errno of the error */
	const char *section;   /* being written; NULL before the first */
	const char *name;      /* of the key being written */
	struct origin origin;  /* of its value */
};

/* Begin "name =" in @section, which gets its heading when it is new. */
void ini_begin(struct ini_writer *ini, const char *section, const char *name,
	       struct origin origin);
/* One more word of the value, quoted where it must be. */
void ini_word(struct ini_writer *ini, const char *word);
void ini_wordf(struct ini_writer *ini, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The value as one text to the end of the line. */
void ini_text(struct ini_writer *ini, const char *text);
void ini_end(struct ini_writer *ini);

/* A whole line of one word; NULL: no line. */
void ini_line(struct ini_writer *ini, const char *section, const char *name,
	      const char *word, struct origin origin);
/* There is no way to say @what, which came from @origin. */
void ini_refuse(struct ini_writer *ini, struct origin origin,
		const char *what);

/* ini_ops.c: [root], [mask], [layers], [workspace], [mounts]. */
void ini_operations(struct ini_writer *ini, const struct plan *plan);
/* ini_env.c: [environment] and [setenv]. */
void ini_environment(struct ini_writer *ini, const struct plan *plan);

#endif
