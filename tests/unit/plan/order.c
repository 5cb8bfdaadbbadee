/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"
#include "plan/op_types.h"
#include "plan/order.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "blank_plan.h"

TestSuite(order, .init = plan_setup, .fini = plan_teardown);

static struct op *add(enum op_kind kind, enum op_role role, const char *dest,
		      unsigned number)
{
	struct op *op = plan_add_op(plan, kind, role == ROLE_PLAIN
				    ? PHASE_MOUNTS : PHASE_VIEW, line(number));

	op->role = role;
	op->dest = dest;
	if (kind == OP_BIND)
		op->source = dest;
	return op;
}

static void set_workspace(const char *path, enum workspace_mode mode)
{
	plan->workspace.source = path;
	plan->workspace.dest = path;
	plan->workspace.mode = mode;
	plan->workspace.origin = line(99);
}

/* "proc /proc, dev /dev, ..." */
static const char *listing(void)
{
	struct text_buf text = { .arena = arena };

	text_add(&text, "");
	for (size_t i = 0; i < plan->ops.count; i++)
		text_addf(&text, "%s%s %s", i ? ", " : "",
			  op_kind_name(plan->ops.at[i].kind),
			  plan->ops.at[i].dest);
	return text.at;
}

static void expect_order(const char *expected)
{
	cr_expect_eq(plan_order(plan, &err), 0, "%s", err.text);
	cr_expect_str_eq(listing(), expected);
}

Test(order, an_empty_profile_has_a_root_proc_and_dev)
{
	expect_order("bind /, proc /proc, dev /dev");
	cr_expect_str_eq(plan->ops.at[0].source, "/");
	cr_expect_eq(plan->ops.at[0].flags, OP_READ_ONLY);
	cr_expect_eq(plan->ops.at[0].phase, PHASE_ROOT);
	cr_expect_eq(plan->ops.at[1].origin.kind, ORIGIN_BUILTIN);
	cr_expect_str_eq(plan->chdir, "/");
	cr_expect(plan->limits[LIMIT_CORE].is_set);
	cr_expect_eq(plan->limits[LIMIT_CORE].value, 0);
	cr_expect_eq(plan->limits[LIMIT_GRACE].value, 2000);
}

Test(order, an_empty_root_is_a_read_only_tmpfs)
{
	plan->root.is_none = true;
	plan->root.origin = line(3);
	expect_order("tmpfs /, proc /proc, dev /dev");
	cr_expect_eq(plan->ops.at[0].flags, OP_READ_ONLY);
	cr_expect_eq(plan->ops.at[0].origin.number, 3);
}

Test(order, another_root)
{
	plan->root.source = "/srv/root";
	expect_order("bind /, proc /proc, dev /dev");
	cr_expect_str_eq(plan->ops.at[0].source, "/srv/root");
}

Test(order, proc_and_dev_are_added_once)
{
	add(OP_DEV, ROLE_PLAIN, "/dev", 1);
	add(OP_PROC, ROLE_PLAIN, "/proc", 2);
	expect_order("bind /, dev /dev, proc /proc");
}

Test(order, the_more_specific_comes_later)
{
	set_workspace("/home/u/w", WORKSPACE_RW);
	add(OP_BIND, ROLE_LAYER, "/home/u/w/deps", 1);
	add(OP_TMPFS, ROLE_MASK, "/home", 2);
	add(OP_BIND, ROLE_LAYER, "/home/u", 3);
	add(OP_HIDE, ROLE_MASK, "/home/u/w/deps/key", 4);
	expect_order("bind /, proc /proc, dev /dev, tmpfs /home, bind /home/u, "
		     "bind /home/u/w, bind /home/u/w/deps, "
		     "hide /home/u/w/deps/key");
}

Test(order, masks_layers_and_the_workspace_at_equal_depth)
{
	set_workspace("/a", WORKSPACE_RW);
	add(OP_BIND, ROLE_LAYER, "/b", 1);
	add(OP_TMPFS, ROLE_MASK, "/c", 2);
	add(OP_BIND, ROLE_LAYER, "/d", 3);
	add(OP_HIDE, ROLE_MASK, "/e", 4);
	expect_order("bind /, proc /proc, dev /dev, tmpfs /c, hide /e, "
		     "bind /b, bind /d, bind /a");
}

