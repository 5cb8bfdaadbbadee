/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A descriptor is more than a stream: through /proc/self/fd its file can be
 * opened again, with another mode and past every read-only mount.  So a
 * profile's payload gets no regular file of the host as standard input or
 * output, but a pipe, and the monitor moves the bytes.  A limit on output
 * takes the same way: what is beyond it is read, counted and dropped, and the
 * payload neither waits nor gets SIGPIPE.
 *
 * The monitor never blocks here: a reader that does not read must not hold up
 * a time-out.
 *
 * When the real target is gone or full the payload's pipe is closed, so that
 * it learns of that as it would have without us.
 */
#include "engine/relay.h"

#include "engine/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { RELAY_ROUNDS = 16 }; /* moves before the others' turn comes */

struct relay {
	struct stream streams[RELAY_STREAMS];
	int null; /* for what is dropped; -EBADF: not yet open */
	/*
	 * The file at standard input goes on, for whoever shares it, where
	 * the payload stopped reading.
	 */
	off_t input_start;   /* -1: it has no position */
	int input_pipe;      /* another reading end, to see what is left */
};

/* ---- what is relayed -------------------------------------------------------- */

static int relay_refuse(int fd, const char *what, struct error *err)
{
	error_set(err, 0, "descriptor %d is a %s", fd, what);
	error_reason(err, "stdio");
	error_remedy(err, "start it with a pipe, a file or /dev/null as "
		     "descriptor %d", fd);
	return error_result(err);
}

/* 1: by a pipe; 0: as it is. */
static int relay_wants(const struct run *run, int fd, struct error *err)
{
	const struct plan *plan = run->plan;
	struct stat status;

	if (run->closed_stdio & 1U << fd)
		return 0;
	if (fd > 0 && plan->limits[LIMIT_OUTPUT].is_set)
		return 1;
	if (plan->rules != PLAN_RULES_PROFILE)
		return 0;
	if (fstat(fd, &status) < 0)
		return error_set(err, errno, "stat descriptor %d", fd);
	if (S_ISDIR(status.st_mode))
		return relay_refuse(fd, "directory", err);
	if (S_ISBLK(status.st_mode))
		return relay_refuse(fd, "block device", err);
	return S_ISREG(status.st_mode);
}

static int relay_make_pipe(struct run *run, int fd, int *ret_ours,
			   struct error *err)
{
	int ours = fd == 0 ? 1 : 0;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(err, errno, "pipe");
	if (fcntl(ends[ours], F_SETFL, O_NONBLOCK) < 0)
		return error_set(err, errno, "fcntl of a pipe");
	*ret_ours = ends[ours];
	run->payload_stdio[fd] = ends[!ours];
	*arena_push(run->arena, &run->monitor_fds) = ends[ours];
	return 0;
}

static int relay_add_input(struct run *run, struct error *err)
{
	struct stream *stream = &run->relay->streams[0];
	int r = relay_make_pipe(run, 0, &stream->target, err);

	if (r < 0)
		return r;
	stream->source = 0;
	stream->owns_target = true;
	run->relay->input_start = lseek(0, 0, SEEK_CUR);
	run->relay->input_pipe = fcntl(run->payload_stdio[0], F_DUPFD_CLOEXEC,
				       3);
	if (run->relay->input_pipe < 0)
		return error_set(err, errno, "dup");
	*arena_push(run->arena, &run->monitor_fds) = run->relay->input_pipe;
	return 0;
}

static int relay_add_output(struct run *run, int fd, struct error *err)
{
	const struct plan_limit *limit = &run->plan->limits[LIMIT_OUTPUT];
	struct stream *stream = &run->relay->streams[fd];
	int r = relay_make_pipe(run, fd, &stream->source, err);

	if (r < 0)
		return r;
	stream->owns_source = true;
	stream_to(stream, fd);
	stream->is_limited = limit->is_set;
	stream->left = limit->value;
	if (stream->owns_target)
		*arena_push(run->arena, &run->monitor_fds) = stream->target;
	return 0;
}

/* `> log 2>&1`: one pipe for both keeps their lines in order. */
static bool relay_is_shared(const struct run *run)
{
	pid_t self = getpid();

	return run->payload_stdio[1] >= 0 &&
	       !run->plan->limits[LIMIT_OUTPUT].is_set &&
	       syscall(SYS_kcmp, self, self, KCMP_FILE, 1UL, 2UL) == 0;
}

