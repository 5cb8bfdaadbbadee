/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each key, its right values and its wrong ones. */
#include "front/keys.h"
#include "profile_dir.h"

TestSuite(keys, .init = dir_setup, .fini = dir_teardown);

static const struct op *op(size_t index)
{
	cr_assert_lt(index, plan->ops.count);
	return &plan->ops.at[index];
}

Test(keys, every_row_is_well_formed)
{
	for (size_t i = 0; i < keys_count; i++) {
		const struct key *key = &keys[i];
		const struct key *found;

		cr_expect_not_null(key->apply, "%zu", i);
		cr_expect_not_null(key->operands);
		cr_expect_not_null(key->help);
		cr_expect(key->least <= key->most);
		cr_expect_eq(!key->name, !!(key->flags & KEY_ANY_NAME));
		cr_assert_eq(keys_find(key->section,
				       key->name ? key->name : "x", &found,
				       &err), 0);
		cr_expect_eq(found, key, "%s %s", key->section, key->name);
	}
}

Test(keys, exec)
{
	read_text("[exec]\ninterpreter = python3\nargument = -u\n"
		  "argument = \"a b\"\nchdir = /srv//x/\n");
	cr_expect_str_eq(plan->interpreter, "python3");
	cr_expect_eq(plan->interpreter_origin.number, 2);
	cr_expect_eq(plan->arguments.count, 2);
	cr_expect_str_eq(plan->arguments.at[0], "-u");
	cr_expect_str_eq(plan->arguments.at[1], "a b");
	cr_expect_str_eq(plan->chdir, "/srv/x");
	refuse_text("[exec]\ninterpreter =\n",
		    "2: interpreter: the value is missing (PATH)", NULL);
	refuse_text("[exec]\ninterpreter = \"\"\n",
		    "2: interpreter: the interpreter is empty", NULL);
	refuse_text("[exec]\ninterpreter = a b\n",
		    "2: interpreter: 2 words where it takes PATH (quote words "
		    "with blanks)", NULL);
	refuse_text("[exec]\nchdir = x\n",
		    "2: chdir: 'x' is not an absolute path", NULL);
}

Test(keys, namespaces)
{
	read_text("[namespaces]\nshare = net ipc\nshare = cgroup\nuid = 0\n"
		  "gid = 4294967294\nhostname = box\n");
	cr_expect_eq(plan->ns[NS_NET].want, NS_WANT_HOST);
	cr_expect_eq(plan->ns[NS_IPC].want, NS_WANT_HOST);
	cr_expect_eq(plan->ns[NS_CGROUP].want, NS_WANT_HOST);
	cr_expect_eq(plan->ns[NS_PID].want, NS_WANT_NEW);
	cr_expect_eq(plan->ns[NS_UTS].want, NS_WANT_NEW);
	cr_expect_eq(plan->ns[NS_USER].want, NS_WANT_NEW);
	cr_expect_eq(plan->ns[NS_CGROUP].origin.number, 3);
	cr_expect(plan->ids.has_uid && plan->ids.has_gid);
	cr_expect_eq(plan->ids.uid, 0);
	cr_expect_eq(plan->ids.gid, 4294967294);
	cr_expect_str_eq(plan->hostname, "box");
	refuse_text("[namespaces]\nshare = user\n",
		    "2: share: 'user' is not one of net, pid, ipc, uts, cgroup",
		    NULL);
	refuse_text("[namespaces]\nshare = cgruop\n",
		    "2: share: 'cgruop' is not one of net, pid, ipc, uts, "
		    "cgroup", "did you mean 'cgroup'?");
	refuse_text("[namespaces]\nuid = 4294967295\n",
		    "2: uid: 4294967295 is out of range (0 to 4294967294)",
		    NULL);
	refuse_text("[namespaces]\nuid = -1\n", "2: uid: '-1' is not a number",
		    NULL);
	refuse_text("[namespaces]\nuid = root\n",
		    "2: uid: 'root' is not a number", NULL);
	refuse_text(arena_printf(arena, "[namespaces]\nhostname = %065d\n", 0),
		    "2: hostname: a host name has 1 to 64 bytes, this one has "
		    "65", NULL);
}

