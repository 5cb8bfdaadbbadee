/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan for programs. */
#include "print/print.h"

#include "plan/op_types.h"
#include "print/host.h"
#include "print/json_writer.h"
#include "print/names.h"

enum { JSON_SCHEMA = 1 };

static void json_strings(struct json_writer *json, const char *name,
			 const char *const *list, size_t count)
{
	json_open(json, name, '[');
	for (size_t i = 0; i < count; i++)
		json_string(json, NULL, list[i]);
	json_close(json, ']');
}

static void json_fds(struct json_writer *json, const char *name,
		     const int *list, size_t count)
{
	json_open(json, name, '[');
	for (size_t i = 0; i < count; i++)
		json_fd(json, NULL, list[i]);
	json_close(json, ']');
}

static void add_origin(struct json_writer *json, const struct origin *origin)
{
	json_string(json, "origin", origin_text(json->out->arena, origin));
}

static void add_profiles(struct json_writer *json, const struct plan *plan)
{
	json_open(json, "profiles", '[');
	for (size_t i = 0; i < plan->profiles.count; i++) {
		json_open(json, NULL, '{');
		json_string(json, "path", plan->profiles.at[i].path);
		json_string(json, "description",
			    plan->profiles.at[i].description);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void add_op(struct json_writer *json, const struct op *op)
{
	struct arena *arena = json->out->arena;

	json_open(json, NULL, '{');
	json_string(json, "operation", op_kind_name(op->kind));
	json_string(json, "phase", print_phase_name(op->phase));
	json_string(json, "role", print_role_name(op->role));
	json_string(json, "dest", op->dest);
	json_string(json, "realDest", op->real_dest);
	json_string(json, "source", op->source);
	json_string(json, "target", op->target);
	json_strings(json, "lowers", op->lowers.at, op->lowers.count);
	json_string(json, "upper", op->upper);
	json_string(json, "work", op->work);
	json_fd(json, "fd", op->fd);
	json_string(json, "mode", op->mode == OP_MODE_NONE ?
			  NULL : arena_printf(arena, "%04o", op->mode));
	json_number(json, "size", op->size);
	json_number(json, "inodes", op->inodes);
	json_bool(json, "readOnly", op->flags & OP_READ_ONLY);
	json_bool(json, "devices", op->flags & OP_DEVICES);
	json_bool(json, "optional", op->flags & OP_OPTIONAL);
	json_bool(json, "noFollow", op->flags & OP_NO_FOLLOW);
	json_bool(json, "idMapped", op->flags & OP_ID_MAPPED);
	add_origin(json, &op->origin);
	json_close(json, '}');
}

static void add_root(struct json_writer *json, const struct plan *plan)
{
	const struct plan_root *root = &plan->root;

	if (plan->rules != PLAN_RULES_PROFILE) {
		json_null(json, "root");
		return;
	}
	json_open(json, "root", '{');
	json_string(json, "source", root->is_none ? NULL :
			  root->source ? root->source : "/");
	json_bool(json, "system", root->has_system);
	add_origin(json, &root->origin);
	json_close(json, '}');
}

static void add_workspace(struct json_writer *json, const struct plan *plan)
{
	const struct plan_workspace *workspace = &plan->workspace;

	if (!workspace->source) {
		json_null(json, "workspace");
		return;
	}
	json_open(json, "workspace", '{');
	json_string(json, "source", workspace->source);
	json_string(json, "dest", workspace->dest);
	json_string(json, "mode", print_workspace_mode_name(workspace->mode));
	json_strings(json, "lowers", workspace->lowers.at,
		     workspace->lowers.count);
	json_string(json, "upper", workspace->upper);
	json_string(json, "work", workspace->work);
	json_open(json, "protect", '[');
	for (size_t i = 0; i < workspace->protects.count; i++)
		json_string(json, NULL, workspace->protects.at[i].path);
	json_close(json, ']');
	json_string(json, "export", workspace->export_dir);
	json_string(json, "commit", workspace->commits ? "on-success" :
		    "never");
	json_fd(json, "commitFd", workspace->commit_fd);
	add_origin(json, &workspace->origin);
	json_close(json, '}');
}

static const char *const want_names[] = {
	[NS_WANT_HOST] = "host",
	[NS_WANT_NEW] = "new",
	[NS_WANT_TRY] = "try",
	[NS_WANT_JOIN] = "join",
};

static void add_namespaces(struct json_writer *json, const struct plan *plan)
{
	json_open(json, "namespaces", '{');
	for (int kind = 0; kind < NS_COUNT; kind++) {
		const struct plan_ns *ns = &plan->ns[kind];

		json_open(json, print_ns_name((enum ns_kind)kind), '{');
		json_string(json, "want", want_names[ns->want]);
		json_bool(json, "alsoNew", ns->also_new);
		json_fd(json, "fd", ns->fd);
		add_origin(json, &ns->origin);
		json_close(json, '}');
	}
	json_close(json, '}');
	json_string(json, "hostname", plan->hostname);
	json_bool(json, "loopback", plan->bring_up_loopback);
}

static void add_id(struct json_writer *json, const char *name, bool has,
		   uint32_t id)
{
	if (has)
		json_number(json, name, id);
	else
		json_null(json, name);
}

static void add_ids(struct json_writer *json, const struct plan *plan)
{
	const struct plan_ids *ids = &plan->ids;
	bool has_run_id = ids->run_as == RUN_AS_ID;

	json_open(json, "ids", '{');
	add_id(json, "uid", ids->has_uid, ids->uid);
	add_id(json, "gid", ids->has_gid, ids->gid);
	json_string(json, "runAs", print_run_as_name(ids->run_as));
	add_id(json, "runUid", has_run_id, ids->run_uid);
	add_id(json, "runGid", has_run_id, ids->run_gid);
	add_origin(json, &ids->run_as_origin);
	json_close(json, '}');
}

static void add_environment(struct json_writer *json, const struct plan *plan)
{
	json_open(json, "environment", '[');
	for (size_t i = 0; i < plan->environment.count; i++) {
		const struct env_step *step = &plan->environment.at[i];

		json_open(json, NULL, '{');
		json_string(json, "step", print_env_name(step->kind));
		json_string(json, "name", step->name);
		json_string(json, "value",
			    step->kind == ENV_SET ? step->value : NULL);
		add_origin(json, &step->origin);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void add_limits(struct json_writer *json, const struct plan *plan)
{
	json_open(json, "limits", '{');
	for (int kind = 0; kind < LIMIT_COUNT; kind++) {
		const struct plan_limit *limit = &plan->limits[kind];

		if (!limit->is_set) {
			json_null(json, limit_names[kind]);
			continue;
		}
		json_open(json, limit_names[kind], '{');
		json_number(json, "value", limit->value);
		json_bool(json, "optional", limit->is_optional);
		if (kind == LIMIT_OUTPUT)
			json_bool(json, "note", limit->has_note);
		add_origin(json, &limit->origin);
		json_close(json, '}');
	}
	json_close(json, '}');
}

static const char *const seccomp_names[] = {
	[SECCOMP_NONE] = "none",
	[SECCOMP_DEFAULT] = "default",
	[SECCOMP_FROM_FILE] = "file",
};

static void add_security(struct json_writer *json, const struct plan *plan)
{
	const struct plan_security *security = &plan->security;

	json_open(json, "security", '{');
	json_string(json, "seccomp", seccomp_names[security->seccomp]);
	json_string(json, "seccompFile", security->seccomp_file);
	json_bool(json, "unixSockets", !security->deny_unix_sockets);
	json_bool(json, "nestedUserns", security->allow_nested_userns);
	json_string(json, "tty", print_tty_name(security->tty));
	json_bool(json, "keepAllFds", security->keep_all_fds);
	json_fds(json, "keepFds", security->keep_fds.at,
		 security->keep_fds.count);
	json_close(json, '}');
}

static void add_report(struct json_writer *json, const struct plan *plan)
{
	const struct plan_report *report = &plan->report;

	json_open(json, "report", '{');
	json_fd(json, "statusFd", report->status_fd);
	json_string(json, "statusFile", report->status_file);
	json_string(json, "auditFile", report->audit_file);
	json_string(json, "changesFile", report->changes_file);
	json_string(json, "runId", report->run_id);
	json_string(json, "handleId", report->handle_id);
	json_close(json, '}');
}

static void add_bwrap_lists(struct json_writer *json,
			    const struct plan_bwrap *bwrap)
{
	json_fds(json, "seccompFds", bwrap->seccomp_fds.at,
		 bwrap->seccomp_fds.count);
	json_strings(json, "lockFiles", bwrap->lock_files.at,
		     bwrap->lock_files.count);
	json_open(json, "capabilities", '[');
	for (size_t i = 0; i < bwrap->caps.count; i++) {
		const struct cap_step *step = &bwrap->caps.at[i];

		json_open(json, NULL, '{');
		json_string(json, "step", step->is_add ? "add" : "drop");
		json_string(json, "name",
			    print_cap_name(json->out->arena, step->cap));
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void add_bwrap(struct json_writer *json, const struct plan *plan)
{
	const struct plan_bwrap *bwrap = &plan->bwrap;

	json_open(json, "bwrap", '{');
	json_fd(json, "userns2Fd", bwrap->userns2_fd);
	json_fd(json, "blockFd", bwrap->block_fd);
	json_fd(json, "usernsBlockFd", bwrap->userns_block_fd);
	json_fd(json, "infoFd", bwrap->info_fd);
	json_fd(json, "jsonStatusFd", bwrap->json_status_fd);
	json_fd(json, "syncFd", bwrap->sync_fd);
	json_fd(json, "seccompFd", bwrap->seccomp_fd);
	add_bwrap_lists(json, bwrap);
	json_bool(json, "asPid1", bwrap->as_pid_1);
	json_bool(json, "newSession", bwrap->new_session);
	json_bool(json, "dieWithParent", bwrap->die_with_parent);
	json_bool(json, "disableUserns", bwrap->disable_userns);
	json_bool(json, "assertUsernsDisabled",
		  bwrap->assert_userns_disabled);
	json_bool(json, "notASecurityBoundary",
		  bwrap->not_a_security_boundary);
	json_bool(json, "levelPrefix", bwrap->level_prefix);
	json_string(json, "execLabel", bwrap->exec_label);
	json_string(json, "fileLabel", bwrap->file_label);
	json_close(json, '}');
}

static void add_command(struct json_writer *json, const struct plan *plan)
{
	json_open(json, "command", '[');
	for (size_t i = 0; i < plan->command.count; i++)
		json_string(json, NULL, plan->command.at[i]);
	json_close(json, ']');
	json_string(json, "argv0", plan->argv0);
	json_string(json, "interpreter", plan->interpreter);
	json_open(json, "arguments", '[');
	for (size_t i = 0; i < plan->arguments.count; i++)
		json_string(json, NULL, plan->arguments.at[i]);
	json_close(json, ']');
	if (plan->script_index)
		json_number(json, "scriptIndex", plan->script_index);
	else
		json_null(json, "scriptIndex");
	json_string(json, "chdir", plan->chdir);
}

int print_json(const struct plan *plan, struct text_buf *out,
	       struct error *err)
{
	return print_json_of_host(plan, NULL, out, err);
}

int print_json_of_host(const struct plan *plan, const struct survey *survey,
		       struct text_buf *out, struct error *err)
{
	struct json_writer json = { .out = out };

	json_open(&json, NULL, '{');
	json_number(&json, "schema", JSON_SCHEMA);
	json_string(&json, "rules", plan->rules == PLAN_RULES_PROFILE ?
			   "profile" : "bubblewrap");
	add_profiles(&json, plan);
	add_root(&json, plan);
	add_workspace(&json, plan);
	json_open(&json, "operations", '[');
	for (size_t i = 0; i < plan->ops.count; i++)
		add_op(&json, &plan->ops.at[i]);
	json_close(&json, ']');
	add_namespaces(&json, plan);
	add_ids(&json, plan);
	add_environment(&json, plan);
	add_limits(&json, plan);
	add_security(&json, plan);
	add_report(&json, plan);
	add_bwrap(&json, plan);
	add_command(&json, plan);
	if (survey)
		host_json(&json, plan, survey);
	json_close(&json, '}');
	text_add(out, "\n");
	return 0;
}
