/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The changed files and directories of a run, copied out, whole or not at
 * all: into a directory beside the wanted one, which gets the wanted name
 * when everything is in it.
 *
 * What the payload made is hostile.  Regular files, directories and symlinks
 * that stay within the tree are copied; devices, sockets, FIFOs and other
 * symlinks are not; set-user-id, set-group-id and sticky bits, owners and
 * attributes do not come along.  Holes stay holes, so that a file costs what
 * it cost inside.
 */
#include "engine/results.h"

#include "base/text.h"
#include "engine/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct export {
	struct run *run;
	int parent;        /* directory that holds the copy */
	mode_t mode;       /* of directories */
	int copy;          /* the copy, -EBADF before the first change */
	const char *name;  /* its name in the end */
	const char *path;  /* as the plan says */
	const char *draft; /* its name until then */
};

int export_open(struct run *run, const char *path, struct export **ret_export,
		struct error *err)
{
	struct export *export = arena_alloc(run->arena, sizeof(*export));
	char *above = path_normalise(run->arena, path);
	char *slash = strrchr(above, '/');
	struct stat status;

	export->run = run;
	export->path = path;
	export->copy = -EBADF;
	export->mode = 0777 & ~run->payload_umask;
	export->name = arena_strdup(run->arena, slash + 1);
	export->draft = arena_printf(run->arena, ".%.200s.sbx-%d",
				     export->name, (int)getpid());
	*slash = '\0';
	if (!*export->name)
		return error_set(err, EEXIST, "'%s'", path);
	export->parent = open(*above ? above : "/", O_RDONLY | O_DIRECTORY |
			      O_CLOEXEC);
	if (export->parent < 0)
		return error_set(err, errno, "open directory '%s'", above);
	if (!fstatat(export->parent, export->name, &status,
		     AT_SYMLINK_NOFOLLOW)) {
		error_set(err, EEXIST, "'%s'", path);
		error_remedy(err, "the copy gets a directory of its own: name "
			     "one that is not there");
		return -EEXIST;
	}
	*arena_push(run->arena, &run->monitor_fds) = export->parent;
	*ret_export = export;
	return 0;
}

static int start_copy(struct export *export, struct error *err)
{
	const struct leftover draft = {
		.parent_fd = export->parent, .name = export->draft,
		.is_directory = true, .is_work = true,
	};

	if (export->copy >= 0)
		return 0;
	if (janitor_expect(export->run, &draft, err) < 0)
		return error_result(err);
	if (mkdirat(export->parent, export->draft, export->mode) < 0) {
		error_set(err, errno, "make '%s' beside '%s'", export->draft,
			  export->path);
		janitor_forget(export->run);
		return error_result(err);
	}
	if (janitor_made(export->run, -EBADF, err) < 0)
		return error_result(err);
	export->copy = openat(export->parent, export->draft, O_RDONLY |
			      O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (export->copy < 0)
		return error_set(err, errno, "open '%s'", export->draft);
	return 0;
}

/* The directory of the copy that holds @path; its parents are made. */
static int open_above(const struct export *export, const char *path,
		      const char **ret_name, struct error *err)
{
	auto_close int current = fcntl(export->copy, F_DUPFD_CLOEXEC, 3);
	const char *slash;

	for (; (slash = strchr(path, '/')); path = slash + 1) {
		char name[NAME_MAX + 1];
		int next;

		snprintf(name, sizeof(name), "%.*s", (int)(slash - path),
			 path);
		if (mkdirat(current, name, export->mode) < 0 && errno != EEXIST)
			return error_set(err, errno, "mkdir '%s'", name);
		next = openat(current, name, O_RDONLY | O_DIRECTORY |
			      O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return error_set(err, errno, "open '%s'", name);
		close(current);
		current = next;
	}
	*ret_name = path;
	return take_fd(&current);
}

/* The data between @from and @to, at the same place in both files. */
static int copy_range(int source, int target, off_t from, off_t to)
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

static int copy_data(int source, int target, off_t size)
{
	off_t data, hole = 0;
	int r = 0;

	while (!r && (data = lseek(source, hole, SEEK_DATA)) >= 0) {
		hole = lseek(source, data, SEEK_HOLE);
		if (hole < 0)
			return -errno;
		r = copy_range(source, target, data, hole);
	}
	if (!r && errno != ENXIO)
		r = -errno;
	return r < 0 ? r : ftruncate(target, size) < 0 ? -errno : 0;
}

static int copy_file(const struct change *change, int above, const char *name,
		     struct error *err)
{
	auto_close int source = changes_open(change->directory, change->name,
					     0, change->status.st_mode);
	auto_close int target = -EBADF;
	struct stat status;
	int r;

	if (source < 0)
		return error_set(err, -source, "read '%s'", change->path);
	if (fstat(source, &status) < 0)
		return error_set(err, errno, "stat '%s'", change->path);
	if (!S_ISREG(status.st_mode))
		return error_set(err, EINVAL, "'%s' changed its type",
				 change->path);
	target = openat(above, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
			O_CLOEXEC, 0600);
	if (target < 0)
		return error_set(err, errno, "create '%s'", change->path);
	r = copy_data(source, target, status.st_size);
	if (!r && fchmod(target, status.st_mode & 0777) < 0)
		r = -errno;
	return r < 0 ? error_set(err, -r, "copy '%s'", change->path) : 0;
}

/* Does a symlink at @path with @target stay below the top? */
static bool stays_inside(const char *path, const char *target)
{
	long depth = 0;

	if (*target == '/' || !*target)
		return false;
	for (; *path; path++)
		depth += *path == '/';
	while (*target) {
		size_t length = strcspn(target, "/");

		if (length == 2 && !memcmp(target, "..", 2))
			depth--;
		else if (length && !(length == 1 && *target == '.'))
			depth++;
		if (depth < 0)
			return false;
		target += length;
		target += strspn(target, "/");
	}
	return true;
}

static int copy_link(const struct change *change, int above, const char *name,
		     struct error *err)
{
	char target[PATH_MAX];
	ssize_t size = readlinkat(change->directory, change->name, target,
				  sizeof(target) - 1);

	if (size < 0)
		return error_set(err, errno, "readlink '%s'", change->path);
	target[size] = '\0';
	if (!stays_inside(change->path, target))
		return 0;
	if (symlinkat(target, above, name) < 0)
		return error_set(err, errno, "symlink '%s'", change->path);
	return 0;
}

int export_change(const struct change *change, void *data, struct error *err)
{
	struct export *export = data;
	mode_t mode = change->status.st_mode;
	auto_close int above = -EBADF;
	const char *name;

	if (change->kind == CHANGE_DELETED ||
	    !(S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode)))
		return 0;
	if (start_copy(export, err) < 0)
		return error_result(err);
	above = open_above(export, change->path, &name, err);
	if (above < 0)
		return above;
	if (S_ISREG(mode))
		return copy_file(change, above, name, err);
	if (S_ISLNK(mode))
		return copy_link(change, above, name, err);
	/* Ours to write to until the end, whatever its mode inside. */
	if (mkdirat(above, name, export->mode) < 0 && errno != EEXIST)
		return error_set(err, errno, "mkdir '%s'", change->path);
	return 0;
}

int export_close(struct export *export, bool failed, struct error *err)
{
	if (failed)
		return 0;
	/* A run without changes has an empty copy. */
	if (start_copy(export, err) < 0)
		return error_result(err);
	if (renameat2(export->parent, export->draft, export->parent,
		      export->name, RENAME_NOREPLACE) < 0)
		return error_set(err, errno, "name the copy '%s'",
				 export->path);
	return 0;
}
