/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Three passes: read every file into one list of settings, included files
 * before the file that includes them; let --set replace settings in it; apply
 * what is left through the rows of keys.c.
 *
 * Within a file a key that does not repeat stands once.  A file's key takes
 * the place of the same key of the files it includes.
 */
#include "front/profile.h"

#include "front/ini.h"
#include "front/profile_file.h"
#include "front/settings.h"

#include <limits.h>
#include <string.h>

struct loading {
	struct plan *plan;
	struct arena *arena;
	struct settings settings;
	size_t files_count;            /* read so far */
	const char *directory;         /* of the first of them */
};

/* A file being read, below the one that includes it. */
struct file {
	struct loading *loading;
	const struct file *includer;
	struct profile_text text;
	size_t number;
	LIST_OF(struct setting) settings;
};

/* ---- files ------------------------------------------------------------------------- */

static int at_line(const struct file *file, unsigned line, struct error *err)
{
	return error_wrap(err, "%s:%u", file->text.path, line);
}

static int take_section(void *user, unsigned line, const char *section,
			struct error *err)
{
	if (keys_check_section(section, err) < 0)
		return at_line(user, line, err);
	return 0;
}

static int take_key(void *user, unsigned line, const char *section,
		    const char *name, const char *value, struct error *err)
{
	struct file *file = user;
	struct arena *arena = file->loading->arena;
	struct setting setting = {
		.directory = file->text.directory,
		.file = file->number,
		.origin = { ORIGIN_FILE, line, file->text.path },
	};
	int r = keys_find(section, name, &setting.key, err);

	if (r < 0)
		return at_line(file, line, err);
	setting.name = setting.key->flags & KEY_ANY_NAME
		? arena_strdup(arena, name) : setting.key->name;
	setting.text = arena_strdup(arena, value);
	*arena_push(arena, &file->settings) = setting;
	return 0;
}

static bool is_same_file(const struct file_id *a, const struct file_id *b)
{
	return a->device == b->device && a->inode == b->inode;
}

static int check_cycle(const struct file *file, struct error *err)
{
	enum { DEPTH_MOST = 32 };
	unsigned depth = 0;

	for (const struct file *above = file->includer; above;
	     above = above->includer) {
		if (is_same_file(&above->text.chain.at[0],
				 &file->text.chain.at[0]))
			return error_set(err, 0, "'%s' includes itself",
					 file->text.path);
		if (++depth > DEPTH_MOST)
			return error_set(err, 0, "more than %d profiles "
					 "include each other", DEPTH_MOST);
	}
	return 0;
}

static int read_file(struct loading *loading, const char *path,
		     const struct file *includer, struct error *err);

static int read_include(struct file *file, const struct setting *include,
			struct error *err)
{
	struct variables variables = {
		.arena = file->loading->arena,
		.profile_dir = file->text.directory,
	};
	struct value_words words;
	int r = value_split(&variables, include->text, &words, err);

	if (r >= 0 && words.count != 1)
		r = error_set(err, 0, "'include' takes one word: PATH (quote "
			      "words with blanks)");
	if (r >= 0 && !*words.at[0])
		r = error_set(err, 0, "the path is empty");
	if (r >= 0)
		r = read_file(file->loading,
			      path_join(file->loading->arena,
					file->text.directory, words.at[0]),
			      file, err);
	if (r < 0)
		error_wrap(err, "%s: include",
			   origin_text(file->loading->arena,
				       &include->origin));
	return r;
}

static void note_profile(struct plan *plan, const struct profile_text *text)
{
	struct profile_file *profile = arena_push(plan->arena,
						  &plan->profiles);

	profile->path = text->path;
	profile->chain.at = text->chain.at;
	profile->chain.count = text->chain.count;
	profile->chain.cap = text->chain.cap;
}

/* Take what @file's text says, behind what it includes. */
static int read_settings(struct file *file, struct error *err)
{
	const struct ini_handlers handlers = { take_section, take_key, file };
	struct loading *loading = file->loading;
	int r;

	file->number = ++loading->files_count;
	note_profile(loading->plan, &file->text);
	r = ini_text_read(file->text.path, file->text.text, file->text.size,
			  &handlers, err);
	for (size_t i = 0; r >= 0 && i < file->settings.count; i++)
		if (file->settings.at[i].key->flags & KEY_IN_FILE)
			r = read_include(file, &file->settings.at[i], err);
	for (size_t i = 0; r >= 0 && i < file->settings.count; i++)
		r = settings_add(&loading->settings, &file->settings.at[i],
				 err);
	return r;
}

