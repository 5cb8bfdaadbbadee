/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who refused, and what to do about it: asked when a set-up has failed, and
 * never before.  Private to the engine.
 */
#ifndef ENGINE_DIAGNOSE_H
#define ENGINE_DIAGNOSE_H

#include "engine/run.h"

/*
 * Called in the monitor, which sees the host as the caller does: gives @err
 * the condition that explains it, if one is found and nobody has explained it
 * yet.  @err->stage says in which stage it failed.
 */
void diagnose(const struct run *run, struct error *err);

/* The operation @op (NULL: none) made no progress. */
void diagnose_hung(const struct run *run, const struct op *op,
		   struct error *err);

/*
 * A filter that kills would end the monitor without a word in its clone3(2):
 * where there is a filter, another process tries first.
 */
int diagnose_before_spawn(const struct run *run, struct error *err);

#endif
