/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The profiles in conf/, each with its real interpreter, as a user runs it. */
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/program.h"
#include "harness/scratch.h"
#include "harness/tree.h"

static const char *profile(const char *name)
{
	return sbx_source(arena_format("conf/%s.ini", name));
}

/* Run sbx-launch in @cwd with the words up to NULL, for the caller's HOME. */
static const struct outcome *launch(const char *cwd, const char *name, ...)
{
	const char *words[32] = { sbx_launch(), "--profile", profile(name) };
	size_t count = 3;
	va_list more;

	va_start(more, name);
	while (count < 31 && (words[count] = va_arg(more, const char *)))
		count++;
	va_end(more);
	return program_run(&(struct program){ .argv = words, .cwd = cwd });
}

static const char *workspace_with(const char *name, const char *text)
{
	const char *workspace = scratch_make();

	file_write(path_in(workspace, name), text);
	return workspace;
}

static void need(const char *program, const char *reason)
{
	if (access(program, X_OK) != 0)
		skip_test(reason, "there is no %s", program);
}

/* ---- py.ini ------------------------------------------------------------- */

static const char *const py_script =
	"import os, sqlite3, subprocess, sys, tempfile, multiprocessing\n"
	"def square(n): return n * n\n"
	"if __name__ == '__main__':\n"
	"    with multiprocessing.Pool(2) as pool:\n"
	"        print(pool.map(square, [1, 2, 3]))\n"
	"    db = sqlite3.connect('result.db')\n"
	"    db.execute('create table t (x)'); db.commit()\n"
	"    with tempfile.TemporaryFile() as f: print(f.write(b'x' * 1000))\n"
	"    print(subprocess.check_output(['echo', 'sub']))\n"
	"    print(sys.argv[1:], os.getcwd() == sys.argv[2])\n";

Test(py, script_works_in_the_current_directory)
{
	const char *workspace = workspace_with("script.py", py_script);
	const struct host *before = host_read();
	const struct outcome *o;

	need("/usr/bin/python3", "python");
	o = launch(workspace, "py", "script.py", "--flag", workspace, NULL);
	expect_exit(o, 0);
	expect_out(o, arena_format("[1, 4, 9]\n1000\nb'sub\\n'\n"
				   "['--flag', '%s'] True\n", workspace));
	expect_err(o, "");
	cr_expect(file_exists(path_in(workspace, "result.db")));
	expect_host_unchanged(before);
}

Test(py, nothing_else_can_be_written_or_seen)
{
	static const char script[] =
		"import os, socket\n"
		"def attempt(what, *args):\n"
		"    try: return what(*args) and 'yes'\n"
		"    except OSError as e: return e.strerror\n"
		"for place in '/etc', '/usr', '/home', '/root', '/run', '/mnt':\n"
		"    print(attempt(open, place + '/new', 'w'))\n"
		"print([os.listdir(p) for p in ('/home', '/root', '/run')])\n"
		"print(attempt(open, '/etc/shadow') != 'yes'\n"
		"      or not open('/etc/shadow').read())\n"
		"print([n for n in os.listdir('/proc/self/fd')\n"
		"       if os.path.exists('/proc/self/fd/' + n)])\n"
		"print('SECRET' in os.environ, os.environ['HOME'])\n"
		"print(attempt(socket.create_connection, ('192.0.2.1', 80), 2))\n"
		"print(open('/proc/self/status').read().split('CapEff:')[1]"
		".split()[0])\n";
	const char *workspace = workspace_with("script.py", script);
	const struct outcome *o;

	need("/usr/bin/python3", "python");
	setenv("SECRET", "hunter2", 1);
	o = launch(workspace, "py", "script.py", NULL);
	expect_exit(o, 0);
	expect_out(o, "Read-only file system\nRead-only file system\n"
		      "Read-only file system\nRead-only file system\n"
		      "Read-only file system\nRead-only file system\n"
		      "[[], [], []]\nTrue\n['0', '1', '2']\n"
		      "False /tmp\nNetwork is unreachable\n"
		      "0000000000000000\n");
}

