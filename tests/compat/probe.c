/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a program inside a sandbox sees, as lines that two sandboxes can be
 * compared by: numbers that differ from run to run (mount ids, device
 * numbers, inodes) are left out.  Linked statically, so that it runs in an
 * empty root; /proc may be missing.
 *
 *     probe WORD[:ARGUMENT]...
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static const char *error_name(int error)
{
	return error ? strerrorname_np(error) : "ok";
}

/* ---- mounts ---------------------------------------------------------------- */

/* "shared:12 master:3" -> "shared master": the numbers are the kernel's. */
static void print_propagation(char *fields)
{
	char *save = NULL;

	for (char *field = strtok_r(fields, " ", &save); field;
	     field = strtok_r(NULL, " ", &save)) {
		field[strcspn(field, ":")] = '\0';
		printf(" %s", field);
	}
}

/* Options that say how a mount was made, not what it is. */
static void print_super_options(char *options)
{
	static const char *const left_out[] = {
		"lowerdir=", "lowerdir+=", "upperdir=", "workdir=", "uuid=",
		"xino=", "redirect_dir=", "index=", "metacopy=", "inode64",
		"nfs_export=",
	};
	char *save = NULL;

	for (char *option = strtok_r(options, ",", &save); option;
	     option = strtok_r(NULL, ",", &save)) {
		bool is_left_out = false;

		for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out);
		     i++)
			if (!strncmp(option, left_out[i], strlen(left_out[i])))
				is_left_out = true;
		if (!is_left_out)
			printf(" %s", option);
	}
}

/*
 * ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [PROPAGATION...] - TYPE SOURCE
 * SUPER: see proc_pid_mountinfo(5)
 */
/*
 * Is the mount what a path leads to?  One that another mount covers can
 * differ without being seen.
 */
static bool is_visible(const char *line)
{
	char point[4096];
	struct statx stx;
	unsigned long long id;

	if (sscanf(line, "%llu %*s %*s %*s %4095s", &id, point) != 2)
		return false;
	return !statx(AT_FDCWD, point, AT_NO_AUTOMOUNT | AT_SYMLINK_NOFOLLOW,
		      STATX_MNT_ID, &stx) && stx.stx_mnt_id == id;
}

static void print_mount(char *line)
{
	char *fields[6], *save = NULL, *middle, *type, *source, *super;
	char *separator = strstr(line, " - ");

	if (!separator)
		return;
	*separator = '\0';
	for (size_t i = 0; i < 6; i++)
		fields[i] = strtok_r(i ? NULL : line, " ", &save);
	middle = save;
	type = strtok_r(separator + 3, " ", &save);
	source = strtok_r(NULL, " ", &save);
	super = strtok_r(NULL, "\n", &save);
	if (!fields[5] || !super)
		return;
	printf("mount %s root=%s %s", fields[4], fields[3], fields[5]);
	if (middle)
		print_propagation(middle);
	printf(" - %s %s", type, source);
	print_super_options(super);
	printf("\n");
}

static int compare_points(const void *a, const void *b)
{
	char points[2][4096] = { "", "" };

	sscanf(*(char *const *)a, "%*s %*s %*s %*s %4095s", points[0]);
	sscanf(*(char *const *)b, "%*s %*s %*s %*s %4095s", points[1]);
	return strcmp(points[0], points[1]);
}

/*
 * "mounts": all of them; "mounts:PATH": what is at and below PATH.  In the
 * order of paths: there is one mount to be seen at each.
 */
static void probe_mounts(const char *top)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	static char *lines[4096];
	char *line = NULL;
	size_t size = 0, count = 0;

	if (!file) {
		printf("mounts: %s\n", error_name(errno));
		return;
	}
	while (count < 4096 && getline(&line, &size, file) > 0) {
		char point[4096] = "";

		if (sscanf(line, "%*s %*s %*s %*s %4095s", point) != 1)
			continue;
		if (!is_visible(line) ||
		    (*top && strncmp(point, top, strlen(top)) != 0))
			continue;
		lines[count++] = strdup(line);
	}
	qsort(lines, count, sizeof(*lines), compare_points);
	for (size_t i = 0; i < count; i++) {
		print_mount(lines[i]);
		free(lines[i]);
	}
	free(line);
	fclose(file);
}

/* ---- files --------------------------------------------------------------- */

