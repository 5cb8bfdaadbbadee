/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the monitor knows of the run it watches.  Private to monitor.c (what
 * happens), ending.c (how a run is made to end) and verdict.c (what became of
 * it).
 */
#ifndef ENGINE_MONITOR_H
#define ENGINE_MONITOR_H

#include "engine/relay.h"

enum watch {
	WATCH_CHILD, WATCH_SOCKET, WATCH_SIGNALS, WATCH_CALLER,
	WATCH_TIMER, /* the time-out */
	WATCH_HOLD,  /* --userns-block-fd, until the child may go on */
	WATCH_RELAY,
	WATCH_COUNT = WATCH_RELAY + RELAY_STREAMS
};

/* What comes next if nothing else does. */
enum deadline {
	DEADLINE_NONE,
	DEADLINE_GRACE,  /* then SIGKILL */
	DEADLINE_REAPER, /* then SIGKILL of the reaper, no pid namespace */
	DEADLINE_DYING,  /* then give up */
	DEADLINE_COUNT
};

enum { SETUP_IDLE_S = 10 }; /* without progress the set-up hangs */

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
	unsigned idle_ticks;      /* how often it was the same */

	/* what has happened */
	bool was_told_to_end;  /* time-out or an ending signal was passed on */
	bool timed_out, caller_gone, setup_hung, unkillable;
	int end_signal;        /* the first that asked for the end */
	int stop_signal;       /* the same, when the payload had ended */
	bool failed;           /* @error has come */
	bool payload_ended;    /* with @wait_status */
	bool child_ended;
	bool has_warning;      /* with @warning */
	int wait_status;
	struct rusage usage;
	bool is_long;          /* nothing has come for a while */
	struct error error;
	struct error warning;
};

/* monitor.c: has somebody asked for the end since the payload's? */
bool monitor_is_told_to_stop(struct monitor *monitor);

/* ---- ending.c ------------------------------------------------------------- */

/* Milliseconds to the deadline, rounded up; -1: there is none. */
int ending_wait_ms(const struct monitor *monitor);
/* Do what is due, if it is. */
void ending_check(struct monitor *monitor);

/*
 * Send @signal to the payload.  It may not arrive: what cannot be reached is
 * about to be gone, and otherwise a deadline comes next.
 */
void ending_signal(struct monitor *monitor, int signal, bool to_group);
/*
 * The payload has been told to end: SIGKILL after the grace.  Being told again
 * shortens what is left to a tenth of it.
 */
void ending_start_grace(struct monitor *monitor);
/* SIGKILL to everything; only the child's end is still to come. */
void ending_kill(struct monitor *monitor);
bool ending_is_killing(const struct monitor *monitor);
/* The payload has ended; see to what else is inside. */
void ending_payload_ended(struct monitor *monitor);
/* The monitor cannot go on: nothing may go on without it. */
void ending_abandon(struct monitor *monitor);

/* ---- verdict.c ------------------------------------------------------------ */

/* It runs or ran, or is on its last steps to the exec. */
bool verdict_payload_ran(const struct monitor *monitor);
/* What the caller is told: 0 with *@ret_outcome, or negative with @err. */
int verdict_find(const struct monitor *monitor,
		 struct engine_outcome *ret_outcome, struct error *err);
/* Write the records; @cause NULL: the launch did not fail. */
void verdict_report(struct monitor *monitor, const struct error *cause,
		    int status);

/* ---- landing.c ------------------------------------------------------------ */

/* Everything inside is dead: what becomes of what it changed. */
int landing_finish(struct monitor *monitor, struct engine_outcome *outcome,
		   struct error *err);

#endif
