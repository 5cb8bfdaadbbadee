/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "front/settings.h"

#include <string.h>

/*
 * Where a name that stands once was seen last; open addressing, since
 * [setenv] may hold as many names as a file has lines.
 */
struct settings_slot {
	const struct key *key;
	const char *name;
	size_t setting;          /* index + 1; 0: the slot is free */
};

static struct settings_slot *slot_in(struct settings_slot *slots,
				     size_t count, const struct key *key,
				     const char *name)
{
	/* FNV-1a. */
	uint64_t hash = 14695981039346656037ULL ^ (uint64_t)(key - keys);

	for (const char *at = name; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 1099511628211ULL;
	for (;; hash++) {
		struct settings_slot *slot = &slots[hash & (count - 1)];

		if (!slot->setting ||
		    (slot->key == key && !strcmp(slot->name, name)))
			return slot;
	}
}

static void grow(struct settings *settings)
{
	size_t count = settings->slots_count ? settings->slots_count * 2 : 64;
	struct settings_slot *slots =
		arena_alloc(settings->arena, count * sizeof(*slots));

	for (size_t i = 0; i < settings->slots_count; i++) {
		const struct settings_slot *slot = &settings->slots[i];

		if (slot->setting)
			*slot_in(slots, count, slot->key, slot->name) = *slot;
	}
	settings->slots = slots;
	settings->slots_count = count;
}

static int doubled(const struct settings *settings,
		   const struct setting *again, const struct setting *first,
		   struct error *err)
{
	return error_set(err, 0, "%s: '%s' in [%s] was given before, in line "
			 "%u", origin_text(settings->arena, &again->origin),
			 again->name, again->key->section,
			 first->origin.number);
}

int settings_add(struct settings *settings, const struct setting *setting,
		 struct error *err)
{
	struct settings_slot *slot;
	struct setting *earlier;

	if (setting->key->flags & KEY_REPEATS) {
		*arena_push(settings->arena, &settings->list) = *setting;
		return 0;
	}
	if (settings->slots_used * 2 >= settings->slots_count)
		grow(settings);
	slot = slot_in(settings->slots, settings->slots_count, setting->key,
		       setting->name);
	if (slot->setting) {
		earlier = &settings->list.at[slot->setting - 1];
		if (earlier->file && earlier->file == setting->file)
			return doubled(settings, setting, earlier, err);
		earlier->is_replaced = true;
	} else {
		settings->slots_used++;
	}
	*arena_push(settings->arena, &settings->list) = *setting;
	slot->key = setting->key;
	slot->name = setting->name;
	slot->setting = settings->list.count;
	return 0;
}

void settings_drop_files(struct settings *settings, const struct key *key,
			 const char *name)
{
	for (size_t i = 0; i < settings->list.count; i++) {
		struct setting *setting = &settings->list.at[i];

		if (setting->origin.kind == ORIGIN_FILE &&
		    setting->key == key && !strcmp(setting->name, name))
			setting->is_replaced = true;
	}
}
