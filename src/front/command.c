/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is to run, seen from inside before anything is made: the kernel's
 * "No such file or directory" does not say which mask was in the way.
 */
#include "front/command.h"

#include "base/text.h"
#include "front/interpreter.h"
#include "front/view.h"

#include <string.h>

/* What to show of a hidden file: its directory, if the mask is not that. */
static const char *layer_for(const struct plan *plan, const struct view *view)
{
	const char *slash = strrchr(view->path, '/');
	const char *directory = arena_strndup(plan->arena, view->path,
					      (size_t)(slash - view->path));

	return path_depth(directory) > path_depth(op_place(view->op))
		? directory : view->path;
}

static int check_directory(const struct plan *plan, struct error *err)
{
	struct view view = view_look(plan, plan->chdir);
	int r = 0;

	if (view.kind == VIEW_THERE && !S_ISDIR(view.info.st_mode))
		r = error_set(err, ENOTDIR, "working directory '%s'",
			      plan->chdir);
	else if (view.kind != VIEW_THERE && view.kind != VIEW_MADE &&
		 view.kind != VIEW_UNKNOWN)
		r = view_refuse(plan, "working directory", plan->chdir, &view,
				err);
	if (r < 0) {
		if (view.kind == VIEW_HIDDEN)
			error_remedy(err, "add 'layer = %s' to [layers]",
				     plan->chdir);
		else if (!view_hangs(&view))
			error_reason(err, "working-directory");
		error_status(err, ERROR_STATUS_LAUNCHER);
		if (plan->chdir_origin.kind != ORIGIN_BUILTIN)
			error_wrap(err, "%s", origin_text(plan->arena,
							  &plan->chdir_origin));
	}
	return r;
}

static int check_script(const struct plan *plan, struct error *err)
{
	const char *script = plan->command.at[plan->script_index];
	const char *path = path_join(plan->arena, plan->chdir, script);
	struct view view = view_look(plan, path);
	int r;

	if (!*script) {
		r = error_set(err, ENOENT, "script ''");
		error_status(err, ERROR_STATUS_NOT_FOUND);
		error_reason(err, "not-found");
		return r;
	}
	/* A directory can be a script, too: Python looks for __main__.py. */
	if (view.kind == VIEW_THERE || view.kind == VIEW_MADE ||
	    view.kind == VIEW_UNKNOWN)
		return 0;
	r = view_refuse(plan, "script", path, &view, err);
	if (view.kind == VIEW_HIDDEN)
		error_remedy(err, "put it into the workspace, or add 'layer = "
			     "%s' to [layers]",
			     layer_for(plan, &view));
	else if (*script != '/' && !view_hangs(&view))
		error_remedy(err, "a relative script is looked up in the "
			     "working directory inside, '%s'", plan->chdir);
	return r;
}

/* A command named by its path; a bare name is looked up inside, at the end. */
static int check_program(const struct plan *plan, struct error *err)
{
	const char *path = plan->command.at[0];
	struct view view;
	int r;

	if (!strchr(path, '/'))
		return 0;
	path = path_join(plan->arena, plan->chdir, path);
	view = view_look(plan, path);
	if (view.kind != VIEW_HIDDEN)
		return 0;
	r = view_refuse(plan, "command", path, &view, err);
	error_remedy(err, "add 'layer = %s' to [layers]",
		     layer_for(plan, &view));
	return r;
}

int command_check(struct plan *plan, struct error *err)
{
	int r;

	if (plan->rules != PLAN_RULES_PROFILE)
		return 0;
	r = check_directory(plan, err);
	if (r >= 0 && plan->interpreter)
		r = interpreter_find(plan, err);
	else if (r >= 0 && plan->command.count)
		r = check_program(plan, err);
	if (r >= 0 && plan->script_index)
		r = check_script(plan, err);
	return r;
}

void command_explain(const struct plan *plan, struct error *err)
{
	const char *name = plan->command.count ? plan->command.at[0] : "/";
	const char *path = NULL;
	struct error ignored;
	struct view view;

	if (*err->remedy || err->status != ERROR_STATUS_NOT_FOUND)
		return;
	if (plan->rules == PLAN_RULES_BWRAP && !plan->ops.count)
		error_remedy(err, "nothing of the host is shown: name a "
			     "profile (--profile py), or bind something "
			     "(--ro-bind / /)");
	if (plan->rules != PLAN_RULES_PROFILE || strchr(name, '/') ||
	    interpreter_search(plan->arena, name, &path, &ignored) < 0)
		return;
	view = view_look(plan, path);
	if (view.kind == VIEW_HIDDEN)
		error_remedy(err, "'%s' is hidden by mask '%s' (%s): add "
			     "'layer = %s' to [layers], and name it by its "
			     "path", path, view.op->dest,
			     origin_text(plan->arena, &view.op->origin),
			     layer_for(plan, &view));
	else if (view.kind == VIEW_THERE)
		error_remedy(err, "'%s' is not along the PATH inside: name it "
			     "by its path, or set PATH in [setenv]", path);
}
