/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The overlay workspace: a frozen lower, an upper that has the changes. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"
#include "harness/tree.h"

struct layers {
	struct box *box;
	const char *upper;
	const struct tree *lower; /* the workspace as it was */
};

static struct layers make_layers(void)
{
	struct layers layers = { .box = box_make() };
	const char *work = layers.box->work;

	box_fill(layers.box);
	directory_make(path_in(work, "gone"), 0755);
	file_write(path_in(work, "gone/old"), "before\n");
	layers.lower = tree_read(work, TREE_TOUCHED);
	layers.upper = box_overlay(layers.box, "");
	return layers;
}

static bool is_whiteout(const char *path)
{
	struct stat found;

	return lstat(path, &found) == 0 && S_ISCHR(found.st_mode) &&
	       found.st_rdev == 0;
}

static bool is_opaque(const char *path)
{
	char value[8];

	return getxattr(path, "user.overlay.opaque", value,
			sizeof(value)) == 1 && value[0] == 'y';
}

static const char change_everything[] =
	"import os, shutil\n"
	"assert open('kept').read() == 'kept\\n'\n"
	"open('changed', 'a').write('after\\n')\n"
	"os.unlink('deleted')\n"
	"shutil.rmtree('dir')\n"
	"os.mkdir('dir')\n"
	"open('dir/new', 'w').write('after\\n')\n"
	"shutil.rmtree('gone')\n"
	"open('added', 'w').write('after\\n')\n"
	"os.mkdir('added-dir')\n"
	"os.rename('changed', 'renamed')\n"
	"open('changed', 'w').write('again\\n')\n"
	"print(sorted(os.listdir()), os.listdir('dir'))\n";

Test(overlay, changes_are_in_the_upper_and_nowhere_else)
{
	struct layers l = make_layers();
	const struct outcome *o = BOX_PYTHON(l.box, change_everything);

	expect_exit(o, 0);
	expect_out(o, "['added', 'added-dir', 'changed', 'dir', 'kept', "
		   "'renamed'] ['new']\n");
	expect_tree_unchanged(l.lower, l.box->work, TREE_TOUCHED);
	expect_names(l.upper,
		     "added added-dir changed deleted dir gone renamed ");
	expect_file(path_in(l.upper, "changed"), "again\n");
	expect_file(path_in(l.upper, "renamed"), "before\nafter\n");
	cr_expect(is_whiteout(path_in(l.upper, "deleted")));
	cr_expect(is_whiteout(path_in(l.upper, "gone")));
	expect_names(path_in(l.upper, "dir"), "new ");
	cr_expect(is_opaque(path_in(l.upper, "dir")));
	/* The work directory is gone. */
	expect_names(l.box->top, "conf upper work ");
	box_expect_clean(l.box);
}

Test(overlay, the_next_run_goes_on)
{
	struct layers l = make_layers();

	expect_exit(BOX_PYTHON(l.box, change_everything), 0);
	expect_out(BOX_SH(l.box, "ls; cat renamed; ls dir; echo 2 >kept"),
		   "added\nadded-dir\nchanged\ndir\nkept\nrenamed\nbefore\n"
		   "after\nnew\n");
	expect_out(BOX_SH(l.box, "cat kept"), "2\n");
	expect_tree_unchanged(l.lower, l.box->work, TREE_TOUCHED);
	expect_file(path_in(l.upper, "kept"), "2\n");
	expect_names(l.box->top, "conf upper work ");
}

Test(overlay, two_runs_on_one_upper)
{
	struct layers l = make_layers();
	struct process *first = process_start(&(struct program){
		.argv = BOX_ARGV(l.box, "sh", "-c",
				 "echo on; read x; echo 1 >one"),
		.input_open = true });
	const struct host *with_first;

	cr_assert(process_await(first, "on\n"));
	with_first = l.box->host;
	l.box->host = host_read();
	BOX_EXPECT_REFUSED(l.box, "p.ini:7", l.upper, "in use");
	l.box->host = with_first;
	process_write(first, "\n", 1);
	expect_exit(process_finish(first), 0);
	expect_file(path_in(l.upper, "one"), "1\n");
	expect_exit(BOX_RUN(l.box, "true"), 0);
	box_expect_clean(l.box);
}

/* Owners on disk are those of the upper layer, whoever the payload was. */
Test(overlay, owners_and_modes)
{
	struct layers l = make_layers();
	struct stat made, top;

	expect_exit(BOX_SH(l.box, "umask 027; echo x >new; chmod 600 changed; "
			   "stat -c %u new kept | uniq | wc -l"), 0);
	cr_assert_eq(stat(path_in(l.upper, "new"), &made), 0);
	cr_assert_eq(stat(l.upper, &top), 0);
	cr_expect_eq(made.st_uid, top.st_uid);
	cr_expect_eq(made.st_gid, top.st_gid);
	cr_expect_eq(made.st_mode, S_IFREG | 0640);
	cr_expect_eq(file_mode(path_in(l.upper, "changed")), S_IFREG | 0600);
}

