/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The plan in bubblewrap's language.
 *
 * The order of the words is ours, but for what bubblewrap does in the order
 * of its words: operations, environment, capabilities.  What the plan holds
 * and the language does not is refused when somebody asked for it, and listed
 * in comments when it is a default of the profile's rules.
 */
#include "print/print.h"

#include "print/bwrap_ops.h"
#include "print/names.h"

#include <assert.h>

void print_bwrap_option(struct print_words *words, const char *name)
{
	*arena_push(words->arena, &words->starts) = words->words.count;
	print_bwrap_word(words, name);
}

void print_bwrap_word(struct print_words *words, const char *word)
{
	*arena_push(words->arena, &words->words) = word;
}

void print_bwrap_number(struct print_words *words, long long number)
{
	print_bwrap_word(words, arena_printf(words->arena, "%lld", number));
}

int print_no_word(struct arena *arena, const struct origin *origin,
		  const char *what, const char *language, struct error *err)
{
	int r = error_set(err, 0, "%s: %s has no words for %s",
			  origin_text(arena, origin), language, what);

	error_reason(err, "not-printable");
	return r;
}

static int no_word(const struct print_words *words,
		   const struct origin *origin, const char *what,
		   struct error *err)
{
	return print_no_word(words->arena, origin, what, "bubblewrap", err);
}

static void add_text(struct print_words *words, const char *option,
		     const char *value)
{
	if (!value)
		return;
	print_bwrap_option(words, option);
	print_bwrap_word(words, value);
}

static void add_fd(struct print_words *words, const char *option, int fd)
{
	if (fd < 0)
		return;
	print_bwrap_option(words, option);
	print_bwrap_number(words, fd);
}

static void add_switch(struct print_words *words, const char *option,
		       bool is_on)
{
	if (is_on)
		print_bwrap_option(words, option);
}

/* The options that give a namespace, by what is wanted; NULL: none does. */
struct ns_row {
	const char *options[NS_WANT_JOIN + 1];
};

static const struct ns_row ns_rows[] = {
	[NS_USER] = { { [NS_WANT_NEW] = "--unshare-user",
			[NS_WANT_TRY] = "--unshare-user-try",
			[NS_WANT_JOIN] = "--userns" } },
	[NS_MOUNT] = { { NULL } },
	[NS_PID] = { { [NS_WANT_NEW] = "--unshare-pid",
		       [NS_WANT_JOIN] = "--pidns" } },
	[NS_NET] = { { [NS_WANT_NEW] = "--unshare-net" } },
	[NS_IPC] = { { [NS_WANT_NEW] = "--unshare-ipc" } },
	[NS_UTS] = { { [NS_WANT_NEW] = "--unshare-uts" } },
	[NS_CGROUP] = { { [NS_WANT_NEW] = "--unshare-cgroup",
			  [NS_WANT_TRY] = "--unshare-cgroup-try" } },
};
static_assert(ARRAY_SIZE(ns_rows) == NS_COUNT, "a row for each namespace");

static int add_namespaces(struct print_words *words, const struct plan *plan,
			  struct error *err)
{
	for (int kind = 0; kind < NS_COUNT; kind++) {
		const struct plan_ns *ns = &plan->ns[kind];
		const char *option = ns_rows[kind].options[ns->want];

		if (ns->want == NS_WANT_HOST || kind == NS_MOUNT)
			continue;
		if (!option)
			return no_word(words, &ns->origin, "this namespace",
				       err);
		print_bwrap_option(words, option);
		if (ns->want == NS_WANT_JOIN)
			print_bwrap_number(words, ns->fd);
		if (ns->also_new)
			print_bwrap_option(words,
					   ns_rows[kind].options[NS_WANT_NEW]);
	}
	if (plan->ns[NS_NET].want == NS_WANT_NEW && !plan->bring_up_loopback)
		return no_word(words, &plan->ns[NS_NET].origin,
			       "a loopback that is down", err);
	return 0;
}

static int add_ids(struct print_words *words, const struct plan *plan,
		   struct error *err)
{
	const struct plan_ids *ids = &plan->ids;

