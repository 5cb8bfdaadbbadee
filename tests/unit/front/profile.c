/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files together: includes, doubled keys, --set and the shorthands. */
#include "profile_dir.h"

TestSuite(profile, .init = dir_setup, .fini = dir_teardown);

static void expect_refusal(const char *message)
{
	cr_expect_lt(apply_with("p.ini", NULL, 0), 0);
	cr_expect_str_eq(err.text, message);
	cr_expect_str_eq(err.reason, "profile");
}

Test(profile, an_empty_file_is_a_profile)
{
	read_text("");
	cr_expect_eq(plan->profiles.count, 1);
	cr_expect_str_eq(plan->profiles.at[0].path, "./p.ini");
	cr_expect_eq(plan->environment.count, 1);
	cr_expect_eq(plan->environment.at[0].kind, ENV_CLEAR);
}

Test(profile, a_description)
{
	read_text("[profile]\ndescription = Say \"what\" it is; all of it\n");
	cr_expect_str_eq(plan->profiles.at[0].description,
			 "Say \"what\" it is; all of it");
}

Test(profile, a_key_stands_once)
{
	refuse_text("[namespaces]\nuid = 1\n\nuid = 1\n",
		    "4: 'uid' in [namespaces] was given before, in line 2",
		    NULL);
	refuse_text("[setenv]\nA = 1\nB = 1\nA = 2\n",
		    "4: 'A' in [setenv] was given before, in line 2", NULL);
	refuse_text("[layers]\ndeps = /a\n[mask]\n[layers]\ndeps =\n",
		    "5: 'deps' in [layers] was given before, in line 2", NULL);
}

Test(profile, many_different_variables)
{
	struct text_buf text = { .arena = arena };

	text_add(&text, "[setenv]\n");
	for (int i = 0; i < 3000; i++)
		text_addf(&text, "V%d = %d\n", i, i);
	read_text(text.at);
	cr_expect_eq(plan->environment.count, 3001);
	cr_expect_str_eq(plan->environment.at[3000].name, "V2999");
	text_add(&text, "V1234 = x\n");
	refuse_text(text.at, "3002: 'V1234' in [setenv] was given before, in "
		    "line 1236", NULL);
}

Test(profile, an_included_file_comes_first)
{
	put("base.ini", "[mask]\ntmpfs = /home\n[namespaces]\nuid = 1\n"
	    "gid = 1\n[setenv]\nA = base\nB = base\n");
	read_text("[mask]\ntmpfs = /root\n[namespaces]\nuid = 2\n"
		  "[setenv]\nA = mine\n[profile]\ninclude = base.ini\n");
	cr_expect_eq(plan->profiles.count, 2);
	cr_expect_str_eq(plan->profiles.at[1].path, "./base.ini");
	cr_expect_eq(plan->ops.count, 2);
	cr_expect_str_eq(plan->ops.at[0].dest, "/home");
	cr_expect_str_eq(plan->ops.at[0].origin.name, "./base.ini");
	cr_expect_str_eq(plan->ops.at[1].dest, "/root");
	cr_expect_eq(plan->ids.uid, 2);
	cr_expect_eq(plan->ids.gid, 1);
	cr_expect_eq(plan->environment.count, 3);
	cr_expect_str_eq(plan->environment.at[1].name, "B");
	cr_expect_str_eq(plan->environment.at[2].value, "mine");
}

Test(profile, an_include_is_relative_to_its_file)
{
	cr_assert_eq(mkdir("sub", 0755), 0);
	cr_assert_eq(mkdir("sub/more", 0755), 0);
	put("sub/a.ini", "[profile]\ninclude = more/b.ini\n[layers]\n"
	    "layer = ${profile-dir}/x\n");
	put("sub/more/b.ini", "[layers]\nlayer = ${profile-dir}/y\n");
	read_text("[profile]\ninclude = sub/a.ini\n");
	cr_expect_eq(plan->ops.count, 2);
	cr_expect_str_eq(plan->ops.at[0].source, in_dir("sub/more/y"));
	cr_expect_str_eq(plan->ops.at[1].source, in_dir("sub/x"));
}

Test(profile, what_two_files_include_is_read_once)
{
	put("base.ini", "[exec]\nargument = -u\n");
	put("a.ini", "[profile]\ninclude = base.ini\n");
	put("b.ini", "[profile]\ninclude = base.ini\n");
	read_text("[profile]\ninclude = a.ini\ninclude = b.ini\n"
		  "include = base.ini\n");
	cr_expect_eq(plan->arguments.count, 1);
	cr_expect_eq(plan->profiles.count, 4);
}

Test(profile, a_cycle_of_includes)
{
	put("p.ini", "[profile]\ninclude = a.ini\n");
	put("a.ini", "[profile]\n\ninclude = \"p.ini\"\n");
	expect_refusal("./p.ini:2: include: ./a.ini:3: include: './p.ini' "
		       "includes itself");
	put("p.ini", "[profile]\ninclude = ./p.ini\n");
	expect_refusal("./p.ini:2: include: '././p.ini' includes itself");
}

