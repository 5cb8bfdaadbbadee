/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A server that does not answer, of a FUSE file system or an automount, keeps
 * no sandbox from starting that has no use for it; and one that has says, in
 * ten seconds, where it waits.  All of them wait at the same time.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"

/* Something that the host has, so that nothing has to be made. */
#define PLACE "/usr/share/doc"

enum { LAUNCHES_MOST = 32, PATIENCE_MS = 120000 };

struct hung {
	struct box *box;
	struct process *launches[LAUNCHES_MOST];
	const char *wanted[LAUNCHES_MOST];
	size_t count;
};

/* Launch with a profile of this text, or another one that @name leads to. */
static void launch(struct hung *hung, const char *text, const char *name,
		   const char *option, const char *wanted)
{
	const char *profile = path_in(hung->box->conf,
				      arena_format("%zu.ini", hung->count));

	file_write(profile, text);
	cr_assert(hung->count < LAUNCHES_MOST);
	hung->wanted[hung->count] = wanted;
	hung->launches[hung->count++] = process_start(&(struct program){
		.argv = option ?
			ARGV(sbx_launch(), "--profile", name ? name : profile,
			     option, "--", "true") :
			ARGV(sbx_launch(), "--profile", name ? name : profile,
			     "--", "true"),
		.set = ARGV("PATH=" PLACE "/bin:/usr/bin:/bin"),
		.time_limit = PATIENCE_MS });
}

static void expect_all(struct hung *hung, const char *type)
{
	const char *remedy = arena_format("sbx-launch: %s at '" PLACE "' does "
		"not answer: unmount it (umount -l), restart its server, or "
		"leave it out\n", type);

	for (size_t i = 0; i < hung->count; i++) {
		const struct outcome *o = process_finish(hung->launches[i]);
		const char *line = strchr(o->err, '\n');

		expect_exit(o, 125);
		expect_err_has(o, hung->wanted[i]);
		outcome_claim(cr_expect, o, line && !strcmp(line + 1, remedy),
			      "expected '%s'", remedy);
	}
	hung->count = 0;
}

static struct hung start(void)
{
	struct hung hung = { .count = 0 };

	box_need_root();
	box_need_mounts();
	hung.box = box_make();
	return hung;
}

Test(hung, fuse)
{
	struct hung hung = start();
	struct process *server = process_start(&(struct program){
		.argv = ARGV(PYTHON, sbx_source("tests/run/scripts/hung.py"),
			     PLACE), .time_limit = 5 * PATIENCE_MS });

	if (!process_await(server, "mounted\n"))
		harness_fail("%s", outcome_describe(process_finish(server)));
	hung.box->host = host_read();
	expect_out(BOX_SH(hung.box, "echo on"), "on\n");
	/* It needs not be looked into. */
	box_profile(hung.box, "[mask]\ntmpfs = " PLACE "\n");
	expect_out(BOX_SH(hung.box, "ls -A " PLACE " && echo on"), "on\n");
	/* What is below it does. */
	launch(&hung, "[mask]\ntmpfs = " PLACE "/x\n", NULL, NULL,
	       "2: '" PLACE "/x' does not answer for 10 s\n");
	launch(&hung, "[mask]\ntmpfs = " PLACE "/x\n", NULL, "--explain",
	       "2: '" PLACE "/x' does not answer for 10 s\n");
	launch(&hung, "[layers]\nlayer = " PLACE "/x /opt\n", NULL, "--check",
	       "2: source: '" PLACE "/x' does not answer for 10 s\n");
	launch(&hung, "[workspace]\npath = " PLACE "/x/y\n", NULL, NULL,
	       "2: workspace: '" PLACE "/x/y' does not answer for 10 s\n");
	launch(&hung, "[root]\nsource = " PLACE "/x\n", NULL, NULL,
	       "2: root: '" PLACE "/x' does not answer for 10 s\n");
	launch(&hung, "", PLACE "/p.ini", NULL, "profile '" PLACE
	       "/p.ini': '" PLACE "/p.ini' does not answer for 10 s\n");
	launch(&hung, "[exec]\ninterpreter = sh\n", NULL, NULL,
	       "2: '" PLACE "/bin/sh' does not answer for 10 s\n");
	launch(&hung, "[report]\naudit-file = " PLACE "/x\n", NULL,
	       NULL, "2: '" PLACE "/x' does not answer for 10 s\n");
	launch(&hung, "[workspace]\npath = " PLACE " /opt\n[exec]\n"
	       "interpreter = /bin/sh\n", NULL, NULL, "script "
	       "'/opt/true': '" PLACE "/true' does not answer for 10 s\n");
	/* The set-up's own deadline. */
	launch(&hung, "[workspace]\npath = " PLACE " /opt\n[security]\n"
	       "run-as = caller\n", NULL, NULL, "2: bind '" PLACE
	       "' on '/opt' makes no progress for 10 s\n");
	expect_all(&hung, "fuse");
	box_expect_clean(hung.box);
	process_signal(server, SIGKILL);
	process_finish(server);
	umount2(PLACE, MNT_DETACH);
}

/* A direct automount; the other side of its pipe is who would mount. */
static int mount_automount(void)
{
	int ends[2];

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	cr_assert_eq(mount("auto", PLACE, "autofs", 0,
			   arena_format("fd=%d,pgrp=%d,minproto=5,maxproto=5,"
					"direct", ends[1], (int)getpgrp())), 0);
	close(ends[1]);
	return ends[0];
}

Test(hung, automount)
{
	struct hung hung = start();
	int server = mount_automount();

	hung.box->host = host_read();
	expect_out(BOX_SH(hung.box, "echo on"), "on\n");
	/* One only: when one waits for it, nobody gets past the place. */
	launch(&hung, "[layers]\nlayer = " PLACE "/x /opt\n", NULL, NULL,
	       "2: source: '" PLACE "/x' does not answer for 10 s\n");
	expect_all(&hung, "autofs");
	box_expect_clean(hung.box);
	close(server);
	umount2(PLACE, MNT_DETACH);
}

/* Nobody is left who could mount: that is told at once. */
Test(hung, automount_without_a_server)
{
	struct hung hung = start();
	const struct outcome *o;

	close(mount_automount());
	expect_out(BOX_SH(hung.box, "echo on"), "on\n");
	box_profile_alone(hung.box, "[layers]\nlayer = " PLACE "/x /opt\n");
	o = BOX_RUN(hung.box, "true");
	expect_exit(o, 125);
	expect_err_has(o, "p.ini:2: bind '" PLACE "/x' on '/opt': open");
	expect_err_has(o, PLACE "/x': the automount at '" PLACE "' mounts "
		       "nothing there (ENOENT)\nsbx-launch: see whether the "
		       "daemon behind it runs");
	umount2(PLACE, MNT_DETACH);
}
