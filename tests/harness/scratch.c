/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "harness/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/arena.h"
#include "harness/identity.h"

enum {
	SCRATCH_MAX = 256,
	WALK_FDS = 64,
};

/* What the end of this process removes; a fork of it must not. */
static const char *made[SCRATCH_MAX];
static pid_t made_by;

static int remove_below(int parent, const char *name);

/* Empty the directory @fd, which is closed. */
static int empty_directory(int fd)
{
	struct dirent *entry;
	DIR *dir = fdopendir(fd);
	int r = 0;

	if (!dir) {
		close(fd);
		return -errno;
	}
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		r = remove_below(dirfd(dir), entry->d_name);
		if (r < 0)
			break;
	}
	closedir(dir);
	return r;
}

static int remove_below(int parent, const char *name)
{
	struct stat st;
	int fd, r;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISDIR(st.st_mode))
		return unlinkat(parent, name, 0) < 0 ? -errno : 0;
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
		return 0;
	/* EBUSY: something is mounted there, which is not ours to empty. */
	if (errno != ENOTEMPTY && errno != EEXIST)
		return -errno;
	if ((st.st_mode & 0700) != 0700 &&
	    fchmodat(parent, name, 0700, 0) < 0)
		return -errno;
	fd = openat(parent, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = empty_directory(fd);
	if (r < 0)
		return r;
	return unlinkat(parent, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

void scratch_remove(const char *path)
{
	int r = remove_below(AT_FDCWD, path);

	if (r < 0)
		harness_fail("scratch: cannot remove %s: %s", path,
			     strerror(-r));
}

/* Runs after the test, failed or not, but for a crash. */
__attribute__((destructor)) static void remove_all(void)
{
	if (made_by != getpid())
		return;
	for (int i = 0; i < SCRATCH_MAX; i++) {
		int r = made[i] ? remove_below(AT_FDCWD, made[i]) : 0;

		if (r < 0)
			fprintf(stderr, "scratch: cannot remove %s: %s\n",
				made[i], strerror(-r));
	}
}

const char *scratch_make_in(const char *parent)
{
	char *path = arena_format("%s/test.XXXXXX", parent);

	if (!mkdtemp(path))
		harness_fail("scratch: mkdtemp %s: %s", path, strerror(errno));
	if (made_by != getpid())
		memset(made, 0, sizeof(made));
	made_by = getpid();
	for (int i = 0; i < SCRATCH_MAX; i++)
		if (!made[i])
			return made[i] = path;
	harness_fail("scratch: more than %d directories", SCRATCH_MAX);
}

const char *scratch_make(void)
{
	const char *parent = getenv("TMPDIR");

	return scratch_make_in(parent ? parent : "/tmp");
}

static int give_one(const char *path, const struct stat *st, int type,
		    struct FTW *place)
{
	return lchown(path, identity_user(), identity_user());
}

void scratch_give(const char *path)
{
	if (identity_self() != IDENTITY_ROOT)
		return;
	if (nftw(path, give_one, WALK_FDS, FTW_PHYS | FTW_MOUNT) != 0)
		harness_fail("scratch: chown %s: %s", path, strerror(errno));
}

const char *path_in(const char *directory, const char *name)
{
	return arena_format("%s/%s", directory, name);
}

void file_write_bytes(const char *path, const void *data, size_t length,
		      mode_t mode)
{
	const char *rest = data;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	if (fd < 0 || fchmod(fd, mode) < 0)
		harness_fail("scratch: create %s: %s", path, strerror(errno));
	while (length) {
		ssize_t n = write(fd, rest, length);

		if (n < 0)
			harness_fail("scratch: write %s: %s", path,
				     strerror(errno));
		rest += n;
		length -= (size_t)n;
	}
	if (close(fd) < 0)
		harness_fail("scratch: close %s: %s", path, strerror(errno));
}

void file_write(const char *path, const char *text)
{
	file_write_bytes(path, text, strlen(text), 0644);
}

void file_write_script(const char *path, const char *text)
{
	file_write_bytes(path, text, strlen(text), 0755);
}

const char *file_try(const char *path, size_t *ret_length)
{
	struct arena_text text = { 0 };
	char buffer[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	int code;

	if (fd < 0)
		return NULL;
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		arena_add(&text, buffer, (size_t)n);
	code = errno;
	close(fd);
	errno = code;
	if (n < 0)
		return NULL;
	if (ret_length)
		*ret_length = text.length;
	return arena_string(&text);
}

const char *file_read(const char *path, size_t *ret_length)
{
	const char *text = file_try(path, ret_length);

	if (!text)
		harness_fail("scratch: read %s: %s", path, strerror(errno));
	return text;
}

bool file_exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

bool file_equal(const char *path, const char *other)
{
	size_t length, other_length;
	const char *data = file_read(path, &length);
	const char *other_data = file_read(other, &other_length);

	return length == other_length && !memcmp(data, other_data, length);
}

mode_t file_mode(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		harness_fail("scratch: stat %s: %s", path, strerror(errno));
	return st.st_mode;
}

void directory_make(const char *path, mode_t mode)
{
	if (mkdir(path, mode) < 0 || chmod(path, mode) < 0)
		harness_fail("scratch: mkdir %s: %s", path, strerror(errno));
}

void directory_make_all(const char *path)
{
	char *part = arena_format("%s", path);

	for (char *slash = part; slash; *slash = '/') {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			harness_fail("scratch: mkdir %s: %s", part,
				     strerror(errno));
		if (!slash)
			break;
	}
}

const char *directory_names(const char *path)
{
	struct arena_text text = { 0 };
	struct dirent **names;
	int count = scandir(path, &names, NULL, alphasort);

	if (count < 0)
		harness_fail("scratch: read %s: %s", path, strerror(errno));
	for (int i = 0; i < count; i++)
		if (strcmp(names[i]->d_name, ".") != 0 &&
		    strcmp(names[i]->d_name, "..") != 0)
			arena_add_format(&text, "%s ", names[i]->d_name);
	return arena_string(&text);
}

void link_make(const char *target, const char *path)
{
	if (symlink(target, path) < 0)
		harness_fail("scratch: symlink %s: %s", path, strerror(errno));
}
