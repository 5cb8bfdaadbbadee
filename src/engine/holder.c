/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names in a writable workspace that are made for the time of a run: mount
 * points that are missing, and holders for protected names that do not exist.
 *
 * Runs may share a workspace, and then they share these too.  The kernel takes
 * every mount off a directory that is removed, in all namespaces: one run's
 * end would open what another one protects.  So each run has a shared lock
 * (flock(2)) on what it made, and on what it found locked by others, which is
 * one of theirs; and only who can make that lock exclusive, the last one,
 * removes it (janitor.c).
 *
 * A payload can lock whatever it can open, the user's own empty directory that
 * is protected from it, too.  So what is held also has a mode that nobody else
 * gives to anything; only who could remove the object itself can give it.
 *
 * Between the making and the lock of one run no other may look, so the
 * workspace itself is locked meanwhile.  A payload can lock it as well: after
 * a while that is done without.
 */
#include "engine/child.h"

#include "base/text.h"
#include "sys/rootfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { TRIES = 100, PAUSE_MS = 5 };

/* The sticky bit has no meaning on a file, nor where only the owner writes. */
enum { HOLDER_FILE_MODE = 01444, HOLDER_DIRECTORY_MODE = 01711 };

/* A directory may inherit its group together with the bit that says so. */
static bool has_holder_mode(const struct stat *status)
{
	mode_t mode = status->st_mode & 07777 & ~(mode_t)S_ISGID;

	return mode == (S_ISDIR(status->st_mode) ? HOLDER_DIRECTORY_MODE :
						   HOLDER_FILE_MODE);
}

/* A link that the payload of an earlier run may have made. */
static bool no_link(int directory, int link, void *data)
{
	return false;
}

static bool is_empty(int directory)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	bool found = false;

	if (!stream) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (!found && (entry = readdir(stream)))
		found = strcmp(entry->d_name, ".") != 0 &&
			strcmp(entry->d_name, "..") != 0;
	closedir(stream);
	return !found;
}

static int open_locked(int parent, const char *name)
{
	auto_close int fd = openat(parent, name, O_RDONLY | O_NOFOLLOW |
				   O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0)
		return -errno;
	return take_fd(&fd);
}

/*
 * Is what was opened as @fd what was just made?  Who owns the directory may
 * have put something else there by now.
 */
static bool is_fresh(int fd, bool is_file, const struct stat *status)
{
	if (status->st_uid != geteuid())
		return false;
	if (is_file)
		return S_ISREG(status->st_mode) && !status->st_size &&
		       status->st_nlink == 1;
	return S_ISDIR(status->st_mode) && is_empty(fd);
}

/*
 * See that it has the mode by which other runs know it: access control lists
 * that it inherits take bits away, and some file systems keep none.
 */
static int mark(int fd, const char *name, bool is_file, struct error *err)
{
	struct stat status;

	fchmod(fd, is_file ? HOLDER_FILE_MODE : HOLDER_DIRECTORY_MODE);
	if (fstat(fd, &status) < 0)
		return error_set(err, errno, "stat '%s'", name);
	if (has_holder_mode(&status))
		return 0;
	error_set(err, 0, "'%s' is made for the time of the run, and the file "
		  "system does not keep the mode by which other runs know it",
		  name);
	error_remedy(err, "make an empty %s of that name yourself",
		     is_file ? "file" : "directory");
	return error_result(err);
}

/*
 * What was made gets the mode, and the owner of the directory: root makes it
 * for somebody else.
 */
