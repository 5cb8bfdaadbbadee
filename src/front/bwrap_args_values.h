/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bubblewrap's numbers.  They are read as its callers know it: leading blanks
 * and a plus sign pass, values beyond an int wrap around.  Each function
 * fills @err with bubblewrap's text for a word that is none.
 */
#ifndef FRONT_BWRAP_ARGS_VALUES_H
#define FRONT_BWRAP_ARGS_VALUES_H

#include "base/error.h"

#include <stdint.h>

int bwrap_parse_fd(const char *word, int *ret_fd, struct error *err);
/* @what is "uid" or "gid". */
int bwrap_parse_id(const char *what, const char *word, uint32_t *ret_id,
		   struct error *err);
/* Octal, at most 07777; @option is named in the error. */
int bwrap_parse_mode(const char *option, const char *word, unsigned *ret_mode,
		     struct error *err);
/* Bytes, in C's notation for decimal, octal or hexadecimal numbers. */
int bwrap_parse_size(const char *word, uint64_t *ret_bytes,
		     struct error *err);
/* "Invalid words" all have the same kind: fills @err, returns -EINVAL. */
int bwrap_usage_error(struct error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
