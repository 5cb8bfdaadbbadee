/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * PID 1 inside: reaps, passes signals on, tells the monitor how the payload
 * ended, and dies with the monitor.
 *
 * Under a profile's rules it ends as soon as the payload has, and the kernel
 * then kills whatever else is in the pid namespace.  Under bubblewrap's rules
 * it goes on until nothing is left to wait for, with or without a monitor
 * (unless --die-with-parent).
 *
 * The payload shares a pid namespace with it and may try everything a process
 * of the same user can.  So it holds nothing worth having: no descriptors but
 * its socket (and what bubblewrap's language makes it keep), no arguments,
 * no environment; a profile's is not dumpable, which closes ptrace(2), the
 * rest of /proc/1 and pidfd_getfd(2).  (bubblewrap's stays dumpable: callers
 * enter its namespaces through /proc.)  All signals are blocked, SIGCHLD
 * outside of ppoll(2): the empty handler only ends that call.
 *
 * What protects it stands before the payload is forked (init_ready()); the
 * payload's own copy of "not dumpable" ends with exec(2).
 *
 * The monitor's death reaches it twice, as SIGKILL through PR_SET_PDEATHSIG
 * and as end of file on the socket.  The first needs no attention and works
 * at any moment, the second tells of a death before the first was armed.
 *
 * Nothing after the fork of the payload allocates memory.
 */
#include "engine/run.h"

#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct init {
	struct run *run;
	bool is_profile;
	pid_t payload;   /* 0: waited for */
	int socket;      /* -EBADF: nobody listens any more */
	int exit_status; /* ours */
	struct error err; /* where calls may leave one; nobody reads it */
};

/* ---- before the fork ------------------------------------------------------ */

static void init_keep(struct run *run, int fd)
{
	*arena_push(run->arena, &run->init_fds) = fd;
}

static int init_check_monitor(struct run *run, struct error *err)
{
	struct pollfd peer = { .fd = run->child_socket };

	if (poll(&peer, 1, 0) < 0)
		return error_set(err, errno, "poll");
	if (peer.revents & (POLLHUP | POLLERR))
		return error_set(err, EPIPE, "the launcher has ended");
	return 0;
}

/*
 * Without a pid namespace the kernel ends nothing by itself: orphans are to
 * come to the reaper, and it needs a list of them.
 */
static int init_adopt(struct run *run, struct error *err)
{
	run->children_fd = open("/proc/thread-self/children",
				O_RDONLY | O_CLOEXEC);
	if (run->children_fd < 0) {
		error_set(err, errno, "open '/proc/thread-self/children'");
		error_remedy(err, "without a pid namespace of its own the "
			     "sandbox needs it to end every process");
		return error_result(err);
	}
	init_keep(run, run->children_fd);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return error_call(err, errno, "prctl",
				  "prctl PR_SET_CHILD_SUBREAPER");
	return 0;
}

int init_begin(struct run *run, struct error *err)
{
	int r;

	close(run->monitor_socket);
	run->monitor_socket = -EBADF;
	/* Their readers wait for the monitor to close them. */
	if (run->plan->bwrap.info_fd >= 0)
		close(run->plan->bwrap.info_fd);
	if (run->plan->bwrap.json_status_fd >= 0)
		close(run->plan->bwrap.json_status_fd);
	run->children_fd = run->oom_fd = -EBADF;
	init_keep(run, run->child_socket);
	if (run->janitor_socket >= 0)
		init_keep(run, run->janitor_socket);
	if (run_dies_with_monitor(run)) {
		r = proc_die_with_parent(0, err);
		if (r < 0)
			return r;
	}
	r = init_check_monitor(run, err);
	if (r < 0)
		return r;
	if (run->plan->rules == PLAN_RULES_PROFILE &&
	    !run_has_pid_namespace(run))
		return init_adopt(run, err);
	return 0;
}