static int settle(int parent, const char *name, bool is_file,
		  struct error *err)
{
	auto_close int fd = openat(parent, name, O_RDONLY | O_NOFOLLOW |
				   O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status, owner;

	if (fd < 0 || fstat(fd, &status) < 0 ||
	    fstatat(parent, "", &owner, AT_EMPTY_PATH) < 0)
		return error_set(err, errno, "open '%s'", name);
	if (geteuid() && has_holder_mode(&status))
		return 0;
	if (!is_fresh(fd, is_file, &status))
		return error_set(err, EEXIST, "'%s' was replaced", name);
	if (!has_holder_mode(&status) && mark(fd, name, is_file, err) < 0)
		return error_result(err);
	if (!geteuid() && fchown(fd, owner.st_uid, owner.st_gid) < 0)
		return error_set(err, errno, "chown '%s'", name);
	return 0;
}

static int make_missing(struct run *run, int parent, const char *name,
			bool is_file, struct error *err)
{
	const struct leftover holder = {
		.parent_fd = parent, .name = name, .is_directory = !is_file,
		.is_shared = true,
	};
	int r = janitor_expect(run, &holder, err);

	if (r < 0)
		return r;
	r = is_file ? mknodat(parent, name, S_IFREG | HOLDER_FILE_MODE, 0) :
		mkdirat(parent, name, HOLDER_DIRECTORY_MODE);
	if (r < 0) {
		error_set(err, errno, "make '%s'", name);
		janitor_forget(run);
		return error_result(err);
	}
	if (janitor_made(run, open_locked(parent, name), err) < 0)
		return error_result(err);
	return settle(parent, name, is_file, err);
}

/*
 * If others hold @name, hold it with them.  Returns 1 if so, 0 if it is simply
 * there, -EAGAIN if it is on its way out, or an error.
 */
static int join_others(struct run *run, int parent, const char *name,
		       struct error *err)
{
	struct leftover joined = {
		.parent_fd = parent, .name = name, .is_shared = true,
	};
	auto_close int fd = -EBADF;
	struct stat found, now;

