/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The plan: what one run is to be, as plain data.
 *
 * Front ends write it, plan/order.c and plan/check.c finish and check it, the
 * printers read it, the engine runs it.  It holds no kernel object except
 * numbers of descriptors that the caller passed in, and nothing in this
 * folder makes a system call.
 *
 * Everything a plan points to lives in its arena.  Members are public: a plan
 * is filled through the constructors below and read directly.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "base/error.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- where something was asked for -------------------------------------- */

enum origin_kind {
	ORIGIN_BUILTIN,  /* nobody asked: a default */
	ORIGIN_FILE,     /* @name is the profile, @number the line */
	ORIGIN_ARGUMENT, /* @number is the argument, from 1 */
	ORIGIN_SET,      /* --set: @name is SECTION.KEY; a shorthand: as it
			  * was given, "--workspace", "--env TOKEN" */
	ORIGIN_ARGS_FD,  /* word @number of the file behind --args @name */
	ORIGIN_COUNT
};

struct origin {
	enum origin_kind kind;
	unsigned number;
	const char *name;
};

/* "py.ini:12", "argument 3", "--set mask.tmpfs", "default" */
const char *origin_text(struct arena *arena, const struct origin *origin);

/* ---- operations on the file system -------------------------------------- */

/* What tells one file from another on the host; all zero: not known. */
struct file_id {
	uint64_t device, inode;
};

enum op_kind {
	OP_BIND,        /* @source on @dest, recursive */
	OP_BIND_FD,     /* what descriptor @fd shows, on @dest */
	OP_REMOUNT_RO,  /* the one mount at @dest becomes read-only */
	OP_OVERLAY,     /* @lowers below @upper (with @work) on @dest */
	OP_TMP_OVERLAY, /* @lowers below memory (@size, @inodes) */
	OP_RO_OVERLAY,  /* @lowers, read-only */
	OP_PROC,        /* the pid namespace's procfs */
	OP_DEV,         /* a small /dev with its own devpts */
	OP_TMPFS,       /* empty directory: @mode @size @inodes */
	OP_MQUEUE,      /* POSIX message queues */
	OP_DIR,         /* a directory with @mode */
	OP_FILE,        /* a file with @mode, filled from @fd */
	OP_BIND_DATA,   /* a private file with @mode, filled from @fd, bound */
	OP_SYMLINK,     /* @dest -> @target */
	OP_CHMOD,       /* @mode on @dest */
	OP_HIDE,        /* @dest, whatever it is, empty and unreadable */
	OP_PROTECT,     /* @dest, below the workspace, read-only by name */
	OP_COUNT
};

enum op_flags {
	OP_READ_ONLY = 1 << 0,
	OP_DEVICES = 1 << 1,   /* device nodes work in it */
	OP_OPTIONAL = 1 << 2,  /* a missing source is skipped (and reported) */
	OP_NO_FOLLOW = 1 << 3, /* the source itself may not be a symlink */
	OP_ID_MAPPED = 1 << 4, /* when the launcher picks a host id for the
				* payload, the owner of the source is shown
				* as that id: reads and writes are the
				* owner's */
};

/* The engine runs phases in this order; within one, plan/order.c decides. */
enum op_phase {
	PHASE_ROOT,   /* what is mounted on / */
	PHASE_SYSTEM, /* /proc, /dev, the parts of a minimal root */
	PHASE_VIEW,   /* masks, layers, the workspace: most specific last */
	PHASE_MOUNTS, /* as written */
	PHASE_COUNT
};

enum op_role {
	ROLE_PLAIN,
	ROLE_MASK,
	ROLE_LAYER,
	ROLE_WORKSPACE,
	ROLE_PROTECT,
	ROLE_COUNT
};

enum { OP_MODE_NONE = ~0U };

struct op {
	enum op_kind kind;
	enum op_phase phase;
	enum op_role role;
	unsigned flags;         /* enum op_flags */
	struct origin origin;
	/*
	 * Where it goes, inside.  Under PLAN_RULES_PROFILE a normal path
	 * (path_is_normal()); under bubblewrap's rules as written.
	 */
	const char *dest;
	/*
	 * @dest with the symlinks of the root's source resolved, when that
	 * differs ("/var/run" -> "/run"); NULL otherwise.  Filled by
	 * front/host.c for the sake of order and of messages: the engine
	 * resolves again, by descriptor.
	 */
	const char *real_dest;
	const char *source;     /* host path; relative ones to the caller's cwd */
	struct file_id source_id; /* of a writable source, for plan/check.c */
	const char *target;     /* text of a symlink */
	const char *upper, *work;
	LIST_OF(const char *) lowers; /* bottom first */
	int fd;                 /* -EBADF when unused */
	unsigned mode;          /* permission bits or OP_MODE_NONE */
	uint64_t size, inodes;  /* of a tmpfs; 0: default */
};

