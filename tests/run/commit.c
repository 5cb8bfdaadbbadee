/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `commit = on-success`: an overlay's changes, made in the lower layer. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"
#include "harness/tree.h"

struct place {
	struct box *box;
	const char *upper;
	const struct tree *before; /* the workspace */
};

static void write_profile(const struct place *place, const char *more)
{
	box_overlay(place->box, arena_format("commit = on-success\n%s",
					     more));
}

static struct place make_place(void)
{
	struct place place = { .box = box_make() };

	box_fill(place.box);
	place.before = tree_read(place.box->work, TREE_CONTENT);
	place.upper = box_overlay(place.box, "commit = on-success\n");
	return place;
}

static void expect_discarded(const struct place *place)
{
	expect_tree_unchanged(place->before, place->box->work, TREE_CONTENT);
	box_expect_tidy(place->box);
}

/* ---- what lands -------------------------------------------------------------------------- */

static const char change_everything[] =
	"import os, shutil\n"
	"open('changed', 'a').write('after\\n')\n"
	"os.unlink('deleted')\n"
	"shutil.rmtree('dir'); os.makedirs('dir/sub')\n"
	"open('dir/sub/new', 'w').write('new\\n')\n"
	"os.unlink('kept'); os.mkdir('kept')\n"
	"open('kept/in', 'w').write('in\\n')\n"
	"os.makedirs('a/b/c'); open('a/b/c/f', 'w').write('f\\n')\n"
	"os.chmod('a/b/c/f', 0o640); os.utime('a/b/c/f', (1, 1234567890))\n"
	"os.symlink('a/b', 'link'); os.symlink('/etc/passwd', 'out')\n";

static const char everything_changed[] =
	"d 700  \n"
	"d 755 a \n"
	"d 755 a/b \n"
	"d 755 a/b/c \n"
	"f 640 a/b/c/f \n"
	"f 644 changed \n"
	"d 755 dir \n"
	"d 755 dir/sub \n"
	"f 644 dir/sub/new \n"
	"d 755 kept \n"
	"f 644 kept/in \n"
	"l 777 link a/b\n"
	"l 777 out /etc/passwd\n";

Test(commit, lands_when_the_command_succeeds)
{
	struct place place = make_place();
	const char *work = place.box->work;
	struct stat made, top;

	expect_exit(BOX_PYTHON(place.box, change_everything), 0);
	expect_listing(work, everything_changed);
	expect_file(path_in(work, "changed"), "before\nafter\n");
	expect_file(path_in(work, "a/b/c/f"), "f\n");
	cr_assert_eq(stat(path_in(work, "a/b/c/f"), &made), 0);
	cr_assert_eq(stat(work, &top), 0);
	cr_expect_eq(made.st_uid, top.st_uid);
	cr_expect_eq(made.st_gid, top.st_gid);
	cr_expect_eq(made.st_mtime, 1234567890);
	box_expect_tidy(place.box);
	/* The next one begins there. */
	expect_out(BOX_SH(place.box, "cat changed; rm -r a; echo x >dir/x"),
		   "before\nafter\n");
	cr_expect(!file_exists(path_in(work, "a")));
	expect_file(path_in(work, "dir/x"), "x\n");
	box_expect_tidy(place.box);
}

Test(commit, of_nothing)
{
	struct place place = make_place();
	const struct tree *before = tree_read(place.box->work, TREE_TOUCHED);

	expect_exit(BOX_SH(place.box, "cat kept; touch x; rm x"), 0);
	expect_tree_unchanged(before, place.box->work, TREE_TOUCHED);
	box_expect_tidy(place.box);
}

Test(commit, of_a_lower_that_is_not_the_path)
{
	struct place place = make_place();
	const char *lower = path_in(place.box->top, "lower");

	directory_make(lower, 0700);
	file_write(path_in(lower, "f"), "f\n");
	box_profile(place.box, "mode = overlay\nupper = %s\nlower = %s\n"
		    "commit = on-success\n", place.upper, lower);
	expect_out(BOX_SH(place.box, "ls; mv f g"), "f\n");
	expect_names(lower, "g ");
	expect_tree_unchanged(place.before, place.box->work, TREE_CONTENT);
}

