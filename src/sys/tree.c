/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program that makes directories in directories gets deeper than any stack,
 * limit on descriptors or path can follow.  So the way back up is "..", and
 * what is kept of the directories above is an entry of a list.
 */
#include "sys/tree.h"

#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* ---- one directory --------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* All names, one NUL behind each. */
static int read_names(DIR *stream, char **text, size_t *size, size_t *count)
{
	struct dirent *entry;
	size_t cap = 0;

	while ((errno = 0, entry = readdir(stream))) {
		size_t length = strlen(entry->d_name) + 1;
		char *wider;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (*size + length > cap) {
			cap = (*size + length) * 2;
			wider = realloc(*text, cap);
			if (!wider)
				return -ENOMEM;
			*text = wider;
		}
		memcpy(*text + *size, entry->d_name, length);
		*size += length;
		++*count;
	}
	return -errno;
}

int tree_list(int directory, struct tree_names *ret_names)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct tree_names names = { 0 };
	size_t size = 0, at = 0;
	int r;

	if (!stream) {
		r = -errno;
		mem_close_fd(&fd);
		return r;
	}
	r = read_names(stream, &names.text, &size, &names.count);
	closedir(stream);
	if (r >= 0 && names.count) {
		names.at = calloc(names.count, sizeof(*names.at));
		r = names.at ? 0 : -ENOMEM;
	}
	if (r < 0) {
		free(names.text);
		return r;
	}
	for (size_t i = 0; i < names.count; i++) {
		names.at[i] = names.text + at;
		at += strlen(names.at[i]) + 1;
	}
	if (names.count)
		qsort(names.at, names.count, sizeof(*names.at),
		      compare_names);
	*ret_names = names;
	return 0;
}

void tree_forget(struct tree_names *names)
{
	free(names->at);
	free(names->text);
	*names = (struct tree_names){ 0 };
}

int tree_identify(int directory, struct tree_id *ret_id)
{
	struct stat status;

	if (fstat(directory, &status) < 0)
		return -errno;
	*ret_id = (struct tree_id){ status.st_dev, status.st_ino };
	return 0;
}

int tree_up(int directory, const struct tree_id *above)
{
	auto_close int fd = openat(directory, "..", O_RDONLY | O_DIRECTORY |
				   O_CLOEXEC);
	struct tree_id found;
	int r;

	if (fd < 0)
		return -errno;
	r = tree_identify(fd, &found);
	if (r < 0)
		return r;
	if (found.dev != above->dev || found.ino != above->ino)
		return -ESTALE;
	return take_fd(&fd);
}

/* ---- all of a tree --------------------------------------------------------- */

struct walk {
	bool removes;       /* or looks for @newest */
	struct timespec newest;
	int directory;      /* where it is at the moment */
	int failed;         /* the first error */
	struct level {
		struct tree_id above;
		struct tree_names names;
		size_t next;
	} *levels;
	size_t depth, cap;
};

static void note_failure(struct walk *walk, int r)
{
	if (r < 0 && r != -ENOENT && !walk->failed)
		walk->failed = r;
}

/* Root is never refused, and must not follow a link with chmod(2). */
static int open_directory(const struct walk *walk, const char *name)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int parent = walk->directory, fd;
	struct stat status;

	if (walk->removes && geteuid() &&
	    !fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) &&
	    S_ISDIR(status.st_mode) && (status.st_mode & 0700) != 0700 &&
	    fchmodat(parent, name, 0700, 0) < 0)
		return -errno;
	fd = openat(parent, name, flags);
	return fd < 0 ? -errno : fd;
}

