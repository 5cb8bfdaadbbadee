/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The records: JSON lines for the caller (status) and one line a launch for
 * whoever keeps books (audit).
 *
 * A line is built whole and written with one write(2).  On a regular file
 * opened with O_APPEND that makes lines of many writers follow each other
 * unbroken.  The one way to get a torn line is a disk that becomes full in
 * the middle; what was written is then cut off again, if it still is the end
 * of the file.
 *
 * Strings hold any bytes: text_add_json() makes valid JSON of them.
 */
#include "engine/report.h"

#include "engine/changes.h"
#include "engine/commit.h"

#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * What the lines of the status record have besides names; what a line of the
 * audit record may have for a message, every byte of it escaped.
 */
enum {
	ROOM_OF_STATUS = 4096,
	ROOM_OF_MESSAGE = sizeof(((struct error *)NULL)->text),
};

struct report {
	int status_fd, status_file, audit_file; /* -EBADF: none */
};

/* What holds a limit that is set, unless run->enforced knows better. */
static const char *const report_mechanisms[] = {
	[LIMIT_PROCESSES] = "rlimit",
	[LIMIT_OPEN_FILES] = "rlimit",
	[LIMIT_FILE_SIZE] = "rlimit",
	[LIMIT_CPU_TIME] = "rlimit",
	[LIMIT_ADDRESS_SPACE] = "rlimit",
	[LIMIT_STACK] = "rlimit",
	[LIMIT_CORE] = "rlimit",
	[LIMIT_MEMLOCK] = "rlimit",
	[LIMIT_MEMORY] = "none",
	[LIMIT_CPU] = "none",
	[LIMIT_TIMEOUT] = "launcher",
	[LIMIT_GRACE] = "launcher",
	[LIMIT_OUTPUT] = "launcher",
};
static_assert(ARRAY_SIZE(report_mechanisms) == LIMIT_COUNT,
	      "a mechanism for each limit");

static size_t report_audit_size(const struct run *run);

/* ---- files ---------------------------------------------------------------- */

int report_open_path(const char *path, int flags, mode_t mode)
{
	int fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC, mode);
	struct stat link;

	if (fd >= 0 || errno != ELOOP)
		return fd;
	if (lstat(path, &link) < 0)
		return -1;
	if (S_ISLNK(link.st_mode) && !link.st_uid)
		return open(path, flags | O_CLOEXEC, mode);
	errno = ELOOP;
	return -1;
}

static int report_open_file(const char *path, int flags, const char *what,
			    struct error *err)
{
	/* Not to wait for the reader of a FIFO, but later for room in it. */
	int fd = report_open_path(path, O_WRONLY | O_APPEND | O_CREAT |
				  O_NOCTTY | O_NONBLOCK | flags, 0600);

	if (fd >= 0 && fcntl(fd, F_SETFL, O_WRONLY | O_APPEND) == 0)
		return fd;
	error_set(err, errno, "%s '%s'", what, path);
	error_reason(err, "record");
	if (err->code == ELOOP)
		error_remedy(err, "a symbolic link that is not root's is not "
			     "followed: name the file itself");
	if (fd >= 0)
		close(fd);
	return error_result(err);
}

/* One of the caller's descriptors: ours alone from here on. */
static int report_take_fd(int fd, const char *what, struct error *err)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY)
		errno = EBADF;
	else if (flags >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0)
		return 0;
	error_set(err, errno, "%s %d to write to", what, fd);
	error_reason(err, "record");
	return error_result(err);
}

/*
 * Have room for a record of @size bytes, so that a full disk is told before
 * anything runs and not after.  Nobody else sees the blocks behind the end of
 * the file; what is not used is there for the next record.  Where nothing
 * can be reserved, writing it will show.
 */
static int report_reserve(int fd, size_t size, const char *what,
			  struct error *err)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat file;
	off_t at;

	if (fstat(fd, &file) < 0 || !S_ISREG(file.st_mode))
		return 0;
	at = flags >= 0 && flags & O_APPEND ? file.st_size :
	     lseek(fd, 0, SEEK_CUR);
	if (at < 0 || !fallocate(fd, FALLOC_FL_KEEP_SIZE, at, (off_t)size) ||
	    (errno != ENOSPC && errno != EDQUOT && errno != EFBIG))
		return 0;
	error_set(err, errno, "%s: room for a record", what);
	error_reason(err, "record");
	return error_result(err);
}

