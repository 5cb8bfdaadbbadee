/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/check.h"

#include <criterion/criterion.h>
#include <string.h>

#include "blank_plan.h"

TestSuite(check, .init = plan_setup, .fini = plan_teardown);

static struct op *add(enum op_kind kind, enum op_phase phase,
		      const char *dest, unsigned number)
{
	struct op *op = plan_add_op(plan, kind, phase, line(number));

	op->dest = dest;
	return op;
}

static void set_workspace(enum workspace_mode mode)
{
	plan->workspace.source = "/w";
	plan->workspace.dest = "/w";
	plan->workspace.mode = mode;
	plan->workspace.mode_origin = line(2);
}

static void expect_refusal(const char *text)
{
	cr_expect_lt(plan_check(plan, &err), 0, "nothing is refused");
	cr_expect_str_eq(err.text, text);
	cr_expect_str_not_empty(err.reason);
}

static void expect_pass(void)
{
	cr_expect_eq(plan_check(plan, &err), 0, "%s", err.text);
}

Test(check, an_empty_plan_is_fine)
{
	expect_pass();
}

Test(check, keys_of_a_workspace_that_is_not_there)
{
	plan->workspace.mode_origin = line(4);
	expect_refusal("p.ini:4: there is no workspace");
}

Test(check, protect_without_a_workspace)
{
	struct workspace_protect *protect =
		arena_push(arena, &plan->workspace.protects);

	protect->path = ".git";
	protect->origin = line(5);
	expect_refusal("p.ini:5: there is no workspace");
}

Test(check, protect_in_a_read_only_workspace)
{
	struct workspace_protect *protect =
		arena_push(arena, &plan->workspace.protects);

	protect->path = ".git";
	protect->origin = line(5);
	set_workspace(WORKSPACE_RO);
	expect_refusal("p.ini:5: the workspace is read-only as a whole");
}

Test(check, an_overlay_needs_an_upper)
{
	set_workspace(WORKSPACE_OVERLAY);
	expect_refusal("p.ini:2: an overlay needs 'upper' in [workspace]");
}

Test(check, an_overlay_that_is_whole)
{
	set_workspace(WORKSPACE_OVERLAY);
	plan->workspace.upper = "/up";
	expect_pass();
}

Test(check, parts_of_an_overlay_without_one)
{
	set_workspace(WORKSPACE_RW);
	plan->workspace.upper = "/up";
	plan->workspace.upper_origin = line(6);
	expect_refusal("p.ini:6: 'upper' is of use with 'mode = overlay' only");
}

Test(check, a_lower_without_an_overlay)
{
	set_workspace(WORKSPACE_RO);
	*arena_push(arena, &plan->workspace.lowers) = "/l";
	plan->workspace.lowers_origin = line(7);
	expect_refusal("p.ini:7: 'lower' is of use with 'mode = overlay' or "
		       "'mode = ephemeral' only");
}

