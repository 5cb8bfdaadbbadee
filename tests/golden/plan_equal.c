/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan_equal.h"

#include <string.h>

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

#define SAME_LIST(a, b, is_same)                                              \
	({                                                                    \
		bool same_ = (a).count == (b).count;                          \
		for (size_t i = 0; same_ && i < (a).count; i++)               \
			same_ = is_same((a).at[i], (b).at[i]);                \
		same_;                                                        \
	})
#define IS_SAME(a, b) ((a) == (b))

static bool same_op(const struct op *a, const struct op *b)
{
	return a->kind == b->kind && a->phase == b->phase &&
	       a->role == b->role && a->flags == b->flags &&
	       a->fd == b->fd && a->mode == b->mode && a->size == b->size &&
	       a->inodes == b->inodes && same(a->dest, b->dest) &&
	       same(a->source, b->source) && same(a->target, b->target) &&
	       same(a->upper, b->upper) && same(a->work, b->work) &&
	       SAME_LIST(a->lowers, b->lowers, same);
}

static bool same_step(const struct env_step *a, const struct env_step *b)
{
	return a->kind == b->kind && same(a->name, b->name) &&
	       (a->kind != ENV_SET || same(a->value, b->value));
}

static bool same_ns(const struct plan *a, const struct plan *b)
{
	for (int kind = 0; kind < NS_COUNT; kind++)
		if (a->ns[kind].want != b->ns[kind].want ||
		    a->ns[kind].also_new != b->ns[kind].also_new ||
		    a->ns[kind].fd != b->ns[kind].fd)
			return false;
	return true;
}

static bool same_ids(const struct plan_ids *a, const struct plan_ids *b)
{
	return a->has_uid == b->has_uid && a->has_gid == b->has_gid &&
	       (!a->has_uid || a->uid == b->uid) &&
	       (!a->has_gid || a->gid == b->gid) && a->run_as == b->run_as &&
	       a->run_uid == b->run_uid && a->run_gid == b->run_gid;
}

static bool same_limits(const struct plan *a, const struct plan *b)
{
	for (int kind = 0; kind < LIMIT_COUNT; kind++)
		if (a->limits[kind].is_set != b->limits[kind].is_set ||
		    a->limits[kind].is_optional != b->limits[kind].is_optional ||
		    a->limits[kind].has_note != b->limits[kind].has_note ||
		    a->limits[kind].value != b->limits[kind].value)
			return false;
	return true;
}

static bool same_security(const struct plan_security *a,
			  const struct plan_security *b)
{
	return a->seccomp == b->seccomp &&
	       same(a->seccomp_file, b->seccomp_file) &&
	       a->deny_unix_sockets == b->deny_unix_sockets &&
	       a->allow_nested_userns == b->allow_nested_userns &&
	       a->tty == b->tty && a->keep_all_fds == b->keep_all_fds &&
	       SAME_LIST(a->keep_fds, b->keep_fds, IS_SAME);
}

static bool same_protect(struct workspace_protect a, struct workspace_protect b)
{
	return same(a.path, b.path);
}

static bool same_workspace(const struct plan_workspace *a,
			   const struct plan_workspace *b)
{
	return same(a->source, b->source) && same(a->dest, b->dest) &&
	       a->mode == b->mode && same(a->upper, b->upper) &&
	       same(a->work, b->work) && same(a->export_dir, b->export_dir) &&
	       a->commits == b->commits && a->commit_fd == b->commit_fd &&
	       SAME_LIST(a->lowers, b->lowers, same) &&
	       SAME_LIST(a->protects, b->protects, same_protect);
}

static bool same_report(const struct plan_report *a,
			const struct plan_report *b)
{
	return a->status_fd == b->status_fd &&
	       same(a->status_file, b->status_file) &&
	       same(a->audit_file, b->audit_file) &&
	       same(a->changes_file, b->changes_file) &&
	       same(a->run_id, b->run_id) && same(a->handle_id, b->handle_id);
}

static bool same_cap(struct cap_step a, struct cap_step b)
{
	return a.is_add == b.is_add && a.cap == b.cap;
}

static bool same_bwrap(const struct plan_bwrap *a, const struct plan_bwrap *b)
{
	return a->userns2_fd == b->userns2_fd && a->block_fd == b->block_fd &&
	       a->userns_block_fd == b->userns_block_fd &&
	       a->info_fd == b->info_fd &&
	       a->json_status_fd == b->json_status_fd &&
	       a->sync_fd == b->sync_fd && a->seccomp_fd == b->seccomp_fd &&
	       a->as_pid_1 == b->as_pid_1 &&
	       a->new_session == b->new_session &&
	       a->die_with_parent == b->die_with_parent &&
	       a->disable_userns == b->disable_userns &&
	       a->assert_userns_disabled == b->assert_userns_disabled &&
	       a->not_a_security_boundary == b->not_a_security_boundary &&
	       a->level_prefix == b->level_prefix &&
	       same(a->exec_label, b->exec_label) &&
	       same(a->file_label, b->file_label) &&
	       SAME_LIST(a->seccomp_fds, b->seccomp_fds, IS_SAME) &&
	       SAME_LIST(a->lock_files, b->lock_files, same) &&
	       SAME_LIST(a->caps, b->caps, same_cap);
}

static bool same_command(const struct plan *a, const struct plan *b)
{
	return SAME_LIST(a->command, b->command, same) &&
	       SAME_LIST(a->arguments, b->arguments, same) &&
	       same(a->argv0, b->argv0) &&
	       same(a->interpreter, b->interpreter) &&
	       a->script_index == b->script_index && same(a->chdir, b->chdir);
}

#define SAME_POINTED(a, b) same_op(&(a), &(b))
#define SAME_STEP(a, b) same_step(&(a), &(b))

const char *plan_difference(const struct plan *a, const struct plan *b)
{
	if (a->rules != b->rules)
		return "rules";
	if (!SAME_LIST(a->ops, b->ops, SAME_POINTED))
		return "ops";
	if (!same(a->root.source, b->root.source) ||
	    a->root.is_none != b->root.is_none ||
	    a->root.has_system != b->root.has_system)
		return "root";
	if (!same_workspace(&a->workspace, &b->workspace))
		return "workspace";
	if (!same_ns(a, b))
		return "ns";
	if (!same_ids(&a->ids, &b->ids))
		return "ids";
	if (!same(a->hostname, b->hostname) ||
	    a->bring_up_loopback != b->bring_up_loopback)
		return "hostname, loopback";
	if (!same_limits(a, b))
		return "limits";
	if (!same_security(&a->security, &b->security))
		return "security";
	if (!same_report(&a->report, &b->report))
		return "report";
	if (!same_bwrap(&a->bwrap, &b->bwrap))
		return "bwrap";
	if (!same_command(a, b))
		return "command";
	/* Last, so that whoever may fold steps knows that the rest is equal. */
	if (!SAME_LIST(a->environment, b->environment, SAME_STEP))
		return "environment";
	return NULL;
}
