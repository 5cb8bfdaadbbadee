/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bubblewrap's options as rows, with bubblewrap's texts for what is wrong.
 *
 * What bubblewrap decides while it reads its line and a run has to decide
 * anyway (what a descriptor holds, whether a namespace that may be missing can
 * be had) stays as data in the plan; only --args is read here.
 */
#ifndef FRONT_BWRAP_ARGS_H
#define FRONT_BWRAP_ARGS_H

#include "base/text.h"
#include "front/options.h"

/* The release whose options and words these are. */
#define BWRAP_VERSION "0.12.0"

extern const struct option bwrap_options[];
extern const size_t bwrap_options_count;

/*
 * Behind each option: do pending modifiers (--perms, --size, --overlay-src)
 * stand before an option that takes them?
 */
int bwrap_after_option(struct parse *parse, const struct option *option,
		       struct error *err);

/*
 * When all options are read and plan->command is filled (empty: there was
 * none): the checks across options in bubblewrap's order.  A missing command
 * sets parse->action to PARSE_USAGE at its place among them.
 */
int bwrap_finish(struct parse *parse, struct error *err);

/* The usage text that begins with @argv0 (NULL: "bwrap"), and all options. */
void bwrap_usage(const char *argv0, struct text_buf *out);

/* What --version prints under bubblewrap's name. */
void bwrap_version(struct text_buf *out);

#endif
