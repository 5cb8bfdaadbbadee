/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where a commit is prepared: beside the directory, under a name that follows
 * from the directory's, which somebody else may have taken.
 *
 * Whoever can write to what holds the directory can make something there; in
 * a place like /tmp that is everybody.  What is believed is a directory of the
 * directory's owner or our own, that nobody else can write to; and without a
 * journal in it only what a commit makes is removed.
 */
#include "engine/journal.h"

#include "sys/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

enum { LOCK_PAUSE_MS = 20 };

void journal_slot(size_t slot, char ret_name[24])
{
	snprintf(ret_name, 24, "%zu", slot);
}

static int same_mount(int a, int b)
{
	struct statx first, second;

	if (statx(a, "", AT_EMPTY_PATH, STATX_MNT_ID, &first) < 0 ||
	    statx(b, "", AT_EMPTY_PATH, STATX_MNT_ID, &second) < 0)
		return -errno;
	return first.stx_dev_major == second.stx_dev_major &&
	       first.stx_dev_minor == second.stx_dev_minor &&
	       (!(first.stx_mask & second.stx_mask & STATX_MNT_ID) ||
		first.stx_mnt_id == second.stx_mnt_id);
}

/*
 * Where @directory is, behind all links: @above gets what holds it, and
 * *@ret_name, NULL if it has none, its name there.  0, or a negative errno.
 */
static int name_of(int directory, char above[PATH_MAX], const char **ret_name)
{
	char link[64], *slash;
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", directory);
	size = readlink(link, above, PATH_MAX - 1);
	if (size < 0)
		return -errno;
	above[size] = '\0';
	slash = strrchr(above, '/');
	if (slash)
		*slash = '\0';
	*ret_name = slash ? slash + 1 : NULL;
	return 0;
}

static const char *stage_in(struct arena *arena, const char *above,
			    const char *name)
{
	return arena_printf(arena, "%s/.%.200s.sbx-commit", above, name);
}

const char *journal_stage_path(struct arena *arena, int directory)
{
	char above[PATH_MAX];
	const char *name = NULL;

	return !name_of(directory, above, &name) && name ?
	       stage_in(arena, above, name) : NULL;
}

static int find_parent(struct arena *arena, const char *path,
		       struct journal_place *place, struct error *err)
{
	char above[PATH_MAX];
	struct stat status, named;
	const char *name = NULL;
	int r = name_of(place->directory, above, &name);