Test(order, mounts_come_last_and_as_written)
{
	add(OP_BIND, ROLE_PLAIN, "/a/b/c", 1);
	add(OP_BIND, ROLE_PLAIN, "/a", 2);
	add(OP_TMPFS, ROLE_MASK, "/z/z/z/z", 3);
	add(OP_REMOUNT_RO, ROLE_PLAIN, "/a", 4);
	expect_order("bind /, proc /proc, dev /dev, tmpfs /z/z/z/z, "
		     "bind /a/b/c, bind /a, remount-ro /a");
}

Test(order, the_real_place_decides)
{
	add(OP_BIND, ROLE_LAYER, "/var/run/a", 1)->real_dest = "/run/a";
	add(OP_TMPFS, ROLE_MASK, "/run/a/b", 2);
	add(OP_TMPFS, ROLE_MASK, "/run", 3);
	expect_order("bind /, proc /proc, dev /dev, tmpfs /run, "
		     "bind /var/run/a, tmpfs /run/a/b");
}

Test(order, the_workspace_becomes_an_operation)
{
	const struct op *op;

	set_workspace("/w", WORKSPACE_RW);
	plan->workspace.dest = "/in";
	expect_order("bind /, proc /proc, dev /dev, bind /in");
	op = &plan->ops.at[3];
	cr_expect_str_eq(op->source, "/w");
	cr_expect_eq(op->flags, OP_ID_MAPPED | OP_NO_FOLLOW);
	cr_expect_eq(op->role, ROLE_WORKSPACE);
	cr_expect_eq(op->origin.number, 99);
	cr_expect_str_eq(plan->chdir, "/in");
}

Test(order, a_read_only_workspace)
{
	set_workspace("/w", WORKSPACE_RO);
	expect_order("bind /, proc /proc, dev /dev, bind /w");
	cr_expect_eq(plan->ops.at[3].flags,
		     OP_ID_MAPPED | OP_NO_FOLLOW | OP_READ_ONLY);
}

Test(order, an_overlay_workspace_over_its_own_path)
{
	const struct op *op;

	set_workspace("/w", WORKSPACE_OVERLAY);
	plan->workspace.upper = "/up";
	plan->workspace.work = "/wk";
	expect_order("bind /, proc /proc, dev /dev, overlay /w");
	op = &plan->ops.at[3];
	cr_expect_eq(op->lowers.count, 1);
	cr_expect_str_eq(op->lowers.at[0], "/w");
	cr_expect_str_eq(op->upper, "/up");
	cr_expect_str_eq(op->work, "/wk");
	cr_expect_null(op->source);
}

Test(order, an_overlay_workspace_with_lowers)
{
	const struct op *op;

	set_workspace("/w", WORKSPACE_EPHEMERAL);
	*arena_push(arena, &plan->workspace.lowers) = "/l1";
	*arena_push(arena, &plan->workspace.lowers) = "/l2";
	expect_order("bind /, proc /proc, dev /dev, tmp-overlay /w");
	op = &plan->ops.at[3];
	cr_expect_eq(op->lowers.count, 2);
	cr_expect_str_eq(op->lowers.at[0], "/l1");
	cr_expect_str_eq(op->lowers.at[1], "/l2");
	cr_expect_null(op->upper);
}

Test(order, protected_names_are_below_the_workspace)
{
	struct workspace_protect *protect;

	set_workspace("/w", WORKSPACE_RW);
	plan->workspace.real_dest = "/real/w";
	protect = arena_push(arena, &plan->workspace.protects);
	protect->path = ".git/hooks";
	protect->origin = line(5);
	expect_order("bind /, proc /proc, dev /dev, bind /w, "
		     "protect /w/.git/hooks");
	cr_expect_str_eq(plan->ops.at[4].real_dest, "/real/w/.git/hooks");
	cr_expect_eq(plan->ops.at[4].role, ROLE_PROTECT);
	cr_expect_eq(plan->ops.at[4].origin.number, 5);
}

Test(order, the_same_twice_stays_once)
{
	add(OP_BIND, ROLE_LAYER, "/opt/x", 1);
	add(OP_TMPFS, ROLE_MASK, "/run", 2);
	add(OP_BIND, ROLE_LAYER, "/opt/x", 3);
	add(OP_TMPFS, ROLE_MASK, "/var/run", 4)->real_dest = "/run";
	add(OP_BIND, ROLE_LAYER, "/opt/x", 5);
	expect_order("bind /, proc /proc, dev /dev, tmpfs /run, bind /opt/x");
	cr_expect_eq(plan->ops.at[4].origin.number, 1);
}

