/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the payload made is read with the launcher's own rights, and what is
 * made of it is written with those of the owner of the place.  For root these
 * are two users; setfsuid(2) takes its power over files away and gives it
 * back.
 */
#include "engine/copy.h"

#include "sys/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/fsuid.h>

/* A directory on the way to where the walk is. */
struct stop {
	char *name;
	mode_t mode;
	struct tree_id above; /* once it is made */
};

struct copy {
	const struct copy_owner *owner;
	const struct copy_question *question; /* NULL: it is wanted */
	mode_t mode;
	int directory;        /* the deepest that is made */
	struct stop *stops;
	size_t depth, made, cap;
};

void copy_as(const struct copy_owner *owner)
{
	if (!owner->is_other)
		return;
	setfsgid(owner->gid);
	setfsuid(owner->uid);
}

void copy_as_self(const struct copy_owner *owner)
{
	if (!owner->is_other)
		return;
	setfsuid(geteuid());
	setfsgid(getegid());
}

int copy_begin(int directory, mode_t mode, const struct copy_owner *owner,
	       const struct copy_question *question, struct copy **ret_copy,
	       struct error *err)
{
	struct copy *copy = calloc(1, sizeof(*copy));

	if (!copy) {
		close(directory);
		return error_set(err, ENOMEM, "copy");
	}
	copy->owner = owner;
	copy->question = question;
	copy->mode = mode;
	copy->directory = directory;
	*ret_copy = copy;
	return 0;
}

void copy_end(struct copy *copy)
{
	if (!copy)
		return;
	while (copy->depth)
		free(copy->stops[--copy->depth].name);
	free(copy->stops);
	mem_close_fd(&copy->directory);
	free(copy);
}

static bool is_unwanted(const struct copy *copy)
{
	const struct copy_question *question = copy->question;

	return question && question->is_unwanted(question->data);
}

int copy_ask(const struct copy *copy, struct error *err)
{
	return is_unwanted(copy) ? error_set(err, ECANCELED, "copy") : 0;
}

/* ---- directories ----------------------------------------------------------- */

int copy_enter(struct copy *copy, const char *name, mode_t mode,
	       struct error *err)
{
	struct stop *stop;

	if (copy->depth == copy->cap) {
		size_t cap = copy->cap ? copy->cap * 2 : 16;
		struct stop *wider = realloc(copy->stops,
					     cap * sizeof(*wider));

		if (!wider)
			return error_set(err, ENOMEM, "copy");
		copy->stops = wider;
		copy->cap = cap;
	}
	stop = &copy->stops[copy->depth];
	*stop = (struct stop){ .name = strdup(name), .mode = mode & 0777 };
	if (!stop->name)
		return error_set(err, ENOMEM, "copy");
	copy->depth++;
	return 0;
}