Test(py, layer_under_a_mask_is_imported_and_read_only)
{
	const char *workspace = workspace_with("script.py",
		"import helper\n"
		"print(helper.x)\n"
		"try: open(helper.__file__, 'a')\n"
		"except OSError as e: print(e.strerror)\n");
	const char *layer = workspace_with("helper.py", "x = 42\n");
	const struct outcome *o;

	need("/usr/bin/python3", "python");
	o = launch(workspace, "py", "--set",
		   arena_format("layers.deps=%s", layer), "--env",
		   arena_format("PYTHONPATH=%s", layer), "script.py", NULL);
	expect_exit(o, 0);
	expect_out(o, "42\nRead-only file system\n");
}

/* A home that is masked for another reason, none at all, one of a service. */
Test(py, homes_of_all_kinds)
{
	static const char *const homes[] = {
		"/tmp", "//tmp/", "/tmp/home", "/var/run", "/run/user/1", "/",
		"/dev/null", "/nonexistent", "", "relative",
	};
	const char *workspace = workspace_with("a.sh", "echo $HOME\n");

	for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]); i++) {
		const struct outcome *o;

		setenv("HOME", homes[i], 1);
		o = launch(workspace, "sh", "a.sh", NULL);
		expect_exit(o, 0);
		expect_out(o, "/tmp\n");
		o = launch(workspace, "workspace", "sh", "a.sh", NULL);
		expect_exit(o, 0);
		expect_out(o, "/tmp\n");
	}
}

Test(py, directory_that_is_masked_is_no_workspace)
{
	const struct outcome *o = launch("/tmp", "py", "script.py", NULL);

	expect_exit(o, 125);
	expect_err_has(o, "/tmp");
	expect_err_has(o, "py.ini:");
	expect_err_has(o, "--workspace");
	expect_out(o, "");
}

Test(py, home_directory_is_no_workspace)
{
	const struct outcome *o = launch(getenv("HOME"), "py", "x.py", NULL);

	expect_exit(o, 125);
	expect_err_has(o, getenv("HOME"));
	expect_out(o, "");
}

Test(py, missing_script_is_the_launchers_error)
{
	const struct outcome *o =
		launch(scratch_make(), "py", "absent.py", NULL);

	need("/usr/bin/python3", "python");
	expect_exit(o, 127);
	expect_err_has(o, "absent.py");
}

/* ---- py-overlay.ini ------------------------------------------------------ */

Test(py_overlay, changes_go_beside_the_workspace)
{
	const char *parent = scratch_make();
	const char *workspace = path_in(parent, "w");
	const char *upper = path_in(parent, "w.upper");
	const struct tree *frozen;
	const struct outcome *o;

	need("/usr/bin/python3", "python");
	directory_make(workspace, 0700);
	directory_make(upper, 0700);
	file_write(path_in(workspace, "script.py"),
		   "import os\n"
		   "open('data', 'a').write('more')\n"
		   "os.remove('old')\n"
		   "print(sorted(os.listdir('.')), open('data').read())\n");
	file_write(path_in(workspace, "data"), "some ");
	file_write(path_in(workspace, "old"), "");
	frozen = tree_read(workspace, TREE_CONTENT);

	o = launch(workspace, "py-overlay", "script.py", NULL);
	expect_exit(o, 0);
	expect_out(o, "['data', 'script.py'] some more\n");
	expect_tree_unchanged(frozen, workspace, TREE_CONTENT);
	expect_file(path_in(upper, "data"), "some more");
	cr_expect(S_ISCHR(file_mode(path_in(upper, "old"))));
	cr_expect(!file_exists(path_in(upper, "script.py")));
	o = program_run(&(struct program){ .argv = ARGV("ls", parent) });
	expect_out(o, "w\nw.upper\n");
}

Test(py_overlay, missing_upper_is_named)
{
	const char *workspace = workspace_with("script.py", "");
	const struct outcome *o =
		launch(workspace, "py-overlay", "script.py", NULL);

	expect_exit(o, 125);
	expect_err_has(o, arena_format("%s.upper", workspace));
	expect_err_has(o, "mkdir");
}

