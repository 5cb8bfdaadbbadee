/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "front/host.h"

#include "base/text.h"
#include "front/answer.h"
#include "front/reserved.h"
#include "front/system_root.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

/* ---- symlinks of the root's source ----------------------------------------------------- */

enum { LINKS_MOST = 40 };

struct root {
	const struct plan *plan;
	int fd;                 /* of the source; -EBADF: an empty root */
	dev_t device;           /* of its file system */
	const char *plain;      /* a directory that no link leads to */
	bool plain_is_near;     /* and on the root's own file system */
	struct error *err;
	bool hangs;             /* one does not answer: @err is filled */
	LIST_OF(size_t) links;  /* of an empty root: indices of operations */
};

/*
 * Does something else than the root's source show at @path?  Then a link of
 * the root there does not matter.  Operations are settled from the shallow
 * to the deep, so what covers @path has its real place.
 */
static bool is_covered(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->ops.count; i++) {
		const struct op *op = &plan->ops.at[i];

		if (op->phase == PHASE_VIEW &&
		    path_is_below(path, op_place(op)) &&
		    strcmp(path, op_place(op)) != 0)
			return true;
	}
	return false;
}

static ssize_t read_made_link(const struct root *root, const char *path,
			      char *target, size_t size)
{
	for (size_t i = 0; i < root->links.count; i++) {
		const struct op *op = &root->plan->ops.at[root->links.at[i]];
		size_t length = strlen(op->target);

		if (strcmp(op->dest, path) != 0 || length > size)
			continue;
		memcpy(target, op->target, length);
		return (ssize_t)length;
	}
	return -1;
}

/* Does who serves @path of the root answer?  After a no it is always no. */
static bool answers(struct root *root, const char *path)
{
	const char *source = root->plan->root.source;

	if (!root->hangs && root->fd >= 0)
		root->hangs = answer_await(root->plan->arena,
					   path_join(root->plan->arena,
						     source ? source : "/",
						     path + 1),
					   root->err) < 0;
	return !root->hangs;
}

/* The target of the link at @path in the root; its length, or -1. */
static ssize_t read_root_link(struct root *root, const char *path,
			      char *target, size_t size)
{
	ssize_t length = -1;

	if (root->fd < 0)
		length = read_made_link(root, path, target, size);
	else if (answers(root, path))
		length = readlinkat(root->fd, path + 1, target, size);

	return length >= 0 && is_covered(root->plan, path) ? -1 : length;
}

/* @path with links followed, or NULL when it has none. */
static const char *follow_links(struct root *root, const char *path)
{
	struct arena *arena = root->plan->arena;
	const char *done = "/", *rest = path;
	int links = 0;

	while (*(rest += strspn(rest, "/"))) {
		size_t length = strcspn(rest, "/");
		char target[PATH_MAX];
		const char *next;
		ssize_t size;

		next = path_join(arena, done,
				 arena_strndup(arena, rest, length));
		rest += length;
		if (strcmp(strrchr(next, '/'), "/..") == 0) {
			done = path_normalise(arena, next);
			continue;
		}
		size = read_root_link(root, next, target, sizeof(target) - 1);
		if (size < 0) {
			done = next;
			continue;
		}
		/* A loop: the engine's own walk will name it. */
		if (++links > LINKS_MOST)
			return NULL;
		target[size] = '\0';
		rest = path_join(arena, target, rest + strspn(rest, "/"));
		if (*target == '/')
			done = "/";
	}
	done = path_normalise(arena, done);
	return strcmp(done, path) != 0 ? done : NULL;
}

static dev_t device_of(int fd)
{
	struct statx info;

	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0,
			    &info) < 0)
		return 0;
	return makedev(info.stx_dev_major, info.stx_dev_minor);
}

/*
 * Is all of @path there, with no link on the way, and on the root's own file
 * system?
 */
