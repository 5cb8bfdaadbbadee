/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The loop over a command line that both languages share: sbx-launch's own
 * options and bubblewrap's are rows of tables, and this loop knows nothing
 * about any one of them.
 *
 *   - An option is a word that starts with "-" and equals the name of a row;
 *     there are no abbreviations and no clusters.  sbx-launch's own options
 *     may also be written --name=value.
 *   - The values of an option are the words that follow, whatever they are.
 *   - Options end at the first word that does not start with "-" (the empty
 *     word is such a word) or behind "--".
 *   - Words come from a source; a handler may have the loop read another
 *     source (the file of --args) before the rest of the present one.
 *
 * Without a profile a line is read once, handlers run as their words are
 * met, and the first error ends it.  sbx-launch first runs the handlers of
 * its own rows alone (a profile has to be read before the options that are
 * applied on top of it), then those of bubblewrap's.
 */
#ifndef FRONT_OPTIONS_H
#define FRONT_OPTIONS_H

#include "base/error.h"
#include "base/mem.h"
#include "plan/plan.h"

struct option;
struct parse;

/*
 * What an option does.  @values holds option->values words (for a row with
 * OPTION_MAY_HAVE_VALUE: one, which is NULL when it was not given).  They
 * live as long as the plan.  Returns 0, or a negative errno with @err filled.
 */
typedef int (*option_fn)(struct parse *parse, const struct option *option,
			 const char *const *values, struct origin origin,
			 struct error *err);

enum option_flags {
	OPTION_NATIVE = 1 << 0, /* sbx-launch's language has it */
	OPTION_BWRAP = 1 << 1,  /* bubblewrap's language has it */
	OPTION_MAY_HAVE_VALUE = 1 << 2, /* --name or --name=value */
};

struct option {
	const char *name;     /* with its dashes */
	unsigned values;      /* number of words that it takes */
	unsigned flags;       /* enum option_flags, at least one language */
	option_fn handle;
	int tag;              /* the handler's business */
	const char *operands; /* for --help: "SRC DEST"; NULL: none */
	const char *help;     /* for --help, one line */
	/*
	 * Text of the error when words are missing; NULL: "NAME takes an
	 * argument" (two, three arguments).
	 */
	const char *too_few;
};

enum { OPTION_VALUES_MOST = 3 };

/* A list of words being read. */
struct option_words {
	const char *const *at;
	size_t count;
	size_t next;             /* index of the first word not yet taken */
	enum origin_kind origin; /* ORIGIN_ARGUMENT or ORIGIN_ARGS_FD */
	const char *name;        /* ORIGIN_ARGS_FD: the descriptor as written */
};

struct option_table {
	const struct option *rows;
	size_t count;
	/*
	 * Called behind each handler of whatever table, NULL: nothing; for
	 * options that must be followed by certain others.
	 */
	int (*after)(struct parse *parse, const struct option *option,
		     struct error *err);
};

enum parse_action {
	PARSE_RUN,     /* nothing else was asked for */
	PARSE_USAGE,   /* no command: usage on stderr, failure */
	PARSE_HELP,    /* the loop ends as soon as the action is not ... */
	PARSE_VERSION, /* ... PARSE_RUN */
	PARSE_FEATURES,
};

/* A line for stderr that does not end the run. */
struct parse_warning {
	bool has_level; /* was --level-prefix in force? */
	const char *text;
};

struct native_options;
struct bwrap_parse;

/* The state of reading one command line. */
struct parse {
	struct arena *arena;
	struct plan *plan;       /* NULL while only native handlers run */
	bool is_bwrap;           /* called under bubblewrap's name */
	unsigned accepts;        /* rows of these languages exist */
	unsigned handles;        /* handlers of these languages run */
	const struct option_table *tables;
	size_t tables_count;
	struct option_words *words; /* the source being read */
	const struct option *last;  /* the row that was met last, or NULL */
	size_t skipped;          /* options whose handlers did not run */
	enum parse_action action;
	LIST_OF(struct parse_warning) warnings;
	struct native_options *native; /* front/native_args.c */
	struct bwrap_parse *bwrap;     /* front/bwrap_args.c: NULL at first */
};

/*
 * Read options from @words until they end.  Afterwards words->next is the
 * index of the command (or words->count).  A handler that reads another
 * source calls it again; what follows the options of such a source is
 * dropped.
 *
 * After a failure words->next stands behind the option that is wrong and its
 * values, so that reading can go on; or at words->count, when it is unknown
 * where that is.
 */
int options_parse(struct parse *parse, struct option_words *words,
		  struct error *err);

/* The row named @name that @parse accepts, or NULL. */
const struct option *options_find(const struct parse *parse,
				  const char *name);

/* Add a warning (printed by main.c). */
void options_warn(struct parse *parse, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
