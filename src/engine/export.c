/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The changed files and directories of a run, copied out, whole or not at
 * all: into a directory beside the wanted one, which gets the wanted name
 * when everything is in it.  Who is told to end while it copies does so, and
 * then it is not at all.
 *
 * What the payload made is hostile.  Regular files, directories and symlinks
 * that stay within the tree are copied (copy.h); devices, sockets, FIFOs and
 * other symlinks are not.  The caller can write to all of it.
 */
#include "engine/results.h"

#include "base/text.h"
#include "engine/commit.h"
#include "engine/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct export {
	struct run *run;
	int parent;        /* directory that holds the copy */
	mode_t mode;       /* of directories */
	struct copy *copy;
	const struct copy_question *question;
	struct copy_owner owner; /* who we are */
	const char *name;  /* its name in the end */
	const char *path;  /* as the plan says */
	const char *draft; /* its name until then */
};

/*
 * Is @directory @top or below it?  A negative errno when that cannot be found
 * out.
 */
static int is_inside(int directory, int top)
{
	auto_close int at = openat(directory, ".", O_PATH | O_CLOEXEC);
	struct stat wanted, here, above;

	if (at < 0 || fstat(top, &wanted) < 0 || fstat(at, &here) < 0)
		return -errno;
	for (;;) {
		int up;

		if (here.st_dev == wanted.st_dev &&
		    here.st_ino == wanted.st_ino)
			return 1;
		up = openat(at, "..", O_PATH | O_CLOEXEC);
		if (up < 0)
			return -errno;
		close(at);
		at = up;
		if (fstat(at, &above) < 0)
			return -errno;
		if (above.st_dev == here.st_dev && above.st_ino == here.st_ino)
			return 0;
		here = above;
	}
}

/*
 * Below the upper layer the copy would be copied again.  Below a lower one, the
 * workspace, it is welcome; but for a commit to that it is a change that
 * somebody else has made.
 */
static int check_place(const struct export *export, int upper,
		       struct error *err)
{
	const struct commit *commit = export->run->commit;
	const struct {
		int fd;
		const char *what;
	} layers[] = {
		{ upper, "upper layer, which is what is copied" },
		{ commit ? commit->place.directory : -EBADF,
		  "lower layer, to which the changes are committed" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(layers); i++) {
		int r = layers[i].fd < 0 ? 0 :
			is_inside(export->parent, layers[i].fd);

		if (r < 0)
			return error_set(err, -r, "find what '%s' is in",
					 export->path);
		if (!r)
			continue;
		error_set(err, EINVAL, "'%s' lies below the %s", export->path,
			  layers[i].what);
		error_remedy(err, "name a directory outside of it");
		return -EINVAL;
	}
	return 0;
}

int export_open(struct run *run, const char *path, int upper,
		struct export **ret_export, struct error *err)
{
	struct export *export = arena_alloc(run->arena, sizeof(*export));
	char *above = path_normalise(run->arena, path);
	char *slash = strrchr(above, '/');
	struct stat status;

	export->run = run;
	export->path = path;
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
	if (check_place(export, upper, err) < 0)
		return error_result(err);
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
	int top;

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
	top = openat(export->parent, export->draft, O_RDONLY | O_DIRECTORY |
		     O_NOFOLLOW | O_CLOEXEC);
	if (top < 0)
		return error_set(err, errno, "open '%s'", export->draft);
	return copy_begin(top, export->mode, &export->owner, export->question,
			  &export->copy, err);
}

static int export_change(const struct change *change, void *data,
			 struct error *err)
{
	struct export *export = data;
	mode_t mode = change->status.st_mode;

	if (copy_ask(export->copy, err) < 0)
		return error_result(err);
	if (change->kind == CHANGE_DELETED)
		return 0;
	if (S_ISREG(mode))
		return copy_file(export->copy, change, change->name, err);
	if (S_ISLNK(mode) && copy_link_stays(change))
		return copy_link(export->copy, change, change->name, err);
	return 0;
}

static int export_enter(const struct change *directory, void *data,
			struct error *err)
{
	struct export *export = data;
	int r = copy_enter(export->copy, directory->name, 0, err);

	/* One that is as it was is there for what is in it. */
	if (r < 0 || directory->kind == CHANGE_NONE)
		return r;
	return copy_reach(export->copy, err);
}

static int export_leave(void *data, struct error *err)
{
	struct export *export = data;

	return copy_leave(export->copy, err);
}

int export_run(struct export *export, int upper, const int *lowers,
	       size_t count, const struct copy_question *question,
	       struct error *err)
{
	const struct change_visitor visitor = {
		.change = export_change, .enter = export_enter,
		.leave = export_leave, .data = export,
	};
	int r;

	export->question = question;
	r = start_copy(export, err);
	if (r >= 0)
		r = changes_walk(upper, lowers, count, &visitor, err);
	/* Who finds the name finds all of it, whatever the machine does. */
	if (!r && syncfs(export->parent) < 0)
		r = error_set(err, errno, "write '%s'", export->draft);
	/* That takes its time: once more, before it is there. */
	if (!r)
		r = copy_ask(export->copy, err);
	copy_end(export->copy);
	export->copy = NULL;
	if (r < 0)
		return r;
	if (renameat2(export->parent, export->draft, export->parent,
		      export->name, RENAME_NOREPLACE) < 0)
		return error_set(err, errno, "name the copy '%s'",
				 export->path);
	return 0;
}