	if (fstatat(parent, name, &found, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set(err, errno == ENOENT ? EAGAIN : errno,
				 "stat '%s'", name);
	joined.is_directory = S_ISDIR(found.st_mode);
	if (!joined.is_directory && (!S_ISREG(found.st_mode) || found.st_size))
		return 0;
	if (!has_holder_mode(&found))
		return 0;
	fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
		    O_NOCTTY | O_CLOEXEC);
	/* What cannot be opened or locked is nobody's holder. */
	if (fd < 0 || !flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
		return 0;
	if (flock(fd, LOCK_SH | LOCK_NB) < 0 || fstat(fd, &found) < 0 ||
	    fstatat(parent, name, &now, AT_SYMLINK_NOFOLLOW) < 0 ||
	    found.st_dev != now.st_dev || found.st_ino != now.st_ino)
		return error_set(err, EAGAIN, "'%s' is in use by another run",
				 name);
	if (janitor_expect(run, &joined, err) < 0 ||
	    janitor_made(run, take_fd(&fd), err) < 0)
		return error_result(err);
	return 1;
}

/*
 * One name: there, joined or made.  Returns whether it holds the names below
 * it too, because there is nothing in it.
 */
static int hold_one(struct run *run, int parent, const char *name,
		    bool is_file, struct error *err)
{
	auto_close int fd = -EBADF;
	int r = -EAGAIN;
	struct stat status;

	for (int i = 0; r == -EAGAIN && i < TRIES; i++) {
		if (i)
			poll(NULL, 0, PAUSE_MS);
		if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) < 0 &&
		    errno == ENOENT) {
			r = make_missing(run, parent, name, is_file, err);
			return r < 0 ? r : 1;
		}
		r = join_others(run, parent, name, err);
	}
	if (r <= 0)
		return r;
	fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && is_empty(fd);
}

/*
 * Hold @path below @base: all of it, or (@only_first) just enough of what is
 * missing to hold the name.
 */
static int hold_name(struct run *run, int base, const char *path, bool is_file,
		     bool only_first, struct error *err)
{
	auto_close int parent = fcntl(base, F_DUPFD_CLOEXEC, 3);
	struct rootfs_part part;
	char *rest = arena_strdup(run->arena, path + strspn(path, "/"));
	int r = rootfs_walk(base, path, no_link, NULL, &part, err);

	if (r < 0)
		return r;
	close(part.fd);
	while (*rest) {
		size_t length = strcspn(rest, "/");
		char *next = rest + length + strspn(rest + length, "/");
		int below;

		rest[length] = '\0';
		r = hold_one(run, parent, rest, is_file && !*next, err);
		if (r < 0 || !*next || (r && only_first))
			return r < 0 ? r : 0;
		below = openat(parent, rest, O_PATH | O_DIRECTORY |
			       O_NOFOLLOW | O_CLOEXEC);
		if (below < 0)
			return error_set(err, errno, "open '%s'", rest);
		close(parent);
		parent = below;
		rest = next;
	}
	return 0;
}

/* Is @path there in a layer below the upper one? */
static bool in_lower(const struct plan_workspace *workspace, const char *path)
{
	for (size_t i = 0; i < workspace->lowers.count; i++) {
		auto_close int base = open(workspace->lowers.at[i], O_PATH |
					   O_DIRECTORY | O_CLOEXEC);
		auto_close int there = base < 0 ? -EBADF :
			rootfs_open(base, path, ROOTFS_NO_SYMLINKS, NULL);

		if (there >= 0)
			return true;
	}
	return false;
}

static bool source_is_file(const struct op *op)
{
	struct stat status;

	return op->kind == OP_BIND && !stat(op->source, &status) &&
	       !S_ISDIR(status.st_mode);
}

static bool needs_point(const struct plan *plan, const struct op *op)
{
	const char *top = plan->workspace.dest;

	if (op->role == ROLE_PROTECT)
		return true;
	return (op->kind == OP_BIND || op->kind == OP_TMPFS) &&
	       op->role != ROLE_WORKSPACE && op->role != ROLE_MASK &&
	       path_is_below(op->dest, top) && strcmp(op->dest, top) != 0;
}

static int hold_names(struct run *run, int base, struct error *err)
{
	const struct plan *plan = run->plan;
	const struct plan_workspace *workspace = &plan->workspace;

	for (size_t i = 0; i < plan->ops.count; i++) {
		const struct op *op = &plan->ops.at[i];
		struct child wrapper = { .plan = plan, .arena = run->arena };
		const char *path = op->dest + strlen(workspace->dest);

		if (!needs_point(plan, op) ||
		    (workspace->mode == WORKSPACE_OVERLAY &&
		     in_lower(workspace, path)))
			continue;
		if (hold_name(run, base, path, source_is_file(op),
			      op->role == ROLE_PROTECT, err) < 0)
			return op_fail(&wrapper, op, err);
	}
	return 0;
}

static bool needs_any(const struct plan *plan)
{
	for (size_t i = 0; i < plan->ops.count; i++)
		if (needs_point(plan, &plan->ops.at[i]))
			return true;
	return false;
}

int holder_prepare(struct run *run, struct error *err)
{
	const struct plan_workspace *workspace = &run->plan->workspace;
	bool is_overlay = workspace->mode == WORKSPACE_OVERLAY;
	const char *path = is_overlay ? workspace->upper : workspace->source;
	auto_close int base = -EBADF;
	int r;

	if (!workspace->source || (workspace->mode != WORKSPACE_RW &&
				   !is_overlay) || !needs_any(run->plan))
		return 0;
	base = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	if (base < 0)
		return error_set(err, errno, "open directory '%s'", path);
	/* An upper layer is this run's alone, and locked. */
	for (int i = 0; !is_overlay && i < TRIES; i++) {
		if (!flock(base, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
			break;
		poll(NULL, 0, PAUSE_MS);
	}
	r = hold_names(run, base, err);
	/* The janitor has copies of the descriptor. */
	if (!is_overlay)
		flock(base, LOCK_UN);
	return r;
}