Test(commit, modes_that_forbid_their_owner)
{
	struct place place = make_place();
	const char *work = place.box->work;

	expect_exit(BOX_PYTHON(place.box,
		"import os\n"
		"os.makedirs('new/in'); open('new/in/f', 'w')\n"
		"os.chmod('new/in/f', 0); os.chmod('new/in', 0o500)\n"
		"os.chmod('new', 0o555); os.chmod('dir/sub', 0o500)\n"), 0);
	cr_expect_eq(file_mode(path_in(work, "new")), S_IFDIR | 0555);
	cr_expect_eq(file_mode(path_in(work, "new/in")), S_IFDIR | 0500);
	cr_expect_eq(file_mode(path_in(work, "dir/sub")), S_IFDIR | 0500);
	expect_exit(BOX_PYTHON(place.box,
		"import os, shutil\n"
		"os.chmod('new', 0o755); os.chmod('new/in', 0o755)\n"
		"open('new/in/g', 'w'); os.chmod('new/in', 0o500)\n"
		"os.chmod('dir/sub', 0o700); shutil.rmtree('dir/sub')\n"
		"os.chmod('new', 0)\n"), 0);
	cr_expect_eq(file_mode(path_in(work, "new")), S_IFDIR);
	cr_assert_eq(chmod(path_in(work, "new"), 0700), 0);
	expect_names(path_in(work, "new/in"), "f g ");
	expect_names(path_in(work, "dir"), "old ");
	box_expect_tidy(place.box);
}

Test(commit, any_bytes_in_names)
{
	struct place place = make_place();

	expect_exit(BOX_PYTHON(place.box,
		"import os\n"
		"for n in (b'a\\nb', b'\\xff', b'-rf', b' x ', b'x' * 255,\n"
		"          b'end 3', b'P 1 2 3 4'):\n"
		"    os.mkdir(n); open(n + b'/' + n, 'wb').write(n)\n"
		"    open(b'dir/' + n, 'w')\n"), 0);
	expect_file(path_in(place.box->work, "a\nb/a\nb"), "a\nb");
	expect_file(path_in(place.box->work, "\xff/\xff"), "\xff");
	expect_file(path_in(place.box->work, " x / x "), " x ");
	cr_expect(file_exists(path_in(place.box->work, "dir/end 3")));
	box_expect_tidy(place.box);
}

Test(commit, directories_in_directories)
{
	struct place place = make_place();

	expect_exit(BOX_PYTHON(place.box, "import os\n"
		"for i in range(400): os.mkdir('d'); os.chdir('d')\n"
		"open('f', 'w')\n"), 0);
	expect_exit(BOX_PYTHON(place.box, "import os\n"
		"for i in range(400): os.chdir('d')\n"
		"os.unlink('f'); open('g', 'w')\n"), 0);
	expect_out(BOX_PYTHON(place.box, "import os, shutil\n"
		"for i in range(400): os.chdir('d')\n"
		"print(os.listdir())\n"), "['g']\n");
	expect_exit(BOX_SH(place.box, "rm -r d"), 0);
	expect_discarded(&place);
}

/* ---- what does not ------------------------------------------------------------------------ */

Test(commit, nothing_of_a_run_that_did_not_succeed)
{
	struct place place = make_place();

	expect_exit(BOX_SH(place.box, "rm -r *; true >new; exit 3"), 3);
	expect_discarded(&place);
	expect_exit(BOX_SH(place.box, "rm -r *; true >new; kill -9 $$"), 137);
	expect_discarded(&place);
	expect_exit(BOX_RUN(place.box, "/does/not/exist"), 127);
	expect_discarded(&place);
	expect_exit(program_run(&(struct program){
			.argv = ARGV(sbx_launch(), "--profile",
				     place.box->profile, "--timeout", "300ms",
				     "--", "sh", "-c", "trap 'exit 0' TERM; "
				     "true >new; sleep 9 & wait") }), 124);
	expect_discarded(&place);
}

