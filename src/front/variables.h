/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ${variables} of a profile, looked up when they are met. */
#ifndef FRONT_VARIABLES_H
#define FRONT_VARIABLES_H

#include "base/error.h"
#include "base/text.h"

struct variables {
	struct arena *arena;
	const char *profile_dir; /* of the file being read */
	const char *workspace;   /* where it is inside; NULL: not known */
	const char *cwd;         /* NULL: not looked up yet */
};

/*
 * The value of the variable named by the @length bytes at @name, which is
 * what stands between `${` and `}`.
 */
int variables_get(struct variables *variables, const char *name,
		  size_t length, const char **ret_value, struct error *err);

/* The caller's working directory, looked up once. */
int variables_cwd(struct variables *variables, const char **ret_cwd,
		  struct error *err);

/* The caller's home directory, says /etc/passwd; NULL: it does not. */
const char *variables_passwd_home(struct arena *arena);

/*
 * Split a value into words: blanks separate, "..." quotes (\" and \\ inside),
 * ${name} is replaced and never split, $${ is a plain ${.
 */
struct value_words {
	const char **at;
	size_t count, cap;
};
int value_split(struct variables *variables, const char *text,
		struct value_words *ret_words, struct error *err);
/* The whole value as one text; one that starts with `"` is one quoted word. */
int value_text(struct variables *variables, const char *text,
	       const char **ret_text, struct error *err);

#endif
