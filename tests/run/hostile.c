/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A script that reads what is not its business gets nothing. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"

struct bait {
	const char *private; /* a directory of the caller's with a secret */
	const char *caller;  /* the test's process */
	const char *port;    /* on 127.0.0.1, somebody listens */
	const char *abstract;
	const char *socket;  /* in a place that profiles mask */
	int fd, directory;
};

static int listen_on(const void *address, size_t length, int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_geq(fd, 0);
	cr_assert_eq(bind(fd, address, (socklen_t)length), 0);
	cr_assert_eq(listen(fd, 8), 0);
	return fd;
}

static struct bait lay_bait(void)
{
	struct sockaddr_in in = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct sockaddr_un abstract = { .sun_family = AF_UNIX };
	struct sockaddr_un named = { .sun_family = AF_UNIX };
	socklen_t length = sizeof(in);
	struct bait bait = {
		.private = scratch_make_in(getenv("HOME")),
		.caller = arena_format("%d", getpid()),
	};
	int fd = listen_on(&in, sizeof(in), AF_INET);

	getsockname(fd, (struct sockaddr *)&in, &length);
	bait.port = arena_format("%d", ntohs(in.sin_port));
	bait.abstract = arena_format("sbx-bait-%d", getpid());
	strcpy(abstract.sun_path + 1, bait.abstract);
	listen_on(&abstract, sizeof(sa_family_t) + 1 + strlen(bait.abstract),
		  AF_UNIX);
	bait.socket = path_in(scratch_make_in("/tmp"), "socket");
	strcpy(named.sun_path, bait.socket);
	listen_on(&named, sizeof(named), AF_UNIX);
	chmod(bait.socket, 0777);
	file_write(path_in(bait.private, "secret"), "hunter2\n");
	chmod(path_in(bait.private, "secret"), 0644);
	bait.fd = open(path_in(bait.private, "secret"), O_RDONLY);
	bait.directory = open("/", O_RDONLY | O_DIRECTORY);
	return bait;
}

static const struct outcome *let_loose(const struct bait *bait,
				       const char *const *head,
				       const char *work, const char *to_do)
{
	const char *argv[24];
	int count = 0;

	for (; head[count]; count++)
		argv[count] = head[count];
	argv[count++] = path_in(work, "hostile.py");
	argv[count++] = to_do;
	argv[count++] = bait->private;
	argv[count++] = bait->caller;
	argv[count++] = bait->port;
	argv[count++] = bait->abstract;
	argv[count++] = bait->socket;
	argv[count] = NULL;
	return program_run(&(struct program){
		.argv = argv, .cwd = work, .set = ARGV("SECRET=hunter2"),
		.fds = { { bait->fd, 9 }, { bait->directory, 3 },
			 { bait->directory, 250 } } });
}

static void copy_script(const char *work)
{
	const char *path = path_in(work, "hostile.py");

	file_write(path, file_read(sbx_source("tests/run/scripts/hostile.py"),
				   NULL));
}

Test(hostile, the_script_can_do_harm_where_nothing_holds_it)
{
	struct bait bait = lay_bait();
	const char *work = scratch_make();
	const struct outcome *o;

	copy_script(work);
	/* Otherwise what it does not get below would mean nothing. */
	o = let_loose(&bait, ARGV(PYTHON), work, "look");
	expect_exit(o, 0);
	expect_out_has(o, "GOT the caller's file\n");
	expect_out_has(o, "GOT descriptor 9");
	expect_out_has(o, "GOT descriptor 250");
	expect_out_has(o, "GOT 127.0.0.1");
	expect_out_has(o, "GOT abstract socket");
	expect_out_has(o, "GOT socket");
	expect_out_has(o, "GOT process");
	expect_out_has(o, arena_format("GOT kill %s", bait.caller));
}

Test(hostile, gets_nothing_in_the_shipped_profile)
{
	struct bait bait = lay_bait();
	const char *work = scratch_make();
	const struct host *before;
	const struct outcome *o;

	copy_script(work);
	before = host_read();
	o = let_loose(&bait, ARGV(sbx_launch(), "--profile",
				  sbx_source("conf/py.ini")), work,
		      "all");
	expect_exit(o, 0);
	expect_out(o, "done\n");
	expect_host_unchanged(before);
}

/* A profile that says only what is here, and the lines of @more. */
static void expect_nothing(const char *more, const char *to_do)
{
	struct box *box = box_make();
	struct bait bait = lay_bait();
	const struct outcome *o;

	copy_script(box->work);
	box->host = host_read();
	box_profile(box, "[exec]\ninterpreter = " PYTHON "\n[mask]\n"
		    "hide = /etc/shadow\nhide = /etc/shadow-\n"
		    "hide = /etc/gshadow\n%s", more);
	o = let_loose(&bait, ARGV(sbx_launch(), "--profile", box->profile),
		      box->work, to_do);
	expect_exit(o, 0);
	expect_out(o, "done\n");
	box_expect_clean(box);
}

Test(hostile, gets_nothing_in_a_small_profile)
{
	expect_nothing("", "all");
}

