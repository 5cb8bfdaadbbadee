/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A descriptor is more than a stream: through /proc/self/fd its file can be
 * opened again, with another mode and past every read-only mount.  So a
 * profile's payload gets no regular file of the host as standard input or
 * output, but a pipe, and the monitor moves the bytes.  A limit on output
 * takes the same way: what is beyond it is read, counted and dropped, and the
 * payload neither waits nor gets SIGPIPE.
 *
 * splice(2) moves pages, not bytes.  Where it cannot (a file opened with
 * O_APPEND) or could block the monitor (sockets, terminals: it has no way to
 * say "not now" to them) the bytes take the way through a buffer.
 *
 * The monitor never blocks here: a reader that does not read must not hold up
 * a time-out.
 *
 * When the real target is gone or full the payload's pipe is closed, so that
 * it learns of that as it would have without us.
 */
#include "engine/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
	RELAY_MOVE_MOST = 1 << 20,
	/*
	 * Once that much has passed the pipe is worth its largest size.  All
	 * pipes of a user together may have 64 MiB, pipe(7), so it is not
	 * taken before.
	 */
	RELAY_GROW_AFTER = 1 << 20,
	RELAY_GROW_TO = 1 << 20,
	RELAY_BUFFER_SIZE = 1 << 16,
	RELAY_TTY_CHUNK = 256, /* poll(2) promises room for that */
	RELAY_ROUNDS = 16,     /* moves before the others' turn comes */
};

enum relay_way {
	WAY_SPLICE,
	WAY_WRITE,
	WAY_SEND, /* a socket */
	WAY_TTY,
};

struct stream {
	int source, target;  /* -EBADF: done */
	bool owns_source, owns_target;
	enum relay_way way;
	bool is_limited;
	uint64_t left;       /* bytes that may pass, if is_limited */
	uint64_t passed, dropped;
	bool target_is_full; /* wait for the target, not for the source */
	bool is_dry;         /* nothing there at the moment */
	bool has_grown;
	bool is_ending;      /* only @budget bytes are still wanted */
	uint64_t budget;
	int failure;         /* errno of writing to the target */
	/* between read and write, except for WAY_SPLICE */
	char *buffer;
	size_t start, end;
};

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

/* Which way to write to @fd without waiting; may open it anew. */
static enum relay_way relay_choose_way(struct stream *stream, int fd)
{
	struct stat status;
	int flags = fcntl(fd, F_GETFL);
	char path[32];
	int again;

	if (fstat(fd, &status) < 0 || flags < 0)
		return WAY_WRITE;
	if (S_ISSOCK(status.st_mode))
		return WAY_SEND;
	if (S_ISCHR(status.st_mode) && isatty(fd)) {
		/*
		 * An open file of our own can be told not to wait, the
		 * caller's is not ours to change.
		 */
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		again = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY |
			     O_CLOEXEC);
		if (again < 0)
			return WAY_TTY;
		stream->target = again;
		stream->owns_target = true;
		return WAY_WRITE;
	}
	return flags & O_APPEND ? WAY_WRITE : WAY_SPLICE;
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
	stream->target = fd;
	stream->way = relay_choose_way(stream, fd);
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

/* ---- moving ------------------------------------------------------------------ */

static void stream_close(struct stream *stream)
{
	if (stream->owns_source && stream->source >= 0)
		close(stream->source);
	if (stream->owns_target && stream->target >= 0)
		close(stream->target);
	stream->source = stream->target = -EBADF;
}

static bool stream_is_done(const struct stream *stream)
{
	return stream->source < 0;
}

/* How much of @most may be taken out of the source now. */
static size_t stream_room(const struct stream *stream, bool to_pass,
			  size_t most)
{
	if (to_pass && stream->is_limited && stream->left < most)
		most = (size_t)stream->left;
	if (stream->is_ending && stream->budget < most)
		most = (size_t)stream->budget;
	return most;
}

static void stream_taken(struct stream *stream, size_t size)
{
	if (stream->is_ending)
		stream->budget -= size;
	if (stream->has_grown || !stream->owns_source ||
	    stream->passed + stream->dropped < RELAY_GROW_AFTER)
		return;
	/* A pipe that stays small is slower and nothing else. */
	fcntl(stream->source, F_SETPIPE_SZ, RELAY_GROW_TO);
	stream->has_grown = true;
}

static void stream_passed(struct stream *stream, size_t size)
{
	stream->passed += size;
	if (stream->is_limited)
		stream->left -= size;
}

/* Bytes in a pipe. */
static size_t pipe_content(int fd)
{
	int waiting = 0;

	return ioctl(fd, FIONREAD, &waiting) < 0 || waiting < 0 ? 0 :
		(size_t)waiting;
}

