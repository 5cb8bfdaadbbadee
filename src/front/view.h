/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What an ordered plan will show at a path inside, in terms of the host's
 * files; nothing is mounted to find out.
 */
#ifndef FRONT_VIEW_H
#define FRONT_VIEW_H

#include "plan/plan.h"

#include <sys/stat.h>

enum view_kind {
	VIEW_THERE,   /* the host's @host, described by @info */
	VIEW_MADE,    /* a directory that the set-up makes */
	VIEW_UNKNOWN, /* content that only the run knows: /proc, a descriptor */
	VIEW_HIDDEN,  /* @op, a mask, is in front of it */
	VIEW_MISSING, /* nothing is there */
	VIEW_LOST,    /* cannot be looked at: @code */
};

struct view {
	enum view_kind kind;
	const char *path;     /* inside, links followed as far as possible */
	const char *host;     /* VIEW_THERE, view_hangs(): of its host file */
	struct stat info;     /* VIEW_THERE */
	const struct op *op;  /* what decided it; NULL: nothing covers it */
	int code;             /* VIEW_LOST: errno */
};

/* Look up absolute @path, following symlinks as they lead inside. */
struct view view_look(const struct plan *plan, const char *path);

/* VIEW_LOST because a file system does not answer. */
bool view_hangs(const struct view *view);

/*
 * The error for a @view in which @path, a @what ("script"), cannot be used:
 * it is hidden (by which mask), not there, or cannot be looked at.  Exit
 * status 127, unless view_hangs().  Returns a negative errno with @err filled.
 */
int view_refuse(const struct plan *plan, const char *what, const char *path,
		const struct view *view, struct error *err);

#endif
