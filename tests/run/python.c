/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Python as it is used: a large script, environments, prefixes, layers. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"
#include "harness/tree.h"

static void copy(const char *from, const char *to)
{
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV("cp", "-a", "--no-preserve=ownership", from,
			     to) });

	assert_exit(o, 0);
}

#define PY_INI sbx_source("conf/py.ini")

/* ---- the large script --------------------------------------------------------------------- */

static const char *make_script(const char *work)
{
	copy(sbx_source("tests/run/scripts/everything.py"), work);
	file_write(path_in(work, "given"), "given\n");
	return "everything.py";
}

Test(python, a_large_script_prints_what_it_prints_outside)
{
	struct box *box = box_make_named("ein \"Arbeits\" – platz");
	const char *outside = path_in(box->top, "outside");
	const char *script = make_script(box->work);
	const char *odd = "c=two  blanks \"and\" 'quotes' \\ ${cwd} ü\n-";
	const struct outcome *expected, *o;

	directory_make(outside, 0700);
	make_script(outside);
	/* Other tests look at /dev/shm meanwhile. */
	expected = program_run(&(struct program){
		.argv = ARGV("sh", "-c", "mount -t tmpfs -o mode=1777 t "
			     "/dev/shm && exec \"$@\"", "sh", PYTHON, script,
			     "a=1", "--b", odd, ""),
		.cwd = outside, .unshare = CLONE_NEWUSER | CLONE_NEWNS });
	assert_exit(expected, 17);
	o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", PY_INI, script, "a=1",
			     "--b", odd, ""),
		.cwd = box->work });
	expect_exit(o, 17);
	cr_expect_str_eq(o->out, expected->out);
	cr_expect_str_eq(o->err, expected->err);
	/* And it left the same. */
	o = program_run(&(struct program){
		.argv = ARGV("diff", "-r", "--no-dereference",
			     "--exclude=*.db*", "--exclude=fifo", outside,
			     box->work) });
	expect_exit(o, 0);
	expect_out(o, "");
	box_expect_clean(box);
}

/* ---- a virtual environment ------------------------------------------------------------------ */

static const char *make_venv(const char *top)
{
	const char *venv = path_in(top, "venv");
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV(PYTHON, "-m", "venv", "--without-pip", venv) });
	const char *package;

	assert_exit(o, 0);
	o = program_run(&(struct program){
		.argv = ARGV(path_in(venv, "bin/python"), "-c",
			     "import sysconfig\n"
			     "print(sysconfig.get_path('purelib'), end='')") });
	assert_exit(o, 0);
	package = arena_format("%s/of_venv.py", o->out);
	file_write(package, "where = 'in the venv'\n");
	return venv;
}

static const char say_venv[] =
	"import sys, of_venv\n"
	"print(of_venv.where, sys.prefix, sys.base_prefix, sys.executable)\n";

Test(python, a_virtual_environment_in_the_workspace)
{
	struct box *box = box_make();
	const char *venv = make_venv(box->work);
	const struct outcome *o;

	file_write(path_in(box->work, "s.py"), say_venv);
	o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", PY_INI, "--set",
			     "exec.interpreter=${cwd}/venv/bin/python",
			     "s.py"),
		.cwd = box->work });
	expect_exit(o, 0);
	expect_out(o, arena_format("in the venv %s /usr %s/bin/python\n", venv,
				   venv));
}

Test(python, a_virtual_environment_under_a_mask)
{
	struct box *box = box_make();
	const char *home = scratch_make_in(getenv("HOME"));
	const char *venv = make_venv(home);
	const char *interpreter = arena_format("%s/bin/python", venv);
	const struct outcome *o;

	file_write(path_in(box->work, "s.py"), say_venv);
	box_profile(box, "[exec]\ninterpreter = %s\n[layers]\nprefix = %s\n",
		    interpreter, venv);
	o = BOX_RUN(box, "s.py");
	expect_exit(o, 0);
	expect_out(o, arena_format("in the venv %s /usr %s\n", venv,
				   interpreter));
	/* Without the layer it is not some other Python that runs. */
	box_profile(box, "[exec]\ninterpreter = %s\n", interpreter);
	file_write(path_in(box->work, "s.py"), "print('ran')\n");
	box_expect_refused(box, BOX_RUN(box, "s.py"), 127, "p.ini:9",
			   interpreter, "hidden by mask", "p.ini:", "prefix",
			   NULL);
}

/* ---- a Python of its own --------------------------------------------------------------------- */

/*
 * A Python below @top: the program, and a library that consists of links but
 * for a module that says whose it is.
 */
static const char *make_python(const char *top)
{
	const char *prefix = path_in(top, "own-python");
	const char *library, *version;
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV(PYTHON, "-c", "import sys\n"
			     "print('python%d.%d' % sys.version_info[:2], "
			     "end='')") });

	assert_exit(o, 0);
	version = o->out;
	library = arena_format("%s/lib/%s", prefix, version);
	directory_make_all(path_in(prefix, "bin"));
	directory_make_all(library);
	copy(arena_format("/usr/bin/%s", version), path_in(prefix, "bin/"));
	link_make(version, path_in(prefix, "bin/python3"));
	o = program_run(&(struct program){
		.argv = ARGV("sh", "-c", "ln -s \"$1\"/* \"$2\"", "sh",
			     arena_format("/usr/lib/%s", version),
			     library) });
	assert_exit(o, 0);
	file_write(path_in(library, "whose.py"), "name = 'its own'\n");
	return prefix;
}