	if (r < 0)
		return error_set(err, -r, "readlink '/proc/self/fd/%d'",
				 place->directory);
	place->parent = openat(place->directory, "..", O_RDONLY | O_DIRECTORY |
			       O_CLOEXEC);
	if (!name || place->parent < 0 ||
	    fstat(place->directory, &status) < 0 ||
	    fstatat(place->parent, name, &named, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set(err, errno, "open what holds '%s'", path);
	if (status.st_dev != named.st_dev || status.st_ino != named.st_ino ||
	    same_mount(place->directory, place->parent) != 1) {
		error_set(err, EXDEV, "'%s' is a mount of its own", path);
		error_remedy(err, "a commit has to write beside it: name a "
			     "directory below the mount");
		return -EXDEV;
	}
	place->stage_path = stage_in(arena, above, name);
	place->stage = strrchr(place->stage_path, '/') + 1;
	place->owner = (struct copy_owner){
		.is_other = !geteuid() && status.st_uid,
		.uid = status.st_uid, .gid = status.st_gid,
	};
	return 0;
}

int journal_find(struct arena *arena, const char *path,
		 struct journal_place *ret_place, struct error *err)
{
	struct journal_place place = { .parent = -EBADF };
	int r;

	place.directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
			       O_NONBLOCK);
	if (place.directory < 0)
		return error_set(err, errno, "open directory '%s'", path);
	r = find_parent(arena, path, &place, err);
	if (r < 0) {
		close(place.directory);
		mem_close_fd(&place.parent);
		return r;
	}
	*ret_place = place;
	return 0;
}

int journal_lock(const struct journal_place *place, unsigned int wait_ms,
		 struct error *err)
{
	for (unsigned int waited = 0;; waited += LOCK_PAUSE_MS) {
		if (!flock(place->directory, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return error_set(err, errno, "lock the directory");
		if (waited >= wait_ms)
			break;
		poll(NULL, 0, LOCK_PAUSE_MS);
	}
	error_set(err, EBUSY, "another run has locked the directory");
	error_reason(err, "commit-busy");
	return -EBUSY;
}

void journal_unlock(const struct journal_place *place)
{
	flock(place->directory, LOCK_UN);
}

/* ---- what is there ----------------------------------------------------------- */

static int refuse(const struct journal_place *place, struct error *err,
		  const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(const struct journal_place *place, struct error *err,
		  const char *format, ...)
{
	char what[512];
	va_list list;

	va_start(list, format);
	vsnprintf(what, sizeof(what), format, list);
	va_end(list);
	error_set(err, 0, "'%s' is not what an interrupted commit leaves: %s",
		  place->stage_path, what);
	error_reason(err, "commit-pending");
	error_remedy(err, "a commit needs that name for itself: move away "
		     "what has it");
	return error_result(err);
}

static int judge(const struct journal_place *place, const struct stat *status,
		 struct error *err)
{
	struct stat owner;

	if (fstat(place->directory, &owner) < 0)
		return error_set(err, errno, "stat the directory");
	if (!S_ISDIR(status->st_mode))
		return refuse(place, err, S_ISLNK(status->st_mode) ?
			      "it is a symbolic link" :
			      "it is not a directory");
	/* Root may have been stopped before it gave the stage away. */
	if (status->st_uid != owner.st_uid && status->st_uid != geteuid())
		return refuse(place, err, "it belongs to user %u, and the "
			      "directory to user %u", status->st_uid,
			      owner.st_uid);
	if (status->st_mode & 022)
		return refuse(place, err, "others can write to it");
	return 0;
}

int journal_check(const struct journal_place *place, struct error *err)
{
	struct stat status;
	int r;

	if (fstatat(place->parent, place->stage, &status,
		    AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 :
		       error_set(err, errno, "stat '%s'", place->stage_path);
	r = judge(place, &status, err);
	return r < 0 ? r : 1;
}

/* Who owns what holds it may have put something else there since. */
int journal_reopen(const struct journal_place *place, struct error *err)
{
	auto_close int fd = openat(place->parent, place->stage, O_RDONLY |
				   O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return error_set(err, errno, "open '%s'", place->stage_path);
	if (judge(place, &status, err) < 0)
		return error_result(err);
	return take_fd(&fd);
}

static bool is_of_a_stage(const char *name)
{
	return !name[strspn(name, "0123456789")] ||
	       !strcmp(name, JOURNAL_NAME) || !strcmp(name, JOURNAL_DRAFT);
}

int journal_check_names(const struct journal_place *place, int stage,
			struct error *err)
{
	struct tree_names names;
	int r = tree_list(stage, &names);

	if (r < 0)
		return error_set(err, -r, "read '%s'", place->stage_path);
	for (size_t i = 0; !r && i < names.count; i++)
		if (!is_of_a_stage(names.at[i]))
			r = refuse(place, err, "it holds '%s'", names.at[i]);
	tree_forget(&names);
	return r;
}

void journal_drop(const struct journal_place *place)
{
	struct error ignored;
	auto_close int stage = journal_check(place, &ignored) == 1 ?
			       journal_reopen(place, &ignored) : -EBADF;

	if (stage < 0)
		return;
	/* First what makes it mean something. */
	unlinkat(stage, JOURNAL_NAME, 0);
	tree_remove(place->parent, place->stage);
}

int journal_open(const struct journal_place *place, struct error *err)
{
	auto_close int stage = -EBADF;
	struct stat status;

	if (mkdirat(place->parent, place->stage, 0700) < 0)
		return error_set(err, errno, "make '%s'", place->stage_path);
	stage = openat(place->parent, place->stage, O_RDONLY | O_DIRECTORY |
		       O_NOFOLLOW | O_CLOEXEC);
	if (stage < 0 || fstat(stage, &status) < 0)
		return error_set(err, errno, "open '%s'", place->stage_path);
	/* Whoever owns what holds it may have replaced it. */
	if (status.st_uid != geteuid())
		return refuse(place, err, "somebody has replaced it");
	/* Its group is nobody's business: no bit from what holds it. */
	if (fchmod(stage, 0700) < 0)
		return error_set(err, errno, "chmod '%s'", place->stage_path);
	if (place->owner.is_other &&
	    fchown(stage, place->owner.uid, place->owner.gid) < 0)
		return error_set(err, errno, "chown '%s'",
				 place->stage_path);
	return take_fd(&stage);
}