Test(commit, no_devices_sockets_pipes_set_user_id)
{
	struct place place = make_place();
	const char *work = place.box->work;

	write_profile(&place, "[security]\nrun-as = caller\n");
	expect_exit(BOX_PYTHON(place.box,
		"import os, socket\n"
		"socket.socket(socket.AF_UNIX).bind('socket')\n"
		"os.mkfifo('dir/fifo'); os.mkdir('new')\n"
		"os.mkfifo('new/fifo')\n"
		"os.unlink('changed'); os.mkfifo('changed')\n"
		"open('f', 'w')\n"
		"for p, m in (('f', 0o6755), ('new', 0o3777), ('kept', 0o4644)):\n"
		"    try: os.chmod(p, m)\n"
		"    except OSError: os.chmod(p, m & 0o777)\n"), 0);
	expect_names(work, "deleted dir f kept new ");
	expect_names(path_in(work, "dir"), "old sub ");
	expect_names(path_in(work, "new"), "");
	cr_expect_eq(file_mode(path_in(work, "f")), S_IFREG | 0755);
	cr_expect_eq(file_mode(path_in(work, "new")), S_IFDIR | 0777);
	cr_expect_eq(file_mode(path_in(work, "kept")), S_IFREG | 0644);
	box_expect_tidy(place.box);
}

/* A link in the place of a directory is a link, and nothing behind it. */
Test(commit, not_through_links)
{
	struct place place = make_place();
	const char *other = path_in(place.box->top, "other");
	const struct tree *before;

	directory_make(other, 0700);
	file_write(path_in(other, "old"), "other\n");
	before = tree_read(other, TREE_TOUCHED);
	expect_exit(BOX_PYTHON(place.box,
		"import os, shutil, sys\n"
		"shutil.rmtree('dir/sub')\n"
		"os.symlink(sys.argv[1], 'dir/sub')\n", other), 0);
	cr_expect(S_ISLNK(file_mode(path_in(place.box->work, "dir/sub"))));
	expect_exit(BOX_SH(place.box, "rm dir/sub; mkdir dir/sub; "
			   "echo x >dir/sub/old"), 0);
	expect_file(path_in(place.box->work, "dir/sub/old"), "x\n");
	expect_tree_unchanged(before, other, TREE_TOUCHED);
}

Test(commit, not_to_what_is_protected_or_covered)
{
	struct place place = make_place();
	const char *work = place.box->work;
	const char *dep = path_in(place.box->top, "dep");

	directory_make(dep, 0755);
	write_profile(&place, arena_format("protect = dir/old\n"
		"protect = absent\nprotect = no/such\n[layers]\n"
		"layer = %s %s/dep\n", dep, work));
	expect_exit(BOX_SH(place.box,
		"echo x >dir/old; rm -f dir/old; mv dir d2; rm -r dir; "
		"mkdir absent/x; echo x >dep/x; mkdir -p no/such/x; "
		"echo mine >no/file; echo y >dir/new; true"), 0);
	expect_file(path_in(work, "dir/old"), "before\n");
	expect_file(path_in(work, "dir/new"), "y\n");
	cr_expect(!file_exists(path_in(work, "absent")));
	cr_expect(!file_exists(path_in(work, "dep")));
	cr_expect(!file_exists(path_in(work, "no/such")));
	expect_names(place.upper, "");
}

/* ---- others ------------------------------------------------------------------------------- */

/* @payload has run when the shell program @other changes the workspace. */
static const struct outcome *run_beside(struct place *place,
					const char *payload,
					const char *other)
{
	struct process *p = process_start(&(struct program){
		.argv = BOX_ARGV(place->box, "sh", "-c",
				 arena_format("%s; echo on; read x; true", payload)),
		.input_open = true });

	cr_assert(process_await(p, "on\n"));
	expect_exit(program_run(&(struct program){
			.argv = ARGV("sh", "-ec", other),
			.cwd = place->box->work }), 0);
	process_close_input(p);
	return process_finish(p);
}

