/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the caller left in this process, made known before anything else.
 *
 * exec(2) hands on more than arguments: ignored and blocked signals, timers,
 * the umask, closed or odd descriptors 0-2.  The launcher starts from one
 * state whatever they were.  A profile's payload gets a fixed state too;
 * under bubblewrap's rules it gets back what the caller had.
 *
 * The caller may die at any moment: main() notes its pid before anything else,
 * and a pidfd of it can be trusted only if it is our parent still once it is
 * open.
 */
#include "engine/relay.h"
#include "engine/report.h"

#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* What the monitor listens to or must not die of. */
static const int monitor_signals[] = {
	SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH,
	SIGCHLD, /* the child inherits it, and waits with it blocked */
	SIGPIPE, /* a reader of the records may be gone */
	SIGXFSZ, /* ... and their file full */
};

static bool is_profile(const struct run *run)
{
	return run->plan->rules == PLAN_RULES_PROFILE;
}

static int prepare_caller(struct run *run, pid_t parent, struct error *err)
{
	int fd;

	run->caller = parent;
	run->caller_pidfd = -EBADF;
	if (parent == 0)
		return 0;
	/* Not available: the monitor asks getppid() now and then. */
	fd = proc_pidfd_open(parent, err);
	if (fd >= 0)
		run->caller_pidfd = fd;
	if (getppid() == parent)
		return 0;
	if (fd >= 0) {
		close(fd);
		run->caller_pidfd = -EBADF;
	}
	error_set(err, ESRCH, "the calling process is gone");
	error_reason(err, "caller-gone");
	return -ESRCH;
}

static void prepare_signal(struct run *run, int number)
{
	const struct sigaction plain = { .sa_handler = SIG_DFL };
	struct sigaction before;

	/* Refused: KILL, STOP and those that libc keeps to itself. */
	if (sigaction(number, &plain, &before) == 0 &&
	    before.sa_handler == SIG_IGN)
		sigaddset(&run->caller_ignored, number);
}

static void prepare_signals(struct run *run)
{
	sigset_t blocked, caller_mask;

	sigemptyset(&blocked);
	for (size_t i = 0; i < ARRAY_SIZE(monitor_signals); i++)
		sigaddset(&blocked, monitor_signals[i]);
	sigprocmask(SIG_SETMASK, &blocked, &caller_mask);

	sigemptyset(&run->caller_ignored);
	if (is_profile(run)) {
		for (int number = 1; number <= SIGRTMAX; number++)
			prepare_signal(run, number);
	} else {
		/* The others are none of ours, and go on as they are. */
		for (size_t i = 0; i < ARRAY_SIZE(monitor_signals); i++)
			prepare_signal(run, monitor_signals[i]);
	}

	sigemptyset(&run->payload_mask);
	sigemptyset(&run->payload_ignored);
	if (is_profile(run)) {
		/* exec(2) hands timers on, and the monitor has none. */
		const struct itimerval none = { 0 };

		setitimer(ITIMER_REAL, &none, NULL);
		setitimer(ITIMER_VIRTUAL, &none, NULL);
		setitimer(ITIMER_PROF, &none, NULL);
		return;
	}
	run->payload_mask = caller_mask;
	sigdelset(&run->payload_mask, SIGCHLD);
	run->payload_ignored = run->caller_ignored;
	sigdelset(&run->payload_ignored, SIGCHLD);
}

/* Never wider than the caller's, and never writable for others. */
static void prepare_umask(struct run *run)
{
	mode_t caller = umask(0);

	run->payload_umask = is_profile(run) ? caller | 022 : caller;
}

/* A machine without /dev/null has an empty file in memory. */
void engine_begin(struct engine_start *ret_start)
{
	ret_start->caller = getppid();
	ret_start->closed_stdio = 0;
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		/* NOLINTBEGIN(android-cloexec-*): the payload inherits it */
		if (open("/dev/null", O_RDWR) < 0)
			memfd_create("null", 0);
		/* NOLINTEND(android-cloexec-*) */
		ret_start->closed_stdio |= 1U << fd;
	}
}

