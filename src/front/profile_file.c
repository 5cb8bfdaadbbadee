/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "front/profile_file.h"

#include "base/text.h"
#include "front/answer.h"
#include "front/ini.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the search --------------------------------------------------------------- */

/* @path, if it is there, into *@ret_path. */
static int note_existing(struct arena *arena, const char *path,
			 const char **ret_path, struct error *err)
{
	struct stat status;
	int r = answer_await(arena, path, err);

	if (r >= 0 && !lstat(path, &status))
		*ret_path = path;
	return r;
}

/* @name in @directory, with and without .ini; NULL when it is not there. */
static int find_in(struct arena *arena, const char *directory,
		   const char *name, const char **ret_path, struct error *err)
{
	size_t length = strlen(name);
	bool has_suffix = length > 4 && !strcmp(name + length - 4, ".ini");
	int r = 0;

	*ret_path = NULL;
	if (!has_suffix)
		r = note_existing(arena, arena_printf(arena, "%s%s.ini",
						      directory, name),
				  ret_path, err);
	if (r >= 0 && !*ret_path)
		r = note_existing(arena, arena_printf(arena, "%s%s", directory,
						      name), ret_path, err);
	return r < 0 ? error_wrap(err, "profile '%s'", name) : 0;
}

static const char *user_directory(struct arena *arena)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");

	/* The XDG specification has relative values ignored. */
	if (config && *config == '/')
		return arena_printf(arena, "%s/sbx-launch/", config);
	if (home && *home == '/')
		return arena_printf(arena, "%s/.config/sbx-launch/", home);
	return NULL;
}

int profile_file_find(struct arena *arena, const char *name,
		      const char **ret_path, struct error *err)
{
	const char *directories[] = {
		user_directory(arena), SBX_SYSCONFDIR "/", SBX_DATADIR "/", "",
	};

	if (!*name)
		return error_set(err, 0, "the profile's name is empty");
	if (strchr(name, '/')) {
		*ret_path = name;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
		const char *path;

		if (!directories[i])
			continue;
		if (find_in(arena, directories[i], name, &path, err) < 0)
			return error_result(err);
		if (path) {
			*ret_path = path;
			return 0;
		}
	}
	error_set(err, ENOENT, "profile '%s'", name);
	error_remedy(err, "looked in %s%s" SBX_SYSCONFDIR ", " SBX_DATADIR
		     " and the current directory; a name with a '/' is a path",
		     directories[0] ? directories[0] : "",
		     directories[0] ? ", " : "");
	return error_result(err);
}

/* ---- trust ---------------------------------------------------------------------- */

struct opening {
	struct arena *arena;
	const char *path;       /* as the user wrote it */
	bool is_installed;
	struct error *err;
};

static int distrust(const struct opening *opening, const char *what,
		    const char *why, const char *remedy)
{
	struct error *err = opening->err;

	error_set(err, 0, "profile '%s' is not trusted: %s %s", opening->path,
		  what, why);
	if (remedy)
		error_remedy(err, "%s", remedy);
	error_reason(err, "profile-trust");
	return error_result(err);
}

bool profile_file_is_unmapped(uid_t uid)
{
	enum { OVERFLOW_UID = 65534 };
	char line[128];
	bool is_mapped = false;
	FILE *map;

	if (uid != OVERFLOW_UID)
		return false;
	map = fopen("/proc/self/uid_map", "re");
	if (!map)
		return false;
	/* "first id inside, first id outside, how many" (user_namespaces(7)) */
	while (fgets(line, sizeof(line), map)) {
		char *at = line;
		unsigned long first = strtoul(at, &at, 10);
		unsigned long count;

		strtoul(at, &at, 10);
		count = strtoul(at, &at, 10);
		is_mapped |= uid >= first && uid - first < count;
	}
	fclose(map);
	return !is_mapped;
}

