/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an ordered plan shows, found out without mounting anything. */
#include "front/command.h"
#include "front/view.h"
#include "plan/order.h"
#include "profile_dir.h"

static void setup(void)
{
	dir_setup();
	memset(&err, 0, sizeof(err));
	plan = plan_new(arena, PLAN_RULES_PROFILE);
	plan->root.source = in_dir("root");
	cr_assert_eq(mkdir("root", 0755), 0);
	cr_assert_eq(mkdir("root/home", 0755), 0);
	cr_assert_eq(mkdir("root/home/u", 0755), 0);
	put("root/home/u/f", "");
	cr_assert_eq(mkdir("root/opt", 0755), 0);
	put("root/opt/f", "");
	cr_assert_eq(mkdir("layer", 0755), 0);
	put("layer/f", "");
	cr_assert_eq(symlink("f", "layer/link"), 0);
	cr_assert_eq(symlink("/opt/f", "layer/absolute"), 0);
	cr_assert_eq(symlink("../../opt/f", "layer/up"), 0);
	cr_assert_eq(symlink("loop", "layer/loop"), 0);
	cr_assert_eq(symlink("../home/u/f", "root/opt/home"), 0);
}

TestSuite(view, .init = setup, .fini = dir_teardown);

static struct op *add(enum op_kind kind, enum op_role role, const char *dest)
{
	struct op *op = plan_add_op(plan, kind, role == ROLE_PLAIN
				    ? PHASE_MOUNTS : PHASE_VIEW,
				    (struct origin){ ORIGIN_FILE, 3, "p.ini" });

	op->role = role;
	op->dest = dest;
	return op;
}

static struct view look(const char *path)
{
	return view_look(plan, path);
}

static void order(void)
{
	cr_assert_eq(plan_order(plan, &err), 0, "%s", err.text);
}

static void expect_host(const char *path, const char *host)
{
	struct view view = look(path);

	cr_expect_eq(view.kind, VIEW_THERE, "%s", path);
	if (view.kind == VIEW_THERE)
		cr_expect_str_eq(view.host, in_dir(host), "%s", path);
}

static void expect_kind(const char *path, enum view_kind kind)
{
	cr_expect_eq(look(path).kind, kind, "%s", path);
}

Test(view, the_root_is_seen)
{
	order();
	expect_host("/", "root");
	expect_host("/opt/f", "root/opt/f");
	expect_host("/opt/../home/./u//f", "root/home/u/f");
	expect_host("/..", "root");
	expect_host("/opt/home", "root/home/u/f");
	expect_kind("/nope", VIEW_MISSING);
	expect_kind("/opt/f/x", VIEW_MISSING);
	expect_kind("/proc/self", VIEW_UNKNOWN);
	expect_kind("/dev/null", VIEW_UNKNOWN);
}

Test(view, a_mask_hides)
{
	struct view view;

	add(OP_TMPFS, ROLE_MASK, "/home");
	add(OP_HIDE, ROLE_MASK, "/opt/f");
	order();
	expect_kind("/home", VIEW_MADE);
	view = look("/home/u/f");
	cr_expect_eq(view.kind, VIEW_HIDDEN);
	cr_expect_str_eq(view.op->dest, "/home");
	cr_expect_str_eq(view.path, "/home/u/f");
	expect_kind("/opt/f", VIEW_HIDDEN);
	view = look("/opt/home");
	cr_expect_eq(view.kind, VIEW_HIDDEN, "through a link, too");
	cr_expect_str_eq(view.path, "/home/u/f");
}

Test(view, a_layer_shows_through_a_mask)
{
	add(OP_TMPFS, ROLE_MASK, "/home");
	add(OP_BIND, ROLE_LAYER, "/home/u/lib")->source = in_dir("layer");
	order();
	expect_kind("/home/u", VIEW_MADE);
	expect_kind("/home/v", VIEW_HIDDEN);
	expect_host("/home/u/lib", "layer");
	expect_host("/home/u/lib/f", "layer/f");
	expect_host("/home/u/lib/link", "layer/f");
	expect_host("/home/u/lib/absolute", "root/opt/f");
	expect_kind("/home/u/lib/up", VIEW_HIDDEN);
	expect_kind("/home/u/lib/nope", VIEW_MISSING);
	cr_expect_eq(look("/home/u/lib/loop").kind, VIEW_LOST);
	cr_expect_eq(look("/home/u/lib/loop").code, ELOOP);
}