static int report_reserve_all(struct run *run, struct error *err)
{
	const struct report *report = run->report;
	const struct plan *plan = run->plan;
	size_t size = ROOM_OF_STATUS;

	if (report->audit_file >= 0 &&
	    report_reserve(report->audit_file, report_audit_size(run),
			   arena_printf(run->arena, "audit-file '%s'",
					plan->report.audit_file), err) < 0)
		return error_result(err);
	/* Each may be named as one that was left out. */
	for (size_t i = 0; i < plan->ops.count; i++)
		if (plan->ops.at[i].source)
			size += strlen(plan->ops.at[i].source) + 4;
	if (report->status_fd >= 0 &&
	    report_reserve(report->status_fd, size, "status-fd", err) < 0)
		return error_result(err);
	if (report->status_file < 0)
		return 0;
	return report_reserve(report->status_file, size,
			      arena_printf(run->arena, "status-file '%s'",
					   plan->report.status_file), err);
}

static void report_keep(struct run *run, int fd)
{
	if (fd >= 0)
		*arena_push(run->arena, &run->monitor_fds) = fd;
}

int report_open(struct run *run, struct error *err)
{
	const struct plan_report *plan = &run->plan->report;
	const struct plan_bwrap *bwrap = &run->plan->bwrap;
	struct report *report = arena_alloc(run->arena, sizeof(*report));
	int r;

	report->status_fd = report->status_file = report->audit_file = -EBADF;
	run->report = report;
	/* What bubblewrap leaves unnoticed when it is closed stays so. */
	if (bwrap->info_fd >= 0)
		fcntl(bwrap->info_fd, F_SETFD, FD_CLOEXEC);
	if (bwrap->json_status_fd >= 0)
		fcntl(bwrap->json_status_fd, F_SETFD, FD_CLOEXEC);
	report_keep(run, bwrap->info_fd);
	report_keep(run, bwrap->json_status_fd);
	/* The audit first: it is to tell of what fails from here on. */
	if (plan->audit_file) {
		r = report_open_file(plan->audit_file, 0, "audit-file", err);
		if (r < 0)
			return r;
		report->audit_file = r;
		report_keep(run, r);
	}
	if (plan->status_fd >= 0) {
		r = report_take_fd(plan->status_fd, "status-fd", err);
		if (r < 0)
			return r;
		report->status_fd = plan->status_fd;
		report_keep(run, report->status_fd);
	}
	if (plan->status_file) {
		r = report_open_file(plan->status_file, O_TRUNC,
				     "status-file", err);
		if (r < 0)
			return r;
		report->status_file = r;
		report_keep(run, r);
	}
	return report_reserve_all(run, err);
}

/* The disk is full: do not leave half a line for the next writer to end. */
static void report_cut_off(int fd, size_t size)
{
	off_t end = lseek(fd, 0, SEEK_CUR);
	struct stat file;

	if (end >= (off_t)size && fstat(fd, &file) == 0 &&
	    S_ISREG(file.st_mode) && file.st_size == end &&
	    ftruncate(fd, end - (off_t)size) < 0)
		return; /* nothing more can be done */
}

static int report_write(int fd, const struct text_buf *line, const char *what,
			struct error *err)
{
	ssize_t size;

	if (fd < 0)
		return 0;
	do {
		size = write(fd, line->at, line->count);
	} while (size < 0 && errno == EINTR);
	if (size == (ssize_t)line->count)
		return 0;
	/* A reader that has gone does not want it. */
	if (size < 0 && errno == EPIPE)
		return 0;
	if (size > 0)
		report_cut_off(fd, (size_t)size);
	error_set(err, size < 0 ? errno : ENOSPC, "write the %s", what);
	error_reason(err, "record");
	return error_result(err);
}

static int report_write_status(const struct run *run,
			       const struct text_buf *line, struct error *err)
{
	const struct report *report = run->report;
	int r = report_write(report->status_fd, line, "status record", err);
	int other = report_write(report->status_file, line, "status record",
				 err);

	return r < 0 ? r : other;
}

static bool report_wants_status(const struct run *run)
{
	return run->report && (run->report->status_fd >= 0 ||
			       run->report->status_file >= 0);
}

bool report_wants_payload(const struct run *run)
{
	return report_wants_status(run) ||
	       run->plan->bwrap.json_status_fd >= 0;
}

/* ---- members -------------------------------------------------------------- */

static void report_add_name(struct text_buf *line, const char *name)
{
	text_addf(line, ",\"%s\":", name);
}

static void report_add_text(struct text_buf *line, const char *name,
			    const char *value)
{
	report_add_name(line, name);
	if (value)
		text_add_json(line, value);
	else
		text_add(line, "null");
}

