/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ENGINE_STAGES_H
#define ENGINE_STAGES_H

#include "engine/run.h"

/* The stages of a run, in order; engine.c has the table. */
enum stage {
	STAGE_PREPARE,     /* monitor: signals, descriptors, the host's part */
	STAGE_SPAWN,       /* monitor: the child and its namespaces */
	STAGE_MAP_IDS,     /* who may: id maps */
	STAGE_GATHER,      /* child: every source, once */
	STAGE_SWITCH_ROOT, /* child: the new root, the host gone */
	STAGE_ASSEMBLE,    /* child: the operations in order */
	STAGE_IDENTITY,    /* child: host name, loopback, nesting */
	STAGE_CONFINE,     /* child: limits, capabilities, filter */
	STAGE_INIT,        /* child: become PID 1 */
	STAGE_EXEC,        /* payload: the rest, exec */
	STAGE_COUNT
};

/* --verbose: one line about a stage; nothing without a log descriptor. */
void stages_log(const struct run *run, int stage, const struct error *err);

#endif
