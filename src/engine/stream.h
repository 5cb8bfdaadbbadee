/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bytes from one descriptor to another, without waiting for either.  Private
 * to the relay.
 */
#ifndef ENGINE_STREAM_H
#define ENGINE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum stream_way {
	WAY_SPLICE,
	WAY_WRITE,
	WAY_SEND, /* a socket */
	WAY_TTY,
};

/* The pipe among the two ends is ours and has O_NONBLOCK. */
struct stream {
	int source, target;  /* -EBADF: done */
	bool owns_source, owns_target;
	enum stream_way way;
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

/* Write to @target, which may be opened anew for that. */
void stream_to(struct stream *stream, int target);
/*
 * Move something.  False: no more at the moment, and target_is_full, is_dry or
 * stream_is_done() say why.  *@null is /dev/null, opened when it is needed
 * (-EBADF before).
 */
bool stream_step(struct stream *stream, int *null);
void stream_close(struct stream *stream);
bool stream_is_done(const struct stream *stream);
/* Bytes in a pipe. */
size_t stream_content(int pipe);

#endif
