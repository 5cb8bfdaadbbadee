/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a profile's files and --set say, before any of it is applied: a list
 * in which later settings take the place of earlier ones.
 */
#ifndef FRONT_SETTINGS_H
#define FRONT_SETTINGS_H

#include "front/keys.h"

struct setting {
	const struct key *key;
	const char *name, *text; /* the value as written */
	const char *directory;   /* of its file */
	struct origin origin;
	const char *option;      /* --set or a shorthand: how it was spelt */
	size_t file;             /* number of the file, from 1; 0: none */
	bool is_literal;         /* @text is one word */
	bool is_replaced;        /* a later one counts */
};

struct settings_slot;

struct settings {
	struct arena *arena;
	LIST_OF(struct setting) list;
	struct settings_slot *slots;
	size_t slots_used, slots_count;
};

/*
 * Add @setting.  One whose key does not repeat takes the place of an earlier
 * one; if both stand in the same file that is an error.  Returns 0, or a
 * negative errno with @err filled.
 */
int settings_add(struct settings *settings, const struct setting *setting,
		 struct error *err);

/* Drop what files say of @key (a row that repeats) under @name. */
void settings_drop_files(struct settings *settings, const struct key *key,
			 const char *name);

#endif