	if (ids->has_uid) {
		print_bwrap_option(words, "--uid");
		print_bwrap_number(words, ids->uid);
	}
	if (ids->has_gid) {
		print_bwrap_option(words, "--gid");
		print_bwrap_number(words, ids->gid);
	}
	add_text(words, "--hostname", plan->hostname);
	if (ids->run_as == RUN_AS_ID ||
	    (ids->run_as == RUN_AS_AUTO &&
	     ids->run_as_origin.kind != ORIGIN_BUILTIN))
		return no_word(words, &ids->run_as_origin,
			       "another id on the host (run-as)", err);
	return 0;
}

static int add_environment(struct print_words *words, const struct plan *plan,
			   struct error *err)
{
	for (size_t i = 0; i < plan->environment.count; i++) {
		const struct env_step *step = &plan->environment.at[i];

		switch (step->kind) {
		case ENV_CLEAR:
			print_bwrap_option(words, "--clearenv");
			break;
		case ENV_KEEP:
			return no_word(words, &step->origin,
				       arena_printf(words->arena,
						    "keeping '%s' in the "
						    "environment", step->name),
				       err);
		case ENV_SET:
			add_text(words, "--setenv", step->name);
			print_bwrap_word(words, step->value);
			break;
		case ENV_UNSET:
			add_text(words, "--unsetenv", step->name);
			break;
		}
	}
	return 0;
}

static int check_limits(struct print_words *words, const struct plan *plan,
			struct error *err)
{
	for (int kind = 0; kind < LIMIT_COUNT; kind++) {
		const struct plan_limit *limit = &plan->limits[kind];

		if (limit->is_set && limit->origin.kind != ORIGIN_BUILTIN)
			return no_word(words, &limit->origin,
				       arena_printf(words->arena,
						    "the limit '%s'",
						    limit_names[kind]), err);
	}
	return 0;
}

struct report_row {
	const char *what;
	const struct origin *origin;
	bool is_asked;
};

static int check_report(struct print_words *words, const struct plan *plan,
			struct error *err)
{
	static const struct origin nowhere = { .kind = ORIGIN_BUILTIN };
	const struct plan_report *report = &plan->report;
	const struct plan_workspace *workspace = &plan->workspace;
	const struct report_row rows[] = {
		{ "a status record", &report->status_origin,
		  report->status_fd >= 0 || report->status_file },
		{ "an audit record", &report->audit_origin,
		  report->audit_file },
		{ "a record of changes", &report->changes_origin,
		  report->changes_file },
		{ "a run id", &nowhere, report->run_id },
		{ "a handle id", &nowhere, report->handle_id },
		{ "exporting the workspace", &workspace->origin,
		  workspace->export_dir },
		{ "committing the workspace", &workspace->commit_origin,
		  workspace->commits },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].is_asked)
			return no_word(words, rows[i].origin, rows[i].what,
				       err);
	return 0;
}

static int add_security(struct print_words *words, const struct plan *plan,
			struct error *err)
{
	const struct plan_security *security = &plan->security;

	if (security->seccomp != SECCOMP_NONE &&
	    (security->seccomp == SECCOMP_FROM_FILE ||
	     security->seccomp_origin.kind != ORIGIN_BUILTIN))
		return no_word(words, &security->seccomp_origin,
			       "a filter that is not a descriptor", err);
	if (security->deny_unix_sockets)
		return no_word(words, &security->unix_origin,
			       "denying AF_UNIX sockets", err);
	add_switch(words, "--new-session", plan->bwrap.new_session ||
					   security->tty == TTY_NONE);
	add_switch(words, "--die-with-parent",
		   plan->bwrap.die_with_parent ||
		   plan->rules == PLAN_RULES_PROFILE);
	add_switch(words, "--disable-userns", plan->bwrap.disable_userns ||
					      !security->allow_nested_userns);
	return 0;
}

