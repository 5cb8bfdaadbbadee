/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/op_types.h"

#include <criterion/criterion.h>
#include <string.h>

Test(op_types, every_row_is_found_by_its_name)
{
	for (size_t i = 0; i < op_types_count; i++)
		cr_expect_eq(op_type_find(op_types[i].name), &op_types[i]);
	cr_expect_null(op_type_find("bin"));
	cr_expect_null(op_type_find(""));
	cr_expect_null(op_type_find("--bind"));
}

/* What a row makes is spelt by that row again. */
Test(op_types, a_row_and_its_operation_agree)
{
	for (size_t i = 0; i < op_types_count; i++) {
		struct op op = { .kind = op_types[i].kind,
				 .flags = op_types[i].flags };

		cr_expect_eq(op_type_of(&op), &op_types[i], "%s",
			     op_types[i].name);
	}
}

Test(op_types, what_bubblewrap_has_no_word_for)
{
	struct op hide = { .kind = OP_HIDE };
	struct op protect = { .kind = OP_PROTECT };
	struct op optional = { .kind = OP_TMPFS, .flags = OP_OPTIONAL };

	cr_expect_null(op_type_of(&hide));
	cr_expect_null(op_type_of(&protect));
	cr_expect_null(op_type_of(&optional));
}

Test(op_types, flags_that_are_not_spelt_do_not_matter)
{
	struct op op = {
		.kind = OP_BIND,
		.flags = OP_READ_ONLY | OP_ID_MAPPED | OP_NO_FOLLOW,
	};

	cr_expect_str_eq(op_type_of(&op)->name, "ro-bind");
}

Test(op_types, words)
{
	static const struct {
		const char *name;
		size_t arity;
	} cases[] = {
		{ "bind", 2 }, { "overlay", 3 }, { "tmpfs", 1 },
		{ "chmod", 2 }, { "ro-bind-data", 2 }, { "remount-ro", 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect_eq(op_type_arity(op_type_find(cases[i].name)),
			     cases[i].arity, "%s", cases[i].name);
	for (size_t i = 0; i < op_types_count; i++)
		cr_expect(op_type_arity(&op_types[i]) >= 1 &&
			  op_type_arity(&op_types[i]) <= OP_WORDS_MOST);
}

Test(op_types, each_kind_has_a_name_of_its_own)
{
	for (int a = 0; a < OP_COUNT; a++)
		for (int b = 0; b < a; b++)
			cr_expect_str_neq(op_kind_name(a), op_kind_name(b));
}
