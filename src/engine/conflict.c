/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * May a change land?  Not on what others have changed since the payload
 * started, which only times tell, and not on what is protected.
 */
#include "engine/commit.h"

#include "sys/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static int refuse(const struct change *change, struct error *err)
{
	error_set(err, 0, "'%s' was changed by somebody else while the "
		  "command ran", change->path);
	error_reason(err, "commit-conflict");
	return error_result(err);
}

/* Some file systems keep whole seconds only: in doubt it was later. */
static bool is_later(const struct timespec *a, const struct timespec *since)
{
	return a->tv_sec > since->tv_sec ||
	       (a->tv_sec == since->tv_sec &&
		(a->tv_nsec > since->tv_nsec || !a->tv_nsec));
}

/*
 * The upper layer's copy of what is not in the lower one: it was renamed
 * inside, or it has gone since, and then the time of its directory tells.
 */
static int check_vanished(const struct commit *commit,
			  const struct change *change, struct error *err)
{
	struct stat status;

	if (change->beside < 0 || !changes_is_copied(change))
		return 0;
	if (fstat(change->beside, &status) < 0)
		return error_set(err, errno, "look beside '%s'",
				 change->path);
	return is_later(&status.st_mtim, &commit->since) ?
	       refuse(change, err) : 0;
}

int conflict_with_others(const struct commit *commit,
			 const struct change *change, bool goes_whole,
			 struct error *err)
{
	const struct timespec *since = &commit->since;
	struct timespec newest;
	int r;

	if (change->below < 0)
		return check_vanished(commit, change, err);
	newest = change->before.st_ctim;
	if (goes_whole && S_ISDIR(change->before.st_mode)) {
		r = tree_newest(change->below, change->name, &newest);
		if (r < 0)
			return error_set(err, -r, "look at '%s'",
					 change->path);
	}
	return is_later(&newest, since) ? refuse(change, err) : 0;
}

int conflict_with_rename(const struct commit *commit,
			 const struct change *change, struct error *err)
{
	const struct timespec *since = &commit->since;
	struct statx status;
	struct timespec born;

	if (is_later(&change->before.st_ctim, since) &&
	    !is_later(&change->before.st_mtim, since))
		return refuse(change, err);
	if (statx(change->below, change->name, AT_SYMLINK_NOFOLLOW,
		  STATX_BTIME, &status) < 0)
		return error_set(err, errno, "stat '%s'", change->path);
	born.tv_sec = status.stx_btime.tv_sec;
	born.tv_nsec = status.stx_btime.tv_nsec;
	return status.stx_mask & STATX_BTIME && is_later(&born, since) ?
	       refuse(change, err) : 0;
}

/* Relative normal paths. */
static bool is_at_or_below(const char *path, const char *top)
{
	size_t length = strlen(top);

	return !strncmp(path, top, length) &&
	       (!path[length] || path[length] == '/');
}

int conflict_with_guards(const struct commit *commit,
			 const struct change *change, bool goes_whole,
			 struct error *err)
{
	for (size_t i = 0; i < commit->guarded.count; i++) {
		const char *guarded = commit->guarded.at[i];

		if (!is_at_or_below(change->path, guarded) &&
		    !(goes_whole && is_at_or_below(guarded, change->path)))
			continue;
		error_set(err, EPERM, "'%s' is protected, and was changed all "
			  "the same: '%s'", guarded, change->path);
		error_reason(err, "commit-protected");
		return -EPERM;
	}
	return 0;
}
