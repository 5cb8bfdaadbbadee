/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where things go: the most specific path wins whatever the order, missing
 * mount points, links on the way, the same place twice.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"
#include "harness/tree.h"

/* A directory below the box with one file in it, called like it. */
static const char *make_layer(struct box *box, const char *name)
{
	const char *path = path_in(box->top, name);

	directory_make(path, 0755);
	file_write(path_in(path, name), arena_format("of %s\n", name));
	return path;
}

/* ---- the order of writing ------------------------------------------------------------ */

/* Says of each path whether a file can be made in it. */
static const char try_each[] =
	"for d in \"$@\"; do if true >\"$d/try\"; then echo \"$d yes\"; "
	"rm \"$d/try\"; else echo \"$d no\"; fi; done 2>/dev/null";

/* The same sections in each of their orders give @text. */
static void expect_in_every_order(struct box *box,
				  const char *const *sections,
				  const char *const *argv, const char *text)
{
	static const int orders[][3] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
		{ 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
	};

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		const struct outcome *o;

		box_profile_alone(box, "%s%s%s", sections[orders[i][0]],
				  sections[orders[i][1]],
				  sections[orders[i][2]]);
		o = program_run(&(struct program){ .argv = argv });
		cr_expect_eq(o->exit, 0, "order %zu", i);
		expect_out(o, text);
	}
	box_expect_clean(box);
}

Test(order, a_layer_inside_the_workspace_stays_read_only)
{
	struct box *box = box_make();
	const char *layer = make_layer(box, "layer");
	const char *inside = path_in(box->work, "in");
	const char *deeper = path_in(inside, "deeper");

	directory_make(inside, 0755);
	directory_make(path_in(layer, "deeper"), 0755);
	expect_in_every_order(box,
		ARGV(arena_format("[workspace]\npath = %s\n", box->work),
		     arena_format("[layers]\nlayer = %s %s\n", layer, inside),
		     arena_format("[mask]\ntmpfs = %s rw\ntmpfs = /tmp\n",
				  deeper)),
		BOX_ARGV(box, "sh", "-c", try_each, "sh", ".", inside, deeper,
			 "/tmp"),
		arena_format(". yes\n%s no\n%s yes\n/tmp yes\n", inside,
			     deeper));
}

Test(order, a_workspace_inside_masks_and_layers_stays_writable)
{
	struct box *box = box_make();
	const char *layer = make_layer(box, "layer");
	const char *sections[] = {
		"[mask]\ntmpfs = /home\ntmpfs = /home/a/b/c/d\n",
		arena_format("[layers]\nlayer = %s /home/a\n", layer),
		arena_format("[workspace]\npath = %s /home/a/b\n", box->work),
	};

	/* What they need as mount points is there... */
	directory_make(path_in(layer, "b"), 0755);
	directory_make(path_in(box->work, "c"), 0755);
	directory_make(path_in(box->work, "c/d"), 0755);
	expect_in_every_order(box, sections,
		BOX_ARGV(box, "sh", "-c", try_each, "sh", "/home", "/home/a",
			 "/home/a/b", "/home/a/b/c", "/home/a/b/c/d"),
		"/home no\n/home/a no\n/home/a/b yes\n/home/a/b/c yes\n"
		"/home/a/b/c/d no\n");
	/* ...and is made, but not on the host, where it is not. */
	cr_assert_eq(rmdir(path_in(layer, "b")), 0);
	expect_in_every_order(box, sections,
		BOX_ARGV(box, "sh", "-c", try_each, "sh", "/home/a",
			 "/home/a/b"),
		"/home/a no\n/home/a/b yes\n");
	cr_expect(!file_exists(path_in(layer, "b")));
}

Test(order, siblings_and_names_that_only_begin_alike)
{
	struct box *box = box_make();
	const char *one = make_layer(box, "one");
	const char *two = make_layer(box, "two");

	expect_in_every_order(box,
		ARGV(arena_format("[layers]\nlayer = %s /home/ab\n", one),
		     arena_format("[layers]\nlayer = %s /home/a\n", two),
		     "[mask]\ntmpfs = /home\n"),
		BOX_ARGV(box, "sh", "-c", "cat /home/a/* /home/ab/*"),
		"of two\nof one\n");
}