static bool is_plain(const struct root *root, const char *path,
		     bool *ret_is_near)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_IN_ROOT,
	};
	auto_close int fd = (int)syscall(SYS_openat2, root->fd, path, &how,
					 sizeof(how));

	*ret_is_near = fd >= 0 && device_of(fd) == root->device;
	return fd >= 0;
}

/*
 * Nearly every place is a plain name in a plain directory, and its neighbours
 * in the list are in the same one: a call each will do.
 */
static bool is_in_plain_directory(struct root *root, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *directory = arena_strndup(root->plan->arena, path,
					      (size_t)(slash - path));
	bool is_near;

	if (!*directory)
		return true;
	if (strcmp(directory, root->plain) != 0) {
		if (!answers(root, directory) ||
		    !is_plain(root, directory, &is_near))
			return false;
		root->plain = directory;
		root->plain_is_near = is_near;
	}
	return root->plain_is_near || answers(root, path);
}

static const char *real_place(struct root *root, const char *path)
{
	char target[1];

	if (root->fd >= 0 && path[1] && is_in_plain_directory(root, path) &&
	    readlinkat(root->fd, path + 1, target, sizeof(target)) < 0)
		return NULL;
	return follow_links(root, path);
}

struct depth {
	size_t depth, index;
};

static int compare_depths(const void *a_pointer, const void *b_pointer)
{
	const struct depth *a = a_pointer, *b = b_pointer;

	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static int find_real_places(struct plan *plan, int root_fd, struct error *err)
{
	const struct plan_workspace *workspace = &plan->workspace;
	struct root root = {
		.plan = plan, .fd = root_fd, .plain = "",
		.device = device_of(root_fd), .err = err,
	};
	struct depth *list = arena_alloc(plan->arena, (plan->ops.count + 1) *
					 sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; i < plan->ops.count; i++) {
		if (plan->ops.at[i].phase == PHASE_SYSTEM &&
		    plan->ops.at[i].kind == OP_SYMLINK)
			*arena_push(plan->arena, &root.links) = i;
		if (plan->ops.at[i].phase != PHASE_VIEW)
			continue;
		list[count].depth = path_depth(plan->ops.at[i].dest);
		list[count++].index = i;
	}
	qsort(list, count, sizeof(*list), compare_depths);
	for (size_t i = 0; i < count; i++) {
		struct op *op = &plan->ops.at[list[i].index];

		op->real_dest = real_place(&root, op->dest);
		if (root.hangs)
			return error_wrap(err, "%s", origin_text(plan->arena,
							 &op->origin));
	}
	if (workspace->source)
		plan->workspace.real_dest = real_place(&root, workspace->dest);
	return root.hangs ? error_wrap(err, "%s", origin_text(plan->arena,
						&workspace->origin)) : 0;
}

/* ---- sources ------------------------------------------------------------------------------ */

/* The words for programs of what names on the host do not lead to. */
static void give_reason(struct error *err)
{
	if (err->code == ENOENT || err->code == ENOTDIR)
		error_reason(err, "source-missing");
	else if (err->code == EACCES)
		error_reason(err, "source-denied");
}

static int look_at(const struct plan *plan, const struct origin *origin,
		   const char *what, const char *path, int flags,
		   struct statx *ret_info, struct error *err)
{
	if (answer_await(plan->arena, path, err) < 0)
		return error_wrap(err, "%s: %s", origin_text(plan->arena,
							     origin), what);
	/* The attributes known already will do: no server is asked. */
	if (statx(AT_FDCWD, path, flags | AT_STATX_DONT_SYNC |
		  AT_NO_AUTOMOUNT, STATX_TYPE | STATX_INO, ret_info) < 0) {
		int code = errno;

		error_set(err, code, "%s: %s '%s'",
			  origin_text(plan->arena, origin), what, path);
		give_reason(err);
		return -code;
	}
	return 0;
}

static struct file_id id_of(const struct statx *info)
{
	return (struct file_id){
		.device = makedev(info->stx_dev_major, info->stx_dev_minor),
		.inode = info->stx_ino,
	};
}

static int look_at_directory(const struct plan *plan,
			     const struct origin *origin, const char *what,
			     const char *path, struct statx *ret_info,
			     struct error *err)
{
	int r = look_at(plan, origin, what, path, 0, ret_info, err);

	if (r < 0 || S_ISDIR(ret_info->stx_mode))
		return r;
	error_set(err, ENOTDIR, "%s: %s '%s'",
		  origin_text(plan->arena, origin), what, path);
	give_reason(err);
	return -ENOTDIR;
}

static int look_at_lowers(const struct plan *plan, struct error *err)
{
	const struct plan_workspace *workspace = &plan->workspace;
	struct statx info;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < workspace->lowers.count; i++)
		r = look_at_directory(plan, &workspace->lowers_origin, "lower",
				      workspace->lowers.at[i], &info, err);
	return r;
}