Test(order, once_required_is_required)
{
	add(OP_BIND, ROLE_LAYER, "/opt/x", 1)->flags = OP_OPTIONAL |
						       OP_READ_ONLY;
	add(OP_BIND, ROLE_LAYER, "/opt/x", 2)->flags = OP_READ_ONLY;
	expect_order("bind /, proc /proc, dev /dev, bind /opt/x");
	cr_expect_eq(plan->ops.at[3].flags, OP_READ_ONLY);
}

static void expect_conflict(const char *text)
{
	cr_expect_lt(plan_order(plan, &err), 0);
	cr_expect_str_eq(err.text, text);
	cr_expect_str_eq(err.reason, "same-place");
}

Test(order, a_mask_and_a_layer_on_one_place)
{
	add(OP_BIND, ROLE_LAYER, "/opt", 1);
	add(OP_TMPFS, ROLE_MASK, "/opt", 2);
	expect_conflict("p.ini:1: bind on '/opt', where p.ini:2 puts tmpfs "
			"already");
}

Test(order, two_layers_on_one_place)
{
	add(OP_BIND, ROLE_LAYER, "/opt", 7);
	add(OP_BIND, ROLE_LAYER, "/opt", 8)->source = "/other";
	expect_conflict("p.ini:8: bind on '/opt', where p.ini:7 puts bind "
			"already");
}

Test(order, a_layer_on_the_workspace)
{
	set_workspace("/w", WORKSPACE_RW);
	add(OP_BIND, ROLE_LAYER, "/w", 1)->flags = OP_READ_ONLY;
	expect_conflict("p.ini:99: bind on '/w', where p.ini:1 puts bind "
			"already");
}

Test(order, masks_that_differ_in_a_detail)
{
	add(OP_TMPFS, ROLE_MASK, "/m", 1)->size = 4096;
	add(OP_TMPFS, ROLE_MASK, "/m", 2)->size = 8192;
	expect_conflict("p.ini:2: tmpfs on '/m', where p.ini:1 puts tmpfs "
			"already");
}

/* The file that includes the other was read later, and refines it. */
Test(order, a_mask_again_in_another_file)
{
	struct op *op;

	add(OP_TMPFS, ROLE_MASK, "/m", 9)->flags = OP_READ_ONLY;
	op = add(OP_TMPFS, ROLE_MASK, "/m", 2);
	op->origin.name = "outer.ini";
	op->size = 8192;
	expect_order("bind /, proc /proc, dev /dev, tmpfs /m");
	cr_expect_eq(plan->ops.at[3].size, 8192);
	cr_expect_eq(plan->ops.at[3].flags, 0);
	cr_expect_str_eq(plan->ops.at[3].origin.name, "outer.ini");
}

Test(order, a_mask_of_another_kind_in_another_file)
{
	add(OP_TMPFS, ROLE_MASK, "/m", 9);
	add(OP_HIDE, ROLE_MASK, "/m", 2)->origin.name = "outer.ini";
	expect_conflict("outer.ini:2: hide on '/m', where p.ini:9 puts tmpfs "
			"already");
}

Test(order, a_link_to_a_place_that_is_taken)
{
	add(OP_TMPFS, ROLE_MASK, "/run", 1);
	add(OP_HIDE, ROLE_MASK, "/var/run", 2)->real_dest = "/run";
	expect_conflict("p.ini:2: hide on '/var/run', where p.ini:1 puts tmpfs "
			"already");
}

Test(order, a_shared_host_name_is_left_alone)
{
	plan->ns[NS_UTS].want = NS_WANT_HOST;
	cr_expect_eq(plan_order(plan, &err), 0);
	cr_expect_null(plan->hostname);
}

Test(order, what_is_set_is_not_a_default)
{
	plan->chdir = "/srv";
	plan->limits[LIMIT_CORE] = (struct plan_limit){ .is_set = true,
							.value = 7 };
	set_workspace("/w", WORKSPACE_RW);
	cr_expect_eq(plan_order(plan, &err), 0);
	cr_expect_str_eq(plan->chdir, "/srv");
	cr_expect_eq(plan->limits[LIMIT_CORE].value, 7);
}

Test(order, bubblewrap_keeps_its_order)
{
	plan = plan_new(arena, PLAN_RULES_BWRAP);
	add(OP_BIND, ROLE_PLAIN, "/a/b", 1);
	add(OP_PROC, ROLE_PLAIN, "/proc", 2);
	add(OP_BIND, ROLE_PLAIN, "/", 3);
	add(OP_BIND, ROLE_PLAIN, "/", 4);
	expect_order("bind /a/b, proc /proc, bind /, bind /");
	cr_expect_null(plan->chdir);
	cr_expect_not(plan->limits[LIMIT_CORE].is_set);
}