Test(order, mounts_come_last_and_as_written)
{
	struct box *box = box_make();
	const char *one = make_layer(box, "one");
	const char *two = make_layer(box, "two");

	expect_in_every_order(box,
		ARGV(arena_format("[mounts]\nro-bind = %s /home/x\n"
				  "ro-bind = %s /home/x\n", one, two),
		     "[mask]\ntmpfs = /home\n",
		     arena_format("[layers]\nlayer = %s /home/x\n", one)),
		BOX_ARGV(box, "sh", "-c", "cat /home/x/*"), "of two\n");
}

Test(order, a_mount_that_buries_the_workspace_is_an_error)
{
	struct box *box = box_make();

	box_profile_alone(box, "[mounts]\ntmpfs = %s\n[workspace]\n"
			  "path = %s\n", box->top, box->work);
	box_expect_refused(box, BOX_RUN(box, BOX_MARK), 125, "p.ini:2",
			   box->top, "hides", box->work, NULL);
	box_profile_alone(box, "[mounts]\nro-bind = / /\n");
	box_expect_refused(box, BOX_RUN(box, BOX_MARK), 125, "p.ini:2",
			   "hides '/proc'", NULL);
}

/* ---- the same place twice ------------------------------------------------------------- */

Test(twice, in_different_ways_is_an_error)
{
	struct box *box = box_make();
	const char *one = make_layer(box, "one");
	const char *two = make_layer(box, "two");
	const char *both[][2] = {
		{ arena_format("[layers]\nlayer = %s /home\n", one),
		  arena_format("[layers]\nlayer = %s /home\n", two) },
		{ "[mask]\ntmpfs = /home\n",
		  arena_format("[layers]\nlayer = %s /home\n", one) },
		{ "[mask]\ntmpfs = /home\n", "[mask]\nhide = /home\n" },
		{ "[mask]\ntmpfs = /home\n", "[mask]\ntmpfs = /home rw\n" },
		{ arena_format("[workspace]\npath = %s\n", box->work),
		  arena_format("[layers]\nlayer = %s %s\n", one, box->work) },
		{ arena_format("[workspace]\npath = %s /home\n", box->work),
		  "[mask]\ntmpfs = /home//\n" },
		{ "[mask]\ntmpfs = /run\n", "[mask]\ntmpfs = /var/run rw\n" },
	};

	for (size_t i = 0; i < sizeof(both) / sizeof(both[0]); i++) {
		for (int first = 0; first < 2; first++) {
			box_profile_alone(box, "%s%s", both[i][first],
					  both[i][!first]);
			box_expect_refused(box, BOX_RUN(box, BOX_MARK), 125,
					   "p.ini:2", "p.ini:4", NULL);
		}
	}
}

Test(twice, in_the_same_way_is_once)
{
	struct box *box = box_make();
	const char *one = make_layer(box, "one");
	const struct outcome *o;

	box_profile_alone(box, "[mask]\ntmpfs = /opt\ntmpfs = /opt/\n"
			  "hide = /etc/passwd\nhide = /etc/passwd\n"
			  "[layers]\nlayer = %s /opt/a\nlayer = %s /opt/a\n"
			  "deps = %s /opt/a\nprefix =\nskills =\n", one, one,
			  one);
	o = BOX_SH(box, "cat /opt/a/*; grep -c ' /opt/a ' "
		   "/proc/self/mountinfo; grep -c ' /opt ' "
		   "/proc/self/mountinfo");
	expect_exit(o, 0);
	expect_out(o, "of one\n1\n1\n");
}

/* ---- layers ------------------------------------------------------------------------------ */

Test(layers, missing_optional_empty)
{
	struct box *box = box_make();
	const char *missing = path_in(box->top, "missing");
	const char *closed = path_in(box->top, "closed");

	directory_make(closed, 0);
	box_profile_alone(box, "[layers]\ndeps =\nlayer =\n"
			  "layer = %s /home/x optional\n"
			  "layer = /etc/passwd/x optional\n"
			  "layer = %s/x /home/y optional\n"
			  "skills = %s optional\n", missing, closed, missing);
	expect_out(BOX_SH(box, "ls /home/x 2>/dev/null; echo on"), "on\n");
	box_profile_alone(box, "[layers]\ndeps =\n\nlayer = %s /home/x\n",
			  missing);
	box_expect_refused(box, BOX_RUN(box, BOX_MARK), 125, "p.ini:4",
			   missing, "No such file or directory", NULL);
}

