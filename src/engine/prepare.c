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

/* What the launcher itself has open, without any source. */
enum { FILES_LEAST = 16 };

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

static int prepare_signal(struct run *run, int number, struct error *err)
{
	const struct sigaction plain = { .sa_handler = SIG_DFL };
	struct sigaction before;

	if (sigaction(number, &plain, &before) < 0)
		return error_set(err, errno, "action of signal %d", number);
	if (before.sa_handler == SIG_IGN)
		sigaddset(&run->caller_ignored, number);
	return 0;
}

static int prepare_signals(struct run *run, struct error *err)
{
	sigset_t blocked, caller_mask;
	int r = 0;

	sigemptyset(&blocked);
	for (size_t i = 0; i < ARRAY_SIZE(monitor_signals); i++)
		sigaddset(&blocked, monitor_signals[i]);
	if (sigprocmask(SIG_SETMASK, &blocked, &caller_mask) < 0)
		return error_set(err, errno, "block signals");

	sigemptyset(&run->caller_ignored);
	for (size_t i = 0; !r && i < ARRAY_SIZE(monitor_signals); i++)
		r = prepare_signal(run, monitor_signals[i], err);
	if (r < 0)
		return r;

	sigemptyset(&run->payload_mask);
	sigemptyset(&run->payload_ignored);
	if (is_profile(run)) {
		/* exec(2) hands timers on, and the monitor has none. */
		const struct itimerval none = { 0 };

		if (setitimer(ITIMER_REAL, &none, NULL) < 0 ||
		    setitimer(ITIMER_VIRTUAL, &none, NULL) < 0 ||
		    setitimer(ITIMER_PROF, &none, NULL) < 0)
			return error_set(err, errno, "end the caller's timers");
		return 0;
	}
	run->payload_mask = caller_mask;
	sigdelset(&run->payload_mask, SIGCHLD);
	run->payload_ignored = run->caller_ignored;
	sigdelset(&run->payload_ignored, SIGCHLD);
	return 0;
}

/* umask(2) has no errors; what a filter refuses returns no mode. */
static int set_umask(mode_t wanted, mode_t *ret_before, struct error *err)
{
	mode_t before = umask(wanted);

	if (before & ~(mode_t)0777)
		return error_set(err, EPERM, "umask");
	if (ret_before)
		*ret_before = before;
	return 0;
}

/* Never wider than the caller's, and never writable for others. */
static int prepare_umask(struct run *run, struct error *err)
{
	mode_t caller = 0;

	if (set_umask(0, &caller, err) < 0)
		return error_result(err);
	run->payload_umask = is_profile(run) ? caller | 022 : caller;
	return 0;
}

/* What fits is enough; prepare_file_limit() says what does not. */
static void raise_file_limit(struct engine_start *start)
{
	struct rlimit raised;

	start->files_code = getrlimit(RLIMIT_NOFILE, &start->files) < 0 ?
			    errno : 0;
	if (start->files_code || start->files.rlim_cur ==
	    start->files.rlim_max)
		return;
	raised = start->files;
	raised.rlim_cur = raised.rlim_max;
	setrlimit(RLIMIT_NOFILE, &raised);
}

static int prepare_file_limit(const struct run *run, struct error *err)
{
	const struct engine_start *start = &run->options->start;

	if (start->files_code)
		return error_set(err, start->files_code,
				 "getrlimit RLIMIT_NOFILE");
	if (start->files.rlim_max >= FILES_LEAST)
		return 0;
	error_set(err, 0, "no more than %llu open files are allowed, and it "
		  "takes %d", (unsigned long long)start->files.rlim_max,
		  FILES_LEAST);
	error_reason(err, "open-files");
	error_remedy(err, "raise the hard limit of whoever calls: ulimit -Hn "
		     "1024");
	return error_result(err);
}

/* A machine without /dev/null has an empty file in memory. */
void engine_begin(struct engine_start *ret_start)
{
	raise_file_limit(ret_start);
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
	if (!r)
		r = check_fd(run, plan->workspace.commit_fd,
			     &plan->workspace.commit_fd_origin, err);
	return r ? r : check_fd(run, plan->report.status_fd,
				&plan->report.status_origin, err);
}

/* PWD if that is where we are, else the kernel's name for it. */
static const char *prepare_cwd(const struct run *run)
{
	const char *name = plan_environment_value(run->environment, "PWD");
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
	if (prepare_file_limit(run, err) < 0 ||
	    prepare_signals(run, err) < 0 || prepare_umask(run, err) < 0)
		return error_result(err);
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
	if (set_umask(run->payload_umask, NULL, err) < 0)
		return error_result(err);
	for (int number = 1; number <= SIGRTMAX; number++)
		if (sigismember(&run->payload_ignored, number) == 1 &&
		    sigaction(number, &ignored, NULL) < 0)
			return error_set(err, errno, "ignore signal %d",
					 number);
	if (sigprocmask(SIG_SETMASK, &run->payload_mask, NULL) < 0)
		return error_set(err, errno, "unblock signals");
	return 0;
}
