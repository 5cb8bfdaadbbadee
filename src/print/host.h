/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a plan meets on a machine; internal to print/. */
#ifndef PRINT_HOST_H
#define PRINT_HOST_H

#include "plan/survey.h"
#include "print/json_writer.h"
#include "print/text_sheet.h"

void host_text(struct sheet *sheet, const struct plan *plan,
	       const struct survey *survey);
void host_json(struct json_writer *json, const struct plan *plan,
	       const struct survey *survey);

#endif