Test(profile, a_cycle_through_a_link)
{
	cr_assert_eq(symlink("p.ini", "link.ini"), 0);
	put("p.ini", "[profile]\ninclude = link.ini\n");
	expect_refusal("./p.ini:2: include: './link.ini' includes itself");
}

Test(profile, includes_do_not_go_down_for_ever)
{
	for (int i = 0; i < 40; i++)
		put(arena_printf(arena, "i%d.ini", i),
		    arena_printf(arena, "[profile]\ninclude = i%d.ini\n",
				 i + 1));
	put("i40.ini", "");
	put("p.ini", "[profile]\ninclude = i0.ini\n");
	cr_expect_lt(apply_with("p.ini", NULL, 0), 0);
	cr_expect_not_null(strstr(err.text, "more than 32 profiles include "
				  "each other"));
}

Test(profile, an_include_that_is_wrong)
{
	put("p.ini", "[profile]\ninclude = nope.ini\n");
	expect_refusal("./p.ini:2: include: profile './nope.ini'");
	cr_expect_eq(err.code, ENOENT);
	put("bad.ini", "[mask]\nx = 1\n");
	put("p.ini", "[profile]\ninclude = bad.ini\n");
	expect_refusal("./p.ini:2: include: ./bad.ini:2: there is no key 'x' "
		       "in [mask]");
	put("p.ini", "[profile]\ninclude = a b\n");
	expect_refusal("./p.ini:2: include: 'include' takes one word: PATH "
		       "(quote words with blanks)");
	put("p.ini", "[profile]\ninclude = \"\"\n");
	expect_refusal("./p.ini:2: include: the path is empty");
	put("p.ini", "[profile]\ninclude = ${workspace}/x\n");
	expect_refusal("./p.ini:2: include: ${workspace} is not known: there "
		       "is no 'path' in [workspace]");
}

Test(profile, an_include_is_trusted_no_more_than_a_profile)
{
	put("base.ini", "");
	cr_assert_eq(chmod("base.ini", 0666), 0);
	put("p.ini", "[profile]\ninclude = base.ini\n");
	cr_expect_lt(apply_with("p.ini", NULL, 0), 0);
	cr_expect_str_eq(err.text, "./p.ini:2: include: profile './base.ini' "
			 "is not trusted: the file './base.ini' can be written "
			 "by everybody");
	cr_expect_str_eq(err.reason, "profile-trust");
}

/* ---- --set ----------------------------------------------------------------------- */

static void apply_sets(const char *const *texts, size_t count)
{
	struct profile_set sets[8];

	for (size_t i = 0; i < count; i++)
		sets[i] = set_of(texts[i]);
	cr_assert_eq(apply_with("p.ini", sets, count), 0, "%s", err.text);
}

#define SETS(...)                                                             \
	apply_sets((const char *const[]){ __VA_ARGS__ },                      \
		   ARRAY_SIZE(((const char *const[]){ __VA_ARGS__ })))

Test(profile, set_replaces_a_key)
{
	put("p.ini", "[namespaces]\nuid = 1\n[limits]\ntimeout = 1s\n");
	SETS("namespaces.uid=5", "limits.memory=1g optional");
	cr_expect_eq(plan->ids.uid, 5);
	cr_expect_eq(plan->limits[LIMIT_TIMEOUT].value, 1000);
	cr_expect_eq(plan->limits[LIMIT_MEMORY].value, 1 << 30);
	cr_expect(plan->limits[LIMIT_MEMORY].is_optional);
	cr_expect_eq(plan->limits[LIMIT_MEMORY].origin.kind, ORIGIN_SET);
	cr_expect_str_eq(origin_text(arena,
				     &plan->limits[LIMIT_MEMORY].origin),
			 "--set limits.memory");
}

Test(profile, what_is_replaced_does_not_count_even_if_wrong)
{
	put("p.ini", "[layers]\ndeps = ${env:SBX_NOT_SET}\n");
	SETS("layers.deps=/d");
	cr_expect_str_eq(plan->ops.at[0].source, "/d");
}

Test(profile, set_replaces_a_list_and_then_appends)
{
	put("p.ini", "[mask]\ntmpfs = /a\ntmpfs = /b\nhide = /c\n");
	SETS("mask.tmpfs=/d ro", "mask.tmpfs=/e");
	cr_expect_eq(plan->ops.count, 3);
	cr_expect_str_eq(plan->ops.at[0].dest, "/c");
	cr_expect_str_eq(plan->ops.at[1].dest, "/d");
	cr_expect_str_eq(plan->ops.at[2].dest, "/e");
}

Test(profile, set_of_mounts_and_variables_goes_by_their_name)
{
	put("p.ini", "[mounts]\nbind = /a /a\nro-bind = /b /b\n[setenv]\n"
	    "A = 1\nB = 1\n");
	SETS("mounts.bind=/c /d", "setenv.A=x y", "setenv.C=",
	     "setenv.A=last=1");
	cr_expect_eq(plan->ops.count, 2);
	cr_expect_str_eq(plan->ops.at[0].source, "/b");
	cr_expect_str_eq(plan->ops.at[1].source, "/c");
	cr_expect_eq(plan->environment.count, 4);
	cr_expect_str_eq(plan->environment.at[1].name, "B");
	cr_expect_str_eq(plan->environment.at[2].name, "C");
	cr_expect_str_eq(plan->environment.at[2].value, "");
	cr_expect_str_eq(plan->environment.at[3].value, "last=1");
}

