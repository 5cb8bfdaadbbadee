/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The plan as a profile.
 *
 * A setting is written when somebody asked for it, or when it differs from
 * what a profile has without being asked: a plan of bubblewrap's rules has
 * other defaults.  What those rules do and a profile never does is listed in
 * comments in front.
 */
#include "print/print.h"

#include "print/ini_writer.h"
#include "print/names.h"

#include <string.h>

static const struct origin nowhere = { .kind = ORIGIN_BUILTIN };

static bool is_asked(const struct origin *origin)
{
	return origin->kind != ORIGIN_BUILTIN;
}

static void add_profile(struct ini_writer *ini, const struct plan *plan)
{
	const char *description = NULL;

	/* An included file is read, and listed, behind the one it is in. */
	if (plan->profiles.count)
		description = plan->profiles.at[0].description;
	if (!description)
		return;
	ini_begin(ini, "profile", "description", nowhere);
	ini_text(ini, description);
	ini_end(ini);
}

static void add_exec(struct ini_writer *ini, const struct plan *plan)
{
	ini_line(ini, "exec", "interpreter", plan->interpreter,
		 plan->interpreter_origin);
	for (size_t i = 0; i < plan->arguments.count; i++)
		ini_line(ini, "exec", "argument", plan->arguments.at[i],
			 plan->interpreter_origin);
	if (plan->chdir && *plan->chdir != '/')
		ini_refuse(ini, plan->chdir_origin, "a relative directory");
	else if (is_asked(&plan->chdir_origin))
		ini_line(ini, "exec", "chdir", plan->chdir,
			 plan->chdir_origin);
	if (plan->argv0)
		ini_refuse(ini, nowhere, "another argv[0]");
}

static void add_shares(struct ini_writer *ini, const struct plan *plan)
{
	static const enum ns_kind kinds[] = {
		NS_NET, NS_PID, NS_IPC, NS_UTS, NS_CGROUP,
	};

	for (int kind = 0; kind < NS_COUNT; kind++)
		if (plan->ns[kind].want == NS_WANT_JOIN)
			ini_refuse(ini, plan->ns[kind].origin,
				   "the namespace of a descriptor");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct plan_ns *ns = &plan->ns[kinds[i]];

		if (ns->want == NS_WANT_HOST)
			ini_line(ini, "namespaces", "share",
				 print_ns_name(kinds[i]), ns->origin);
	}
}

static void add_id(struct ini_writer *ini, const char *name, bool has,
		   uint32_t id)
{
	if (has)
		ini_line(ini, "namespaces", name,
			 arena_printf(ini->out->arena, "%u", id), nowhere);
}

static void add_namespaces(struct ini_writer *ini, const struct plan *plan)
{
	add_shares(ini, plan);
	if (plan->hostname &&
	    (is_asked(&plan->hostname_origin) ||
	     plan->rules == PLAN_RULES_BWRAP))
		ini_line(ini, "namespaces", "hostname", plan->hostname,
			 plan->hostname_origin);
	add_id(ini, "uid", plan->ids.has_uid, plan->ids.uid);
	add_id(ini, "gid", plan->ids.has_gid, plan->ids.gid);
}

static void add_limits(struct ini_writer *ini, const struct plan *plan)
{
	for (int kind = 0; kind < LIMIT_COUNT; kind++) {
		const struct plan_limit *limit = &plan->limits[kind];

		if (!limit->is_set || !is_asked(&limit->origin))
			continue;
		ini_begin(ini, "limits", limit_names[kind], limit->origin);
		ini_word(ini, print_limit_value(ini->out->arena,
						(enum limit_kind)kind,
						limit->value));
		if (limit->is_optional)
			ini_word(ini, "optional");
		if (limit->has_note)
			ini_word(ini, "note");
		ini_end(ini);
	}
}

static void add_run_as(struct ini_writer *ini, const struct plan *plan,
		       const struct plan *usual)
{
	const struct plan_ids *ids = &plan->ids;

	if (ids->run_as == RUN_AS_ID)
		ini_line(ini, "security", "run-as",
			 arena_printf(ini->out->arena, "%u:%u", ids->run_uid,
				      ids->run_gid), ids->run_as_origin);
	else if (ids->run_as != usual->ids.run_as ||
		 is_asked(&ids->run_as_origin))
		ini_line(ini, "security", "run-as",
			 print_run_as_name(ids->run_as), ids->run_as_origin);
}

static void add_seccomp(struct ini_writer *ini, const struct plan *plan,
			const struct plan *usual)
{
	const struct plan_security *security = &plan->security;
	const char *word = security->seccomp_file;

	if (security->seccomp == usual->security.seccomp &&
	    !is_asked(&security->seccomp_origin))
		return;
	if (security->seccomp != SECCOMP_FROM_FILE)
		word = security->seccomp == SECCOMP_NONE ? "none" : "default";
	ini_line(ini, "security", "seccomp", word, security->seccomp_origin);
}

