/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "print/json_writer.h"

static void begin(struct json_writer *json, const char *name)
{
	if (json->has_members)
		text_add(json->out, ",");
	if (json->depth)
		text_addf(json->out, "\n%*s", (int)json->depth * 2, "");
	json->has_members = true;
	if (!name)
		return;
	text_add_json(json->out, name);
	text_add(json->out, ": ");
}

void json_open(struct json_writer *json, const char *name, char bracket)
{
	begin(json, name);
	text_add_bytes(json->out, &bracket, 1);
	json->depth++;
	json->has_members = false;
}

void json_close(struct json_writer *json, char bracket)
{
	json->depth--;
	if (json->has_members)
		text_addf(json->out, "\n%*s", (int)json->depth * 2, "");
	text_add_bytes(json->out, &bracket, 1);
	json->has_members = true;
}

void json_string(struct json_writer *json, const char *name,
		 const char *value)
{
	if (!value) {
		json_null(json, name);
		return;
	}
	begin(json, name);
	text_add_json(json->out, value);
}

void json_number(struct json_writer *json, const char *name, uint64_t value)
{
	begin(json, name);
	text_addf(json->out, "%llu", (unsigned long long)value);
}

void json_bool(struct json_writer *json, const char *name, bool value)
{
	begin(json, name);
	text_add(json->out, value ? "true" : "false");
}

void json_null(struct json_writer *json, const char *name)
{
	begin(json, name);
	text_add(json->out, "null");
}

void json_fd(struct json_writer *json, const char *name, int fd)
{
	if (fd < 0)
		json_null(json, name);
	else
		json_number(json, name, (uint64_t)fd);
}
