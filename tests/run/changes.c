/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `changes-file`: what a run did to its workspace, a line a path. */
#include <stdio.h>
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

struct place {
	struct box *box;
	const char *list;  /* the changes-file */
	const char *upper; /* NULL: in memory */
};

static struct place make_place(bool in_memory)
{
	struct place place = { .box = box_make() };

	box_fill(place.box);
	place.list = path_in(place.box->top, "list");
	if (in_memory)
		box_profile(place.box, "mode = ephemeral\n[report]\n"
			    "changes-file = %s\n", place.list);
	else
		place.upper = box_overlay(place.box, arena_format("[report]\n"
					  "changes-file = %s\n", place.list));
	return place;
}

#define LINE(path, change, rest) \
	"{\"path\":\"" path "\",\"change\":\"" change "\",\"type\":\"" rest "}\n"
#define FILE_LINE(path, change, size) \
	LINE(path, change, "file\",\"size\":" size)
#define TYPE_LINE(path, change, type) LINE(path, change, type "\"")

/* The same program in memory and on disk has the same list. */
static void expect_list(const char *program, const char *expected)
{
	for (int in_memory = 0; in_memory < 2; in_memory++) {
		struct place place = make_place(in_memory);
		const struct tree *before = tree_read(place.box->work,
						      TREE_TOUCHED);

		expect_exit(BOX_PYTHON(place.box, program), 0);
		expect_file(place.list, expected);
		expect_tree_unchanged(before, place.box->work, TREE_TOUCHED);
		box_expect_clean(place.box);
	}
}

Test(changes, none)
{
	expect_list("open('kept').read()", "");
}

Test(changes, of_every_kind)
{
	expect_list("import os\n"
		    "open('changed', 'a').write('more\\n')\n"
		    "os.unlink('deleted')\n"
		    "open('added', 'w').write('new')\n"
		    "os.makedirs('new/er')\n"
		    "os.symlink('kept', 'new/link')\n"
		    "os.unlink('kept'); os.mkdir('kept')\n"
		    "os.chmod('dir/sub', 0o700)\n",
		    FILE_LINE("added", "added", "3")
		    FILE_LINE("changed", "modified", "12")
		    FILE_LINE("deleted", "deleted", "7")
		    TYPE_LINE("dir/sub", "modified", "directory")
		    TYPE_LINE("kept", "retyped", "directory")
		    TYPE_LINE("new", "added", "directory")
		    TYPE_LINE("new/er", "added", "directory")
		    TYPE_LINE("new/link", "added", "symlink"));
}

Test(changes, a_renamed_one_is_a_deleted_and_an_added_one)
{
	expect_list("import os\n"
		    "os.rename('changed', 'moved')\n"
		    "os.rename('dir/old', 'deleted')\n",
		    FILE_LINE("changed", "deleted", "7")
		    FILE_LINE("deleted", "modified", "7")
		    FILE_LINE("dir/old", "deleted", "7")
		    FILE_LINE("moved", "added", "7"));
}

Test(changes, what_came_and_went_is_none)
{
	expect_list("import os\n"
		    "open('x', 'w'); os.unlink('x')\n"
		    "os.mkdir('d'); open('d/y', 'w'); os.unlink('d/y')\n"
		    "os.rmdir('d')\n", "");
}

Test(changes, a_whole_directory_deleted)
{
	expect_list("import shutil; shutil.rmtree('dir')",
		    TYPE_LINE("dir", "deleted", "directory"));
}

Test(changes, a_directory_made_anew)
{
	expect_list("import os, shutil\n"
		    "shutil.rmtree('dir')\n"
		    "os.makedirs('dir/sub')\n"
		    "open('dir/new', 'w')\n"
		    "open('dir/sub/new', 'w')\n",
		    FILE_LINE("dir/old", "deleted", "7")
		    FILE_LINE("dir/new", "added", "0")
		    /* The kernel marks "dir" only. */
		    FILE_LINE("dir/sub/old", "deleted", "7")
		    FILE_LINE("dir/sub/new", "added", "0"));
}

/* Closed ones are looked into, and stay closed. */
Test(changes, below_directories_and_files_of_mode_000)
{
	static const char program[] =
		"import os, shutil\n"
		"shutil.rmtree('dir')\n"
		"os.makedirs('dir/in'); open('dir/in/f', 'w')\n"
		"os.chmod('dir/in/f', 0); os.chmod('dir/in', 0)\n"
		"os.chmod('dir', 0)\n";
	struct place place = make_place(false);

	expect_list(program,
		    TYPE_LINE("dir", "modified", "directory")
		    FILE_LINE("dir/old", "deleted", "7")
		    TYPE_LINE("dir/sub", "deleted", "directory")
		    TYPE_LINE("dir/in", "added", "directory")
		    FILE_LINE("dir/in/f", "added", "0"));
	expect_exit(BOX_PYTHON(place.box, program), 0);
	cr_expect_eq(file_mode(path_in(place.upper, "dir")), S_IFDIR);
	cr_assert_eq(chmod(path_in(place.upper, "dir"), 0700), 0);
	cr_expect_eq(file_mode(path_in(place.upper, "dir/in")), S_IFDIR);
	cr_assert_eq(chmod(path_in(place.upper, "dir/in"), 0700), 0);
	cr_expect_eq(file_mode(path_in(place.upper, "dir/in/f")), S_IFREG);
}