static char type_letter(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return 'f';
	case S_IFDIR:
		return 'd';
	case S_IFLNK:
		return 'l';
	case S_IFCHR:
		return 'c';
	case S_IFBLK:
		return 'b';
	case S_IFIFO:
		return 'p';
	case S_IFSOCK:
		return 's';
	}
	return '?';
}

enum { UNIX98_PTY_MAJOR = 136 }; /* pts(4) */

static void print_stat(const char *path, const char *name)
{
	char target[4096];
	struct stat st;
	ssize_t length;

	if (lstat(path, &st)) {
		printf("%s %s\n", name, error_name(errno));
		return;
	}
	printf("%s %c %04o %u:%u", name, type_letter(st.st_mode),
	       st.st_mode & 07777, st.st_uid, st.st_gid);
	if (S_ISREG(st.st_mode))
		printf(" size=%lld links=%lu", (long long)st.st_size,
		       (unsigned long)st.st_nlink);
	/* Which terminal it is depends on what else runs on the machine. */
	if (S_ISCHR(st.st_mode) && major(st.st_rdev) == UNIX98_PTY_MAJOR)
		printf(" dev=terminal");
	else if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
		printf(" dev=%u:%u", major(st.st_rdev), minor(st.st_rdev));
	if (S_ISLNK(st.st_mode)) {
		length = readlink(path, target, sizeof(target) - 1);
		target[length < 0 ? 0 : length] = '\0';
		printf(" -> %s", target);
	}
	printf("\n");
}

static void probe_stat(const char *path)
{
	print_stat(path, path);
}

static void probe_ls(const char *path)
{
	char *names[512];
	size_t count = 0;
	DIR *dir = opendir(path);

	if (!dir) {
		printf("ls %s: %s\n", path, error_name(errno));
		return;
	}
	for (struct dirent *entry = readdir(dir); entry && count < 512;
	     entry = readdir(dir))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			names[count++] = strdup(entry->d_name);
	qsort(names, count, sizeof(*names), compare_lines);
	for (size_t i = 0; i < count; i++) {
		char *full;

		if (asprintf(&full, "%s/%s", strcmp(path, "/") ? path : "",
			     names[i]) < 0)
			abort();
		print_stat(full, full);
		free(full);
		free(names[i]);
	}
	closedir(dir);
}

static void probe_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char data[256];
	ssize_t length = fd < 0 ? -1 : read(fd, data, sizeof(data));

	if (length < 0) {
		printf("read %s: %s\n", path, error_name(errno));
	} else {
		printf("read %s: [", path);
		for (ssize_t i = 0; i < length; i++)
			printf(data[i] == '\n' ? "\\n" : "%c", data[i]);
		printf("]\n");
	}
	if (fd >= 0)
		close(fd);
}

/* Append a byte to a file that is there. */
static void probe_append(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	if (fd < 0 || write(fd, "+", 1) != 1)
		printf("append %s: %s\n", path, error_name(errno));
	else
		printf("append %s: ok\n", path);
	if (fd >= 0)
		close(fd);
}

static void probe_create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	printf("create %s: %s\n", path, error_name(fd < 0 ? errno : 0));
	if (fd >= 0)
		close(fd);
}

static void probe_mkdir(const char *path)
{
	printf("mkdir %s: %s\n", path,
	       error_name(mkdir(path, 0777) ? errno : 0));
}

static void probe_unlink(const char *path)
{
	printf("unlink %s: %s\n", path,
	       error_name(unlink(path) ? errno : 0));
}

static void probe_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	printf("open %s: %s\n", path, error_name(fd < 0 ? errno : 0));
	if (fd >= 0)
		close(fd);
}

static void probe_lock(const char *path)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || fcntl(fd, F_GETLK, &lock))
		printf("lock %s: %s\n", path, error_name(errno));
	else
		printf("lock %s: %s\n", path,
		       lock.l_type == F_UNLCK ? "free" : "held");
	if (fd >= 0)
		close(fd);
}

/* ---- the process ------------------------------------------------------------- */

static void copy_lines(const char *path, const char *const *prefixes)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	if (!file) {
		printf("%s: %s\n", path, error_name(errno));
		return;
	}
	while (getline(&line, &size, file) > 0)
		for (size_t i = 0; prefixes[i]; i++)
			if (!strncmp(line, prefixes[i], strlen(prefixes[i])))
				fputs(line, stdout);
	free(line);
	fclose(file);
}

