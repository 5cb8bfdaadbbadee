/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JSON, indented, written from front to back.  A @name of NULL means an
 * element of an array.  Internal to print/.
 */
#ifndef PRINT_JSON_WRITER_H
#define PRINT_JSON_WRITER_H

#include "base/text.h"

struct json_writer {
	struct text_buf *out;
	unsigned depth;
	bool has_members; /* in the innermost object or array */
};

void json_open(struct json_writer *json, const char *name, char bracket);
void json_close(struct json_writer *json, char bracket);
/* A NULL @value is null. */
void json_string(struct json_writer *json, const char *name,
		 const char *value);
void json_number(struct json_writer *json, const char *name, uint64_t value);
void json_bool(struct json_writer *json, const char *name, bool value);
void json_null(struct json_writer *json, const char *name);
/* A descriptor; null when there is none. */
void json_fd(struct json_writer *json, const char *name, int fd);

#endif