/* ---- namespaces and ids -------------------------------------------------- */

enum ns_kind {
	NS_USER, NS_MOUNT, NS_PID, NS_NET, NS_IPC, NS_UTS, NS_CGROUP, NS_COUNT
};

enum ns_want {
	NS_WANT_HOST, /* the caller's */
	NS_WANT_NEW,  /* a new one, or the run fails */
	NS_WANT_TRY,  /* a new one where the kernel has it (bubblewrap only) */
	NS_WANT_JOIN, /* the one behind @fd (user and pid, bubblewrap only);
		       * with @also_new a further new one below it */
};

struct plan_ns {
	enum ns_want want;
	bool also_new;
	int fd;
	struct origin origin;
};

enum run_as {
	RUN_AS_AUTO,   /* root: an unprivileged host id; others: their own */
	RUN_AS_CALLER, /* the caller's own host id, root's too */
	RUN_AS_ID,     /* @run_uid, @run_gid */
};

struct plan_ids {
	bool has_uid, has_gid;
	uint32_t uid, gid;           /* seen inside */
	enum run_as run_as;
	uint32_t run_uid, run_gid;   /* host ids for RUN_AS_ID */
	struct origin run_as_origin;
};

/* ---- the rest -------------------------------------------------------------- */

enum env_kind {
	ENV_CLEAR, /* forget everything so far */
	ENV_KEEP,  /* the caller's variables that match @name ("LC_*") */
	ENV_SET,   /* @name=@value */
	ENV_UNSET, /* @name */
};

/* Steps that turn the caller's environment into the payload's, in order. */
struct env_step {
	enum env_kind kind;
	const char *name, *value;
	struct origin origin;
};

enum limit_kind {
	LIMIT_PROCESSES,     /* number */
	LIMIT_OPEN_FILES,    /* number */
	LIMIT_FILE_SIZE,     /* bytes */
	LIMIT_CPU_TIME,      /* milliseconds of CPU of one process */
	LIMIT_ADDRESS_SPACE, /* bytes */
	LIMIT_STACK,         /* bytes */
	LIMIT_CORE,          /* bytes */
	LIMIT_MEMLOCK,       /* bytes */
	LIMIT_MEMORY,        /* bytes, of the whole run */
	LIMIT_CPU,           /* per cent of one CPU, of the whole run */
	LIMIT_TIMEOUT,       /* milliseconds, wall clock */
	LIMIT_GRACE,         /* milliseconds */
	LIMIT_OUTPUT,        /* bytes a stream */
	LIMIT_COUNT
};

struct plan_limit {
	bool is_set, is_optional;
	bool has_note; /* LIMIT_OUTPUT: say on stderr what was dropped */
	uint64_t value;
	struct origin origin;
};

/* The profile's names of the limits ("open-files"), by enum limit_kind. */
extern const char *const limit_names[LIMIT_COUNT];

enum seccomp_mode { SECCOMP_NONE, SECCOMP_DEFAULT, SECCOMP_FROM_FILE };
enum tty_mode { TTY_INHERIT, TTY_NONE, TTY_KEEP };

struct plan_security {
	enum seccomp_mode seccomp;
	const char *seccomp_file;
	bool deny_unix_sockets;
	bool allow_nested_userns;
	enum tty_mode tty;        /* TTY_INHERIT: bubblewrap's default */
	LIST_OF(int) keep_fds;
	bool keep_all_fds;        /* bubblewrap's default */
	struct origin seccomp_origin, tty_origin, unix_origin;
	struct origin keep_origin; /* of the last */
};

enum workspace_mode {
	WORKSPACE_RW, WORKSPACE_RO, WORKSPACE_OVERLAY, WORKSPACE_EPHEMERAL,
	WORKSPACE_MODE_COUNT
};

struct workspace_protect {
	const char *path;  /* relative to the workspace, normal */
	struct origin origin;
};

/* What the profile says of the root; plan/order.c makes the operation. */
struct plan_root {
	const char *source;  /* NULL: "/" (and nothing when @is_none) */
	bool is_none;        /* an empty root instead */
	bool has_system;     /* with the host's /usr and its like in it */
	struct origin origin, system_origin;
};