static int look_at_workspace(struct plan *plan, struct error *err)
{
	struct plan_workspace *workspace = &plan->workspace;
	struct statx info;
	int r = look_at(plan, &workspace->origin, "workspace",
			workspace->source, AT_SYMLINK_NOFOLLOW, &info, err);

	if (r == -ENOENT)
		error_remedy(err, "make it first, or name another with "
			     "--workspace DIR");
	if (r < 0)
		return r;
	if (S_ISLNK(info.stx_mode)) {
		error_set(err, 0, "%s: workspace '%s' is a symlink",
			  origin_text(plan->arena, &workspace->origin),
			  workspace->source);
		error_remedy(err, "name the directory itself");
		return error_result(err);
	}
	if (!S_ISDIR(info.stx_mode)) {
		error_set(err, ENOTDIR, "%s: workspace '%s'",
			  origin_text(plan->arena, &workspace->origin),
			  workspace->source);
		give_reason(err);
		return -ENOTDIR;
	}
	if (workspace->mode == WORKSPACE_RW)
		workspace->source_id = id_of(&info);
	r = look_at_lowers(plan, err);
	if (r < 0)
		return r;
	if (workspace->mode != WORKSPACE_OVERLAY || !workspace->upper)
		return 0;
	r = look_at_directory(plan, &workspace->upper_origin, "upper",
			      workspace->upper, &info, err);
	if (r == -ENOENT)
		error_remedy(err, "make it once: mkdir -m 700 '%s'",
			     workspace->upper);
	if (r < 0)
		return r;
	workspace->source_id = id_of(&info);
	return 0;
}

/* What a commit will write to: of what is missing look_at_lowers() speaks. */
static void look_at_target(struct plan *plan)
{
	const char *target = plan_commit_target(plan);
	struct error ignored = { 0 };
	struct statx info;

	if (target && look_at(plan, &plan->workspace.commit_origin, "lower",
			      target, 0, &info, &ignored) >= 0)
		plan->workspace.target_id = id_of(&info);
}

/*
 * Sources that the payload can write: their ids tell whether a profile lies
 * below one.  What is missing is the engine's to judge.
 */
static int look_at_sources(struct plan *plan, struct error *err)
{
	struct error ignored = { 0 };

	for (size_t i = 0; i < plan->ops.count; i++) {
		struct op *op = &plan->ops.at[i];
		bool is_read = op->flags & OP_READ_ONLY;
		const char *source = op->kind == OP_OVERLAY ? op->upper
			: op->kind == OP_BIND ? op->source : NULL;
		struct statx info;

		if (!source || op->phase == PHASE_SYSTEM)
			continue;
		if (answer_await(plan->arena, source, err) < 0)
			return error_wrap(err, "%s: source",
					  origin_text(plan->arena,
						      &op->origin));
		if ((!is_read || op->kind == OP_OVERLAY) &&
		    look_at(plan, &op->origin, "source", source, 0, &info,
			    &ignored) >= 0)
			op->source_id = id_of(&info);
	}
	return 0;
}

