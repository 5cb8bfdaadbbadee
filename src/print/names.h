/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Words that more than one rendering uses.  Internal to print/. */
#ifndef PRINT_NAMES_H
#define PRINT_NAMES_H

#include "base/text.h"
#include "plan/plan.h"

const char *print_ns_name(enum ns_kind kind);
const char *print_phase_name(enum op_phase phase);
const char *print_role_name(enum op_role role);
const char *print_workspace_mode_name(enum workspace_mode mode);
const char *print_tty_name(enum tty_mode mode);
const char *print_run_as_name(enum run_as run_as);
const char *print_env_name(enum env_kind kind);
/* "ro-bind-try", or "hide" for what bubblewrap has no word for. */
const char *print_op_name(const struct op *op);
/* A limit's value as a profile writes it: "256", "64m", "1500ms", "50%". */
const char *print_limit_value(struct arena *arena, enum limit_kind kind,
			      uint64_t value);
/* "512", "64k", "1g": the largest unit that loses nothing. */
const char *print_size(struct arena *arena, uint64_t bytes);
/* "CAP_SYS_ADMIN", "ALL" for -1, or the number of one that has no name. */
const char *print_cap_name(struct arena *arena, int cap);

#endif
