/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The payload: where it starts, what it is, and the last steps to its exec.
 *
 * Whether directory, script and program are there is looked up inside, with
 * the rights that the payload has, before it is forked: a wrong name is the
 * launcher's clear error and not an interpreter's.
 */
#include "engine/child.h"
#include "engine/stages.h"

#include "base/text.h"
#include "sys/proc.h"
#include "sys/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A script that was given without its interpreter, for example. */
static void explain_command(const struct child *child, const char *path,
			    struct error *err)
{
	if (strchr(path, '/'))
		program_explain(child, path, err);
	else if (err->code == ENOENT && !access(path, F_OK))
		error_remedy(err, "it is in the working directory, not along "
			     "PATH: write './%s', or its interpreter before "
			     "it", path);
}

static int fail_command(const struct child *child, const char *what,
			const char *path, int code, struct error *err)
{
	if (child_is_bwrap(child))
		error_set(err, code, "execvp %s", path);
	else
		error_set(err, code, "%s '%s'", what, path);
	error_reason(err, code == ENOENT || code == ENOTDIR ? "not-found" :
		     "not-executable");
	error_status(err, code == ENOENT || code == ENOTDIR ?
		     ERROR_STATUS_NOT_FOUND : ERROR_STATUS_NOT_EXECUTABLE);
	explain_command(child, path, err);
	return error_result(err);
}

/* ---- the working directory ------------------------------------------------ */

static const char *variable(const struct child *child, const char *name)
{
	return plan_environment_value(child->run->environment, name);
}

static void set_pwd(struct child *child, const char *path)
{
	char **old = child->run->environment, **now;
	size_t count = 0, kept = 0;

	while (old[count])
		count++;
	now = arena_alloc(child->arena, (count + 2) * sizeof(*now));
	for (size_t i = 0; i < count; i++)
		if (!text_has_prefix(old[i], "PWD="))
			now[kept++] = old[i];
	now[kept++] = arena_printf(child->arena, "PWD=%s", path);
	child->run->environment = now;
}

static int enter_profile(struct child *child, struct error *err)
{
	const struct plan *plan = child->plan;
	const char *path = "/";

	if (plan->chdir)
		path = plan->chdir;
	else if (plan->workspace.source)
		path = plan->workspace.dest;
	if (chdir(path) < 0) {
		error_set(err, errno, "%s: chdir '%s'",
			  origin_text(child->arena, &plan->chdir_origin),
			  path);
		error_reason(err, "working-directory");
		if (err->code == ENOENT)
			program_explain_hidden(child, path, err);
		return error_result(err);
	}
	set_pwd(child, path);
	return 0;
}

/* --chdir, the caller's directory, HOME, "/": the first that is there. */
static int enter_bwrap(struct child *child, struct error *err)
{
	const char *home = variable(child, "HOME");
	const char *cwd = child->run->caller_cwd;

	if (child->plan->chdir) {
		if (chdir(child->plan->chdir) < 0)
			return error_set(err, errno, "Can't chdir to %s",
					 child->plan->chdir);
		set_pwd(child, child->plan->chdir);
		return 0;
	}
	if (cwd && !chdir(cwd))
		set_pwd(child, cwd);
	else if (home && !chdir(home))
		set_pwd(child, home);
	else
		set_pwd(child, "/");
	return 0;
}

/* ---- the command ------------------------------------------------------------ */

/* A script that is not there is our error; what it is worth, the payload's. */
static int find_script(const struct child *child, struct error *err)
{
	const struct plan *plan = child->plan;
	const char *script;

	if (!plan->script_index)
		return 0;
	script = plan->command.at[plan->script_index];
	if (!access(script, F_OK))
		return 0;
	if (*script != '/')
		script = path_join(child->arena, variable(child, "PWD"),
				   script);
	return fail_command(child, "script", script, errno, err);
}

int payload_find(struct child *child, struct error *err)
{
	int r = child_is_bwrap(child) ? enter_bwrap(child, err) :
		enter_profile(child, err);

	if (r < 0 || child_is_bwrap(child))
		return r;
	if (child->plan->interpreter &&
	    access(child->plan->command.at[0], X_OK) < 0)
		return fail_command(child, "interpreter",
				    child->plan->command.at[0], errno, err);
	return find_script(child, err);
}

static char **make_argv(const struct child *child)
{
	const struct plan *plan = child->plan;
	char **argv = arena_alloc(child->arena, (plan->command.count + 2) *
				  sizeof(*argv));

	for (size_t i = 0; i < plan->command.count; i++)
		argv[i] = (char *)plan->command.at[i];
	if (plan->argv0)
		argv[0] = (char *)plan->argv0;
	return argv;
}

