/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attacks on processes: PID 1, the caller, whoever else is on the host. */
#include "attack.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- PID 1, a process of the launcher's inside ------------------------------------ */

ATTACK(process, ptrace_of_pid_1, .weak = BWRAP)
{
	return ptrace(PTRACE_SEIZE, 1, 0, 0) == 0;
}

ATTACK(process, writing_to_the_memory_of_pid_1, .weak = BWRAP)
{
	return attack_opens("/proc/1/mem", O_RDWR);
}

ATTACK(process, process_vm_of_pid_1, .weak = BWRAP)
{
	char here[8];
	struct iovec local = { here, sizeof(here) };
	struct iovec remote = { (void *)16, sizeof(here) };

	/* EFAULT: nothing is there, but it was looked at. */
	return process_vm_readv(1, &local, 1, &remote, 1, 0) >= 0 ||
	       errno == EFAULT;
}

ATTACK(process, root_of_pid_1, .weak = BWRAP)
{
	return chdir("/proc/1/root/") == 0 || chdir("/proc/1/cwd/") == 0;
}

ATTACK(process, descriptors_of_pid_1, .weak = BWRAP)
{
	int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);

	for (int fd = 0; fd < 64; fd++)
		if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0)
			return true;
	return false;
}

/* Their numbers are no secret, what they are is. */
ATTACK(process, names_of_descriptors_of_pid_1, .weak = BWRAP)
{
	char path[64], target[64];

	for (int fd = 0; fd < 64; fd++) {
		snprintf(path, sizeof(path), "/proc/1/fd/%d", fd);
		if (readlink(path, target, sizeof(target)) >= 0)
			return true;
	}
	return false;
}

/* Then it could be overwritten as soon as nobody runs it. */
ATTACK(process, binary_of_the_launcher, .weak = BWRAP)
{
	return attack_opens("/proc/1/exe", O_RDONLY);
}

static void hold_a_secret(struct scene *scene)
{
	static const char *const secret[] = { "SECRET=hunter2", NULL };

	scene->program.set = secret;
}

static bool shows_the_secret(const char *path)
{
	char text[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text));

	return length > 0 && memmem(text, (size_t)length, "hunter2", 7);
}

ATTACK(process, environment_of_pid_1, .weak = BWRAP, .bait = hold_a_secret)
{
	return shows_the_secret("/proc/1/environ");
}

static void pass_a_secret(struct scene *scene)
{
	scene_bwrap(scene, ARGV("--setenv", "TOKEN", "hunter2"));
	scene_option(scene, "--env", "TOKEN=hunter2");
}

ATTACK(process, arguments_of_pid_1, .weak = BWRAP, .bait = pass_a_secret)
{
	return shows_the_secret("/proc/1/cmdline");
}

/* What makes a loader, a shell or an interpreter run something. */
static void set_dangerous_variables(struct scene *scene)
{
	static const char *const variables[] = {
		"LD_LIBRARY_PATH=/nonexistent", "BASH_ENV=evil", "ENV=evil",
		"PYTHONSTARTUP=evil", "NODE_OPTIONS=--require=evil",
		"GIT_SSH_COMMAND=evil", "PERL5OPT=-Mevil", NULL,
	};

	scene->program.set = variables;
}

static bool has_dangerous_variables(void)
{
	return getenv("LD_LIBRARY_PATH") || getenv("BASH_ENV") ||
	       getenv("ENV") || getenv("PYTHONSTARTUP") ||
	       getenv("NODE_OPTIONS") || getenv("GIT_SSH_COMMAND") ||
	       getenv("PERL5OPT");
}

ATTACK(process, variables_of_the_caller, .weak = BARE,
       .bait = set_dangerous_variables)
{
	return has_dangerous_variables();
}

ATTACK(process, variables_where_all_are_kept, .weak = BARE,
       .with = WITH("--set", "environment.keep=*"),
       .bait = set_dangerous_variables)
{
	return has_dangerous_variables();
}

static void name_a_library(struct scene *scene)
{
	static const char *const library[] = {
		"LD_PRELOAD=/nonexistent/evil.so", NULL,
	};

	if (sbx_sanitized())
		skip_test("sanitizer", "the launcher is linked dynamically");
	scene->program.set = library;
}

static bool loader_looked(const struct scene *scene,
			  const struct outcome *outcome)
{
	return strstr(outcome->err, "evil.so");
}

/* It would run in the launcher, outside of everything. */
ATTACK(process, library_in_the_launcher, .weak = BWRAP,
       .bait = name_a_library, .seen = loader_looked)
{
	return false;
}

ATTACK(process, limits_of_pid_1, .weak = BWRAP)
{
	struct rlimit none = { 0, 0 };

	return prlimit(1, RLIMIT_NOFILE, &none, NULL) == 0;
}

/* A nice value does it no harm: everything in there is of the same user. */
ATTACK(process, scheduling_of_pid_1, .weak = BWRAP)
{
	struct sched_param idle = { 0 };
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	return sched_setscheduler(1, SCHED_IDLE, &idle) == 0 ||
	       sched_setaffinity(1, sizeof(one), &one) == 0;
}

/* By the session: whose weight it changes, who has a part of it. */
static void name_the_session(struct scene *scene)
{
	if (!file_exists("/proc/self/autogroup"))
		skip_test("not-here", "sessions have no weight");
	scene_tell(scene, "group", arena_format("%.*s", (int)strcspn(
		file_read("/proc/self/autogroup", NULL), " "),
		file_read("/proc/self/autogroup", NULL)));
	scene->program.same_session = true;
}

