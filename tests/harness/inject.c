/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * inject [--log FILE] [--fail PROCESS:CALL:NTH=ERRNO] -- LAUNCHER [ARGUMENT...]
 *
 * Run LAUNCHER, and let one system call of it or of what it starts fail, as a
 * debugger: what a seccomp filter cannot do, since it does not count.
 *
 * PROCESS is a number in the order in which they are made, LAUNCHER being 0.
 * A process is looked at from its beginning, LAUNCHER from its first
 * getppid(2) on (before that it is the C library that speaks), and until it
 * executes something: that is the payload, and goes on undisturbed.  NTH
 * counts from 1, the calls of that name.  --log writes a line "PROCESS CALL"
 * for each call, in order.  The exit status is LAUNCHER's, or 128 + the signal
 * that ended it; 99: a fault of this program.
 *
 * A close(2) that fails has closed all the same, as the kernel's does.
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>
#include <seccomp.h>

enum { PROCESSES_MOST = 64, NO_NUMBER = -1, ERRNO_LAST = 133 };

struct traced {
	pid_t pid;
	int number;       /* in the order of their making; -1: not known yet */
	bool is_counted;  /* its calls are */
	bool is_waiting;  /* stopped, until its number is known */
	bool fails;       /* the call it is in */
	unsigned calls;   /* of the name that is to fail */
};

static struct traced processes[PROCESSES_MOST];
static int numbers_given;
static FILE *log_file;

/* What is to fail. */
static struct {
	int process, call, error;
	unsigned nth;
} target = { .process = NO_NUMBER };

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "inject: %s: %s\n", what, strerror(errno));
	exit(99);
}

static struct traced *traced_find(pid_t pid)
{
	struct traced *unused = NULL;

	for (int i = 0; i < PROCESSES_MOST; i++) {
		if (processes[i].pid == pid)
			return &processes[i];
		if (!processes[i].pid && !unused)
			unused = &processes[i];
	}
	if (!unused) {
		errno = ENFILE;
		die("processes");
	}
	*unused = (struct traced){ .pid = pid, .number = NO_NUMBER };
	return unused;
}

/* It may have been killed meanwhile, which its wait status will tell. */
static void traced_go_on(const struct traced *traced, int signal)
{
	if (ptrace(PTRACE_SYSCALL, traced->pid, NULL, (long)signal) < 0 &&
	    errno != ESRCH)
		die("ptrace");
}

/* ---- registers ------------------------------------------------------------- */

#if defined(__x86_64__)
typedef struct user_regs_struct registers;
#define NUMBER_OF(regs) ((regs).orig_rax)
#define RESULT_OF(regs) ((regs).rax)
#elif defined(__aarch64__)
typedef struct user_regs_struct registers;
#define RESULT_OF(regs) ((regs).regs[0])
#else
#error "an architecture that this program does not know"
#endif

static void set_result(pid_t pid, int error)
{
	registers regs;
	struct iovec part = { &regs, sizeof(regs) };

	if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &part) < 0)
		return;
	RESULT_OF(regs) = (unsigned long)-(long)error;
	ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &part);
}

/* Let the kernel do nothing for the call that @pid is about to make. */
static void skip_call(pid_t pid)
{
#if defined(__aarch64__)
	int none = -1;
	struct iovec part = { &none, sizeof(none) };

	ptrace(PTRACE_SETREGSET, pid, (void *)NT_ARM_SYSTEM_CALL, &part);
#else
	registers regs;
	struct iovec part = { &regs, sizeof(regs) };

	if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &part) < 0)
		return;
	NUMBER_OF(regs) = (unsigned long)-1;
	ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &part);
#endif
}

/* ---- calls ------------------------------------------------------------------- */

/* Calls that have no result. */
static bool call_returns(int call)
{
	return call != SYS_exit && call != SYS_exit_group &&
	       call != SYS_rt_sigreturn && call != SYS_restart_syscall;
}

static void log_call(const struct traced *traced, int call)
{
	char *name;

	if (!log_file)
		return;
	name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call);
	fprintf(log_file, "%d %s\n", traced->number, name ? name : "unknown");
	free(name);
}