/* A file without a known format is a script for sh(1), says execvp(3). */
static void exec_by_shell(const struct child *child, const char *path,
			  char **argv)
{
	size_t count = 0;
	char **shell;

	while (argv[count])
		count++;
	shell = arena_alloc(child->arena, (count + 3) * sizeof(*shell));
	shell[0] = (char *)"/bin/sh";
	shell[1] = (char *)path;
	for (size_t i = 1; i < count; i++)
		shell[i + 1] = argv[i];
	execve(shell[0], shell, child->run->environment);
}

/* exec @path; returns only when that failed, with the errno. */
static int exec_one(const struct child *child, const char *path, char **argv)
{
	execve(path, argv, child->run->environment);
	if (errno == ENOEXEC && child_is_bwrap(child)) {
		exec_by_shell(child, path, argv);
		errno = ENOEXEC;
	}
	return errno;
}

/* *@ret_path is what was found and could not be executed. */
static int exec_on_path(const struct child *child, const char *name,
			char **argv, const char **ret_path)
{
	const char *path = variable(child, "PATH");
	int code = ENOENT, tried;

	for (path = path ? path : "/bin:/usr/bin"; path;
	     path = strchr(path, ':'), path = path ? path + 1 : NULL) {
		size_t length = strcspn(path, ":");
		const char *full = arena_printf(child->arena, "%.*s%s%s",
						(int)length, path,
						length ? "/" : "", name);

		tried = exec_one(child, full, argv);
		if (tried != ENOENT && tried != ENOTDIR &&
		    !child_is_bwrap(child))
			*ret_path = full;
		if (tried == EACCES)
			code = EACCES;
		else if (tried != ENOENT && tried != ENOTDIR)
			return tried;
	}
	return code;
}

static int exec_command(const struct child *child, struct error *err)
{
	const char *name = child->plan->command.at[0];
	char **argv = make_argv(child);
	const char *path = name;
	int code = strchr(name, '/') || !*name ?
		   exec_one(child, name, argv) :
		   exec_on_path(child, name, argv, &path);

	return fail_command(child, "exec", path, code, err);
}

/* ---- the last steps ---------------------------------------------------------- */

/* Descriptors that the payload keeps: 0-2, the listed, or all of them. */
static int close_fds(const struct child *child, struct error *err)
{
	const struct plan_security *security = &child->plan->security;

	/* bubblewrap's --bind-fd uses its descriptor up. */
	for (size_t i = 0; i < child->plan->ops.count; i++)
		if (child->plan->ops.at[i].kind == OP_BIND_FD)
			close(child->plan->ops.at[i].fd);
	if (security->keep_all_fds)
		return 0;
	/* The socket stays until the exec: it has to report a failure. */
	return proc_close_fds(child->procfs, 3, security->keep_fds.at,
			      security->keep_fds.count, PROC_FDS_CLOEXEC, err);
}

static int fail_filter(const struct child *child, struct error *err)
{
	if (!child_is_bwrap(child))
		return error_result(err);
	/* A program that is none is never given to the kernel. */
	if (err->code && err->code != EINVAL)
		return error_set(err, err->code, "prctl(PR_SET_SECCOMP)");
	return error_set(err, 0, "Unable to set up system call filtering as "
			 "requested: prctl(PR_SET_SECCOMP) reported EINVAL. "
			 "(Hint: this requires a kernel configured with "
			 "CONFIG_SECCOMP and CONFIG_SECCOMP_FILTER.)");
}

static int load_filters(const struct child *child, struct error *err)
{
	for (size_t i = 0; i < child->run->filters.count; i++) {
		const struct filter *filter = &child->run->filters.at[i];

		if (seccomp_load_program(filter->data, filter->size, err) < 0)
			return fail_filter(child, err);
	}
	return 0;
}

static int payload_steps(struct child *child, struct error *err)
{
	struct message hello = { .kind = MESSAGE_PAYLOAD };
	struct run *run = child->run;

	if (child->plan->security.tty == TTY_NONE && getsid(0) != getpid() &&
	    setsid() < 0)
		return error_call(err, errno, "setsid", "setsid");
	/* Closing may take a descriptor more than the payload is to have. */
	if (prepare_payload(run, err) < 0 || close_fds(child, err) < 0 ||
	    confine_payload(child, err) < 0)
		return error_result(err);
	run->progress->stage = STAGE_EXEC;
	if (report_wants_payload(run) &&
	    run_send(run->child_socket, &hello, err) < 0)
		return error_result(err);
	if (run->options->is_check)
		_exit(0);
	if (load_filters(child, err) < 0)
		return error_result(err);
	return exec_command(child, err);
}

_Noreturn void payload_run(struct child *child)
{
	struct message failure = { .kind = MESSAGE_ERROR };
	struct error ignored;

	snprintf(failure.error.stage, sizeof(failure.error.stage), "exec");
	payload_steps(child, &failure.error);
	stages_log(child->run, STAGE_EXEC, &failure.error);
	run_send(child->run->child_socket, &failure, &ignored);
	_exit(ERROR_STATUS_NOT_FOUND);
}
