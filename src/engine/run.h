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
#include "sys/cgroup.h"

#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

enum message_kind {
	/* child or payload -> monitor */
	MESSAGE_ERROR,   /* the set-up or the exec failed: @error */
	MESSAGE_SKIPPED, /* an optional operation was left out: @index */
	MESSAGE_BORN,    /* to engine/join.c: its sender is the child */
	MESSAGE_PAYLOAD, /* sent by the payload itself right before exec, if
			  * report_wants_payload(): its credentials
			  * (SCM_CREDENTIALS) are its host pid */
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
		struct {
			int signal;
			bool to_group; /* to the payload's process group, if
					* it leads one */
		};
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
	bool by_name;         /* whatever has the name; else only if it still
			       * is this object: */
	dev_t dev;
	ino_t ino;            /* 0: not confirmed */
	uint64_t born;        /* CLOCK_REALTIME, nanoseconds; 0: unknown */
	uint64_t announced;   /* the same clock */
	bool is_void;         /* was not made */
	bool is_shared;       /* removed by the last run that has a lock on it:
			       * @lock_fd, -EBADF before it is had */
	int lock_fd;
};

/* Who the payload is, decided by identity_choose() before the spawn. */
struct run_ids {
	bool new_userns;      /* a user namespace is made */
	bool parent_maps;     /* the monitor writes the id maps */
	bool switches;        /* the child becomes @host_uid (started by root) */
	bool is_host_root;    /* the payload's host id is root's after all */
	bool id_maps_mounts;  /* OP_ID_MAPPED sources are shown as @host_uid's */
	uint32_t inside_uid, inside_gid; /* as the payload sees itself */
	uint32_t host_uid, host_gid;     /* what it is out here */
};

/* A classic BPF program; owned by the arena. */
struct filter {
	const void *data;
	size_t size; /* bytes */
};

/* Written by the child, read by the monitor when a set-up takes too long. */
struct progress {
	volatile int stage;         /* index for engine_stage_name() */
	volatile size_t op;         /* operation at work, or SIZE_MAX */
	volatile int landlock_abi;  /* that was applied; 0: none */
};

struct run {
	const struct plan *plan;
	const struct engine_options *options;
	struct arena *arena;

	/* prepare */
	uint64_t started;      /* CLOCK_BOOTTIME, nanoseconds */
	struct timespec created_at; /* the same moment, CLOCK_REALTIME */
	/*
	 * The caller's pid when we started, as seen here: 0 when it lives
	 * outside of this pid namespace.  Then, and where pidfd_open(2) is
	 * refused, @caller_pidfd is -EBADF.
	 */
	pid_t caller;
	int caller_pidfd;
	/* What prepare_payload() gives the payload. */
	sigset_t payload_mask;
	sigset_t payload_ignored;
	mode_t payload_umask;
	unsigned closed_stdio; /* bit n: descriptor n was closed */
	sigset_t caller_ignored; /* signals that the caller had ignored */
	char **environment;    /* the payload's, NULL-terminated */
	/*
	 * Looked up under bubblewrap's rules without --chdir only; NULL when
	 * it cannot be named.
	 */
	const char *caller_cwd;

	/*
	 * Descriptors that become the payload's 0-2 (ends of the relay's
	 * pipes); -EBADF: the caller's own.  The child closes all of them
	 * but in the payload.
	 */
	int payload_stdio[3];
	struct relay *relay;   /* NULL: all of them are the caller's own */

	/* BPF programs (`seccomp = FILE`, bubblewrap's), in order. */
	LIST_OF(struct filter) filters;

	struct run_ids ids;
	uint64_t caller_caps; /* bubblewrap's rules: root's effective set */
	ino_t ns_inodes[NS_COUNT]; /* the launcher's namespaces; 0: unknown */
	bool has_cgroup;
	struct cgroup cgroup;      /* of the run, with @has_cgroup */
	struct cgroup_usage group_usage; /* of that, at the end */

	/* spawn */
	bool child_waits;      /* the child waits for MESSAGE_GO, which
				* monitor_run() sends when what must be published
				* before is published */
	struct progress *progress; /* shared with the child */
	int monitor_socket;    /* closed in the child */
	int child_socket;      /* closed in the monitor */
	pid_t child;           /* host pid */
	int child_pidfd;       /* -EBADF where a kernel has none, proc_clone() */

	LIST_OF(struct leftover) leftovers;
	int janitor_socket;    /* -EBADF: no janitor */
	int janitor_pidfd;
	pid_t janitor;             /* not waited for while there is a pidfd */
	/* Locks on the host (an overlay's upper layer): the monitor and the
	 * janitor keep them open until the end. */
	LIST_OF(int) locks;

	struct commit *commit;   /* engine/commit.h; NULL: not asked for */
	struct results *results; /* engine/results.h; NULL: none wanted */

	/* One an operation: what was opened for it (engine/child.h). */
	struct source *sources;

	/* child */
	LIST_OF(int) init_fds; /* what init_run() keeps open */
	int oom_fd, oom_before; /* proc_give_up_later(); -EBADF: not asked */
	int children_fd;       /* list of the reaper's children, without a pid
				* namespace; -EBADF otherwise */

	struct report *report; /* open records; NULL before report_open() */
	/*
	 * By enum limit_kind, what holds a limit: "cgroup", "rlimit",
	 * "none"; NULL: what usually holds it.
	 */
	const char *enforced[LIMIT_COUNT];

	/*
	 * Descriptors that monitor_run() leaves open, besides those it finds
	 * elsewhere in here.
	 */
	LIST_OF(int) monitor_fds;

