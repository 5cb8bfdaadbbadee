/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "front/options.h"

#include "base/text.h"

#include <assert.h>
#include <string.h>

void options_warn(struct parse *parse, const char *format, ...)
{
	struct parse_warning *warning =
		arena_push(parse->arena, &parse->warnings);
	va_list args;

	va_start(args, format);
	warning->text = arena_vprintf(parse->arena, format, args);
	va_end(args);
	warning->has_level = parse->plan && parse->plan->bwrap.level_prefix;
}

static bool is_spelt(const struct option *option, const char *word,
		     size_t name_length)
{
	if (!strcmp(option->name, word))
		return true;
	return word[name_length] && option->flags & OPTION_NATIVE &&
	       (option->values == 1 ||
		option->flags & OPTION_MAY_HAVE_VALUE) &&
	       strlen(option->name) == name_length &&
	       !memcmp(option->name, word, name_length);
}

static const struct option *find_row(const struct parse *parse,
				     const char *name, unsigned languages)
{
	size_t name_length = strcspn(name, "=");

	for (size_t t = 0; t < parse->tables_count; t++) {
		const struct option_table *table = &parse->tables[t];

		for (size_t i = 0; i < table->count; i++)
			if (table->rows[i].flags & languages &&
			    is_spelt(&table->rows[i], name, name_length))
				return &table->rows[i];
	}
	return NULL;
}

const struct option *options_find(const struct parse *parse, const char *name)
{
	const struct option *option;

	/* Both languages have --help; the one being read means its own. */
	option = find_row(parse, name, parse->accepts & parse->handles);
	return option ? option : find_row(parse, name, parse->accepts);
}

/* The dashes are right in any case: they would count as half of a word. */
static const char *without_dashes(const char *word)
{
	return word + strspn(word, "-");
}

static int unknown_option(const struct parse *parse, const char *word,
			  struct error *err)
{
	const char **names = NULL;
	const char *nearest;
	size_t count = 0;
	int r;

	for (size_t t = 0; t < parse->tables_count; t++)
		count += parse->tables[t].count;
	names = arena_alloc(parse->arena, count * sizeof(*names));
	count = 0;
	for (size_t t = 0; t < parse->tables_count; t++)
		for (size_t i = 0; i < parse->tables[t].count; i++)
			if (parse->tables[t].rows[i].flags & parse->accepts)
				names[count++] = without_dashes(
					parse->tables[t].rows[i].name);
	r = error_set(err, 0, "Unknown option %s", word);
	error_reason(err, "usage");
	nearest = text_nearest(without_dashes(word), names, count);
	if (nearest)
		error_remedy(err, "did you mean '--%s'? (this is sbx-launch %s)",
			     nearest, SBX_VERSION);
	return r;
}

static int too_few_words(const struct option *option, struct error *err)
{
	static const char *const amounts[] = {
		"no argument", "an argument", "two arguments",
		"three arguments",
	};
	int r;

	static_assert(ARRAY_SIZE(amounts) == OPTION_VALUES_MOST + 1,
		      "a word for each number");
	if (option->too_few)
		r = error_set(err, 0, "%s", option->too_few);
	else
		r = error_set(err, 0, "%s takes %s", option->name,
			      amounts[option->values]);
	error_reason(err, "usage");
	return r;
}

static struct origin origin_of(const struct option_words *words, size_t index)
{
	return (struct origin){
		.kind = words->origin,
		.number = (unsigned)index + 1,
		.name = words->name,
	};
}

static int call_handler(struct parse *parse, const struct option *option,
			const char *const *values, struct origin origin,
			struct error *err)
{
	int r = option->handle(parse, option, values, origin, err);

	/* What must follow what is a matter of the second reading. */
	if (!(parse->handles & OPTION_BWRAP))
		return r;
	for (size_t t = 0; r >= 0 && t < parse->tables_count; t++)
		if (parse->tables[t].after)
			r = parse->tables[t].after(parse, option, err);
	return r;
}

/* Take one option and its values from parse->words. */
static int parse_one(struct parse *parse, struct error *err)
{
	struct option_words *words = parse->words;
	struct origin origin = origin_of(words, words->next);
	const char *word = words->at[words->next++];
	const struct option *option = parse->last;
	const char *value;
	const char *const *values = &value;

	/* Long lines are long for one option that stands there often. */
	if (!option || strcmp(option->name, word) != 0)
		option = options_find(parse, word);
	if (!option) {
		/* Only the form with a "=" is known to have no more words. */
		if (!strchr(word, '='))
			words->next = words->count;
		return unknown_option(parse, word, err);
	}
	parse->last = option;
	value = strcmp(option->name, word)
		? word + strlen(option->name) + 1 : NULL;
	if (!value && !(option->flags & OPTION_MAY_HAVE_VALUE)) {
		if (words->count - words->next < option->values) {
			/* Those that are there are values all the same. */
			words->next = words->count;
			return too_few_words(option, err);
		}
		values = words->at + words->next;
		words->next += option->values;
	}
	if (!(option->flags & parse->handles)) {
		parse->skipped++;
		return 0;
	}
	return call_handler(parse, option, values, origin, err);
}

int options_parse(struct parse *parse, struct option_words *words,
		  struct error *err)
{
	struct option_words *outer = parse->words;
	int r = 0;

	parse->words = words;
	parse->last = NULL;
	while (words->next < words->count && parse->action == PARSE_RUN) {
		const char *word = words->at[words->next];

		if (*word != '-')
			break;
		if (!strcmp(word, "--")) {
			words->next++;
			break;
		}
		r = parse_one(parse, err);
		if (r < 0)
			break;
	}
	parse->words = outer;
	return r;
}