Test(check, layers_of_an_overlay_lie_apart)
{
	static const struct {
		const char *upper, *lower;
	} cases[] = {
		{ "/w/up", "/w" }, { "/", "/w" }, { "/w", "/w" },
		{ "/x/../w/up", "/w" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		set_workspace(WORKSPACE_OVERLAY);
		plan->workspace.upper = cases[i].upper;
		plan->workspace.upper_origin = line(8);
		cr_expect_lt(plan_check(plan, &err), 0, "%s",
			     cases[i].upper);
		cr_expect_not_null(strstr(err.text, "p.ini:8: upper '"));
		cr_expect_not_null(strstr(err.text, "overlap"));
	}
	plan->workspace.upper = "/w-up";
	expect_pass();
}

Test(check, changes_need_a_workspace_that_keeps_them_apart)
{
	set_workspace(WORKSPACE_RW);
	plan->report.changes_file = "/c";
	plan->report.changes_origin = line(9);
	expect_refusal("p.ini:9: 'changes-file' needs a workspace with 'mode = "
		       "overlay' or 'mode = ephemeral'");
	plan->workspace.mode = WORKSPACE_EPHEMERAL;
	expect_pass();
}

Test(check, export_needs_changes)
{
	set_workspace(WORKSPACE_RO);
	plan->workspace.export_dir = "/e";
	plan->workspace.export_origin = line(10);
	expect_refusal("p.ini:10: 'export' needs 'mode = overlay' or 'mode = "
		       "ephemeral'");
}

Test(check, commit_needs_an_overlay_of_one_lower)
{
	struct plan_workspace *workspace = &plan->workspace;

	set_workspace(WORKSPACE_EPHEMERAL);
	workspace->commits = true;
	workspace->commit_origin = line(11);
	expect_refusal("p.ini:11: 'commit' needs 'mode = overlay'");
	workspace->mode = WORKSPACE_OVERLAY;
	workspace->upper = "/u";
	expect_pass();
	workspace->work = "/wk";
	workspace->work_origin = line(12);
	expect_refusal("p.ini:12: 'work' cannot be chosen with 'commit'");
	workspace->work = NULL;
	*arena_push(plan->arena, &workspace->lowers) = "/l1";
	expect_pass();
	*arena_push(plan->arena, &workspace->lowers) = "/l2";
	expect_refusal("p.ini:11: 'commit' needs one lower layer, to which it "
		       "writes");
}

Test(check, commit_fd_needs_a_commit)
{
	set_workspace(WORKSPACE_OVERLAY);
	plan->workspace.upper = "/u";
	plan->workspace.commit_fd = 5;
	plan->workspace.commit_fd_origin = line(13);
	expect_refusal("p.ini:13: 'commit-fd' is of use with 'commit = "
		       "on-success' only");
	plan->workspace.commits = true;
	expect_pass();
}

Test(check, system_needs_an_empty_root)
{
	plan->root.has_system = true;
	plan->root.system_origin = line(12);
	expect_refusal("p.ini:12: 'system = yes' needs 'source = none'");
	plan->root.is_none = true;
	expect_pass();
}

Test(check, a_mount_over_the_root_hides_proc)
{
	add(OP_PROC, PHASE_SYSTEM, "/proc", 0);
	add(OP_BIND, PHASE_MOUNTS, "/", 3);
	expect_refusal("p.ini:3: bind on '/' hides '/proc'");
}

Test(check, a_mount_over_the_workspace)
{
	add(OP_BIND, PHASE_VIEW, "/srv/w", 1)->role = ROLE_WORKSPACE;
	add(OP_TMPFS, PHASE_MOUNTS, "/srv", 3);
	expect_refusal("p.ini:3: tmpfs on '/srv' hides '/srv/w'");
}

Test(check, a_mount_beside_or_below_is_fine)
{
	add(OP_DEV, PHASE_SYSTEM, "/dev", 0);
	add(OP_BIND, PHASE_VIEW, "/srv/w", 1)->role = ROLE_WORKSPACE;
	add(OP_BIND, PHASE_MOUNTS, "/srv/w/x", 2);
	add(OP_BIND, PHASE_MOUNTS, "/srv/wx", 3);
	add(OP_BIND, PHASE_MOUNTS, "/dev", 4);
	add(OP_REMOUNT_RO, PHASE_MOUNTS, "/", 5);
	expect_pass();
}

Test(check, a_host_name_needs_a_namespace)
{
	plan->hostname = "box";
	plan->hostname_origin = line(14);
	plan->ns[NS_UTS].want = NS_WANT_HOST;
	expect_refusal("p.ini:14: a host name needs an own uts namespace");
	cr_expect_str_eq(err.remedy, "remove 'uts' from 'share'");
	plan->ns[NS_UTS].want = NS_WANT_NEW;
	expect_pass();
}

Test(check, run_as_is_never_the_hosts_root)
{
	plan->ids.run_as = RUN_AS_ID;
	plan->ids.run_as_origin = line(15);
	plan->ids.run_gid = 5;
	expect_refusal("p.ini:15: 'run-as' cannot be the host's root");
	plan->ids.run_uid = 5;
	expect_pass();
	plan->ids.run_gid = 0;
	expect_refusal("p.ini:15: 'run-as' cannot be the host's root");
}

Test(check, a_profile_below_a_writable_source)
{
	struct profile_file *profile = arena_push(arena, &plan->profiles);
	struct op *op = add(OP_BIND, PHASE_VIEW, "/w", 16);

	profile->path = "/w/conf/p.ini";
	*arena_push(arena, &profile->chain) = (struct file_id){ 1, 30 };
	*arena_push(arena, &profile->chain) = (struct file_id){ 1, 20 };
	*arena_push(arena, &profile->chain) = (struct file_id){ 1, 10 };
	op->source = "/w";
	expect_pass();
	op->source_id = (struct file_id){ 2, 10 };
	expect_pass();
	op->source_id = (struct file_id){ 1, 10 };
	expect_refusal("p.ini:16: profile '/w/conf/p.ini' lies below '/w', "
		       "which the sandbox can write");
	cr_expect_str_eq(err.reason, "profile-trust");
}

Test(check, the_launcher_below_a_writable_source)
{
	struct op *op = add(OP_BIND, PHASE_VIEW, "/w", 16);

	plan->launcher.path = "/w/bin/sbx-launch";
	*arena_push(arena, &plan->launcher.chain) = (struct file_id){ 1, 30 };
	*arena_push(arena, &plan->launcher.chain) = (struct file_id){ 1, 10 };
	op->source = "/w";
	op->source_id = (struct file_id){ 1, 20 };
	expect_pass();
	op->source_id = (struct file_id){ 1, 10 };
	expect_refusal("p.ini:16: sbx-launch itself, '/w/bin/sbx-launch', "
		       "lies below '/w', which the sandbox can write");
	cr_expect_str_eq(err.reason, "launcher-trust");
}

Test(check, bubblewrap_has_rules_of_its_own)
{
	plan = plan_new(arena, PLAN_RULES_BWRAP);
	add(OP_PROC, PHASE_MOUNTS, "/proc", 0);
	add(OP_BIND, PHASE_MOUNTS, "/", 3);
	expect_pass();
}

Test(check, an_audit_file_that_the_payload_can_write)
{
	struct op *op = add(OP_BIND, PHASE_VIEW, "/in", 1);

	op->source = "/w/";
	plan->report.audit_file = "/w/a/../log";
	plan->report.audit_origin = line(17);
	expect_refusal("p.ini:17: audit-file '/w/a/../log' lies below '/w/', "
		       "which the sandbox can write");
	op->flags = OP_READ_ONLY;
	expect_pass();
	op = add(OP_OVERLAY, PHASE_VIEW, "/o", 2);
	op->upper = "/w";
	expect_refusal("p.ini:17: audit-file '/w/a/../log' lies below '/w', "
		       "which the sandbox can write");
	plan->report.audit_file = "/wx/log";
	expect_pass();
}

Test(check, a_workspace_is_no_directory_of_the_system)
{
	set_workspace(WORKSPACE_RW);
	plan->workspace.origin = line(3);
	plan->workspace.source = "/usr/../etc/";
	expect_refusal("p.ini:3: '/usr/../etc/' is a directory of the system "
		       "and no workspace to write to");
	plan->workspace.source = "/etc/app";
	expect_pass();
	plan->workspace.source = "/etc";
	plan->workspace.mode = WORKSPACE_RO;
	expect_pass();
	plan->workspace.mode = WORKSPACE_EPHEMERAL;
	expect_pass();
	plan->workspace.source = "/srv/w";
	plan->workspace.mode = WORKSPACE_OVERLAY;
	plan->workspace.upper = "/var";
	plan->workspace.upper_origin = line(4);
	expect_refusal("p.ini:4: '/var' is a directory of the system and no "
		       "workspace to write to");
}

Test(check, a_workspace_is_no_home_directory)
{
	struct profile_file *home = arena_push(arena, &plan->homes);

	home->path = "/w/u";
	*arena_push(arena, &home->chain) = (struct file_id){ 1, 30 };
	*arena_push(arena, &home->chain) = (struct file_id){ 1, 10 };
	set_workspace(WORKSPACE_RW);
	plan->workspace.origin = line(3);
	expect_pass();
	plan->workspace.source_id = (struct file_id){ 2, 10 };
	expect_pass();
	plan->workspace.source_id = (struct file_id){ 1, 10 };
	expect_refusal("p.ini:3: '/w' is no workspace to write to: your home "
		       "directory, '/w/u', is or lies below it");
	plan->workspace.mode = WORKSPACE_EPHEMERAL;
	expect_pass();
	/* What is asked for as a mount is the caller's own business. */
	add(OP_BIND, PHASE_MOUNTS, "/x", 5)->source = "/w";
	plan->ops.at[0].source_id = (struct file_id){ 1, 10 };
	expect_pass();
}

Test(check, what_a_commit_writes_to)
{
	struct profile_file *profile = arena_push(arena, &plan->profiles);

	profile->path = "/w/p.ini";
	*arena_push(arena, &profile->chain) = (struct file_id){ 1, 10 };
	set_workspace(WORKSPACE_OVERLAY);
	plan->workspace.upper = "/upper";
	plan->workspace.target_id = (struct file_id){ 1, 10 };
	expect_pass();
	plan->workspace.commits = true;
	plan->workspace.commit_origin = line(6);
	expect_refusal("p.ini:6: profile '/w/p.ini' lies below '/w', which "
		       "the sandbox can write");
	plan->profiles.count = 0;
	expect_pass();
	plan->workspace.source = "/etc";
	expect_refusal("p.ini:6: '/etc' is a directory of the system and no "
		       "workspace to write to");
}

Test(check, masks_leave_the_sandboxes_own)
{
	struct op *mask;

	add(OP_PROC, PHASE_SYSTEM, "/proc", 0);
	mask = add(OP_TMPFS, PHASE_VIEW, "/procs", 5);
	mask->role = ROLE_MASK;
	expect_pass();
	mask = add(OP_HIDE, PHASE_VIEW, "/link", 6);
	mask->role = ROLE_MASK;
	mask->real_dest = "/proc";
	expect_refusal("p.ini:6: '/link' is the sandbox's own and cannot be "
		       "masked");
	mask->real_dest = "/proc/cpuinfo";
	expect_pass();
}
