/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A workspace, a profile and what it takes to run a command in them: what
 * nearly every test of the built program begins with.
 *
 *     struct box *box = box_make();
 *
 *     box_profile(box, "[limits]\nopen-files = 20\n");
 *     o = BOX_RUN(box, "sh", "-c", "ulimit -n");
 *     expect_exit(o, 0);
 *     box_expect_clean(box);
 */
#ifndef RUN_BOX_H
#define RUN_BOX_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/program.h"

#define PYTHON "/usr/bin/python3"

struct host;

struct box {
	const char *top;     /* a scratch directory of mode 0700; below it: */
	const char *work;    /* the workspace, empty, mode 0700 */
	const char *conf;    /* where the profile is */
	const char *profile; /* box_profile() writes it */
	const char *marker;  /* a file in the workspace: BOX_MARK makes it */
	const struct host *host; /* before the test did anything */
};

struct box *box_make(void);

/* The same with a workspace of this name: blanks, quotes, anything. */
struct box *box_make_named(const char *name);

/*
 * What is to be changed, in the workspace: the files kept, changed, deleted,
 * dir/old and dir/sub/old, each with the line "before" in it, or "kept".
 */
void box_fill(const struct box *box);

/*
 * The profile: masks over /home, /root, /run and /tmp, the workspace, and
 * behind them the lines of the text.  box_make() writes one without any.
 */
void box_profile(struct box *box, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The profile is this text and nothing else. */
void box_profile_alone(struct box *box, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * box_profile() for an overlay whose upper layer, "upper" in @top, is made if it
 * is not there; with the lines of @more behind it.  Returns the upper layer.
 */
const char *box_overlay(struct box *box, const char *more);

/* The command line that runs a command in the box. */
#define BOX_ARGV(box, ...)                                               \
	ARGV(sbx_launch(), "--profile", (box)->profile, "--", __VA_ARGS__)

#define BOX_RUN(box, ...)                                                \
	program_run(&(struct program){ .argv = BOX_ARGV(box, __VA_ARGS__) })

/* The same for a shell's or Python's program text. */
#define BOX_SH(box, text) BOX_RUN(box, "sh", "-c", text)
#define BOX_PYTHON(box, ...) BOX_RUN(box, PYTHON, "-c", __VA_ARGS__)

/* A command that says, on stdout and in the workspace, that it ran. */
#define BOX_MARK "sh", "-c", "echo ran; true >ran"

/* "word" with quotes and backslashes for a value of a profile. */
const char *box_quoted(const char *word);

/* Claim that nothing is left of the runs: mounts, processes, descriptors. */
void box_expect_clean(const struct box *box);

/*
 * That, and of a commit: neither its place nor a work directory, and the upper
 * layer of box_overlay() is empty.
 */
void box_expect_tidy(const struct box *box);

/*
 * Claim that BOX_MARK was refused with exit status @status before anything of
 * it ran, that nothing is left, and that the message is one of ours and has
 * each of the texts, of which the last is followed by NULL.
 */
void box_expect_refused(const struct box *box, const struct outcome *outcome,
			int status, ...) __attribute__((sentinel));

/* That of the box's profile. */
#define BOX_EXPECT_REFUSED(box, ...)                                     \
	box_expect_refused(box, BOX_RUN(box, BOX_MARK), 125, __VA_ARGS__, \
			   NULL)

/*
 * Claim that find(1) says this of @path and all below it: a line each in its
 * -printf @format, of which the third word is the name.
 */
void expect_found(const char *path, const char *format, const char *expected);

/* Type, mode, name, and where a link leads. */
#define expect_listing(path, expected)                                   \
	expect_found(path, "%y %m %P %l\\n", expected)

/* Skip the test for whoever is not the host's root. */
void box_need_root(void);

/*
 * Skip the test for whoever cannot mount; for the others the test gets a
 * mount namespace of its own.  Before box_make().
 */
void box_need_mounts(void);

/* What @text has behind the line that begins with @name, without blanks. */
const char *box_field(const char *text, const char *name);

#endif
