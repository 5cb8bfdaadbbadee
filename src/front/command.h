/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FRONT_COMMAND_H
#define FRONT_COMMAND_H

#include "plan/plan.h"

/*
 * After plan_order() and plan_check(): settle the interpreter, and see to it
 * that it, what it needs, the script, the command and the working directory
 * can be seen inside.  Returns 0, or a negative errno with @err filled (exit
 * status 126 or 127 where it is the payload that is missing).
 */
int command_check(struct plan *plan, struct error *err);

/*
 * The command, a bare name, was not found inside, which @err tells: say where
 * the host has it, and why it is not seen there.
 */
void command_explain(const struct plan *plan, struct error *err);

#endif