/* ---- workspace.ini ------------------------------------------------------- */

Test(workspace, minimal_system_with_the_directory_at_workspace)
{
	const char *workspace = workspace_with("in", "input\n");
	const struct outcome *o = launch(workspace, "workspace", "sh", "-c",
		"pwd; cat in; echo output >out; touch /tmp/x /cache/x; "
		"ls -d /home /root /var/log /mnt 2>/dev/null; "
		"for f in /etc/new /new; do touch $f || echo refused; done",
		NULL);

	expect_exit(o, 0);
	expect_out(o, "/workspace\ninput\nrefused\nrefused\n");
	expect_file(path_in(workspace, "out"), "output\n");
}

/* Under its own name, and so on top of the mask. */
Test(workspace, named_below_a_mask)
{
	const char *workspace;
	const struct outcome *o;

	setenv("TMPDIR", "/tmp", 1);
	workspace = workspace_with("in", "input\n");
	o = launch("/", "workspace", "--workspace", workspace, "sh", "-c",
		   "pwd; cat in; echo output >out; ls /tmp | wc -l", NULL);
	expect_exit(o, 0);
	expect_out(o, arena_format("%s\ninput\n1\n", workspace));
	expect_file(path_in(workspace, "out"), "output\n");
}

Test(workspace, cache_outlives_the_run_when_it_is_there)
{
	const char *home = scratch_make(), *cache;
	const struct outcome *o;

	directory_make_all(path_in(home, ".cache"));
	cache = path_in(home, ".cache/sbx-launch");
	/* Started by root, the command is somebody else. */
	directory_make(cache, 0777);
	setenv("HOME", home, 1);
	o = launch(scratch_make(), "workspace", "sh", "-c",
		   "echo kept >/cache/file", NULL);
	expect_exit(o, 0);
	expect_file(path_in(cache, "file"), "kept\n");
}

Test(network, shared_one_has_its_resolver_in_spite_of_a_mask)
{
	static const char text[] = "nameserver 192.0.2.53\n";
	const char *own = scratch_make();
	const char *root = path_in(own, "root");
	const struct outcome *o;

	/* Started by root, the command is somebody else. */
	directory_make(root, 0755);
	for (size_t i = 0; i < 6; i++)
		directory_make_all(path_in(root, (const char *const[]){
			"etc", "usr", "proc", "dev", "work",
			"run/systemd/resolve" }[i]));
	link_make("usr/bin", path_in(root, "bin"));
	link_make("usr/lib", path_in(root, "lib"));
	link_make("usr/lib64", path_in(root, "lib64"));
	link_make("../run/systemd/resolve/stub-resolv.conf",
		  path_in(root, "etc/resolv.conf"));
	file_write(path_in(root, "run/systemd/resolve/stub-resolv.conf"),
		   text);
	file_write(path_in(root, "run/systemd/private"), "");
	file_write(path_in(own, "p.ini"), arena_format(
		"[root]\nsource = %s\n[mask]\ntmpfs = /run\n"
		"[layers]\nlayer = /usr\n", root));

	o = program_run(&(struct program){ .argv = ARGV(sbx_launch(),
		"--profile", path_in(own, "p.ini"),
		"--set", "namespaces.share=net", "sh", "-c",
		"cat /etc/resolv.conf; find /run -type f") });
	expect_exit(o, 0);
	expect_out(o, arena_format("%s%s\n", text,
		"/run/systemd/resolve/stub-resolv.conf"));
	o = program_run(&(struct program){ .argv = ARGV(sbx_launch(),
		"--profile", path_in(own, "p.ini"),
		"sh", "-c", "find /run -type f") });
	expect_exit(o, 0);
	expect_out(o, "");
}

/* ---- readonly.ini, ephemeral.ini ----------------------------------------- */