static void probe_ids(const char *argument)
{
	static const char *const all[] = { "", NULL };
	uid_t uids[3];
	gid_t gids[3];

	(void)argument;
	getresuid(&uids[0], &uids[1], &uids[2]);
	getresgid(&gids[0], &gids[1], &gids[2]);
	printf("uid %u %u %u gid %u %u %u\n", uids[0], uids[1], uids[2],
	       gids[0], gids[1], gids[2]);
	printf("groups %d\n", getgroups(0, NULL));
	copy_lines("/proc/self/uid_map", all);
	copy_lines("/proc/self/gid_map", all);
	copy_lines("/proc/self/setgroups", all);
}

static void probe_env(const char *argument)
{
	extern char **environ;
	size_t count = 0;

	(void)argument;
	while (environ[count])
		count++;
	qsort(environ, count, sizeof(*environ), compare_lines);
	for (size_t i = 0; i < count; i++)
		printf("env %s\n", environ[i]);
}

static void probe_cwd(const char *argument)
{
	char path[4096];

	(void)argument;
	printf("cwd %s\n", getcwd(path, sizeof(path)) ? path
						      : error_name(errno));
}

static void probe_fds(const char *argument)
{
	(void)argument;
	for (int fd = 0; fd < 1024; fd++) {
		int flags = fcntl(fd, F_GETFL);
		struct stat st;

		if (flags < 0 || fstat(fd, &st))
			continue;
		printf("fd %d %c %s\n", fd, type_letter(st.st_mode),
		       (flags & O_ACCMODE) == O_RDONLY ? "r" :
		       (flags & O_ACCMODE) == O_WRONLY ? "w" : "rw");
	}
}

static void probe_caps(const char *argument)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = { { 0 } };
	unsigned long long bounding = 0, ambient = 0;

	(void)argument;
	syscall(SYS_capget, &header, data);
	for (int cap = 0; cap < 64; cap++) {
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
			bounding |= 1ULL << cap;
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) == 1)
			ambient |= 1ULL << cap;
	}
	printf("caps inheritable=%08x%08x permitted=%08x%08x "
	       "effective=%08x%08x bounding=%016llx ambient=%016llx\n",
	       data[1].inheritable, data[0].inheritable, data[1].permitted,
	       data[0].permitted, data[1].effective, data[0].effective,
	       bounding, ambient);
	printf("no_new_privs %d securebits %x seccomp %d dumpable %d\n",
	       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
	       (unsigned)prctl(PR_GET_SECUREBITS, 0, 0, 0, 0),
	       prctl(PR_GET_SECCOMP, 0, 0, 0, 0),
	       prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
}

/* "ns:NAME=LINK,...": which namespaces are not those of the list. */
static void probe_ns(const char *list)
{
	static const char *const names[] = {
		"cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char path[64], link[64] = "", entry[160];

		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		if (readlink(path, link, sizeof(link) - 1) < 0) {
			printf("ns %s %s\n", names[i], error_name(errno));
			continue;
		}
		snprintf(entry, sizeof(entry), "%s=%s,", names[i], link);
		printf("ns %s %s\n", names[i],
		       strstr(list, entry) ? "same" : "new");
	}
}

static void print_signals(const char *name, bool (*test)(int number))
{
	printf("%s", name);
	for (int number = 1; number < 65; number++)
		if (test(number))
			printf(" %d", number);
	printf("\n");
}

static bool is_ignored(int number)
{
	struct sigaction action;

	return !sigaction(number, NULL, &action) &&
	       action.sa_handler == SIG_IGN;
}

static bool is_blocked(int number)
{
	sigset_t set;

	return !sigprocmask(SIG_BLOCK, NULL, &set) &&
	       sigismember(&set, number) == 1;
}

static void probe_signals(const char *argument)
{
	(void)argument;
	print_signals("ignored", is_ignored);
	print_signals("blocked", is_blocked);
}

static void probe_process(const char *argument)
{
	mode_t mask = umask(0);
	struct rlimit limit;

	(void)argument;
	umask(mask);
	getrlimit(RLIMIT_NOFILE, &limit);
	printf("umask %04o nofile %llu\n", mask,
	       (unsigned long long)limit.rlim_cur);
}

