/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "harness/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/arena.h"
#include "harness/identity.h"
#include "harness/scratch.h"

enum {
	OWNED_MAX = 256,
	SETTLE_MS = 20000,
	STEP_MS = 20,
};

/* Sorted lines, so that two can be compared by walking both. */
struct host {
	const char **lines;
	size_t count;
	size_t size;
};

struct ancestry {
	pid_t pid;
	pid_t parent;
	bool zombie;
	bool ours;
	char name[32];
};

static pid_t owned[OWNED_MAX];

static void sleep_step(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = STEP_MS * 1000000L }, NULL);
}

void host_own_process(pid_t pid)
{
	for (int i = 0; i < OWNED_MAX; i++)
		if (!owned[i]) {
			owned[i] = pid;
			return;
		}
	harness_fail("host: more than %d programs at once", OWNED_MAX);
}

void host_disown_process(pid_t pid)
{
	for (int i = 0; i < OWNED_MAX; i++)
		if (owned[i] == pid)
			owned[i] = 0;
}

static bool is_owned(pid_t pid)
{
	for (int i = 0; i < OWNED_MAX; i++)
		if (owned[i] == pid)
			return true;
	return false;
}

/* One field of /proc/PID/stat is free text in parentheses: find its end. */
static bool read_ancestry(const char *pid, struct ancestry *ret)
{
	char path[300], line[1024], *open_paren, *close_paren, state;
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (length <= 0)
		return false;
	line[length] = '\0';
	if (!(open_paren = strchr(line, '(')) ||
	    !(close_paren = strrchr(line, ')')) ||
	    sscanf(close_paren + 1, " %c %d", &state, &ret->parent) != 2)
		return false;
	*close_paren = '\0';
	snprintf(ret->name, sizeof(ret->name), "%s", open_paren + 1);
	ret->pid = (pid_t)strtol(pid, NULL, 10);
	ret->zombie = state == 'Z' || state == 'X';
	ret->ours = false;
	return true;
}

/* Whether @pid is this process or is marked as one that descends from it. */
static bool is_ours(const struct ancestry *all, size_t count, pid_t pid)
{
	if (pid == getpid())
		return true;
	for (size_t i = 0; i < count; i++)
		if (all[i].pid == pid)
			return all[i].ours;
	return false;
}

/*
 * All processes, those that descend from this one are marked; until the next
 * call, since an arena that grew with each would make each fork longer.
 */
static struct ancestry *read_processes(size_t *ret_count)
{
	static struct ancestry *all;
	static size_t size;
	size_t count = 0;
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool more = true;

	if (!proc)
		harness_fail("host: /proc: %s", strerror(errno));
	while ((entry = readdir(proc))) {
		if (strspn(entry->d_name, "0123456789") !=
		    strlen(entry->d_name))
			continue;
		if (count == size) {
			size = size ? 2 * size : 256;
			all = realloc(all, size * sizeof(*all));
			if (!all)
				harness_fail("host: out of memory");
		}
		if (read_ancestry(entry->d_name, &all[count]))
			count++;
	}
	closedir(proc);
	while (more) {
		more = false;
		for (size_t i = 0; i < count; i++)
			if (!all[i].ours && is_ours(all, count, all[i].parent))
				all[i].ours = more = true;
	}
	*ret_count = count;
	return all;
}

/*
 * The descendants that live.  A zombie child that no process_finish() waits
 * for was left behind by a program and has come to us: it is reaped.
 */
static struct ancestry *read_descendants(size_t *ret_count)
{
	size_t count, n = 0;
	struct ancestry *all = read_processes(&count);

	for (size_t i = 0; i < count; i++) {
		if (!all[i].ours)
			continue;
		if (all[i].zombie) {
			if (all[i].parent == getpid() && !is_owned(all[i].pid))
				waitpid(all[i].pid, NULL, WNOHANG);
			continue;
		}
		all[n++] = all[i];
	}
	*ret_count = n;
	return all;
}

const pid_t *host_descendants(void)
{
	size_t count;
	struct ancestry *all = read_descendants(&count);
	pid_t *ret = arena_take((count + 1) * sizeof(*ret));

	for (size_t i = 0; i < count; i++)
		ret[i] = all[i].pid;
	return ret;
}

const char *host_process_file(pid_t pid, const char *name, size_t *ret_length)
{
	const char *text = file_try(arena_format("/proc/%d/%s", pid, name),
				    ret_length);

	if (!text && ret_length)
		*ret_length = 0;
	return text ? text : "";
}

void host_kill_descendants(void)
{
	for (int waited = 0; waited < SETTLE_MS; waited += STEP_MS) {
		const pid_t *pid = host_descendants();

		if (!*pid)
			return;
		for (; *pid; pid++)
			kill(*pid, SIGKILL);
		sleep_step();
	}
}