Test(view, an_overlay_shows_the_topmost_layer)
{
	struct op *op = add(OP_OVERLAY, ROLE_WORKSPACE, "/w");

	cr_assert_eq(mkdir("upper", 0755), 0);
	put("upper/new", "");
	*arena_push(arena, &op->lowers) = in_dir("root/opt");
	*arena_push(arena, &op->lowers) = in_dir("layer");
	op->upper = in_dir("upper");
	order();
	expect_host("/w/new", "upper/new");
	expect_host("/w/f", "layer/f");
	expect_host("/w/home", "root/home/u/f");
	expect_kind("/w/nope", VIEW_MISSING);
}

Test(view, the_last_mount_is_what_is_seen)
{
	add(OP_BIND, ROLE_PLAIN, "/opt")->source = in_dir("layer");
	add(OP_TMPFS, ROLE_PLAIN, "/opt/sub");
	add(OP_SYMLINK, ROLE_PLAIN, "/opt/made")->target = "f";
	add(OP_DIR, ROLE_PLAIN, "/opt/dir");
	add(OP_FILE, ROLE_PLAIN, "/opt/file");
	add(OP_CHMOD, ROLE_PLAIN, "/opt/f")->mode = 0;
	order();
	expect_host("/opt/f", "layer/f");
	expect_kind("/opt/home", VIEW_MISSING);
	expect_kind("/opt/sub/x", VIEW_MISSING);
	expect_host("/opt/made", "layer/f");
	expect_kind("/opt/dir", VIEW_MADE);
	expect_kind("/opt/file", VIEW_UNKNOWN);
}

Test(view, an_empty_root)
{
	plan->root.is_none = true;
	add(OP_BIND, ROLE_LAYER, "/opt/x")->source = in_dir("layer");
	order();
	expect_kind("/", VIEW_MADE);
	expect_kind("/opt", VIEW_MADE);
	expect_host("/opt/x/f", "layer/f");
	expect_kind("/usr", VIEW_MISSING);
}

Test(view, what_cannot_be_looked_at)
{
	cr_assert_eq(mkdir("root/shut", 0), 0);
	order();
	/* Root looks anywhere. */
	expect_kind("/shut/x", getuid() ? VIEW_LOST : VIEW_MISSING);
}

/* ---- the command ------------------------------------------------------------------ */

static void expect_refusal(int status, const char *message,
			   const char *remedy)
{
	cr_expect_lt(command_check(plan, &err), 0);
	cr_expect_str_eq(err.text, message);
	cr_expect_str_eq(err.remedy, remedy);
	cr_expect_eq(err.status, status);
}

static void expect_pass(void)
{
	cr_expect_eq(command_check(plan, &err), 0, "%s", err.text);
}

static void set_command(const char *interpreter, const char *script)
{
	plan->interpreter = interpreter;
	plan->interpreter_origin = (struct origin){ ORIGIN_FILE, 9, "p.ini" };
	*arena_push(arena, &plan->command) = interpreter;
	if (script) {
		plan->script_index = plan->command.count;
		*arena_push(arena, &plan->command) = script;
	}
}

static void put_program(const char *name)
{
	put(name, "");
	cr_assert_eq(chmod(name, 0755), 0);
}

Test(view, a_script_is_looked_up_in_the_working_directory)
{
	put_program("root/opt/sh");
	set_command("/opt/sh", "f");
	plan->chdir = "/home/u";
	order();
	expect_pass();
	plan->chdir = "/home";
	expect_refusal(127, "script '/home/f'", "a relative script is looked "
		       "up in the working directory inside, '/home'");
	cr_expect_eq(err.code, ENOENT);
	cr_expect_str_eq(err.reason, "not-found");
	plan->command.at[1] = "/home/u/f";
	expect_pass();
	plan->command.at[1] = "";
	expect_refusal(127, "script ''", "");
	cr_expect_str_eq(err.reason, "not-found");
	plan->chdir = "/nope";
	expect_refusal(125, "working directory '/nope'", "");
	cr_expect_str_eq(err.reason, "working-directory");
}