/* The kernel's own rules about owners no longer help then. */
Test(hostile, gets_nothing_as_the_hosts_root)
{
	box_need_root();
	expect_nothing("[security]\nrun-as = caller\n", "all");
}

Test(hostile, gets_nothing_without_the_filter)
{
	expect_nothing("[security]\nseccomp = none\n", "files");
}

/* ---- what is of the host's and no payload's ------------------------------------------ */

/* The box with @home as the caller's home directory. */
static const struct outcome *run_at_home(const struct box *box,
					 const char *home)
{
	return program_run(&(struct program){
		.argv = BOX_ARGV(box, BOX_MARK),
		.set = ARGV(arena_format("HOME=%s", home)) });
}

Test(trust, home_directories_are_no_workspaces)
{
	struct box *box = box_make();
	const char *home = path_in(box->work, "a/home");
	const char *link = path_in(box->top, "link");
	const char *const homes[] = {
		box->work, home, path_in(home, "not/there"), link,
		path_in(link, "a/home"),
	};

	directory_make_all(home);
	link_make(box->work, link);
	for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]); i++)
		box_expect_refused(box, run_at_home(box, homes[i]), 125,
				   box->work, homes[i], "home directory",
				   NULL);
	/* Beside it, and where nothing is changed. */
	expect_exit(run_at_home(box, path_in(box->top, "workspace")), 0);
	expect_exit(run_at_home(box, box->top), 0);
	box_profile(box, "mode = ephemeral\n");
	expect_exit(run_at_home(box, box->work), 0);
	box_profile(box, "mode = ro\n");
	expect_exit(program_run(&(struct program){
		.argv = BOX_ARGV(box, "true"),
		.set = ARGV(arena_format("HOME=%s", home)) }), 0);
}

/* Upper layers are written by the payload, what is committed to by us. */
Test(trust, home_directories_are_no_layers_to_write_to)
{
	struct box *box = box_make();
	const char *upper = path_in(box->top, "upper");

	directory_make(upper, 0700);
	box_profile(box, "mode = overlay\nupper = %s\n", upper);
	box_expect_refused(box, run_at_home(box, upper), 125, upper,
			   "home directory", NULL);
	expect_exit(run_at_home(box, box->work), 0);
	scratch_remove(path_in(upper, "ran"));
	box_profile(box, "mode = overlay\nupper = %s\ncommit = on-success\n",
		    upper);
	box_expect_refused(box, run_at_home(box, box->work), 125, box->work,
			   "home directory", NULL);
}

/* What a commit writes to is written to, if later. */
Test(trust, profile_and_books_where_a_commit_goes)
{
	struct box *box = box_make();
	const char *upper = path_in(box->top, "upper");
	const char *inner = path_in(box->work, "p.ini");

	directory_make(upper, 0700);
	box_profile(box, "mode = overlay\nupper = %s\ncommit = on-success\n",
		    upper);
	file_write(inner, file_read(box->profile, NULL));
	box_expect_refused(box, program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", inner, "--",
			     BOX_MARK) }), 125, inner,
		"which the sandbox can write", NULL);
	box_expect_refused(box, program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", box->profile,
			     "--audit-file", path_in(box->work, "audit"), "--",
			     BOX_MARK) }), 125, "audit-file",
		"which the sandbox can write", NULL);
	unlink(inner);
	unlink(path_in(box->work, "audit"));
	expect_exit(BOX_RUN(box, BOX_MARK), 0);
}

/* Its own rules for the next run. */
Test(trust, filter_in_the_workspace)
{
	struct box *box = box_make();
	const char *filter = path_in(box->work, "filter");
	const char *link = path_in(box->top, "link");

	file_write(filter, "allow\n");
	link_make(box->work, link);
	box_profile(box, "[security]\nseccomp = %s\n",
		    path_in(link, "filter"));
	box_expect_refused(box, BOX_RUN(box, BOX_MARK), 125, "filter '", link,
			   box->work, "which the sandbox can write", NULL);
}

static const struct outcome *run_copy(struct box *box, const char *program)
{
	return program_run(&(struct program){
		.argv = ARGV(program, "--profile", box->profile, "--",
			     BOX_MARK) });
}

Test(trust, launcher_that_others_can_replace)
{
	struct box *box = box_make();
	const char *place = path_in(box->top, "bin");
	const char *program = path_in(place, "sbx-launch");
	size_t length;
	const char *text = file_read(sbx_launch(), &length);

	directory_make(place, 0755);
	file_write_bytes(program, text, length, 0757);
	box_expect_refused(box, run_copy(box, program), 125, program,
			   "can be written by everybody", "chmod o-w", NULL);
	chmod(program, 0755);
	chmod(place, 0757);
	box_expect_refused(box, run_copy(box, program), 125,
			   arena_format("'%s'", place),
			   "can be written by everybody", "chmod o-w", NULL);
	chmod(place, 01777);
	expect_exit(run_copy(box, program), 0);
	unlink(box->marker);
	if (identity_self() != IDENTITY_ROOT)
		return;
	cr_assert_eq(chown(program, identity_user(), 0), 0);
	box_expect_refused(box, run_copy(box, program), 125, program,
			   "belongs to user", NULL);
}