Test(layers, files_and_odd_names)
{
	struct box *box = box_make();
	const char *odd = make_layer(box, "with \"quotes\", \\ and ü:=;#");
	const char *file = path_in(box->top, "file");

	file_write(file, "a file\n");
	box_profile_alone(box, "[mask]\ntmpfs = /home\n[layers]\n"
			  "layer = %s \"/home/o d\\\"d\"\n"
			  "layer = %s /home/deep/er/file\n"
			  "shim = %s /etc/hostname\n",
			  box_quoted(odd), file, file);
	expect_out(BOX_SH(box, "cat '/home/o d\"d/'*; cat /home/deep/er/file "
			  "/etc/hostname; true >/home/deep/x || "
			  "echo x >>/etc/hostname || echo no"),
		   "of with \"quotes\", \\ and ü:=;#\na file\na file\nno\n");
	box_expect_clean(box);
}

Test(layers, as_many_as_there_are)
{
	enum { LAYERS = 2000 };
	struct box *box = box_make();
	struct arena_text text = { 0 };

	make_layer(box, "one");
	for (int i = 0; i < LAYERS; i++)
		arena_add_format(&text, "layer = %s/one /home/d%d/l%d\n",
				 box->top, i % 7, i);
	box_profile_alone(box, "[mask]\ntmpfs = /home\n[layers]\n%s",
			  arena_string(&text));
	expect_out(BOX_SH(box, "ls /home/d*/l*/one | wc -l; "
			  "echo x >/home/d3/l3/new || echo no"),
		   "2000\nno\n");
	box_expect_clean(box);
}

/* What a link names on the host is what is bound, under the link's name. */
Test(layers, a_source_that_is_a_link)
{
	struct box *box = box_make();

	make_layer(box, "real");
	link_make("real", path_in(box->top, "link"));
	box_profile_alone(box, "[mask]\ntmpfs = /home\n[layers]\n"
			  "layer = %s/link /home/l\n", box->top);
	expect_out(BOX_SH(box, "cat /home/l/*"), "of real\n");
}

/* ---- mount points --------------------------------------------------------------------------- */

Test(points, missing_ones_are_made_without_touching_the_host)
{
	struct box *box = box_make();
	const char *one = make_layer(box, "one");
	const char *two = make_layer(box, "two");
	const struct tree *etc = tree_read("/etc/alternatives", TREE_TOUCHED);
	const struct tree *before = tree_read(one, TREE_TOUCHED);

	box_profile_alone(box, "[layers]\nlayer = %s /here\n"
			  "layer = %s /here/new/er\n"
			  "layer = %s /etc/alternatives/more/yet\n"
			  "layer = %s /usr/share/sbx-test/x\n"
			  "layer = %s/one /here-file\n"
			  "[workspace]\npath = %s /a/b/c\n", one, two, two,
			  two, one, box->work);
	expect_out(BOX_SH(box, "cat /here-file /here/one /here/new/er/two "
			  "/etc/alternatives/more/yet/two "
			  "/usr/share/sbx-test/x/two; pwd; true >made; "
			  "test -e /etc/alternatives/awk && echo beside; "
			  "test -e /usr/share/doc && echo beside; "
			  "head -c4 /usr/bin/env | tail -c3; echo; "
			  "for d in / /a /a/b /here /here/new /etc "
			  "/etc/alternatives /etc/alternatives/more "
			  "/usr/share; do true >$d/x && echo wrote; done"),
		   "of one\nof one\nof two\nof two\nof two\n/a/b/c\nbeside\nbeside\n"
		   "ELF\n");
	cr_expect(file_exists(path_in(box->work, "made")));
	cr_expect(!file_exists("/here") && !file_exists("/here-file") && !file_exists("/a") &&
		  !file_exists("/usr/share/sbx-test"));
	expect_tree_unchanged(etc, "/etc/alternatives", TREE_TOUCHED);
	expect_tree_unchanged(before, one, TREE_TOUCHED);
	box_expect_clean(box);
}

Test(points, the_modes_and_links_beside_stay)
{
	struct box *box = box_make();
	const char *one = make_layer(box, "one");
	const char *list = "stat -c '%A %N' / /* /var/* | grep -v "
			   "'one\\|/dev\\|/proc'";
	const struct outcome *without = BOX_SH(box, list), *with;

	box_profile(box, "[layers]\nlayer = %s /one\nlayer = %s /var/one\n",
		    one, one);
	with = BOX_SH(box, list);
	expect_exit(with, 0);
	cr_expect_str_eq(without->out, with->out);
}

