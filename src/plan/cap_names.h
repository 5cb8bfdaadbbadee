/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel's capabilities by name (capabilities(7)).  A table of our own:
 * the layers that read and print plans link no library.
 */
#ifndef PLAN_CAP_NAMES_H
#define PLAN_CAP_NAMES_H

#include <stddef.h>

/* All capabilities, as struct cap_step has it. */
enum { CAP_ALL = -1 };

/* Lower case, with "cap_" in front, by number. */
extern const char *const cap_names[];
extern const size_t cap_names_count;

/*
 * The number that @text means: "ALL", a name with its "cap_", or a number in
 * C's notation below 64, the most the kernel's sets have room for.  As libcap
 * does, case counts for nothing, and neither does what follows a number or,
 * from a first character that is no letter and no "_" on, a name.  Returns 0,
 * or -EINVAL for anything else.
 */
int cap_from_text(const char *text, int *ret_cap);

#endif
