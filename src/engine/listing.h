/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The list of changes (`changes-file`), for programs. */
#ifndef ENGINE_LISTING_H
#define ENGINE_LISTING_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Write to @fd what the upper layer @upper changes in @lowers (@count, the
 * topmost first), a line a path, and no more than @most bytes.  Returns 0 or a
 * negative errno with @err filled, -EFBIG for a longer list; what is written
 * then is not all.
 */
int listing_write(int fd, uint64_t most, int upper, const int *lowers,
		  size_t count, struct error *err);

#endif