static int walk_enter(struct walk *walk, const char *name)
{
	auto_close int fd = open_directory(walk, name);
	struct level *level;
	int r;

	if (fd < 0)
		return fd;
	if (walk->depth == walk->cap) {
		size_t cap = walk->cap ? walk->cap * 2 : 16;
		struct level *wider = realloc(walk->levels,
					      cap * sizeof(*wider));

		if (!wider)
			return -ENOMEM;
		walk->levels = wider;
		walk->cap = cap;
	}
	level = &walk->levels[walk->depth];
	*level = (struct level){ 0 };
	r = tree_identify(walk->directory, &level->above);
	if (!r)
		r = tree_list(fd, &level->names);
	if (r < 0)
		return r;
	close(walk->directory);
	walk->directory = take_fd(&fd);
	walk->depth++;
	return 0;
}

/* Negative: there is no way back. */
static int walk_leave(struct walk *walk)
{
	struct level *level = &walk->levels[--walk->depth];
	int above;

	tree_forget(&level->names);
	if (!walk->depth)
		return 0;
	above = tree_up(walk->directory, &level->above);
	if (above < 0)
		return above;
	close(walk->directory);
	walk->directory = above;
	level--;
	/* The one that was left is empty, or will not go. */
	if (walk->removes &&
	    unlinkat(above, level->names.at[level->next - 1],
		     AT_REMOVEDIR) < 0)
		note_failure(walk, -errno);
	return 0;
}

static int note_time(struct walk *walk, const char *name)
{
	struct timespec *newest = &walk->newest;
	struct stat status;

	if (fstatat(walk->directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (status.st_ctim.tv_sec > newest->tv_sec ||
	    (status.st_ctim.tv_sec == newest->tv_sec &&
	     status.st_ctim.tv_nsec > newest->tv_nsec))
		*newest = status.st_ctim;
	return S_ISDIR(status.st_mode) ? walk_enter(walk, name) : 0;
}

static int remove_one(struct walk *walk, const char *name)
{
	if (!unlinkat(walk->directory, name, 0))
		return 0;
	/* EPERM: what POSIX has for a directory. */
	return errno == EISDIR || errno == EPERM ? walk_enter(walk, name) :
	       -errno;
}

static int walk_on(struct walk *walk)
{
	int r = 0;

	while (r >= 0 && walk->depth) {
		struct level *level = &walk->levels[walk->depth - 1];
		const char *name;

		if (level->next == level->names.count) {
			r = walk_leave(walk);
			continue;
		}
		name = level->names.at[level->next++];
		note_failure(walk, walk->removes ? remove_one(walk, name) :
			     note_time(walk, name));
	}
	return r;
}

/* Everything in @name, which is a directory. */
static int walk_all(struct walk *walk, int parent, const char *name)
{
	int r;

	walk->directory = fcntl(parent, F_DUPFD_CLOEXEC, 3);
	if (walk->directory < 0)
		return -errno;
	r = walk_enter(walk, name);
	if (r >= 0)
		r = walk_on(walk);
	while (walk->depth)
		tree_forget(&walk->levels[--walk->depth].names);
	free(walk->levels);
	mem_close_fd(&walk->directory);
	return r < 0 ? r : walk->failed;
}

int tree_remove(int parent, const char *name)
{
	struct walk walk = { .removes = true };
	bool keeps_top = !strcmp(name, ".");
	int r;

	if (!keeps_top && (!unlinkat(parent, name, 0) || errno == ENOENT))
		return 0;
	if (!keeps_top && !unlinkat(parent, name, AT_REMOVEDIR))
		return 0;
	r = walk_all(&walk, parent, name);
	if (r >= 0 && !keeps_top && unlinkat(parent, name, AT_REMOVEDIR) < 0 &&
	    errno != ENOENT)
		r = -errno;
	return r;
}

int tree_newest(int parent, const char *name, struct timespec *ret_newest)
{
	struct walk walk = { .removes = false };
	struct stat status;
	int r = 0;

	if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	walk.newest = status.st_ctim;
	if (S_ISDIR(status.st_mode))
		r = walk_all(&walk, parent, name);
	if (r >= 0)
		*ret_newest = walk.newest;
	return r;
}
