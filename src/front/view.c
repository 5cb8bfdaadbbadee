/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A path is walked component by component.  The last operation at or above a
 * component decides what is there; where it shows a host directory, the host
 * is asked about that one name.
 */
#include "front/view.h"

#include "base/text.h"
#include "front/answer.h"
#include "plan/op_types.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/sysmacros.h>

enum { LINKS_MOST = 40 };

/* Where a name leads. */
enum step_kind { STEP_ON, STEP_LINK, STEP_END };

struct walk {
	const struct plan *plan;
	struct view view;
	int links;              /* followed so far */
	dev_t root;             /* the file system of "/" */
	char target[PATH_MAX];  /* of a link */
};

/* The operation that decides what is at @path, or NULL. */
static const struct op *deciding_op(const struct plan *plan, const char *path)
{
	for (size_t i = plan->ops.count; i-- > 0;) {
		const struct op *op = &plan->ops.at[i];

		if (!path_is_below(path, op_place(op)))
			continue;
		if (op_kind_covers(op->kind))
			return op;
		/* These decide their own name, and nothing below. */
		if ((op->kind == OP_DIR || op->kind == OP_FILE ||
		     op->kind == OP_SYMLINK) && !strcmp(path, op_place(op)))
			return op;
	}
	return NULL;
}

/* Does the set-up make a directory at @path, to mount something below it? */
static bool leads_to_a_mount(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->ops.count; i++) {
		const char *place = op_place(&plan->ops.at[i]);

		if (path_is_below(place, path) && strcmp(place, path) != 0)
			return true;
	}
	return false;
}

static enum step_kind end(struct walk *walk, enum view_kind kind, int code)
{
	walk->view.kind = kind;
	walk->view.code = code;
	return STEP_END;
}

static enum step_kind made_or(struct walk *walk, const char *path,
			      enum view_kind otherwise)
{
	if (!leads_to_a_mount(walk->plan, path))
		return end(walk, otherwise, 0);
	walk->view.kind = VIEW_MADE;
	return STEP_ON;
}

/*
 * stat(2) for what is known already: a server that does not answer, of a
 * network or a FUSE file system, is not asked.
 */
static int look_at_file(const char *path, int flags, struct stat *ret_info)
{
	struct statx info;

	if (statx(AT_FDCWD, path, flags | AT_NO_AUTOMOUNT |
		  AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &info) < 0)
		return -errno;
	*ret_info = (struct stat){
		.st_mode = info.stx_mode,
		.st_dev = makedev(info.stx_dev_major, info.stx_dev_minor),
		.st_ino = info.stx_ino,
	};
	return 0;
}

/*
 * Ask the host for @path as it is seen through @top, which is on @place.  A
 * directory of the root's own file system answers: without it nothing runs.
 */
static int look_below(struct walk *walk, const char *top, const char *place,
		      const char *path)
{
	const char *rest = path + (place[1] ? strlen(place) : 0);
	const char *host = *rest && rest[1]
		? path_join(walk->plan->arena, top,
			    rest + (*rest == '/')) : top;
	bool answers = walk->view.info.st_dev == walk->root && *rest;
	int r = answers || answer_comes(host) ?
		look_at_file(host, AT_SYMLINK_NOFOLLOW, &walk->view.info) :
		-ETIMEDOUT;

	if (r >= 0 || r == -ETIMEDOUT)
		walk->view.host = host;
	return r;
}

static int look_in_layers(struct walk *walk, const struct op *op,
			  const char *path)
{
	int r = -ENOENT;

	/* What the one above said does not hold for the next one. */
	walk->view.info.st_dev = 0;
	if (op->upper)
		r = look_below(walk, op->upper, op_place(op), path);
	for (size_t i = op->lowers.count; r == -ENOENT && i-- > 0;)
		r = look_below(walk, op->lowers.at[i], op_place(op), path);
	return r;
}

static enum step_kind look_at_host(struct walk *walk, const struct op *op,
				   const char *path)
{
	ssize_t length;
	int r;

	if (op->kind == OP_BIND)
		r = look_below(walk, op->source, op_place(op), path);
	else
		r = look_in_layers(walk, op, path);
	if (r == -ENOENT)
		return made_or(walk, path, VIEW_MISSING);
	if (r < 0)
		return end(walk, VIEW_LOST, -r);
	walk->view.kind = VIEW_THERE;
	if (!S_ISLNK(walk->view.info.st_mode))
		return STEP_ON;
	/* What a source itself links to is what is mounted. */
	if (!strcmp(path, op_place(op))) {
		r = look_at_file(walk->view.host, 0, &walk->view.info);
		return r < 0 ? end(walk, VIEW_LOST, -r) : STEP_ON;
	}
	length = readlink(walk->view.host, walk->target,
			  sizeof(walk->target) - 1);
	if (length < 0)
		return end(walk, VIEW_LOST, errno);
	walk->target[length] = '\0';
	return STEP_LINK;
}

