/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * System calls of a hostile payload.  Each set of them is also made in a
 * sandbox whose filter was taken away, where some have to work: otherwise it
 * would not be the filter that holds, or the attack would be none.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/program.h"
#include "harness/scratch.h"

#define NO_FILTER "--set", "security.seccomp=none"

/* The script in a workspace of its own, with further options. */
#define ATTACK(workspace, what, ...)                                      \
	.argv = ARGV(sbx_launch(), "--profile",                           \
		     sbx_source("conf/py.ini"), ##__VA_ARGS__,            \
		     "attack.py", (what)), .cwd = (workspace)

static const char *make_workspace(void)
{
	const char *workspace = scratch_make();
	size_t length;
	const char *text = file_read(sbx_source("tests/escape/seccomp.py"),
				     &length);

	if (access("/usr/bin/python3", X_OK) < 0)
		harness_fail("there is no /usr/bin/python3");
	file_write_bytes(path_in(workspace, "attack.py"), text, length, 0644);
	return workspace;
}

static const struct outcome *attack(const struct program *program)
{
	const struct host *before = host_read();
	const struct outcome *o = program_run(program);

	expect_exit(o, 0);
	expect_out_has(o, "done"); /* a terminal makes it \r\n */
	expect_host_unchanged(before);
	return o;
}

#define expect_nothing_got(outcome)                                       \
	cr_expect(!strstr((outcome)->out, "GOT"), "%s",                   \
		  outcome_describe(outcome))

#define expect_got(outcome, what) \
	expect_out_has(outcome, "GOT " what "\n")

Test(seccomp, the_kernel_out_of_reach)
{
	const char *workspace = make_workspace();
	const struct outcome *o;

	o = attack(&(struct program){ ATTACK(workspace, "kernel") });
	expect_nothing_got(o);
	o = attack(&(struct program){ ATTACK(workspace, "kernel",
					     NO_FILTER) });
	expect_got(o, "kcmp");
	expect_got(o, "keyctl");
	expect_got(o, "personality");
	expect_got(o, "process_vm_readv");
	expect_got(o, "pidfd_getfd");
	expect_got(o, "socket 16");
}

/* Sockets of the host's, where the payload can see them. */
static void listen_in(const char *workspace)
{
	static const struct { const char *name; int type; } sockets[] = {
		{ "socket", SOCK_STREAM }, { "datagrams", SOCK_DGRAM } };

	if (chdir(workspace) < 0)
		harness_fail("chdir");
	for (size_t i = 0; i < 2; i++) {
		struct sockaddr_un address = { .sun_family = AF_UNIX };
		int fd = socket(AF_UNIX, sockets[i].type | SOCK_CLOEXEC, 0);

		strcpy(address.sun_path, sockets[i].name);
		if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		    (sockets[i].type == SOCK_STREAM && listen(fd, 9) < 0) ||
		    chmod(sockets[i].name, 0666) < 0)
			harness_fail("socket '%s'", sockets[i].name);
	}
}

Test(seccomp, unix_sockets_of_the_host)
{
	const char *workspace = make_workspace();
	const struct outcome *o;

	listen_in(workspace);
	o = attack(&(struct program){ ATTACK(
		workspace, "unix", "--set", "security.unix-sockets=deny") });
	expect_nothing_got(o);
	/* That rule is not the default filter's alone. */
	o = attack(&(struct program){ ATTACK(
		workspace, "unix", "--set", "security.unix-sockets=deny",
		NO_FILTER) });
	expect_nothing_got(o);
	o = attack(&(struct program){ ATTACK(workspace, "unix") });
	expect_got(o, "unix socket 1");
	expect_got(o, "connection of a pair of 2");
}

/* A set-id file of root's on the host is what this is after. */
Test(seccomp, set_id_files_of_somebody_else)
{
	const char *workspace = make_workspace();
	const struct outcome *o = NULL;

	if (identity_self() == IDENTITY_ROOT) {
		o = attack(&(struct program){ ATTACK(workspace, "setid") });
		expect_nothing_got(o);
		o = attack(&(struct program){ ATTACK(workspace, "setid",
						     NO_FILTER) });
		expect_nothing_got(o);
		return;
	}
	/* An ordinary user's files are his own, inside and outside. */
	o = attack(&(struct program){ ATTACK(workspace, "setid") });
	expect_got(o, "fchmodat2");
	expect_got(o, "openat2");
	expect_got(o, "file with set-id bits");
}

Test(seccomp, capabilities_of_files_of_somebody_else)
{
	const char *workspace = make_workspace();
	const struct outcome *o;

	o = attack(&(struct program){ ATTACK(workspace, "capabilities") });
	expect_nothing_got(o);
	o = attack(&(struct program){ ATTACK(workspace, "capabilities",
			"--set", "security.nested-userns=yes") });
	if (identity_self() == IDENTITY_ROOT)
		expect_nothing_got(o);
	else /* it holds in a namespace of the user's own and nowhere else */
		expect_got(o, "a capability in a user namespace of our own");
	o = attack(&(struct program){ ATTACK(workspace, "capabilities",
			"--set", "security.nested-userns=yes", NO_FILTER) });
	if (identity_self() == IDENTITY_ROOT)
		expect_nothing_got(o);
}

Test(seccomp, the_callers_terminal)
{
	const char *workspace = make_workspace();
	const struct outcome *o;

	o = attack(&(struct program){
		ATTACK(workspace, "terminal", "--set", "security.tty=keep"),
		.pty = true });
	expect_nothing_got(o);
	o = attack(&(struct program){
		ATTACK(workspace, "terminal", "--set", "security.tty=keep",
		       NO_FILTER),
		.pty = true });
	cr_expect(strstr(o->out, "GOT TIOCSETD"), "%s", outcome_describe(o));
}
