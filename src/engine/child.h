/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the child has while it builds the sandbox, and the steps that do it.
 * Private to the engine; every step is called once, in the order of
 * engine.c's table, and leaves @err filled when it is negative.
 */
#ifndef ENGINE_CHILD_H
#define ENGINE_CHILD_H

#include "engine/run.h"

/* The kernel object behind an operation, got in the host's view. */
struct source {
	int mount;     /* detached tree, or -EBADF */
	mode_t type;   /* S_IFMT bits of the source */
	bool skipped;  /* optional and not there */
	bool is_told;  /* ... and the monitor knows */
	bool is_mapped; /* cloned and id-mapped before the child existed */
	int upper, work;          /* overlay: O_PATH */
	LIST_OF(int) lowers;      /* overlay: O_PATH, bottom first */
	LIST_OF(int) devices;     /* OP_DEV: detached device nodes */
	const char *work_path;    /* overlay: op->work, or what was made */
	LIST_OF(int) staged;      /* overlay: id-mapped clones that hold the
				   * layers, to be attached before */
};

/* A tmpfs of our own that the plan wants read-only in the end. */
struct sealed {
	int mount;        /* -EBADF: done */
	const char *dest; /* where it is mounted */
};

/* What stands in for something that is hidden; all are read-only. */
enum blank {
	BLANK_DIRECTORY, /* empty */
	BLANK_CLOSED_DIRECTORY, /* ... and may not be entered or read */
	BLANK_CLOSED_FILE,
	BLANK_COUNT
};

struct child {
	struct run *run;
	const struct plan *plan;
	struct arena *arena;
	struct source *sources; /* run->sources: one an operation */
	int root;               /* O_PATH of the new root, -EBADF before */
	uint64_t root_id;       /* the mount that it is in */
	int procfs;             /* the host's /proc, see sys/proc.h */
	size_t next;            /* first operation that is not done */
	int blank;              /* tmpfs with the empty objects behind masks */
	int spares[BLANK_COUNT]; /* clones of these that have no place yet */
	LIST_OF(struct sealed) seals;
	LIST_OF(uint64_t) own_mounts; /* ids of tmpfs that we made: nothing in
				       * them is the payload's or the host's */
	LIST_OF(uint64_t) memory_mounts; /* overlays whose upper layer is in
					  * memory */
};

static inline bool child_is_bwrap(const struct child *child)
{
	return child->plan->rules == PLAN_RULES_BWRAP;
}

/* "bind '/srv' on '/data'": the operation, for error texts. */
const char *op_describe(struct arena *arena, const struct op *op);
/*
 * Put the operation and its origin before the text (a profile's rules), or
 * leave the text alone (bubblewrap's, which says everything itself).
 */
int op_fail(const struct child *child, const struct op *op, struct error *err);
/* Under bubblewrap's rules replace the text, not the errno. */
int op_say(const struct child *child, struct error *err, const char *format,
	   ...) __attribute__((format(printf, 3, 4)));

/* gather.c */
void gather_init(struct run *run);
struct mountfd_attr;
void gather_attr(const struct plan *plan, const struct op *op,
		 struct mountfd_attr *ret_attr);
int gather_open(const struct plan *plan, const struct op *op, const char *path,
		struct error *err);
int gather_clone(const struct plan *plan, const struct op *op,
		 struct error *err);
/* @mount is the error of an optional source that the caller cannot have. */
bool gather_may_skip(const struct plan *plan, const struct op *op, int mount);
/*
 * @fd is what the payload may write of @source: it has to be what the rules
 * were asked about, and its type decides the mount point.
 */
int gather_check(const struct op *op, struct source *source, int fd,
		 struct error *err);
/* gather_root.c */
int gather_outside(struct run *run, struct error *err);
/* Say in @err, which has the cause, that @path cannot be id-mapped. */
int gather_fail_idmap(const char *path, struct error *err);
int gather_sources(struct child *child, struct error *err);

/* overlay.c: the detached overlay for @op from its gathered layers. */
int overlay_mount(struct child *child, const struct op *op,
		  struct source *source, struct error *err);

/* layers.c: why it cannot be had. */
/*
 * Is something mounted below a layer, which an id-mapped clone of it would
 * leave out?  Only then @err is filled.
 */
bool layers_have_mount(const struct child *child, const struct op *op,
		       struct error *err);
/* The mount failed with @err: put there what is wrong with the layers. */
void layers_explain(const struct child *child, const struct op *op,
		    const struct source *source, struct error *err);

/* point.c: where an operation is mounted. */
/*
 * The object that @op is mounted on, made if it is missing; O_PATH.
 * @is_file: what is mounted is not a directory.
 */
int point_open(struct child *child, const struct op *op, bool is_file,
	       struct error *err);
/*
 * The directory of @op->dest, made if it is missing, with the mode that
 * bubblewrap's language gives parents; *ret_name is what is left of the path.
 */
int point_open_parent(struct child *child, const struct op *op,
		      const char **ret_name, struct error *err);
/* What is at @dest, O_PATH; -ENOENT, with @err untouched: nothing. */
int point_find(struct child *child, const char *dest, struct error *err);
/* @mount is a tmpfs of ours: mount points may be made in it. */
void point_is_own(struct child *child, int mount);
/*
 * Before anything is mounted: cover the directories of the root that lack a
 * mount point.
 */
