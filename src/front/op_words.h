/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Words -> operation, for the options of bubblewrap's language and for the
 * keys of a profile's [mounts] alike: one walk over the row's list of words.
 */
#ifndef FRONT_OP_WORDS_H
#define FRONT_OP_WORDS_H

#include "plan/op_types.h"

/* What --perms, --size and --overlay-src said for the next operation. */
struct op_pending {
	bool has_perms, has_size;
	unsigned perms;
	uint64_t size;
	LIST_OF(const char *) layers; /* bottom first */
};

/* How a language writes numbers; each fills @err. */
struct op_numbers {
	int (*parse_fd)(const char *word, int *ret_fd, struct error *err);
	int (*parse_mode)(const char *word, unsigned *ret_mode,
			  struct error *err);
};

/*
 * Add the operation that @type and its @words ask for to PHASE_MOUNTS; takes
 * out of @pending what the row allows (its caller refuses what is left).
 * Paths are stored as written.  Returns 0 with *@ret_op, or a negative errno
 * with @err filled.
 */
int op_words_add(struct plan *plan, const struct op_type *type,
		 const char *const *words, const struct op_numbers *numbers,
		 struct op_pending *pending, struct origin origin,
		 struct op **ret_op, struct error *err);

#endif