size_t host_processes_of(uid_t uid)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t count = 0;

	if (!proc)
		harness_fail("host: /proc: %s", strerror(errno));
	while ((entry = readdir(proc))) {
		char path[300], line[256];
		unsigned int real;
		FILE *file;

		/* Not the directory's owner: that is root for a process that
		 * is not dumpable. */
		snprintf(path, sizeof(path), "/proc/%s/status",
			 entry->d_name);
		if (strspn(entry->d_name, "0123456789") == 0 ||
		    !(file = fopen(path, "re")))
			continue;
		while (fgets(line, sizeof(line), file))
			if (sscanf(line, "Uid: %u", &real) == 1)
				count += real == uid;
		fclose(file);
	}
	closedir(proc);
	return count;
}

static void add_line(struct host *host, const char *line)
{
	if (host->count == host->size) {
		size_t size = host->size ? host->size * 2 : 256;
		const char **bigger = arena_take(size * sizeof(*bigger));

		if (host->count)
			memcpy(bigger, host->lines,
			       host->count * sizeof(*bigger));
		host->lines = bigger;
		host->size = size;
	}
	host->lines[host->count++] = line;
}

static void add_mounts(struct host *host)
{
	FILE *file = fopen("/proc/thread-self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	if (!file)
		harness_fail("host: mountinfo: %s", strerror(errno));
	while ((n = getline(&line, &size, file)) > 0) {
		line[n - 1] = '\0';
		add_line(host, arena_format("mount %s", line));
	}
	free(line);
	fclose(file);
}

static void add_processes(struct host *host)
{
	size_t count;
	struct ancestry *all = read_descendants(&count);

	for (size_t i = 0; i < count; i++)
		add_line(host, arena_format("process %d (%s)", all[i].pid,
					    all[i].name));
}

static void add_descriptors(struct host *host)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!dir)
		harness_fail("host: /proc/self/fd: %s", strerror(errno));
	while ((entry = readdir(dir))) {
		char target[512] = "";

		if (entry->d_name[0] != '.' &&
		    atoi(entry->d_name) != dirfd(dir) &&
		    readlinkat(dirfd(dir), entry->d_name, target,
			       sizeof(target) - 1) > 0)
			add_line(host, arena_format("descriptor %s %s",
						    entry->d_name, target));
	}
	closedir(dir);
}

/*
 * The names in /dev/shm that belong to this user and are not Criterion's,
 * which makes one for each test that runs beside this one.
 */
static void add_shared_memory(struct host *host)
{
	DIR *dir = opendir("/dev/shm");
	struct dirent *entry;
	struct stat st;

	if (!dir && errno == ENOENT)
		return;
	if (!dir)
		harness_fail("host: /dev/shm: %s", strerror(errno));
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' &&
		    strncmp(entry->d_name, "bxf", 3) != 0 &&
		    fstatat(dirfd(dir), entry->d_name, &st,
			    AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_uid == getuid())
			add_line(host, arena_format("shared memory %s",
						    entry->d_name));
	closedir(dir);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const struct host *host_read(void)
{
	struct host *host = arena_take(sizeof(*host));

	add_mounts(host);
	add_processes(host);
	add_descriptors(host);
	add_shared_memory(host);
	qsort(host->lines, host->count, sizeof(*host->lines), compare_lines);
	return host;
}

static const char *compare(const struct host *before, const struct host *now)
{
	struct arena_text text = { 0 };
	size_t i = 0, j = 0;

	while (i < before->count || j < now->count) {
		int order = i == before->count ? 1 :
			    j == now->count ? -1 :
			    strcmp(before->lines[i], now->lines[j]);

		if (order < 0)
			arena_add_format(&text, "- %s\n", before->lines[i]);
		if (order > 0)
			arena_add_format(&text, "+ %s\n", now->lines[j]);
		i += order <= 0;
		j += order >= 0;
	}
	return arena_string(&text);
}

const char *host_changes_after(const struct host *before, int wait_ms)
{
	const char *changes = compare(before, host_read());

	for (int waited = 0; *changes && waited < wait_ms;
	     waited += STEP_MS) {
		sleep_step();
		changes = compare(before, host_read());
	}
	return changes;
}

const char *host_changes(const struct host *before)
{
	return host_changes_after(before, SETTLE_MS);
}

void host_private_mounts(void)
{
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL) < 0)
		harness_fail("host: mount namespace: %s", strerror(errno));
}

size_t host_mount_count(void)
{
	struct host host = { 0 };

	add_mounts(&host);
	return host.count;
}
