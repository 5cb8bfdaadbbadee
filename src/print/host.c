/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a plan meets on this machine, for people and for programs. */
#include "print/host.h"

#include "print/names.h"

/* ---- for people ---------------------------------------------------------------- */

static void text_mounts(struct sheet *sheet, const struct survey *survey)
{
	sheet_heading(sheet, "mounts of the host carried along, by operation");
	if (survey->mounts_unknown)
		sheet_line(sheet, "", NULL, "not known: %s",
			   survey->mounts_unknown);
	else if (!survey->mounts.count)
		sheet_line(sheet, "", NULL, "none");
	for (size_t i = 0; i < survey->mounts.count; i++) {
		const struct survey_mount *mount = &survey->mounts.at[i];

		sheet_line(sheet, arena_printf(sheet->arena, "%zu",
					       mount->op + 1), NULL,
			   "%s, %s%s", sheet_word(sheet, mount->place),
			   text_printable(sheet->arena, mount->type),
			   mount->is_hidden ? ", hidden" : "");
	}
}

static void text_endpoints(struct sheet *sheet, const struct plan *plan,
			   const struct survey *survey)
{
	sheet_heading(sheet, "sockets and FIFOs that can be reached");
	for (size_t i = 0; i < survey->endpoints.count; i++)
		sheet_line(sheet, survey->endpoints.at[i].is_fifo ? "FIFO" :
			   "socket", NULL, "%s",
			   sheet_word(sheet, survey->endpoints.at[i].path));
	if (plan->ns[NS_NET].want == NS_WANT_HOST)
		sheet_line(sheet, "abstract", NULL, "%s",
			   survey->landlock_abi >= 6 &&
			   plan->rules == PLAN_RULES_PROFILE ?
			   "none: Landlock keeps them away" :
			   "all of the host's, and what listens on 127.0.0.1");
	else if (!survey->endpoints.count)
		sheet_line(sheet, "", NULL, "none was found");
	if (survey->endpoints_cut)
		sheet_line(sheet, "", NULL, "there may be more: not everything "
			   "was looked at");
}

static void text_groups(struct sheet *sheet, const struct survey *survey)
{
	sheet_heading(sheet, "groups that stay effective");
	if (!survey->groups.count)
		sheet_line(sheet, "", NULL, "%s", survey->groups_dropped ?
			   "none: started by root, they are dropped" :
			   "none but the own");
	for (size_t i = 0; i < survey->groups.count; i++) {
		const struct survey_group *group = &survey->groups.at[i];

		sheet_line(sheet, "group", NULL, "%u%s%s", group->gid,
			   group->name ? " " : "", group->name ? group->name :
			   "");
		if (group->power)
			sheet_note(sheet, "Careful: it %s.", group->power);
	}
}

static void text_limits(struct sheet *sheet, const struct plan *plan,
			const struct survey *survey)
{
	bool any = false;

	sheet_heading(sheet, "what holds the limits here");
	for (int kind = 0; kind < LIMIT_COUNT; kind++) {
		const struct survey_limit *limit = &survey->limits[kind];

		if (!plan->limits[kind].is_set)
			continue;
		any = true;
		if (limit->by)
			sheet_line(sheet, limit_names[kind], NULL, "%s",
				   limit->by);
		else
			sheet_line(sheet, limit_names[kind], NULL,
				   "nothing: %s", limit->why_not ?
				   limit->why_not : "not known why");
	}
	if (!any)
		sheet_line(sheet, "", NULL, "there are none");
}

static void text_walls(struct sheet *sheet, const struct survey *survey)
{
	sheet_heading(sheet, "walls that this kernel has");
	sheet_line(sheet, "seccomp", NULL, "%s",
		   survey->has_seccomp ? "yes" : "no");
	if (survey->landlock_abi)
		sheet_line(sheet, "Landlock", NULL, "ABI %d",
			   survey->landlock_abi);
	else
		sheet_line(sheet, "Landlock", NULL, "no");
	sheet_line(sheet, "id maps", NULL, "%s", survey->shows_other_owners ?
		   "files are shown with mapped owners" :
		   "of the user namespace only; files keep their owners");
}

static void text_stages(struct sheet *sheet, const struct survey *survey)
{
	sheet_heading(sheet, "stages of the run, in order");
	for (size_t i = 0; i < survey->stages.count; i++)
		sheet_line(sheet, survey->stages.at[i].name, NULL, "%s: %s",
			   survey->stages.at[i].where,
			   survey->stages.at[i].calls);
}

void host_text(struct sheet *sheet, const struct plan *plan,
	       const struct survey *survey)
{
	text_mounts(sheet, survey);
	text_endpoints(sheet, plan, survey);
	text_groups(sheet, survey);
	text_limits(sheet, plan, survey);
	text_walls(sheet, survey);
	text_stages(sheet, survey);
}

/* ---- for programs ------------------------------------------------------------------ */

static void json_mounts(struct json_writer *json, const struct survey *survey)
{
	json_open(json, "mounts", '[');
	for (size_t i = 0; i < survey->mounts.count; i++) {
		json_open(json, NULL, '{');
		json_number(json, "operation", survey->mounts.at[i].op);
		json_string(json, "place", survey->mounts.at[i].place);
		json_string(json, "type", survey->mounts.at[i].type);
		json_bool(json, "hidden", survey->mounts.at[i].is_hidden);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_string(json, "mountsUnknown", survey->mounts_unknown);
}

static void json_endpoints(struct json_writer *json,
			   const struct survey *survey)
{
	json_open(json, "endpoints", '[');
	for (size_t i = 0; i < survey->endpoints.count; i++) {
		json_open(json, NULL, '{');
		json_string(json, "kind", survey->endpoints.at[i].is_fifo ?
			    "fifo" : "socket");
		json_string(json, "path", survey->endpoints.at[i].path);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_bool(json, "endpointsCut", survey->endpoints_cut);
}

static void json_groups(struct json_writer *json, const struct survey *survey)
{
	json_open(json, "groups", '[');
	for (size_t i = 0; i < survey->groups.count; i++) {
		json_open(json, NULL, '{');
		json_number(json, "gid", survey->groups.at[i].gid);
		json_string(json, "name", survey->groups.at[i].name);
		json_string(json, "power", survey->groups.at[i].power);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_bool(json, "groupsDropped", survey->groups_dropped);
}

static void json_limits(struct json_writer *json, const struct survey *survey)
{
	json_open(json, "enforcement", '{');
	for (int kind = 0; kind < LIMIT_COUNT; kind++) {
		json_open(json, limit_names[kind], '{');
		json_string(json, "by", survey->limits[kind].by);
		json_string(json, "whyNot", survey->limits[kind].why_not);
		json_close(json, '}');
	}
	json_close(json, '}');
}

void host_json(struct json_writer *json, const struct plan *plan,
	       const struct survey *survey)
{
	json_open(json, "host", '{');
	json_mounts(json, survey);
	json_endpoints(json, survey);
	json_groups(json, survey);
	json_limits(json, survey);
	json_bool(json, "seccomp", survey->has_seccomp);
	json_number(json, "landlock", (uint64_t)survey->landlock_abi);
	json_bool(json, "mappedOwners", survey->shows_other_owners);
	json_open(json, "stages", '[');
	for (size_t i = 0; i < survey->stages.count; i++) {
		json_open(json, NULL, '{');
		json_string(json, "name", survey->stages.at[i].name);
		json_string(json, "where", survey->stages.at[i].where);
		json_string(json, "calls", survey->stages.at[i].calls);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}