static void expect_no_trace(struct layers *l)
{
	box_expect_clean(l->box);
	expect_names(l->box->top, "conf upper work ");
	expect_tree_unchanged(l->lower, l->box->work, TREE_TOUCHED);
	/* And the upper can be used again. */
	expect_exit(BOX_RUN(l->box, "true"), 0);
	expect_names(l->box->top, "conf upper work ");
}

Test(overlay, work_is_gone_however_it_ends)
{
	struct layers l = make_layers();

	for (int i = 0; i < 3; i++) {
		struct process *p = process_start(&(struct program){
			.argv = BOX_ARGV(l.box, "sh", "-c",
				"rm -r dir; mkdir dir; echo on; sleep 60") });

		cr_assert(process_await(p, "on\n"));
		if (i == 0) {
			process_signal(p, SIGTERM);
		} else if (i == 1) {
			process_signal(p, SIGKILL);
		} else {
			/* The launcher is the oldest of them. */
			for (const pid_t *pid = host_descendants(); *pid;
			     pid++)
				if (strcmp(box_field(host_process_file(*pid,
					"status", NULL), "Name:"), "sh") == 0)
					kill(*pid, SIGKILL);
		}
		process_finish(p);
		expect_no_trace(&l);
	}
}

Test(overlay, a_work_directory_of_the_callers)
{
	struct layers l = make_layers();
	const char *work = path_in(l.box->top, "mine");

	directory_make(work, 0700);
	box_profile(l.box, "mode = overlay\nupper = %s\nwork = %s\n", l.upper,
		    work);
	expect_exit(BOX_SH(l.box, "rm -r dir; mkdir dir; echo x >new"), 0);
	expect_file(path_in(l.upper, "new"), "x\n");
	/* It stays, but what the kernel put there without rights does not. */
	expect_names(work, "");
	cr_expect_eq(rmdir(work), 0);
}

/* ---- several lower layers ----------------------------------------------------------------- */

Test(overlay, the_last_lower_is_on_top)
{
	struct layers l = make_layers();
	const char *base = path_in(l.box->top, "base");

	directory_make(base, 0755);
	file_write(path_in(base, "kept"), "of base\n");
	file_write(path_in(base, "base-only"), "of base\n");
	box_profile(l.box, "mode = overlay\nupper = %s\nlower = %s\n"
		    "lower = %s\n", l.upper, base, l.box->work);
	expect_out(BOX_SH(l.box, "cat kept base-only"), "kept\nof base\n");
	box_profile(l.box, "mode = overlay\nupper = %s\nlower = %s\n"
		    "lower = %s\n", l.upper, l.box->work, base);
	expect_out(BOX_SH(l.box, "cat kept base-only"),
		   "of base\nof base\n");
}

Test(overlay, names_that_an_option_string_would_break_on)
{
	static const char *const names[] = {
		"a:b", "c,d", "e\\f", "g h", "\"q\"", "i=j", "kölner", "up:per",
	};
	struct layers l = make_layers();
	struct arena_text lowers = { 0 };
	const char *upper = path_in(l.box->top, "up:p,e\\r dir");
	const struct outcome *o;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *path = path_in(l.box->top, names[i]);

		directory_make(path, 0755);
		file_write(path_in(path, arena_format("of-%zu", i)), "");
		arena_add_format(&lowers, "lower = %s\n", box_quoted(path));
	}
	directory_make(upper, 0700);
	box_profile(l.box, "mode = overlay\nupper = %s\n%s",
		    box_quoted(upper), arena_string(&lowers));
	o = BOX_SH(l.box, "ls; echo x >new");
	expect_exit(o, 0);
	expect_out(o, "of-0\nof-1\nof-2\nof-3\nof-4\nof-5\nof-6\nof-7\n");
	expect_file(path_in(upper, "new"), "x\n");
	box_expect_clean(l.box);
}

/* A newline in a path comes from the workspace itself, not from a line. */
Test(overlay, a_newline_in_the_lowers_name)
{
	struct box *box = box_make();
	const char *work = path_in(box->top, "new\nline");
	const char *upper = path_in(box->top, "upper");

	directory_make(work, 0700);
	directory_make(upper, 0700);
	file_write(path_in(work, "there"), "there\n");
	box_profile_alone(box, "[workspace]\nmode = overlay\nupper = %s\n",
			  upper);
	expect_out(program_run(&(struct program){
			.argv = ARGV(sbx_launch(), "--profile", box->profile,
				     "--workspace", work, "--", "sh", "-c",
				     "cat there; echo x >new") }), "there\n");
	expect_file(path_in(upper, "new"), "x\n");
	box_expect_clean(box);
}

Test(overlay, a_hundred_layers)
{
	struct layers l = make_layers();
	struct arena_text lowers = { 0 };
	const char *top = path_in(l.box->top, "a-long-directory-name-so-that-"
				  "a-single-string-of-all-paths-is-too-long");
	const struct outcome *o;

	directory_make(top, 0755);
	for (int i = 0; i < 100; i++) {
		const char *layer = arena_format("%s/layer-number-%d-of-many",
						 top, i);

		directory_make(layer, 0755);
		file_write(path_in(layer, arena_format("f%d", i)), "");
		file_write(path_in(layer, "all"), arena_format("%d\n", i));
		arena_add_format(&lowers, "lower = %s\n", layer);
	}
	box_profile(l.box, "mode = overlay\nupper = %s\n%s", l.upper,
		    arena_string(&lowers));
	o = BOX_SH(l.box, "ls | wc -l; cat all; rm f0; echo x >f99; ls | "
		   "wc -l");
	expect_exit(o, 0);
	expect_out(o, "101\n99\n100\n");
	expect_names(l.upper, "f0 f99 ");
	box_expect_clean(l.box);
}

