/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "front/reserved.h"

#include "base/text.h"
#include "front/answer.h"
#include "front/profile_file.h"
#include "front/variables.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* No server is asked for what is known already. */
static int look_at(int directory, const char *name, struct statx *ret_info)
{
	return statx(directory, name, AT_EMPTY_PATH | AT_NO_AUTOMOUNT |
		     AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MODE | STATX_UID |
		     STATX_INO, ret_info);
}

static void note(struct plan *plan, struct profile_file *file,
		 const struct statx *info)
{
	*arena_push(plan->arena, &file->chain) = (struct file_id){
		.device = makedev(info->stx_dev_major, info->stx_dev_minor),
		.inode = info->stx_ino,
	};
}

/* ---- the launcher ------------------------------------------------------------------ */

static int distrust(const char *path, const char *why, struct error *err)
{
	error_set(err, EPERM, "sbx-launch itself is not trusted: '%s' %s",
		  path, why);
	error_reason(err, "launcher-trust");
	return -EPERM;
}

/* @is_program, or a directory above it. */
static int check_launcher(struct plan *plan, const char *path,
			  const struct statx *info, bool is_program,
			  struct error *err)
{
	uid_t owner = info->stx_uid;

	if (info->stx_mode & S_IWOTH &&
	    (is_program || !(info->stx_mode & S_ISVTX))) {
		distrust(path, "can be written by everybody", err);
		error_remedy(err, "chmod o-w '%s'", path);
		return -EPERM;
	}
	if (!is_program || !owner || owner == getuid() ||
	    profile_file_is_unmapped(owner))
		return 0;
	distrust(path, arena_printf(plan->arena, "belongs to user %u, not to "
				    "you or root", owner), err);
	error_remedy(err, "install it as root, or run a copy of your own");
	return -EPERM;
}

/* The program that runs, and every directory on the way to it. */
static int find_launcher(struct plan *plan, struct error *err)
{
	struct profile_file *launcher = &plan->launcher;
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	bool is_program = true;
	char *slash;
	int r = 0;

	/* Without a /proc there is nobody who could say. */
	if (length <= 0 || *path != '/')
		return 0;
	path[length] = '\0';
	launcher->path = arena_strdup(plan->arena, path);
	do {
		const char *name = *path ? path : "/";
		struct statx info;

		if (!look_at(AT_FDCWD, name, &info)) {
			note(plan, launcher, &info);
			r = check_launcher(plan, name, &info, is_program, err);
		}
		is_program = false;
		slash = strrchr(path, '/');
		if (slash)
			*slash = '\0';
	} while (!r && slash);
	return r;
}

/* ---- the home directory ------------------------------------------------------------ */

/* @path, or what there is of the way to it. */
static int open_directory(const char *path)
{
	size_t size = strlen(path) + 1;
	char name[PATH_MAX];
	char *slash;
	int fd;

	if (size > sizeof(name))
		return -ENAMETOOLONG;
	memcpy(name, path, size);
	while ((fd = open(*name ? name : "/", O_PATH | O_DIRECTORY |
			  O_CLOEXEC)) < 0) {
		slash = strrchr(name, '/');
		if (!slash)
			return -errno;
		*slash = '\0';
	}
	return fd;
}

/*
 * The directories on the way to @path.  By "..", since a name on the way may
 * be a link.
 */
static void note_way(struct plan *plan, struct profile_file *file,
		     const char *path)
{
	auto_close int directory = open_directory(path);
	char up[PATH_MAX] = "";
	size_t used = 0;
	struct statx info;

	file->path = path;
	while (directory >= 0 && !look_at(directory, up, &info)) {
		const struct file_id *last = file->chain.count ?
			&file->chain.at[file->chain.count - 1] : NULL;

		if ((last && last->inode == info.stx_ino &&
		     last->device == makedev(info.stx_dev_major,
					     info.stx_dev_minor)) ||
		    used + 4 > sizeof(up))
			return;
		note(plan, file, &info);
		used += (size_t)snprintf(up + used, sizeof(up) - used,
					 used ? "/.." : "..");
	}
}

static int add_home(struct plan *plan, const char *path, struct error *err)
{
	if (!path || *path != '/')
		return 0;
	for (size_t i = 0; i < plan->homes.count; i++)
		if (!strcmp(plan->homes.at[i].path, path))
			return 0;
	if (answer_await(plan->arena, path, err) < 0)
		return error_wrap(err, "the home directory");
	note_way(plan, arena_push(plan->arena, &plan->homes), path);
	return 0;
}

int reserved_find(struct plan *plan, struct error *err)
{
	int r = find_launcher(plan, err);

	if (r < 0)
		return r;
	if (plan->security.seccomp == SECCOMP_FROM_FILE)
		note_way(plan, &plan->filter, plan->security.seccomp_file);
	/* The variable may be anybody's invention. */
	r = add_home(plan, getenv("HOME"), err);
	return r < 0 ? r :
	       add_home(plan, variables_passwd_home(plan->arena), err);
}