void init_wait_block_fd(struct run *run)
{
	int fd = run->plan->bwrap.block_fd;
	char byte;

	if (fd < 0)
		return;
	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		;
	close(fd);
}

static int init_lock_files(struct run *run, struct error *err)
{
	const struct plan_bwrap *bwrap = &run->plan->bwrap;

	for (size_t i = 0; i < bwrap->lock_files.count; i++) {
		struct flock whole = { .l_type = F_RDLCK };
		const char *path = bwrap->lock_files.at[i];
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			return error_set(err, errno,
					 "Unable to open lock file %s", path);
		init_keep(run, fd);
		if (fcntl(fd, F_SETLK, &whole) < 0)
			return error_set(err, errno,
					 "Unable to lock file %s", path);
	}
	return 0;
}

static void init_wake(int signal)
{
	(void)signal;
}

/* Everything is blocked, and SIGCHLD ends the wait for it. */
static int init_set_signals(struct error *err)
{
	const struct sigaction wake = {
		.sa_handler = init_wake,
		.sa_flags = SA_NOCLDSTOP,
	};
	sigset_t all;

	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0 ||
	    sigaction(SIGCHLD, &wake, NULL) < 0)
		return error_set(err, errno, "signals of PID 1");
	return 0;
}

int init_ready(struct run *run, struct error *err)
{
	const struct plan_bwrap *bwrap = &run->plan->bwrap;
	int r;

	r = init_lock_files(run, err);
	if (r >= 0)
		r = init_set_signals(err);
	if (r < 0)
		return r;
	if (bwrap->sync_fd >= 0)
		init_keep(run, bwrap->sync_fd);
	/*
	 * Who was root of a user namespace owns /proc/1 still; its autogroup
	 * must not be the caller's then, nor anything else of the session.
	 */
	if (run->plan->security.tty == TTY_NONE && setsid() < 0)
		return error_call(err, errno, "setsid", "setsid of PID 1");
	r = proc_set_dumpable(run->plan->rules != PLAN_RULES_PROFILE, err);
	if (r < 0)
		return r;
	/* Everybody inside can read them, and from the first instruction on. */
	r = proc_wipe_args(run->options->is_bwrap ? "bwrap" : "sbx-launch",
			   err);
	if (r < 0 || !run_dies_with_monitor(run))
		return r;
	r = proc_die_with_parent(0, err);
	if (r < 0)
		return r;
	return init_check_monitor(run, err);
}

/* ---- after the fork ------------------------------------------------------- */

/*
 * SIGKILL to every child, which no one but us can wait for, so that a number
 * is never another process's.  False: there is none.
 */
static bool init_kill_children(struct init *init)
{
	char numbers[4096];
	char *at = numbers;
	ssize_t size;
	bool any = false;

	size = pread(init->run->children_fd, numbers, sizeof(numbers) - 1, 0);
	if (size <= 0)
		return false;
	numbers[size] = '\0';
	/* A number that the buffer cut has no blank behind it. */
	for (char *end; (end = strchr(at, ' ')); at = end + 1) {
		pid_t pid = (pid_t)strtol(at, NULL, 10);

		if (pid > 1)
			any |= kill(pid, SIGKILL) == 0;
	}
	return any;
}

/* The end of a run without a pid namespace: nothing may outlive it. */
static void init_end_orphans(struct init *init)
{
	while (init_kill_children(init)) {
		if (wait4(-1, NULL, __WALL, NULL) < 0 && errno == ECHILD)
			break;
		while (wait4(-1, NULL, __WALL | WNOHANG, NULL) > 0)
			;
	}
}

/*
 * It does not go on without a PID 1 that works: say why, and take everything
 * inside along.
 */
