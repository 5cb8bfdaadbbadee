/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The set-up has a deadline because it happens in a process that can be
 * killed.  What is looked at before, to read the profile and to judge the
 * plan, is looked at here first: in a child where the kernel would have to
 * ask somebody.  What is known of a name stays in its cache, so that the look
 * that follows asks nobody either.
 */
#include "front/answer.h"

#include "base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	PATIENCE_S = 10, /* the set-up's, too */
	ASKS_MOST = 32,  /* then only where there is a server */
};

/* ---- whom the kernel would have to ask ------------------------------------------ */

/* The escapes of mountinfo, a backslash and three octal digits, in place. */
static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		if (*text == '\\' && strspn(text + 1, "01234567") >= 3) {
			*to++ = (char)((text[1] - '0') << 6 |
				       (text[2] - '0') << 3 | (text[3] - '0'));
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

struct mount {
	const char *place, *type;
};

struct mounts {
	struct arena *arena;
	struct mount *at;
	size_t count, cap;
};

static void add_mount(struct mounts *mounts, const char *line)
{
	const char *rest = strstr(line, " - ");
	char place[PATH_MAX], type[64];
	struct mount *mount;

	if (!rest || sscanf(rest, " - %63s", type) != 1 ||
	    sscanf(line, "%*d %*d %*s %*s %4095s", place) != 1)
		return;
	unescape(place);
	mount = arena_push(mounts->arena, mounts);
	mount->place = arena_strdup(mounts->arena, place);
	mount->type = arena_strdup(mounts->arena, type);
}

/*
 * The mounts around, read once and by hand: this must work whatever is
 * missing.
 */
static const struct mounts *read_mounts(void)
{
	static struct mounts mounts;
	char *line = NULL;
	size_t size = 0;
	FILE *table;

	if (mounts.arena)
		return &mounts;
	mounts.arena = arena_new();
	table = fopen("/proc/self/mountinfo", "re");
	while (table && getline(&line, &size, table) > 0)
		add_mount(&mounts, line);
	free(line);
	if (table)
		fclose(table);
	return &mounts;
}

/* The mount that @path, a plain name, is on; NULL: nobody knows. */
static const struct mount *find_mount(const char *path)
{
	const struct mounts *mounts = read_mounts();
	const struct mount *found = NULL;

	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount *mount = &mounts->at[i];

		if (path_is_shown_by(path, mount->place,
				     found ? found->place : NULL))
			found = mount;
	}
	return found;
}

/*
 * Is there a server at all, by the mount table?  A link that leads to one is
 * not seen through.
 */
static bool has_server(const char *path)
{
	static const char *const types[] = {
		"9p", "afs", "autofs", "ceph", "cifs", "coda", "fuse*",
		"glusterfs", "lustre", "nfs*", "smb3", "virtiofs",
	};
	const struct mount *mount = *path == '/' ? find_mount(path) : NULL;

	for (size_t i = 0; mount && i < ARRAY_SIZE(types); i++)
		if (text_matches(types[i], mount->type))
			return true;
	return false;
}

/* Is all that a look at @path needs in the kernel's cache of names? */
static bool is_known(const char *path)
{
	static bool tells_nothing;
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_CACHED,
	};
	auto_close int fd = -EBADF;

	if (tells_nothing)
		return !has_server(path);
	fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	if (fd >= 0)
		return true;
	tells_nothing = errno == ENOSYS || errno == EINVAL || errno == EPERM;
	return tells_nothing ? !has_server(path) : errno != EAGAIN;
}

/* ---- asking ---------------------------------------------------------------------- */

static void look(const char *path)
{
	open(path, O_PATH | O_CLOEXEC);
}

static void list(const char *path)
{
	DIR *directory = opendir(path);

	if (directory)
		(void)readdir(directory);
}

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* The end of the pipe is the end of the process that had its other side. */
static bool ends_in_time(int pipe)
{
	const long long deadline = now_ms() + PATIENCE_S * 1000LL;
	struct pollfd end = { .fd = pipe };
	long long left;

	while ((left = deadline - now_ms()) > 0)
		if (poll(&end, 1, (int)left) > 0)
			return true;
	return false;
}

static bool ask(void (*question)(const char *path), const char *path)
{
	auto_close int ours = -EBADF;
	bool answers;
	int ends[2];
	pid_t pid;

	/* Who cannot ask takes the answer for granted. */
	if (pipe2(ends, O_CLOEXEC) < 0)
		return true;
	ours = ends[0];
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		question(path);
		_exit(0);
	}
	close(ends[1]);
	if (pid < 0)
		return true;
	answers = ends_in_time(ours);
	if (!answers)
		kill(pid, SIGKILL);
	/* One that not even SIGKILL wakes is left to init. */
	waitpid(pid, NULL, answers ? 0 : WNOHANG);
	return answers;
}

bool answer_comes(const char *path)
{
	static unsigned asked;

	/* The root is there, or nobody could have come so far. */
	if (!strcmp(path, "/") || is_known(path))
		return true;
	/* Thousands of new names are thousands of processes. */
	if (asked >= ASKS_MOST && !has_server(path))
		return true;
	asked++;
	return ask(look, path);
}

bool answer_lists(const char *path)
{
	return ask(list, path);
}

int answer_refuse(struct arena *arena, const char *path, struct error *err)
{
	const struct mount *mount;
	auto_free char *cwd = NULL;

	error_set(err, 0, "'%s' does not answer for %d s", path, PATIENCE_S);
	error_reason(err, "setup-timeout");
	if (*path != '/')
		cwd = getcwd(NULL, 0);
	mount = find_mount(path_normalise(arena, path_join(arena, cwd ? cwd :
							   "/", path)));
	if (mount)
		error_remedy(err, "%s at '%s' does not answer: unmount it "
			     "(umount -l), restart its server, or leave it out",
			     mount->type, mount->place);
	return error_result(err);
}

int answer_await(struct arena *arena, const char *path, struct error *err)
{
	return answer_comes(path) ? 0 : answer_refuse(arena, path, err);
}