int point_prepare_root(struct child *child, struct error *err);
/* @mount is an overlay over memory: likewise, but its symlinks are foreign. */
void point_is_memory(struct child *child, int mount);

/* root.c: @mount becomes "/", what was "/" is gone. */
int root_replace(struct child *child, int mount, struct error *err);
/* Everything is mounted: "/" is the last that was given to root_replace(). */
int root_settle(struct child *child, struct error *err);
/* Attach @mount on @point, called @path; on "/", however named, replace it. */
int root_attach(struct child *child, int mount, int point, const char *path,
		struct error *err);
/*
 * Clone @name out of @tmpfs, a mount of ours that is attached nowhere.  Before
 * Linux 6.15 that takes attaching it for a moment, and then *@tmpfs is
 * another mount of the same file system.
 */
int root_clone(int *tmpfs, const char *name, struct error *err);
/*
 * Attach @mount in the host's tree, out of everybody's way, until the root is
 * replaced: only what is attached in this mount namespace can be a layer of
 * an overlay.  On ROOT_STAGE: all that was wanted from there is gathered.
 */
#define ROOT_STAGE "/dev"
int root_stage(int mount, struct error *err);

/* file.c: the operations that are no mounts, or filled from descriptors */
int file_dir(struct child *child, const struct op *op, struct error *err);
int file_write(struct child *child, const struct op *op, struct error *err);
int file_bind_data(struct child *child, const struct op *op,
		   struct error *err);
int file_symlink(struct child *child, const struct op *op, struct error *err);
int file_chmod(struct child *child, const struct op *op, struct error *err);

/* protect.c: a name below the workspace that stays as it is. */
int protect_place(struct child *child, const struct op *op,
		  struct error *err);

/* identity.c: who the payload is. */
int identity_choose(struct run *run, struct error *err);
uint64_t identity_clone_flags(const struct run *run);
int identity_map_outside(struct run *run, struct error *err);
int identity_map_self(struct child *child, struct error *err);
int identity_switch(struct child *child, struct error *err);
int identity_settle(struct child *child, struct error *err);

/* join.c: namespaces of others. */
struct proc_clone;
int join_before(struct run *run, struct error *err);
int join_spawn(struct run *run, struct proc_clone *args, struct error *err);
int join_ids(struct child *child, struct error *err);
int join_second(struct child *child, struct error *err);

/* confine.c: what the payload may no longer do. */
int confine_child(struct child *child, struct error *err);
int confine_payload(struct child *child, struct error *err);

/* fence.c: Landlock. */
int fence_raise(struct child *child, struct error *err);

/* verify.c: what the kernel says of what was done. */
void verify_note_namespaces(struct run *run);
int verify_namespaces(const struct child *child, struct error *err);
int verify_mount(const struct plan *plan, int mount, const struct op *op,
		 struct error *err);
int verify_limits(const struct child *child, struct error *err);

/* resources.c: limits that take a control group. */
int resources_prepare(struct run *run, struct error *err);
int resources_attach(struct run *run, struct error *err);
int resources_inside(struct child *child, struct error *err);
/*
 * Everything inside is dead: remove the control group, if there (still) is one.
 * Returns 0 or a negative errno with @err filled, after which it can be tried
 * again.
 */
int resources_remove(struct run *run, struct error *err);
enum { RESOURCES_FDS_MOST = 9 };
/* The group's descriptors; how many. */
size_t resources_fds(const struct run *run, int *ret_fds);

/* program.c: why a program does not start. */
/* The operation that decides what is seen at @path; NULL: the root. */
const struct op *program_op_showing(const struct plan *plan, const char *path);
/*
 * Is @path hidden by a mask?  Then @err names it, and the line that shows
 * @path again.
 */
bool program_explain_hidden(const struct child *child, const char *path,
			    struct error *err);
/* exec(2) of @path failed with @err->code: say more of it, where there is. */
void program_explain(const struct child *child, const char *path,
		     struct error *err);

/* payload.c: cwd, command, exec. */
int payload_find(struct child *child, struct error *err);
_Noreturn void payload_run(struct child *child);

/* host.c: what has to be on the host before anything starts. */
int host_prepare(struct run *run, struct error *err);

/* holder.c: names in a writable workspace, for the time of the run. */
int holder_prepare(struct run *run, struct error *err);

/* assemble.c */
/* Make the tmpfs at or below @top read-only that shall be. */
int assemble_seal(struct child *child, const char *top, struct error *err);
int assemble_root(struct child *child, struct error *err);
int assemble_ops(struct child *child, struct error *err);

/* apifs.c: tmpfs, /dev, and empty objects, of which each call makes one. */
int apifs_tmpfs(struct child *child, const struct op *op, bool bounded,
		struct error *err);
int apifs_blank(struct child *child, enum blank blank, struct error *err);
int apifs_dev(struct child *child, const struct op *op, struct source *source,
	      struct error *err);
int apifs_gather_dev(struct arena *arena, const struct plan *plan,
		     struct source *source, struct error *err);

/* kernelfs.c: /proc, and what a root shows of the host's /sys in a profile. */
int kernelfs_proc(struct child *child, const struct op *op,
		  struct source *source, struct error *err);
int kernelfs_sys(struct child *child, struct error *err);

#endif
