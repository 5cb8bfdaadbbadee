/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The workspace: where it may lie, what becomes of what is written to it. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
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
#include "harness/tree.h"

/* Reads, changes, makes and removes; says what it sees. */
static const char use_it[] =
	"set -e; pwd -P; cat given; echo more >>given; mkdir -p d/e; "
	"echo new >d/e/new; mv given moved; ln -s moved link; "
	"ln moved hard; rm gone; chmod 640 d/e/new; ls -A";

static void fill(const char *work)
{
	file_write(path_in(work, "given"), "given\n");
	file_write(path_in(work, "gone"), "");
}

static void expect_used(const struct outcome *o, const char *work)
{
	struct stat made, top;

	expect_exit(o, 0);
	expect_out(o, arena_format("%s\ngiven\nd\nhard\nlink\nmoved\n",
				   work));
	expect_file(path_in(work, "moved"), "given\nmore\n");
	expect_file(path_in(work, "d/e/new"), "new\n");
	cr_expect(!file_exists(path_in(work, "given")));
	cr_expect(!file_exists(path_in(work, "gone")));
	/* Whoever it was inside, on disk it is the owner of the place. */
	cr_assert_eq(stat(path_in(work, "d/e/new"), &made), 0);
	cr_assert_eq(stat(work, &top), 0);
	cr_expect_eq(made.st_uid, top.st_uid);
	cr_expect_eq(made.st_gid, top.st_gid);
	cr_expect_eq(made.st_mode, S_IFREG | 0640);
}

static void expect_usable(const char *work)
{
	struct box *box = box_make();
	const struct outcome *o;

	fill(work);
	o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", box->profile,
			     "--workspace", work, "--", "sh", "-c", use_it) });
	expect_used(o, work);
	box_expect_clean(box);
}

Test(workspace, is_used_as_it_is)
{
	struct box *box = box_make();

	fill(box->work);
	expect_used(BOX_SH(box, use_it), box->work);
	box_expect_clean(box);
}

Test(workspace, below_home_and_tmp_and_var)
{
	expect_usable(scratch_make_in(getenv("HOME")));
	expect_usable(scratch_make_in("/tmp"));
	expect_usable(scratch_make_in("/var/tmp"));
}

Test(workspace, below_roots_home)
{
	const char *deep;

	box_need_root();
	deep = path_in(scratch_make_in("/root"), "deeper");
	directory_make(deep, 0700);
	expect_usable(deep);
}

Test(workspace, on_a_mount_of_its_own)
{
	const char *place, *below;

	box_need_mounts();
	place = scratch_make();
	cr_assert_eq(mount("test", place, "tmpfs", 0, "mode=700"), 0);
	expect_usable(place);
	below = path_in(place, "below");
	directory_make(below, 0700);
	expect_usable(below);
	umount2(place, MNT_DETACH);
	/* One of those that are made anew inside. */
	cr_assert_eq(mount("test", "/dev/shm", "tmpfs", 0, "mode=1777"), 0);
	directory_make("/dev/shm/below", 0700);
	expect_usable("/dev/shm/below");
	umount2("/dev/shm", MNT_DETACH);
}

Test(workspace, with_another_mount_below)
{
	struct box *box;
	const char *below;

	box_need_mounts();
	box = box_make();
	below = path_in(box->work, "mnt");
	directory_make(below, 0700);
	cr_assert_eq(mount("test", below, "tmpfs", 0, "mode=700"), 0);
	file_write(path_in(below, "file"), "on the mount\n");
	expect_out(BOX_SH(box, "cat mnt/file; echo x >mnt/new"),
		   "on the mount\n");
	expect_file(path_in(below, "new"), "x\n");
	umount2(below, MNT_DETACH);
}

Test(workspace, any_name)
{
	static const char *const names[] = {
		"with blanks  in it", "'single' and \"double\"", "näme – ☃",
		"back\\slash", "a:b,c=d;e#f", "${cwd}", "%s%n", "-rf",
		"new\nline", "tab\there", "\xff\xfe", "[section]", "...",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *work = path_in(scratch_make(), names[i]);
		struct box *box;

		directory_make(work, 0700);
		expect_usable(work);
		/* From the profile: what a line of text can say. */
		if (strchr(names[i], '\n') || strchr(names[i], '$') ||
		    names[i][0] == '\xff')
			continue;
		box = box_make_named(names[i]);
		fill(box->work);
		expect_used(BOX_SH(box, use_it), box->work);
	}
}