static void on_call(struct traced *traced, int call)
{
	if (!traced->is_counted && !traced->number &&
	    call == SYS_getppid)
		traced->is_counted = true;
	if (!traced->is_counted || !call_returns(call))
		return;
	log_call(traced, call);
	if (traced->number != target.process || call != target.call ||
	    ++traced->calls != target.nth)
		return;
	traced->fails = true;
	if (call != SYS_close)
		skip_call(traced->pid);
}

static void on_syscall_stop(struct traced *traced)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, traced->pid,
		   (void *)sizeof(info), &info) < 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		on_call(traced, (int)info.entry.nr);
	} else if (info.op == PTRACE_SYSCALL_INFO_EXIT && traced->fails) {
		traced->fails = false;
		set_result(traced->pid, target.error);
	}
}

/* ---- processes ------------------------------------------------------------------ */

static void on_child(const struct traced *parent)
{
	struct traced *child;
	unsigned long pid;

	if (ptrace(PTRACE_GETEVENTMSG, parent->pid, NULL, &pid) < 0)
		return;
	child = traced_find((pid_t)pid);
	child->number = numbers_given++;
	child->is_counted = true;
	if (child->is_waiting) {
		child->is_waiting = false;
		traced_go_on(child, 0);
	}
}

static void on_stop(struct traced *traced, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;

	if (traced->number == NO_NUMBER) {
		traced->is_waiting = true;
		return;
	}
	switch (event) {
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		on_child(traced);
		signal = 0;
		break;
	case PTRACE_EVENT_EXEC:
		if (traced->number) {
			ptrace(PTRACE_DETACH, traced->pid, NULL, NULL);
			*traced = (struct traced){ 0 };
			return;
		}
		signal = 0;
		break;
	case 0:
		if (signal == (SIGTRAP | 0x80)) {
			on_syscall_stop(traced);
			signal = 0;
		}
		break;
	default:
		signal = 0;
		break;
	}
	traced_go_on(traced, signal);
}

/* Until none is left; returns the wait status of @launcher. */
static int trace_all(pid_t launcher)
{
	int status, result = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		struct traced *traced;

		if (pid <= 0)
			continue;
		traced = traced_find(pid);
		if (WIFSTOPPED(status)) {
			on_stop(traced, status);
			continue;
		}
		if (pid == launcher)
			result = status;
		*traced = (struct traced){ 0 };
	}
	return result;
}

static pid_t start(char **argv)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK |
		PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
		PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	pid_t pid = fork();
	int status;

	if (pid < 0)
		die("fork");
	if (!pid) {
		raise(SIGSTOP);
		execvp(argv[0], argv);
		die(argv[0]);
	}
	if (waitpid(pid, &status, WUNTRACED) < 0 ||
	    ptrace(PTRACE_SEIZE, pid, NULL, options) < 0 ||
	    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0)
		die("trace");
	kill(pid, SIGCONT);
	traced_find(pid)->number = numbers_given++;
	return pid;
}

static int usage(void)
{
	fprintf(stderr, "usage: inject [--log FILE] [--fail PROCESS:CALL:NTH="
			"ERRNO] -- LAUNCHER [ARGUMENT...]\n");
	return 99;
}

static int error_number(const char *name)
{
	for (int error = 1; error <= ERRNO_LAST; error++) {
		const char *known = strerrorname_np(error);

		if (known && !strcmp(known, name))
			return error;
	}
	return 0;
}

static bool parse_target(char *text)
{
	char *name = strchr(text, ':');
	char *nth = name ? strchr(name + 1, ':') : NULL;
	char *error = nth ? strchr(nth + 1, '=') : NULL;

	if (!error)
		return false;
	*name++ = *nth++ = *error++ = '\0';
	target.process = (int)strtol(text, NULL, 10);
	target.nth = (unsigned)strtoul(nth, NULL, 10);
	target.call = seccomp_syscall_resolve_name(name);
	target.error = error_number(error);
	return target.call >= 0 && target.nth && target.error;
}

int main(int argc, char **argv)
{
	int i, status;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i += 2) {
		if (i + 1 >= argc)
			return usage();
		if (!strcmp(argv[i], "--log"))
			log_file = fopen(argv[i + 1], "we");
		else if (strcmp(argv[i], "--fail") != 0 ||
			 !parse_target(argv[i + 1]))
			return usage();
		if (!strcmp(argv[i], "--log") && !log_file)
			die(argv[i + 1]);
	}
	if (i + 1 >= argc)
		return usage();
	status = trace_all(start(argv + i + 1));
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status);
}