static int relay_add(struct run *run, int fd, struct error *err)
{
	if (!run->relay) {
		run->relay = arena_alloc(run->arena, sizeof(*run->relay));
		run->relay->null = run->relay->input_pipe = -EBADF;
		for (int i = 0; i < RELAY_STREAMS; i++)
			run->relay->streams[i].source =
				run->relay->streams[i].target = -EBADF;
	}
	if (fd == 0)
		return relay_add_input(run, err);
	run->output.is_counted = true;
	if (fd == 2 && relay_is_shared(run)) {
		run->payload_stdio[2] = fcntl(run->payload_stdio[1],
					      F_DUPFD_CLOEXEC, 3);
		return run->payload_stdio[2] < 0 ?
			error_set(err, errno, "dup") : 0;
	}
	return relay_add_output(run, fd, err);
}

int relay_prepare(struct run *run, struct error *err)
{
	for (int fd = 0; fd < RELAY_STREAMS; fd++) {
		int r = relay_wants(run, fd, err);

		if (r > 0)
			r = relay_add(run, fd, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- the monitor's side -------------------------------------------------------- */

void relay_watch(const struct relay *relay, struct pollfd *ret_watches)
{
	for (int i = 0; i < RELAY_STREAMS; i++) {
		const struct stream *stream = relay ? &relay->streams[i] :
						      NULL;

		ret_watches[i] = (struct pollfd){ .fd = -EBADF };
		if (!stream || stream_is_done(stream))
			continue;
		/* A file to read from is always ready, its pipe is not. */
		if (stream->target_is_full || !stream->owns_source)
			ret_watches[i] = (struct pollfd){
				.fd = stream->target, .events = POLLOUT,
			};
		else
			ret_watches[i] = (struct pollfd){
				.fd = stream->source, .events = POLLIN,
			};
	}
}

void relay_move(struct relay *relay, const struct pollfd *watches)
{
	if (!relay)
		return;
	for (int i = 0; i < RELAY_STREAMS; i++)
		for (int round = 0; watches[i].revents &&
		     round < RELAY_ROUNDS; round++)
			if (!stream_step(&relay->streams[i],
						 &relay->null))
				break;
}

/* Give back what the payload has not read. */
static void relay_end_input(struct relay *relay)
{
	struct stream *input = &relay->streams[0];

	stream_close(input);
	if (relay->input_pipe < 0)
		return;
	if (relay->input_start >= 0)
		lseek(0, relay->input_start + (off_t)input->passed -
		      (off_t)stream_content(relay->input_pipe), SEEK_SET);
	close(relay->input_pipe);
	relay->input_pipe = -EBADF;
}

bool relay_ending(struct relay *relay)
{
	bool any = false;

	if (!relay)
		return false;
	relay_end_input(relay);
	for (int i = 1; i < RELAY_STREAMS; i++) {
		struct stream *stream = &relay->streams[i];

		/* Others may go on writing for ever. */
		if (!stream->is_ending && !stream_is_done(stream)) {
			stream->is_ending = true;
			stream->budget = stream_content(stream->source);
		}
		while (stream_step(stream, &relay->null))
			;
		if (stream->is_dry)
			stream_close(stream);
		any |= !stream_is_done(stream);
	}
	return any;
}

/* The last line of stderr, and one of its own where that was cut off. */
static int relay_note(const struct run *run, struct error *err)
{
	if (run->relay->streams[2].dropped &&
	    write(STDERR_FILENO, "\n", 1) < 0)
		return error_set(err, errno, "write to standard error");
	error_set(err, 0, "output limit of %llu bytes a stream: %llu bytes "
		  "were dropped",
		  (unsigned long long)run->plan->limits[LIMIT_OUTPUT].value,
		  (unsigned long long)run->output.dropped);
	error_reason(err, "output");
	return error_result(err);
}

int relay_finish(struct run *run, struct error *err)
{
	int r = 0;

	if (!run->relay)
		return 0;
	relay_end_input(run->relay);
	for (int i = 1; i < RELAY_STREAMS; i++) {
		struct stream *stream = &run->relay->streams[i];

		stream_close(stream);
		run->output.passed += stream->passed;
		run->output.dropped += stream->dropped;
		if (stream->failure && r == 0) {
			r = error_set(err, stream->failure, "write what the "
				      "command writes to descriptor %d", i);
			error_reason(err, "output");
		}
	}
	mem_close_fd(&run->relay->null);
	if (!r && run->plan->limits[LIMIT_OUTPUT].has_note &&
	    run->output.dropped)
		r = relay_note(run, err);
	return r;
}

/* ---- who may open them again ------------------------------------------------ */

int relay_give(struct run *run, struct error *err)
{
	for (int fd = 0; fd < RELAY_STREAMS; fd++) {
		int given = run->payload_stdio[fd] >= 0 ?
			run->payload_stdio[fd] : fd;
		struct statfs fs;

		if (fstatfs(given, &fs) == 0 && fs.f_type == PIPEFS_MAGIC &&
		    fchown(given, run->ids.host_uid, run->ids.host_gid) < 0)
			return error_set(err, errno, "chown the pipe at "
					 "descriptor %d", fd);
	}
	return 0;
}
