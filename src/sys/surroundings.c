/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/surroundings.h"

#include "base/text.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The first bytes of a small file as a line; false: it cannot be read. */
static bool read_line(const char *path, char *ret_text, size_t size)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t length = fd < 0 ? -1 : read(fd, ret_text, size - 1);

	if (length <= 0)
		return false;
	ret_text[length] = '\0';
	ret_text[strcspn(ret_text, "\n")] = '\0';
	return true;
}

bool surroundings_sysctl(const char *name, uint64_t *ret_value)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	return read_line(path, text, sizeof(text)) &&
	       !text_parse_u64(text, ret_value);
}

bool surroundings_have_filter(void)
{
	int mode = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);

	/* What refuses even the question is one. */
	return mode == SECCOMP_MODE_FILTER || (mode < 0 && errno == EPERM);
}

const char *surroundings_label(struct arena *arena)
{
	static const char *const files[] = {
		"/proc/self/attr/apparmor/current",
		"/proc/self/attr/current",
	};
	char text[256];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (!read_line(files[i], text, sizeof(text)))
			continue;
		/* AppArmor: "docker-default (enforce)" */
		text[strcspn(text, " ")] = '\0';
		if (!*text || !strcmp(text, "unconfined") ||
		    strstr(text, ":unconfined_t:"))
			return NULL;
		return arena_strdup(arena, text);
	}
	return NULL;
}

/* Id of the mount on "/" in the table at @path; 0: there is none. */
static int root_mount(const char *path, int wanted, bool *ret_elsewhere)
{
	FILE *table = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	int found = 0;

	while (table && getline(&line, &size, table) > 0) {
		char target[PATH_MAX];
		int id;

		/* NOLINTNEXTLINE(cert-err34-c): the kernel wrote it */
		if (sscanf(line, "%d %*d %*s %*s %4095s", &id, target) != 2)
			continue;
		if (!strcmp(target, "/"))
			found = id;
		else if (id == wanted)
			*ret_elsewhere = true;
	}
	free(line);
	if (table)
		fclose(table);
	return found;
}

bool surroundings_are_chroot(void)
{
	bool elsewhere = false;
	int own = root_mount("/proc/self/mountinfo", 0, &elsewhere);

	if (!own)
		return !access("/proc/self/mountinfo", R_OK);
	/* The first process, in the same namespace, shows it elsewhere. */
	elsewhere = false;
	root_mount("/proc/1/mountinfo", own, &elsewhere);
	return elsewhere;
}

bool surroundings_proc_is_read_only(void)
{
	struct statvfs status;

	return !statvfs("/proc", &status) && status.f_flag & ST_RDONLY;
}

/* CLONE_FS beside a new user namespace is an error, before anything is made. */
enum { CLONE_HARMLESS = CLONE_NEWUSER | CLONE_FS };

bool surroundings_kill_clone(void)
{
	int status = 0;
	/* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork) */
	pid_t pid = vfork();

	if (pid < 0)
		return false;
	if (!pid) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Vfork): calls only */
		syscall(SYS_clone3, NULL, 0);
#if defined(__s390__) || defined(__CRIS__)
		syscall(SYS_clone, NULL, CLONE_HARMLESS, NULL, NULL, NULL);
#else
		syscall(SYS_clone, CLONE_HARMLESS, NULL, NULL, NULL, NULL);
#endif
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

const char *surroundings_program(struct arena *arena)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	return length > 0 ? arena_strndup(arena, path, (size_t)length) : NULL;
}
