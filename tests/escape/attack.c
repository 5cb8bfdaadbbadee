/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "attack.h"

#include <linux/landlock.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *const attack_bwrap[] = { "bwrap", NULL };
const char *const attack_bare[] = { NULL };

static void push(const char **list, const char *word)
{
	size_t count = 0;

	while (list[count])
		count++;
	if (count + 1 >= SCENE_WORDS)
		harness_fail("too many words: '%s'", word);
	list[count] = word;
}

void scene_tell(struct scene *scene, const char *name, const char *value)
{
	push(scene->words, arena_format("%s=%s", name, value));
}

void scene_option(struct scene *scene, const char *name, const char *value)
{
	push(scene->options, name);
	push(scene->options, value);
}

void scene_bwrap(struct scene *scene, const char *const *words)
{
	for (; *words; words++)
		push(scene->bwrap, *words);
}

void scene_need_landlock(int abi)
{
	if (syscall(SYS_landlock_create_ruleset, NULL, 0,
		    LANDLOCK_CREATE_RULESET_VERSION) < abi)
		skip_test("landlock", "no Landlock of version %d", abi);
}

struct scene *attack_scene(const struct attack *attack, bool is_weak)
{
	struct scene *scene = arena_take(sizeof(*scene));
	size_t length;
	const char *attacker;

	/* Root's place for temporary files is nobody else's. */
	scene->top = attack->as_user ? scratch_make_in("/var/tmp")
				     : scratch_make();
	scene->work = path_in(scene->top, "work");
	scene->is_weak = is_weak;
	directory_make(scene->work, 0700);
	attacker = file_read(sbx_helper("attacker"), &length);
	scene->attacker = path_in(scene->work, "attacker");
	file_write_bytes(scene->attacker, attacker, length, 0755);
	scene->launcher = sbx_launch();
	scene->profile = sbx_source("tests/escape/attack.ini");
	scene->program.cwd = scene->work;
	scene_tell(scene, "weak", is_weak ? "yes" : "");
	if (attack->bait)
		attack->bait(scene);
	if (attack->as_user)
		scratch_give(scene->top);
	scene->program.as_user = attack->as_user;
	return scene;
}

/* ---- the command lines --------------------------------------------------------- */

struct line {
	const char *words[4 * SCENE_WORDS];
	size_t count;
};

static void add(struct line *line, const char *const *words)
{
	for (; words && *words; words++)
		line->words[line->count++] = *words;
}

/* As those write it who look up an example and add what they need. */
static void add_bwrap(struct line *line, const struct scene *scene)
{
	add(line, ARGV("bwrap", "--die-with-parent", "--unshare-user",
		       "--unshare-pid", "--ro-bind", "/", "/",
		       "--tmpfs", "/home", "--tmpfs", "/tmp",
		       "--dev", "/dev", "--proc", "/proc",
		       "--bind", scene->work, scene->work,
		       "--chdir", scene->work, "--clearenv",
		       "--setenv", "PATH", "/usr/bin:/bin"));
	add(line, scene->bwrap);
	add(line, ARGV("--"));
}

/* What the shipped profiles come to, but for an interpreter. */
static void add_profile(struct line *line, const struct scene *scene,
			const struct attack *attack)
{
	add(line, ARGV(scene->launcher, "--profile", scene->profile));
	add(line, attack->with);
	if (scene->is_weak)
		add(line, attack->weak);
	add(line, scene->options);
	add(line, ARGV("--"));
}

const char *const *attack_command(const struct scene *scene, const char *name,
				  const struct attack *attack)
{
	struct line *line = arena_take(sizeof(*line));

	if (!scene->is_weak || (attack->weak != BARE && attack->weak != BWRAP))
		add_profile(line, scene, attack);
	else if (attack->weak == BWRAP)
		add_bwrap(line, scene);
	add(line, ARGV(scene->attacker, name));
	add(line, scene->words);
	return line->words;
}

/* ---- both runs ------------------------------------------------------------------- */

bool attack_run(struct scene *scene, const char *name,
		const struct attack *attack)
{
	const struct host *before = host_read();
	const struct outcome *o;
	bool got;

	scene->program.argv = attack_command(scene, name, attack);
	o = program_run(&scene->program);
	if (o->exit == ATTACK_NOT_HERE) {
		if (scene->is_weak)
			skip_test("not-here", "%s", o->err);
		return false;
	}
	got = o->exit == ATTACK_GOT;
	if (attack->seen && attack->seen(scene, o))
		got = true;
	/* Nothing else may be the reason that it failed. */
	if (!got && o->exit != ATTACK_HELD &&
	    !(attack->may_be_refused && o->exit == 125 &&
	      !strncmp(o->err, "sbx-launch: ", 12)))
		cr_assert_fail("%s", outcome_describe(o));
	if (got != scene->is_weak)
		fprintf(stderr, "%s: %s: %s\n", name,
			scene->is_weak ? "weak" : "profile",
			outcome_describe(o));
	if (!scene->is_weak)
		expect_host_unchanged(before);
	return got;
}

void attack_try(const char *name, const struct attack *attack)
{
	unsigned self = 1U << identity_self();

	if (attack->who && !(attack->who & self))
		skip_test("of-no-use", "there is nothing to gain for %s",
			  identity_name(identity_self()));
	cr_expect(!attack_run(attack_scene(attack, false), name, attack),
		  "it succeeded in the profile");
	if (attack->bites && !(attack->bites & self))
		return;
	cr_expect(attack_run(attack_scene(attack, true), name, attack),
		  "it did not even succeed where it should");
}