Test(overlay, ephemeral_with_layers)
{
	struct layers l = make_layers();
	const char *base = path_in(l.box->top, "base");
	const struct tree *before;

	directory_make(base, 0755);
	file_write(path_in(base, "base-only"), "of base\n");
	before = tree_read(base, TREE_TOUCHED);
	box_profile(l.box, "mode = ephemeral\nlower = %s\nlower = %s\n", base,
		    l.box->work);
	expect_out(BOX_SH(l.box, "cat kept base-only; rm base-only; ls dir; "
			  "rm -r dir; echo x >kept; cat kept; ls"),
		   "kept\nof base\nold\nsub\nx\nchanged\ndeleted\ngone\n"
		   "kept\n");
	expect_tree_unchanged(before, base, TREE_TOUCHED);
	expect_tree_unchanged(l.lower, l.box->work, TREE_TOUCHED);
	box_expect_clean(l.box);
}

/* ---- what cannot be one ------------------------------------------------------------------------ */

Test(overlay, without_an_upper_or_with_a_bad_one)
{
	struct layers l = make_layers();
	const char *work = l.box->work, *top = l.box->top;
	const char *file = path_in(top, "file");
	const struct {
		const char *lines, *where, *text;
	} bad[] = {
		{ "", "p.ini:3", "upper" },
		{ arena_format("upper = %s/missing\n", top), "p.ini:4",
		  "No such file or directory" },
		{ arena_format("upper = %s\n", file), "p.ini:4",
		  "Not a directory" },
		{ arena_format("upper = %s/dir\n", work), "p.ini:4",
		  "overlap" },
		{ arena_format("upper = %s\n", top), "p.ini:4", "overlap" },
		{ arena_format("upper = %s\nlower = %s/missing\n", l.upper,
			       top), "p.ini:5", "No such file or directory" },
		{ arena_format("upper = %s\nwork = %s/missing\n", l.upper,
			       top), "p.ini", "No such file or directory" },
		{ arena_format("upper = %s\nlower = %s\n", l.upper, file),
		  "p.ini:5", "Not a directory" },
	};

	file_write(file, "");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		box_profile_alone(l.box, "[workspace]\npath = %s\n"
				  "mode = overlay\n%s", work, bad[i].lines);
		BOX_EXPECT_REFUSED(l.box, bad[i].where, bad[i].text);
		expect_names(l.upper, "");
	}
	expect_names(top, "conf file upper work ");
	expect_tree_unchanged(l.lower, work, TREE_TOUCHED);
}

Test(overlay, an_upper_that_is_of_no_use)
{
	struct layers l = make_layers();

	box_profile_alone(l.box, "[workspace]\npath = %s\nupper = %s\n",
			  l.box->work, l.upper);
	BOX_EXPECT_REFUSED(l.box, "p.ini:3", "upper", "overlay");
}

Test(overlay, an_upper_on_an_overlay)
{
	struct layers l;
	const char *merged, *other;

	box_need_mounts();
	l = make_layers();
	merged = path_in(l.box->top, "merged");
	other = path_in(l.box->top, "other");
	directory_make(merged, 0700);
	directory_make(other, 0700);
	directory_make(path_in(other, "lower"), 0700);
	directory_make(path_in(other, "upper"), 0700);
	directory_make(path_in(other, "work"), 0700);
	directory_make(path_in(other, "lower/u"), 0700);
	cr_assert_eq(mount("overlay", merged, "overlay", 0,
			   arena_format("lowerdir=%s/lower,upperdir=%s/upper,"
					"workdir=%s/work%s", other, other,
					other, identity_self() ==
					IDENTITY_UNSHARE ? ",userxattr" : "")),
		     0);
	box_profile_alone(l.box, "[workspace]\npath = %s\nmode = overlay\n"
			  "upper = %s/u\n", l.box->work, merged);
	l.box->host = host_read();
	BOX_EXPECT_REFUSED(l.box, "p.ini:2", path_in(merged, "u"));
	umount2(merged, MNT_DETACH);
}

Test(overlay, a_mount_below_the_lower)
{
	struct layers l;
	const char *below;
	const struct outcome *o;

	box_need_mounts();
	l = make_layers();
	below = path_in(l.box->work, "dir/sub");
	cr_assert_eq(mount("test", below, "tmpfs", 0, "mode=700"), 0);
	file_write(path_in(below, "on-the-mount"), "");
	l.box->host = host_read();
	o = BOX_RUN(l.box, BOX_MARK);
	box_expect_refused(l.box, o, 125, "p.ini", "dir/sub", NULL);
	umount2(below, MNT_DETACH);
}