static void report_add_number(struct text_buf *line, const char *name,
			      bool is_known, uint64_t value)
{
	report_add_name(line, name);
	if (is_known)
		text_addf(line, "%" PRIu64, value);
	else
		text_add(line, "null");
}

static void report_add_bool(struct text_buf *line, const char *name,
			    bool value)
{
	report_add_name(line, name);
	text_add(line, value ? "true" : "false");
}

static uint64_t report_ms(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000 + (uint64_t)time->tv_usec / 1000;
}

static uint64_t report_elapsed_ms(const struct run *run)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return ((uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec -
		run->started) / 1000000U;
}

/* ---- status --------------------------------------------------------------- */

static void report_add_skipped(struct text_buf *line, const struct run *run)
{
	report_add_name(line, "skipped");
	text_add(line, "[");
	for (size_t i = 0; i < run->skipped.count; i++) {
		const struct op *op = &run->plan->ops.at[run->skipped.at[i]];

		if (i)
			text_add(line, ",");
		text_add_json(line, op->source ? op->source : op_place(op));
	}
	text_add(line, "]");
}

static void report_add_enforced(struct text_buf *line, const struct run *run)
{
	const char *before = "";

	report_add_name(line, "enforced");
	text_add(line, "{");
	for (int kind = 0; kind < LIMIT_COUNT; kind++) {
		const char *by = run->enforced[kind];

		/* The grace is a part of the time-out. */
		if (!run->plan->limits[kind].is_set || kind == LIMIT_GRACE)
			continue;
		text_addf(line, "%s\"%s\":\"%s\"", before, limit_names[kind],
			  by ? by : report_mechanisms[kind]);
		before = ",";
	}
	text_add(line, "}");
}

int report_started(struct run *run, struct error *err)
{
	struct text_buf line = { .arena = run->arena };

	if (!report_wants_status(run))
		return 0;
	text_add(&line, "{\"event\":\"start\"");
	report_add_number(&line, "pid", run->payload > 0,
			  (uint64_t)run->payload);
	report_add_number(&line, "initPid", run_has_init(run),
			  (uint64_t)run->child);
	report_add_skipped(&line, run);
	report_add_enforced(&line, run);
	report_add_number(&line, "landlock", true, run->progress ?
			  (uint64_t)run->progress->landlock_abi : 0);
	text_add(&line, "}\n");
	return report_write_status(run, &line, err);
}

int report_changes(struct run *run, const size_t *counts, struct error *err)
{
	static const char *const names[] = {
		[CHANGE_ADDED] = "added", [CHANGE_MODIFIED] = "modified",
		[CHANGE_DELETED] = "deleted", [CHANGE_RETYPED] = "retyped",
	};
	struct text_buf line = { .arena = run->arena };

	if (!report_wants_status(run))
		return 0;
	text_add(&line, "{\"event\":\"changes\"");
	for (int kind = CHANGE_ADDED; kind < CHANGE_COUNT; kind++)
		report_add_number(&line, names[kind], true, counts[kind]);
	text_add(&line, "}\n");
	return report_write_status(run, &line, err);
}

static void report_add_exit(struct text_buf *line, const struct run *run,
			    const struct report_end *end)
{
	bool exited = WIFEXITED(end->wait_status);
	bool killed = WIFSIGNALED(end->wait_status);

	text_add(line, "{\"event\":\"exit\"");
	report_add_number(line, "exitCode", exited,
			  (uint64_t)WEXITSTATUS(end->wait_status));
	report_add_number(line, "signal", killed,
			  (uint64_t)WTERMSIG(end->wait_status));
	report_add_bool(line, "timedOut", end->timed_out);
	report_add_number(line, "durationMs", true, report_elapsed_ms(run));
	report_add_number(line, "maxRssKib", true,
			  (uint64_t)end->usage.ru_maxrss);
	report_add_number(line, "userMs", true,
			  report_ms(&end->usage.ru_utime));
	report_add_number(line, "systemMs", true,
			  report_ms(&end->usage.ru_stime));
	report_add_number(line, "outputBytes", run->output.is_counted,
			  run->output.passed);
	report_add_number(line, "outputDropped", run->output.is_counted,
			  run->output.dropped);
	if (run->commit)
		report_add_bool(line, "committed", run->commit->is_done);
	text_add(line, "}\n");
}

static void report_add_error(struct text_buf *line, const struct run *run,
			     const struct error *err)
{
	text_add(line, "{\"event\":\"error\"");
	report_add_text(line, "stage", err->stage[0] ? err->stage : NULL);
	report_add_text(line, "reason",
			err->reason[0] ? err->reason : "other");
	report_add_text(line, "errno", error_errno_name(err->code));
	report_add_text(line, "message", error_line(run->arena, err));
	report_add_text(line, "remedy", err->remedy[0] ? err->remedy : NULL);
	text_add(line, "}\n");
}