Test(commit, not_over_the_changes_of_others)
{
	static const char *const cases[][2] = {
		{ "echo x >>changed", "echo y >>changed" },
		{ "echo x >>changed", "rm changed" },
		{ "echo x >>changed", "mv kept changed" },
		{ "rm changed", "echo y >>changed" },
		{ "echo x >new", "echo y >new" },
		{ "mkdir new", "echo y >new" },
		{ "rm -r dir", "echo y >>dir/sub/old" },
		{ "rm -r dir", "echo y >dir/sub/new" },
		{ "rm -r dir; mkdir dir", "echo y >dir/sub/new" },
		{ "rm -r dir; echo x >dir", "mkdir dir/sub/new" },
		{ "echo x >dir/old", "mv dir d2; cp -r d2 dir" },
		{ "echo x >dir/new", "mv dir d2; mkdir dir" },
		{ "echo x >dir/new", "mv dir d2" },
		{ "chmod 700 dir", "chmod 750 dir" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct place place = make_place();
		const struct tree *theirs;
		const struct outcome *o;
		const char *other = arena_format("%s; true", cases[i][1]);

		o = run_beside(&place, cases[i][0], other);
		theirs = tree_read(place.box->work, TREE_CONTENT);
		cr_expect_eq(o->exit, 125, "%s, %s: %s", cases[i][0],
			     cases[i][1], outcome_describe(o));
		cr_expect(strstr(o->err, "changed by somebody else"), "%s: %s",
			  cases[i][1], o->err);
		/* Theirs is there, and ours is not lost. */
		cr_expect_str_neq(tree_changes(place.before, theirs), "");
		cr_expect(*directory_names(place.upper), "%s", cases[i][1]);
		o = BOX_RUN(place.box, BOX_MARK);
		box_expect_refused(place.box, o, 125, "p.ini", "upper",
				   "not empty", NULL);
	}
}

Test(commit, beside_the_changes_of_others)
{
	struct place place = make_place();

	expect_exit(run_beside(&place, "echo x >mine; rm dir/old",
			       "echo y >theirs; echo y >dir/sub/theirs; "
			       "rm deleted"), 0);
	expect_names(place.box->work, "changed dir kept mine theirs ");
	expect_names(path_in(place.box->work, "dir"), "sub ");
	expect_names(path_in(place.box->work, "dir/sub"), "old theirs ");
	box_expect_tidy(place.box);
}

/* Written right before the start is what was there. */
Test(commit, after_the_callers_own_changes)
{
	struct place place = make_place();

	for (int i = 0; i < 5; i++) {
		file_write(path_in(place.box->work, "changed"), "again\n");
		expect_exit(BOX_SH(place.box, "echo x >>changed"), 0);
		expect_file(path_in(place.box->work, "changed"),
			    "again\nx\n");
	}
}

Test(commit, of_two_runs_at_once)
{
	struct place place = make_place();
	const char *upper = path_in(place.box->top, "upper2");
	struct process *first, *second;

	directory_make(upper, 0700);
	first = process_start(&(struct program){
		.argv = BOX_ARGV(place.box, "sh", "-c",
				 "echo on; read x; echo 1 >one; rm deleted"),
		.input_open = true });
	cr_assert(process_await(first, "on\n"));
	second = process_start(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", place.box->profile,
			     "--set", arena_format("workspace.upper=%s",
						   upper), "--", "sh", "-c",
			     "echo on; read x; echo 2 >two; rm -r dir"),
		.input_open = true });
	cr_assert(process_await(second, "on\n"));
	process_close_input(first);
	process_close_input(second);
	process_finish(first);
	process_finish(second);
	expect_names(place.box->work, "changed kept one two ");
	expect_names(place.box->top, "conf upper upper2 work ");
}

/* ---- refused before the start ----------------------------------------------------------- */

