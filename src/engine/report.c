/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files of the records, status (report_status.c) and audit
 * (report_audit.c), and when they are written.
 *
 * A line is built whole and written with one write(2).  On a regular file
 * opened with O_APPEND that makes lines of many writers follow each other
 * unbroken.  The one way to get a torn line is a disk that becomes full in
 * the middle; what was written is then cut off again, if it still is the end
 * of the file.
 *
 * Strings hold any bytes: text_add_json() makes valid JSON of them.
 */
#include "engine/record.h"
#include "engine/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

static int report_open_file(const char *path, const char *what,
			    struct error *err)
{
	/* Not to wait for the reader of a FIFO, but later for room in it. */
	int fd = report_open_path(path, O_WRONLY | O_APPEND | O_CREAT |
				  O_NOCTTY | O_NONBLOCK, 0600);

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

static bool is_same_file(int a, int b)
{
	struct stat first, second;

	return a >= 0 && b >= 0 && a != b && !fstat(a, &first) &&
	       !fstat(b, &second) && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

int report_empty(const struct run *run, int fd, const char *what,
		 struct error *err)
{
	const struct report *report = run->report;
	const struct {
		const char *name;
		int fd;
	} others[] = {
		{ "audit-file", report->audit_file },
		{ "status-fd", report->status_fd },
		{ "status-file", report->status_file },
	};
	struct stat file;

	if (fstat(fd, &file) < 0 || !S_ISREG(file.st_mode))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (!is_same_file(fd, others[i].fd))
			continue;
		error_set(err, 0, "%s is the file of %s, too", what,
			  others[i].name);
		error_reason(err, "record");
		error_remedy(err, "give each record a file of its own");
		return error_result(err);
	}
	return ftruncate(fd, 0) < 0 ? error_set(err, errno, "%s", what) : 0;
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
	size_t size = report_status_size(run);

	if (report->audit_file >= 0 &&
	    report_reserve(report->audit_file, report_audit_size(run),
			   arena_printf(run->arena, "audit-file '%s'",
					plan->report.audit_file), err) < 0)
		return error_result(err);
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
		r = report_open_file(plan->audit_file, "audit-file", err);
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
		r = report_open_file(plan->status_file, "status-file", err);
		if (r < 0)
			return r;
		if (report_empty(run, r, arena_printf(run->arena,
				 "status-file '%s'", plan->status_file),
				 err) < 0) {
			close(r);
			return error_result(err);
		}
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

int report_write(int fd, const struct text_buf *line, const char *what,
		 struct error *err)
{
	ssize_t size;

	if (fd < 0)
		return 0;
	size = record_write(fd, line->at, line->count);
	if (size == (ssize_t)line->count)
		return 0;
	/* A reader that has gone does not want it. */
	if (size == -EPIPE)
		return 0;
	if (size > 0)
		report_cut_off(fd, (size_t)size);
	if (size == -ETIMEDOUT) {
		error_set(err, 0, "write the %s: nobody made room for it", what);
		error_reason(err, "record");
		error_remedy(err, "whoever opened it has to read what is "
			     "written to it");
		return -ETIMEDOUT;
	}
	error_set(err, size < 0 ? (int)-size : ENOSPC, "write the %s", what);
	error_reason(err, "record");
	return error_result(err);
}

/* ---- a line --------------------------------------------------------------- */

void report_add_name(struct text_buf *line, const char *name)
{
	text_addf(line, ",\"%s\":", name);
}

void report_add_text(struct text_buf *line, const char *name,
		     const char *value)
{
	report_add_name(line, name);
	if (value)
		text_add_json(line, value);
	else
		text_add(line, "null");
}

void report_add_number(struct text_buf *line, const char *name, bool is_known,
		       uint64_t value)
{
	report_add_name(line, name);
	if (is_known)
		text_addf(line, "%" PRIu64, value);
	else
		text_add(line, "null");
}

void report_add_bool(struct text_buf *line, const char *name, bool value)
{
	report_add_name(line, name);
	text_add(line, value ? "true" : "false");
}

uint64_t report_elapsed_ms(const struct run *run)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return ((uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec -
		run->started) / 1000000U;
}

/* ---- the end -------------------------------------------------------------- */

int report_ended(struct run *run, const struct report_end *end,
		 struct error *err)
{
	int r, other;

	if (end->ran && !end->error)
		report_bwrap_exit(run, end->status);
	r = report_status_ended(run, end, err);
	other = run->options->is_check ? 0 : report_audit_ended(run, end, err);
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