/* The first directory on the way that is not made. */
static int make_next(struct copy *copy)
{
	struct stop *stop = &copy->stops[copy->made];
	int r = tree_identify(copy->directory, &stop->above);
	int fd;

	if (r < 0)
		return r;
	if (mkdirat(copy->directory, stop->name, copy->mode ? copy->mode :
		    0700) < 0)
		return -errno;
	fd = openat(copy->directory, stop->name, O_RDONLY | O_DIRECTORY |
		    O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(copy->directory);
	copy->directory = fd;
	copy->made++;
	return 0;
}

int copy_reach(struct copy *copy, struct error *err)
{
	int r = 0;

	copy_as(copy->owner);
	while (!r && copy->made < copy->depth)
		r = make_next(copy);
	copy_as_self(copy->owner);
	return r < 0 ? error_set(err, -r, "make directory '%s'",
				 copy->stops[copy->made].name) : 0;
}

/* The deepest is made and complete: up again. */
static int finish_deepest(struct copy *copy)
{
	struct stop *stop = &copy->stops[--copy->made];
	int above = tree_up(copy->directory, &stop->above);
	struct stat made;

	if (above < 0)
		return above;
	/* What it hands on it has from the directory that it is in. */
	if (!copy->mode && stop->mode != 0700 &&
	    (fstat(copy->directory, &made) < 0 ||
	     fchmod(copy->directory, stop->mode |
		    (made.st_mode & S_ISGID)) < 0)) {
		int code = errno;

		close(above);
		return -code;
	}
	close(copy->directory);
	copy->directory = above;
	return 0;
}

int copy_leave(struct copy *copy, struct error *err)
{
	int r = 0;

	copy_as(copy->owner);
	if (copy->made == copy->depth)
		r = finish_deepest(copy);
	copy_as_self(copy->owner);
	copy->depth--;
	if (r < 0)
		error_set(err, -r, "leave directory '%s'",
			  copy->stops[copy->depth].name);
	free(copy->stops[copy->depth].name);
	return r;
}

/* ---- files ------------------------------------------------------------------- */

/* The data between @from and @to, at the same place in both files. */
static int copy_range(const struct copy *copy, int source, int target,
		      off_t from, off_t to)
{
	char buffer[64 * 1024];

	while (from < to) {
		size_t left = (size_t)(to - from);
		ssize_t got = pread(source, buffer, left < sizeof(buffer) ?
				    left : sizeof(buffer), from);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		if (is_unwanted(copy))
			return -ECANCELED;
		for (ssize_t done = 0, put; done < got; done += put) {
			put = pwrite(target, buffer + done,
				     (size_t)(got - done), from + done);
			if (put < 0 && errno != EINTR)
				return -errno;
			if (put < 0)
				put = 0;
		}
		from += got;
	}
	return 0;
}

static int copy_data(const struct copy *copy, int source, int target,
		     off_t size)
{
	off_t data, hole = 0;
	int r = 0;

	while (!r && (data = lseek(source, hole, SEEK_DATA)) >= 0) {
		hole = lseek(source, data, SEEK_HOLE);
		if (hole < 0)
			return -errno;
		r = copy_range(copy, source, target, data, hole);
	}
	if (!r && errno != ENXIO)
		r = -errno;
	return r < 0 ? r : ftruncate(target, size) < 0 ? -errno : 0;
}

static int fill_file(struct copy *copy, const struct change *change,
		     int source, const char *name)
{
	const struct timespec times[] = {
		{ .tv_nsec = UTIME_OMIT }, change->status.st_mtim,
	};
	auto_close int target = openat(copy->directory, name, O_WRONLY |
				       O_CREAT | O_EXCL | O_NOFOLLOW |
				       O_CLOEXEC, 0600);
	int r;

	if (target < 0)
		return -errno;
	r = copy_data(copy, source, target, change->status.st_size);
	if (!r && (fchmod(target, change->status.st_mode & 0777) < 0 ||
		   futimens(target, times) < 0))
		r = -errno;
	return r;
}

int copy_file(struct copy *copy, const struct change *change,
	      const char *name, struct error *err)
{
	auto_close int source = -EBADF;
	struct stat status;
	int r = copy_reach(copy, err);

	if (r < 0)
		return r;
	source = changes_open(change->directory, change->name, 0,
			      change->status.st_mode);
	if (source < 0)
		return error_set(err, -source, "read '%s'", change->path);
	if (fstat(source, &status) < 0)
		return error_set(err, errno, "stat '%s'", change->path);
	if (!S_ISREG(status.st_mode))
		return error_set(err, EINVAL, "'%s' changed its type",
				 change->path);
	copy_as(copy->owner);
	r = fill_file(copy, change, source, name);
	copy_as_self(copy->owner);
	return r < 0 ? error_set(err, -r, "copy '%s'", change->path) : 0;
}

/* ---- links ------------------------------------------------------------------- */

static int read_link(const struct change *change, char target[PATH_MAX])
{
	ssize_t size = readlinkat(change->directory, change->name, target,
				  PATH_MAX - 1);

	if (size < 0)
		return -errno;
	target[size] = '\0';
	return 0;
}

/*
 * ".." behind anything else may go up from where another link leads, so it
 * counts as leading out; in front it goes up from the link's own directory.
 */
bool copy_link_stays(const struct change *change)
{
	char buffer[PATH_MAX], *target = buffer;
	const char *path = change->path;
	bool has_name = false;
	long depth = 0;

	if (read_link(change, target) < 0 || *target == '/' || !*target)
		return false;
	for (; *path; path++)
		depth += *path == '/';
	while (*target) {
		size_t length = strcspn(target, "/");

		if (length == 2 && !memcmp(target, "..", 2)) {
			if (has_name || --depth < 0)
				return false;
		} else if (length != 1 || *target != '.') {
			has_name = true;
		}
		target += length;
		target += strspn(target, "/");
	}
	return true;
}

int copy_link(struct copy *copy, const struct change *change,
	      const char *name, struct error *err)
{
	char target[PATH_MAX];
	int r = read_link(change, target);

	if (r < 0)
		return error_set(err, -r, "readlink '%s'", change->path);
	r = copy_reach(copy, err);
	if (r < 0)
		return r;
	copy_as(copy->owner);
	r = symlinkat(target, copy->directory, name) < 0 ? -errno : 0;
	copy_as_self(copy->owner);
	return r < 0 ? error_set(err, -r, "symlink '%s'", change->path) : 0;
}