static bool is_trusted_owner(const struct opening *opening, uid_t owner)
{
	return !owner || owner == getuid() ||
	       (opening->is_installed && profile_file_is_unmapped(owner));
}

static const char *quoted(const struct opening *opening, const char *what,
			  const char *path)
{
	return arena_printf(opening->arena, "%s '%s'", what, path);
}

/* @path names what @info describes, in the error. */
static int check_owner(const struct opening *opening, const char *what,
		       const char *path, const struct stat *info)
{
	if (is_trusted_owner(opening, info->st_uid))
		return 0;
	return distrust(opening, quoted(opening, what, path),
			arena_printf(opening->arena, "belongs to user %u, not "
				     "to you or root", info->st_uid),
			profile_file_is_unmapped(info->st_uid) ?
			"that is anybody whom this user namespace does not "
			"know, such as root: copy it to a directory of your "
			"own" : NULL);
}

static int check_mode(const struct opening *opening, const char *what,
		      const char *path, const struct stat *info)
{
	if (!(info->st_mode & 022))
		return 0;
	return distrust(opening, quoted(opening, what, path),
			info->st_mode & 02 ? "can be written by everybody"
					   : "can be written by its group",
			arena_printf(opening->arena, "chmod go-w '%s'", path));
}

static int check_directory(const struct opening *opening, int fd,
			   const char *path)
{
	struct stat info;
	int r;

	if (fstat(fd, &info) < 0)
		return error_set(opening->err, errno, "profile '%s': '%s'",
				 opening->path, path);
	r = check_owner(opening, "directory", path, &info);
	if (r < 0 || info.st_mode & S_ISVTX)
		return r;
	return check_mode(opening, "directory", path, &info);
}

static const char *kind_of_file(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	case S_IFCHR:
	case S_IFBLK:
		return "a device";
	}
	return "no regular file";
}

static int check_file(const struct opening *opening, const char *path,
		      const struct stat *info)
{
	int r;

	if (!S_ISREG(info->st_mode))
		return error_set(opening->err, 0, "profile '%s' is %s, not a "
				 "regular file", opening->path,
				 kind_of_file(info->st_mode));
	if (info->st_size > INI_SIZE_MOST)
		return error_set(opening->err, 0, "profile '%s' is larger "
				 "than 16 MiB", opening->path);
	r = check_owner(opening, "the file", path, info);
	if (r < 0)
		return r;
	return check_mode(opening, "the file", path, info);
}

/* ---- opening -------------------------------------------------------------------- */

static int cannot_open(const struct opening *opening, int code)
{
	return error_set(opening->err, code, "profile '%s'", opening->path);
}

static const char *directory_of(struct arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return ".";
	if (slash == path)
		return "/";
	return arena_strndup(arena, path, (size_t)(slash - path));
}

static int read_link(const struct opening *opening, int directory,
		     const char *name, const char *path,
		     const struct stat *info, const char **ret_target)
{
	char target[PATH_MAX];
	ssize_t length;
	int r = check_owner(opening, "symlink", path, info);

	if (r < 0)
		return r;
	length = readlinkat(directory, name, target, sizeof(target));
	if (length < 0)
		return cannot_open(opening, errno);
	if ((size_t)length == sizeof(target))
		return cannot_open(opening, ENAMETOOLONG);
	*ret_target = arena_strndup(opening->arena, target, (size_t)length);
	return 0;
}

/*
 * One name in one directory: either the file (*@ret_fd, and its directory in
 * *@ret_directory) or a link to look at next (*@ret_next).
 */