Test(workspace, the_callers_directory)
{
	struct box *box = box_make();

	fill(box->work);
	box_profile_alone(box, "[workspace]\npath = ${cwd}\n");
	expect_used(program_run(&(struct program){
			.argv = BOX_ARGV(box, "sh", "-c", use_it),
			.cwd = box->work }), box->work);
	/* A relative one is below it. */
	fill(box->work);
	box_profile_alone(box, "%s", "[mask]\ntmpfs = /tmp\n");
	expect_out(program_run(&(struct program){
			.argv = ARGV(sbx_launch(), "--profile", box->profile,
				     "--workspace", "work", "--", "pwd"),
			.cwd = box->top }), arena_format("%s\n", box->work));
}

Test(workspace, under_another_name)
{
	struct box *box = box_make();

	fill(box->work);
	box_profile_alone(box, "[mask]\ntmpfs = /home\n[workspace]\n"
			  "path = %s \"/home/the place\"\n", box->work);
	expect_out(BOX_SH(box, "pwd -P; cat given; echo x >'/home/the place/y'"
			  "; ls -A /home"),
		   "/home/the place\ngiven\nthe place\n");
	expect_file(path_in(box->work, "y"), "x\n");
}

Test(workspace, read_only)
{
	struct box *box = box_make();
	const struct tree *before;

	fill(box->work);
	before = tree_read(box->work, TREE_TOUCHED);
	box_profile(box, "mode = ro\n");
	expect_out(BOX_SH(box, "cat given; pwd; for c in 'touch x' 'rm given' "
			  "'mkdir d' 'chmod 700 .' 'mv gone y'; do "
			  "$c 2>&1 | grep -c 'Read-only file system'; done"),
		   arena_format("given\n%s\n1\n1\n1\n1\n1\n", box->work));
	expect_tree_unchanged(before, box->work, TREE_TOUCHED);
	box_expect_clean(box);
}

Test(workspace, ephemeral)
{
	struct box *box = box_make();
	const struct tree *before;
	const struct outcome *o;

	fill(box->work);
	directory_make(path_in(box->work, "dir"), 0755);
	file_write(path_in(box->work, "dir/file"), "of dir\n");
	before = tree_read(box->work, TREE_TOUCHED);
	box_profile(box, "mode = ephemeral\n");
	o = BOX_SH(box, "rm -r dir; mkdir dir; ls -A dir; rm gone; "
		   "echo more >>given; cat given; echo x >dir/x; ls -A . dir");
	expect_exit(o, 0);
	expect_out(o, "given\nmore\n.:\ndir\ngiven\n\ndir:\nx\n");
	expect_tree_unchanged(before, box->work, TREE_TOUCHED);
	box_expect_clean(box);
}

/* What root's payload leaves must not be a program with root's rights. */
Test(workspace, no_set_user_id_for_whoever_owns_it)
{
	struct box *box = box_make();
	const struct outcome *o = BOX_PYTHON(box,
		"import os, shutil\n"
		"shutil.copy('/usr/bin/true', 'f')\n"
		"for call in (lambda: os.chmod('f', 0o4755),\n"
		"             lambda: os.chmod('f', 0o2755),\n"
		"             lambda: os.fchmod(os.open('f', 0), 0o4755),\n"
		"             lambda: os.open('g', os.O_CREAT, 0o4755),\n"
		"             lambda: os.mknod('h', 0o104755)):\n"
		"    try:\n"
		"        call()\n"
		"    except OSError as error:\n"
		"        pass\n");

	expect_exit(o, 0);
	for (const char *name = "fgh"; *name; name++) {
		const char *path = arena_format("%s/%c", box->work, *name);

		if (identity_self() == IDENTITY_ROOT && file_exists(path))
			cr_expect(!(file_mode(path) & 06000), "%c: %o", *name,
				  file_mode(path));
	}
	expect_out(BOX_SH(box, "mknod n c 1 3 2>/dev/null || echo no"),
		   "no\n");
}

/* A program with root's rights would have them even here. */
Test(workspace, set_user_id_has_no_effect)
{
	struct box *box = box_make();
	const char *program = path_in(box->work, "id");

	expect_exit(program_run(&(struct program){
			.argv = ARGV("cp", "/usr/bin/id", program) }), 0);
	cr_assert_eq(chmod(program, 04755), 0);
	expect_out(BOX_SH(box, "test $(./id -u) = $(/usr/bin/id -u) && "
			  "echo same"), "same\n");
}