/* On a writable workspace they are on the host as long as the run lasts. */
Test(points, missing_ones_in_the_workspace)
{
	struct box *box = box_make();
	const char *one = make_layer(box, "one");
	const char *file = path_in(one, "one");
	const struct tree *before;

	file_write(path_in(box->work, "there"), "");
	before = tree_read(box->work, TREE_CONTENT);
	box_profile(box, "[layers]\nlayer = %s %s/lib/one\n"
		    "layer = %s %s/file\n", one, box->work, file, box->work);
	expect_out(BOX_SH(box, "cat lib/one/one file; ls -A; "
			  "true >lib/one/x || echo >>file || mv lib/one x || "
			  "rm -r lib/one || echo no"),
		   "of one\nof one\nfile\nlib\nthere\nno\n");
	expect_tree_unchanged(before, box->work, TREE_CONTENT);
	box_expect_clean(box);
}

Test(points, of_the_wrong_kind)
{
	struct box *box = box_make();
	const char *one = make_layer(box, "one");

	box_profile_alone(box, "[layers]\nlayer = %s /etc/hostname\n", one);
	box_expect_refused(box, BOX_RUN(box, BOX_MARK), 125, "p.ini:2",
			   "'/etc/hostname' is a file", NULL);
	box_profile_alone(box, "[layers]\nlayer = %s /etc/hostname/x\n", one);
	box_expect_refused(box, BOX_RUN(box, BOX_MARK), 125, "p.ini:2",
			   "/etc/hostname", "file", NULL);
	box_profile_alone(box, "[layers]\nlayer = %s/one /etc/ssl\n", one);
	box_expect_refused(box, BOX_RUN(box, BOX_MARK), 125, "p.ini:2",
			   "'/etc/ssl' is a directory", NULL);
	box_profile_alone(box, "[layers]\nlayer = %s %s/f/x\n"
			  "[workspace]\npath = %s\n", one, box->work,
			  box->work);
	file_write(path_in(box->work, "f"), "stays\n");
	box_expect_refused(box, BOX_RUN(box, BOX_MARK), 125, "p.ini:2",
			   "f", NULL);
	expect_file(path_in(box->work, "f"), "stays\n");
}

/* ---- links on the way -------------------------------------------------------------------------- */

Test(links, of_the_root_are_resolved_inside)
{
	struct box *box = box_make();
	const char *one = make_layer(box, "one");
	const char *root = path_in(box->top, "root");

	directory_make(root, 0755);
	directory_make(path_in(root, "real"), 0755);
	directory_make(path_in(root, "etc"), 0755);
	link_make("/real", path_in(root, "absolute"));
	link_make("real", path_in(root, "relative"));
	link_make("../../../../real/new", path_in(root, "etc/dangling"));
	link_make("usr/bin", path_in(root, "bin"));
	link_make("usr/lib", path_in(root, "lib"));
	link_make("usr/lib64", path_in(root, "lib64"));
	box_profile_alone(box, "[root]\nsource = %s\n[layers]\nlayer = /usr\n"
			  "layer = %s /absolute/a\nlayer = %s /relative/b\n"
			  "layer = %s /etc/dangling/c\n", root, one, one, one);
	expect_out(BOX_SH(box, "cd /real && ls -A . a b new/c; "
			  "readlink /absolute /relative /etc/dangling"),
		   ".:\na\nb\nnew\n\na:\none\n\nb:\none\n\nnew/c:\none\n"
		   "/real\nreal\n../../../../real/new\n");
	cr_expect(!file_exists(path_in(root, "real/a")));
	cr_expect(!file_exists("/real"));
	box_expect_clean(box);
}