	/* monitor: what it learns on the way */
	pid_t payload;         /* host pid, 0 before exec */
	LIST_OF(size_t) skipped;
	struct {
		bool is_counted; /* what is written passes the launcher */
		uint64_t passed, dropped; /* bytes, stdout and stderr */
	} output;
};

/* ---- message.c ------------------------------------------------------------ */

/* The socket pair: run->monitor_socket and run->child_socket. */
int run_connect(struct run *run, struct error *err);
/*
 * Send one message; @err is filled on failure.  EPIPE: the other is gone.
 * Blocks while the socket is full, except for MESSAGE_SIGNAL (EAGAIN).
 */
int run_send(int socket, const struct message *message, struct error *err);
/*
 * Receive one message.  Returns 1 with it, 0 at end of file, negative errno.
 * @ret_sender (may be NULL) gets the sender's pid as seen here.  Under
 * bubblewrap's rules the other side is not to be trusted: what is returned
 * has a known kind, the size of that kind, and ended strings.
 */
int run_receive(int socket, struct message *ret_message, pid_t *ret_sender,
		struct error *err);

/*
 * Does somebody of ours stay beside the payload inside: PID 1, or under
 * bubblewrap's rules a reaper?  Otherwise the child itself becomes the payload.
 */
bool run_has_init(const struct run *run);
/* Does what is inside have a pid namespace of its own, so that it dies with
 * its first process? */
bool run_has_pid_namespace(const struct run *run);
/* Does the end of the caller or of the monitor end everything inside? */
bool run_dies_with_monitor(const struct run *run);

/* ---- prepare.c ------------------------------------------------------------ */

/*
 * Called first, in the monitor.  Normalises signal state (default actions,
 * what the monitor listens to is blocked), umask (0: files are made with the
 * mode that is asked for) and descriptors 0-2 (closed ones become /dev/null),
 * finds the caller, computes the environment.  Fills the members of struct
 * run under "prepare".
 */
int prepare_run(struct run *run, struct error *err);
/*
 * Called in the payload, after its last change of ids and before its
 * descriptors are closed: gives it 0-2, signal mask, ignored signals and
 * umask, and lets it die with its parent where everything is to.
 */
int prepare_payload(const struct run *run, struct error *err);

/*
 * monitor.c: watch until the run is over; write the records.  Everything
 * inside is dead when it returns (bubblewrap's rules: as described there).
 */
int monitor_run(struct run *run, struct engine_outcome *ret_outcome,
		struct error *err);

/* ---- init.c --------------------------------------------------------------- */

/*
 * Called first thing in the child: closes the monitor's end of the socket,
 * and unless the run may outlive its monitor asks for SIGKILL when the monitor
 * ends.  -EPIPE: it has ended already.
 */
int init_begin(struct run *run, struct error *err);
/* Wait for --block-fd, the last step of the set-up but for init_ready(). */
void init_wait_block_fd(struct run *run);
/*
 * Called right before the payload is forked, after the last change of ids and
 * capabilities, with the payload's working directory: takes the locks of
 * --lock-file, becomes non-dumpable (a profile's rules) and arms the
 * parent-death signal again.  Not called when !run_has_init().
 */
int init_ready(struct run *run, struct error *err);
/*
 * Be PID 1 (or a plain reaper) for @payload; never returns.  Called in the
 * child right after it has forked @payload.  @procfs is the host's.
 */
_Noreturn void init_run(struct run *run, pid_t payload, int procfs);

/* ---- report.c ------------------------------------------------------------- */

/*
 * The launch failed with @cause before monitor_run() was called: write that
 * into the records.  monitor_run() writes its own.
 */
void report_failed(struct run *run, const struct error *cause);
/* Has somebody asked for what MESSAGE_PAYLOAD tells? */
bool report_wants_payload(const struct run *run);

/* ---- janitor.c ------------------------------------------------------------ */

/*
 * @what is about to be made: called right before, with its dev and ino
 * still 0.  Starts the janitor if it does not run yet; name and directory are
 * copied.  Then either janitor_made() (unless it is by_name) or
 * janitor_forget(), before the next one.  janitor_made() takes @lock over, a
 * descriptor with a shared flock(2) for what is_shared, otherwise negative.
 */
int janitor_expect(struct run *run, const struct leftover *what,
		   struct error *err);
int janitor_made(struct run *run, int lock, struct error *err);
void janitor_forget(struct run *run);
/* Number @index of run->leftovers is not removed after all. */
void janitor_keep(struct run *run, size_t index);
/* run->cgroup is there, and nothing has been announced yet. */
int janitor_group(struct run *run, struct error *err);
/* Have the janitor keep a copy of @fd open (a lock) until the end. */
int janitor_hold(struct run *run, int fd, struct error *err);
/* The child is there: nothing is removed before it has ended. */
int janitor_watch(struct run *run, struct error *err);
/*
 * Everything inside is dead: remove the placeholders among run->leftovers
 * before the workspace is looked at.
 */
void janitor_tidy(struct run *run);
/*
 * The run is over, or never began: remove run->leftovers and the control
 * group, and end the janitor.  @err names the first that could not be removed.
 */
int janitor_finish(struct run *run, struct error *err);

/*
 * filters.c: read the programs that the plan names into run->filters.
 */
int filters_read(struct run *run, struct error *err);

/*
 * child.c: everything from the first instruction of the child to init_run().
 * Never returns.
 */
_Noreturn void child_run(struct run *run);

#endif
