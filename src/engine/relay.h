/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Standard input and output through pipes of the launcher, where the payload
 * must not have the caller's own descriptors.  Private to the engine.
 */
#ifndef ENGINE_RELAY_H
#define ENGINE_RELAY_H

#include "engine/run.h"

#include <poll.h>

enum { RELAY_STREAMS = 3 };

struct relay;

/*
 * Look at descriptors 0-2 and make the pipes that are needed: the payload's
 * ends are run->payload_stdio, run->relay is NULL when there is none.  Refuses
 * descriptors that no payload of a profile may have.
 */
int relay_prepare(struct run *run, struct error *err);

/*
 * In the monitor, with the payload's ends closed: what to wait for next, one
 * entry a stream (fd negative: nothing), and what to do with what came.
 */
void relay_watch(const struct relay *relay, struct pollfd *ret_watches);
void relay_move(struct relay *relay, const struct pollfd *watches);

/*
 * The payload has ended: whoever still has an end of a pipe is not waited
 * for.  False when all that was written has been passed on.
 */
bool relay_ending(struct relay *relay);

/*
 * Close everything and fill run->output.  A failure to write for the payload
 * (a full disk) is negative, with @err filled.
 */
int relay_finish(struct run *run, struct error *err);

/*
 * Started by root, the payload is another user: let it open the pipes at its
 * descriptors 0-2 by name (/dev/stdout), the caller's too.
 */
int relay_give(struct run *run, struct error *err);

#endif
