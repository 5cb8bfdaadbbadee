/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Theory of operation
 *
 * A process is forked, not spawned, since tests want more than posix_spawn(3)
 * can say.  A Criterion test has a second thread, so that between fork and
 * exec only async-signal-safe calls are made: everything that needs memory
 * is done by process_start() before (struct start), and start_child() only
 * makes system calls.
 *
 * Criterion's own descriptors are not all close-on-exec.  The child therefore
 * lifts what it is to keep above KEEP_ABOVE, puts it into place, and closes
 * everything else.
 *
 * A failure before the exec goes to the parent through a close-on-exec pipe
 * as a struct fault; end of file there means that the program runs.
 *
 * The test's process becomes a child subreaper: whatever a program leaves
 * behind is its child afterwards, can be found (host.h) and killed.
 */
#include "harness/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/filter.h>

#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"

enum {
	KEEP_ABOVE = 700,  /* where descriptors wait until they are placed */
	FD_LIMIT = 1024,
	STREAMS = 2,       /* stdout and stderr */
	AFTER_KILL = 5000, /* milliseconds until what was killed is gone */
};

/* What the child needs, made before the fork. */
struct start {
	const struct program *program;
	char *const *environment;
	struct program_fd fds[PROGRAM_FDS + 3];
	int fd_count;
	int fault;         /* write end of the pipe for struct fault */
	int terminal;      /* slave of the pty, or -1 */
	uid_t user;        /* whom to become, or (uid_t)-1 */
	char id_map[2][64]; /* uid_map and gid_map of a new user namespace */
	bool refuse;
	struct sock_fprog filter;
};

struct fault {
	int error;
	char step[32];
};

struct process {
	struct program program; /* the caller's own may be gone by now */
	pid_t pid;
	int pidfd;
	int input;         /* what is written becomes its stdin, or -1 */
	int stream[STREAMS]; /* read ends, -1 after end of file */
	struct arena_text text[STREAMS];
	const char *pending; /* input that is still to be written */
	size_t pending_length;
	struct timespec started;
	bool ended;
	struct outcome outcome;
};

static unsigned int since_ms(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned int)((now.tv_sec - start->tv_sec) * 1000 +
			      (now.tv_nsec - start->tv_nsec) / 1000000);
}

static unsigned int time_limit(const struct program *program)
{
	return program->time_limit ? program->time_limit : PROGRAM_TIME_LIMIT;
}

/* ---- the child, between fork and exec -------------------------------- */

static _Noreturn void child_fail(const struct start *start, const char *step)
{
	struct fault fault = { .error = errno };

	strncpy(fault.step, step, sizeof(fault.step) - 1);
	if (write(start->fault, &fault, sizeof(fault)) < 0)
		_exit(98);
	_exit(99);
}

static void child_close(int first, int last)
{
	if (syscall(SYS_close_range, first, last, 0) == 0)
		return;
	while (first <= last)
		close(first++);
}

static void child_place_fds(struct start *start)
{
	bool keep[FD_LIMIT] = { false };

	for (int i = 0; i < start->fd_count; i++) {
		struct program_fd *fd = &start->fds[i];

		if (fd->from < 0)
			continue;
		fd->from = fcntl(fd->from, F_DUPFD_CLOEXEC, KEEP_ABOVE);
		if (fd->from < 0)
			child_fail(start, "dup of a descriptor");
	}
	start->fault = fcntl(start->fault, F_DUPFD_CLOEXEC, KEEP_ABOVE);
	if (start->fault < 0 || start->fault >= FD_LIMIT)
		_exit(98);
	for (int i = 0; i < start->fd_count; i++) {
		const struct program_fd *fd = &start->fds[i];

		if (fd->from >= 0 && dup2(fd->from, fd->to) < 0)
			child_fail(start, "dup2");
		keep[fd->to] = fd->from >= 0;
	}
	keep[start->fault] = true;
	for (int fd = 0, first; fd < FD_LIMIT; fd++) {
		for (first = fd; fd < FD_LIMIT && !keep[fd]; fd++)
			;
		if (fd > first)
			child_close(first, fd - 1);
	}
	/* ENOSYS before 5.9: tests open nothing up there. */
	syscall(SYS_close_range, FD_LIMIT, ~0U, 0);
}

static void child_write_file(const struct start *start, const char *path,
			     const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t length = strlen(text);

	if (fd < 0 || write(fd, text, length) != (ssize_t)length)
		child_fail(start, path);
	close(fd);
}

