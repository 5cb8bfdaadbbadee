/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan for people. */
#include "print/print.h"

#include "print/host.h"
#include "print/names.h"
#include "print/text_sheet.h"

static void print_profiles(struct sheet *sheet, const struct plan *plan)
{
	if (plan->rules == PLAN_RULES_BWRAP) {
		sheet_heading(sheet, "bubblewrap's rules, no profile");
		return;
	}
	sheet_heading(sheet, "profile files, as read");
	for (size_t i = 0; i < plan->profiles.count; i++) {
		const struct profile_file *file = &plan->profiles.at[i];

		sheet_line(sheet, "file", NULL, "%s",
			   sheet_word(sheet, file->path));
		if (file->description)
			sheet_note(sheet, "%s",
				   text_printable(sheet->arena,
						  file->description));
	}
}

static void print_namespaces(struct sheet *sheet, const struct plan *plan)
{
	sheet_heading(sheet, "namespaces");
	for (int kind = 0; kind < NS_COUNT; kind++) {
		const struct plan_ns *ns = &plan->ns[kind];
		const char *name = print_ns_name((enum ns_kind)kind);

		switch (ns->want) {
		case NS_WANT_HOST:
			sheet_line(sheet, name, &ns->origin, "%s",
				   kind == NS_USER ?
				   "the host's for root, new for others" :
				   "the host's");
			break;
		case NS_WANT_NEW:
			sheet_line(sheet, name, &ns->origin, "new");
			break;
		case NS_WANT_TRY:
			sheet_line(sheet, name, &ns->origin,
				   "new where that is possible");
			break;
		case NS_WANT_JOIN:
			sheet_line(sheet, name, &ns->origin,
				   "the one of descriptor %d%s", ns->fd,
				   ns->also_new ? ", and a new one in it" : "");
			break;
		}
	}
	if (plan->hostname)
		sheet_line(sheet, "hostname", &plan->hostname_origin, "%s",
			   sheet_word(sheet, plan->hostname));
	if (plan->ns[NS_NET].want != NS_WANT_HOST)
		sheet_line(sheet, "loopback", NULL, "%s",
			   plan->bring_up_loopback ? "up" : "down");
}

static void print_ids(struct sheet *sheet, const struct plan *plan)
{
	const struct plan_ids *ids = &plan->ids;

	sheet_heading(sheet, "ids");
	if (ids->has_uid)
		sheet_line(sheet, "uid", NULL, "%u inside", ids->uid);
	if (ids->has_gid)
		sheet_line(sheet, "gid", NULL, "%u inside", ids->gid);
	switch (ids->run_as) {
	case RUN_AS_AUTO:
		sheet_line(sheet, "run as", &ids->run_as_origin, "auto");
		sheet_note(sheet, "An ordinary user keeps the own id on the "
			   "host. Started by root, the payload runs as an "
			   "unprivileged host id: limits hold and files that "
			   "only root may read stay closed. The cost: what is "
			   "to be writable must be on a file system that can "
			   "be mounted with mapped ids.");
		break;
	case RUN_AS_CALLER:
		sheet_line(sheet, "run as", &ids->run_as_origin, "the caller");
		sheet_note(sheet, "The cost when root starts it: the payload "
			   "is root on the host. It can read what only root "
			   "may read wherever that is visible inside, and the "
			   "kernel does not limit its number of processes.");
		break;
	case RUN_AS_ID:
		sheet_line(sheet, "run as", &ids->run_as_origin,
			   "host uid %u, gid %u", ids->run_uid, ids->run_gid);
		sheet_note(sheet, "The cost: root has to start it, and the "
			   "payload has the rights of every other process "
			   "with that id.");
		break;
	}
}

static void print_environment(struct sheet *sheet, const struct plan *plan)
{
	sheet_heading(sheet, "environment, in order");
	if (!plan->environment.count)
		sheet_line(sheet, "", NULL, "the caller's");
	for (size_t i = 0; i < plan->environment.count; i++) {
		const struct env_step *step = &plan->environment.at[i];
		const char *verb = print_env_name(step->kind);

		switch (step->kind) {
		case ENV_CLEAR:
			sheet_line(sheet, verb, &step->origin, "everything");
			break;
		case ENV_KEEP:
		case ENV_UNSET:
			sheet_line(sheet, verb, &step->origin, "%s",
				   sheet_word(sheet, step->name));
			break;
		case ENV_SET:
			sheet_line(sheet, verb, &step->origin, "%s=%s",
				   sheet_word(sheet, step->name),
				   sheet_word(sheet, step->value));
			break;
		}
	}
}

