/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The run is over: what becomes of the changes that it made in an overlay.
 *
 * They are listed, copied out, and made in the lower layer, in this order,
 * the last two only when the payload succeeded.  A signal that asks for the
 * end and the caller's own end are heard while they are copied.  Before the
 * last the caller may want to look: it is told that the changes are there, and
 * answers with a byte (`commit-fd`).  The end of the file, a signal that asks
 * for the end and the caller's own end are a no.
 */
#include "engine/monitor.h"

#include "engine/changes.h"
#include "engine/commit.h"
#include "engine/report.h"
#include "engine/results.h"

#include <poll.h>
#include <signal.h>

enum { PARENT_MS = 200 };

static bool caller_is_gone(const struct monitor *monitor)
{
	const struct run *run = monitor->run;

	return run->caller && run->caller_pidfd < 0 &&
	       getppid() != run->caller;
}

static bool caller_agrees(struct monitor *monitor)
{
	struct pollfd watches[] = {
		{ .fd = monitor->run->plan->workspace.commit_fd,
		  .events = POLLIN },
		monitor->watches[WATCH_SIGNALS],
		monitor->watches[WATCH_CALLER],
	};
	char byte;

	if (watches[0].fd < 0)
		return true;
	for (;;) {
		int count = poll(watches, ARRAY_SIZE(watches), PARENT_MS);

		if (count < 0 && errno != EINTR)
			return false;
		if (count > 0 && watches[0].revents)
			return read(watches[0].fd, &byte, 1) == 1;
		if ((count > 0 && watches[2].revents) ||
		    monitor_is_told_to_stop(monitor) ||
		    caller_is_gone(monitor))
			return false;
	}
}

static int commit(struct monitor *monitor, struct error *err)
{
	struct run *run = monitor->run;
	size_t counts[CHANGE_COUNT];
	int r = results_count(run, counts, err);

	if (r < 0)
		return r;
	monitor->has_warning |=
		report_changes(run, counts, &monitor->warning) < 0;
	return caller_agrees(monitor) ? results_commit(run, err) : 0;
}

static bool is_unwanted(void *data)
{
	struct monitor *monitor = data;
	struct pollfd *caller = &monitor->watches[WATCH_CALLER];

	if (poll(caller, 1, 0) == 1 || caller_is_gone(monitor))
		monitor->caller_gone = true;
	return monitor->caller_gone || monitor_is_told_to_stop(monitor);
}

/*
 * A payload that failed keeps its status; one that succeeded did not, if what
 * it made is lost.
 */
int landing_finish(struct monitor *monitor, struct engine_outcome *outcome,
		   struct error *err)
{
	const struct copy_question question = { is_unwanted, monitor };
	bool succeeded = !outcome->status && verdict_payload_ran(monitor) &&
			 !monitor->timed_out;
	struct run *run = monitor->run;
	struct error lost = { 0 };
	int r = results_finish(run, succeeded, &question, &lost);

	/* A file system may say so, too, which is a loss. */
	if (r == -ECANCELED && (monitor->caller_gone || monitor->stop_signal)) {
		outcome->status = 128 + (monitor->caller_gone ? SIGKILL :
					 monitor->stop_signal);
		return 0;
	}
	if (r >= 0 && succeeded && run->commit && !run->options->is_check)
		r = commit(monitor, &lost);
	if (r >= 0)
		return 0;
	if (!lost.reason[0])
		error_reason(&lost, "results");
	if (!outcome->status) {
		*err = lost;
		return error_result(err);
	}
	monitor->warning = lost;
	monitor->has_warning = true;
	return 0;
}