static int open_step(const struct opening *opening, const char *path,
		     int *ret_fd, int *ret_directory, struct stat *ret_info,
		     const char **ret_next)
{
	const char *top = directory_of(opening->arena, path);
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	auto_close int directory = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int fd = -EBADF;
	struct stat before;
	const char *target = "";
	int r;

	if (directory < 0)
		return cannot_open(opening, errno);
	r = check_directory(opening, directory, top);
	if (r < 0)
		return r;
	if (!*name)
		name = ".";
	if (fstatat(directory, name, &before, AT_SYMLINK_NOFOLLOW) < 0)
		return cannot_open(opening, errno);
	if (S_ISLNK(before.st_mode)) {
		r = read_link(opening, directory, name, path, &before,
			      &target);
		if (r < 0)
			return r;
		*ret_next = path_join(opening->arena, top, target);
		return 0;
	}
	/* Before it is opened: a device may do things when it is. */
	r = check_file(opening, path, &before);
	if (r < 0)
		return r;
	fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
		    O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, ret_info) < 0)
		return cannot_open(opening, errno);
	r = check_file(opening, path, ret_info);
	if (r < 0)
		return r;
	*ret_fd = take_fd(&fd);
	*ret_directory = take_fd(&directory);
	return 0;
}

static void add_to_chain(struct arena *arena, struct profile_text *text,
			 const struct stat *info)
{
	*arena_push(arena, &text->chain) = (struct file_id){
		.device = info->st_dev,
		.inode = info->st_ino,
	};
}

/*
 * Note each directory from @directory up to the root.  One that everybody
 * may write lets anybody swap what is below it.
 */
static int walk_up(const struct opening *opening, int directory,
		   struct profile_text *text)
{
	char up[3 * 256] = ".";
	size_t used = 1;
	struct stat info;

	for (;;) {
		const struct file_id *last =
			&text->chain.at[text->chain.count - 1];

		if (fstatat(directory, up, &info, 0) < 0)
			return cannot_open(opening, errno);
		if (info.st_dev == last->device && info.st_ino == last->inode)
			return 0;
		if (info.st_mode & 02 && !(info.st_mode & S_ISVTX))
			return distrust(opening, "a directory above it",
					"can be written by everybody", NULL);
		add_to_chain(opening->arena, text, &info);
		if (used + 4 > sizeof(up))
			return cannot_open(opening, ENAMETOOLONG);
		used += (size_t)snprintf(up + used, sizeof(up) - used,
					 used == 1 ? "." : "/..");
	}
}

static int read_all(const struct opening *opening, int fd, off_t size,
		    struct profile_text *text)
{
	size_t room = (size_t)size + 1;
	char *buffer = arena_alloc(opening->arena, room + 1);

	for (;;) {
		ssize_t got = read(fd, buffer + text->size, room - text->size);

		if (got < 0)
			return cannot_open(opening, errno);
		if (!got)
			break;
		text->size += (size_t)got;
		if (text->size == room)
			return error_set(opening->err, 0, "profile '%s' grew "
					 "while it was read", opening->path);
	}
	text->text = buffer;
	return 0;
}

int profile_file_read(struct arena *arena, const char *path,
		      struct profile_text *ret_text, struct error *err)
{
	enum { LINKS_MOST = 40 };
	const struct opening opening = {
		.arena = arena,
		.path = path,
		.is_installed = path_is_normal(path) &&
				(path_is_below(path, SBX_DATADIR) ||
				 path_is_below(path, SBX_SYSCONFDIR)),
		.err = err,
	};
	struct profile_text text = {
		.path = path,
		.directory = directory_of(arena, path),
	};
	auto_close int fd = -EBADF, directory = -EBADF;
	const char *next = path;
	struct stat info;
	int r;

	for (int links = 0; fd < 0; links++) {
		if (links > LINKS_MOST)
			return cannot_open(&opening, ELOOP);
		r = answer_await(arena, next, err);
		if (r < 0)
			return error_wrap(err, "profile '%s'", path);
		r = open_step(&opening, next, &fd, &directory, &info, &next);
		if (r < 0)
			return r;
	}
	add_to_chain(arena, &text, &info);
	r = walk_up(&opening, directory, &text);
	if (r < 0)
		return r;
	r = read_all(&opening, fd, info.st_size, &text);
	if (r < 0)
		return r;
	*ret_text = text;
	return 0;
}
