/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Command lines and profiles, read and printed in every way.
 *
 * A case is a directory with in.ini, in.argv or both, and what must come out:
 * plan.txt, plan.json, plan.argv, plan.ini.  in.argv is a line for sh(1)
 * without expansions; without it the profile is run with the command "true".
 * Where a printer or the reader refuses, the file holds "error: " and why.
 * SBX_GOLDEN_WRITE=1 writes the files instead of comparing; look at the
 * difference before it is committed.
 *
 * What was printed as a profile, or as a command line of bubblewrap's, is
 * read again and must give an equal plan.
 */
#include "front/front.h"
#include "golden/plan_equal.h"
#include "print/print.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_MOST = 1 << 20 };

struct golden {
	struct arena *arena;
	const char *name;
	const char *source;    /* the case's directory */
	const char *directory; /* where it is read */
};

static char *read_text(struct arena *arena, const char *path)
{
	char *text = arena_alloc(arena, FILE_MOST);
	FILE *file = fopen(path, "re");

	if (!file)
		return NULL;
	text[fread(text, 1, FILE_MOST - 1, file)] = '\0';
	fclose(file);
	return text;
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	cr_assert(file, "cannot write '%s'", path);
	fputs(text, file);
	fclose(file);
}

static const char *path_of(const struct golden *golden, const char *directory,
			   const char *name)
{
	return arena_printf(golden->arena, "%s/%s", directory, name);
}

/* ---- words of in.argv ----------------------------------------------------- */

struct words {
	const char **at;
	size_t count, cap;
};

static const char *take_word(struct arena *arena, const char *at,
			     struct text_buf *word)
{
	for (; *at && !strchr(" \n", *at); at++) {
		if (*at == '\\' && at[1]) {
			text_add_bytes(word, ++at, 1);
		} else if (*at == '\'') {
			size_t length = strcspn(++at, "'");

			text_add_bytes(word, at, length);
			at += length;
		} else {
			text_add_bytes(word, at, 1);
		}
	}
	return at;
}

static void split(struct arena *arena, const char *at, struct words *words)
{
	for (;;) {
		struct text_buf word = { .arena = arena };

		while (*at == ' ' || *at == '\n' || !strncmp(at, "\\\n", 2))
			at += *at == '\\' ? 2 : 1;
		if (*at == '#')
			at += strcspn(at, "\n");
		else if (!*at)
			return;
		if (*at == '\n')
			continue;
		text_add(&word, "");
		at = take_word(arena, at, &word);
		*arena_push(arena, words) = word.at;
	}
}

/* ---- reading ---------------------------------------------------------------- */

static struct plan *read_plan(const struct golden *golden,
			      const struct words *words, struct error *err)
{
	struct front *front = arena_alloc(golden->arena, sizeof(*front));
	bool is_bwrap = !strcmp(words->at[0], "bwrap");

	if (front_read(front, golden->arena, (int)words->count, words->at,
		       is_bwrap, err) < 0)
		return NULL;
	cr_assert_eq(front->parse.action, PARSE_RUN, "%s", golden->name);
	return front->parse.plan;
}

static void read_input(const struct golden *golden, struct words *words)
{
	const char *profile = read_text(golden->arena,
					path_of(golden, golden->source,
						"in.ini"));
	const char *line = read_text(golden->arena,
				     path_of(golden, golden->source,
					     "in.argv"));

	if (profile)
		write_text("in.ini", profile);
	split(golden->arena, line ? line :
	      "sbx-launch --profile ./in.ini -- /bin/true", words);
	cr_assert(words->count, "%s", golden->name);
}

/* ---- comparing --------------------------------------------------------------- */

/* The directory's name differs from run to run, its length does not. */
static const char *without_directory(const struct golden *golden,
				     const char *text)
{
	size_t length = strlen(golden->directory);
	struct text_buf buf = { .arena = golden->arena };
	const char *at;

	text_add(&buf, "");
	while ((at = strstr(text, golden->directory))) {
		text_add_bytes(&buf, text, (size_t)(at - text));
		text_add(&buf, "/tmp/golden.directory");
		text = at + length;
	}
	text_add(&buf, text);
	return buf.at;
}

static void compare(const struct golden *golden, const char *name,
		    const char *text)
{
	const char *path = path_of(golden, golden->source, name);
	const char *wanted;

	text = without_directory(golden, text);
	if (getenv("SBX_GOLDEN_WRITE")) {
		write_text(path, text);
		return;
	}
	wanted = read_text(golden->arena, path);
	cr_assert(wanted, "no '%s' (SBX_GOLDEN_WRITE=1 makes it)", path);
	cr_expect(!strcmp(wanted, text), "%s/%s: expected\n%s\nand got\n%s",
		  golden->name, name, wanted, text);
}