Test(commit, not_with_what_an_earlier_run_left)
{
	struct place place = make_place();

	file_write(path_in(place.upper, "left"), "");
	BOX_EXPECT_REFUSED(place.box, "p.ini", place.upper, "not empty");
	expect_file(path_in(place.upper, "left"), "");
}

Test(commit, not_to_a_mount)
{
	struct place place;

	box_need_mounts();
	place = make_place();
	cr_assert_eq(mount("test", place.box->work, "tmpfs", 0, "mode=700"),
		     0);
	place.box->host = host_read();
	BOX_EXPECT_REFUSED(place.box, "p.ini", "commit", "mount of its own");
	umount2(place.box->work, MNT_DETACH);
}

Test(commit, not_beside_which_nothing_can_be_written)
{
	struct place place = make_place();
	const char *above = path_in(place.box->top, "above");
	const char *lower = path_in(above, "lower");

	if (identity_self() != IDENTITY_USER)
		return;
	directory_make(above, 0700);
	directory_make(lower, 0700);
	cr_assert_eq(chmod(above, 0500), 0);
	box_profile(place.box, "mode = overlay\nupper = %s\nlower = %s\n"
		    "commit = on-success\n", place.upper, lower);
	BOX_EXPECT_REFUSED(place.box, "p.ini", "write beside", lower);
	chmod(above, 0700);
}

/* ---- a full disk ------------------------------------------------------------------------- */

Test(commit, on_a_full_disk)
{
	struct place place;
	const char *disk, *lower;
	const struct tree *before;
	const struct outcome *o;

	box_need_mounts();
	place = make_place();
	disk = path_in(place.box->top, "disk");
	lower = path_in(disk, "lower");
	directory_make(disk, 0700);
	cr_assert_eq(mount("test", disk, "tmpfs", 0, "size=1m,mode=700"), 0);
	directory_make(lower, 0700);
	file_write(path_in(lower, "f"), "before\n");
	before = tree_read(disk, TREE_TOUCHED);
	place.box->host = host_read();
	box_profile(place.box, "mode = overlay\nupper = %s\nlower = %s\n"
		    "commit = on-success\n", place.upper, lower);
	o = BOX_SH(place.box, "echo x >>f; head -c 600k /dev/zero >a; "
		   "head -c 600k /dev/zero >b");
	expect_exit(o, 125);
	expect_err_has(o, "commit");
	expect_err_has(o, "No space left on device");
	expect_err_has(o, place.upper);
	expect_names(disk, "lower ");
	expect_file(path_in(lower, "f"), "before\n");
	expect_names(lower, "f ");
	expect_names(place.upper, "a b f ");
	(void)before;
	umount2(disk, MNT_DETACH);
}

/* ---- root for somebody else ---------------------------------------------------------------- */

Test(commit, by_root_as_the_owner)
{
	struct place place;
	struct stat made;
	const char *work;

	box_need_root();
	place = make_place();
	work = place.box->work;
	expect_exit(program_run(&(struct program){
			.argv = ARGV("chown", "-R", "4242:4343", work,
				     place.upper) }), 0);
	expect_exit(BOX_PYTHON(place.box, change_everything), 0);
	expect_listing(work, everything_changed);
	cr_assert_eq(stat(path_in(work, "a/b/c/f"), &made), 0);
	cr_expect_eq(made.st_uid, 4242);
	cr_expect_eq(made.st_gid, 4343);
	box_expect_tidy(place.box);
	/* Where the owner could not write, root does not either. */
	cr_assert_eq(chown(path_in(work, "dir"), 0, 0), 0);
	cr_assert_eq(chmod(path_in(work, "dir"), 0755), 0);
	write_profile(&place, "[security]\nrun-as = caller\n");
	expect_exit(BOX_SH(place.box, "echo x >new; echo x >dir/new"), 125);
	cr_expect(!file_exists(path_in(work, "new")));
	cr_expect(!file_exists(path_in(work, "dir/new")));
}
