/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sockets and FIFOs that what runs inside can reach by their names. */
#ifndef FRONT_REACH_H
#define FRONT_REACH_H

#include "plan/survey.h"

/*
 * Fill the endpoints of @survey, sorted: the sockets that the kernel knows by
 * a path, and what is found in the first levels of the places where such
 * things are kept and of what the plan shows.  Opens directories and nothing
 * else.
 */
void reach_find(const struct plan *plan, struct survey *survey);

#endif