Test(profile, set_is_read_as_the_file_is)
{
	put("p.ini", "");
	SETS("layers.layer=\"/a b\" /c", "exec.chdir=${profile-dir}");
	cr_expect_str_eq(plan->ops.at[0].source, "/a b");
	cr_expect_str_eq(plan->ops.at[0].dest, "/c");
	cr_expect_str_eq(plan->chdir, dir);
}

Test(profile, set_can_clear_a_layer)
{
	put("p.ini", "[layers]\ndeps = /a\nlayer = /b\nlayer = /c\n");
	SETS("layers.deps=", "layers.layer=");
	cr_expect_eq(plan->ops.count, 0);
}

static void refuse_set(struct profile_set set, const char *message,
		       const char *remedy)
{
	put("p.ini", "");
	cr_expect_lt(apply_with("p.ini", &set, 1), 0);
	cr_expect_str_eq(err.text, message);
	if (remedy)
		cr_expect_str_eq(err.remedy, remedy);
	cr_expect_str_eq(err.reason, "profile");
}

Test(profile, a_set_that_is_wrong)
{
	refuse_set(set_of("mask.tmfs=/a"), "--set: there is no key 'tmfs' in "
		   "[mask]", "did you mean 'tmpfs'?");
	refuse_set(set_of("msak.tmpfs=/a"), "--set: there is no section "
		   "[msak]", "did you mean [mask]?");
	refuse_set(set_of("mask.tmpfs=a"), "--set mask.tmpfs: 'a' is not an "
		   "absolute path", NULL);
	refuse_set(set_of("mounts.bnd=/a /b"), "--set mounts.bnd: there is no "
		   "key 'bnd' in [mounts]", NULL);
	refuse_set(set_of("profile.include=x.ini"), "--set: only a file can "
		   "hold 'include'", NULL);
	refuse_set(set_of("namespaces.uid="), "--set namespaces.uid: the value "
		   "is missing (N)", NULL);
}

Test(profile, a_shorthands_value_is_one_word)
{
	struct profile_set set = set_of("workspace.path=a \"b\" ${cwd} ;c");

	set.is_literal = true;
	set.option = "--workspace";
	put("p.ini", "[workspace]\npath = /other /dest\n");
	cr_assert_eq(apply_with("p.ini", &set, 1), 0, "%s", err.text);
	cr_expect_str_eq(plan->workspace.source,
			 in_dir("a \"b\" ${cwd} ;c"));
	cr_expect_str_eq(plan->workspace.dest, in_dir("a \"b\" ${cwd} ;c"));
}

Test(profile, a_shorthand_is_named_in_its_errors)
{
	struct profile_set set = set_of("limits.timeout=5");

	set.is_literal = true;
	set.option = "--timeout";
	refuse_set(set, "--timeout: '5' is not a duration",
		   "a duration ends in ms, s, m or h");
}

Test(profile, without_a_profile_some_shorthands_make_sense)
{
	struct profile_set sets[] = {
		set_of("limits.timeout=5s"), set_of("setenv.A=1"),
		set_of("report.run-id=r"),
	};
	struct profile_set workspace = set_of("workspace.path=/w");

	plan = plan_new(arena, PLAN_RULES_BWRAP);
	cr_assert_eq(profile_apply(plan, NULL, sets, 3, &err), 0, "%s",
		     err.text);
	cr_expect_eq(plan->limits[LIMIT_TIMEOUT].value, 5000);
	cr_expect_eq(plan->environment.count, 1, "nothing is cleared");
	cr_expect_str_eq(plan->report.run_id, "r");
	workspace.option = "--workspace";
	cr_expect_lt(profile_apply(plan, NULL, &workspace, 1, &err), 0);
	cr_expect_str_eq(err.text, "--workspace needs a profile");
	cr_expect_str_eq(err.remedy, "name one with --profile");
}

Test(profile, reports_alone)
{
	struct profile_set sets[] = {
		set_of("report.audit-file=/a"), set_of("mask.tmpfs=wrong"),
		set_of("report.run-id=r"),
	};

	plan = plan_new(arena, PLAN_RULES_PROFILE);
	cr_assert_eq(profile_apply_reports(plan, sets, 3, &err), 0, "%s",
		     err.text);
	cr_expect_str_eq(plan->report.audit_file, "/a");
	cr_expect_str_eq(plan->report.run_id, "r");
	cr_expect_eq(plan->ops.count, 0);
}

Test(profile, what_records_need_is_known_when_the_rest_fails)
{
	put("p.ini", "[mask]\ntmpfs = wrong\n[report]\naudit-file = /a\n");
	cr_expect_lt(apply_with("p.ini", NULL, 0), 0);
	cr_expect_str_eq(plan->report.audit_file, "/a");
}