Test(readonly, reads_and_writes_nothing)
{
	const char *workspace = workspace_with("in", "input\n");
	const struct tree *before = tree_read(workspace, TREE_TOUCHED);
	const struct outcome *o = launch(workspace, "readonly", "sh", "-c",
		"cat in; for d in . /tmp /var/tmp /etc; do "
		"(: >$d/new) 2>/dev/null && echo $d; done; exit 3", NULL);

	expect_exit(o, 3);
	expect_out(o, "input\n");
	expect_tree_unchanged(before, workspace, TREE_TOUCHED);
}

Test(ephemeral, changes_are_gone_and_the_run_is_on_record)
{
	const char *workspace = workspace_with("in", "input\n");
	const char *home = scratch_make();
	const struct tree *before = tree_read(workspace, TREE_CONTENT);
	const struct outcome *o;

	setenv("HOME", home, 1);
	o = launch(workspace, "ephemeral", "sh", "-c",
		   "rm in; echo x >new; cat new; ls", NULL);
	expect_exit(o, 0);
	expect_out(o, "x\nnew\n");
	expect_tree_unchanged(before, workspace, TREE_CONTENT);
	o = program_run(&(struct program){ .argv = ARGV("cat",
		path_in(home, ".sbx-launch-audit.jsonl")) });
	expect_out_has(o, "\"exitCode\":0");
}

Test(ephemeral, environment_is_path_home_lang)
{
	const struct outcome *o;

	setenv("HOME", scratch_make(), 1);
	setenv("LC_TIME", "C", 1);
	setenv("SECRET", "hunter2", 1);
	o = launch(scratch_make(), "ephemeral", "env", NULL);
	expect_exit(o, 0);
	expect_out_has(o, "LC_TIME=C\n");
	expect_out_has(o, "HOME=/tmp\n");
	expect_out_has(o, "LANG=");
	cr_expect(!strstr(o->out, "SECRET"));
}

Test(ephemeral, output_is_cut_and_time_is_up)
{
	const struct outcome *o;

	setenv("HOME", scratch_make(), 1);
	o = launch(scratch_make(), "ephemeral", "--set", "limits.output=1k",
		   "head", "-c", "5000", "/dev/zero", NULL);
	expect_exit(o, 0);
	cr_expect_eq(o->out_length, 1024);
	o = launch(scratch_make(), "ephemeral", "--timeout", "200ms",
		   "sleep", "20", NULL);
	expect_exit(o, 124);
}

/* ---- sh.ini, node.ini, the examples --------------------------------------- */

Test(sh, script_with_arguments)
{
	const char *workspace = workspace_with("script.sh",
		"echo \"$0 $*\"; echo x >made; exit 5\n");
	const struct outcome *o =
		launch(workspace, "sh", "script.sh", "a b", "c", NULL);

	expect_exit(o, 5);
	expect_out(o, "script.sh a b c\n");
	expect_file(path_in(workspace, "made"), "x\n");
}

Test(node, script_with_workers_and_a_child)
{
	const char *workspace = workspace_with("script.js",
		"const { Worker } = require('worker_threads');\n"
		"const { execFileSync } = require('child_process');\n"
		"require('fs').writeFileSync('made', 'x\\n');\n"
		"console.log(String(execFileSync('echo', ['sub'])).trim());\n"
		"new Worker('console.log(6 * 7)', { eval: true });\n");
	const struct outcome *o;

	need("/usr/bin/node", "node");
	o = launch(workspace, "node", "script.js", NULL);
	expect_exit(o, 0);
	expect_out(o, "sub\n42\n");
	expect_file(path_in(workspace, "made"), "x\n");
}

Test(examples, run_from_where_they_are_installed)
{
	static const char *const pairs[][2] = {
		{ "py", "look.py" }, { "sh", "look.sh" }, { "node", "look.js" },
	};

	need("/usr/bin/python3", "python");
	need("/usr/bin/node", "node");
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		const char *example = sbx_source(arena_format(
			"conf/examples/%s", pairs[i][1]));
		const char *workspace = workspace_with(pairs[i][1],
						file_read(example, NULL));
		const struct outcome *o = launch(workspace, pairs[i][0],
						 pairs[i][1], NULL);

		expect_exit(o, 0);
		expect_err(o, "");
		expect_out_has(o, "writable");
	}
}

