/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The launcher's own process while the sandbox runs: one poll(2) over
 *
 *   the child's pidfd    it has ended, and in a pid namespace everything else
 *                        (a signalfd for SIGCHLD where there is none)
 *   the socket           messages of child, payload and PID 1
 *   a signalfd           signals for the payload
 *   the caller's pidfd   the caller is gone
 *   a timerfd            the time-out
 *   the relay's pipes    see relay.c
 *
 * A run ends in one of these ways:
 *
 *   by itself        the payload ends, PID 1 says so and ends too
 *   time-out         TERM to the payload, after the grace SIGKILL
 *   TERM or HUP      passed on, and then as with a time-out.  INT and QUIT are
 *                    passed on and end nothing: a program at a prompt catches
 *                    them and goes on
 *   caller gone      SIGKILL at once
 *   set-up hangs     SIGKILL when nothing moves for ten seconds
 *
 * Under bubblewrap's rules the monitor is done as soon as the payload has
 * ended, whatever else goes on inside.  TERM, INT, HUP and QUIT are passed on;
 * the monitor then ends by that signal with the payload, at the latest after
 * half a second, and with --die-with-parent when everything inside is dead.
 */
#include "engine/commit.h"
#include "engine/diagnose.h"
#include "engine/monitor.h"
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

enum {
	/* Also how often to look after what tells of itself in no way. */
	SHORT_RUN_MS = 200,
	DRAIN_MS = 500, /* for a reader that does not read */
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

/* ---- what the watches bring ------------------------------------------------ */

static void monitor_on_message(struct monitor *monitor,
			       const struct message *message, pid_t sender)
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
		run->payload = sender;
		monitor->has_warning |=
			report_started(run, &monitor->warning) < 0;
		break;
	case MESSAGE_EXITED:
		monitor->payload_ended = true;
		monitor->wait_status = message->wait_status;
		monitor->usage = message->usage;
		ending_payload_ended(monitor);
		break;
	case MESSAGE_BORN:
	case MESSAGE_GO:
	case MESSAGE_SIGNAL:
	case MESSAGE_COUNT:
		break;
	}
}

static int monitor_on_socket(struct monitor *monitor, struct error *err)
{
	struct message message;
	pid_t sender;
	int r = run_receive(monitor->run->monitor_socket, &message, &sender,
			    err);

	/* End of file; or nonsense, and nothing more is believed. */
	if (r <= 0)
		monitor->watches[WATCH_SOCKET].fd = -EBADF;
	else
		monitor_on_message(monitor, &message, sender);
	return 0;
}

