/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Most paths have no symlink and exist: one openat2(2) finds them.  Only when
 * that fails is the path walked component by component, with the symlinks
 * taken apart here, so that each can be judged by where it lies and so that
 * what is missing has a name.  Even then the directory that is returned comes
 * from openat2 with symlinks forbidden: what was resolved and what was opened
 * cannot differ.
 *
 * Before Linux 5.6, and where a filter refuses openat2, each component is
 * opened for itself without following it (open_slowly()).  ".." is never given to
 * the kernel, so no way leads out of the root.
 */
#include "sys/rootfs.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

enum { SYMLINKS_MOST = 40 }; /* the kernel's own limit, path_resolution(7) */

static int open_slowly(int root, const char *path, unsigned flags,
		       unsigned resolve);

static int open_below(int root, const char *path, unsigned flags,
		      unsigned resolve)
{
	static bool is_missing;
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve,
	};

	int fd = -1;

	/* The root itself has no name below itself. */
	if (!*path)
		path = "/";
	if (!is_missing)
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	/* O_PATH takes no right that could lack: a filter says EPERM. */
	if (fd < 0 && !is_missing && (errno == ENOSYS || errno == EPERM))
		is_missing = true;
	return is_missing ? open_slowly(root, path, flags, resolve) : fd;
}

int rootfs_open(int root, const char *path, enum rootfs_follow follow,
		struct error *err)
{
	int fd = open_below(root, path,
			    follow == ROOTFS_NOFOLLOW_LAST ? O_NOFOLLOW : 0,
			    follow == ROOTFS_NO_SYMLINKS ?
			    RESOLVE_NO_SYMLINKS : 0);
	int code = errno;

	if (fd >= 0)
		return fd;
	return err ? error_call(err, code, "openat2", "open '%s'", path) :
	       -code;
}

/* S_IFMT bits; a server that does not answer is not asked. */
static int find_type(int fd, mode_t *ret_type)
{
	struct statx status;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE,
		  &status) < 0)
		return -errno;
	*ret_type = status.stx_mode & S_IFMT;
	return 0;
}

struct walk {
	int root;
	rootfs_guard_fn guard;
	void *data;
	int links;
	/* In its buffers: what is resolved so far, and what is to come. */
	struct rootfs_part *part;
};

/* The directory where the walk is. */
static int walk_open(const struct walk *walk)
{
	return open_below(walk->root, walk->part->real, O_NOFOLLOW,
			  RESOLVE_NO_SYMLINKS);
}

/* Cut the last component of what is resolved. */
static void walk_up(struct walk *walk)
{
	char *slash = strrchr(walk->part->real, '/');

	if (slash)
		*slash = '\0';
}

/* Replace the symlink @link, the next component, by what it says. */
static int walk_link(struct walk *walk, int directory, int link,
		     const char *behind)
{
	char target[PATH_MAX], todo[PATH_MAX];
	ssize_t length;

	if (++walk->links > SYMLINKS_MOST ||
	    (walk->guard && !walk->guard(directory, link, walk->data)))
		return -ELOOP;
	length = readlinkat(link, "", target, sizeof(target) - 1);
	if (length < 0)
		return -errno;
	target[length] = '\0';
	if (target[0] == '/')
		walk->part->real[0] = '\0';
	if (snprintf(todo, sizeof(todo), "%s/%s", target, behind) >=
	    (int)sizeof(todo))
		return -ENAMETOOLONG;
	memcpy(walk->part->todo, todo, strlen(todo) + 1);
	return 0;
}

/*
 * One component.  Returns 1 when there is more to do, 0 when the walk ends
 * here with its part filled, or a negative errno.
 */
