/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What holds in each of the profiles that come with the program, told by the
 * same look around; shipped.c has what each of them is for.
 */
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

/* A caller with a home, in it a project and things that are private. */
struct caller {
	const char *home;
	const char *project;
	const char *home_variable;
	const struct host *host;
};

static struct caller make_caller(void)
{
	struct caller caller = { .home = scratch_make() };

	caller.project = path_in(caller.home, "project");
	caller.home_variable = arena_format("HOME=%s", caller.home);
	directory_make(caller.project, 0700);
	file_write(path_in(caller.home, "secret"), "hunter2\n");
	file_write(path_in(caller.project, "given"), "given\n");
	caller.host = host_read();
	return caller;
}

static const struct outcome *run_profile(const struct caller *caller,
					 const char *name,
					 const char *const *rest)
{
	const char *argv[24] = {
		sbx_launch(), "--profile",
		sbx_source(arena_format("conf/%s", name)),
	};

	for (int i = 0; rest[i]; i++)
		argv[i + 3] = rest[i];
	return program_run(&(struct program){
		.argv = argv, .cwd = caller->project,
		.set = ARGV(caller->home_variable, "SECRET=hunter2",
			    "LC_TIME=C.UTF-8") });
}

#define RUN(caller, name, ...) run_profile(caller, name, ARGV(__VA_ARGS__))

/*
 * What holds in each of them, told by a shell: the places that can be
 * written, what is seen of the caller, the limits, the network.
 */
static const char look[] =
	"pwd; for d in . /tmp /home /root /run /var/tmp /etc /usr / \"$HOME\" "
	"/dev/shm; do (true >\"$d/.try\") 2>/dev/null && echo \"writes $d\"; "
	"rm -f \"$d/.try\" 2>/dev/null; done; "
	"echo \"sees$(ls -A /home /root /run /srv /mnt 2>/dev/null | "
	"grep -v : | tr -d '\\n')\"; cat /etc/shadow 2>/dev/null; "
	"env | grep -c SECRET; ulimit -c; "
	"grep 'Max processes' /proc/self/limits | tr -s ' ' | cut -d' ' -f3,4;"
	"wc -l </proc/net/dev";

static void expect_look(const struct caller *caller, const struct outcome *o,
			const char *place, const char *writes)
{
	expect_exit(o, 0);
	expect_out(o, arena_format("%s\n%ssees\n0\n0\n256 256\n3\n", place,
				   writes));
	expect_host_unchanged(caller->host);
}

static void write_look(const struct caller *caller)
{
	file_write(path_in(caller->project, "look.sh"), look);
}

Test(profiles, sh)
{
	struct caller caller = make_caller();
	const struct outcome *o;

	write_look(&caller);
	expect_look(&caller, RUN(&caller, "sh.ini", "look.sh"),
		    caller.project, "writes .\nwrites /tmp\nwrites /tmp\n"
		    "writes /dev/shm\n");
	o = RUN(&caller, "sh.ini", "--set", "exec.interpreter=/bin/bash",
		"--", "look.sh");
	expect_exit(o, 0);
	file_write(path_in(caller.project, "s.sh"),
		   "echo \"$0 $# $2\"; cat given; echo new >made; exit 9\n");
	o = RUN(&caller, "sh.ini", "s.sh", "-x", "two  words");
	expect_exit(o, 9);
	expect_out(o, "s.sh 2 two  words\ngiven\n");
	expect_file(path_in(caller.project, "made"), "new\n");
}

Test(profiles, workspace)
{
	struct caller caller = make_caller();
	const struct outcome *o;

	write_look(&caller);
	expect_look(&caller, RUN(&caller, "workspace.ini", "sh", "look.sh"),
		    "/workspace",
		    "writes .\nwrites /tmp\nwrites /tmp\nwrites /dev/shm\n");
	o = RUN(&caller, "workspace.ini", "sh", "-c",
		"ls -A / | grep -v lib32; uname -n; echo x >made; echo y >/cache/c; "
		"cat /cache/c; getent hosts localhost >/dev/null && echo name;"
		PYTHON " -c 'import ssl, sqlite3; print(1)'");
	expect_exit(o, 0);
	expect_out(o, "bin\ncache\ndev\netc\nlib\nlib64\nproc\nsbin\ntmp\nusr\n"
		   "workspace\nworkspace\ny\nname\n1\n");
	expect_file(path_in(caller.project, "made"), "x\n");
	/* A cache that the caller has made outlives the run. */
	directory_make_all(path_in(caller.home, ".cache/sbx-launch"));
	o = RUN(&caller, "workspace.ini", "sh", "-c", "echo z >/cache/c");
	expect_exit(o, 0);
	expect_file(path_in(caller.home, ".cache/sbx-launch/c"), "z\n");
	o = RUN(&caller, "workspace.ini", "--set", "namespaces.share=net",
		"--", "sh", "-c", "readlink /proc/self/ns/net");
	expect_out(o, program_run(&(struct program){
			.argv = ARGV("readlink", "/proc/self/ns/net") })->out);
}

