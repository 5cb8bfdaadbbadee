/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The whole front end: a command line -> a plan that can run. */
#ifndef FRONT_FRONT_H
#define FRONT_FRONT_H

#include "front/native_args.h"

enum { FRONT_TABLES_MOST = 2 };

struct front {
	struct native_options native;
	struct option_table tables[FRONT_TABLES_MOST];
	struct parse parse;    /* its plan, action and warnings */
};

/*
 * Read the command line: options, profile, command.  @is_bwrap: called under
 * bubblewrap's name.  Afterwards parse.action says what was asked for; with
 * PARSE_RUN the plan is filled, ordered and checked.  On failure parse.plan
 * may be there in part, for the records.  Returns 0, or a negative errno with
 * @err filled.  Everything lives in @arena.
 */
int front_read(struct front *front, struct arena *arena, int argc,
	       const char *const *argv, bool is_bwrap, struct error *err);

/* The text of --help for the language that @front speaks. */
const char *front_help(const struct front *front, const char *argv0);

#endif