Test(view, a_script_behind_a_mask)
{
	put_program("root/opt/sh");
	set_command("/opt/sh", "/home/u/f");
	add(OP_TMPFS, ROLE_MASK, "/home");
	order();
	expect_refusal(127, "script '/home/u/f' is hidden by mask '/home' "
		       "(p.ini:3)", "put it into the workspace, or add 'layer "
		       "= /home/u' to [layers]");
	cr_expect_str_eq(err.reason, "hidden");
	plan->command.at[1] = "/home/f";
	expect_refusal(127, "script '/home/f' is hidden by mask '/home' "
		       "(p.ini:3)", "put it into the workspace, or add 'layer "
		       "= /home/f' to [layers]");
}

Test(view, a_command_behind_a_mask)
{
	*arena_push(arena, &plan->command) = "/home/u/f";
	add(OP_TMPFS, ROLE_MASK, "/home");
	order();
	expect_refusal(127, "command '/home/u/f' is hidden by mask '/home' "
		       "(p.ini:3)", "add 'layer = /home/u' to [layers]");
	plan->command.at[0] = "u";
	expect_pass();
}

Test(view, a_working_directory_behind_a_mask)
{
	*arena_push(arena, &plan->command) = "true";
	plan->chdir = "/home/u";
	add(OP_TMPFS, ROLE_MASK, "/home");
	order();
	expect_refusal(125, "working directory '/home/u' is hidden by mask "
		       "'/home' (p.ini:3)", "add 'layer = /home/u' to [layers]");
	plan->chdir_origin = (struct origin){ ORIGIN_FILE, 4, "p.ini" };
	plan->chdir = "/opt/f";
	cr_expect_lt(command_check(plan, &err), 0);
	cr_expect_str_eq(err.text, "p.ini:4: working directory '/opt/f'");
	cr_expect_eq(err.code, ENOTDIR);
	plan->chdir = "/home";
	expect_pass();
}

/* ---- the interpreter ---------------------------------------------------------------- */

/* An installation below the masked home: /home/u/py/bin/python3 -> python. */
static void put_python(void)
{
	plan->root.source = NULL;
	cr_assert_eq(mkdir("py", 0755), 0);
	cr_assert_eq(mkdir("py/bin", 0755), 0);
	put_program("py/bin/python3.x");
	cr_assert_eq(symlink("python3.x", "py/bin/python3"), 0);
	setenv("PATH", arena_printf(arena, "relative::%s:%s:/usr/bin:/bin",
				    in_dir("nope"), in_dir("py/bin")), 1);
}

Test(view, a_bare_interpreter_is_the_callers)
{
	put_python();
	set_command("python3", NULL);
	order();
	expect_pass();
	cr_expect_str_eq(plan->command.at[0], in_dir("py/bin/python3"));
}

Test(view, a_masked_interpreter_does_not_become_another)
{
	put_python();
	set_command("python3", NULL);
	add(OP_TMPFS, ROLE_MASK, dir);
	order();
	expect_refusal(127, arena_printf(arena, "p.ini:9: interpreter '%s' is "
					 "hidden by mask '%s' (p.ini:3)",
					 in_dir("py/bin/python3"), dir),
		       arena_printf(arena, "add 'prefix = %s' to [layers]",
				    in_dir("py")));
}

Test(view, a_prefix_lets_it_in)
{
	put_python();
	set_command("python3", NULL);
	add(OP_TMPFS, ROLE_MASK, dir);
	add(OP_BIND, ROLE_LAYER, in_dir("py"))->source = in_dir("py");
	order();
	expect_pass();
}

Test(view, a_link_that_leads_behind_a_mask)
{
	put_python();
	cr_assert_eq(mkdir("bin", 0755), 0);
	cr_assert_eq(symlink(in_dir("py/bin/python3"), "bin/tool"), 0);
	set_command(in_dir("bin/tool"), NULL);
	add(OP_TMPFS, ROLE_MASK, in_dir("py"));
	order();
	expect_refusal(127, arena_printf(arena, "p.ini:9: interpreter '%s' "
					 "leads to '%s', which is hidden by "
					 "mask '%s' (p.ini:3)",
					 in_dir("bin/tool"),
					 in_dir("py/bin/python3"),
					 in_dir("py")),
		       arena_printf(arena, "add 'layer = %s' to [layers], or "
				    "remove the mask", in_dir("py/bin")));
}