/* Files of the host that the run opens before the sandbox is made. */
static int await_files(struct plan *plan, struct error *err)
{
	struct plan_report *report = &plan->report;
	struct plan_workspace *workspace = &plan->workspace;
	const struct {
		const char **path;
		const struct origin *origin;
	} files[] = {
		{ &report->status_file, &report->status_origin },
		{ &report->audit_file, &report->audit_origin },
		{ &report->changes_file, &report->changes_origin },
		{ &workspace->export_dir, &workspace->export_origin },
		{ &workspace->work, &workspace->work_origin },
		{ &plan->security.seccomp_file,
		  &plan->security.seccomp_origin },
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (!*files[i].path ||
		    answer_await(plan->arena, *files[i].path, err) >= 0)
			continue;
		/* Nobody is to write into it that this has happened. */
		*files[i].path = NULL;
		return error_wrap(err, "%s", origin_text(plan->arena,
							 files[i].origin));
	}
	return 0;
}

void host_drop_reports(struct plan *plan)
{
	struct plan_report *report = &plan->report;

	if (report->status_file && !answer_comes(report->status_file))
		report->status_file = NULL;
	if (report->audit_file && !answer_comes(report->audit_file))
		report->audit_file = NULL;
}

/* The mask under which @path lies, NULL when it can be seen. */
static const struct op *mask_over(const struct plan *plan, const char *path)
{
	const struct op *nearest = NULL;

	for (size_t i = 0; i < plan->ops.count; i++) {
		const struct op *op = &plan->ops.at[i];

		if (op->phase == PHASE_VIEW &&
		    path_is_below(path, op_place(op)) &&
		    (!nearest || path_depth(op_place(op)) >=
				 path_depth(op_place(nearest))))
			nearest = op;
	}
	return nearest && nearest->role == ROLE_MASK ? nearest : NULL;
}

/*
 * Who shares the host's network wants its names, too: a resolv.conf that is
 * a link into a masked /run is let in, that one file.
 */
static void show_resolver(struct plan *plan, int root_fd)
{
	struct error ignored;
	struct root root = {
		.plan = plan, .fd = root_fd, .plain = "", .err = &ignored,
	};
	const char *place;
	struct op *op;

	if (plan->ns[NS_NET].want != NS_WANT_HOST || root_fd < 0)
		return;
	place = follow_links(&root, "/etc/resolv.conf");
	if (!place || !mask_over(plan, place))
		return;
	op = plan_add_op(plan, OP_BIND, PHASE_VIEW, plan->ns[NS_NET].origin);
	op->role = ROLE_LAYER;
	op->flags = OP_READ_ONLY | OP_OPTIONAL;
	op->source = path_join(plan->arena, plan->root.source
			       ? plan->root.source : "/", place + 1);
	op->dest = place;
}

static int open_root(const struct plan *plan, int *ret_fd, struct error *err)
{
	const struct plan_root *root = &plan->root;
	const char *source = root->source ? root->source : "/";

	if (root->is_none)
		return 0;
	if (answer_await(plan->arena, source, err) < 0)
		return error_wrap(err, "%s: root", origin_text(plan->arena,
							&root->origin));
	*ret_fd = open(source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*ret_fd >= 0)
		return 0;
	error_set(err, errno, "%s: root '%s'", origin_text(plan->arena,
							   &root->origin),
		  source);
	give_reason(err);
	return error_result(err);
}

int host_complete(struct plan *plan, struct error *err)
{
	auto_close int fd = -EBADF;
	int r = await_files(plan, err);

	if (r < 0 || plan->rules != PLAN_RULES_PROFILE)
		return r;
	r = open_root(plan, &fd, err);
	if (r < 0)
		return r;
	if (plan->root.is_none && plan->root.has_system)
		system_root_add(plan);
	if (plan->workspace.source) {
		r = look_at_workspace(plan, err);
		if (r < 0)
			return r;
	}
	r = look_at_sources(plan, err);
	if (r < 0)
		return r;
	look_at_target(plan);
	r = reserved_find(plan, err);
	if (r < 0)
		return r;
	r = find_real_places(plan, fd, err);
	if (r < 0)
		return r;
	show_resolver(plan, fd);
	return 0;
}
