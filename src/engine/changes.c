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
 */
#include "engine/changes.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

enum { DEPTH_MOST = 256 };

struct fds {
	int *at;
	size_t count, cap;
};

struct names {
	const char **at;
	size_t count, cap;
};

struct walk {
	change_fn each;
	void *data;
	struct error *err;
};

static void close_fds(struct fds *fds)
{
	for (size_t i = 0; i < fds->count; i++)
		close(fds->at[i]);
}

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

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in @directory, sorted, added to @names. */
static int list(struct arena *arena, int directory, struct names *names,
		struct error *err)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int r = 0;

	if (!stream) {
		r = error_set(err, errno, "read a directory of the overlay");
		if (fd >= 0)
			close(fd);
		return r;
	}
	while ((errno = 0, entry = readdir(stream)))
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			*arena_push(arena, names) =
				arena_strdup(arena, entry->d_name);
	if (errno)
		r = error_set(err, errno, "read a directory of the overlay");
	closedir(stream);
	if (names->count)
		qsort(names->at, names->count, sizeof(*names->at),
		      compare_names);
	return r;
}

/*
 * What the layers below show under @name: returns whether there is anything,
 * with its status, and the directories it is made of.
 */
static bool look_below(struct arena *arena, const int *lowers, size_t count,
		       const char *name, struct stat *ret_status,
		       struct fds *ret_fds)
{
	bool found = false;

	for (size_t i = 0; i < count; i++) {
		struct stat status;
		int fd;

		if (fstatat(lowers[i], name, &status, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (is_whiteout(lowers[i], name, &status) ||
		    (found && !S_ISDIR(status.st_mode)))
			break;
		if (!found)
			*ret_status = status;
		found = true;
		if (!S_ISDIR(status.st_mode))
			break;
		fd = openat(lowers[i], name, O_RDONLY | O_DIRECTORY |
			    O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			*arena_push(arena, ret_fds) = fd;
		if (is_opaque(lowers[i], name))
			break;
	}
	return found;
}

static int walk_directory(struct walk *walk, int upper, const struct fds *below,
			  const char *path, int depth);

static int report(struct walk *walk, enum change_kind kind, const char *path,
		  int directory, const char *name, const struct stat *status)
{
	const struct change change = {
		.kind = kind, .path = path, .directory = directory,
		.name = name, .status = *status,
	};

	return walk->each(&change, walk->data, walk->err);
}

/* Everything of the layers below that is not in @present is deleted. */
static int report_covered(struct walk *walk, struct arena *arena,
			  const struct fds *below, const struct names *present,
			  const char *path)
{
	struct names names = { 0 };
	int r = 0;

	for (size_t i = 0; !r && i < below->count; i++)
		r = list(arena, below->at[i], &names, walk->err);
	for (size_t i = 0; !r && i < names.count; i++) {
		const char *name = names.at[i];
		struct fds fds = { 0 };
		struct stat status;

		if (i && !strcmp(name, names.at[i - 1]))
			continue;
		if (present->count && bsearch(&name, present->at,
					      present->count,
					      sizeof(*present->at),
					      compare_names))
			continue;
		if (look_below(arena, below->at, below->count, name, &status,
			       &fds))
			r = report(walk, CHANGE_DELETED,
				   arena_printf(arena, "%s%s", path, name),
				   -EBADF, name, &status);
		close_fds(&fds);
	}
	return r;
}

/* One name of the upper layer. */
static int walk_entry(struct walk *walk, struct arena *arena, int upper,
		      const struct fds *below, const char *name,
		      const char *prefix, int depth)
{
	const char *path = arena_printf(arena, "%s%s", prefix, name);
	struct fds fds = { 0 }, none = { 0 };
	auto_close int inside = -EBADF;
	struct stat now, before;
	bool was_there, is_same_type;
	int r = 0;

	if (fstatat(upper, name, &now, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set(walk->err, errno, "stat '%s' of the overlay",
				 path);
	was_there = look_below(arena, below->at, below->count, name, &before,
			       &fds);
	is_same_type = was_there &&
		       (now.st_mode & S_IFMT) == (before.st_mode & S_IFMT);
	if (is_whiteout(upper, name, &now)) {
		if (was_there)
			r = report(walk, CHANGE_DELETED, path, -EBADF, name,
				   &before);
		goto out;
	}
	if (!was_there)
		r = report(walk, CHANGE_ADDED, path, upper, name, &now);
	else if (!is_same_type)
		r = report(walk, CHANGE_RETYPED, path, upper, name, &now);
	else if (!S_ISDIR(now.st_mode) || now.st_mode != before.st_mode)
		r = report(walk, CHANGE_MODIFIED, path, upper, name, &now);
	if (r < 0 || !S_ISDIR(now.st_mode))
		goto out;
	inside = changes_open(upper, name, O_DIRECTORY, now.st_mode);
	if (inside < 0) {
		r = error_set(walk->err, -inside, "open '%s' of the overlay",
			      path);
		goto out;
	}
	if (is_same_type && is_opaque(upper, name)) {
		struct names present = { 0 };

		r = list(arena, inside, &present, walk->err);
		if (!r)
			r = report_covered(walk, arena, &fds, &present,
					   arena_printf(arena, "%s/", path));
	}
	/* What an opaque directory holds replaces or adds: still compared. */
	if (!r)
		r = walk_directory(walk, inside, is_same_type ? &fds : &none,
				   arena_printf(arena, "%s/", path),
				   depth + 1);
	if ((now.st_mode & 0700) != 0700 && geteuid() &&
	    fchmod(inside, now.st_mode & 07777) < 0 && !r)
		r = error_set(walk->err, errno, "chmod '%s' of the overlay",
			      path);
out:
	close_fds(&fds);
	return r;
}

static int walk_directory(struct walk *walk, int upper, const struct fds *below,
			  const char *path, int depth)
{
	auto_arena struct arena *arena = arena_new();
	struct names names = { 0 };
	int r = list(arena, upper, &names, walk->err);

	if (depth > DEPTH_MOST)
		return error_set(walk->err, ENAMETOOLONG, "the overlay is more "
				 "than %d directories deep", DEPTH_MOST);
	for (size_t i = 0; !r && i < names.count; i++)
		r = walk_entry(walk, arena, upper, below, names.at[i], path,
			       depth);
	return r;
}

int changes_walk(int upper, const int *lowers, size_t count, change_fn each,
		 void *data, struct error *err)
{
	const struct fds below = { .at = (int *)lowers, .count = count };
	struct walk walk = { .each = each, .data = data, .err = err };

	return walk_directory(&walk, upper, &below, "", 0);
}
