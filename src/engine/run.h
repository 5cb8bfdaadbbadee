/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One launch, as its processes share it.
 *
 *   monitor   the process that was exec'd; stays outside
 *   child     made by the monitor in the new namespaces; sets everything up,
 *             then becomes PID 1 (or, in bubblewrap's language without a pid
 *             namespace, the payload itself or a plain reaper)
 *   payload   forked by PID 1; applies the last restrictions and execs
 *   janitor   only where something on the host has to be removed at the end
 *             (an overlay's work directory, placeholders): a process outside
 *             that outlives the monitor and PID 1, whatever kills them
 *
 * struct run is filled by the monitor before the fork; afterwards each
 * process has its own copy.  The processes talk over one socket pair
 * (AF_UNIX, SOCK_SEQPACKET), one message a packet; end of file means that
 * the other side is gone.
 */
#ifndef ENGINE_RUN_H
#define ENGINE_RUN_H

#include "engine/engine.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

enum message_kind {
	/* child or payload -> monitor */
	MESSAGE_ERROR,   /* the set-up or the exec failed: @error */
	MESSAGE_SKIPPED, /* an optional operation was left out: @index */
	MESSAGE_PAYLOAD, /* sent by the payload itself right before exec: its
			  * credentials (SCM_CREDENTIALS) are its host pid */
	MESSAGE_EXITED,  /* PID 1: the payload ended with @wait_status */
	/* monitor -> child */
	MESSAGE_GO,      /* maps are written, go on */
	MESSAGE_SIGNAL,  /* PID 1: send @signal to the payload */
	MESSAGE_COUNT
};

struct message {
	enum message_kind kind;
	union {
		struct error error;
		size_t index;      /* of the operation in the plan */
		int signal;
		struct {
			int wait_status;
			struct rusage usage; /* of the payload and what it waited for */
		};
	};
};

/* Something on the host that must not stay: see engine/janitor.c. */
struct leftover {
	int parent_fd;        /* directory that holds it */
	const char *name;
	bool is_directory;
	bool is_work;         /* an overlay's work directory: with its content */
	dev_t dev;
	ino_t ino;            /* removed only if it still is this object */
};

/* Who the payload is, decided by identity_choose() before the spawn. */
struct run_ids {
	bool new_userns;      /* a user namespace is made */
	bool parent_maps;     /* the monitor writes the id maps */
	bool switches;        /* the child becomes @host_uid (started by root) */
	bool id_maps_mounts;  /* OP_ID_MAPPED sources are shown as @host_uid's */
	uint32_t inside_uid, inside_gid; /* as the payload sees itself */
	uint32_t host_uid, host_gid;     /* what it is out here */
};

/* Written by the child, read by the monitor when a set-up takes too long. */
struct progress {
	volatile int stage;         /* index for engine_stage_name() */
	volatile size_t op;         /* operation at work, or SIZE_MAX */
};

struct run {
	const struct plan *plan;
	const struct engine_options *options;
	struct arena *arena;

	/* prepare */
	pid_t caller;          /* the caller's pid when we started */
	int caller_pidfd;      /* its process; -EBADF when it cannot be had */
	sigset_t caller_mask;  /* signal mask to give back to the payload */
	mode_t caller_umask;
	char **environment;    /* the payload's, NULL-terminated */
	const char *caller_cwd; /* NULL when it cannot be named */

	/*
	 * Descriptors that become the payload's 0-2 (ends of the relay's
	 * pipes); -EBADF: the caller's own.  The child closes all of them
	 * but in the payload.
	 */
	int payload_stdio[3];

	struct run_ids ids;

	/* spawn */
	bool child_waits;      /* the child waits for MESSAGE_GO, which
				* monitor_run() sends when what must be published
				* before is published */
	struct progress *progress; /* shared with the child */
	int monitor_socket;    /* closed in the child */
	int child_socket;      /* closed in the monitor */
	pid_t child;           /* host pid */
	int child_pidfd;

	LIST_OF(struct leftover) leftovers;

	/* One an operation: what was opened for it (engine/child.h). */
	struct source *sources;

	/* monitor: what it learns on the way */
	pid_t payload;         /* host pid, 0 before exec */
	LIST_OF(size_t) skipped;
};

/* Send one message; @err is filled on failure.  EPIPE: the other is gone. */
int run_send(int socket, const struct message *message, struct error *err);
/*
 * Receive one message.  Returns 1 with it, 0 at end of file, negative errno.
 * @ret_sender (may be NULL) gets the sender's pid as seen here.
 */
int run_receive(int socket, struct message *ret_message, pid_t *ret_sender,
		struct error *err);

/*
 * prepare.c: normalise signal state, umask and descriptors 0-2 (closed ones
 * become /dev/null), find the caller, compute the environment, read data
 * descriptors.  Called first, in the monitor.
 */
int prepare_run(struct run *run, struct error *err);

/*
 * monitor.c: watch until the run is over; write the records.  Everything
 * inside is dead when it returns (bubblewrap's rules: as described there).
 */
int monitor_run(struct run *run, struct engine_outcome *ret_outcome,
		struct error *err);

/*
 * init.c: be PID 1 (or a plain reaper) for @payload; never returns.
 * Called in the child when everything is confined and @payload is forked.
 */
_Noreturn void init_run(struct run *run, pid_t payload);

/* janitor.c: start the process that removes run->leftovers at the end. */
int janitor_start(struct run *run, struct error *err);

/*
 * child.c: everything from the first instruction of the child to init_run().
 * Never returns.
 */
_Noreturn void child_run(struct run *run);

#endif
