/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * [environment] and [setenv].  The plan's steps act in order; a profile says
 * whether to start from nothing, then what to keep, then what to set.  Steps
 * are folded into that where the outcome is the same.
 */
#include "print/ini_writer.h"

#include "print/names.h"

#include <string.h>

struct folded {
	const struct env_step *clear;               /* the last one, or NULL */
	LIST_OF(const struct env_step *) keeps, sets;
};

static bool drop_set(struct folded *folded, const char *name)
{
	size_t left = 0;
	bool found = false;

	for (size_t i = 0; i < folded->sets.count; i++) {
		if (!strcmp(folded->sets.at[i]->name, name))
			found = true;
		else
			folded->sets.at[left++] = folded->sets.at[i];
	}
	folded->sets.count = left;
	return found;
}

static bool is_kept(const struct folded *folded, const char *name)
{
	if (!folded->clear)
		return true;
	for (size_t i = 0; i < folded->keeps.count; i++)
		if (text_matches(folded->keeps.at[i]->name, name))
			return true;
	return false;
}

/* Keeping what was set before gives the caller's value back. */
static bool is_undone(const struct folded *folded, const struct env_step *keep)
{
	for (size_t i = 0; i < folded->sets.count; i++)
		if (text_matches(keep->name, folded->sets.at[i]->name))
			return true;
	return false;
}

static void fold(struct ini_writer *ini, struct folded *folded,
		 const struct env_step *step)
{
	struct arena *arena = ini->out->arena;

	switch (step->kind) {
	case ENV_CLEAR:
		folded->clear = step;
		folded->keeps.count = folded->sets.count = 0;
		break;
	case ENV_KEEP:
		if (is_undone(folded, step))
			ini_refuse(ini, step->origin,
				   "keeping what was set before");
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): of pointers */
		*arena_push(arena, &folded->keeps) = step;
		break;
	case ENV_SET:
		drop_set(folded, step->name);
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): of pointers */
		*arena_push(arena, &folded->sets) = step;
		break;
	case ENV_UNSET:
		drop_set(folded, step->name);
		if (is_kept(folded, step->name))
			ini_refuse(ini, step->origin,
				   arena_printf(arena, "unsetting '%s'",
						step->name));
		break;
	}
}

void ini_environment(struct ini_writer *ini, const struct plan *plan)
{
	struct folded folded = { NULL };

	for (size_t i = 0; i < plan->environment.count; i++)
		fold(ini, &folded, &plan->environment.at[i]);
	if (!folded.clear)
		ini_line(ini, "environment", "clear", "no",
			 (struct origin){ .kind = ORIGIN_BUILTIN });
	else if (folded.clear->origin.kind != ORIGIN_BUILTIN)
		ini_line(ini, "environment", "clear", "yes",
			 folded.clear->origin);
	for (size_t i = 0; i < folded.keeps.count; i++)
		ini_line(ini, "environment", "keep", folded.keeps.at[i]->name,
			 folded.keeps.at[i]->origin);
	for (size_t i = 0; i < folded.sets.count; i++) {
		const struct env_step *step = folded.sets.at[i];

		/* Defaults come back by themselves. */
		if (step->origin.kind == ORIGIN_BUILTIN)
			continue;
		ini_begin(ini, "setenv", step->name, step->origin);
		ini_text(ini, step->value);
		ini_end(ini);
	}
}