Test(view, an_interpreter_that_is_another_file_inside)
{
	put_python();
	set_command("python3", NULL);
	cr_assert_eq(mkdir("other", 0755), 0);
	cr_assert_eq(mkdir("other/bin", 0755), 0);
	put_program("other/bin/python3");
	add(OP_BIND, ROLE_LAYER, in_dir("py"))->source = in_dir("other");
	order();
	expect_refusal(127, arena_printf(arena, "p.ini:9: interpreter "
					 "'python3' is '%s' on the host, but "
					 "inside that is another file ('%s')",
					 in_dir("py/bin/python3"),
					 in_dir("other/bin/python3")),
		       "write the interpreter as a path to say that the one "
		       "inside is meant");
	plan->interpreter = in_dir("py/bin/python3");
	expect_pass();
}

Test(view, an_interpreter_that_is_not_there)
{
	setenv("PATH", "/usr/bin:/bin", 1);
	set_command("sbx-no-such-program", NULL);
	order();
	expect_refusal(127, "p.ini:9: interpreter 'sbx-no-such-program' is not "
		       "found along PATH", "");
	plan->interpreter = "/no/such/program";
	expect_refusal(127, "p.ini:9: interpreter '/no/such/program'", "");
	cr_expect_eq(err.code, ENOENT);
}

Test(view, an_interpreter_that_is_no_program)
{
	set_command("/opt/f", NULL);
	order();
	expect_refusal(126, "p.ini:9: interpreter '/opt/f'", "");
	cr_expect_eq(err.code, EACCES);
	plan->interpreter = "/opt";
	expect_refusal(126, "p.ini:9: interpreter '/opt'", "");
}

Test(view, a_virtual_environment_needs_its_base)
{
	put_python();
	cr_assert_eq(mkdir("venv", 0755), 0);
	cr_assert_eq(mkdir("venv/bin", 0755), 0);
	put_program("venv/bin/python");
	put("venv/pyvenv.cfg", arena_printf(arena, "include-system = false\n"
					    "home = %s\r\nversion = 3\n",
					    in_dir("py/bin")));
	set_command(in_dir("venv/bin/python"), NULL);
	order();
	expect_pass();
	add(OP_TMPFS, ROLE_MASK, in_dir("py"));
	expect_refusal(127, arena_printf(arena, "p.ini:9: interpreter '%s' is "
					 "of a virtual environment: its base "
					 "'%s' is hidden by mask '%s' "
					 "(p.ini:3)",
					 in_dir("venv/bin/python"),
					 in_dir("py/bin"), in_dir("py")),
		       arena_printf(arena, "add 'layer = %s' to [layers], or "
				    "remove the mask", in_dir("py/bin")));
}

Test(view, a_virtual_environment_behind_a_mask)
{
	put_python();
	cr_assert_eq(mkdir("venv", 0755), 0);
	cr_assert_eq(mkdir("venv/bin", 0755), 0);
	put("venv/pyvenv.cfg", "home = /usr/bin\n");
	put_program("venv/bin/python");
	set_command(in_dir("venv/bin/python"), NULL);
	add(OP_TMPFS, ROLE_MASK, dir);
	order();
	cr_expect_lt(command_check(plan, &err), 0);
	cr_expect_str_eq(err.remedy, arena_printf(arena, "add 'prefix = %s' to "
						  "[layers]",
						  in_dir("venv")));
	/* Its base has to be let in as well, and that is the prefix then. */
	put("venv/pyvenv.cfg", arena_printf(arena, "home = %s\n",
					    in_dir("py/bin")));
	cr_expect_lt(command_check(plan, &err), 0);
	cr_expect_str_eq(err.remedy, arena_printf(arena, "add 'layer = %s' to "
						  "[layers]",
						  in_dir("venv")));
}

Test(view, a_program_right_below_a_mask)
{
	cr_assert_eq(mkdir("bin", 0755), 0);
	put_program("bin/python3");
	plan->root.source = NULL;
	set_command(in_dir("bin/python3"), NULL);
	add(OP_TMPFS, ROLE_MASK, dir);
	order();
	cr_expect_lt(command_check(plan, &err), 0);
	cr_expect_str_eq(err.remedy, arena_printf(arena, "add 'layer = %s' to "
						  "[layers], or remove the mask",
						  in_dir("bin")));
}