static const char say_python[] =
	"import sys, whose, of_deps, of_one, of_two\n"
	"print(whose.name, sys.prefix, sys.executable)\n"
	"print(of_deps.x, of_one.x, of_two.x)\n"
	"import of_deps.deep\n"
	"for where in of_deps, of_one, of_two, whose:\n"
	"    try:\n"
	"        open(where.__file__, 'a')\n"
	"        print('can be written')\n"
	"    except OSError:\n"
	"        pass\n";

static const char *make_package(const char *top, const char *name)
{
	const char *place = path_in(top, arena_format("%s-place", name));
	const char *package = path_in(place, name);

	directory_make_all(package);
	file_write(path_in(package, "__init__.py"),
		   arena_format("x = '%s'\n", name));
	file_write(path_in(package, "deep.py"), "");
	return place;
}

Test(python, a_prefix_under_a_mask_with_packages_in_layers)
{
	struct box *box = box_make();
	const char *home = scratch_make_in(getenv("HOME"));
	const char *prefix = make_python(home);
	const char *deps = make_package(home, "of_deps");
	const char *one = make_package(home, "of_one");
	const char *two = make_package(box->top, "of_two");
	const struct tree *before = tree_read(home, TREE_TOUCHED);
	const struct outcome *o;

	file_write(path_in(box->work, "s.py"), say_python);
	box_profile(box, "[exec]\ninterpreter = %s/bin/python3\n[layers]\n"
		    "prefix = %s\ndeps = %s\nlayer = %s\n"
		    "layer = %s \"/opt/zwei te\"\n[setenv]\n"
		    "PYTHONPATH = %s:%s:/opt/zwei te\n", prefix, prefix, deps,
		    one, two, deps, one);
	o = BOX_RUN(box, "s.py");
	expect_exit(o, 0);
	expect_out(o, arena_format("its own %s %s/bin/python3\n"
				   "of_deps of_one of_two\n", prefix, prefix));
	expect_tree_unchanged(before, home, TREE_TOUCHED);
	box_expect_clean(box);
}

/* ---- a bare python3 ---------------------------------------------------------------------------- */

Test(python, a_bare_name_is_the_callers_or_nothing)
{
	struct box *box = box_make();
	const char *home = scratch_make_in(getenv("HOME"));
	const char *prefix = make_python(home);
	const char *path = arena_format("PATH=%s/bin:/usr/bin:/bin", prefix);
	const struct program program = {
		.argv = BOX_ARGV(box, "s.py"), .set = ARGV(path) };

	file_write(path_in(box->work, "s.py"),
		   "import sys\nprint('ran', sys.prefix)\n");
	/* The one along the caller's PATH is hidden: not another instead. */
	box_profile(box, "[exec]\ninterpreter = python3\n");
	box_expect_refused(box, program_run(&program), 127, "p.ini:9",
			   arena_format("%s/bin/python3", prefix),
			   "hidden by mask", "prefix", NULL);
	/* With its installation let in it is that one. */
	box_profile(box, "[exec]\ninterpreter = python3\n[layers]\n"
		    "prefix = %s\n", prefix);
	expect_out(program_run(&program), arena_format("ran %s\n", prefix));
	/* Not masked at all: likewise, unless it is below root's home. */
	box_profile_alone(box, "[exec]\ninterpreter = python3\n[workspace]\n"
			  "path = %s\n", box->work);
	if (identity_self() == IDENTITY_ROOT)
		box_expect_refused(box, program_run(&program), 126,
				   arena_format("%s/bin/python3", prefix),
				   "Permission denied", NULL);
	else
		expect_out(program_run(&program),
			   arena_format("ran %s\n", prefix));
	/* Hidden behind a mask of the directory in between. */
	box_profile_alone(box, "[exec]\ninterpreter = python3\n[mask]\n"
			  "tmpfs = %s/bin\n[workspace]\npath = %s\n", prefix,
			  box->work);
	box_expect_refused(box, program_run(&program), 127, "p.ini:2",
			   "hidden by mask", "p.ini:4", NULL);
}

/* A chain of links with one in a masked place is no way around a mask. */
Test(python, a_chain_of_links)
{
	struct box *box = box_make();
	const char *home = scratch_make_in(getenv("HOME"));
	const char *prefix = make_python(home);
	const char *shown = scratch_make_in("/var/tmp");
	const struct outcome *o;

	chmod(shown, 0755);
	link_make(path_in(home, "alias"), path_in(shown, "python3"));
	link_make("own-python/bin/python3", path_in(home, "alias"));
	file_write(path_in(box->work, "s.py"),
		   "import sys\nprint('ran', sys.prefix)\n");
	box_profile(box, "[exec]\ninterpreter = %s/python3\n", shown);
	box_expect_refused(box, BOX_RUN(box, "s.py"), 127, "p.ini:9", "leads",
			   "hidden by mask", "[layers]", NULL);
	box_profile(box, "[exec]\ninterpreter = %s/python3\n[layers]\n"
		    "prefix = %s\n", shown, home);
	o = BOX_RUN(box, "s.py");
	expect_exit(o, 0);
	expect_out(o, arena_format("ran %s\n", prefix));
}

Test(python, arguments_between_interpreter_and_script)
{
	struct box *box = box_make();

	file_write(path_in(box->work, "s.py"),
		   "import sys\n"
		   "print(sys.flags.isolated, sys.flags.optimize, sys.argv)\n");
	box_profile(box, "[exec]\ninterpreter = " PYTHON "\nargument = -I\n"
		    "argument = -O\n");
	expect_out(BOX_RUN(box, "s.py", "-O", "x y"),
		   "1 1 ['s.py', '-O', 'x y']\n");
}
