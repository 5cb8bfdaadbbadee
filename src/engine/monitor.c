/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The launcher's own process while the sandbox runs: one poll(2) over
 *
 *   the child's pidfd    it has ended, and in a pid namespace everything else
 *   the socket           messages of child, payload and PID 1
 *   a signalfd           signals for the payload
 *   the caller's pidfd   the caller is gone
 *   a timerfd            time-out, grace, and how long dying may take
 *
 * A run ends in one of these ways:
 *
 *   by itself        the payload ends, PID 1 says so and ends too
 *   time-out         TERM to the payload, after the grace SIGKILL of PID 1
 *   TERM or HUP      passed on, and then as with a time-out.  INT and QUIT are
 *                    passed on and end nothing: a program at a prompt catches
 *                    them and goes on
 *   caller gone      SIGKILL of PID 1
 *   set-up hangs     SIGKILL of PID 1 when nothing moves for ten seconds
 *
 * What SIGKILL does not end within ten seconds sleeps in the kernel and is
 * reported; waiting longer would hang the caller too.
 *
 * Under bubblewrap's rules the monitor is done as soon as the payload has
 * ended, whatever else goes on inside.  TERM, INT, HUP and QUIT are passed on;
 * the monitor then ends by that signal with the payload, at the latest after
 * half a second, and with --die-with-parent when everything inside is dead.
 */
#include "engine/child.h"
#include "engine/relay.h"
#include "engine/report.h"

#include "sys/proc.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS UINT64_C(1000000)

enum {
	SHORT_RUN_MS = 200, /* a longer one is worth to be small for */
	SETUP_IDLE_MS = 10000,
	DYING_MS = 10000,
	REAPER_KILL_MS = 1000, /* until the reaper itself is killed */
	GRACE_DEFAULT_MS = 2000,
	BWRAP_GRACE_MS = 500,
	PARENT_POLL_MS = 100,
	DRAIN_MS = 500,
};

/* What the timer is waiting for; one at a time, later ones replace. */
enum deadline {
	DEADLINE_NONE,
	DEADLINE_TIMEOUT, /* end of the time the run may take */
	DEADLINE_GRACE,   /* then SIGKILL */
	DEADLINE_REAPER,  /* then SIGKILL of the reaper, no pid namespace */
	DEADLINE_DYING,   /* then give up */
	DEADLINE_COUNT
};

enum watch {
	WATCH_CHILD, WATCH_SOCKET, WATCH_SIGNALS, WATCH_CALLER, WATCH_TIMER,
	WATCH_HOLD, /* --userns-block-fd, until the child may go on */
	WATCH_RELAY,
	WATCH_COUNT = WATCH_RELAY + RELAY_STREAMS
};

struct monitor {
	struct run *run;
	bool is_profile;
	bool has_init;
	bool is_released;         /* the child is past waiting for us */
	bool is_over;

	struct pollfd watches[WATCH_COUNT];
	enum deadline deadline;
	uint64_t deadline_at;     /* CLOCK_BOOTTIME, nanoseconds */
	struct progress progress; /* of the set-up, when last looked at */

	/* what has happened */
	bool was_told_to_end;  /* time-out or an ending signal was passed on */
	bool timed_out, caller_gone, setup_hung, unkillable;
	int end_signal;        /* the first that asked for the end */
	bool has_warning;      /* with @warning */
	bool started;          /* MESSAGE_PAYLOAD has come */
	bool failed;           /* @error has come */
	bool payload_ended;    /* with @wait_status */
	bool child_ended;
	int wait_status;
	struct rusage usage;
	struct error error;
	struct error warning;
	bool is_patient;      /* nothing has come for a while */
};

