/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "corpus.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/arena.h"
#include "harness/identity.h"
#include "harness/scratch.h"

const char *const aspect_names[] = {
	[ASPECT_EXIT] = "exit", [ASPECT_OUT] = "out", [ASPECT_ERR] = "err",
	[ASPECT_TREE] = "tree", [ASPECT_FD] = "fd",
};

struct corpus {
	struct compat_case *cases;
	size_t count, size;
	const char *file;
	unsigned int line;
};

static void *grow(void *old, size_t count, size_t *size, size_t element)
{
	void *wider;

	if (count < *size)
		return old;
	*size = *size ? *size * 2 : 16;
	wider = arena_take(*size * element);
	if (count)
		memcpy(wider, old, count * element);
	return wider;
}

static _Noreturn void fault(const struct corpus *corpus, const char *what,
			    const char *word)
{
	harness_fail("%s:%u: %s '%s'", corpus->file, corpus->line, what, word);
}

static void add_word(struct words *words, const char *word)
{
	/* Room for sixteen more each time; there is a NULL behind the last. */
	if (words->count % 16 == 0) {
		const char **wider =
			arena_take((words->count + 17) * sizeof(*wider));

		if (words->count)
			memcpy(wider, words->at,
			       words->count * sizeof(*wider));
		words->at = wider;
	}
	words->at[words->count++] = word;
	words->at[words->count] = NULL;
}

static char unescape(const struct corpus *corpus, char c)
{
	static const char from[] = "nt0e\"\\", to[] = "\n\t\0\033\"\\";
	const char *at = strchr(from, c);

	if (!c || !at)
		fault(corpus, "unknown escape", (char[]){ c, '\0' });
	return to[at - from];
}

/*
 * Take one word; NUL bytes in it are written as \0 and only good for the
 * content of descriptors, where @ret_length tells its length.
 */
static char *take_word(const struct corpus *corpus, const char **at)
{
	char *word = arena_take(strlen(*at) + 1), *end = word;

	while (**at && **at != ' ') {
		if (**at != '"' && **at != '\'') {
			*end++ = *(*at)++;
			continue;
		}
		for (char quote = *(*at)++; **at != quote; (*at)++) {
			if (!**at)
				fault(corpus, "no end of quotes in", word);
			if (quote == '"' && **at == '\\')
				*end++ = unescape(corpus, *++*at);
			else
				*end++ = **at;
		}
		(*at)++;
	}
	*at += strspn(*at, " ");
	return word;
}

static void take_words(const struct corpus *corpus, const char *text,
		       struct words *words)
{
	while (*text)
		add_word(words, take_word(corpus, &text));
}

static void take_fd(const struct corpus *corpus, struct compat_case *into,
		    const char *text)
{
	struct case_fd *fds = arena_take((into->fds_count + 1) * sizeof(*fds));
	struct case_fd *fd = &fds[into->fds_count];

	if (into->fds_count)
		memcpy(fds, into->fds, into->fds_count * sizeof(*fds));
	fd->number = atoi(take_word(corpus, &text));
	fd->kind = take_word(corpus, &text);
	take_words(corpus, text, &fd->values);
	into->fds = fds;
	into->fds_count++;
}

static void take_differs(const struct corpus *corpus, struct compat_case *into,
			 const char *text)
{
	const char *name = take_word(corpus, &text);

	for (size_t i = 0; i < ASPECT_COUNT; i++) {
		if (strcmp(aspect_names[i], name) != 0)
			continue;
		if (!*text)
			fault(corpus, "no reason for a different", name);
		into->differs[i] = text;
		return;
	}
	fault(corpus, "no such aspect:", name);
}

static void take_identity(const struct corpus *corpus,
			  struct compat_case *into, const char *text)
{
	if (strcmp(text, "root") && strcmp(text, "user"))
		fault(corpus, "no such identity:", text);
	into->as = text;
}

static bool take_text(const struct corpus *corpus, struct compat_case *into,
		      const char *key, const char *text)
{
	const struct {
		const char *key;
		struct words *words;
	} lists[] = {
		{ "out", &into->out }, { "err", &into->err },
		{ "out-has", &into->out_has }, { "err-has", &into->err_has },
		{ "fd-has", &into->fd_has }, { "setup", &into->setup },
	};

	(void)corpus;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (strcmp(lists[i].key, key) != 0)
			continue;
		add_word(lists[i].words, text);
		return true;
	}
	return false;
}

static void take_key(const struct corpus *corpus, struct compat_case *into,
		     const char *key, const char *text)
{
	if (take_text(corpus, into, key, text))
		return;
	if (!strcmp(key, "run"))
		take_words(corpus, text, &into->run);
	else if (!strcmp(key, "env"))
		take_words(corpus, text, &into->env);
	else if (!strcmp(key, "as"))
		take_identity(corpus, into, text);
	else if (!strcmp(key, "cwd"))
		into->cwd = text;
	else if (!strcmp(key, "input"))
		into->input = take_word(corpus, &text);
	else if (!strcmp(key, "fd"))
		take_fd(corpus, into, text);
	else if (!strcmp(key, "differs"))
		take_differs(corpus, into, text);
	else if (!strcmp(key, "tty"))
		into->has_tty = true;
	else if (!strcmp(key, "new"))
		into->is_new = true;
	else if (!strcmp(key, "exit"))
		into->has_exit = true, into->exit = atoi(text);
	else
		fault(corpus, "unknown key", key);
}

static struct compat_case *begin_case(struct corpus *corpus, const char *name)
{
	struct compat_case *new_case;

	for (size_t i = 0; i < corpus->count; i++)
		if (!strcmp(corpus->cases[i].name, name))
			fault(corpus, "a second case named", name);
	corpus->cases = grow(corpus->cases, corpus->count, &corpus->size,
			     sizeof(*corpus->cases));
	new_case = &corpus->cases[corpus->count++];
	memset(new_case, 0, sizeof(*new_case));
	new_case->file = corpus->file;
	new_case->line = corpus->line;
	new_case->name = name;
	return new_case;
}

static void take_line(struct corpus *corpus, const char *line)
{
	const char *text = line + strspn(line, " ");
	const char *key = text;
	size_t length = strcspn(key, " ");

	if (!*text || *text == '#')
		return;
	key = arena_format("%.*s", (int)length, key);
	text += length + strspn(text + length, " ");
	if (!strcmp(key, "case")) {
		begin_case(corpus, text);
		return;
	}
	if (!corpus->count)
		fault(corpus, "no case before", key);
	take_key(corpus, &corpus->cases[corpus->count - 1], key, text);
}

static void read_file(struct corpus *corpus, const char *path)
{
	const char *text = file_read(path, NULL);

	corpus->file = path;
	corpus->line = 0;
	while (*text) {
		size_t length = strcspn(text, "\n");

		corpus->line++;
		take_line(corpus, arena_format("%.*s", (int)length, text));
		text += length + (text[length] == '\n');
	}
}

static int is_cases(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && !strcmp(dot, ".cases");
}

const struct compat_case *corpus_read(const char *directory,
				      size_t *ret_count)
{
	struct corpus corpus = { NULL };
	struct dirent **entries;
	int count = scandir(directory, &entries, is_cases, alphasort);

	if (count <= 0)
		harness_fail("no cases in '%s'", directory);
	for (int i = 0; i < count; i++)
		read_file(&corpus, path_in(directory, entries[i]->d_name));
	*ret_count = corpus.count;
	return corpus.cases;
}
