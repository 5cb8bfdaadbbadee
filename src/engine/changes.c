/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An upper layer holds what differs (overlayfs in the kernel's documentation):
 *
 *   a character device 0:0, or an empty file with the attribute
 *   user.overlay.whiteout      the name is deleted
 *   a directory with user.overlay.opaque = y
 *                              nothing of the layers below shows in it
 *   anything else              is there now, whatever was before
 *
 * A renamed file is a deleted and an added one.
 *
 * The payload decides how deep the layer is.  So there is one level of a list
 * for each directory on the way down, and descriptors only for the deepest
 * directory of each layer.
 */
#include "engine/changes.h"

#include "base/text.h"
#include "sys/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

const char *const change_names[CHANGE_COUNT] = {
	[CHANGE_ADDED] = "added",
	[CHANGE_MODIFIED] = "modified",
	[CHANGE_DELETED] = "deleted",
	[CHANGE_RETYPED] = "retyped",
};

/* A directory of a layer below, as a part of what shows at one path. */
struct part {
	int fd;             /* -EBADF: the walk is further down in it */
	size_t above;       /* its index in the level above */
	struct tree_id id;
};

struct parts {
	struct part *at;
	size_t count;
};

struct level {
	struct tree_names names;
	size_t next;
	size_t path_size;   /* of the path of what is in here */
	struct tree_id id;  /* of the upper layer's directory */
	mode_t closed;      /* its mode, when that was changed; else 0 */
	bool is_opaque;     /* nothing from below shows in it */
	struct parts below;
};

struct walk {
	const struct change_visitor *visitor;
	struct error *err;
	int upper;          /* the deepest level's directory */
	int top;            /* the caller's, which stays open */
	struct level *levels;
	size_t depth, cap;
	struct text_buf path;
};

/* ---- what is what --------------------------------------------------------- */

static bool has_attribute(int directory, const char *name, const char *key,
			  char wanted)
{
	auto_close int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW |
				   O_NONBLOCK | O_CLOEXEC);
	char value = '\0';
	ssize_t size = fd < 0 ? -1 : fgetxattr(fd, key, &value, 1);

	return size >= 0 && (!wanted || (size == 1 && value == wanted));
}

static bool is_whiteout(int directory, const char *name,
			const struct stat *status)
{
	if (S_ISCHR(status->st_mode))
		return !major(status->st_rdev) && !minor(status->st_rdev);
	return S_ISREG(status->st_mode) && !status->st_size &&
	       has_attribute(directory, name, "user.overlay.whiteout", '\0');
}

static bool is_opaque(int directory, const char *name)
{
	return has_attribute(directory, name, "user.overlay.opaque", 'y');
}

int changes_open(int directory, const char *name, int flags, mode_t mode)
{
	mode_t wanted = flags & O_DIRECTORY ? 0700 : 0400;
	bool is_closed = geteuid() && (mode & wanted) != wanted;
	int fd, code;

	/* Nobody writes to the layer any more: it is what was looked at. */
	if (is_closed && fchmodat(directory, name, (mode & 07777) | wanted,
				  0) < 0)
		return -errno;
	fd = openat(directory, name, flags | O_RDONLY | O_NOFOLLOW |
		    O_NONBLOCK | O_CLOEXEC);
	code = errno;
	if (is_closed && fd >= 0 && !(flags & O_DIRECTORY) &&
	    fchmod(fd, mode & 07777) < 0) {
		code = errno;
		close(fd);
		fd = -EBADF;
	}
	return fd < 0 ? -code : fd;
}

bool changes_is_copied(const struct change *change)
{
	bool is_directory = S_ISDIR(change->status.st_mode);
	auto_close int fd = S_ISREG(change->status.st_mode) || is_directory ?
		changes_open(change->directory, change->name,
			     is_directory ? O_DIRECTORY : 0,
			     change->status.st_mode) : -EBADF;

	/* The value is long, or empty, and only the kernel's business. */
	return fd >= 0 && fgetxattr(fd, "user.overlay.origin", NULL, 0) >= 0;
}