/* Numbers of its own in a pid namespace: 1 is the reaper, or itself. */
static void probe_pids(const char *argument)
{
	(void)argument;
	printf("pid %d parent %d session %d group %d\n", getpid(), getppid(),
	       getsid(0), getpgrp());
}

static void probe_session(const char *argument)
{
	int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);

	(void)argument;
	printf("leads %s, session of its own or a relative's %s, terminal "
	       "%s, isatty %d%d%d\n", getsid(0) == getpid() ? "yes" : "no",
	       getsid(0) == getpid() || getsid(0) == getppid() ? "yes" : "no",
	       terminal < 0 ? error_name(errno) : "open", isatty(0),
	       isatty(1), isatty(2));
}

static void probe_host(const char *argument)
{
	struct utsname name;

	(void)argument;
	uname(&name);
	printf("host %s\n", name.nodename);
}

static void probe_net(const char *argument)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct if_nameindex *list = if_nameindex();

	(void)argument;
	for (size_t i = 0; list && list[i].if_name; i++) {
		struct ifreq request = { 0 };
		char text[INET_ADDRSTRLEN] = "none";

		snprintf(request.ifr_name, sizeof(request.ifr_name), "%s",
			 list[i].if_name);
		if (!ioctl(fd, SIOCGIFADDR, &request)) {
			struct sockaddr_in address;

			memcpy(&address, &request.ifr_addr, sizeof(address));
			inet_ntop(AF_INET, &address.sin_addr, text,
				  sizeof(text));
		}
		ioctl(fd, SIOCGIFFLAGS, &request);
		printf("net %s %s %s\n", list[i].if_name, text,
		       request.ifr_flags & IFF_UP ? "up" : "down");
	}
	if_freenameindex(list);
	close(fd);
}

static void probe_args(const char *argument)
{
	char data[4096], *end;
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, data, sizeof(data) - 1);

	(void)argument;
	if (fd >= 0)
		close(fd);
	if (length < 0) {
		printf("args: %s\n", error_name(errno));
		return;
	}
	data[length] = '\0';
	end = strchr(data, '\0');
	printf("argv[0] %.*s\n", (int)(end - data), data);
}

/* Can it still make user namespaces? */
static void probe_userns(const char *argument)
{
	pid_t pid = fork();
	int status = 0;

	(void)argument;
	if (!pid)
		_exit(unshare(CLONE_NEWUSER) ? errno : 0);
	waitpid(pid, &status, 0);
	printf("userns %s\n", error_name(WEXITSTATUS(status)));
}

/* ---- the end ------------------------------------------------------------------ */

static void probe_exit(const char *status)
{
	fflush(stdout);
	_exit(atoi(status));
}

static void probe_kill(const char *number)
{
	fflush(stdout);
	kill(getpid(), atoi(number));
}

static void probe_out(const char *text)
{
	printf("%s\n", text);
}

static void probe_err(const char *text)
{
	fflush(stdout);
	fprintf(stderr, "%s\n", text);
}

static const struct {
	const char *name;
	void (*run)(const char *argument);
} probes[] = {
	{ "mounts", probe_mounts }, { "stat", probe_stat },
	{ "ls", probe_ls }, { "read", probe_read },
	{ "append", probe_append }, { "create", probe_create },
	{ "mkdir", probe_mkdir }, { "unlink", probe_unlink },
	{ "open", probe_open }, { "lock", probe_lock },
	{ "ids", probe_ids }, { "env", probe_env }, { "cwd", probe_cwd },
	{ "fds", probe_fds }, { "caps", probe_caps }, { "ns", probe_ns },
	{ "signals", probe_signals }, { "process", probe_process },
	{ "pids", probe_pids }, { "session", probe_session },
	{ "host", probe_host }, { "net", probe_net }, { "args", probe_args },
	{ "userns", probe_userns }, { "exit", probe_exit },
	{ "kill", probe_kill }, { "out", probe_out }, { "err", probe_err },
};

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		char *colon = strchr(argv[i], ':');
		size_t row;

		if (colon)
			*colon = '\0';
		for (row = 0; row < sizeof(probes) / sizeof(*probes); row++)
			if (!strcmp(probes[row].name, argv[i]))
				break;
		if (row == sizeof(probes) / sizeof(*probes)) {
			fprintf(stderr, "probe: unknown word %s\n", argv[i]);
			return 99;
		}
		probes[row].run(colon ? colon + 1 : "");
	}
	return 0;
}
