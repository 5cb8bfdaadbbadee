/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Words of bubblewrap's language.  Internal to print/. */
#ifndef PRINT_BWRAP_OPS_H
#define PRINT_BWRAP_OPS_H

#include "print/print.h"

/* Begin an option (a modifier begins the line of its option). */
void print_bwrap_option(struct print_words *words, const char *name);
void print_bwrap_word(struct print_words *words, const char *word);
void print_bwrap_number(struct print_words *words, long long number);

/* Fill @err: @language cannot say @what, which came from @origin. */
int print_no_word(struct arena *arena, const struct origin *origin,
		  const char *what, const char *language, struct error *err);

/* The operations in order; an error names the one that has no words. */
int print_bwrap_ops(struct print_words *words, const struct plan *plan,
		    struct error *err);

#endif