/* ---- what a profile does not let itself be used for ----------------------- */

static const struct outcome *launch_below(const char *top, const char *inner,
					  const char *workspace)
{
	const char *copy = path_in(top, inner);

	directory_make_all(copy);
	file_write(path_in(copy, "base.ini"),
		   file_read(profile("base"), NULL));
	file_write(path_in(copy, "sh.ini"), file_read(profile("sh"), NULL));
	return program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile",
			     path_in(copy, "sh.ini"), "--workspace", workspace,
			     "--", "-c", "echo ran"),
		.cwd = top });
}

Test(trust, profile_below_the_workspace_is_refused)
{
	const char *top = scratch_make();
	const struct outcome *o = launch_below(top, "a/b", top);

	expect_exit(o, 125);
	expect_out(o, "");
	expect_err_has(o, "a/b/sh.ini");
	o = launch_below(top, "a/b", path_in(top, "a/b"));
	expect_exit(o, 125);
	expect_out(o, "");
	/* Beside it is fine. */
	directory_make(path_in(top, "c"), 0700);
	o = launch_below(top, "a/b", path_in(top, "c"));
	expect_exit(o, 0);
	expect_out(o, "ran\n");
}

Test(trust, root_directory_is_no_workspace)
{
	static const char *const spellings[] = { "/", "//", "/.", "/usr/.." };

	for (size_t i = 0; i < sizeof(spellings) / sizeof(*spellings); i++) {
		const struct outcome *o = launch(scratch_make(), "sh",
			"--workspace", spellings[i], "--", "-c", "echo ran",
			NULL);

		expect_exit(o, 125);
		expect_out(o, "");
		expect_err_has(o, "the workspace cannot be '/'");
	}
}

/* ---- what a first attempt runs into --------------------------------------- */

Test(hints, caller_without_a_home)
{
	static const char *const homes[] = { "HOME=/", "HOME=/nonexistent",
					     "NOTHING=1" };

	for (size_t i = 0; i < sizeof(homes) / sizeof(*homes); i++) {
		const char *const environment[] = { homes[i], NULL };
		const struct outcome *o = program_run(&(struct program){
			.argv = ARGV(sbx_launch(), "--profile", profile("sh"),
				     "--", "-c", "ls /home; echo $HOME"),
			.cwd = scratch_make(), .env = environment });

		expect_exit(o, 0);
		expect_out(o, "/tmp\n");
	}
}

Test(hints, masked_environment_names_its_own_prefix)
{
	const char *home = scratch_make();
	const char *prefix = path_in(home, "venv");
	const char *python = path_in(prefix, "bin/python");
	const char *workspace = workspace_with("script.py",
		"import sys; print(sys.prefix)\n");
	const struct outcome *o;

	need("/usr/bin/python3", "python");
	directory_make_all(path_in(prefix, "bin"));
	link_make("/usr/bin/python3", python);
	file_write(path_in(prefix, "pyvenv.cfg"), "home = /usr/bin\n");
	setenv("HOME", home, 1);
	o = launch(workspace, "py", "--set",
		   arena_format("exec.interpreter=%s", python), "script.py",
		   NULL);
	expect_exit(o, 127);
	expect_err_has(o, arena_format("'prefix = %s'", prefix));
	o = launch(workspace, "py", "--set",
		   arena_format("exec.interpreter=%s", python), "--set",
		   arena_format("layers.prefix=%s", prefix), "script.py",
		   NULL);
	expect_exit(o, 0);
	expect_out(o, arena_format("%s\n", prefix));
}

Test(hints, script_without_interpreter)
{
	const char *workspace = workspace_with("script.py", "print(1)\n");
	const struct outcome *o =
		launch(workspace, "readonly", "script.py", NULL);

	expect_exit(o, 127);
	expect_err_has(o, "its interpreter before it");
	o = launch(workspace, "readonly", "./script.py", NULL);
	expect_exit(o, 126);
	expect_err_has(o, "its interpreter before it");
}