Test(links, in_the_workspace_are_refused)
{
	struct box *box = box_make();
	const char *one = make_layer(box, "one");
	const char *target = path_in(box->top, "target");
	const struct tree *before;

	directory_make(target, 0755);
	link_make("/etc", path_in(box->work, "etc"));
	link_make("../target", path_in(box->work, "up"));
	link_make("/proc/self/root/tmp", path_in(box->work, "magic"));
	directory_make(path_in(box->work, "d"), 0755);
	link_make("d", path_in(box->work, "here"));
	before = tree_read(box->top, TREE_CONTENT);
	for (int i = 0; i < 5; i++) {
		static const char *const places[] = {
			"etc", "etc/new", "up/new", "magic", "here/x",
		};

		box_profile_alone(box, "[workspace]\npath = %s\n[layers]\n"
				  "layer = %s %s/%s\n", box->work, one,
				  box->work, places[i]);
		box_expect_refused(box, BOX_RUN(box, BOX_MARK), 125,
				   "p.ini:4", places[i], "link", NULL);
	}
	unlink(box->profile);
	cr_expect(strstr(tree_changes(before,
				      tree_read(box->top, TREE_CONTENT)),
			 "- conf/p.ini"));
	unlink(path_in(box->top, "conf/p.ini"));
	cr_expect(!file_exists(path_in(target, "new")));
	cr_expect(!file_exists(path_in(box->work, "d/x")));
}

/* ---- [mounts] -------------------------------------------------------------------------------------- */

Test(mounts, each_kind)
{
	struct box *box = box_make();
	const char *one = make_layer(box, "one");
	const char *two = make_layer(box, "two");
	const char *missing = path_in(box->top, "missing");
	const char *data = path_in(box->top, "data");
	const struct outcome *o;
	int fds[4];

	file_write(data, "from a descriptor\n");
	for (int i = 0; i < 3; i++)
		fds[i] = open(data, O_RDONLY);
	fds[3] = open(one, O_PATH | O_DIRECTORY);
	box->host = host_read();
	box_profile(box, "[mounts]\n"
		    "tmpfs = /home/m\ndir = /home/m/bind\n"
		    "bind = %s /home/m/bind\n"
		    "ro-bind = %s /home/m/ro\n"
		    "bind-try = %s /home/m/try\n"
		    "ro-bind-try = %s /home/m/try\n"
		    "bind = %s /home/m/try optional\n"
		    "perms = 0700\nsize = 64k\ntmpfs = /home/m/tmp\n"
		    "file = 10 /home/m/tmp/file\n"
		    "perms = 0640\nbind-data = 11 /home/m/data\n"
		    "ro-bind-data = 12 /home/m/ro-data\n"
		    "ro-bind-fd = 13 /home/m/fd\n"
		    "symlink = bind/two /home/m/link\n"
		    "chmod = 0711 /home/m/tmp\n"
		    "mqueue = /home/m/mqueue\n"
		    "overlay-src = %s\noverlay-src = %s\n"
		    "ro-overlay = /home/m/ro-overlay\n"
		    "overlay-src = %s\ntmp-overlay = /home/m/tmp-overlay\n"
		    "remount-ro = /home/m\n", two, one, missing, missing,
		    missing, one, two, one);
	o = program_run(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c",
			"cd /home/m; ls; cat ro/one link tmp/file data "
			"ro-data fd/one; stat -c %a tmp data tmp/file; "
			"ls ro-overlay; cat tmp-overlay/one; "
			"for f in ./x bind/x ro/x tmp/x data ro-data fd/x "
			"ro-overlay/x tmp-overlay/x; do "
			"true 2>/dev/null >$f && echo wrote $f; done; "
			"ls /proc/self/fd"),
		.fds = { { fds[0], 10 }, { fds[1], 11 }, { fds[2], 12 },
			 { fds[3], 13 } } });
	expect_exit(o, 0);
	expect_out(o, "bind\ndata\nfd\nlink\nmqueue\nro\nro-data\nro-overlay\n"
		   "tmp\ntmp-overlay\nof one\nof two\nfrom a descriptor\n"
		   "from a descriptor\nfrom a descriptor\nof one\n711\n640\n"
		   "666\none\ntwo\nof one\nwrote bind/x\nwrote tmp/x\n"
		   "wrote data\nwrote tmp-overlay/x\n0\n1\n2\n3\n");
	cr_expect(file_exists(path_in(two, "x")));
	cr_expect(!file_exists(path_in(one, "x")));
	box_expect_clean(box);
}

Test(mounts, options_of_the_command_line_come_after_the_profile)
{
	struct box *box = box_make();
	const char *one = make_layer(box, "one");
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", box->profile,
			     "--ro-bind", one, "/home/one", "--setenv", "A",
			     "from the line", "--chdir", "/home/one", "--",
			     "sh", "-c", "cat one; echo $A; pwd; true >x || "
			     "echo no") });

	expect_exit(o, 0);
	expect_out(o, "of one\nfrom the line\n/home/one\nno\n");
}
