/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a plan meets on this machine, as plain data: found out by engine/ and
 * front/ without changing anything, written down by print/.  Everything lives
 * in the plan's arena.
 */
#ifndef PLAN_SURVEY_H
#define PLAN_SURVEY_H

#include "plan/plan.h"

struct survey_stage {
	const char *name;
	const char *where; /* the process that runs it */
	const char *calls; /* the system calls that do it */
};

/* A mount of the host's that a recursive bind carries along. */
struct survey_mount {
	size_t op;         /* of the bind */
	const char *place; /* inside */
	const char *type;  /* of its file system */
	bool is_hidden;    /* by a later operation */
};

/* A socket or a FIFO that can be reached by its name. */
struct survey_endpoint {
	const char *path; /* inside */
	bool is_fifo;
};

/* A supplementary group of the caller's that still opens files inside. */
struct survey_group {
	uint32_t gid;
	const char *name;  /* NULL: it has none */
	const char *power; /* what its members can do; NULL: nothing known */
};

/* What would hold a limit: @by, or NULL and why nothing does. */
struct survey_limit {
	const char *by, *why_not;
};

struct survey {
	LIST_OF(struct survey_stage) stages;
	LIST_OF(struct survey_mount) mounts;
	const char *mounts_unknown; /* why they could not be read, or NULL */
	LIST_OF(struct survey_endpoint) endpoints;
	bool endpoints_cut;         /* there may be more */
	LIST_OF(struct survey_group) groups;
	bool groups_dropped;        /* since root starts it */
	struct survey_limit limits[LIMIT_COUNT]; /* set in the plan or not */
	const char *engine;         /* what mounts are made with, and why */
	bool has_seccomp;
	int landlock_abi;           /* 0: none */
	bool shows_other_owners;    /* id-mapped mounts are used */
};

#endif