/* What the profile says of the workspace; plan/order.c makes operations. */
struct plan_workspace {
	const char *source; /* NULL: none */
	const char *dest, *real_dest; /* as of an operation */
	struct file_id source_id;     /* of what is written: source or upper */
	struct file_id target_id;     /* of plan_commit_target() */
	enum workspace_mode mode;
	LIST_OF(const char *) lowers; /* the last on top */
	const char *upper, *work;     /* work NULL: made beside upper */
	LIST_OF(struct workspace_protect) protects;
	const char *export_dir;       /* NULL: none */
	bool commits;                 /* the changes, when the payload exits 0 */
	int commit_fd;                /* the caller agrees; -EBADF: unasked */
	struct origin origin, mode_origin, upper_origin, work_origin;
	struct origin lowers_origin, export_origin;
	struct origin commit_origin, commit_fd_origin;
};

struct plan_report {
	int status_fd;            /* -EBADF: none */
	const char *status_file, *audit_file, *changes_file;
	const char *run_id, *handle_id;
	struct origin status_origin, audit_origin, changes_origin;
};

/* A capability action of bubblewrap's language; @cap -1 means all. */
struct cap_step {
	bool is_add;
	int cap;
};

/* Descriptors and switches that only bubblewrap's language has. */
struct plan_bwrap {
	int userns2_fd, block_fd, userns_block_fd, info_fd, json_status_fd;
	int sync_fd, seccomp_fd;
	LIST_OF(int) seccomp_fds;        /* --add-seccomp-fd, in order */
	LIST_OF(const char *) lock_files;
	LIST_OF(struct cap_step) caps;
	bool as_pid_1, new_session, die_with_parent;
	bool disable_userns, assert_userns_disabled;
	bool not_a_security_boundary;
	bool level_prefix;
	const char *exec_label, *file_label;
};

/* Which rules hold for operations, defaults and descriptors. */
enum plan_rules {
	PLAN_RULES_PROFILE, /* a profile was given: see sbx-launch.ini(5) */
	PLAN_RULES_BWRAP,   /* bubblewrap's language alone */
};

struct profile_file {
	const char *path;        /* as opened */
	const char *description; /* or NULL */
	/* The file, and every directory on the way to it. */
	LIST_OF(struct file_id) chain;
};

struct plan {
	struct arena *arena;
	enum plan_rules rules;

	LIST_OF(struct profile_file) profiles; /* read, in order */
	struct profile_file launcher; /* the program itself; @path may be
				       * NULL: unknown */
	LIST_OF(struct profile_file) homes; /* the caller's directories; of
					     * one that is not there what
					     * there is of the way to it */
	struct profile_file filter; /* security.seccomp_file's directories */

	LIST_OF(struct op) ops;
	struct plan_root root;
	struct plan_workspace workspace;

	struct plan_ns ns[NS_COUNT];
	uint32_t caller_uid, caller_gid;
	struct plan_ids ids;
	const char *hostname;   /* NULL: leave it */
	struct origin hostname_origin;
	bool bring_up_loopback;

	LIST_OF(struct env_step) environment;
	struct plan_limit limits[LIMIT_COUNT];
	struct plan_security security;
	struct plan_report report;
	struct plan_bwrap bwrap;

	/*
	 * What is run.  @command[0] is looked up on PATH inside when it has
	 * no slash.  With an interpreter, @command[0] is its absolute path,
	 * and @script_index is the index of the script in @command; 0: none.
	 */
	LIST_OF(const char *) command;
	const char *argv0;      /* NULL: command[0] */
	const char *interpreter; /* as the profile wrote it, or NULL */
	LIST_OF(const char *) arguments; /* between it and the script */
	size_t script_index;
	const char *chdir;      /* NULL: see plan_rules */
	struct origin interpreter_origin, chdir_origin;
};

/* An empty plan with the defaults of @rules; lives in @arena. */
struct plan *plan_new(struct arena *arena, enum plan_rules rules);

/* A new operation with empty members, last in the list. */
struct op *plan_add_op(struct plan *plan, enum op_kind kind,
		       enum op_phase phase, struct origin origin);
void plan_add_env(struct plan *plan, enum env_kind kind, const char *name,
		  const char *value, struct origin origin);

/* Where the operation is mounted: real_dest, or dest. */
const char *op_place(const struct op *op);

/* The layer that a commit writes to, NULL without one. */
const char *plan_commit_target(const struct plan *plan);

/*
 * The payload's environment: the plan's steps applied to @caller (a
 * NULL-terminated array of NAME=VALUE).  NULL-terminated, owned by @arena.
 */
char **plan_environment(const struct plan *plan, struct arena *arena,
			char *const *caller);

/*
 * The value of the variable @name in @environment, NULL-terminated, which
 * keeps it; NULL: it is not set.
 */
const char *plan_environment_value(char *const *environment, const char *name);

#endif