ATTACK(process, weight_of_the_callers_session, .weak = BWRAP,
       .bait = name_the_session)
{
	const char *group = attack_word("group");

	return attack_opens("/proc/1/autogroup", O_WRONLY) &&
	       !strncmp(attack_read("/proc/1/autogroup"), group,
			strlen(group));
}

/* ---- processes of the host --------------------------------------------------------- */

static void name_the_caller(struct scene *scene)
{
	scene_tell(scene, "caller", arena_format("%d", getpid()));
}

ATTACK(process, signal_to_the_caller, .weak = BARE, .bait = name_the_caller)
{
	return kill((pid_t)strtol(attack_word("caller"), NULL, 10), 0) == 0;
}

ATTACK(process, pidfd_of_the_caller, .weak = BARE, .bait = name_the_caller)
{
	return syscall(SYS_pidfd_open,
		       strtol(attack_word("caller"), NULL, 10), 0) >= 0;
}

/* The numbers of all processes, and what they were started with. */
ATTACK(process, arguments_of_the_caller, .weak = BARE,
       .bait = name_the_caller)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/cmdline",
		 attack_word("caller"));
	return attack_opens(path, O_RDONLY);
}

/* ---- with the host's processes in sight ---------------------------------------------- */

#define HOST_PROCESSES WITH("--set", "namespaces.share=pid")

static void name_the_caller_beside_landlock(struct scene *scene)
{
	scene_need_landlock(6);
	name_the_caller(scene);
}

ATTACK(process, signal_where_pids_are_shared, .weak = BARE,
       .with = HOST_PROCESSES, .bait = name_the_caller_beside_landlock)
{
	return kill((pid_t)strtol(attack_word("caller"), NULL, 10), 0) == 0;
}

ATTACK(process, environment_where_pids_are_shared, .weak = BARE,
       .with = HOST_PROCESSES, .bait = name_the_caller_beside_landlock)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/environ",
		 attack_word("caller"));
	return attack_opens(path, O_RDONLY);
}

/* ---- groups ------------------------------------------------------------------------------ */

static volatile sig_atomic_t signals;

static void note_signal(int signal)
{
	signals = signals + 1;
}

/* A signal that everybody else in the group ignores. */
static void wait_for_signals(struct scene *scene)
{
	struct sigaction note = { .sa_handler = note_signal,
				  .sa_flags = SA_RESTART };

	signals = 0;
	sigaction(SIGURG, &note, NULL);
	scene->program.same_session = true;
}

static bool signal_came(const struct scene *scene,
			const struct outcome *outcome)
{
	return signals > 0;
}

/* A process group goes across pid namespaces. */
ATTACK(process, signal_to_the_group, .weak = BWRAP,
       .bait = wait_for_signals, .seen = signal_came)
{
	kill(0, SIGURG);
	kill(-1, SIGURG);
	return false;
}

/* ---- after the end ------------------------------------------------------------------ */

static bool daemon_lives(const struct scene *scene,
			 const struct outcome *outcome)
{
	usleep(120000);
	return file_exists(path_in(scene->work, "alive"));
}

ATTACK(process, daemon_that_outlives_the_run, .weak = BARE,
       .seen = daemon_lives)
{
	if (fork() == 0) {
		setsid();
		signal(SIGTERM, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		usleep(60000);
		creat("alive", 0600);
		_exit(0);
	}
	return false;
}

/* ---- core dumps ---------------------------------------------------------------------- */

/* The kernel hands one to a program on the host, as root. */
ATTACK(process, core_dump, .weak = BWRAP)
{
	struct rlimit limit;
	int status;
	pid_t pid;

	getrlimit(RLIMIT_CORE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_CORE, &limit);
	pid = fork();
	if (pid == 0)
		abort();
	waitpid(pid, &status, 0);
	if (WCOREDUMP(status))
		return true;
	if (limit.rlim_max != 1)
		attack_not_here("the caller, or the kernel, has none");
	return false;
}

/* ---- scheduling ----------------------------------------------------------------------- */

static int allow_priorities(const void *data)
{
	struct rlimit nice = { 40, 40 }, realtime = { 50, 50 };

	setrlimit(RLIMIT_NICE, &nice);
	setrlimit(RLIMIT_RTPRIO, &realtime);
	return 0;
}

static void ask_for_priorities(struct scene *scene)
{
	scene->program.call = allow_priorities;
}

static void need_limit(int resource, const char *what)
{
	struct rlimit limit;

	getrlimit(resource, &limit);
	if (!limit.rlim_max && *attack_word("weak"))
		attack_not_here(what);
}

ATTACK(process, higher_priority, .weak = BWRAP, .who = AS_ROOT,
       .bait = ask_for_priorities)
{
	need_limit(RLIMIT_NICE, "root cannot raise a limit");
	return setpriority(PRIO_PROCESS, 0, -5) == 0;
}

ATTACK(process, realtime_priority, .weak = BWRAP, .who = AS_ROOT,
       .bait = ask_for_priorities)
{
	struct sched_param param = { .sched_priority = 1 };

	need_limit(RLIMIT_RTPRIO, "root cannot raise a limit");
	return sched_setscheduler(0, SCHED_FIFO, &param) == 0;
}