static void print_limits(struct sheet *sheet, const struct plan *plan)
{
	bool any = false;

	sheet_heading(sheet, "limits");
	for (int kind = 0; kind < LIMIT_COUNT; kind++) {
		const struct plan_limit *limit = &plan->limits[kind];

		if (!limit->is_set)
			continue;
		any = true;
		sheet_line(sheet, limit_names[kind], &limit->origin, "%s%s%s",
			   print_limit_value(sheet->arena,
					     (enum limit_kind)kind,
					     limit->value),
			   limit->is_optional ? ", or less if it must be" : "",
			   limit->has_note ? ", with a note of the rest" : "");
	}
	if (!any)
		sheet_line(sheet, "", NULL, "none but the caller's");
}

static void print_caps(struct sheet *sheet, const struct plan *plan)
{
	const struct plan_bwrap *bwrap = &plan->bwrap;

	for (size_t i = 0; i < bwrap->caps.count; i++)
		sheet_line(sheet, "capability", NULL, "%s %s",
			   bwrap->caps.at[i].is_add ? "add" : "drop",
			   print_cap_name(sheet->arena, bwrap->caps.at[i].cap));
}

static void print_descriptors(struct sheet *sheet, const struct plan *plan)
{
	const struct plan_security *security = &plan->security;
	struct text_buf buf = { .arena = sheet->arena };

	if (security->keep_all_fds) {
		sheet_line(sheet, "descriptors", NULL, "all are kept");
		return;
	}
	text_add(&buf, "0, 1, 2");
	for (size_t i = 0; i < security->keep_fds.count; i++)
		text_addf(&buf, ", %d", security->keep_fds.at[i]);
	sheet_line(sheet, "descriptors", NULL, "%s are kept", buf.at);
}

static void print_security(struct sheet *sheet, const struct plan *plan)
{
	const struct plan_security *security = &plan->security;

	sheet_heading(sheet, "security");
	switch (security->seccomp) {
	case SECCOMP_NONE:
		sheet_line(sheet, "seccomp", &security->seccomp_origin,
			   "no filter of the launcher's");
		break;
	case SECCOMP_DEFAULT:
		sheet_line(sheet, "seccomp", &security->seccomp_origin,
			   "the default filter");
		break;
	case SECCOMP_FROM_FILE:
		sheet_line(sheet, "seccomp", &security->seccomp_origin, "%s",
			   sheet_word(sheet, security->seccomp_file));
		break;
	}
	sheet_line(sheet, "unix sockets", &security->unix_origin, "%s",
		   security->deny_unix_sockets ? "denied" : "allowed");
	sheet_line(sheet, "nested userns", NULL, "%s",
		   security->allow_nested_userns ? "allowed" : "denied");
	sheet_line(sheet, "terminal", &security->tty_origin, "%s",
		   print_tty_name(security->tty));
	print_descriptors(sheet, plan);
	print_caps(sheet, plan);
}

struct switch_row {
	const char *option;
	bool is_on;
};

static void print_switches(struct sheet *sheet, const struct plan *plan)
{
	const struct plan_bwrap *bwrap = &plan->bwrap;
	const struct switch_row rows[] = {
		{ "--new-session", bwrap->new_session },
		{ "--die-with-parent", bwrap->die_with_parent },
		{ "--as-pid-1", bwrap->as_pid_1 },
		{ "--disable-userns", bwrap->disable_userns },
		{ "--assert-userns-disabled", bwrap->assert_userns_disabled },
		{ "--not-a-security-boundary", bwrap->not_a_security_boundary },
		{ "--level-prefix", bwrap->level_prefix },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].is_on)
			sheet_line(sheet, "option", NULL, "%s",
				   rows[i].option);
}

struct fd_row {
	const char *option;
	int fd;
};

static void print_bwrap_settings(struct sheet *sheet, const struct plan *plan)
{
	const struct plan_bwrap *bwrap = &plan->bwrap;
	const struct fd_row rows[] = {
		{ "--userns2", bwrap->userns2_fd },
		{ "--block-fd", bwrap->block_fd },
		{ "--userns-block-fd", bwrap->userns_block_fd },
		{ "--info-fd", bwrap->info_fd },
		{ "--json-status-fd", bwrap->json_status_fd },
		{ "--sync-fd", bwrap->sync_fd },
		{ "--seccomp", bwrap->seccomp_fd },
	};

	print_switches(sheet, plan);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].fd >= 0)
			sheet_line(sheet, "option", NULL, "%s %d",
				   rows[i].option, rows[i].fd);
	for (size_t i = 0; i < bwrap->seccomp_fds.count; i++)
		sheet_line(sheet, "option", NULL, "--add-seccomp-fd %d",
			   bwrap->seccomp_fds.at[i]);
	for (size_t i = 0; i < bwrap->lock_files.count; i++)
		sheet_line(sheet, "option", NULL, "--lock-file %s",
			   sheet_word(sheet, bwrap->lock_files.at[i]));
	if (bwrap->exec_label)
		sheet_line(sheet, "option", NULL, "--exec-label %s",
			   sheet_word(sheet, bwrap->exec_label));
	if (bwrap->file_label)
		sheet_line(sheet, "option", NULL, "--file-label %s",
			   sheet_word(sheet, bwrap->file_label));
}