static int walk_step(struct walk *walk)
{
	struct rootfs_part *part = walk->part;
	auto_close int directory = -EBADF, next = -EBADF;
	mode_t type = 0;
	int r;
	const char *start = part->todo + strspn(part->todo, "/");
	size_t length = strcspn(start, "/"), used = strlen(part->real);
	char name[NAME_MAX + 1];
	const char *behind = start + length;
	bool is_dots;

	directory = walk_open(walk);
	if (directory < 0)
		return -errno;
	if (!length || length > NAME_MAX) {
		if (length)
			return -ENAMETOOLONG;
		r = find_type(directory, &part->type);
		if (r < 0)
			return r;
		part->rest = "";
		part->fd = take_fd(&directory);
		return 0;
	}
	memcpy(name, start, length);
	name[length] = '\0';
	is_dots = !strcmp(name, ".") || !strcmp(name, "..");
	/* Both are only in a directory that may be searched. */
	next = openat(directory, is_dots ? "." : name,
		      O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (next >= 0 && is_dots) {
		if (name[1])
			walk_up(walk);
		memmove(part->todo, behind, strlen(behind) + 1);
		return 1;
	}
	if (next < 0) {
		if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
			return -errno;
		part->is_closed = errno == EACCES;
		r = find_type(directory, &part->type);
		if (r < 0)
			return r;
		part->rest = start;
		part->fd = take_fd(&directory);
		return 0;
	}
	r = find_type(next, &type);
	if (!r && S_ISLNK(type)) {
		r = walk_link(walk, directory, next, behind);
		return r < 0 ? r : 1;
	}
	if (r < 0)
		return r;
	if (used + length + 2 > sizeof(part->real))
		return -ENAMETOOLONG;
	part->real[used] = '/';
	memcpy(part->real + used + 1, name, length + 1);
	memmove(part->todo, behind, strlen(behind) + 1);
	return 1;
}

static int walk_slowly(int root, const char *path, rootfs_guard_fn guard,
		       void *data, struct rootfs_part *part)
{
	struct walk walk = {
		.root = root, .guard = guard, .data = data, .part = part,
	};
	size_t length = strlen(path);
	int r;

	part->is_closed = false;
	part->real[0] = '\0';
	if (length >= sizeof(part->todo))
		return -ENAMETOOLONG;
	memcpy(part->todo, path, length + 1);
	do
		r = walk_step(&walk);
	while (r > 0);
	return r;
}

/* ---- without openat2(2) ---------------------------------------------------- */

/* @path has neither links nor dots: it is the work of a walk. */
static int descend(int root, const char *path)
{
	int current = fcntl(root, F_DUPFD_CLOEXEC, 3);
	char name[NAME_MAX + 1];
	const char *at = path;

	while (current >= 0 && *(at += strspn(at, "/"))) {
		size_t length = strcspn(at, "/");
		auto_close int above = current;

		if (length > NAME_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(name, at, length);
		name[length] = '\0';
		at += length;
		/* What has become a link meanwhile has nothing below it. */
		current = openat(above, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	}
	return current;
}

/* The object where a whole path ends; -1 and errno when it does not. */
static int take_end(struct rootfs_part *part, const char *path)
{
	size_t length = strlen(path);
	bool is_directory = S_ISDIR(part->type);

	if (!part->rest[0] &&
	    (is_directory || !length || path[length - 1] != '/'))
		return part->fd;
	close(part->fd);
	errno = part->is_closed ? EACCES : is_directory ? ENOENT : ENOTDIR;
	return -1;
}

/* The last component is opened as it is, a symlink too. */
static int open_last(int root, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *last = slash ? slash + 1 : path;
	struct rootfs_part part = { .fd = -EBADF };
	auto_close int above = -EBADF;
	char parent[PATH_MAX];
	int r;

	if (!*last || !strcmp(last, ".") || !strcmp(last, ".."))
		return open_slowly(root, path, 0, 0);
	if (snprintf(parent, sizeof(parent), "%.*s/", (int)(last - path),
		     path) >= (int)sizeof(parent)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	r = walk_slowly(root, parent, NULL, NULL, &part);
	if (r < 0) {
		errno = -r;
		return -1;
	}
	above = take_end(&part, parent);
	return above < 0 ? -1 :
	       openat(above, last, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

static bool refuse_link(int directory, int link, void *data)
{
	return false;
}

static int open_slowly(int root, const char *path, unsigned flags,
		       unsigned resolve)
{
	struct rootfs_part part = { .fd = -EBADF };
	int r;

	if (flags & O_NOFOLLOW)
		return resolve & RESOLVE_NO_SYMLINKS ? descend(root, path) :
		       open_last(root, path);
	r = walk_slowly(root, path, resolve & RESOLVE_NO_SYMLINKS ?
			refuse_link : NULL, NULL, &part);
	if (r < 0) {
		errno = -r;
		return -1;
	}
	return take_end(&part, path);
}

/*
 * FUSE tells nobody but its own user what its root is; that it is a directory
 * the kernel knows itself.
 */
static int find_closed_type(int root, const char *path, mode_t *ret_type)
{
	auto_close int fd = open_below(root, path, O_DIRECTORY,
				       RESOLVE_NO_SYMLINKS);

	if (fd < 0)
		return -EACCES;
	*ret_type = S_IFDIR;
	return 0;
}

int rootfs_walk(int root, const char *path, rootfs_guard_fn guard, void *data,
		struct rootfs_part *ret_part, struct error *err)
{
	int fd = open_below(root, path, 0, RESOLVE_NO_SYMLINKS);
	int r;

	ret_part->is_closed = false;
	if (fd >= 0) {
		r = find_type(fd, &ret_part->type);
		if (r == -EACCES)
			r = find_closed_type(root, path, &ret_part->type);
		if (r < 0) {
			close(fd);
			return error_set(err, -r, "stat '%s'", path);
		}
		ret_part->fd = fd;
		ret_part->rest = "";
		return 0;
	}
	r = walk_slowly(root, path, guard, data, ret_part);
	if (r < 0)
		return error_set(err, -r, "resolve '%s'", path);
	return 0;
}

static int make_one(int directory, const char *name, bool is_file, mode_t mode)
{
	int r;

	r = is_file ? mknodat(directory, name, S_IFREG | mode, 0) :
		      mkdirat(directory, name, mode);
	if (r < 0 && errno != EEXIST)
		return -errno;
	r = openat(directory, name, O_PATH | O_CLOEXEC |
		   (!strcmp(name, "..") ? 0 : O_NOFOLLOW) |
		   (is_file ? 0 : O_DIRECTORY));
	return r < 0 ? -errno : r;
}

int rootfs_make(int directory, const char *rest, mode_t parents, bool is_file,
		mode_t last, struct error *err)
{
	auto_close int current = -EBADF;
	const char *at = rest + strspn(rest, "/");

	while (*at) {
		size_t length = strcspn(at, "/");
		const char *behind = at + length + strspn(at + length, "/");
		char name[NAME_MAX + 1];
		int next;

		if (length > NAME_MAX)
			return error_set(err, ENAMETOOLONG, "make '%s'", rest);
		memcpy(name, at, length);
		name[length] = '\0';
		next = make_one(current < 0 ? directory : current, name,
				is_file && !*behind, *behind ? parents : last);
		if (next < 0)
			return error_set(err, -next, "make '%s'", name);
		if (current >= 0)
			close(current);
		current = next;
		at = behind;
	}
	return take_fd(&current);
}