/* ---- what cannot be one --------------------------------------------------------------------- */

Test(workspace, missing_a_file_a_link)
{
	struct box *box = box_make();
	const char *file = path_in(box->top, "file");
	const char *dangling = path_in(box->top, "dangling");
	const char *link = path_in(box->top, "link");
	const char *missing = path_in(box->top, "missing");
	const char *fifo = path_in(box->top, "fifo");
	const struct {
		const char *path, *text;
	} bad[] = {
		{ missing, "No such file or directory" },
		{ file, "Not a directory" },
		{ dangling, "link" },
		{ link, "link" },
		{ fifo, "Not a directory" },
		{ path_in(file, "x"), "Not a directory" },
		{ "", "empty" },
	};

	file_write(file, "");
	link_make("nowhere", dangling);
	link_make("work", link);
	cr_assert_eq(mkfifo(fifo, 0600), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		box_profile_alone(box, "[workspace]\npath = %s\n",
				  box_quoted(bad[i].path));
		box_expect_refused(box, BOX_RUN(box, BOX_MARK), 125,
				   "p.ini:2", bad[i].path, bad[i].text, NULL);
		box_expect_refused(box, program_run(&(struct program){
				.argv = ARGV(sbx_launch(), "--profile",
					     box->profile, "--workspace",
					     bad[i].path, "--", BOX_MARK) }),
				   125, "workspace", bad[i].path, bad[i].text,
				   NULL);
	}
}

Test(workspace, of_no_access)
{
	struct box *box;
	const char *closed;

	if (identity_self() != IDENTITY_USER)
		return;
	box = box_make();
	closed = path_in(box->top, "closed");
	directory_make(closed, 0700);
	directory_make(path_in(closed, "work"), 0700);
	cr_assert_eq(chmod(closed, 0), 0);
	box_profile_alone(box, "[workspace]\npath = %s/work\n", closed);
	box_expect_refused(box, BOX_RUN(box, BOX_MARK), 125, "p.ini:2",
			   closed, "Permission denied", NULL);
	chmod(closed, 0700);
}

Test(workspace, that_would_be_read_only)
{
	struct box *box;

	box_need_mounts();
	box = box_make();
	cr_assert_eq(mount("test", box->work, "tmpfs", 0, "mode=700"), 0);
	cr_assert_eq(mount(NULL, box->work, NULL,
			   MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), 0);
	box_profile_alone(box, "[workspace]\npath = %s\n", box->work);
	box->host = host_read();
	box_expect_refused(box, BOX_RUN(box, BOX_MARK), 125, "p.ini:2",
			   box->work, "read-only", NULL);
	umount2(box->work, MNT_DETACH);
}

/* The source is settled once: swapping it for a link gains nothing. */
Test(workspace, swapped_for_a_link_while_it_starts)
{
	struct box *box = box_make();
	const char *other = path_in(box->top, "other");
	const char *link = path_in(box->top, "link");
	struct process *swapper;

	directory_make(other, 0700);
	file_write(path_in(other, "secret"), "of other\n");
	link_make("other", link);
	/* So that nothing but a bind of it can show what is in there. */
	box_profile(box, "[mask]\ntmpfs = %s\n", box->top);
	swapper = process_start(&(struct program){
		.argv = ARGV(PYTHON, "-c",
			     "import ctypes, sys\n"
			     "swap = ctypes.CDLL(None).renameat2\n"
			     "a, b = (p.encode() for p in sys.argv[1:])\n"
			     "print('on', flush=True)\n"
			     "while True:\n"
			     "    swap(-100, a, -100, b, 2)\n",
			     box->work, link) });
	cr_assert(process_await(swapper, "on\n"));
	for (int i = 0; i < 30; i++) {
		const struct outcome *o = BOX_SH(box, "ls -A; echo x >x");

		cr_expect(o->exit == 0 || o->exit == 125, "%s",
			  outcome_describe(o));
		cr_expect(!strstr(o->out, "secret"));
	}
	process_signal(swapper, SIGKILL);
	process_finish(swapper);
	cr_expect(!file_exists(path_in(other, "x")));
}
