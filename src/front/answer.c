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

enum { PATIENCE_S = 10 }; /* the set-up's, too */

/* Is all that a look at @path needs in the kernel's cache of names? */
static bool is_known(const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_CACHED,
	};
	auto_close int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how,
					 sizeof(how));

	return fd >= 0 || errno == ENOENT || errno == ENOTDIR ||
	       errno == EACCES || errno == ELOOP || errno == ENAMETOOLONG;
}

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
	/* The root is there, or nobody could have come so far. */
	return !strcmp(path, "/") || is_known(path) || ask(look, path);
}

bool answer_lists(const char *path)
{
	return ask(list, path);
}

/* ---- whose fault it is -------------------------------------------------------- */

/* The octal escapes of mountinfo, in place. */
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

/*
 * The place and the type of the mount that @path, a plain name, is on.  Read
 * by hand: this must work whatever is missing.
 */
static bool find_mount(struct arena *arena, const char *path,
		       const char **ret_place, const char **ret_type)
{
	FILE *table = fopen("/proc/self/mountinfo", "re");
	const char *found = NULL;
	char *line = NULL;
	size_t size = 0;

	while (table && getline(&line, &size, table) > 0) {
		const char *rest = strstr(line, " - ");
		char place[PATH_MAX], type[64];

		if (!rest || sscanf(rest, " - %63s", type) != 1 ||
		    sscanf(line, "%*d %*d %*s %*s %4095s", place) != 1)
			continue;
		unescape(place);
		if (!path_is_below(path, place) ||
		    (found && strlen(place) < strlen(found)))
			continue;
		*ret_place = found = arena_strdup(arena, place);
		*ret_type = arena_strdup(arena, type);
	}
	free(line);
	if (table)
		fclose(table);
	return found;
}

int answer_refuse(struct arena *arena, const char *path, struct error *err)
{
	const char *place, *type;
	auto_free char *cwd = NULL;

	error_set(err, 0, "'%s' does not answer for %d s", path, PATIENCE_S);
	error_reason(err, "setup-timeout");
	if (*path != '/')
		cwd = getcwd(NULL, 0);
	path = path_normalise(arena, path_join(arena, cwd ? cwd : "/", path));
	if (find_mount(arena, path, &place, &type))
		error_remedy(err, "%s at '%s' does not answer: unmount it "
			     "(umount -l), restart its server, or leave it out",
			     type, place);
	return error_result(err);
}

int answer_await(struct arena *arena, const char *path, struct error *err)
{
	return answer_comes(path) ? 0 : answer_refuse(arena, path, err);
}
