/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sbx-launch's own options as rows. */
#ifndef FRONT_NATIVE_ARGS_H
#define FRONT_NATIVE_ARGS_H

#include "front/options.h"
#include "front/profile.h"

enum explain_format {
	EXPLAIN_NO, EXPLAIN_TEXT, EXPLAIN_JSON, EXPLAIN_BWRAP, EXPLAIN_INI,
};
enum check_format { CHECK_NO, CHECK_TEXT, CHECK_JSON };

/* What the rows collect. */
struct native_options {
	const char *profile;      /* NULL: none */
	LIST_OF(struct profile_set) sets;
	enum explain_format explain;
	enum check_format check;
	bool is_verbose;
	int log_fd;               /* -EBADF: none was named */
};

extern const struct option native_options[];
extern const size_t native_options_count;

#endif
