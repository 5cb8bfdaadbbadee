/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The host runs and obeys files: those of the system, of the caller's home
 * directory, the profile and its filter, the launcher.  What a payload can
 * write is compared with the directories on the way to each of them, by inode,
 * since there are many names for one directory.
 *
 * Written is what is mounted writable, an overlay's upper layer, and the
 * lower layer that a commit changes after the end.
 */
#include "plan/trust.h"

#include "base/text.h"

#include <string.h>

struct written {
	const char *path;
	struct file_id id; /* all zero: not known */
	const struct origin *origin;
	bool is_workspace;
};

struct writings {
	struct written *at;
	size_t count, cap;
};

static int refuse(const struct plan *plan, const struct origin *origin,
		  const char *reason, const char *remedy, const char *text,
		  struct error *err)
{
	error_set(err, 0, "%s: %s", origin_text(plan->arena, origin), text);
	error_reason(err, reason);
	error_remedy(err, "%s", remedy);
	return error_result(err);
}

static const char *written_by(const struct op *op)
{
	if (op->kind == OP_OVERLAY)
		return op->upper;
	return op->kind == OP_BIND && !(op->flags & OP_READ_ONLY) ?
	       op->source : NULL;
}

static void add(const struct plan *plan, struct writings *ret_list,
		const char *path, const struct file_id *id,
		const struct origin *origin, bool is_workspace)
{
	if (path)
		*arena_push(plan->arena, ret_list) = (struct written){
			path, *id, origin, is_workspace,
		};
}

static void list_written(const struct plan *plan, struct writings *ret_list)
{
	const struct plan_workspace *workspace = &plan->workspace;

	if (workspace->mode == WORKSPACE_RW)
		add(plan, ret_list, workspace->source, &workspace->source_id,
		    &workspace->origin, true);
	if (workspace->mode == WORKSPACE_OVERLAY)
		add(plan, ret_list, workspace->upper, &workspace->source_id,
		    &workspace->upper_origin, true);
	add(plan, ret_list, plan_commit_target(plan), &workspace->target_id,
	    &workspace->commit_origin, true);
	for (size_t i = 0; i < plan->ops.count; i++) {
		const struct op *op = &plan->ops.at[i];

		if (op->role != ROLE_WORKSPACE)
			add(plan, ret_list, written_by(op), &op->source_id,
			    &op->origin, false);
	}
}

/* Is @written the file of @kept, or a directory on the way to it? */
static bool holds(const struct written *written,
		  const struct profile_file *kept)
{
	for (size_t i = 0; written->id.inode && i < kept->chain.count; i++)
		if (kept->chain.at[i].device == written->id.device &&
		    kept->chain.at[i].inode == written->id.inode)
			return true;
	return false;
}

/*
 * What the machine is made of.  Root's payload would write there with the
 * rights of the directory's owner.
 */
static bool is_of_the_system(const char *path)
{
	static const char *const directories[] = {
		"/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib",
		"/lib32", "/lib64", "/libx32", "/proc", "/run", "/sbin",
		"/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/local",
		"/usr/sbin", "/usr/share", "/var", "/var/lib",
	};

	for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
		if (!strcmp(path, directories[i]))
			return true;
	return false;
}

static int workspace_is_not_the_system(const struct plan *plan,
				       const struct written *written,
				       struct error *err)
{
	if (!written->is_workspace ||
	    !is_of_the_system(path_normalise(plan->arena, written->path)))
		return 0;
	return refuse(plan, written->origin, "plan", "use a directory below "
		      "it, or elsewhere; 'mode = ro' and 'mode = ephemeral' "
		      "change nothing in it",
		      arena_printf(plan->arena, "'%s' is a directory of the "
				   "system and no workspace to write to",
				   written->path), err);
}

/* Shells, editors and ssh obey what lies there, and it holds the keys. */
static int workspace_is_not_a_home(const struct plan *plan,
				   const struct written *written,
				   struct error *err)
{
	for (size_t i = 0; i < plan->homes.count; i++) {
		const struct profile_file *home = &plan->homes.at[i];

		if (!written->is_workspace || !holds(written, home))
			continue;
		return refuse(plan, written->origin, "plan",
			      "use a directory below the home directory; 'mode "
			      "= ro' and 'mode = ephemeral' change nothing in "
			      "it",
			      arena_printf(plan->arena, "'%s' is no workspace "
					   "to write to: your home directory, "
					   "'%s', is or lies below it",
					   written->path, home->path), err);
	}
	return 0;
}

/* A payload that writes its own profile writes the next run's rules. */
static int profiles_are_out_of_reach(const struct plan *plan,
				     const struct written *written,
				     struct error *err)
{
	for (size_t i = 0; i < plan->profiles.count; i++) {
		const struct profile_file *profile = &plan->profiles.at[i];

		if (!holds(written, profile))
			continue;
		return refuse(plan, written->origin, "profile-trust",
			      "keep profiles out of workspaces",
			      arena_printf(plan->arena, "profile '%s' lies "
					   "below '%s', which the sandbox can "
					   "write", profile->path,
					   written->path), err);
	}
	return 0;
}

/* What it puts in the launcher's place is run on the host the next time. */
static int launcher_is_out_of_reach(const struct plan *plan,
				    const struct written *written,
				    struct error *err)
{
	if (!holds(written, &plan->launcher))
		return 0;
	return refuse(plan, written->origin, "launcher-trust",
		      "install it elsewhere, or use another workspace",
		      arena_printf(plan->arena, "sbx-launch itself, '%s', "
				   "lies below '%s', which the sandbox can "
				   "write", plan->launcher.path,
				   written->path), err);
}

/* One that can write its filter writes what the next run is kept from. */
static int filter_is_out_of_reach(const struct plan *plan,
				  const struct written *written,
				  struct error *err)
{
	if (!holds(written, &plan->filter))
		return 0;
	return refuse(plan, &plan->security.seccomp_origin, "profile-trust",
		      "keep filters out of workspaces",
		      arena_printf(plan->arena, "filter '%s' lies below '%s', "
				   "which the sandbox can write",
				   plan->filter.path, written->path), err);
}

/* A payload that can write the books can falsify them. */
static int books_are_out_of_reach(const struct plan *plan,
				  const struct written *written,
				  struct error *err)
{
	const struct plan_report *report = &plan->report;

	if (!report->audit_file ||
	    !path_is_below(path_normalise(plan->arena, report->audit_file),
			   path_normalise(plan->arena, written->path)))
		return 0;
	return refuse(plan, &report->audit_origin, "plan",
		      "write it to a directory that no sandbox can write",
		      arena_printf(plan->arena, "audit-file '%s' lies below "
				   "'%s', which the sandbox can write",
				   report->audit_file, written->path), err);
}

int trust_check(const struct plan *plan, struct error *err)
{
	static int (*const rules[])(const struct plan *,
				    const struct written *,
				    struct error *) = {
		workspace_is_not_the_system, profiles_are_out_of_reach,
		launcher_is_out_of_reach, filter_is_out_of_reach,
		workspace_is_not_a_home, books_are_out_of_reach,
	};
	struct writings written = { NULL };
	int r = 0;

	list_written(plan, &written);
	for (size_t i = 0; !r && i < ARRAY_SIZE(rules); i++)
		for (size_t j = 0; !r && j < written.count; j++)
			r = rules[i](plan, &written.at[j], err);
	return r;
}