static void print_report(struct sheet *sheet, const struct plan *plan)
{
	const struct plan_report *report = &plan->report;
	size_t before;

	sheet_heading(sheet, "report");
	before = sheet->out->count;
	if (report->status_fd >= 0)
		sheet_line(sheet, "status-fd", &report->status_origin, "%d",
			   report->status_fd);
	if (report->status_file)
		sheet_line(sheet, "status-file", &report->status_origin, "%s",
			   sheet_word(sheet, report->status_file));
	if (report->audit_file)
		sheet_line(sheet, "audit-file", &report->audit_origin, "%s",
			   sheet_word(sheet, report->audit_file));
	if (report->changes_file)
		sheet_line(sheet, "changes-file", &report->changes_origin,
			   "%s", sheet_word(sheet, report->changes_file));
	if (report->run_id)
		sheet_line(sheet, "run-id", NULL, "%s",
			   sheet_word(sheet, report->run_id));
	if (report->handle_id)
		sheet_line(sheet, "handle-id", NULL, "%s",
			   sheet_word(sheet, report->handle_id));
	if (sheet->out->count == before)
		sheet_line(sheet, "", NULL, "none");
}

static void print_workspace(struct sheet *sheet, const struct plan *plan)
{
	const struct plan_workspace *workspace = &plan->workspace;

	if (!workspace->source)
		return;
	sheet_heading(sheet, "workspace");
	sheet_line(sheet, "path", &workspace->origin, "%s on %s",
		   sheet_word(sheet, workspace->source),
		   sheet_word(sheet, workspace->dest));
	sheet_line(sheet, "mode", &workspace->mode_origin, "%s",
		   print_workspace_mode_name(workspace->mode));
	if (workspace->export_dir)
		sheet_line(sheet, "export", NULL, "%s",
			   sheet_word(sheet, workspace->export_dir));
	if (workspace->commits)
		sheet_line(sheet, "commit", &workspace->commit_origin,
			   "on-success");
	if (workspace->commit_fd >= 0)
		sheet_line(sheet, "commit-fd", &workspace->commit_fd_origin,
			   "%d", workspace->commit_fd);
}

static void print_command(struct sheet *sheet, const struct plan *plan)
{
	sheet_heading(sheet, "command");
	if (plan->interpreter)
		sheet_line(sheet, "interpreter", &plan->interpreter_origin,
			   "%s", sheet_word(sheet, plan->interpreter));
	for (size_t i = 0; i < plan->command.count; i++) {
		const char *label = i ? "" : "exec";

		if (i && i == plan->script_index)
			label = "script";
		sheet_line(sheet, label, NULL, "%s",
			   sheet_word(sheet, plan->command.at[i]));
	}
	if (plan->argv0)
		sheet_line(sheet, "argv[0]", NULL, "%s",
			   sheet_word(sheet, plan->argv0));
	if (plan->chdir)
		sheet_line(sheet, "directory", &plan->chdir_origin, "%s",
			   sheet_word(sheet, plan->chdir));
}

static int print_sheet(const struct plan *plan, struct text_buf *out,
		       bool in_colour)
{
	struct sheet sheet = {
		.out = out, .arena = out->arena, .in_colour = in_colour,
	};

	print_profiles(&sheet, plan);
	print_workspace(&sheet, plan);
	text_operations(&sheet, plan);
	print_environment(&sheet, plan);
	print_ids(&sheet, plan);
	print_namespaces(&sheet, plan);
	print_limits(&sheet, plan);
	print_security(&sheet, plan);
	print_bwrap_settings(&sheet, plan);
	print_report(&sheet, plan);
	print_command(&sheet, plan);
	return 0;
}

int print_text(const struct plan *plan, struct text_buf *out,
	       struct error *err)
{
	return print_sheet(plan, out, false);
}

void print_host_text(const struct plan *plan, const struct survey *survey,
		     bool in_colour, struct text_buf *out)
{
	struct sheet sheet = {
		.out = out, .arena = out->arena, .in_colour = in_colour,
	};

	host_text(&sheet, plan, survey);
}

int print_text_in_colour(const struct plan *plan, struct text_buf *out,
			 struct error *err)
{
	return print_sheet(plan, out, true);
}