/* ---- the order of writing does not matter ------------------------------------- */

static const struct wanted {
	enum op_kind kind;
	enum op_role role;
	const char *dest;
} wanted[] = {
	{ OP_TMPFS, ROLE_MASK, "/home" },
	{ OP_TMPFS, ROLE_MASK, "/home/u/.ssh" },
	{ OP_TMPFS, ROLE_MASK, "/run" },
	{ OP_TMPFS, ROLE_MASK, "/tmp" },
	{ OP_HIDE, ROLE_MASK, "/etc/shadow" },
	{ OP_BIND, ROLE_LAYER, "/home/u/lib" },
	{ OP_BIND, ROLE_LAYER, "/home/u/lib/python" },
	{ OP_BIND, ROLE_LAYER, "/tmp/w/vendor" },
	{ OP_BIND, ROLE_LAYER, "/opt/tool" },
	{ OP_TMPFS, ROLE_MASK, "/opt/tool/cache" },
};

/* Index of the last operation at or above @place: the one that is seen. */
static size_t seen_at(const char *place)
{
	size_t last = 0;

	for (size_t i = 0; i < plan->ops.count; i++)
		if (path_is_below(place, op_place(&plan->ops.at[i])))
			last = i;
	return last;
}

Test(order, any_order_of_writing_gives_the_same_view)
{
	size_t order[ARRAY_SIZE(wanted)];

	srand(7);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		order[i] = i;
	for (int round = 0; round < 200; round++) {
		for (size_t i = ARRAY_SIZE(order) - 1; i > 0; i--) {
			size_t j = (size_t)rand() % (i + 1), kept = order[i];

			order[i] = order[j];
			order[j] = kept;
		}
		arena_free(arena);
		plan_setup();
		set_workspace("/tmp/w", WORKSPACE_RW);
		for (size_t i = 0; i < ARRAY_SIZE(order); i++)
			add(wanted[order[i]].kind, wanted[order[i]].role,
			    wanted[order[i]].dest, (unsigned)i);
		cr_assert_eq(plan_order(plan, &err), 0, "%s", err.text);
		cr_assert_eq(plan->ops.count, ARRAY_SIZE(wanted) + 4);
		/* Each place shows what was asked for there. */
		for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
			const struct op *op =
				&plan->ops.at[seen_at(wanted[i].dest)];

			cr_assert_str_eq(op->dest, wanted[i].dest);
			cr_assert_eq(op->kind, wanted[i].kind);
		}
		cr_assert_str_eq(plan->ops.at[seen_at("/tmp/w/x")].dest,
				 "/tmp/w");
		cr_assert_str_eq(plan->ops.at[seen_at("/home/u/x")].dest,
				 "/home");
	}
}

/* ---- the audit file --------------------------------------------------------------- */

Test(order, the_audit_file_is_hidden_wherever_it_would_be_seen)
{
	plan->report.audit_file = "/var//log/audit";
	plan->report.audit_origin = line(7);
	add(OP_BIND, ROLE_LAYER, "/logs", 1)->source = "/var/log";
	add(OP_BIND, ROLE_LAYER, "/other", 2)->source = "/var/lo";
	add(OP_BIND, ROLE_PLAIN, "/m", 3)->source = "/";
	expect_order("bind /, proc /proc, dev /dev, bind /logs, bind /other, "
		     "hide /logs/audit, hide /var/log/audit, bind /m, "
		     "hide /m/var/log/audit");
	cr_expect_eq(plan->ops.at[5].flags, OP_OPTIONAL);
	cr_expect_eq(plan->ops.at[5].origin.number, 7);
}

Test(order, what_a_mask_hides_is_not_hidden_twice)
{
	plan->report.audit_file = "/var/log/audit";
	add(OP_TMPFS, ROLE_MASK, "/var", 1);
	expect_order("bind /, proc /proc, dev /dev, tmpfs /var");
}

/* The sandbox has a /dev of its own. */
Test(order, what_is_in_dev_is_not_hidden)
{
	plan->report.audit_file = "/dev/stdout";
	expect_order("bind /, proc /proc, dev /dev");
}

Test(order, an_empty_root_does_not_show_it)
{
	plan->report.audit_file = "/var/log/audit";
	plan->root.is_none = true;
	expect_order("tmpfs /, proc /proc, dev /dev");
}