static enum step_kind look(struct walk *walk, const char *path)
{
	const struct op *op = deciding_op(walk->plan, path);

	walk->view.op = op;
	walk->view.host = NULL;
	if (!op)
		return made_or(walk, path, VIEW_MISSING);
	switch (op->kind) {
	case OP_BIND:
	case OP_OVERLAY:
	case OP_TMP_OVERLAY:
	case OP_RO_OVERLAY:
		return look_at_host(walk, op, path);
	case OP_TMPFS:
		if (!strcmp(path, op_place(op))) {
			walk->view.kind = VIEW_MADE;
			return STEP_ON;
		}
		return made_or(walk, path, op->role == ROLE_MASK
			       ? VIEW_HIDDEN : VIEW_MISSING);
	case OP_HIDE:
		return made_or(walk, path, VIEW_HIDDEN);
	case OP_DIR:
		walk->view.kind = VIEW_MADE;
		return STEP_ON;
	case OP_SYMLINK:
		if (strlen(op->target) >= sizeof(walk->target))
			return end(walk, VIEW_LOST, ENAMETOOLONG);
		memcpy(walk->target, op->target, strlen(op->target) + 1);
		return STEP_LINK;
	case OP_BIND_FD:
	case OP_PROC:
	case OP_DEV:
	case OP_MQUEUE:
	case OP_FILE:
	case OP_BIND_DATA:
	case OP_REMOUNT_RO:
	case OP_CHMOD:
	case OP_PROTECT:
	case OP_COUNT:
		break;
	}
	return end(walk, VIEW_UNKNOWN, 0);
}

/* One component further; afterwards *done and *rest are what is left to do. */
static enum step_kind step(struct walk *walk, const char *name,
			   const char **done, const char **rest)
{
	struct arena *arena = walk->plan->arena;
	const char *next = path_join(arena, *done, name);
	enum step_kind kind;

	walk->view.path = *rest[0] ? arena_printf(arena, "%s%s", next, *rest)
				   : next;
	if (walk->view.kind == VIEW_THERE && !S_ISDIR(walk->view.info.st_mode))
		return end(walk, VIEW_MISSING, 0);
	kind = look(walk, next);
	if (kind == STEP_ON)
		*done = next;
	if (kind != STEP_LINK)
		return kind;
	if (++walk->links > LINKS_MOST)
		return end(walk, VIEW_LOST, ELOOP);
	*rest = arena_printf(arena, "%s%s", walk->target, *rest);
	if (*walk->target == '/')
		*done = "/";
	return look(walk, *done);
}

struct view view_look(const struct plan *plan, const char *path)
{
	struct arena *arena = plan->arena;
	struct walk walk = { .plan = plan, .view.path = path };
	const char *done = "/", *rest = path;
	struct stat root = { 0 };

	if (look_at_file("/", 0, &root) >= 0)
		walk.root = root.st_dev;
	if (look(&walk, done) == STEP_END)
		return walk.view;
	while (*(rest += strspn(rest, "/"))) {
		size_t length = strcspn(rest, "/");
		const char *name = arena_strndup(arena, rest, length);

		rest += length;
		if (!strcmp(name, "."))
			continue;
		if (!strcmp(name, "..")) {
			done = path_normalise(arena, path_join(arena, done,
							       name));
			look(&walk, done);
			continue;
		}
		if (step(&walk, name, &done, &rest) == STEP_END)
			return walk.view;
	}
	walk.view.path = done;
	return walk.view;
}

bool view_hangs(const struct view *view)
{
	return view->kind == VIEW_LOST && view->code == ETIMEDOUT;
}

int view_refuse(const struct plan *plan, const char *what, const char *path,
		const struct view *view, struct error *err)
{
	bool is_hidden = view->kind == VIEW_HIDDEN;
	const char *leads = !strcmp(path, view->path) ? ""
		: arena_printf(plan->arena, " leads to '%s'%s", view->path,
			       is_hidden ? ", which" : "");

	if (view_hangs(view)) {
		answer_refuse(plan->arena, view->host, err);
		return error_wrap(err, "%s '%s'%s", what, path, leads);
	}
	if (is_hidden)
		error_set(err, 0, "%s '%s'%s is hidden by mask '%s' (%s)",
			  what, path, leads, view->op->dest,
			  origin_text(plan->arena, &view->op->origin));
	else
		error_set(err, view->kind == VIEW_LOST ? view->code : ENOENT,
			  "%s '%s'%s", what, path, leads);
	error_status(err, ERROR_STATUS_NOT_FOUND);
	error_reason(err, is_hidden ? "hidden" : "not-found");
	return error_result(err);
}