/* ---- the layers below ------------------------------------------------------- */

static void parts_forget(struct parts *parts)
{
	for (size_t i = 0; i < parts->count; i++)
		mem_close_fd(&parts->at[i].fd);
	free(parts->at);
	*parts = (struct parts){ 0 };
}

/* The directory @name of the part @index of @below is one, too. */
static int parts_add(struct parts *parts, const struct parts *below,
		     size_t index, const char *name)
{
	auto_close int fd = openat(below->at[index].fd, name, O_RDONLY |
				   O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct part *part;
	int r;

	/* What its owner may not see was not seen inside either. */
	if (fd < 0)
		return 0;
	if (!parts->at) {
		parts->at = calloc(below->count - index, sizeof(*parts->at));
		if (!parts->at)
			return -ENOMEM;
	}
	part = &parts->at[parts->count];
	part->above = index;
	r = tree_identify(fd, &part->id);
	if (r < 0)
		return r;
	part->fd = take_fd(&fd);
	parts->count++;
	return 0;
}

/*
 * What the layers below show under @change->name: its status, and (@parts not
 * NULL) the directories it is made of.
 */
static int look_below(const struct parts *below, struct change *change,
		      struct parts *parts)
{
	const char *name = change->name;

	change->below = -EBADF;
	change->beside = below->count ? below->at[0].fd : -EBADF;
	for (size_t i = 0; i < below->count; i++) {
		int fd = below->at[i].fd, r;
		bool found = change->below >= 0;
		struct stat status;

		if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (is_whiteout(fd, name, &status) ||
		    (found && !S_ISDIR(status.st_mode)))
			break;
		if (!found) {
			change->below = fd;
			change->before = status;
		}
		if (!S_ISDIR(status.st_mode) || !parts)
			break;
		r = parts_add(parts, below, i, name);
		if (r < 0)
			return r;
		if (is_opaque(fd, name))
			break;
	}
	return 0;
}

/* ---- one level ------------------------------------------------------------- */

static struct level *deepest(const struct walk *walk)
{
	return &walk->levels[walk->depth - 1];
}

/* The path of @name in the deepest level. */
static const char *set_path(struct walk *walk, const char *name)
{
	walk->path.count = walk->depth ? deepest(walk)->path_size : 0;
	text_add(&walk->path, name);
	return walk->path.at;
}

static int fail(const struct walk *walk, int r, const char *what)
{
	return error_set(walk->err, -r, "%s '%s' of the overlay", what,
			 walk->path.at);
}

/*
 * Go into @directory of the upper layer, of which the path is set, and into
 * @below; both are taken over.
 */
static int walk_enter(struct walk *walk, int directory, struct parts *below,
		      mode_t closed)
{
	struct level level = { .below = *below, .closed = closed };
	bool is_top = !walk->depth;
	auto_close int fd = directory;
	int r = tree_identify(fd, &level.id);

	*below = (struct parts){ 0 };
	if (!r && walk->depth == walk->cap) {
		size_t cap = walk->cap ? walk->cap * 2 : 16;
		struct level *wider = realloc(walk->levels,
					      cap * sizeof(*wider));

		r = wider ? 0 : -ENOMEM;
		walk->levels = wider ? wider : walk->levels;
		walk->cap = wider ? cap : walk->cap;
	}
	if (!r)
		r = tree_list(fd, &level.names);
	if (r < 0) {
		if (is_top)
			take_fd(&fd);
		for (size_t i = 0; is_top && i < level.below.count; i++)
			take_fd(&level.below.at[i].fd);
		parts_forget(&level.below);
		return fail(walk, r, "read directory");
	}
	if (!is_top)
		text_add(&walk->path, "/");
	level.path_size = walk->path.count;
	/* One of each layer is enough, except for what is the caller's. */
	for (size_t i = 0; walk->depth > 1 && i < level.below.count; i++)
		mem_close_fd(&deepest(walk)->below.at[level.below.at[i].above]
			     .fd);
	if (walk->depth > 1)
		close(walk->upper);
	walk->upper = take_fd(&fd);
	walk->levels[walk->depth++] = level;
	return 0;
}

/* Back to the level above; what was made accessible is closed again. */
static int walk_leave(struct walk *walk)
{
	struct level *level = deepest(walk);
	struct level *above = level - 1;
	int r = 0;

	walk->depth--;
	tree_forget(&level->names);
	/* What is left open then is the caller's. */
	if (!walk->depth) {
		free(level->below.at);
		return 0;
	}
	for (size_t i = 0; i < level->below.count; i++) {
		struct part *part = &above->below.at[level->below.at[i].above];

		if (part->fd >= 0)
			continue;
		part->fd = tree_up(level->below.at[i].fd, &part->id);
		if (part->fd < 0)
			r = part->fd;
	}
	parts_forget(&level->below);
	if (!r) {
		r = walk->depth == 1 ? walk->top :
		    tree_up(walk->upper, &above->id);
	}
	if (level->closed && fchmod(walk->upper, level->closed & 07777) < 0 &&
	    r >= 0)
		r = -errno;
	close(walk->upper);
	walk->upper = r < 0 ? -EBADF : r;
	return r < 0 ? r : 0;
}

/* ---- reporting ------------------------------------------------------------- */

static int report(struct walk *walk, struct change *change,
		  enum change_kind kind)
{
	const struct change_visitor *visitor = walk->visitor;

	change->kind = kind;
	change->directory = kind == CHANGE_DELETED ? -EBADF : walk->upper;
	if (kind == CHANGE_DELETED)
		change->status = change->before;
	return visitor->change(change, visitor->data, walk->err);
}

static bool is_listed(const struct tree_names *names, const char *name)
{
	size_t from = 0, to = names->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		int r = strcmp(name, names->at[middle]);

		if (!r)
			return true;
		if (r < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return false;
}

/*
 * The deepest level is opaque: what was there and is not any more.  @earlier
 * parts have told of their names already.
 */
static int report_covered_part(struct walk *walk, const struct parts *below,
			       size_t index)
{
	struct tree_names names;
	int r = tree_list(below->at[index].fd, &names);

	if (r < 0)
		return fail(walk, r, "read what is below");
	for (size_t i = 0; !r && i < names.count; i++) {
		struct change change = { .name = names.at[i] };
		bool is_told = is_listed(&deepest(walk)->names, change.name);

		for (size_t j = 0; !is_told && j < index; j++)
			is_told = !faccessat(below->at[j].fd, change.name,
					     F_OK, AT_SYMLINK_NOFOLLOW);
		if (is_told || look_below(below, &change, NULL) < 0 ||
		    change.below < 0)
			continue;
		change.path = set_path(walk, change.name);
		r = report(walk, &change, CHANGE_DELETED);
	}
	tree_forget(&names);
	return r;
}

static int report_covered(struct walk *walk)
{
	const struct parts *below = &deepest(walk)->below;
	int r = 0;

	for (size_t i = 0; !r && i < below->count; i++)
		r = report_covered_part(walk, below, i);
	return r;
}

/* What became of @change->name, which is there now. */
static int report_present(struct walk *walk, struct change *change)
{
	mode_t now = change->status.st_mode, before = change->before.st_mode;

	if (change->below < 0)
		return report(walk, change, CHANGE_ADDED);
	if ((now & S_IFMT) != (before & S_IFMT))
		return report(walk, change, CHANGE_RETYPED);
	if (!S_ISDIR(now) || now != before)
		return report(walk, change, CHANGE_MODIFIED);
	return 0;
}

/* Go into a directory, and into what it lies on. */
static int visit_directory(struct walk *walk, struct change *change,
			   struct parts *below)
{
	const struct change_visitor *visitor = walk->visitor;
	mode_t mode = change->status.st_mode;
	bool is_closed = geteuid() && (mode & 0700) != 0700;
	auto_close int inside = changes_open(walk->upper, change->name,
					     O_DIRECTORY, mode);
	bool lies_on = change->below >= 0 && S_ISDIR(change->before.st_mode);
	char opaque = '\0';
	int r;

	if (inside < 0)
		return fail(walk, inside, "open");
	change->directory = walk->upper;
	/* In one that is, the kernel marks no other. */
	change->is_opaque = lies_on &&
		(deepest(walk)->is_opaque ||
		 (fgetxattr(inside, "user.overlay.opaque", &opaque, 1) == 1 &&
		  opaque == 'y'));
	r = report_present(walk, change);
	if (!r && visitor->enter)
		r = visitor->enter(change, visitor->data, walk->err);
	if (r < 0) {
		if (is_closed)
			fchmod(inside, mode & 07777);
		return r;
	}
	if (!lies_on)
		parts_forget(below);
	r = walk_enter(walk, take_fd(&inside), below, is_closed ? mode : 0);
	if (r < 0 || !change->is_opaque)
		return r;
	/* What it holds replaces or adds: that is compared like all else. */
	deepest(walk)->is_opaque = true;
	return report_covered(walk);
}

static int visit(struct walk *walk, const char *name)
{
	struct change change = { .name = name };
	struct parts below = { 0 };
	int r;

	change.path = set_path(walk, name);
	if (fstatat(walk->upper, name, &change.status,
		    AT_SYMLINK_NOFOLLOW) < 0)
		return fail(walk, -errno, "stat");
	r = look_below(&deepest(walk)->below, &change, &below);
	if (r < 0)
		r = fail(walk, r, "compare");
	else if (S_ISDIR(change.status.st_mode))
		r = visit_directory(walk, &change, &below);
	else if (!is_whiteout(walk->upper, name, &change.status))
		r = report_present(walk, &change);
	else if (change.below >= 0)
		r = report(walk, &change, CHANGE_DELETED);
	parts_forget(&below);
	return r;
}

static int walk_on(struct walk *walk)
{
	const struct change_visitor *visitor = walk->visitor;
	struct level *level;
	int r = 0;

	while (!r && walk->depth) {
		level = deepest(walk);
		if (level->next < level->names.count) {
			r = visit(walk, level->names.at[level->next++]);
			continue;
		}
		if (visitor->leave && walk->depth > 1)
			r = visitor->leave(visitor->data, walk->err);
		set_path(walk, "");
		if (!r) {
			r = walk_leave(walk);
			if (r < 0)
				fail(walk, r, "leave");
		}
	}
	return r;
}

int changes_walk(int upper, const int *lowers, size_t count,
		 const struct change_visitor *visitor, struct error *err)
{
	auto_arena struct arena *arena = arena_new();
	struct walk walk = {
		.visitor = visitor, .err = err, .top = upper,
		.path.arena = arena, .upper = -EBADF,
	};
	struct parts below = { .at = calloc(count, sizeof(struct part)) };
	int r = count && !below.at ? -ENOMEM : 0;

	text_add(&walk.path, "");
	for (; !r && below.count < count; below.count++) {
		below.at[below.count].fd = lowers[below.count];
		r = tree_identify(lowers[below.count],
				  &below.at[below.count].id);
	}
	if (r < 0) {
		free(below.at);
		return error_set(err, -r, "read the layers of the overlay");
	}
	r = walk_enter(&walk, upper, &below, 0);
	if (!r)
		r = walk_on(&walk);
	while (walk.depth)
		walk_leave(&walk);
	free(walk.levels);
	return r;
}
