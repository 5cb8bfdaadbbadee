/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engine/record.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM_MS = 5000 };

/*
 * A pipe that is ready has room for PIPE_BUF bytes (pipe(7)); the descriptor
 * is the caller's, too, so that it stays a blocking one.
 */
static ssize_t write_part(int fd, mode_t type, const char *text, size_t size)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	int r = poll(&room, 1, ROOM_MS);

	if (!r)
		errno = ETIMEDOUT;
	if (r <= 0)
		return -1;
	if (S_ISSOCK(type))
		return send(fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	return write(fd, text, size < PIPE_BUF ? size : PIPE_BUF);
}

ssize_t record_write(int fd, const char *text, size_t size)
{
	size_t done = 0;
	struct stat file;

	if (fstat(fd, &file) < 0)
		return -errno;
	while (done < size) {
		ssize_t part = S_ISREG(file.st_mode) ?
			write(fd, text + done, size - done) :
			write_part(fd, file.st_mode, text + done, size - done);

		if (part < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (part < 0 && !done)
			return -errno;
		/* A file that takes less is full. */
		if (part < 0 || S_ISREG(file.st_mode))
			return (ssize_t)done + (part > 0 ? part : 0);
		done += (size_t)part;
	}
	return (ssize_t)done;
}