/* Signals that are passed on. */
static const struct forward {
	int signal;
	bool ends_profile; /* starts the grace */
	bool ends_bwrap;   /* the monitor ends by it */
} forwards[] = {
	{ SIGTERM, true, true },
	{ SIGHUP, true, true },
	{ SIGINT, false, true },
	{ SIGQUIT, false, true },
	{ SIGUSR1, false, false },
	{ SIGUSR2, false, false },
	{ SIGCONT, false, false },
	{ SIGWINCH, false, false },
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* ---- time ----------------------------------------------------------------- */

static int monitor_arm(struct monitor *monitor, enum deadline deadline,
		       uint64_t at, struct error *err)
{
	struct itimerspec when = {
		.it_value.tv_sec = (time_t)(at / 1000000000U),
		.it_value.tv_nsec = (long)(at % 1000000000U),
	};
	struct pollfd *watch = &monitor->watches[WATCH_TIMER];

	if (watch->fd < 0) {
		watch->fd = timerfd_create(CLOCK_BOOTTIME,
					   TFD_CLOEXEC | TFD_NONBLOCK);
		if (watch->fd < 0)
			return error_set(err, errno, "timerfd_create");
	}
	if (timerfd_settime(watch->fd, TFD_TIMER_ABSTIME, &when, NULL) < 0)
		return error_set(err, errno, "timerfd_settime");
	monitor->deadline = deadline;
	monitor->deadline_at = at;
	return 0;
}

static int monitor_arm_in(struct monitor *monitor, enum deadline deadline,
			  uint64_t ms, struct error *err)
{
	uint64_t now = now_ns();

	if (ms > (INT64_MAX - now) / NS_PER_MS)
		return 0; /* in some centuries */
	return monitor_arm(monitor, deadline, now + ms * NS_PER_MS, err);
}

static uint64_t monitor_grace_ms(const struct monitor *monitor)
{
	const struct plan_limit *grace =
		&monitor->run->plan->limits[LIMIT_GRACE];

	return grace->is_set ? grace->value : GRACE_DEFAULT_MS;
}

/* ---- acting on what is inside ---------------------------------------------- */

/*
 * Errors do not matter here: what cannot be reached is about to be gone, and
 * otherwise a deadline comes next.
 */
static void monitor_send_signal(struct monitor *monitor, int signal,
				bool to_group)
{
	const struct message message = {
		.kind = MESSAGE_SIGNAL,
		.signal = signal,
		.to_group = to_group,
	};
	struct error ignored;

	if (monitor->has_init)
		run_send(monitor->run->monitor_socket, &message, &ignored);
	else
		proc_pidfd_signal(monitor->run->child_pidfd, signal, &ignored);
}

/* SIGKILL to everything; only the child's end is still to come. */
static int monitor_kill(struct monitor *monitor, struct error *err)
{
	struct error ignored;

	/*
	 * A reaper without a pid namespace has to kill the others before it
	 * goes; it may be unable to.
	 */
	if (monitor->has_init && !run_has_pid_namespace(monitor->run) &&
	    monitor->deadline != DEADLINE_REAPER) {
		monitor_send_signal(monitor, SIGKILL, false);
		return monitor_arm_in(monitor, DEADLINE_REAPER,
				      REAPER_KILL_MS, err);
	}
	proc_pidfd_signal(monitor->run->child_pidfd, SIGKILL, &ignored);
	return monitor_arm_in(monitor, DEADLINE_DYING, DYING_MS, err);
}

static bool monitor_is_killing(const struct monitor *monitor)
{
	return monitor->deadline == DEADLINE_REAPER ||
	       monitor->deadline == DEADLINE_DYING;
}

/*
 * The payload has been told to end: SIGKILL when the grace is over.  Being
 * told again shortens what is left to a tenth.
 */
static int monitor_start_grace(struct monitor *monitor, uint64_t ms,
			       struct error *err)
{
	bool again = monitor->was_told_to_end;
	uint64_t at;

	if (monitor_is_killing(monitor))
		return 0;
	monitor->was_told_to_end = true;
	if (!again)
		return monitor_arm_in(monitor, DEADLINE_GRACE, ms, err);
	at = now_ns() + ms * NS_PER_MS / 10;
	if (at >= monitor->deadline_at)
		return 0;
	return monitor_arm(monitor, DEADLINE_GRACE, at, err);
}

/* ---- what the watches bring ------------------------------------------------ */

/* The payload has ended; what else is inside? */
static int monitor_on_end(struct monitor *monitor, struct error *err)
{
	if (monitor_is_killing(monitor))
		return 0;
	/* PID 1 is on its way out and takes the others along. */
	if (monitor->is_profile)
		return monitor_arm_in(monitor, DEADLINE_DYING, DYING_MS, err);
	if (monitor->timed_out ||
	    (monitor->end_signal &&
	     monitor->run->plan->bwrap.die_with_parent))
		return monitor_kill(monitor, err);
	monitor->is_over = true;
	return 0;
}

static int monitor_on_message(struct monitor *monitor,
			      const struct message *message, pid_t sender,
			      struct error *err)
{
	struct run *run = monitor->run;

	switch (message->kind) {
	case MESSAGE_ERROR:
		monitor->failed = true;
		monitor->error = message->error;
		break;
	case MESSAGE_SKIPPED:
		if (message->index < run->plan->ops.count)
			*arena_push(run->arena, &run->skipped) =
				message->index;
		break;
	case MESSAGE_PAYLOAD:
		monitor->started = true;
		run->payload = sender;
		monitor->has_warning |=
			report_started(run, &monitor->warning) < 0;
		break;
	case MESSAGE_EXITED:
		monitor->payload_ended = true;
		monitor->wait_status = message->wait_status;
		monitor->usage = message->usage;
		return monitor_on_end(monitor, err);
	case MESSAGE_BORN:
	case MESSAGE_GO:
	case MESSAGE_SIGNAL:
	case MESSAGE_COUNT:
		break;
	}
	return 0;
}

/* Returns 1 while there may be more. */
static int monitor_receive(struct monitor *monitor, struct error *err)
{
	struct message message;
	pid_t sender;
	int r = run_receive(monitor->run->monitor_socket, &message, &sender,
			    err);

	if (r <= 0) {
		/* End of file; or nonsense, and nothing more is believed. */
		monitor->watches[WATCH_SOCKET].fd = -EBADF;
		return 0;
	}
	r = monitor_on_message(monitor, &message, sender, err);
	return r < 0 ? r : 1;
}

static int monitor_on_socket(struct monitor *monitor, struct error *err)
{
	int r = monitor_receive(monitor, err);

	return r < 0 ? r : 0;
}

static int monitor_on_child(struct monitor *monitor, struct error *err)
{
	struct run *run = monitor->run;
	struct rusage usage;
	int wait_status, r;

	r = proc_pidfd_wait(run->child_pidfd, false, &wait_status, &usage,
			    err);
	if (r == -EAGAIN)
		return 0;
	if (r < 0)
		return r;
	monitor->child_ended = true;
	monitor->is_over = true;
	monitor->watches[WATCH_CHILD].fd = -EBADF;
	/* What it said last is still in the socket. */
	while (monitor->watches[WATCH_SOCKET].fd >= 0) {
		r = monitor_receive(monitor, err);
		if (r < 0)
			return r;
	}
	if (!monitor->payload_ended) {
		monitor->wait_status = wait_status;
		monitor->usage = usage;
	}
	/* All that ran inside, not only what the payload waited for. */
	if (run_has_pid_namespace(run)) {
		monitor->usage.ru_utime = usage.ru_utime;
		monitor->usage.ru_stime = usage.ru_stime;
	}
	return 0;
}

static int monitor_on_signal(struct monitor *monitor,
			     const struct forward *forward, bool by_terminal,
			     struct error *err)
{
	const struct plan *plan = monitor->run->plan;
	bool ends = monitor->is_profile ? forward->ends_profile :
					  forward->ends_bwrap;
	bool new_session = plan->security.tty == TTY_NONE ||
			   plan->bwrap.new_session;

	if (ends && !monitor->end_signal)
		monitor->end_signal = forward->signal;
	if (!monitor->is_released)
		return ends ? monitor_kill(monitor, err) : 0;
	/*
	 * The terminal signals a whole process group; what is in the group
	 * has it already.
	 */
	if (!by_terminal || new_session)
		monitor_send_signal(monitor, forward->signal, by_terminal);
	if (!ends)
		return 0;
	return monitor_start_grace(monitor, monitor->is_profile ?
				   monitor_grace_ms(monitor) : BWRAP_GRACE_MS,
				   err);
}

static int monitor_on_signals(struct monitor *monitor, struct error *err)
{
	struct signalfd_siginfo info;
	ssize_t size = read(monitor->watches[WATCH_SIGNALS].fd, &info,
			    sizeof(info));

	if (size != sizeof(info))
		return size < 0 && errno != EAGAIN ?
			error_set(err, errno, "read signals") : 0;
	for (size_t i = 0; i < ARRAY_SIZE(forwards); i++)
		if ((int)info.ssi_signo == forwards[i].signal)
			return monitor_on_signal(monitor, &forwards[i],
						 info.ssi_code == SI_KERNEL,
						 err);
	return 0;
}

static int monitor_on_caller(struct monitor *monitor, struct error *err)
{
	monitor->caller_gone = true;
	monitor->watches[WATCH_CALLER].fd = -EBADF;
	return monitor_is_killing(monitor) ? 0 : monitor_kill(monitor, err);
}

static int monitor_on_timeout(struct monitor *monitor, struct error *err)
{
	monitor->timed_out = true;
	if (!monitor->started)
		return monitor_kill(monitor, err);
	monitor_send_signal(monitor, SIGTERM, false);
	return monitor_start_grace(monitor, monitor_grace_ms(monitor), err);
}

static int monitor_on_timer(struct monitor *monitor, struct error *err)
{
	uint64_t expirations;

	/* Not yet: the timer has been set anew since poll(2). */
	if (read(monitor->watches[WATCH_TIMER].fd, &expirations,
		 sizeof(expirations)) < 0)
		return 0;
	switch (monitor->deadline) {
	case DEADLINE_TIMEOUT:
		return monitor_on_timeout(monitor, err);
	case DEADLINE_GRACE:
		if (!monitor->is_profile && !monitor->timed_out &&
		    !monitor->run->plan->bwrap.die_with_parent) {
			monitor->is_over = true;
			return 0;
		}
		return monitor_kill(monitor, err);
	case DEADLINE_REAPER:
		return monitor_kill(monitor, err);
	case DEADLINE_DYING:
		monitor->unkillable = true;
		monitor->is_over = true;
		return 0;
	case DEADLINE_NONE:
	case DEADLINE_COUNT:
		break;
	}
	return 0;
}

static int monitor_release(struct monitor *monitor, struct error *err)
{
	const struct message go = { .kind = MESSAGE_GO };
	int r;

	monitor->is_released = true;
	if (!monitor->run->child_waits)
		return 0;
	r = run_send(monitor->run->monitor_socket, &go, err);
	/* Gone already: its own message says why. */
	return r == -EPIPE ? 0 : r;
}

/* --userns-block-fd: a byte, or the end of the file. */
static int monitor_on_hold(struct monitor *monitor, struct error *err)
{
	struct pollfd *watch = &monitor->watches[WATCH_HOLD];
	char byte;

	if (read(watch->fd, &byte, 1) < 0 && errno == EINTR)
		return 0;
	close(watch->fd);
	watch->fd = -EBADF;
	return monitor_release(monitor, err);
}

static int (*const handlers[])(struct monitor *monitor, struct error *err) = {
	[WATCH_SOCKET] = monitor_on_socket,
	[WATCH_CHILD] = monitor_on_child,
	[WATCH_SIGNALS] = monitor_on_signals,
	[WATCH_CALLER] = monitor_on_caller,
	[WATCH_TIMER] = monitor_on_timer,
	[WATCH_HOLD] = monitor_on_hold,
};
static_assert(ARRAY_SIZE(handlers) == WATCH_RELAY, "a handler a watch");

/* ---- the loop --------------------------------------------------------------- */

static int monitor_open_signals(struct monitor *monitor, struct error *err)
{
	const sigset_t *ignored = &monitor->run->caller_ignored;
	sigset_t wanted;
	int fd;

	sigemptyset(&wanted);
	for (size_t i = 0; i < ARRAY_SIZE(forwards); i++) {
		int number = forwards[i].signal;

		/*
		 * What the caller ignores stays ignored in its own language.
		 * A profile honours nohup(1) only: shells start background
		 * jobs with INT and QUIT ignored, which nobody means.
		 */
		if (sigismember(ignored, number) == 1 &&
		    (!monitor->is_profile || number == SIGHUP))
			continue;
		sigaddset(&wanted, number);
	}
	fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return error_set(err, errno, "signalfd");
	monitor->watches[WATCH_SIGNALS].fd = fd;
	return 0;
}

/* Only what is used here: others wait for the end of what else is open. */
static int monitor_close_others(const struct run *run, struct error *err)
{
	LIST_OF(int) keep = { 0 };
	int group[RESOURCES_FDS_MOST];
	size_t group_count = resources_fds(run, group);
	const int own[] = {
		run->monitor_socket, run->child_pidfd, run->caller_pidfd,
		run->options->log_fd, run->plan->bwrap.userns_block_fd,
		run->janitor_socket, run->janitor_pidfd,
	};

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		*arena_push(run->arena, &keep) = own[i];
	for (size_t i = 0; i < run->monitor_fds.count; i++)
		*arena_push(run->arena, &keep) = run->monitor_fds.at[i];
	for (size_t i = 0; i < group_count; i++)
		*arena_push(run->arena, &keep) = group[i];
	for (size_t i = 0; i < run->locks.count; i++)
		*arena_push(run->arena, &keep) = run->locks.at[i];
	for (size_t i = 0; i < run->leftovers.count; i++)
		*arena_push(run->arena, &keep) =
			run->leftovers.at[i].parent_fd;
	return proc_close_fds(3, keep.at, keep.count, PROC_FDS_CLOSE, err);
}

static int monitor_start(struct monitor *monitor, struct error *err)
{
	struct run *run = monitor->run;
	const struct plan_limit *timeout = &run->plan->limits[LIMIT_TIMEOUT];
	int r;

	for (size_t i = 0; i < WATCH_COUNT; i++) {
		monitor->watches[i].fd = -EBADF;
		monitor->watches[i].events = POLLIN;
	}
	r = monitor_close_others(run, err);
	if (r < 0)
		return r;
	monitor->watches[WATCH_CHILD].fd = run->child_pidfd;
	monitor->watches[WATCH_SOCKET].fd = run->monitor_socket;
	if (run_dies_with_monitor(run))
		monitor->watches[WATCH_CALLER].fd = run->caller_pidfd;
	r = monitor_open_signals(monitor, err);
	if (r < 0)
		return r;
	if (timeout->is_set) {
		r = monitor_arm_in(monitor, DEADLINE_TIMEOUT, timeout->value,
				   err);
		if (r < 0)
			return r;
	}
	if (janitor_watch(run, err) < 0 || report_bwrap_child(run, err) < 0)
		return error_result(err);
	if (run->plan->bwrap.userns_block_fd < 0)
		return monitor_release(monitor, err);
	monitor->watches[WATCH_HOLD].fd = run->plan->bwrap.userns_block_fd;
	return 0;
}

/* Nobody but the child itself holds up the set-up. */
static bool monitor_expects_progress(const struct monitor *monitor)
{
	return !monitor->started && monitor->run->progress &&
	       monitor->is_released && !monitor_is_killing(monitor) &&
	       monitor->run->plan->bwrap.block_fd < 0;
}

static bool monitor_asks_for_parent(const struct monitor *monitor)
{
	const struct run *run = monitor->run;

	return run->caller && run->caller_pidfd < 0 &&
	       !monitor->caller_gone && run_dies_with_monitor(run);
}

/* poll(2) has waited in vain. */
static int monitor_on_idle(struct monitor *monitor, struct error *err)
{
	const struct progress *now = monitor->run->progress;
	struct progress *last = &monitor->progress;

	if (monitor_asks_for_parent(monitor))
		return getppid() != monitor->run->caller ?
			monitor_on_caller(monitor, err) : 0;
	if (!monitor_expects_progress(monitor)) {
		/* It will be a longer run: stay small. */
		proc_release_image();
		monitor->is_patient = true;
		return 0;
	}
	if (now->stage == last->stage && now->op == last->op) {
		monitor->setup_hung = true;
		return monitor_kill(monitor, err);
	}
	last->stage = now->stage;
	last->op = now->op;
	return 0;
}

static int monitor_loop(struct monitor *monitor, struct error *err)
{
	struct pollfd *relays = &monitor->watches[WATCH_RELAY];

	while (!monitor->is_over) {
		int wait_ms = -1;
		int count, r;

		if (monitor_asks_for_parent(monitor))
			wait_ms = PARENT_POLL_MS;
		else if (monitor_expects_progress(monitor))
			wait_ms = SETUP_IDLE_MS;
		else if (!monitor->is_patient)
			wait_ms = SHORT_RUN_MS;
		relay_watch(monitor->run->relay, relays);
		count = poll(monitor->watches, WATCH_COUNT, wait_ms);
		if (count < 0 && errno != EINTR)
			return error_set(err, errno, "poll");
		r = count == 0 ? monitor_on_idle(monitor, err) : 0;
		if (count > 0)
			relay_move(monitor->run->relay, relays);
		for (int i = 0; r >= 0 && count > 0 && i < WATCH_RELAY; i++)
			if (!monitor->is_over && monitor->watches[i].revents)
				r = handlers[i](monitor, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Has somebody asked for the end once more? */
static bool monitor_is_told_to_stop(struct monitor *monitor)
{
	struct signalfd_siginfo info;

	while (read(monitor->watches[WATCH_SIGNALS].fd, &info,
		    sizeof(info)) == sizeof(info))
		for (size_t i = 0; i < ARRAY_SIZE(forwards); i++)
			if ((int)info.ssi_signo == forwards[i].signal &&
			    forwards[i].ends_bwrap)
				return true;
	return false;
}

/*
 * The payload has ended; pass on what it wrote before, at the reader's speed.
 * Who wanted the run to end does not want to wait for that.
 */
static void monitor_drain(struct monitor *monitor)
{
	struct pollfd *watches = monitor->watches;
	int wait_ms = monitor->end_signal || monitor->timed_out ||
		      monitor->caller_gone ? DRAIN_MS : -1;

	mem_close_fd(&watches[WATCH_TIMER].fd);
	watches[WATCH_CHILD].fd = watches[WATCH_SOCKET].fd = -EBADF;
	watches[WATCH_HOLD].fd = -EBADF;
	while (relay_ending(monitor->run->relay)) {
		relay_watch(monitor->run->relay, &watches[WATCH_RELAY]);
		if (poll(watches, WATCH_COUNT, wait_ms) == 0 ||
		    watches[WATCH_CALLER].revents ||
		    monitor_is_told_to_stop(monitor))
			break;
	}
}

/* ---- the end ------------------------------------------------------------------ */

/* The monitor itself cannot go on: nothing may go on without it. */
static void monitor_abandon(struct monitor *monitor)
{
	struct pollfd end = {
		.fd = monitor->run->child_pidfd,
		.events = POLLIN,
	};
	struct error ignored;

	if (monitor->child_ended)
		return;
	proc_pidfd_signal(end.fd, SIGKILL, &ignored);
	poll(&end, 1, DYING_MS);
}

static int monitor_status_of(int wait_status)
{
	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	return 128 + WTERMSIG(wait_status);
}

static int monitor_fail_setup(const struct monitor *monitor,
			      struct error *err)
{
	if (monitor->setup_hung) {
		error_set(err, ETIMEDOUT, "set-up of the sandbox makes no "
			  "progress for %d s", SETUP_IDLE_MS / 1000);
		error_reason(err, "setup-timeout");
	} else if (WIFSIGNALED(monitor->wait_status)) {
		error_set(err, 0, "set-up of the sandbox was killed by "
			  "signal %d (%s)", WTERMSIG(monitor->wait_status),
			  strsignal(WTERMSIG(monitor->wait_status)));
		error_reason(err, "setup-killed");
	} else {
		error_set(err, 0, "set-up of the sandbox ended without "
			  "a word, with status %d",
			  WEXITSTATUS(monitor->wait_status));
		error_reason(err, "setup-died");
	}
	return error_result(err);
}

static int monitor_outcome(const struct monitor *monitor,
			   struct engine_outcome *ret_outcome,
			   struct error *err)
{
	int status;

	if (monitor->failed) {
		*err = monitor->error;
		return error_result(err);
	}
	if (monitor->unkillable) {
		error_set(err, 0, "what runs inside cannot be killed: it "
			  "sleeps in the kernel, most likely for a disk or "
			  "a network file system");
		error_reason(err, "unkillable");
		return error_result(err);
	}
	if (monitor->timed_out)
		status = ERROR_STATUS_TIMEOUT;
	else if (monitor->caller_gone)
		status = 128 + SIGKILL;
	else if (monitor->end_signal && !monitor->is_profile)
		status = 128 + monitor->end_signal;
	else if (monitor->started || monitor->payload_ended)
		status = monitor_status_of(monitor->wait_status);
	else if (monitor->end_signal)
		status = 128 + monitor->end_signal;
	else
		return monitor_fail_setup(monitor, err);
	ret_outcome->status = status;
	if (!monitor->is_profile && !monitor->timed_out)
		ret_outcome->end_by_signal = monitor->end_signal;
	return 0;
}

static void monitor_report(struct monitor *monitor, const struct error *cause,
			   int status)
{
	const struct report_end end = {
		.error = cause,
		.status = cause ? report_exit_status(monitor->run, cause) :
				  status,
		.ran = monitor->started || monitor->payload_ended,
		.wait_status = monitor->wait_status,
		.usage = monitor->usage,
		.timed_out = monitor->timed_out,
		.caller_gone = monitor->caller_gone,
	};

	monitor->has_warning |=
		report_ended(monitor->run, &end, &monitor->warning) < 0;
}

int monitor_run(struct run *run, struct engine_outcome *ret_outcome,
		struct error *err)
{
	struct monitor monitor = {
		.run = run,
		.is_profile = run->plan->rules == PLAN_RULES_PROFILE,
		.has_init = run_has_init(run),
	};
	struct engine_outcome outcome = { 0 };
	int r;

	r = monitor_start(&monitor, err);
	if (r >= 0)
		r = monitor_loop(&monitor, err);
	if (r < 0)
		monitor_abandon(&monitor);
	else
		monitor_drain(&monitor);
	monitor.has_warning |= relay_finish(run, &monitor.warning) < 0;
	if (r >= 0)
		r = monitor_outcome(&monitor, &outcome, err);
	monitor.has_warning |= janitor_finish(run, &monitor.warning) < 0;
	monitor_report(&monitor, r < 0 ? err : NULL, outcome.status);
	mem_close_fd(&monitor.watches[WATCH_SIGNALS].fd);
	mem_close_fd(&monitor.watches[WATCH_TIMER].fd);
	if (r < 0)
		return r;
	outcome.has_warning = monitor.has_warning;
	outcome.warning = monitor.warning;
	*ret_outcome = outcome;
	return 0;
}
