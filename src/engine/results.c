/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An ephemeral workspace's upper layer is a tmpfs that only the child sees;
 * it sends a descriptor over a socket that nobody reads before the end, and
 * which keeps the tmpfs alive until then.
 */
#include "engine/results.h"

#include "engine/changes.h"
#include "engine/commit.h"
#include "engine/listing.h"
#include "engine/report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct results {
	int upper;      /* -EBADF: comes over @socket */
	int socket[2];  /* monitor's end, child's end; -EBADF: none */
	int list;       /* changes-file, or -EBADF */
	LIST_OF(int) lowers; /* topmost first */
	struct export *export;
};

static int open_directory(const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? error_set(err, errno, "open directory '%s'", path) :
	       fd;
}

static int open_layers(struct run *run, struct results *results,
		       struct error *err)
{
	const struct plan_workspace *workspace = &run->plan->workspace;
	size_t count = workspace->lowers.count;
	int fd;

	for (size_t i = count; i--;) {
		fd = open_directory(workspace->lowers.at[i], err);
		if (fd < 0)
			return fd;
		*arena_push(run->arena, &results->lowers) = fd;
	}
	if (!count) {
		fd = open_directory(workspace->source, err);
		if (fd < 0)
			return fd;
		*arena_push(run->arena, &results->lowers) = fd;
	}
	if (workspace->mode == WORKSPACE_OVERLAY) {
		results->upper = open_directory(workspace->upper, err);
		return results->upper < 0 ? results->upper : 0;
	}
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0,
		       results->socket) < 0)
		return error_set(err, errno, "socketpair");
	return 0;
}

static int open_list(struct run *run, struct results *results,
		     struct error *err)
{
	const struct plan_report *report = &run->plan->report;

	if (!report->changes_file)
		return 0;
	results->list = report_open_path(report->changes_file, O_WRONLY |
					 O_CREAT | O_NOCTTY | O_NONBLOCK,
					 0666 & ~run->payload_umask);
	if (results->list < 0) {
		error_set(err, errno, "%s: changes-file '%s'",
			  origin_text(run->arena, &report->changes_origin),
			  report->changes_file);
		error_reason(err, "record");
		return error_result(err);
	}
	return report_empty(run, results->list,
			    arena_printf(run->arena, "%s: changes-file '%s'",
					 origin_text(run->arena,
						     &report->changes_origin),
					 report->changes_file), err);
}

/* The monitor closes what it does not know. */
static void keep_open(struct run *run, const struct results *results)
{
	for (size_t i = 0; i < results->lowers.count; i++)
		*arena_push(run->arena, &run->monitor_fds) =
			results->lowers.at[i];
	if (results->upper >= 0)
		*arena_push(run->arena, &run->monitor_fds) = results->upper;
	if (results->list >= 0)
		*arena_push(run->arena, &run->monitor_fds) = results->list;
	if (results->socket[0] >= 0)
		*arena_push(run->arena, &run->monitor_fds) =
			results->socket[0];
}

int results_prepare(struct run *run, struct error *err)
{
	const struct plan_workspace *workspace = &run->plan->workspace;
	struct results *results;

	if (!run->plan->report.changes_file && !workspace->export_dir &&
	    !run->commit)
		return 0;
	results = arena_alloc(run->arena, sizeof(*results));
	results->upper = -EBADF;
	results->list = -EBADF;
	results->socket[0] = -EBADF;
	results->socket[1] = -EBADF;
	if (open_layers(run, results, err) < 0 ||
	    open_list(run, results, err) < 0)
		return error_result(err);
	if (workspace->export_dir &&
	    export_open(run, workspace->export_dir, results->upper,
			&results->export, err) < 0)
		return error_wrap(err, "%s: export",
				  origin_text(run->arena,
					      &workspace->export_origin));
	keep_open(run, results);
	run->results = results;
	return 0;
}

/* ---- the descriptor of the upper layer -------------------------------------- */

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

int results_hand_over(struct run *run, int upper, struct error *err)
{
	union control control = { 0 };
	char byte = 0;
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	auto_close int fd = -EBADF;

	if (!run->results || run->results->socket[1] < 0)
		return 0;
	fd = openat(upper, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, errno, "open the upper layer");
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	if (sendmsg(run->results->socket[1], &message, MSG_NOSIGNAL) < 0)
		return error_set(err, errno, "send the upper layer");
	return 0;
}

static int receive_upper(struct results *results, struct error *err)
{
	union control control;
	char byte;
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};

	if (results->upper >= 0)
		return 0;
	if (recvmsg(results->socket[0], &message, MSG_DONTWAIT |
		    MSG_CMSG_CLOEXEC) < 0)
		return error_set(err, errno, "get the upper layer");
	if (!CMSG_FIRSTHDR(&message) ||
	    CMSG_FIRSTHDR(&message)->cmsg_type != SCM_RIGHTS)
		return error_set(err, EPROTO, "get the upper layer");
	memcpy(&results->upper, CMSG_DATA(CMSG_FIRSTHDR(&message)),
	       sizeof(int));
	return 0;
}

/* ---- at the end ---------------------------------------------------------------- */

/* Of directories in directories each has the path of all, so lists grow fast. */
#define LIST_MOST (UINT64_C(1) << 30)

static int write_list(const struct results *results, struct error *err)
{
	int r = listing_write(results->list, LIST_MOST, results->upper,
			      results->lowers.at, results->lowers.count, err);

	if (r >= 0)
		return 0;
	/* Half a list is none. */
	if (ftruncate(results->list, 0) < 0)
		return error_wrap(err, "list the changes (what is there is "
				  "not all)");
	return error_wrap(err, "list the changes");
}

int results_finish(struct run *run, bool succeeded,
		   const struct copy_question *question, struct error *err)
{
	struct results *results = run->results;
	int r;

	if (!results)
		return 0;
	/* What the launcher made in the layer is no change of the payload's. */
	janitor_tidy(run);
	r = receive_upper(results, err);
	if (!r && results->list >= 0)
		r = write_list(results, err);
	if (r < 0 || !succeeded || !results->export)
		return r;
	r = export_run(results->export, results->upper, results->lowers.at,
		       results->lowers.count, question, err);
	return r < 0 ? error_wrap(err, "export the changes") : 0;
}

static int count_change(const struct change *change, void *data,
			struct error *err)
{
	size_t *counts = data;

	(void)err;
	counts[change->kind]++;
	return 0;
}

int results_count(struct run *run, size_t *ret_counts, struct error *err)
{
	const struct results *results = run->results;
	const struct change_visitor visitor = {
		.change = count_change, .data = ret_counts,
	};

	memset(ret_counts, 0, CHANGE_COUNT * sizeof(*ret_counts));
	return changes_walk(results->upper, results->lowers.at,
			    results->lowers.count, &visitor, err);
}

int results_commit(struct run *run, struct error *err)
{
	return commit_run(run, run->results->upper, err);
}