static int monitor_on_child(struct monitor *monitor, struct error *err)
{
	struct run *run = monitor->run;
	struct rusage usage;
	struct signalfd_siginfo info;
	int wait_status, r;

	/* However many of them it stands for */
	if (run->child_pidfd < 0 &&
	    read(monitor->watches[WATCH_CHILD].fd, &info, sizeof(info)) < 0 &&
	    errno != EAGAIN)
		return error_set(err, errno, "read signals");
	r = proc_child_wait(run->child_pidfd, run->child, false, &wait_status,
			    &usage, err);
	if (r == -EAGAIN)
		return 0;
	if (r < 0)
		return r;
	monitor->child_ended = true;
	monitor->is_over = true;
	monitor->watches[WATCH_CHILD].fd = -EBADF;
	/* What it said last is still there.  Others may hold the other end. */
	while (poll(&monitor->watches[WATCH_SOCKET], 1, 0) == 1)
		monitor_on_socket(monitor, err);
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

static void monitor_on_signal(struct monitor *monitor,
			      const struct forward *forward,
			      bool by_terminal)
{
	const struct plan *plan = monitor->run->plan;
	bool ends = monitor->is_profile ? forward->ends_profile :
					  forward->ends_bwrap;
	bool new_session = plan->security.tty == TTY_NONE ||
			   plan->bwrap.new_session;

	if (ends && !monitor->end_signal)
		monitor->end_signal = forward->signal;
	if (!monitor->is_released) {
		if (ends)
			ending_kill(monitor);
		return;
	}
	/*
	 * The terminal signals a whole process group; what is in the group
	 * has it already.
	 */
	if (!by_terminal || new_session)
		ending_signal(monitor, forward->signal, by_terminal);
	if (ends)
		ending_start_grace(monitor);
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
			monitor_on_signal(monitor, &forwards[i],
					  info.ssi_code == SI_KERNEL);
	return 0;
}

static int monitor_on_caller(struct monitor *monitor, struct error *err)
{
	(void)err;
	monitor->caller_gone = true;
	monitor->watches[WATCH_CALLER].fd = -EBADF;
	if (!ending_is_killing(monitor))
		ending_kill(monitor);
	return 0;
}

static int monitor_on_timer(struct monitor *monitor, struct error *err)
{
	(void)err;
	mem_close_fd(&monitor->watches[WATCH_TIMER].fd);
	monitor->timed_out = true;
	if (verdict_payload_ran(monitor)) {
		ending_signal(monitor, SIGTERM, false);
		ending_start_grace(monitor);
	} else if (!ending_is_killing(monitor)) {
		ending_kill(monitor);
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

/* Without a pidfd: SIGCHLD, which is blocked, tells of every child. */
static int monitor_open_child(struct monitor *monitor, struct error *err)
{
	int fd = monitor->run->child_pidfd;
	sigset_t wanted;

	if (fd < 0) {
		sigemptyset(&wanted);
		sigaddset(&wanted, SIGCHLD);
		fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
	}
	if (fd < 0)
		return error_set(err, errno, "signalfd");
	monitor->watches[WATCH_CHILD].fd = fd;
	return 0;
}

/* The time-out counts the time that the machine sleeps, too. */
static int monitor_start_timer(struct monitor *monitor, struct error *err)
{
	const struct plan_limit *limit =
		&monitor->run->plan->limits[LIMIT_TIMEOUT];
	struct itimerspec when = {
		.it_value.tv_sec = (time_t)(limit->value / 1000),
		.it_value.tv_nsec = (long)(limit->value % 1000) * 1000000,
	};
	int fd;

	if (!limit->is_set)
		return 0;
	fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
	if (fd < 0)
		return error_set(err, errno, "timerfd_create");
	monitor->watches[WATCH_TIMER].fd = fd;
	if (timerfd_settime(fd, 0, &when, NULL) < 0)
		return error_set(err, errno, "timerfd_settime");
	return 0;
}

/* Only what is used here: others wait for the end of what else is open. */
static int monitor_close_others(const struct run *run, struct error *err)
{
	LIST_OF(int) keep = { 0 };
	int group[RESOURCES_FDS_MOST];
	size_t group_count = resources_fds(run, group);
	int commit[COMMIT_FDS_MOST];
	size_t commit_count = commit_fds(run, commit);
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
	for (size_t i = 0; i < commit_count; i++)
		*arena_push(run->arena, &keep) = commit[i];
	for (size_t i = 0; i < run->leftovers.count; i++) {
		*arena_push(run->arena, &keep) =
			run->leftovers.at[i].parent_fd;
		*arena_push(run->arena, &keep) = run->leftovers.at[i].lock_fd;
	}
	return proc_close_fds(-EBADF, 3, keep.at, keep.count, PROC_FDS_CLOSE,
			      err);
}

static int monitor_start(struct monitor *monitor, struct error *err)
{
	struct run *run = monitor->run;
	int r;

	for (size_t i = 0; i < WATCH_COUNT; i++) {
		monitor->watches[i].fd = -EBADF;
		monitor->watches[i].events = POLLIN;
	}
	r = monitor_close_others(run, err);
	if (r < 0)
		return r;
	r = monitor_open_child(monitor, err);
	if (r < 0)
		return r;
	monitor->watches[WATCH_SOCKET].fd = run->monitor_socket;
	if (run_dies_with_monitor(run))
		monitor->watches[WATCH_CALLER].fd = run->caller_pidfd;
	r = monitor_open_signals(monitor, err);
	if (r < 0)
		return r;
	r = monitor_start_timer(monitor, err);
	if (r < 0)
		return r;
	if (janitor_watch(run, err) < 0 || report_bwrap_child(run, err) < 0)
		return error_result(err);
	if (run->plan->bwrap.userns_block_fd < 0)
		return monitor_release(monitor, err);
	monitor->watches[WATCH_HOLD].fd = run->plan->bwrap.userns_block_fd;
	return 0;
}

/* Nobody but the child itself and the kernel holds up the set-up. */
static bool monitor_expects_progress(const struct monitor *monitor)
{
	const struct plan *plan = monitor->run->plan;
	size_t op = monitor->run->progress->op;

	/* The caller may take its time to write what is read. */
	if (op < plan->ops.count && plan->ops.at[op].fd >= 0)
		return false;
	return !verdict_payload_ran(monitor) && monitor->is_released &&
	       !ending_is_killing(monitor) && plan->bwrap.block_fd < 0;
}

static bool monitor_asks_for_parent(const struct monitor *monitor)
{
	const struct run *run = monitor->run;

	return run->caller && run->caller_pidfd < 0 &&
	       !monitor->caller_gone && run_dies_with_monitor(run);
}

/* Nothing has come for a moment; does the set-up at least get on? */
static void monitor_check_progress(struct monitor *monitor)
{
	const struct progress *now = monitor->run->progress;
	struct progress *last = &monitor->progress;

	if (now->stage != last->stage || now->op != last->op) {
		monitor->idle_ticks = 0;
		last->stage = now->stage;
		last->op = now->op;
	} else if (++monitor->idle_ticks * SHORT_RUN_MS >=
		   SETUP_IDLE_S * 1000) {
		monitor->setup_hung = true;
		ending_kill(monitor);
	}
}

/* poll(2) has waited in vain. */
static int monitor_on_idle(struct monitor *monitor, struct error *err)
{
	ending_check(monitor);
	if (monitor->is_over)
		return 0;
	if (monitor_asks_for_parent(monitor) &&
	    getppid() != monitor->run->caller)
		return monitor_on_caller(monitor, err);
	if (monitor_expects_progress(monitor)) {
		monitor_check_progress(monitor);
	} else {
		monitor->is_long = true;
	}
	return 0;
}

static int monitor_wait(struct monitor *monitor)
{
	int wait_ms = ending_wait_ms(monitor);

	if (wait_ms < 0 && monitor->is_long &&
	    !monitor_asks_for_parent(monitor))
		return proc_wait_small(monitor->watches, WATCH_COUNT, NULL);
	return poll(monitor->watches, WATCH_COUNT,
		    wait_ms < 0 ? SHORT_RUN_MS : wait_ms);
}

static int monitor_handle(struct monitor *monitor, struct error *err)
{
	monitor->is_long = false;
	relay_move(monitor->run->relay, &monitor->watches[WATCH_RELAY]);
	for (int i = 0; i < WATCH_RELAY; i++) {
		int r;

		if (monitor->is_over || !monitor->watches[i].revents)
			continue;
		r = handlers[i](monitor, err);
		if (r < 0)
			return r;
	}
	/* What goes on must not put off what is due. */
	if (!monitor->is_over)
		ending_check(monitor);
	return 0;
}

static int monitor_loop(struct monitor *monitor, struct error *err)
{
	while (!monitor->is_over) {
		int count, r = 0;

		relay_watch(monitor->run->relay,
			    &monitor->watches[WATCH_RELAY]);
		count = monitor_wait(monitor);
		if (count < 0 && errno != EINTR)
			return error_set(err, errno, "poll");
		if (count >= 0)
			r = count ? monitor_handle(monitor, err) :
				    monitor_on_idle(monitor, err);
		if (r < 0)
			return r;
	}
	return 0;
}

bool monitor_is_told_to_stop(struct monitor *monitor)
{
	struct signalfd_siginfo info;

	while (read(monitor->watches[WATCH_SIGNALS].fd, &info,
		    sizeof(info)) == sizeof(info))
		for (size_t i = 0; i < ARRAY_SIZE(forwards); i++)
			if ((int)info.ssi_signo == forwards[i].signal &&
			    forwards[i].ends_bwrap && !monitor->stop_signal)
				monitor->stop_signal = forwards[i].signal;
	return monitor->stop_signal;
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
		ending_abandon(&monitor);
	else
		monitor_drain(&monitor);
	monitor.has_warning |= relay_finish(run, &monitor.warning) < 0;
	if (run->has_cgroup)
		cgroup_usage(&run->cgroup, &run->group_usage);
	if (r >= 0)
		r = verdict_find(&monitor, &outcome, err);
	if (r >= 0)
		r = landing_finish(&monitor, &outcome, err);
	monitor.has_warning |= janitor_finish(run, &monitor.warning) < 0;
	if (r < 0)
		diagnose(run, err);
	verdict_report(&monitor, r < 0 ? err : NULL, outcome.status);
	mem_close_fd(&monitor.watches[WATCH_SIGNALS].fd);
	mem_close_fd(&monitor.watches[WATCH_TIMER].fd);
	if (r < 0)
		return r;
	outcome.has_warning = monitor.has_warning;
	outcome.warning = monitor.warning;
	*ret_outcome = outcome;
	return 0;
}
