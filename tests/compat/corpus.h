/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Command lines to compare, from the files in cases/.
 *
 *     case NAME
 *       run WORD...            the command line; further ones add words
 *       as root|user           who runs it; without: both
 *       setup SHELL-COMMAND    before the run, in @dir
 *       cwd PATH               without: @dir
 *       env NAME=VALUE...      on top of the usual ones; "-" empties
 *       fd N KIND [VALUE]      see below
 *       tty                    0 to 2 are a terminal
 *       input TEXT             what stdin holds
 *       new                    bubblewrap 0.8.0 lacks it: only expectations
 *       differs ASPECT REASON  exit, out, err, tree or fd may differ; why
 *       exit N                 expectations of sbx-launch, beside the
 *       out LINE               comparison; lines of out and err are whole
 *       err LINE               streams, in order
 *       out-has TEXT
 *       err-has TEXT
 *       fd-has TEXT            in what was written to a descriptor of "out"
 *
 * A line that begins with "#" is a comment.  Words are separated by blanks;
 * "..." knows \n \t \0 \" \\ and \e, '...' nothing.  In all words @dir is
 * the case's directory, @probe the probe, @uid and @gid the caller's ids, @ns
 * the caller's namespaces for the probe.
 *
 * Kinds of descriptors: "pipe TEXT" and "file TEXT" hold the text, "args
 * WORD..." words with a NUL byte behind each, "path PATH" is an O_PATH one,
 * "open PATH" opened for reading, "filter NAME" a BPF program, "out" is a
 * file that is compared afterwards, "ready" a pipe with one byte in it, "end"
 * a pipe at its end, "closed" none.
 */
#ifndef COMPAT_CORPUS_H
#define COMPAT_CORPUS_H

#include <stdbool.h>
#include <stddef.h>

struct words {
	const char **at;
	size_t count;
};

struct case_fd {
	int number;
	const char *kind;
	struct words values;
};

enum aspect {
	ASPECT_EXIT, ASPECT_OUT, ASPECT_ERR, ASPECT_TREE, ASPECT_FD,
	ASPECT_COUNT
};

extern const char *const aspect_names[ASPECT_COUNT];

struct compat_case {
	const char *file;
	unsigned int line;
	const char *name;
	struct words run, env, setup;
	struct words out, err, out_has, err_has, fd_has;
	const char *as, *cwd, *input;
	struct case_fd *fds;
	size_t fds_count;
	bool has_tty, is_new, has_exit;
	int exit;
	const char *differs[ASPECT_COUNT]; /* the reason */
};

/* All cases of all files in @directory, sorted by file; ends the test on a
 * fault in one. */
const struct compat_case *corpus_read(const char *directory,
				      size_t *ret_count);

#endif
