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

struct root_mount {
	int id, parent; /* 0: there is none */
};

/* The mount on "/" in the table at @path. */
static struct root_mount root_mount(const char *path, int wanted,
				    bool *ret_elsewhere)
{
	FILE *table = fopen(path, "re");
	struct root_mount found = { 0 };
	char *line = NULL;
	size_t size = 0;

	while (table && getline(&line, &size, table) > 0) {
		struct root_mount at;
		char target[PATH_MAX];

		/* NOLINTNEXTLINE(cert-err34-c): the kernel wrote it */
		if (sscanf(line, "%d %d %*s %*s %4095s", &at.id, &at.parent,
			   target) != 3)
			continue;
		if (!strcmp(target, "/"))
			found = at;
		else if (at.id == wanted)
			*ret_elsewhere = true;
	}
	free(line);
	if (table)
		fclose(table);
	return found;
}

/* What a process is in that finds @own in its table. */
static enum surroundings_root root_kind(struct root_mount own)
{
	if (!own.id)
		return access("/proc/self/mountinfo", R_OK) < 0 ?
		       SURROUNDINGS_ROOT_MOUNT : SURROUNDINGS_ROOT_PLAIN;
	return own.id == own.parent ? SURROUNDINGS_ROOT_FIRST :
				      SURROUNDINGS_ROOT_MOUNT;
}

enum surroundings_root surroundings_root(void)
{
	bool elsewhere = false;

	return root_kind(root_mount("/proc/self/mountinfo", 0, &elsewhere));
}

bool surroundings_are_chroot(void)
{
	bool elsewhere = false;
	struct root_mount own = root_mount("/proc/self/mountinfo", 0,
					   &elsewhere);

	if (!own.id)
		return root_kind(own) == SURROUNDINGS_ROOT_PLAIN;
	/* The first process, in the same namespace, shows it elsewhere. */
	elsewhere = false;
	root_mount("/proc/1/mountinfo", own.id, &elsewhere);
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