/* What two files include is read once. */
static bool is_read_already(const struct loading *loading,
			    const struct file *file)
{
	const struct plan *plan = loading->plan;

	for (size_t i = 0; i < plan->profiles.count; i++)
		if (is_same_file(&plan->profiles.at[i].chain.at[0],
				 &file->text.chain.at[0]))
			return true;
	return false;
}

static int read_file(struct loading *loading, const char *path,
		     const struct file *includer, struct error *err)
{
	struct file file = { .loading = loading, .includer = includer };
	int r = profile_file_read(loading->arena, path, &file.text, err);

	if (r >= 0)
		r = check_cycle(&file, err);
	if (r < 0)
		return r;
	if (is_read_already(loading, &file))
		return 0;
	if (!includer)
		loading->directory = file.text.directory;
	return read_settings(&file, err);
}

/* ---- --set ------------------------------------------------------------------------- */

/* As the caller wrote it, without a value, which may be a secret. */
static const char *name_set(struct arena *arena, const struct profile_set *set)
{
	if (!strcmp(set->option, "--set"))
		return arena_printf(arena, "%s.%s", set->section, set->name);
	if (!strcmp(set->section, "setenv"))
		return arena_printf(arena, "%s %s", set->option, set->name);
	return set->option;
}

static int add_set(struct loading *loading, const struct profile_set *set,
		   struct error *err)
{
	struct setting setting = {
		.text = set->text,
		.directory = loading->directory,
		.origin = {
			ORIGIN_SET, set->argument,
			name_set(loading->arena, set),
		},
		.option = set->option,
		.is_literal = set->is_literal,
	};
	int r = keys_find(set->section, set->name, &setting.key, err);

	if (r < 0)
		return error_wrap(err, "%s", set->option);
	setting.name = set->name;
	if (setting.key->flags & KEY_IN_FILE)
		return error_set(err, 0, "%s: only a file can hold '%s'",
				 set->option, set->name);
	if (loading->plan->rules != PLAN_RULES_PROFILE &&
	    !(setting.key->flags & KEY_BARE)) {
		error_set(err, 0, "%s needs a profile", set->option);
		error_remedy(err, "name one with --profile");
		return error_result(err);
	}
	if (setting.key->flags & KEY_REPEATS)
		settings_drop_files(&loading->settings, setting.key,
				    setting.name);
	return settings_add(&loading->settings, &setting, err);
}

/* ---- applying ---------------------------------------------------------------------- */

static int split_value(struct key_target *target,
		       const struct setting *setting,
		       struct value_words *ret_words, struct error *err)
{
	struct value_words words = { NULL };
	const char *text = setting->text;
	int r;

	if (!setting->is_literal && !(setting->key->flags & KEY_TEXT))
		return value_split(target->variables, text, ret_words, err);
	if (!setting->is_literal) {
		r = value_text(target->variables, text, &text, err);
		if (r < 0)
			return r;
	}
	*arena_push(target->plan->arena, &words) = text;
	*ret_words = words;
	return 0;
}

static int check_count(const struct key *key, size_t count,
		       struct error *err)
{
	if (count < key->least)
		return error_set(err, 0, "the value is missing (%s)",
				 key->operands);
	if (count > key->most)
		return error_set(err, 0, "%zu words where it takes %s (quote "
				 "words with blanks)", count, key->operands);
	return 0;
}

static int apply_setting(struct key_target *target,
			 const struct setting *setting, struct error *err)
{
	const struct key *key = setting->key;
	struct value_words words;
	int r;

	target->variables->profile_dir = setting->directory;
	r = split_value(target, setting, &words, err);
	if (r >= 0)
		r = check_count(key, words.count, err);
	if (r >= 0) {
		struct key_value value = {
			.name = setting->name,
			.words = words.at,
			.count = words.count,
			.origin = setting->origin,
		};

		r = key->apply(target, key, &value, err);
	}
	if (r >= 0)
		return 0;
	if (setting->option)
		error_wrap(err, "%s", origin_text(target->plan->arena,
						  &setting->origin));
	else
		error_wrap(err, "%s: %s",
			   origin_text(target->plan->arena, &setting->origin),
			   setting->name);
	return error_result(err);
}