static const char *error_text(const struct golden *golden,
			      const struct error *err)
{
	struct text_buf buf = { .arena = golden->arena };

	text_addf(&buf, "error: %s\n", err->text);
	if (*err->remedy)
		text_addf(&buf, "error: %s\n", err->remedy);
	return buf.at;
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Steps that a profile folds must come to the same, whatever the caller has. */
static bool same_outcome(struct arena *arena, const struct plan *a,
			 const struct plan *b)
{
	static char *caller[] = {
		(char *)"A=0", (char *)"B=0", (char *)"LANG=C",
		(char *)"LC_ALL=C", (char *)"HOME=/h", (char *)"NONE=1", NULL,
	};
	char **lists[] = {
		plan_environment(a, arena, caller),
		plan_environment(b, arena, caller),
	};
	size_t i, counts[2] = { 0 };

	for (i = 0; i < 2; i++) {
		while (lists[i][counts[i]])
			counts[i]++;
		qsort(lists[i], counts[i], sizeof(char *), compare_strings);
	}
	for (i = 0; i < counts[0] && i < counts[1]; i++)
		if (strcmp(lists[0][i], lists[1][i]) != 0)
			return false;
	return counts[0] == counts[1];
}

static void expect_equal(const struct golden *golden, const struct plan *plan,
			 const struct words *words, const char *what)
{
	struct error err = { 0 };
	const struct plan *again = read_plan(golden, words, &err);
	const char *difference;

	cr_expect(again, "%s: %s is not taken: %s", golden->name, what,
		  err.text);
	if (!again)
		return;
	difference = plan_difference(plan, again);
	if (difference && !strcmp(difference, "environment") &&
	    plan->rules == PLAN_RULES_PROFILE &&
	    same_outcome(golden->arena, plan, again))
		return;
	cr_expect(!difference, "%s: %s gives another plan: %s", golden->name,
		  what, difference);
}

static void check_argv(const struct golden *golden, const struct plan *plan)
{
	struct text_buf out = { .arena = golden->arena };
	struct error err = { 0 };
	struct words words = { NULL };

	if (print_bwrap(plan, &out, &err) < 0) {
		compare(golden, "plan.argv", error_text(golden, &err));
		return;
	}
	compare(golden, "plan.argv", out.at);
	split(golden->arena, out.at, &words);
	if (plan->rules == PLAN_RULES_BWRAP)
		expect_equal(golden, plan, &words, "the command line");
}

static void check_ini(const struct golden *golden, const struct plan *plan,
		      const struct words *words)
{
	struct text_buf out = { .arena = golden->arena };
	struct words again = { NULL };
	struct error err = { 0 };

	if (print_ini(plan, &out, &err) < 0) {
		compare(golden, "plan.ini", error_text(golden, &err));
		return;
	}
	compare(golden, "plan.ini", out.at);
	write_text("again.ini", out.at);
	split(golden->arena, "sbx-launch --profile ./again.ini --", &again);
	/* The script and what belongs to it; the interpreter is the profile's. */
	for (size_t i = plan->interpreter ? 1 + plan->arguments.count : 0;
	     i < plan->command.count; i++)
		*arena_push(golden->arena, &again) = plan->command.at[i];
	if (plan->rules == PLAN_RULES_PROFILE)
		expect_equal(golden, plan, &again, "the profile");
	(void)words;
}

static void check_case(struct golden *golden)
{
	struct text_buf text = { .arena = golden->arena };
	struct text_buf json = { .arena = golden->arena };
	struct words words = { NULL };
	struct error err = { 0 };
	const struct plan *plan;

	read_input(golden, &words);
	plan = read_plan(golden, &words, &err);
	if (!plan) {
		compare(golden, "plan.txt", error_text(golden, &err));
		return;
	}
	cr_assert_eq(print_text(plan, &text, &err), 0);
	compare(golden, "plan.txt", text.at);
	cr_assert_eq(print_json(plan, &json, &err), 0);
	compare(golden, "plan.json", json.at);
	check_argv(golden, plan);
	check_ini(golden, plan, &words);
}

/* A directory of its own, with nothing else in it, for one case. */
static void run_case(const char *source, const char *name)
{
	char directory[] = "/tmp/golden.XXXXXXXXX";
	auto_arena struct arena *arena = arena_new();
	struct golden golden = {
		.arena = arena, .name = name,
		.source = arena_printf(arena, "%s/%s", source, name),
	};

	cr_assert(mkdtemp(directory) && !chdir(directory));
	golden.directory = directory;
	check_case(&golden);
	unlink("in.ini");
	unlink("again.ini");
	cr_assert(!chdir("/") && !rmdir(directory), "%s", directory);
}

Test(golden, cases)
{
	const char *top = getenv("SBX_SOURCE_DIR");
	char source[4096];
	struct dirent **entries;
	int count, cases = 0;

	cr_assert(top, "SBX_SOURCE_DIR is not set");
	setenv("HOME", "/home/somebody", 1);
	setenv("PATH", "/usr/bin:/bin", 1);
	umask(022);
	snprintf(source, sizeof(source), "%s/tests/golden", top);
	count = scandir(source, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		if (entries[i]->d_type == DT_DIR &&
		    entries[i]->d_name[0] != '.') {
			run_case(source, entries[i]->d_name);
			cases++;
		}
		free(entries[i]);
	}
	free(entries);
	cr_assert_geq(cases, 9);
}
