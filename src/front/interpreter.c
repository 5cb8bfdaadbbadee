/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The interpreter that the caller means is the one that runs.  A mask over
 * its installation must not turn a bare `python3` into the next one along
 * PATH, so it is settled here, on the host, and looked up inside by its full
 * path.
 */
#include "front/interpreter.h"

#include "base/text.h"
#include "front/answer.h"
#include "front/view.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

static bool is_program(const char *path)
{
	struct stat info;

	return !stat(path, &info) && S_ISREG(info.st_mode) &&
	       !access(path, X_OK);
}

static int at_origin(const struct plan *plan, struct error *err)
{
	return error_wrap(err, "%s", origin_text(plan->arena,
						 &plan->interpreter_origin));
}

static int not_found(const struct plan *plan, struct error *err)
{
	error_status(err, ERROR_STATUS_NOT_FOUND);
	error_reason(err, "not-found");
	return at_origin(plan, err);
}

int interpreter_search(struct arena *arena, const char *name,
		       const char **ret_path, struct error *err)
{
	const char *path = getenv("PATH");

	for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin";
	     *at;) {
		size_t length = strcspn(at, ":");
		const char *candidate;

		if (*at == '/') {
			candidate = arena_printf(arena, "%.*s/%s",
						 (int)length, at, name);
			if (answer_await(arena, candidate, err) < 0)
				return error_result(err);
			if (is_program(candidate)) {
				*ret_path = path_normalise(arena, candidate);
				return 0;
			}
		}
		at += length + (at[length] == ':');
	}
	return error_set(err, ENOENT, "interpreter '%s' is not found along "
			 "PATH", name);
}

static int absolute_path(const struct plan *plan, const char **ret_path,
			 struct error *err)
{
	auto_free char *cwd = NULL;

	if (!strchr(plan->interpreter, '/')) {
		int r = interpreter_search(plan->arena, plan->interpreter,
					   ret_path, err);

		return r == -ENOENT ? not_found(plan, err) :
		       r < 0 ? at_origin(plan, err) : 0;
	}
	if (*plan->interpreter == '/') {
		*ret_path = path_normalise(plan->arena, plan->interpreter);
		return 0;
	}
	cwd = getcwd(NULL, 0);
	if (!cwd)
		return error_set(err, errno, "cannot name the current "
				 "directory");
	*ret_path = path_normalise(plan->arena,
				   path_join(plan->arena, cwd,
					     plan->interpreter));
	return 0;
}

/* The value of `home` in pyvenv.cfg, or NULL. */
static const char *read_home(struct arena *arena, const char *config)
{
	auto_close int fd = -EBADF;
	char text[4096];
	ssize_t size;

	if (answer_comes(config))
		fd = open(config, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	size = read(fd, text, sizeof(text) - 1);
	if (size <= 0)
		return NULL;
	text[size] = '\0';
	for (char *line = text; line;) {
		char *next = strchr(line, '\n'), *value;

		if (next)
			*next++ = '\0';
		value = strchr(line, '=');
		if (value) {
			size_t length = strcspn(line, " \t=");

			value += 1 + strspn(value + 1, " \t");
			if (length == 4 && !strncasecmp(line, "home", 4) &&
			    *value == '/')
				return arena_strndup(arena, value,
						     strcspn(value, "\r"));
		}
		line = next;
	}
	return NULL;
}

/* @path without its last @levels components, as far as there are any. */
static char *above(const struct plan *plan, const char *path, int levels)
{
	char *top = arena_strdup(plan->arena, path);

	while (levels-- > 0) {
		char *slash = strrchr(top, '/');

		if (!slash || slash == top)
			break;
		*slash = '\0';
	}
	return top;
}

/*
 * The line that shows a hidden @program: its installation, X of
 * X/bin/program.  Where that is as much as @mask itself, its directory.
 */
static void remedy_layer(const struct plan *plan, const char *program,
			 const struct op *mask, struct error *err)
{
	const char *prefix = above(plan, program, 2), *base;
	const char *key = "prefix";

	if (path_depth(prefix) <= path_depth(op_place(mask))) {
		error_remedy(err, "add 'layer = %s' to [layers], or remove the "
			     "mask", above(plan, program, 1));
		return;
	}
	/* `prefix` is left for a base that has to be let in besides. */
	base = read_home(plan->arena,
			 path_join(plan->arena, prefix, "pyvenv.cfg"));
	if (base && view_look(plan, base).kind == VIEW_HIDDEN)
		key = "layer";
	error_remedy(err, "add '%s = %s' to [layers]", key, prefix);
}

static int judge(const struct plan *plan, const char *path,
		 const struct view *view, struct error *err)
{
	if (view->kind == VIEW_UNKNOWN)
		return 0;
	if (view->kind == VIEW_THERE && S_ISREG(view->info.st_mode) &&
	    view->info.st_mode & 0111)
		return 0;
	if (view->kind == VIEW_THERE) {
		error_set(err, EACCES, "interpreter '%s'", path);
		error_status(err, ERROR_STATUS_NOT_EXECUTABLE);
		error_reason(err, "not-executable");
		return at_origin(plan, err);
	}
	view_refuse(plan, "interpreter", path, view, err);
	if (view->kind == VIEW_HIDDEN)
		remedy_layer(plan, view->path, view->op, err);
	return at_origin(plan, err);
}

/* A name found along PATH must be the same file inside. */
static int check_identity(const struct plan *plan, const char *path,
			  const struct view *view, struct error *err)
{
	struct stat info;

	if (strchr(plan->interpreter, '/') || view->kind != VIEW_THERE)
		return 0;
	if (stat(path, &info) < 0)
		return error_set(err, errno, "interpreter '%s'", path);
	if (info.st_dev == view->info.st_dev &&
	    info.st_ino == view->info.st_ino)
		return 0;
	error_set(err, 0, "interpreter '%s' is '%s' on the host, but inside "
		  "that is another file ('%s')", plan->interpreter, path,
		  view->host);
	error_remedy(err, "write the interpreter as a path to say that the "
		     "one inside is meant");
	return not_found(plan, err);
}

static int check_venv(const struct plan *plan, const char *path,
		      struct error *err)
{
	const char *name = strrchr(path, '/') + 1;
	const char *home, *config;
	struct view view;

	if (!text_has_prefix(name, "python") && !text_has_prefix(name, "pypy"))
		return 0;
	config = arena_printf(plan->arena, "%.*s../pyvenv.cfg",
			      (int)(name - path), path);
	home = read_home(plan->arena, config);
	if (!home)
		return 0;
	view = view_look(plan, home);
	if (view.kind != VIEW_HIDDEN && view.kind != VIEW_MISSING)
		return 0;
	view_refuse(plan, "its base", home, &view, err);
	error_wrap(err, "interpreter '%s' is of a virtual environment", path);
	if (view.kind == VIEW_HIDDEN)
		remedy_layer(plan, path_join(plan->arena, home, name), view.op,
			     err);
	return at_origin(plan, err);
}

int interpreter_find(struct plan *plan, struct error *err)
{
	const char *path = "/";
	struct view view;
	int r = absolute_path(plan, &path, err);

	if (r < 0)
		return r;
	view = view_look(plan, path);
	r = judge(plan, path, &view, err);
	if (r >= 0)
		r = check_identity(plan, path, &view, err);
	if (r >= 0)
		r = check_venv(plan, path, err);
	if (r < 0)
		return r;
	plan->command.at[0] = path;
	return 0;
}
