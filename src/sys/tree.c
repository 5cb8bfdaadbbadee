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
	if (!r && names.count) {
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

/* ---- removing --------------------------------------------------------------- */

struct removal {
	int directory;      /* where it is at the moment */
	int failed;         /* the first error */
	struct level {
		struct tree_id above;
		struct tree_names names;
		size_t next;
	} *levels;
	size_t depth, cap;
};

/* Root is never refused, and must not follow a link with chmod(2). */
static int open_closed(int parent, const char *name)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	struct stat status;

	if (geteuid() && !fstatat(parent, name, &status,
				  AT_SYMLINK_NOFOLLOW) &&
	    S_ISDIR(status.st_mode) && (status.st_mode & 0700) != 0700 &&
	    fchmodat(parent, name, 0700, 0) < 0)
		return -errno;
	parent = openat(parent, name, flags);
	return parent < 0 ? -errno : parent;
}

static int removal_enter(struct removal *removal, const char *name)
{
	auto_close int fd = open_closed(removal->directory, name);
	struct level *level;
	int r;

	if (fd < 0)
		return fd;
	if (removal->depth == removal->cap) {
		size_t cap = removal->cap ? removal->cap * 2 : 16;
		struct level *wider = realloc(removal->levels,
					      cap * sizeof(*wider));

		if (!wider)
			return -ENOMEM;
		removal->levels = wider;
		removal->cap = cap;
	}
	level = &removal->levels[removal->depth];
	*level = (struct level){ 0 };
	r = tree_identify(removal->directory, &level->above);
	if (!r)
		r = tree_list(fd, &level->names);
	if (r < 0)
		return r;
	close(removal->directory);
	removal->directory = take_fd(&fd);
	removal->depth++;
	return 0;
}

static void note_failure(struct removal *removal, int r)
{
	if (r < 0 && r != -ENOENT && !removal->failed)
		removal->failed = r;
}

/* Negative: there is no way back. */
static int removal_leave(struct removal *removal)
{
	struct level *level = &removal->levels[--removal->depth];
	int above;

	tree_forget(&level->names);
	if (!removal->depth)
		return 0;
	above = tree_up(removal->directory, &level->above);
	if (above < 0)
		return above;
	close(removal->directory);
	removal->directory = above;
	level--;
	/* The one that was left is empty, or will not go. */
	if (unlinkat(above, level->names.at[level->next++], AT_REMOVEDIR) < 0)
		note_failure(removal, -errno);
	return 0;
}

static int removal_run(struct removal *removal)
{
	int r = 0;

	while (r >= 0 && removal->depth) {
		struct level *level = &removal->levels[removal->depth - 1];
		const char *name;

		if (level->next == level->names.count) {
			r = removal_leave(removal);
			continue;
		}
		name = level->names.at[level->next];
		if (!unlinkat(removal->directory, name, 0)) {
			level->next++;
			continue;
		}
		/* EPERM: what POSIX has for a directory. */
		r = errno == EISDIR || errno == EPERM ?
		    removal_enter(removal, name) : -errno;
		if (r < 0) {
			note_failure(removal, r);
			level->next++;
			r = 0;
		}
	}
	return r;
}

int tree_remove(int parent, const char *name)
{
	struct removal removal = { .directory = -EBADF };
	bool keeps_top = !strcmp(name, ".");
	int r;

	if (!keeps_top && (!unlinkat(parent, name, 0) || errno == ENOENT))
		return 0;
	if (!keeps_top && !unlinkat(parent, name, AT_REMOVEDIR))
		return 0;
	removal.directory = fcntl(parent, F_DUPFD_CLOEXEC, 3);
	if (removal.directory < 0)
		return -errno;
	r = removal_enter(&removal, name);
	if (r >= 0)
		r = removal_run(&removal);
	while (removal.depth)
		tree_forget(&removal.levels[--removal.depth].names);
	free(removal.levels);
	mem_close_fd(&removal.directory);
	if (r >= 0)
		r = removal.failed;
	if (r >= 0 && !keeps_top && unlinkat(parent, name, AT_REMOVEDIR) < 0 &&
	    errno != ENOENT)
		r = -errno;
	return r;
}