static void child_become(struct start *start)
{
	const struct program *program = start->program;

	if (start->user != (uid_t)-1 &&
	    (syscall(SYS_setgroups, 0, NULL) < 0 ||
	     setresgid(start->user, start->user, start->user) < 0 ||
	     setresuid(start->user, start->user, start->user) < 0))
		child_fail(start, "becoming the ordinary user");
	/* Or its own /proc files belong to root. */
	if (start->user != (uid_t)-1)
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (program->unshare && unshare(program->unshare) < 0)
		child_fail(start, "unshare");
	if (program->unshare & CLONE_NEWUSER) {
		child_write_file(start, "/proc/self/setgroups", "deny");
		child_write_file(start, "/proc/self/uid_map",
				 start->id_map[0]);
		child_write_file(start, "/proc/self/gid_map",
				 start->id_map[1]);
	}
	if (program->cwd && chdir(program->cwd) < 0)
		child_fail(start, "chdir");
}

static _Noreturn void start_child(struct start *start)
{
	const struct program *program = start->program;
	sigset_t none;

	sigemptyset(&none);
	for (int i = 1; i < _NSIG; i++)
		signal(i, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (!program->same_session && setsid() < 0)
		child_fail(start, "setsid");
	if (start->terminal >= 0 &&
	    ioctl(start->terminal, TIOCSCTTY, 0) < 0)
		child_fail(start, "TIOCSCTTY");
	child_place_fds(start);
	child_become(start);
	if (start->refuse && refusal_apply(&start->filter) < 0)
		child_fail(start, "seccomp");
	environ = (char **)start->environment;
	if (program->call) {
		int r;

		/* Without an exec nothing else says that all is well. */
		if (!program->argv)
			close(start->fault);
		r = program->call(program->data);
		fflush(stdout);
		if (!program->argv || r)
			_exit(r);
	}
	execvp(program->argv[0], (char *const *)program->argv);
	child_fail(start, "exec");
}

/* ---- the parent ------------------------------------------------------ */

static void start_add_fd(struct start *start, int from, int to)
{
	if (to < 0 || to >= KEEP_ABOVE)
		harness_fail("program: descriptor %d is out of range", to);
	for (int i = 0; i < start->fd_count; i++)
		if (start->fds[i].to == to) {
			start->fds[i].from = from;
			return;
		}
	start->fds[start->fd_count++] = (struct program_fd){ from, to };
}

static void pipe_or_fail(int *ret_read, int *ret_write)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		harness_fail("program: pipe: %s", strerror(errno));
	*ret_read = fds[0];
	*ret_write = fds[1];
}

/* Fills theirs[] with what becomes 0, 1 and 2, to be closed after the fork. */
static void open_stdio(struct process *process, int theirs[3])
{
	const struct program *program = &process->program;

	if (program->pty) {
		char name[64];
		int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

		if (master < 0 || grantpt(master) < 0 ||
		    unlockpt(master) < 0 ||
		    ptsname_r(master, name, sizeof(name)) != 0)
			harness_fail("program: pty: %s", strerror(errno));
		theirs[0] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
		if (theirs[0] < 0)
			harness_fail("program: %s: %s", name, strerror(errno));
		theirs[1] = theirs[2] = theirs[0];
		process->stream[0] = master;
		process->input = fcntl(master, F_DUPFD_CLOEXEC, 3);
		return;
	}
	if (program->input || program->input_open) {
		pipe_or_fail(&theirs[0], &process->input);
		fcntl(process->input, F_SETFL, O_NONBLOCK);
	} else {
		theirs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	pipe_or_fail(&process->stream[0], &theirs[1]);
	pipe_or_fail(&process->stream[1], &theirs[2]);
}

/*
 * Whether @variable ("NAME=VALUE") is to be left out of the environment: it
 * is set anew by the program, or it belongs to Criterion, whose libraries
 * would take a test program started by a test for a worker.
 */
static bool is_replaced(const struct program *program, const char *variable)
{
	if (!program->env && !strncmp(variable, "BXFI_", 5))
		return true;
	for (size_t i = 0; program->set && program->set[i]; i++) {
		size_t name = strcspn(program->set[i], "=");

		if (!strncmp(variable, program->set[i], name + 1))
			return true;
	}
	return false;
}

static char *const *build_environment(const struct program *program)
{
	const char *const *base = program->env ?
		program->env : (const char *const *)environ;
	size_t count = 0, n = 0;
	const char **ret;

	while (base[count])
		count++;
	for (size_t i = 0; program->set && program->set[i]; i++)
		count++;
	ret = arena_take((count + 1) * sizeof(*ret));
	for (size_t i = 0; base[i]; i++)
		if (!is_replaced(program, base[i]))
			ret[n++] = base[i];
	for (size_t i = 0; program->set && program->set[i]; i++)
		ret[n++] = program->set[i];
	return (char *const *)ret;
}

static void build_start(struct start *start, const struct program *program)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (!program->argv && !program->call)
		harness_fail("program: neither argv nor call");
	if (program->unshare & CLONE_NEWPID)
		harness_fail("program: CLONE_NEWPID needs another fork");
	start->program = program;
	start->environment = build_environment(program);
	start->user = (uid_t)-1;
	start->terminal = -1;
	if (program->as_user && identity_self() == IDENTITY_ROOT)
		start->user = uid = gid = identity_user();
	snprintf(start->id_map[0], sizeof(start->id_map[0]), "0 %u 1", uid);
	snprintf(start->id_map[1], sizeof(start->id_map[1]), "0 %u 1", gid);
	if (program->refuse) {
		start->refuse = true;
		refusal_compile(program->refuse, &start->filter);
	}
}