static void add_security(struct ini_writer *ini, const struct plan *plan,
			 const struct plan *usual)
{
	const struct plan_security *security = &plan->security;
	bool is_bwrap = plan->rules == PLAN_RULES_BWRAP;
	bool has_tty = security->tty == TTY_KEEP ||
		       (security->tty == TTY_INHERIT &&
			!plan->bwrap.new_session);

	add_run_as(ini, plan, usual);
	add_seccomp(ini, plan, usual);
	if (security->deny_unix_sockets || is_asked(&security->unix_origin))
		ini_line(ini, "security", "unix-sockets",
			 security->deny_unix_sockets ? "deny" : "allow",
			 security->unix_origin);
	if (security->allow_nested_userns && !plan->bwrap.disable_userns)
		ini_line(ini, "security", "nested-userns", "yes", nowhere);
	if (is_bwrap || is_asked(&security->tty_origin))
		ini_line(ini, "security", "tty", has_tty ? "keep" : "none",
			 security->tty_origin);
	for (size_t i = 0; i < security->keep_fds.count; i++)
		ini_line(ini, "security", "keep-fd",
			 arena_printf(ini->out->arena, "%d",
				      security->keep_fds.at[i]), nowhere);
	if (!plan->bring_up_loopback)
		ini_line(ini, "network", "loopback", "no", nowhere);
}

static void add_report(struct ini_writer *ini, const struct plan *plan)
{
	const struct plan_report *report = &plan->report;

	if (report->status_fd >= 0)
		ini_line(ini, "report", "status-fd",
			 arena_printf(ini->out->arena, "%d",
				      report->status_fd),
			 report->status_origin);
	ini_line(ini, "report", "status-file", report->status_file,
		 report->status_origin);
	ini_line(ini, "report", "audit-file", report->audit_file,
		 report->audit_origin);
	ini_line(ini, "report", "changes-file", report->changes_file,
		 report->changes_origin);
	ini_line(ini, "report", "run-id", report->run_id, nowhere);
	ini_line(ini, "report", "handle-id", report->handle_id, nowhere);
}

/* What only bubblewrap's language has, and a profile cannot say. */
static void check_bwrap(struct ini_writer *ini, const struct plan *plan)
{
	const struct plan_bwrap *bwrap = &plan->bwrap;
	const struct {
		const char *option;
		bool is_there;
	} rows[] = {
		{ "--level-prefix", bwrap->level_prefix },
		{ "--as-pid-1", bwrap->as_pid_1 },
		{ "--assert-userns-disabled", bwrap->assert_userns_disabled },
		{ "--not-a-security-boundary",
		  bwrap->not_a_security_boundary },
		{ "--cap-add or --cap-drop", bwrap->caps.count },
		{ "--lock-file", bwrap->lock_files.count },
		{ "--add-seccomp-fd", bwrap->seccomp_fds.count },
		{ "--seccomp", bwrap->seccomp_fd >= 0 },
		{ "--userns2", bwrap->userns2_fd >= 0 },
		{ "--block-fd", bwrap->block_fd >= 0 },
		{ "--userns-block-fd", bwrap->userns_block_fd >= 0 },
		{ "--info-fd", bwrap->info_fd >= 0 },
		{ "--json-status-fd", bwrap->json_status_fd >= 0 },
		{ "--sync-fd", bwrap->sync_fd >= 0 },
		{ "--exec-label", bwrap->exec_label },
		{ "--file-label", bwrap->file_label },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].is_there)
			ini_refuse(ini, nowhere, rows[i].option);
}

static void add_comments(struct text_buf *out, const struct plan *plan)
{
	if (plan->rules != PLAN_RULES_BWRAP)
		return;
	text_add(out, "# From bubblewrap's language.  A profile differs where "
		      "that is not said below:\n"
		      "# - the user namespace is always new, and all ends with "
		      "the command\n"
		      "# - / is read-only, /proc and /dev are mounted, /dev/shm "
		      "is its own\n"
		      "# - descriptors above 2 are closed unless kept "
		      "(keep-fd)\n"
		      "# - PATH, HOME and their like are set when nothing "
		      "sets them\n");
	if (plan->ns[NS_UTS].want != NS_WANT_HOST && !plan->hostname)
		text_add(out, "# - the host name is localhost\n");
	if (!plan->chdir)
		text_add(out, "# - it starts in /\n");
	text_add(out, "\n");
}

int print_ini(const struct plan *plan, struct text_buf *out,
	      struct error *err)
{
	const struct plan *usual = plan_new(out->arena, PLAN_RULES_PROFILE);
	struct ini_writer ini = { .out = out, .err = err };

	/* A profile of nothing but defaults is an empty text. */
	text_add(out, "");
	add_comments(out, plan);
	check_bwrap(&ini, plan);
	add_profile(&ini, plan);
	add_exec(&ini, plan);
	add_namespaces(&ini, plan);
	ini_operations(&ini, plan);
	ini_environment(&ini, plan);
	add_limits(&ini, plan);
	add_security(&ini, plan, usual);
	add_report(&ini, plan);
	return ini.result;
}