Test(keys, root)
{
	read_text("[root]\nsource = none\nsystem = yes\n");
	cr_expect(plan->root.is_none);
	cr_expect(plan->root.has_system);
	cr_expect_eq(plan->root.system_origin.number, 3);
	read_text("[root]\nsource = /srv/r\n");
	cr_expect_str_eq(plan->root.source, "/srv/r");
	cr_expect_not(plan->root.is_none);
	refuse_text("[root]\nsystem = true\n",
		    "2: system: 'true' is not one of yes, no", NULL);
}

Test(keys, masks)
{
	read_text("[mask]\ntmpfs = /home\ntmpfs = /tmp\n"
		  "tmpfs = /a size=1m inodes=2k mode=0700 rw\n"
		  "tmpfs = \"/b c/\" ro\nhide = /etc/shadow\n");
	cr_expect_eq(plan->ops.count, 5);
	cr_expect_eq(op(0)->kind, OP_TMPFS);
	cr_expect_eq(op(0)->role, ROLE_MASK);
	cr_expect_eq(op(0)->phase, PHASE_VIEW);
	cr_expect_eq(op(0)->flags, OP_READ_ONLY | OP_OPTIONAL);
	cr_expect_eq(op(0)->mode, OP_MODE_NONE);
	cr_expect_eq(op(1)->flags, OP_OPTIONAL, "/tmp can be written");
	cr_expect_eq(op(1)->mode, 01777);
	cr_expect_eq(op(2)->flags, OP_OPTIONAL);
	cr_expect_eq(op(2)->size, 1 << 20);
	cr_expect_eq(op(2)->inodes, 2048);
	cr_expect_eq(op(2)->mode, 0700);
	cr_expect_str_eq(op(3)->dest, "/b c");
	cr_expect_eq(op(4)->kind, OP_HIDE);
	cr_expect_eq(op(4)->flags, OP_OPTIONAL);
	cr_expect_eq(op(4)->origin.number, 6);
}

Test(keys, tmp_can_be_told_otherwise)
{
	read_text("[mask]\ntmpfs = /tmp ro mode=0755\n");
	cr_expect_eq(op(0)->flags, OP_READ_ONLY | OP_OPTIONAL);
	cr_expect_eq(op(0)->mode, 0755);
}