/* What the caller handed on is not close-on-exec; what we opened is. */
static int check_fd(const struct run *run, int fd, const struct origin *origin,
		    struct error *err)
{
	if (fd < 0 || fcntl(fd, F_GETFD) == 0)
		return 0;
	error_set(err, EBADF, "%s: descriptor %d",
		  origin_text(run->arena, origin), fd);
	error_reason(err, "descriptor");
	return error_result(err);
}

/*
 * A number that the caller did not open must not come to mean one of our own
 * descriptors.  bubblewrap's rules have errors of their own for that.
 */
static int prepare_fds(const struct run *run, struct error *err)
{
	const struct plan *plan = run->plan;
	const struct plan_security *security = &plan->security;
	int r = 0;

	if (!is_profile(run))
		return 0;
	for (size_t i = 0; !r && i < security->keep_fds.count; i++)
		r = check_fd(run, security->keep_fds.at[i],
			     &security->keep_origin, err);
	for (size_t i = 0; !r && i < plan->ops.count; i++)
		r = check_fd(run, plan->ops.at[i].fd, &plan->ops.at[i].origin,
			     err);
	return r ? r : check_fd(run, plan->report.status_fd,
				&plan->report.status_origin, err);
}

static const char *environment_value(char *const *environment,
				     const char *name)
{
	size_t length = strlen(name);

	for (; *environment; environment++)
		if (strncmp(*environment, name, length) == 0 &&
		    (*environment)[length] == '=')
			return *environment + length + 1;
	return NULL;
}

/* PWD if that is where we are, else the kernel's name for it. */
static const char *prepare_cwd(const struct run *run)
{
	const char *name = environment_value(run->environment, "PWD");
	struct stat named, here;
	char *kernel_name;

	if (name && name[0] == '/' && stat(name, &named) == 0 &&
	    stat(".", &here) == 0 && named.st_dev == here.st_dev &&
	    named.st_ino == here.st_ino)
		return arena_strdup(run->arena, name);
	kernel_name = getcwd(NULL, 0);
	if (!kernel_name)
		return NULL;
	/* Otherwise "(unreachable)/..." of another root. */
	name = kernel_name[0] == '/' ? arena_strdup(run->arena, kernel_name) :
				       NULL;
	free(kernel_name);
	return name;
}

int prepare_run(struct run *run, struct error *err)
{
	struct timespec now;
	int r;

	r = prepare_caller(run, run->options->start.caller, err);
	if (r < 0)
		return r;
	clock_gettime(CLOCK_REALTIME, &run->created_at);
	clock_gettime(CLOCK_BOOTTIME, &now);
	run->started = (uint64_t)now.tv_sec * 1000000000U +
		       (uint64_t)now.tv_nsec;
	prepare_signals(run);
	prepare_umask(run);
	run->closed_stdio = run->options->start.closed_stdio;
	if (prepare_fds(run, err) < 0)
		return error_result(err);
	if (report_open(run, err) < 0 || relay_prepare(run, err) < 0)
		return error_result(err);
	run->environment = plan_environment(run->plan, run->arena, environ);
	run->caller_cwd = NULL;
	if (!is_profile(run) && !run->plan->chdir)
		run->caller_cwd = prepare_cwd(run);
	return 0;
}

int prepare_payload(const struct run *run, struct error *err)
{
	const struct sigaction ignored = { .sa_handler = SIG_IGN };

	for (int fd = 0; fd < 3; fd++) {
		if (run->payload_stdio[fd] >= 0) {
			if (dup2(run->payload_stdio[fd], fd) < 0)
				return error_set(err, errno,
						 "dup2 to descriptor %d", fd);
		} else if (!is_profile(run) && run->closed_stdio & 1U << fd) {
			close(fd);
		}
	}
	if (run_dies_with_monitor(run)) {
		int r = proc_die_with_parent(0, err);

		if (r < 0)
			return r;
	}
	/* The reaper's alone; its end of file tells that all is over. */
	if (run_has_init(run) && run->plan->bwrap.sync_fd >= 0)
		close(run->plan->bwrap.sync_fd);
	umask(run->payload_umask);
	for (int number = 1; number <= SIGRTMAX; number++)
		if (sigismember(&run->payload_ignored, number) == 1)
			sigaction(number, &ignored, NULL);
	sigprocmask(SIG_SETMASK, &run->payload_mask, NULL);
	return 0;
}