/* Wait for the exec; a fault before it ends the test. */
static void check_start(const struct process *process, int fault_fd)
{
	const struct program *program = &process->program;
	struct fault fault = { 0 };
	ssize_t n;

	do {
		n = read(fault_fd, &fault, sizeof(fault));
	} while (n < 0 && errno == EINTR);
	close(fault_fd);
	if (n == 0)
		return;
	waitpid(process->pid, NULL, 0);
	harness_fail("program: %s: %s: %s",
		     program->argv ? program->argv[0] : "function",
		     n < 0 ? "start" : fault.step,
		     strerror(n < 0 ? errno : fault.error));
}

struct process *process_start(const struct program *program)
{
	struct process *process = arena_take(sizeof(*process));
	struct start *start = arena_take(sizeof(*start));
	int theirs[3] = { -1, -1, -1 }, fault_fd;

	process->program = *program;
	process->input = process->stream[0] = process->stream[1] = -1;
	build_start(start, program);
	open_stdio(process, theirs);
	if (program->pty) {
		start->terminal = theirs[0];
		if (start->user != (uid_t)-1 &&
		    fchown(theirs[0], start->user, (gid_t)-1) < 0)
			harness_fail("program: pty: %s", strerror(errno));
	}
	for (int i = 0; i < 3; i++)
		start_add_fd(start, theirs[i], i);
	for (int i = 0; i < PROGRAM_FDS; i++)
		if (program->fds[i].from || program->fds[i].to)
			start_add_fd(start, program->fds[i].from,
				     program->fds[i].to);
	pipe_or_fail(&fault_fd, &start->fault);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		harness_fail("program: subreaper: %s", strerror(errno));
	/* Or both processes write what is still in the buffers. */
	fflush(NULL);

	clock_gettime(CLOCK_MONOTONIC, &process->started);
	process->pid = fork();
	if (process->pid < 0)
		harness_fail("program: fork: %s", strerror(errno));
	if (process->pid == 0)
		start_child(start);
	close(start->fault);
	close(theirs[0]);
	if (!program->pty) {
		close(theirs[1]);
		close(theirs[2]);
	}
	check_start(process, fault_fd);

	process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	if (process->pidfd < 0)
		harness_fail("program: pidfd_open: %s", strerror(errno));
	if (program->input) {
		size_t length = program->input_length ?
			program->input_length : strlen(program->input);
		char *copy = arena_take(length);

		memcpy(copy, program->input, length);
		process->pending = copy;
		process->pending_length = length;
	}
	host_own_process(process->pid);
	return process;
}

pid_t process_pid(const struct process *process)
{
	return process->pid;
}

void process_close_input(struct process *process)
{
	if (process->input >= 0)
		close(process->input);
	process->input = -1;
}

/* Write what the pipe takes now; a reader that is gone ends it. */
static void feed_input(struct process *process)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	ssize_t n;

	sigaction(SIGPIPE, &ignore, &before);
	n = write(process->input, process->pending, process->pending_length);
	sigaction(SIGPIPE, &before, NULL);
	if (n > 0) {
		process->pending += n;
		process->pending_length -= (size_t)n;
	} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
		process->pending_length = 0;
		process_close_input(process);
	}
	if (!process->pending_length && !process->program.input_open &&
	    !process->program.pty)
		process_close_input(process);
}

/* Read what is there from stream @i. */
static void drain_stream(struct process *process, int i)
{
	char buffer[65536];
	ssize_t n = read(process->stream[i], buffer, sizeof(buffer));

	if (n > 0) {
		arena_add(&process->text[i], buffer, (size_t)n);
		return;
	}
	/* EIO: the last user of a terminal is gone. */
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	close(process->stream[i]);
	process->stream[i] = -1;
	if (process->stream[1 - i] < 0)
		process->outcome.eof_ms = since_ms(&process->started);
}