Test(changes, any_bytes_in_names)
{
	expect_list("import os\n"
		    "for n in (b'a\\nb', b'\"q\"', b'\\\\', b'\\xff\\x80',\n"
		    "          b'\\x1b[31m', '\\u2603'.encode(), b'-rf',\n"
		    "          b'x' * 255):\n"
		    "    open(n, 'w')\n",
		    FILE_LINE("\\u001b[31m", "added", "0")
		    FILE_LINE("\\\"q\\\"", "added", "0")
		    FILE_LINE("-rf", "added", "0")
		    FILE_LINE("\\\\", "added", "0")
		    FILE_LINE("a\\nb", "added", "0")
		    FILE_LINE(
		    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
			      "added", "0")
		    FILE_LINE("☃", "added", "0")
		    FILE_LINE("\\udcff\\udc80", "added", "0"));
}

Test(changes, sockets_pipes_links_and_set_user_id)
{
	expect_list("import os, socket\n"
		    "socket.socket(socket.AF_UNIX).bind('a-socket')\n"
		    "os.mkfifo('b-fifo')\n"
		    "os.symlink('/etc/passwd', 'c-link')\n"
		    "os.symlink('/', 'd-link')\n"
		    "os.unlink('kept'); os.mkfifo('kept')\n"
		    "open('e-mode', 'w')\n"
		    "try: os.chmod('e-mode', 0o6755)\n"
		    "except OSError: pass\n",
		    TYPE_LINE("a-socket", "added", "socket")
		    TYPE_LINE("b-fifo", "added", "fifo")
		    TYPE_LINE("c-link", "added", "symlink")
		    TYPE_LINE("d-link", "added", "symlink")
		    FILE_LINE("e-mode", "added", "0")
		    TYPE_LINE("kept", "retyped", "fifo"));
}

/* What overlayfs would read as its own does not come from the payload. */
Test(changes, no_whiteout_of_the_payloads_own_making)
{
	expect_list("import os\n"
		    "open('fake', 'w')\n"
		    "for f, k, v in (('fake', 'whiteout', b'y'),\n"
		    "                ('dir', 'opaque', b'y')):\n"
		    "    try: os.setxattr(f, 'user.overlay.' + k, v)\n"
		    "    except OSError: pass\n"
		    "try: os.mknod('changed2', 0o20600, 0)\n"
		    "except OSError: pass\n",
		    FILE_LINE("fake", "added", "0"));
}

/* Deeper than a path, a stack or a table of descriptors. */
Test(changes, directories_in_directories)
{
	enum { DEPTH = 2500 };
	static const char program[] =
		"import os\n"
		"for i in range(2500): os.mkdir('d'); os.chdir('d')\n"
		"open('f', 'w')\n";
	struct place place = make_place(true);
	const char *list, *last;
	size_t lines = 0;

	expect_exit(BOX_PYTHON(place.box, program), 0);
	list = file_read(place.list, NULL);
	for (const char *at = list; (at = strchr(at, '\n')); at++)
		lines++;
	cr_expect_eq(lines, DEPTH + 1, "%zu", lines);
	last = strrchr(list, '{');
	cr_assert(last);
	cr_expect(strstr(last, "/d/d/f\",\"change\":\"added\""));
	cr_expect_eq(strlen(last), 2 * DEPTH +
		     strlen(FILE_LINE("f", "added", "0")));
	box_expect_clean(place.box);
}

Test(changes, in_few_descriptors)
{
	struct place place = make_place(true);
	const struct outcome *o;

	o = program_run(&(struct program){ .argv = ARGV("sh", "-c",
		"ulimit -n 64; exec \"$@\"", "sh", sbx_launch(), "--profile",
		place.box->profile, "--", PYTHON, "-c",
		"import os\n"
		"for i in range(300): os.mkdir('d'); os.chdir('d')\n") });
	expect_exit(o, 0);
	cr_expect(strstr(file_read(place.list, NULL), "d/d/d/d"));
}

