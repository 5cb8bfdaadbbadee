/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints the tables that the manual pages and --help have to agree with. */
#include "front/bwrap_args.h"
#include "front/keys.h"
#include "front/native_args.h"

#include <stdio.h>

static const char *or_dash(const char *text)
{
	return text ? text : "-";
}

static void print_options(const char *language, const struct option *rows,
			  size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("option\t%s\t%s\t%u\t%s\t%s\n", language, rows[i].name,
		       rows[i].values, or_dash(rows[i].operands),
		       or_dash(rows[i].help));
}

int main(void)
{
	print_options("native", native_options, native_options_count);
	print_options("bwrap", bwrap_options, bwrap_options_count);
	for (size_t i = 0; i < keys_count; i++)
		printf("key\t%s\t%s\t%s\t%s\t%s\n", keys[i].section,
		       keys[i].flags & KEY_ANY_NAME ? "*" : keys[i].name,
		       keys[i].flags & KEY_REPEATS ? "repeats" : "once",
		       or_dash(keys[i].operands), or_dash(keys[i].help));
	for (size_t i = 0; i < op_types_count; i++)
		printf("mount\t%s\t%zu\n", op_types[i].name,
		       op_type_arity(&op_types[i]));
	return 0;
}
