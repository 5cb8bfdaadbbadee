/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One row a spelling of an operation: bubblewrap's option names (with "--" in
 * front on the command line, without in a profile's [mounts]), the words they
 * take and what may modify them.
 */
#ifndef PLAN_OP_TYPES_H
#define PLAN_OP_TYPES_H

#include "plan/plan.h"

enum op_word {
	WORD_NONE,
	WORD_SOURCE, WORD_DEST, WORD_FD, WORD_MODE, WORD_TARGET, WORD_UPPER,
	WORD_WORK,
	WORD_COUNT
};

enum { OP_WORDS_MOST = 3 };

enum op_allows {
	ALLOWS_PERMS = 1 << 0,   /* --perms before it */
	ALLOWS_SIZE = 1 << 1,    /* --size before it */
	TAKES_LAYERS = 1 << 2,   /* --overlay-src before it, at least one */
	TAKES_TWO_LAYERS = 1 << 3, /* ... at least two */
};

struct op_type {
	const char *name;        /* "ro-bind" */
	enum op_kind kind;
	unsigned flags;          /* enum op_flags that the spelling implies */
	enum op_word words[OP_WORDS_MOST];
	unsigned allows;         /* enum op_allows */
};

extern const struct op_type op_types[];
extern const size_t op_types_count;

/* The row named @name, or NULL. */
const struct op_type *op_type_find(const char *name);
/* The row that spells @op, or NULL when bubblewrap has no word for it. */
const struct op_type *op_type_of(const struct op *op);
/* Number of words the row takes. */
size_t op_type_arity(const struct op_type *type);
/* A word for people: "bind", "overlay", "hide". */
const char *op_kind_name(enum op_kind kind);
/* Does such an operation decide what is seen at its place and below? */
bool op_kind_covers(enum op_kind kind);
/* Is the place of @op "/" by its name?  (A link may lead there, too.) */
bool op_is_on_root(const struct op *op);

#endif