static void note_end(struct process *process)
{
	struct outcome *outcome = &process->outcome;
	int status;

	if (wait4(process->pid, &status, 0, &outcome->usage) < 0)
		harness_fail("program: wait4: %s", strerror(errno));
	process->ended = true;
	outcome->end_ms = since_ms(&process->started);
	outcome->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	outcome->exit = outcome->signal ? 128 + outcome->signal :
					  WEXITSTATUS(status);
	host_disown_process(process->pid);
}

/* One round of waiting, of at most @ms. */
static void process_poll(struct process *process, int ms)
{
	struct pollfd polls[4] = {
		{ .fd = process->stream[0], .events = POLLIN },
		{ .fd = process->stream[1], .events = POLLIN },
		{ .fd = process->pending_length ? process->input : -1,
		  .events = POLLOUT },
		{ .fd = process->ended ? -1 : process->pidfd,
		  .events = POLLIN },
	};

	if (poll(polls, 4, ms) < 0 && errno != EINTR)
		harness_fail("program: poll: %s", strerror(errno));
	for (int i = 0; i < STREAMS; i++)
		if (polls[i].revents)
			drain_stream(process, i);
	if (polls[2].revents)
		feed_input(process);
	if (polls[3].revents)
		note_end(process);
}

void process_write(struct process *process, const void *data, size_t length)
{
	process->pending = data;
	process->pending_length = length;
	while (process->pending_length && process->input >= 0) {
		if (since_ms(&process->started) > time_limit(&process->program))
			harness_fail("program: it does not read its stdin");
		process_poll(process, 50);
	}
}

const char *process_output(const struct process *process)
{
	return arena_string(&process->text[0]);
}

static bool await_stream(struct process *process, int i, const char *text)
{
	while (!strstr(arena_string(&process->text[i]), text)) {
		unsigned int now = since_ms(&process->started);

		if (process->stream[i] < 0 ||
		    now >= time_limit(&process->program))
			return false;
		process_poll(process,
			     (int)(time_limit(&process->program) - now));
	}
	return true;
}

bool process_await(struct process *process, const char *text)
{
	return await_stream(process, 0, text);
}

bool process_await_err(struct process *process, const char *text)
{
	return await_stream(process, 1, text);
}

void process_signal(const struct process *process, int signal)
{
	if (process->ended || kill(process->pid, signal) < 0)
		harness_fail("program: cannot send signal %d to it", signal);
}

static bool is_done(const struct process *process)
{
	return process->ended && process->stream[0] < 0 &&
	       process->stream[1] < 0;
}

static void poll_until(struct process *process, unsigned int limit)
{
	unsigned int now;

	while (!is_done(process) &&
	       (now = since_ms(&process->started)) < limit)
		process_poll(process, (int)(limit - now));
}

const struct outcome *process_finish(struct process *process)
{
	struct outcome *outcome = &process->outcome;

	if (!process->pending_length)
		process_close_input(process);
	poll_until(process, time_limit(&process->program));
	if (!is_done(process)) {
		outcome->timed_out = !process->ended;
		outcome->held_open = process->ended;
		host_kill_descendants();
		/* What is in the pipes is still wanted. */
		poll_until(process, since_ms(&process->started) + AFTER_KILL);
		if (!process->ended)
			harness_fail("program: it does not die of SIGKILL");
	}
	for (int i = 0; i < STREAMS; i++)
		if (process->stream[i] >= 0)
			close(process->stream[i]);
	process_close_input(process);
	close(process->pidfd);
	outcome->out = (char *)arena_string(&process->text[0]);
	outcome->out_length = process->text[0].length;
	outcome->err = (char *)arena_string(&process->text[1]);
	outcome->err_length = process->text[1].length;
	return outcome;
}

const struct outcome *program_run(const struct program *program)
{
	return process_finish(process_start(program));
}

const char *outcome_describe(const struct outcome *outcome)
{
	return arena_format(
		"it ended with %d after %u ms%s%s\nstdout: %s\nstderr: %s",
		outcome->exit, outcome->end_ms,
		outcome->timed_out ? ", killed at its time limit" : "",
		outcome->held_open ? ", its output was held open" : "",
		outcome->out, outcome->err);
}

int program_check_failed(const char *file, int line, const char *claim)
{
	int error = errno;

	dprintf(STDERR_FILENO, "%s:%d: not so: %s (errno %d, %s)\n", file,
		line, claim, error, strerrorname_np(error));
	return 1;
}
