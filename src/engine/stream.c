/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * splice(2) moves pages, not bytes.  Where it cannot (a file opened with
 * O_APPEND) or could block the caller (sockets, terminals: it has no way to
 * say "not now" to them) the bytes take the way through a buffer.
 */
#include "engine/stream.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MOVE_MOST = 1 << 20,
	/*
	 * Once that much has passed the pipes are worth their largest size.
	 * All pipes of a user together may have 64 MiB, pipe(7), so it is not
	 * taken before.
	 */
	GROW_AFTER = 1 << 20,
	GROW_TO = 1 << 20,
	BUFFER_SIZE = 1 << 16,
	TTY_CHUNK = 256, /* poll(2) promises room for that */
};

/* Which way to write to @fd without waiting; may open it anew. */
static enum stream_way stream_choose_way(struct stream *stream, int fd)
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

void stream_to(struct stream *stream, int target)
{
	stream->target = target;
	stream->way = stream_choose_way(stream, target);
}

size_t stream_content(int pipe)
{
	int waiting = 0;

	return ioctl(pipe, FIONREAD, &waiting) < 0 || waiting < 0 ? 0 :
		(size_t)waiting;
}

/* What has been written and not passed on is lost. */
void stream_close(struct stream *stream)
{
	if (stream->owns_source && stream->source >= 0) {
		stream->dropped += stream->end - stream->start +
				   stream_content(stream->source);
		stream->start = stream->end;
		close(stream->source);
	}
	if (stream->owns_target && stream->target >= 0)
		close(stream->target);
	stream->source = stream->target = -EBADF;
}

bool stream_is_done(const struct stream *stream)
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
	    stream->passed + stream->dropped < GROW_AFTER)
		return;
	/* A pipe that stays small is slower and nothing else. */
	fcntl(stream->source, F_SETPIPE_SZ, GROW_TO);
	fcntl(stream->target, F_SETPIPE_SZ, GROW_TO);
	stream->has_grown = true;
}

static void stream_passed(struct stream *stream, size_t size)
{
	stream->passed += size;
	if (stream->is_limited)
		stream->left -= size;
}

/*
 * Steps return true when another may follow at once.  Neither side ready:
 * the target is full if something waits in the pipe.
 */
static bool stream_not_now(struct stream *stream)
{
	stream->target_is_full = stream->end > stream->start ||
				 !stream->owns_source ||
				 stream_content(stream->source) > 0;
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
			      stream_room(stream, true, MOVE_MOST),
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
	/* Refused, or no memory; and write(2) to a pipe may have to wait. */
	if ((errno == ENOSYS || errno == EPERM || errno == ENOMEM) &&
	    stream->way == WAY_SPLICE) {
		stream->way = WAY_TTY;
		return true;
	}
	return stream_fail(stream);
}

/* Fill the empty buffer. */
static bool stream_fill(struct stream *stream)
{
	ssize_t size = read(stream->source, stream->buffer,
			    stream_room(stream, true, BUFFER_SIZE));

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
		if (size > TTY_CHUNK)
			size = TTY_CHUNK;
	}
	return write(stream->target, at, size);
}

static bool stream_copy(struct stream *stream)
{
	ssize_t size;

	if (!stream->buffer)
		stream->buffer = malloc(BUFFER_SIZE);
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
static bool stream_drop(struct stream *stream, int *null)
{
	size_t room = stream_room(stream, false, MOVE_MOST);
	ssize_t size;

	if (*null < 0)
		*null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	size = splice(stream->source, NULL, *null, NULL, room,
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

bool stream_step(struct stream *stream, int *null)
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
		return stream_drop(stream, null);
	return stream->way == WAY_SPLICE ? stream_splice(stream) :
					   stream_copy(stream);
}
