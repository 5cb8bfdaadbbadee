/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Run a program, or a function in a process of its own, and see what it did.
 *
 *     const struct outcome *o = program_run(&(struct program){
 *             .argv = ARGV(sbx_launch(), "--profile", profile, script),
 *             .cwd = workspace });
 *     expect_exit(o, 0);
 *     cr_expect_str_eq(o->out, "hello\n");
 *
 * Everything returned lives as long as the test's process.  A fault of the
 * harness itself (no such program, no more processes) ends the test.
 */
#ifndef HARNESS_PROGRAM_H
#define HARNESS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "harness/refusal.h"

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

enum {
	PROGRAM_FDS = 16,
	PROGRAM_TIME_LIMIT = 30000, /* milliseconds */
};

/* A descriptor of the test and the number that the program sees it under. */
struct program_fd {
	int from;
	int to;
};

/*
 * What to start.  All zero but one of @argv and @call is a program in the
 * test's environment and directory, stdin empty, stdout and stderr caught,
 * no other descriptor, no signal blocked, in a session of its own, ended
 * after PROGRAM_TIME_LIMIT.
 */
struct program {
	/* Looked up along the test's PATH; ARGV() makes one. */
	const char *const *argv;

	/*
	 * Run in the new process, after everything below has been done to
	 * it.  With @argv it prepares the process and returns 0 for the exec
	 * to follow; alone, what it returns is the exit status.  It must not
	 * use Criterion; CHECK() says what failed on stderr and returns 1.
	 */
	int (*call)(const void *data);
	const void *data;

	const char *const *env; /* the whole environment; NULL: the test's */
	const char *const *set; /* NAME=VALUE on top of it; NULL: none */
	const char *cwd;        /* NULL: the test's */

	const void *input;      /* what it reads from stdin; NULL: nothing */
	size_t input_length;    /* 0: as a string */
	bool input_open;        /* stdin stays open: process_write() */

	/*
	 * Further descriptors, up to the first entry that is all zero; an
	 * entry for 0, 1 or 2 replaces the harness's own.  @from -1 closes.
	 */
	struct program_fd fds[PROGRAM_FDS];

	bool as_user;           /* as identity_user() where the test is root */
	bool pty;               /* 0-2 are a terminal, which it controls */
	bool same_session;      /* no session of its own */
	int unshare;            /* CLONE_* for unshare(2), not CLONE_NEWPID;
				 * with CLONE_NEWUSER it is root in there */
	const struct refusal *refuse; /* calls that fail; NULL: none */
	unsigned int time_limit; /* milliseconds; 0: PROGRAM_TIME_LIMIT */
};

/* What it did. */
struct outcome {
	int exit;               /* exit status, or 128 + the signal */
	int signal;             /* what killed it, 0: it exited */
	bool timed_out;         /* the harness killed it */
	bool held_open;         /* others kept stdout or stderr open for longer
				 * than the time limit, and were killed */
	char *out;              /* never NULL, a NUL byte behind the last */
	size_t out_length;
	char *err;
	size_t err_length;
	unsigned int end_ms;    /* from the start to the end of the process */
	unsigned int eof_ms;    /* from the start to the end of its output */
	struct rusage usage;
};

/* Start @program and wait for its end. */
const struct outcome *program_run(const struct program *program);

/* The same in steps. */
struct process;

struct process *process_start(const struct program *program);

pid_t process_pid(const struct process *process);

/* Add to its stdin (needs input_open), and end it. */
void process_write(struct process *process, const void *data, size_t length);
void process_close_input(struct process *process);

/*
 * Wait until its stdout (stderr) holds @text, at most until its time limit.
 * False when the stream ended or the time is over without that.
 */
bool process_await(struct process *process, const char *text);
bool process_await_err(struct process *process, const char *text);

/* What it wrote to stdout so far, as a string. */
const char *process_output(const struct process *process);

/* kill(2) on it; ends the test if that fails. */
void process_signal(const struct process *process, int signal);

/* Wait for its end; once a process. */
const struct outcome *process_finish(struct process *process);

/* Everything about @outcome as text, for a message. */
const char *outcome_describe(const struct outcome *outcome);

/*
 * Claims about an outcome, which may be a call and is made once; the message
 * shows all of it.
 */
#define outcome_claim(kind, call, claim, format, ...)                    \
	do {                                                             \
		const struct outcome *claimed = (call);                  \
									 \
		kind(claim, format ": %s", __VA_ARGS__,                  \
		     outcome_describe(claimed));                         \
	} while (0)

#define expect_exit(outcome, status)                                     \
	outcome_claim(cr_expect, outcome,                                \
		      claimed->exit == (status) && !claimed->timed_out,  \
		      "expected exit %d", (int)(status))
#define assert_exit(outcome, status)                                     \
	outcome_claim(cr_assert, outcome,                                \
		      claimed->exit == (status) && !claimed->timed_out,  \
		      "expected exit %d", (int)(status))
#define expect_out(outcome, text)                                        \
	outcome_claim(cr_expect, outcome, !strcmp(claimed->out, (text)), \
		      "expected '%s' on stdout", (text))
#define expect_out_has(outcome, text)                                    \
	outcome_claim(cr_expect, outcome, strstr(claimed->out, (text)),  \
		      "expected '%s' in stdout", (text))
#define expect_err(outcome, text)                                        \
	outcome_claim(cr_expect, outcome, !strcmp(claimed->err, (text)), \
		      "expected '%s' on stderr", (text))
#define expect_err_has(outcome, text)                                    \
	outcome_claim(cr_expect, outcome, strstr(claimed->err, (text)),  \
		      "expected '%s' in stderr", (text))

/* Inside a struct program's @call: what must hold there, with errno. */
#define CHECK(claim)                                                     \
	do {                                                             \
		if (!(claim))                                            \
			return program_check_failed(__FILE__, __LINE__,  \
						    #claim);             \
	} while (0)

/* Prints the claim and errno to stderr; returns 1. */
int program_check_failed(const char *file, int line, const char *claim);

#endif