Test(keys, wrong_masks)
{
	static const struct {
		const char *value, *message;
	} cases[] = {
		{ "tmpfs = home", "2: tmpfs: 'home' is not an absolute path" },
		{ "tmpfs = \"\"", "2: tmpfs: the path is empty" },
		{ "tmpfs = /", "2: tmpfs: '/' cannot be masked ('source = "
		  "none' in [root] gives an empty root)" },
		{ "tmpfs = /a/..", "2: tmpfs: '/' cannot be masked ('source = "
		  "none' in [root] gives an empty root)" },
		{ "hide = //", "2: hide: '/' cannot be hidden" },
		{ "tmpfs = /a wr", "2: tmpfs: 'wr' is not one of size=, "
		  "inodes=, mode=, ro, rw" },
		{ "tmpfs = /a size=0", "2: tmpfs: '0' is not a size above 0" },
		{ "tmpfs = /a size=", "2: tmpfs: '' is not a size above 0" },
		{ "tmpfs = /a size=1x", "2: tmpfs: '1x' is not a size above "
		  "0" },
		{ "tmpfs = /a mode=9", "2: tmpfs: '9' is not an octal mode of "
		  "at most 7777" },
		{ "tmpfs = /a mode=17777", "2: tmpfs: '17777' is not an octal "
		  "mode of at most 7777" },
		{ "hide = /a /b", "2: hide: 2 words where it takes PATH (quote "
		  "words with blanks)" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		refuse_text(arena_printf(arena, "[mask]\n%s\n",
					 cases[i].value), cases[i].message,
			    NULL);
}

Test(keys, layers)
{
	read_text("[layers]\ndeps = /srv/deps\nskills =\nprefix = \"\"\n"
		  "shim = /a/shim /usr/local/bin/shim optional\n"
		  "layer = /l1 optional\nlayer = \"/l 2\" /in/l2\n"
		  "layer =\n");
	cr_expect_eq(plan->ops.count, 4);
	cr_expect_str_eq(op(0)->source, "/srv/deps");
	cr_expect_str_eq(op(0)->dest, "/srv/deps");
	cr_expect_eq(op(0)->flags, OP_READ_ONLY | OP_ID_MAPPED);
	cr_expect_eq(op(0)->role, ROLE_LAYER);
	cr_expect_str_eq(op(1)->dest, "/usr/local/bin/shim");
	cr_expect_eq(op(1)->flags, OP_READ_ONLY | OP_ID_MAPPED | OP_OPTIONAL);
	cr_expect_str_eq(op(2)->dest, "/l1");
	cr_expect_eq(op(2)->flags, OP_READ_ONLY | OP_ID_MAPPED | OP_OPTIONAL);
	cr_expect_str_eq(op(3)->source, "/l 2");
	cr_expect_str_eq(op(3)->dest, "/in/l2");
	refuse_text("[layers]\nlayer = /a /b /c\n",
		    "2: layer: '/c' is not 'optional'", NULL);
	refuse_text("[layers]\nlayer = /a /b/..\n",
		    "2: layer: nothing can be put on '/' ('source' in [root] "
		    "says what is there)", NULL);
	refuse_text("[layers]\nlayer = /a b\n",
		    "2: layer: 'b' is not an absolute path", NULL);
}

Test(keys, a_relative_source_is_the_callers)
{
	read_text("[layers]\nlayer = x/./y\n");
	cr_expect_str_eq(op(0)->source, in_dir("x/./y"));
	cr_expect_str_eq(op(0)->dest, in_dir("x/y"));
}

Test(keys, workspace)
{
	const struct plan_workspace *workspace;

	read_text("[workspace]\nmode = overlay\nlower = /l1\nlower = /l2\n"
		  "upper = ${workspace}.up\nwork = /wk\nprotect = .git//hooks/\n"
		  "protect = a/./b\nexport = out\n"
		  "commit = on-success\ncommit-fd = 7\n"
		  "path = /src /in\n");
	workspace = &plan->workspace;
	cr_expect_str_eq(workspace->source, "/src");
	cr_expect_str_eq(workspace->dest, "/in");
	cr_expect_eq(workspace->mode, WORKSPACE_OVERLAY);
	cr_expect_eq(workspace->lowers.count, 2);
	cr_expect_str_eq(workspace->lowers.at[1], "/l2");
	cr_expect_str_eq(workspace->upper, "/in.up");
	cr_expect_str_eq(workspace->work, "/wk");
	cr_expect_eq(workspace->protects.count, 2);
	cr_expect_str_eq(workspace->protects.at[0].path, ".git/hooks");
	cr_expect_str_eq(workspace->protects.at[1].path, "a/b");
	cr_expect_eq(workspace->protects.at[1].origin.number, 8);
	cr_expect_str_eq(workspace->export_dir, in_dir("out"));
	cr_expect(workspace->commits);
	cr_expect_eq(workspace->commit_fd, 7);
	cr_expect_eq(workspace->commit_fd_origin.number, 11);
	cr_expect_eq(plan->ops.count, 0, "plan_order() makes the operation");
}

Test(keys, wrong_workspaces)
{
	static const struct {
		const char *value, *message;
	} cases[] = {
		{ "path =", "2: path: the value is missing (SRC [DEST])" },
		{ "path = \"\"", "2: path: the path is empty" },
		{ "path = /", "2: path: the workspace cannot be '/'" },
		{ "path = /a/..", "2: path: the workspace cannot be '/'" },
		{ "path = /a /", "2: path: nothing can be put on '/' ('source' "
		  "in [root] says what is there)" },
		{ "path = /a b", "2: path: 'b' is not an absolute path" },
		{ "path = ${workspace}", "2: path: ${workspace} is not known: "
		  "there is no 'path' in [workspace]" },
		{ "mode = rx", "2: mode: 'rx' is not one of rw, ro, overlay, "
		  "ephemeral" },
		{ "commit = yes", "2: commit: 'yes' is not one of never, "
		  "on-success" },
		{ "commit-fd = x", "2: commit-fd: 'x' is not a number" },
		{ "protect = /a", "2: protect: '/a' is not relative to the "
		  "workspace" },
		{ "protect = a/../../b", "2: protect: 'a/../../b' leaves the "
		  "workspace" },
		{ "protect = ..", "2: protect: '..' leaves the workspace" },
		{ "protect = ./", "2: protect: './' is the whole workspace "
		  "('mode = ro' does that)" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		refuse_text(arena_printf(arena, "[workspace]\n%s\n",
					 cases[i].value), cases[i].message,
			    NULL);
	read_text("[workspace]\nprotect = ...\nprotect = a..b/..c\n");
}

Test(keys, a_path_that_is_too_long)
{
	char *path = arena_alloc(arena, 4098);

	memset(path, 'x', 4096);
	path[0] = '/';
	refuse_text(arena_printf(arena, "[mask]\nhide = %s\n", path),
		    "2: hide: a path of 4096 bytes", NULL);
	path[4095] = '\0';
	read_text(arena_printf(arena, "[mask]\nhide = %s\n", path));
}

Test(keys, mounts)
{
	read_text("[mounts]\nro-bind = /a /b\nbind = \"x y\" /c optional\n"
		  "perms = 0711\nsize = 1m\ntmpfs = /d\noverlay-src = /l1\n"
		  "overlay-src = l2\noverlay = /up /wk /e\nsymlink = ../t /f\n"
		  "perms = 0600\nfile = 9 /g\nchmod = 1777 /d\nproc = /h\n"
		  "remount-ro = /d\n");
	cr_expect_eq(plan->ops.count, 9);
	cr_expect_eq(op(0)->kind, OP_BIND);
	cr_expect_eq(op(0)->flags, OP_READ_ONLY);
	cr_expect_eq(op(0)->phase, PHASE_MOUNTS);
	cr_expect_eq(op(0)->role, ROLE_PLAIN);
	cr_expect_str_eq(op(1)->source, in_dir("x y"));
	cr_expect_eq(op(1)->flags, OP_OPTIONAL);
	cr_expect_eq(op(2)->mode, 0711);
	cr_expect_eq(op(2)->size, 1 << 20);
	cr_expect_eq(op(3)->lowers.count, 2);
	cr_expect_str_eq(op(3)->lowers.at[1], in_dir("l2"));
	cr_expect_str_eq(op(3)->upper, "/up");
	cr_expect_str_eq(op(4)->target, "../t");
	cr_expect_eq(op(5)->fd, 9);
	cr_expect_eq(op(5)->mode, 0600);
	cr_expect_eq(op(6)->mode, 01777);
	cr_expect_eq(op(8)->kind, OP_REMOUNT_RO);
}

Test(keys, wrong_mounts)
{
	static const struct {
		const char *text, *message, *remedy;
	} cases[] = {
		{ "ro-bind = /a\n", "2: ro-bind: 'ro-bind' takes 2 words, not "
		  "1 (quote words with blanks)", NULL },
		{ "tmpfs = /a /b\n", "2: tmpfs: '/b' is not 'optional'",
		  NULL },
		{ "ro-bind = /a b\n", "2: ro-bind: 'b' is not an absolute path",
		  NULL },
		{ "ro-bnd = /a /b\n", "2: ro-bnd: there is no key 'ro-bnd' in "
		  "[mounts]", "did you mean 'ro-bind'?" },
		{ "--bind = /a /b\n", "2: --bind: there is no key '--bind' in "
		  "[mounts]", NULL },
		{ "file = x /a\n", "2: file: 'x' is not a number", NULL },
		{ "file = -1 /a\n", "2: file: '-1' is not a number", NULL },
		{ "chmod = 99 /a\n", "2: chmod: '99' is not an octal mode of "
		  "at most 7777", NULL },
		{ "perms = 0700\nbind = /a /b\n", "3: bind: 'bind' takes no "
		  "'perms', which ./p.ini:2 says", NULL },
		{ "size = 1m\ndir = /b\n", "3: dir: 'dir' takes no 'size', "
		  "which ./p.ini:2 says", NULL },
		{ "overlay-src = /l\ntmpfs = /b\n", "3: tmpfs: 'tmpfs' takes "
		  "no 'overlay-src', which ./p.ini:2 says", NULL },
		{ "perms = 1\nperms = 2\n", "3: perms: 'perms' twice for the "
		  "same mount", NULL },
		{ "size = 0\n", "2: size: '0' is not a size above 0", NULL },
		{ "perms = 0700 0711\n", "2: perms: 'perms' takes one word",
		  NULL },
		{ "tmp-overlay = /a\n", "2: tmp-overlay: 'tmp-overlay' "
		  "requires at least one 'overlay-src' before it", NULL },
		{ "overlay-src = /l\nro-overlay = /a\n", "3: ro-overlay: "
		  "'ro-overlay' requires at least two 'overlay-src' before it",
		  NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		refuse_text(arena_printf(arena, "[mounts]\n%s", cases[i].text),
			    cases[i].message, cases[i].remedy);
}

Test(keys, a_modifier_that_nothing_follows)
{
	put("p.ini", "[mounts]\ndir = /a\nperms = 0700\n");
	cr_expect_lt(apply_with("p.ini", NULL, 0), 0);
	cr_expect_str_eq(err.text, "./p.ini:3: 'perms' must be followed by a "
			 "key that takes it");
}

Test(keys, environment)
{
	read_text("[setenv]\nB = 2 ; not a comment \nA.b =\n[environment]\n"
		  "keep = LANG LC_*\nkeep = TERM\n");
	cr_expect_eq(plan->environment.count, 6);
	cr_expect_eq(plan->environment.at[0].kind, ENV_CLEAR);
	cr_expect_eq(plan->environment.at[1].kind, ENV_KEEP);
	cr_expect_str_eq(plan->environment.at[2].name, "LC_*");
	cr_expect_str_eq(plan->environment.at[3].name, "TERM");
	cr_expect_eq(plan->environment.at[4].kind, ENV_SET);
	cr_expect_str_eq(plan->environment.at[4].name, "B");
	cr_expect_str_eq(plan->environment.at[4].value, "2 ; not a comment");
	cr_expect_str_eq(plan->environment.at[5].name, "A.b");
	cr_expect_str_eq(plan->environment.at[5].value, "");
	read_text("[environment]\nclear = no\n");
	cr_expect_eq(plan->environment.count, 0);
	refuse_text("[environment]\nkeep = *_PROXY\n",
		    "2: keep: '*_PROXY': a '*' can only be the last character",
		    NULL);
	refuse_text("[environment]\nkeep = A=B\n",
		    "2: keep: 'A=B' cannot be the name of a variable", NULL);
	refuse_text("[environment]\nkeep =\n",
		    "2: keep: the value is missing (NAME|PREFIX*)", NULL);
}

Test(keys, limits)
{
	static const struct {
		const char *text;
		enum limit_kind kind;
		uint64_t value;
		bool is_optional;
	} cases[] = {
		{ "processes = 64", LIMIT_PROCESSES, 64, false },
		{ "open-files = 1024 optional", LIMIT_OPEN_FILES, 1024, true },
		{ "file-size = 10m", LIMIT_FILE_SIZE, 10 << 20, false },
		{ "cpu-time = 30s", LIMIT_CPU_TIME, 30000, false },
		{ "address-space = 4g", LIMIT_ADDRESS_SPACE, 4ULL << 30,
		  false },
		{ "stack = 8m", LIMIT_STACK, 8 << 20, false },
		{ "core = 0", LIMIT_CORE, 0, false },
		{ "memlock = 64k", LIMIT_MEMLOCK, 65536, false },
		{ "memory = 1g optional", LIMIT_MEMORY, 1 << 30, true },
		{ "cpu = 150%", LIMIT_CPU, 150, false },
		{ "cpu = 50", LIMIT_CPU, 50, false },
		{ "timeout = 1500ms", LIMIT_TIMEOUT, 1500, false },
		{ "timeout = 2h", LIMIT_TIMEOUT, 7200000, false },
		{ "grace = 0", LIMIT_GRACE, 0, false },
		{ "output = 1m", LIMIT_OUTPUT, 1 << 20, false },
		{ "output = 1m note", LIMIT_OUTPUT, 1 << 20, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		read_text(arena_printf(arena, "[limits]\n%s\n",
				       cases[i].text));
		for (int kind = 0; kind < LIMIT_COUNT; kind++)
			cr_expect_eq(plan->limits[kind].is_set,
				     kind == (int)cases[i].kind, "%s",
				     cases[i].text);
		cr_expect_eq(plan->limits[cases[i].kind].value,
			     cases[i].value, "%s", cases[i].text);
		cr_expect_eq(plan->limits[cases[i].kind].is_optional,
			     cases[i].is_optional, "%s", cases[i].text);
		cr_expect_eq(plan->limits[cases[i].kind].has_note,
			     !!strstr(cases[i].text, "note"), "%s",
			     cases[i].text);
		cr_expect_eq(plan->limits[cases[i].kind].origin.number, 2);
	}
}

Test(keys, wrong_limits)
{
	static const struct {
		const char *text, *message, *remedy;
	} cases[] = {
		{ "processes = 0", "2: processes: 0 is less than the least, 1",
		  NULL },
		{ "processes = many", "2: processes: 'many' is not a number",
		  NULL },
		{ "processes = 64k", "2: processes: '64k' is not a number",
		  NULL },
		{ "open-files = 2", "2: open-files: 2 is less than the least, "
		  "3", NULL },
		{ "timeout = 30", "2: timeout: '30' is not a duration",
		  "a duration ends in ms, s, m or h" },
		{ "timeout = 0", "2: timeout: 0 is less than the least, 1",
		  NULL },
		{ "memory = 1gb", "2: memory: '1gb' is not a size",
		  "a size is a number of bytes or ends in k, m, g or t" },
		{ "memory = 1g maybe", "2: memory: 'maybe' is not 'optional'",
		  NULL },
		{ "memory = 9999999t", "2: memory: 9999999t is too large",
		  NULL },
		{ "cpu = 5%%", "2: cpu: '5%%' is not a percentage", NULL },
		{ "cpu = %", "2: cpu: '%' is not a percentage", NULL },
		{ "cpu = 0%", "2: cpu: 0% is less than the least, 1", NULL },
		{ "tiemout = 1s", "2: there is no key 'tiemout' in [limits]",
		  "did you mean 'timeout'?" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		refuse_text(arena_printf(arena, "[limits]\n%s\n",
					 cases[i].text), cases[i].message,
			    cases[i].remedy);
}

Test(keys, security)
{
	read_text("[security]\nrun-as = 5000:6000\nseccomp = /f.bpf\n"
		  "unix-sockets = deny\nnested-userns = yes\ntty = keep\n"
		  "keep-fd = 3 4\nkeep-fd = 9\n");
	cr_expect_eq(plan->ids.run_as, RUN_AS_ID);
	cr_expect_eq(plan->ids.run_uid, 5000);
	cr_expect_eq(plan->ids.run_gid, 6000);
	cr_expect_eq(plan->security.seccomp, SECCOMP_FROM_FILE);
	cr_expect_str_eq(plan->security.seccomp_file, "/f.bpf");
	cr_expect(plan->security.deny_unix_sockets);
	cr_expect(plan->security.allow_nested_userns);
	cr_expect_eq(plan->security.tty, TTY_KEEP);
	cr_expect_eq(plan->security.keep_fds.count, 3);
	cr_expect_eq(plan->security.keep_fds.at[2], 9);
	cr_expect_not(plan->security.keep_all_fds);

	read_text("[security]\nrun-as = 5000\nseccomp = none\n");
	cr_expect_eq(plan->ids.run_gid, 5000);
	cr_expect_eq(plan->security.seccomp, SECCOMP_NONE);
	read_text("[security]\nrun-as = caller\nseccomp = default\n");
	cr_expect_eq(plan->ids.run_as, RUN_AS_CALLER);
	cr_expect_eq(plan->security.seccomp, SECCOMP_DEFAULT);
	read_text("[security]\nrun-as = auto\nseccomp = ./f\n");
	cr_expect_eq(plan->ids.run_as, RUN_AS_AUTO);
	cr_expect_str_eq(plan->security.seccomp_file, in_dir("./f"));
}

Test(keys, wrong_security)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "run-as = root", "2: run-as: 'root' is not one of auto, "
		  "caller, UID, UID:GID" },
		{ "run-as = 1:", "2: run-as: '' is not a number" },
		{ "run-as = :1", "2: run-as: ':1' is not one of auto, caller, "
		  "UID, UID:GID" },
		{ "run-as = 4294967295", "2: run-as: 4294967295 is out of "
		  "range (0 to 4294967294)" },
		{ "seccomp = defualt", "2: seccomp: 'defualt' is not one of "
		  "default, none, or a file's path" },
		{ "unix-sockets = no", "2: unix-sockets: 'no' is not one of "
		  "allow, deny" },
		{ "tty = own", "2: tty: 'own' is not one of none, keep" },
		{ "keep-fd = 2147483648", "2: keep-fd: 2147483648 is out of "
		  "range (0 to 2147483647)" },
		{ "keep-fd = 3 x", "2: keep-fd: 'x' is not a number" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		refuse_text(arena_printf(arena, "[security]\n%s\n",
					 cases[i].text), cases[i].message,
			    NULL);
}

Test(keys, network_and_report)
{
	read_text("[network]\nloopback = no\n[report]\nstatus-fd = 5\n"
		  "status-file = /s\naudit-file = a.log\nchanges-file = /c\n"
		  "run-id = \"r 1\"\nhandle-id = h\n");
	cr_expect_not(plan->bring_up_loopback);
	cr_expect_eq(plan->report.status_fd, 5);
	cr_expect_str_eq(plan->report.status_file, "/s");
	cr_expect_str_eq(plan->report.audit_file, in_dir("a.log"));
	cr_expect_str_eq(plan->report.changes_file, "/c");
	cr_expect_str_eq(plan->report.run_id, "r 1");
	cr_expect_str_eq(plan->report.handle_id, "h");
	cr_expect_eq(plan->report.changes_origin.number, 7);
}

Test(keys, unknown_names)
{
	refuse_text("[mask]\nx = 1\n", "2: there is no key 'x' in [mask]",
		    NULL);
	refuse_text("[mask]\ntmfps = /a\n",
		    "2: there is no key 'tmfps' in [mask]",
		    "did you mean 'tmpfs'?");
	refuse_text("[exec]\ntimeout = 1s\n",
		    "2: there is no key 'timeout' in [exec]",
		    "'timeout' belongs into [limits]");
	refuse_text("\n[maks]\n", "2: there is no section [maks]",
		    "did you mean [mask]?");
	refuse_text("[]\n", "1: there is no section []", NULL);
	refuse_text("[MASK]\n", "1: there is no section [MASK]", NULL);
	refuse_text("[mask]\nTMPFS = /a\n",
		    "2: there is no key 'TMPFS' in [mask]", NULL);
}