/* ---- audit ---------------------------------------------------------------- */

/* A random UUID, RFC 9562 version 4. */
static const char *report_new_id(struct arena *arena)
{
	unsigned char b[16];

	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		return "unknown";
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	return arena_printf(arena, "%02x%02x%02x%02x-%02x%02x-%02x%02x-"
			    "%02x%02x-%02x%02x%02x%02x%02x%02x",
			    b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7],
			    b[8], b[9], b[10], b[11], b[12], b[13], b[14],
			    b[15]);
}

static const char *report_time(struct arena *arena,
			       const struct timespec *moment)
{
	char date[32];
	struct tm utc;

	gmtime_r(&moment->tv_sec, &utc);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc);
	return arena_printf(arena, "%s.%03ldZ", date,
			    moment->tv_nsec / 1000000);
}

static const char *report_audit_error(const struct run *run,
				      const struct report_end *end)
{
	if (end->error)
		return error_line(run->arena, end->error);
	if (end->timed_out)
		return "timed out";
	if (end->caller_gone)
		return "the calling process ended";
	return NULL;
}

static void report_add_audit(struct text_buf *line, const struct run *run,
			     const struct report_end *end)
{
	const struct plan *plan = run->plan;
	const char *id = plan->report.run_id;

	text_add(line, "{\"runId\":");
	text_add_json(line, id ? id : report_new_id(run->arena));
	report_add_text(line, "handleId", plan->report.handle_id);
	report_add_name(line, "command");
	text_add(line, "[");
	for (size_t i = 0; i < plan->command.count; i++) {
		if (i)
			text_add(line, ",");
		text_add_json(line, plan->command.at[i]);
	}
	text_add(line, "]");
	report_add_bool(line, "ok", !end->error && end->status == 0);
	report_add_number(line, "exitCode", true, (uint64_t)end->status);
	report_add_number(line, "durationMs", true, report_elapsed_ms(run));
	report_add_number(line, "outputBytes", run->output.is_counted,
			  run->output.passed);
	report_add_text(line, "error", report_audit_error(run, end));
	report_add_text(line, "createdAt",
			report_time(run->arena, &run->created_at));
	report_add_text(line, "profile", run->options->profile);
	text_add(line, "}\n");
}

static size_t report_audit_size(const struct run *run)
{
	const struct report_end end = { 0 };
	struct text_buf line = { .arena = run->arena };

	report_add_audit(&line, run, &end);
	return line.count + ROOM_OF_MESSAGE;
}

/* ---- the end -------------------------------------------------------------- */

int report_ended(struct run *run, const struct report_end *end,
		 struct error *err)
{
	struct text_buf status = { .arena = run->arena };
	struct text_buf audit = { .arena = run->arena };
	int r = 0, other;

	if (end->ran && !end->error)
		report_bwrap_exit(run, end->status);
	if (report_wants_status(run)) {
		if (end->error)
			report_add_error(&status, run, end->error);
		else
			report_add_exit(&status, run, end);
		r = report_write_status(run, &status, err);
	}
	if (run->options->is_check || run->report->audit_file < 0)
		return r;
	report_add_audit(&audit, run, end);
	other = report_write(run->report->audit_file, &audit, "audit record",
			     err);
	return r < 0 ? r : other;
}

int report_exit_status(const struct run *run, const struct error *err)
{
	if (run->options->is_bwrap)
		return 1;
	return err->status ? err->status : ERROR_STATUS_LAUNCHER;
}

void report_failed(struct run *run, const struct error *cause)
{
	const struct report_end end = {
		.error = cause,
		.status = report_exit_status(run, cause),
	};
	struct error ignored;

	/* Opens what it can, and one failure is enough for one launch. */
	if (!run->report)
		report_open(run, &ignored);
	report_ended(run, &end, &ignored);
}

void engine_refused(const struct plan *plan,
		    const struct engine_options *options,
		    const struct error *cause)
{
	struct run run = {
		.plan = plan,
		.options = options,
		.arena = plan->arena,
	};
	struct timespec now;
	sigset_t pipe;

	/* The reader of a record may be gone. */
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigprocmask(SIG_BLOCK, &pipe, NULL);
	clock_gettime(CLOCK_REALTIME, &run.created_at);
	clock_gettime(CLOCK_BOOTTIME, &now);
	run.started = (uint64_t)now.tv_sec * 1000000000U +
		      (uint64_t)now.tv_nsec;
	report_failed(&run, cause);
}