/*
 * Steps return true when another may follow at once.  Neither side ready:
 * the target is full if something waits in the pipe.
 */
static bool stream_not_now(struct stream *stream)
{
	stream->target_is_full = stream->end > stream->start ||
				 !stream->owns_source ||
				 pipe_content(stream->source) > 0;
	stream->is_dry = !stream->target_is_full;
	return false;
}

static bool stream_fail(struct stream *stream)
{
	if (errno == EAGAIN || errno == EINTR)
		return stream_not_now(stream);
	/* A reader that goes away is not an error of ours. */
	if (errno != EPIPE && errno != ECONNRESET)
		stream->failure = errno;
	stream_close(stream);
	return false;
}

static bool stream_splice(struct stream *stream)
{
	ssize_t size = splice(stream->source, NULL, stream->target, NULL,
			      stream_room(stream, true, RELAY_MOVE_MOST),
			      SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (size > 0) {
		stream_taken(stream, (size_t)size);
		stream_passed(stream, (size_t)size);
		return true;
	}
	if (size == 0) {
		stream_close(stream);
		return false;
	}
	if (errno == EINVAL && stream->way == WAY_SPLICE) {
		stream->way = WAY_WRITE;
		return true;
	}
	return stream_fail(stream);
}

/* Fill the empty buffer. */
static bool stream_fill(struct stream *stream)
{
	ssize_t size = read(stream->source, stream->buffer,
			    stream_room(stream, true, RELAY_BUFFER_SIZE));

	if (size < 0)
		return stream_fail(stream);
	if (size == 0) {
		stream_close(stream);
		return false;
	}
	stream_taken(stream, (size_t)size);
	stream->start = 0;
	stream->end = (size_t)size;
	return true;
}

static ssize_t stream_put(const struct stream *stream)
{
	const char *at = stream->buffer + stream->start;
	size_t size = stream->end - stream->start;

	if (stream->way == WAY_SEND)
		return send(stream->target, at, size,
			    MSG_DONTWAIT | MSG_NOSIGNAL);
	if (stream->way == WAY_TTY) {
		struct pollfd room = { .fd = stream->target,
				       .events = POLLOUT };

		if (poll(&room, 1, 0) != 1) {
			errno = EAGAIN;
			return -1;
		}
		if (size > RELAY_TTY_CHUNK)
			size = RELAY_TTY_CHUNK;
	}
	return write(stream->target, at, size);
}

static bool stream_copy(struct stream *stream)
{
	ssize_t size;

	if (!stream->buffer)
		stream->buffer = malloc(RELAY_BUFFER_SIZE);
	if (!stream->buffer) {
		errno = ENOMEM;
		return stream_fail(stream);
	}
	if (stream->start == stream->end)
		return stream_fill(stream);
	size = stream_put(stream);
	if (size < 0)
		return stream_fail(stream);
	stream->start += (size_t)size;
	stream_passed(stream, (size_t)size);
	return true;
}

/* Beyond the limit: count and forget. */
static bool stream_drop(struct relay *relay, struct stream *stream)
{
	size_t room = stream_room(stream, false, RELAY_MOVE_MOST);
	ssize_t size;

	if (relay->null < 0)
		relay->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	size = splice(stream->source, NULL, relay->null, NULL, room,
		      SPLICE_F_NONBLOCK);
	if (size < 0 && errno != EAGAIN) {
		/* No /dev/null here, or something else by that name. */
		char bin[4096];

		size = read(stream->source, bin,
			    room < sizeof(bin) ? room : sizeof(bin));
	}
	if (size > 0) {
		stream_taken(stream, (size_t)size);
		stream->dropped += (size_t)size;
		return true;
	}
	if (size == 0)
		stream_close(stream);
	else
		stream->is_dry = true;
	return false;
}

static bool stream_step(struct relay *relay, struct stream *stream)
{
	bool is_empty = stream->start == stream->end;

	if (stream_is_done(stream))
		return false;
	stream->target_is_full = stream->is_dry = false;
	if (stream->is_ending && !stream->budget && is_empty) {
		stream_close(stream);
		return false;
	}
	if (stream->is_limited && !stream->left && is_empty)
		return stream_drop(relay, stream);
	return stream->way == WAY_SPLICE ? stream_splice(stream) :
					   stream_copy(stream);
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
			if (!stream_step(relay, &relay->streams[i]))
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
		      (off_t)pipe_content(relay->input_pipe), SEEK_SET);
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
			stream->budget = pipe_content(stream->source);
		}
		while (stream_step(relay, stream))
			;
		if (stream->is_dry)
			stream_close(stream);
		any |= !stream_is_done(stream);
	}
	return any;
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
