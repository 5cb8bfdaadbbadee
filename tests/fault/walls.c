/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fault-walls NAMESPACE...: the payload of the fault injection.  Says that it
 * runs, and all that it can see of the walls around it, in lines that are the
 * same in two runs if the walls are.  NAMESPACE is "net:[4026531840]" and the
 * like: those of the caller.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <unistd.h>

/* 0 or the errno's name. */
static const char *result(long value)
{
	return value < 0 ? strerrorname_np(errno) : "0";
}

static void say_lines(const char *path, const char *const *wanted)
{
	FILE *file = fopen(path, "re");
	char line[4096];

	if (!file) {
		printf("%s: %s\n", path, strerrorname_np(errno));
		return;
	}
	while (fgets(line, sizeof(line), file)) {
		bool is_wanted = !wanted;

		for (size_t i = 0; wanted && wanted[i]; i++)
			is_wanted |= !strncmp(line, wanted[i],
					      strlen(wanted[i]));
		if (is_wanted)
			fputs(line, stdout);
	}
	fclose(file);
}

static void say_process(void)
{
	static const char *const wanted[] = {
		"Umask:", "Uid:", "Gid:", "Groups:", "NStgid:", "NSsid:",
		"Threads:", "SigBlk:", "SigIgn:", "CapInh:", "CapPrm:",
		"CapEff:", "CapBnd:", "CapAmb:", "NoNewPrivs:", "Seccomp:",
		"Seccomp_filters:", NULL
	};
	struct itimerval timer = { 0 };
	int death = -1;

	say_lines("/proc/self/status", wanted);
	say_lines("/proc/self/limits", NULL);
	say_lines("/proc/self/cgroup", NULL);
	say_lines("/proc/self/oom_score_adj", NULL);
	prctl(PR_GET_PDEATHSIG, &death);
	getitimer(ITIMER_REAL, &timer);
	printf("pid %d, session %d, group %d\n", (int)getpid(),
	       (int)getsid(0), (int)getpgid(0));
	printf("securebits %x, dumpable %d, death signal %d\n",
	       (unsigned)prctl(PR_GET_SECUREBITS), prctl(PR_GET_DUMPABLE),
	       death);
	printf("nice %d, scheduler %d, timer %ld\n",
	       getpriority(PRIO_PROCESS, 0), sched_getscheduler(0),
	       (long)timer.it_value.tv_sec);
}

/*
 * Root's payload has another id on the host each time, but never 0; an upper
 * layer gets its own number when it is used for the first time.
 */
static void hide_numbers(char *options)
{
	char *uuid = strstr(options, "uuid=on,");

	if (uuid)
		memmove(uuid, uuid + 8, strlen(uuid + 8) + 1);
	for (char *id = options; (id = strstr(id, "id=")); id += 3)
		for (char *c = id + 3; id[3] != '0' && *c >= '0' && *c <= '9'; c++)
			*c = 'N';
}

/* Without the numbers of mounts, devices and peer groups. */
static void say_mounts(void)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[8192];

	while (file && fgets(line, sizeof(line), file)) {
		char root[2048], place[2048], flags[512];
		char *rest = strstr(line, " - ");

		if (rest)
			hide_numbers(rest);
		if (rest && sscanf(line, "%*s %*s %*s %2047s %2047s %511s",
				   root, place, flags) == 3)
			printf("mount %s %s %s%s", root, place, flags, rest);
	}
	if (file)
		fclose(file);
}

static void say_namespaces(char **theirs)
{
	static const char *const names[] = {
		"user", "mnt", "pid", "net", "ipc", "uts", "cgroup",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[64], own[64] = "";
		bool is_theirs = false;

		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		if (readlink(path, own, sizeof(own) - 1) < 0)
			snprintf(own, sizeof(own), "%s",
				 strerrorname_np(errno));
		for (char **other = theirs; *other; other++)
			is_theirs |= !strcmp(*other, own);
		printf("namespace %s: %s\n", names[i],
		       is_theirs ? "the caller's" : "its own");
	}
}

static void say_descriptors(void)
{
	for (int fd = 0; fd < 256; fd++) {
		char path[64], target[1024] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (fcntl(fd, F_GETFD) < 0 ||
		    readlink(path, target, sizeof(target) - 1) < 0)
			continue;
		/* The number of a pipe or a socket. */
		target[strcspn(target, "[")] = '\0';
		printf("descriptor %d: %s\n", fd, target);
	}
}

static void say_tree(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	unsigned count = 0, names = 0;

	while (directory && (entry = readdir(directory)))
		if (entry->d_name[0] != '.') {
			count++;
			/* In whatever order they come. */
			for (const char *c = entry->d_name; *c; c++)
				names += (unsigned char)*c;
		}
	if (directory)
		closedir(directory);
	printf("directory %s: %u %u\n", path, count, names);
}

static void say_network(void)
{
	struct ifreq loopback = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &loopback) < 0)
		printf("loopback: %s\n", strerrorname_np(errno));
	else
		printf("loopback: %s\n", loopback.ifr_flags & IFF_UP ? "up" :
								      "down");
	if (fd >= 0)
		close(fd);
}

/* What is not to work, and with which error. */
static void say_attempts(void)
{
	int own = open("/proc/self/exe", O_WRONLY | O_CLOEXEC);

	printf("write to itself: %s\n", result(own));
	printf("/proc/1/environ: %s\n",
	       result(open("/proc/1/environ", O_RDONLY | O_CLOEXEC)));
	printf("/proc/1/mem: %s\n",
	       result(open("/proc/1/mem", O_RDWR | O_CLOEXEC)));
	printf("core_pattern: %s\n", result(open(
		"/proc/sys/kernel/core_pattern", O_WRONLY | O_CLOEXEC)));
	printf("/dev/tty: %s\n",
	       result(open("/dev/tty", O_RDWR | O_CLOEXEC)));
	printf("file in /: %s\n", result(open("/made", O_WRONLY | O_CREAT |
					      O_CLOEXEC, 0600)));
	printf("trace of PID 1: %s\n",
	       result(ptrace(PTRACE_ATTACH, 1, NULL, NULL)));
	printf("signal to the group 0: %s\n", result(kill(0, 0)));
	printf("keyctl: %s\n", result(syscall(SYS_keyctl, 0, -3, 0)));
	printf("unshare: %s\n", result(unshare(CLONE_NEWUSER)));
}

int main(int argc, char **argv)
{
	struct utsname names;
	char directory[4096];

	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	printf("ran\n");
	say_process();
	say_mounts();
	say_namespaces(argv + 1);
	say_descriptors();
	for (char **name = environ; *name; name++)
		printf("environment %s\n", *name);
	uname(&names);
	printf("host name %s, directory %s\n", names.nodename,
	       getcwd(directory, sizeof(directory)));
	say_tree("/");
	say_tree("/dev");
	say_tree("/home");
	say_tree("/tmp");
	say_network();
	say_attempts();
	printf("all said\n");
	fflush(stdout);
	return argc > 1 ? 7 : 8;
}