Test(profiles, readonly)
{
	struct caller caller = make_caller();
	const struct tree *before;
	const struct outcome *o;

	write_look(&caller);
	before = tree_read(caller.home, TREE_TOUCHED);
	expect_look(&caller, RUN(&caller, "readonly.ini", "sh", "look.sh"),
		    caller.project, "writes /dev/shm\n");
	o = RUN(&caller, "readonly.ini", "grep", "-rn", "given", ".");
	expect_exit(o, 0);
	expect_out(o, "./given:1:given\n");
	expect_tree_unchanged(before, caller.home, TREE_TOUCHED);
}

Test(profiles, ephemeral)
{
	struct caller caller = make_caller();
	const char *audit = path_in(caller.home, ".sbx-launch-audit.jsonl");
	const struct tree *before;
	const struct outcome *o;

	write_look(&caller);
	before = tree_read(caller.project, TREE_TOUCHED);
	expect_look(&caller, RUN(&caller, "ephemeral.ini", "sh", "look.sh"),
		    caller.project, "writes .\nwrites /tmp\nwrites /tmp\n"
		    "writes /dev/shm\n");
	o = RUN(&caller, "ephemeral.ini", "sh", "-c",
		"rm given; echo x >made; ls; env | cut -d= -f1 | sort");
	expect_exit(o, 0);
	expect_out_has(o, "look.sh\nmade\n");
	cr_expect(!strstr(o->out, "SECRET"));
	expect_tree_unchanged(before, caller.project, TREE_TOUCHED);
	/* A line a launch, also for one that is refused. */
	o = RUN(&caller, "ephemeral.ini", "no-such-command");
	expect_exit(o, 127);
	expect_out(program_run(&(struct program){
			.argv = ARGV(PYTHON, "-c",
				"import json, sys\n"
				"for line in open(sys.argv[1]):\n"
				"    r = json.loads(line)\n"
				"    print(r['ok'], r['exitCode'])\n",
				audit) }),
		   "True 0\nTrue 0\nFalse 127\n");
}

Test(profiles, node)
{
	struct caller caller = make_caller();
	const char *deps = path_in(caller.home, "node_modules");
	const struct outcome *o;

	directory_make_all(path_in(deps, "of-deps"));
	file_write(path_in(deps, "of-deps/index.js"),
		   "exports.x = 'of deps';\n");
	file_write(path_in(caller.project, "s.js"),
		   "const fs = require('fs'), os = require('os');\n"
		   "const { Worker } = require('worker_threads');\n"
		   "const { execFileSync } = require('child_process');\n"
		   "console.log(process.argv.slice(2), process.cwd());\n"
		   "console.log(require('of-deps').x);\n"
		   "fs.writeFileSync('made', 'new\\n');\n"
		   "console.log(os.tmpdir(), os.homedir());\n"
		   "console.log(execFileSync('sh', ['-c', 'echo child'])"
		   ".toString().trim());\n"
		   "for (const place of ['/root', '/home', '../secret'])\n"
		   "  try { console.log(fs.readdirSync(place)); }\n"
		   "  catch (error) { console.log(error.code); }\n"
		   "const source = 'require(\"worker_threads\")"
		   ".parentPort.postMessage(6 * 7)';\n"
		   "new Worker(source, { eval: true }).on('message',\n"
		   "  (m) => { console.log(m); process.exitCode = 11; });\n");
	o = run_profile(&caller, "node.ini", ARGV(
		"--set", arena_format("layers.deps=%s", deps), "--env",
		arena_format("NODE_PATH=%s", deps), "--", "s.js", "a b",
		"--c"));
	expect_exit(o, 11);
	expect_out(o, arena_format(
		"[ 'a b', '--c' ] %s\nof deps\n/tmp /tmp\nchild\n[]\n[]\n"
		"ENOENT\n42\n", caller.project));
	expect_file(path_in(caller.project, "made"), "new\n");
	expect_host_unchanged(caller.host);
}