static void add_lists(struct print_words *words,
		      const struct plan_bwrap *bwrap)
{
	for (size_t i = 0; i < bwrap->caps.count; i++)
		add_text(words, bwrap->caps.at[i].is_add ? "--cap-add" :
							   "--cap-drop",
			 print_cap_name(words->arena, bwrap->caps.at[i].cap));
	for (size_t i = 0; i < bwrap->lock_files.count; i++)
		add_text(words, "--lock-file", bwrap->lock_files.at[i]);
	for (size_t i = 0; i < bwrap->seccomp_fds.count; i++)
		add_fd(words, "--add-seccomp-fd", bwrap->seccomp_fds.at[i]);
}

static void add_settings(struct print_words *words, const struct plan *plan)
{
	const struct plan_bwrap *bwrap = &plan->bwrap;

	add_switch(words, "--level-prefix", bwrap->level_prefix);
	add_switch(words, "--as-pid-1", bwrap->as_pid_1);
	add_switch(words, "--assert-userns-disabled",
		   bwrap->assert_userns_disabled);
	add_switch(words, "--not-a-security-boundary",
		   bwrap->not_a_security_boundary);
	add_lists(words, bwrap);
	add_fd(words, "--userns2", bwrap->userns2_fd);
	add_fd(words, "--block-fd", bwrap->block_fd);
	add_fd(words, "--userns-block-fd", bwrap->userns_block_fd);
	add_fd(words, "--info-fd", bwrap->info_fd);
	add_fd(words, "--json-status-fd", bwrap->json_status_fd);
	add_fd(words, "--sync-fd", bwrap->sync_fd);
	add_fd(words, "--seccomp", bwrap->seccomp_fd);
	add_text(words, "--exec-label", bwrap->exec_label);
	add_text(words, "--file-label", bwrap->file_label);
	add_text(words, "--chdir", plan->chdir);
	add_text(words, "--argv0", plan->argv0);
}

typedef int (*section_fn)(struct print_words *words, const struct plan *plan,
			  struct error *err);

static const section_fn sections[] = {
	add_namespaces, add_ids, check_limits, check_report, add_security,
	add_environment, print_bwrap_ops,
};

int print_bwrap_words(const struct plan *plan, struct print_words *ret_words,
		      struct error *err)
{
	struct print_words words = { .arena = plan->arena };

	print_bwrap_word(&words, "bwrap");
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		int r = sections[i](&words, plan, err);

		if (r < 0)
			return r;
	}
	add_settings(&words, plan);
	print_bwrap_option(&words, "--");
	for (size_t i = 0; i < plan->command.count; i++)
		print_bwrap_word(&words, plan->command.at[i]);
	*ret_words = words;
	return 0;
}

/* Defaults of the profile's rules that the command line does not have. */
static void add_comments(struct text_buf *out, const struct plan *plan)
{
	if (plan->rules != PLAN_RULES_PROFILE)
		return;
	text_add(out, "# Not in bubblewrap's language, and so not below:\n"
		      "# - descriptors above 2 are closed\n"
		      "# - a mask over what is missing is skipped\n"
		      "# - a workspace that is a symbolic link is refused\n");
	if (plan->ids.run_as == RUN_AS_AUTO)
		text_add(out, "# - started by root, the payload gets an "
			      "unprivileged host id\n");
	if (plan->security.seccomp == SECCOMP_DEFAULT)
		text_add(out, "# - the default filter of system calls\n");
	for (int kind = 0; kind < LIMIT_COUNT; kind++)
		if (plan->limits[kind].is_set)
			text_addf(out, "# - the limit '%s' = %s\n",
				  limit_names[kind],
				  print_limit_value(out->arena,
						    (enum limit_kind)kind,
						    plan->limits[kind].value));
}

int print_bwrap(const struct plan *plan, struct text_buf *out,
		struct error *err)
{
	struct print_words words;
	size_t next_start = 0;
	int r = print_bwrap_words(plan, &words, err);

	if (r < 0)
		return r;
	add_comments(out, plan);
	for (size_t i = 0; i < words.words.count; i++) {
		if (next_start < words.starts.count &&
		    i == words.starts.at[next_start]) {
			text_add(out, " \\\n ");
			next_start++;
		}
		if (i)
			text_add(out, " ");
		text_add_shell_word(out, words.words.at[i]);
	}
	text_add(out, "\n");
	return 0;
}