/* The walk goes along several layers, and comes back in each. */
Test(changes, against_several_layers)
{
	struct place place = make_place(true);
	struct box *box = place.box;
	const char *top = path_in(box->top, "second");

	directory_make_all(path_in(top, "dir/sub/deep"));
	file_write(path_in(top, "dir/sub/deep/x"), "x");
	file_write(path_in(top, "dir/old"), "of the second\n");
	box_profile(box, "mode = ephemeral\nlower = %s\nlower = %s\n"
		    "[report]\nchanges-file = %s\n", box->work, top,
		    place.list);
	expect_exit(BOX_PYTHON(box, "import os, shutil\n"
			       "os.unlink('dir/sub/deep/x')\n"
			       "os.unlink('dir/sub/old')\n"
			       "open('dir/old', 'a').write('!')\n"
			       "open('dir/z', 'w')\n"
			       "os.mkdir('kept2')\n"
			       "open('changed', 'w')\n"), 0);
	expect_file(place.list,
		    FILE_LINE("changed", "modified", "0")
		    FILE_LINE("dir/old", "modified", "15")
		    FILE_LINE("dir/sub/deep/x", "deleted", "1")
		    FILE_LINE("dir/sub/old", "deleted", "7")
		    FILE_LINE("dir/z", "added", "0")
		    TYPE_LINE("kept2", "added", "directory"));
	expect_exit(BOX_PYTHON(box, "import os, shutil\n"
			       "shutil.rmtree('dir'); os.mkdir('dir')\n"), 0);
	expect_file(place.list,
		    FILE_LINE("dir/old", "deleted", "14")
		    TYPE_LINE("dir/sub", "deleted", "directory"));
}

/* Placeholders of the launcher's are none. */
Test(changes, of_the_payload_only)
{
	struct place place = make_place(false);
	const char *dep = path_in(place.box->top, "dep");

	directory_make(dep, 0755);
	box_overlay(place.box, arena_format("protect = held\n"
		    "protect = deep/held\n[layers]\nlayer = %s %s/a/dep\n"
		    "[report]\nchanges-file = %s\n", dep, place.box->work,
		    place.list));
	expect_exit(BOX_SH(place.box, "test -d a/dep; true >a/x; true >y"), 0);
	expect_file(place.list,
		    TYPE_LINE("a", "added", "directory")
		    FILE_LINE("a/x", "added", "0")
		    FILE_LINE("y", "added", "0"));
	box_expect_clean(place.box);
}

/* ---- the list itself ------------------------------------------------------------------------ */

Test(changes, of_a_run_that_failed_or_timed_out)
{
	struct place place = make_place(true);

	expect_exit(BOX_SH(place.box, "true >new; exit 3"), 3);
	expect_file(place.list, FILE_LINE("new", "added", "0"));
	expect_exit(BOX_SH(place.box, "true >newer; kill -9 $$"), 137);
	expect_file(place.list, FILE_LINE("newer", "added", "0"));
	expect_exit(program_run(&(struct program){
			.argv = ARGV(sbx_launch(), "--profile",
				     place.box->profile, "--timeout", "2s",
				     "--", "sh", "-c",
				     "true >newest; sleep 9") }), 124);
	expect_file(place.list, FILE_LINE("newest", "added", "0"));
}

Test(changes, of_an_earlier_run_are_overwritten)
{
	struct place place = make_place(true);

	expect_exit(BOX_SH(place.box, "true >a-long-name; true >other"), 0);
	expect_exit(BOX_SH(place.box, "true >x"), 0);
	expect_file(place.list, FILE_LINE("x", "added", "0"));
	expect_exit(BOX_SH(place.box, "true"), 0);
	expect_file(place.list, "");
}

/* The upper layer is kept, and so is what earlier runs did. */
Test(changes, add_up_in_an_upper_layer)
{
	struct place place = make_place(false);

	expect_exit(BOX_SH(place.box, "true >first; rm deleted"), 0);
	expect_exit(BOX_SH(place.box, "true >second"), 0);
	expect_file(place.list,
		    FILE_LINE("deleted", "deleted", "7")
		    FILE_LINE("first", "added", "0")
		    FILE_LINE("second", "added", "0"));
}

Test(changes, into_what_cannot_be_written)
{
	struct place place = make_place(true);

	directory_make(place.list, 0700);
	BOX_EXPECT_REFUSED(place.box, "changes-file", place.list, "directory");
	box_profile(place.box, "mode = ephemeral\n[report]\n"
		    "changes-file = %s/no/such/place\n", place.box->top);
	BOX_EXPECT_REFUSED(place.box, "changes-file", "No such file");
	/* A link in the workspace is whose? */
	if (identity_self() == IDENTITY_USER) {
		link_make("/dev/null", path_in(place.box->top, "link"));
		box_profile(place.box, "mode = ephemeral\n[report]\n"
			    "changes-file = %s/link\n", place.box->top);
		BOX_EXPECT_REFUSED(place.box, "changes-file", "link");
	}
}

/* Half a list would look like a whole one. */
Test(changes, on_a_full_disk)
{
	struct place place = make_place(true);
	const struct outcome *o;

	box_profile(place.box, "mode = ephemeral\n[report]\n"
		    "changes-file = /dev/full\n");
	o = BOX_SH(place.box, "true >new");
	expect_exit(o, 125);
	expect_err_has(o, "changes");
	expect_err_has(o, "No space left on device");
	/* The command's own failure says more. */
	o = BOX_SH(place.box, "true >new; exit 7");
	expect_exit(o, 7);
	expect_err_has(o, "No space left on device");
}