static _Noreturn void init_fail(struct init *init)
{
	struct message message = { .kind = MESSAGE_ERROR };
	struct error ignored;

	message.error = init->err;
	snprintf(message.error.stage, sizeof(message.error.stage), "init");
	if (init->is_profile && init->run->children_fd >= 0)
		init_end_orphans(init);
	if (init->socket >= 0)
		run_send(init->socket, &message, &ignored);
	_exit(ERROR_STATUS_LAUNCHER);
}

static _Noreturn void init_give_up(struct init *init, const char *what)
{
	error_set(&init->err, errno, "%s", what);
	init_fail(init);
}

static int status_of(int wait_status)
{
	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	return 128 + WTERMSIG(wait_status);
}

static void init_payload_ended(struct init *init, int wait_status,
			       const struct rusage *usage)
{
	struct message message = {
		.kind = MESSAGE_EXITED,
		.wait_status = wait_status,
		.usage = *usage,
	};

	init->payload = 0;
	init->exit_status = status_of(wait_status);
	if (init->is_profile && init->run->children_fd >= 0)
		init_end_orphans(init);
	if (init->socket >= 0)
		run_send(init->socket, &message, &init->err);
	if (init->is_profile)
		_exit(init->exit_status);
}

static void init_reap(struct init *init)
{
	for (;;) {
		struct rusage usage;
		int wait_status;
		pid_t pid = wait4(-1, &wait_status, __WALL | WNOHANG, &usage);

		if (pid == init->payload && pid > 0)
			init_payload_ended(init, wait_status, &usage);
		else if (pid < 0 && errno == ECHILD)
			_exit(init->exit_status);
		else if (pid < 0)
			init_give_up(init, "wait for what runs inside");
		else if (!pid)
			return;
	}
}

static void init_pass_signal(struct init *init, const struct message *message)
{
	pid_t target = init->payload;

	if (!target)
		return;
	if (message->to_group && getpgid(target) == target)
		target = -target;
	kill(target, message->signal);
	/* A stopped process takes it only when it goes on. */
	if (message->signal == SIGTERM)
		kill(target, SIGCONT);
}

static void init_read_socket(struct init *init)
{
	struct message message;
	int r = run_receive(init->socket, &message, NULL, &init->err);

	if (r > 0) {
		if (message.kind == MESSAGE_SIGNAL)
			init_pass_signal(init, &message);
		return;
	}
	if (run_dies_with_monitor(init->run)) {
		if (init->run->children_fd >= 0)
			init_end_orphans(init);
		_exit(ERROR_STATUS_LAUNCHER);
	}
	close(init->socket);
	init->socket = -EBADF;
}

/* Leave nothing here that the payload could use. */
static void init_strip(struct init *init, int procfs)
{
	const struct run *run = init->run;

	if (proc_close_fds(procfs, 0, run->init_fds.at, run->init_fds.count,
			   PROC_FDS_CLOSE, &init->err) < 0)
		init_fail(init);
}

void init_run(struct run *run, pid_t payload, int procfs)
{
	struct init init = {
		.run = run,
		.is_profile = run->plan->rules == PLAN_RULES_PROFILE,
		.payload = payload,
		.socket = run->child_socket,
		.exit_status = 1,
	};
	const struct timespec short_run = { .tv_nsec = 200000000 };
	sigset_t waiting;

	sigfillset(&waiting);
	sigdelset(&waiting, SIGCHLD);
	/* The payload has been asked for more; this alone has no memory. */
	if (run->oom_fd >= 0)
		proc_give_up_later(run->oom_fd, run->oom_before, &init.err);
	init_strip(&init, procfs);
	for (;;) {
		struct pollfd peer = { .fd = init.socket, .events = POLLIN };
		int count;

		init_reap(&init);
		count = ppoll(&peer, 1, &short_run, &waiting);
		/* It will be a longer run: stay small. */
		if (count == 0)
			count = proc_wait_small(&peer, 1, &waiting);
		if (count > 0)
			init_read_socket(&init);
		else if (count < 0 && errno != EINTR)
			init_give_up(&init, "wait for a message");
	}
}