enum pass { PASS_FIRST, PASS_REPORT, PASS_REST, PASS_COUNT };

static enum pass pass_of(const struct key *key)
{
	if (key->flags & KEY_FIRST)
		return PASS_FIRST;
	return key->flags & KEY_REPORT ? PASS_REPORT : PASS_REST;
}

/* The first error counts; @r is what there was until now. */
static int first_of(int r, int result)
{
	return r < 0 ? r : result;
}

/* Of where records go all is applied, since the others tell what failed. */
static int apply_pass(struct key_target *target,
		      const struct loading *loading, enum pass pass,
		      struct error *err)
{
	struct error further;
	int r = 0;

	for (size_t i = 0; i < loading->settings.list.count; i++) {
		const struct setting *setting = &loading->settings.list.at[i];

		if (setting->is_replaced || pass_of(setting->key) != pass)
			continue;
		r = first_of(r, apply_setting(target, setting,
					      r < 0 ? &further : err));
		if (r < 0 && pass != PASS_REPORT)
			return r;
	}
	return r;
}

/* @r is how reading went: if it failed, with where records go it is done. */
static int apply_all(struct loading *loading, int r, struct error *err)
{
	struct variables variables = { .arena = loading->arena };
	struct key_target target = {
		.plan = loading->plan,
		.variables = &variables,
	};
	struct error further;

	for (enum pass pass = PASS_FIRST; pass < PASS_COUNT; pass++) {
		if (r < 0 && pass > PASS_REPORT)
			return r;
		r = first_of(r, apply_pass(&target, loading, pass,
					   r < 0 ? &further : err));
	}
	return r < 0 ? r : keys_finish(&target, err);
}

/* All that can be added, since one of them may say where records go. */
static int add_sets(struct loading *loading, const struct profile_set *sets,
		    size_t count, struct error *err)
{
	struct error further;
	int r = 0;

	for (size_t i = 0; i < count; i++)
		r = first_of(r, add_set(loading, &sets[i],
					r < 0 ? &further : err));
	return r;
}

/* The word for programs, unless there is a better one. */
static int with_reason(int r, struct error *err)
{
	if (r < 0 && !*err->reason)
		error_reason(err, "profile");
	return r;
}

static struct loading load_into(struct plan *plan)
{
	return (struct loading){
		.plan = plan,
		.arena = plan->arena,
		.settings.arena = plan->arena,
		.directory = ".",
	};
}

int profile_apply(struct plan *plan, const char *name,
		  const struct profile_set *sets, size_t count,
		  struct error *err)
{
	struct loading loading = load_into(plan);
	const char *path;
	int r = 0;

	if (name)
		r = profile_file_find(plan->arena, name, &path, err);
	if (r >= 0 && name)
		r = read_file(&loading, path, NULL, err);
	if (r >= 0)
		r = apply_all(&loading, add_sets(&loading, sets, count, err),
			      err);
	return with_reason(r, err);
}

int profile_apply_text(struct plan *plan, const struct profile_text *text,
		       const struct profile_set *sets, size_t count,
		       struct error *err)
{
	struct loading loading = load_into(plan);
	struct file file = { .loading = &loading, .text = *text };
	int r;

	/* An id that no file has: it stands for the text in the chain. */
	if (!file.text.chain.count)
		arena_push(plan->arena, &file.text.chain);
	loading.directory = text->directory;
	r = read_settings(&file, err);
	if (r >= 0)
		r = apply_all(&loading, add_sets(&loading, sets, count, err),
			      err);
	return with_reason(r, err);
}

int profile_apply_reports(struct plan *plan, const struct profile_set *sets,
			  size_t count, struct error *err)
{
	struct loading loading = load_into(plan);
	struct variables variables = { .arena = plan->arena };
	struct key_target target = { .plan = plan, .variables = &variables };

	struct error further;
	int r = 0;

	for (size_t i = 0; i < count; i++)
		if (!strcmp(sets[i].section, "report"))
			r = first_of(r, add_set(&loading, &sets[i],
						r < 0 ? &further : err));
	r = first_of(r, apply_pass(&target, &loading, PASS_REPORT,
				   r < 0 ? &further : err));
	return with_reason(r, err);
}
