/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Attacks by names: what an earlier run left in the workspace for the next
 * launch, what somebody exchanges on the host while it starts, and what the
 * payload does to masks and to what is protected in a workspace it can write.
 */
#include "attack.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/tree.h"

/* ---- a workspace that is not what it seems ------------------------------------------- */

/* Somebody else's directory, beside the workspace. */
static const char *make_victim(struct scene *scene)
{
	scene->bait = path_in(scene->top, "victim");
	directory_make(scene->bait, 0755);
	return scene->bait;
}

PART(leave_a_mark)
{
	int fd = open("hit", O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	close(fd);
	return false;
}

static bool victim_is_hit(const struct scene *scene,
			  const struct outcome *outcome)
{
	return file_exists(path_in(scene->bait, "hit"));
}

/* The attacker is elsewhere, and so is the working directory. */
static void start_from_elsewhere(struct scene *scene, const char *workspace)
{
	const char *tools = path_in(scene->top, "tools");

	directory_make(tools, 0755);
	rename(scene->attacker, path_in(tools, "attacker"));
	scene->attacker = path_in(tools, "attacker");
	scene->program.cwd = scene->top;
	scene_option(scene, "--workspace", workspace);
	scene_option(scene, "--set", arena_format("layers.layer=%s", tools));
}

static void make_a_link_of_the_workspace(struct scene *scene)
{
	start_from_elsewhere(scene, scene->work);
	rmdir(scene->work);
	make_victim(scene);
	link_make("victim", scene->work);
}

ATTACK(paths, workspace_that_is_a_link, .weak = BWRAP,
       .bait = make_a_link_of_the_workspace, .seen = victim_is_hit,
       .may_be_refused = true)
{
	leave_a_mark();
	return false;
}

/* ---- places that are not what they seem ------------------------------------------------ */

/* A directory of the host's to be let in below the workspace. */
static const char *make_layer(struct scene *scene)
{
	const char *layer = path_in(scene->top, "layer");

	directory_make(layer, 0755);
	return layer;
}

static void mount_on(struct scene *scene, const char *layer, const char *place)
{
	const char **words = arena_take(4 * sizeof(*words));

	words[0] = "--ro-bind";
	words[1] = layer;
	words[2] = place;
	scene_bwrap(scene, words);
	scene_option(scene, "--set", arena_format("layers.layer=%s %s", layer,
						  place));
}

/* An earlier run put a link where the caller mounts something. */
static void make_a_link_of_a_mount_point(struct scene *scene)
{
	const char *link = path_in(scene->work, "deps");

	link_make(arena_format("/oldroot%s", make_victim(scene)), link);
	mount_on(scene, make_layer(scene), path_in(link, "new"));
}

static bool victim_is_touched(const struct scene *scene,
			      const struct outcome *outcome)
{
	return file_exists(path_in(scene->bait, "new"));
}

ATTACK(paths, mount_point_through_a_link, .weak = BWRAP,
       .bait = make_a_link_of_a_mount_point, .seen = victim_is_touched,
       .may_be_refused = true)
{
	return false;
}

static void mount_on_nothing(struct scene *scene)
{
	mount_on(scene, make_layer(scene), path_in(scene->work, "a/b"));
}

static bool mount_points_stay(const struct scene *scene,
			      const struct outcome *outcome)
{
	return file_exists(path_in(scene->work, "a"));
}

ATTACK(paths, mount_point_left_behind, .weak = BWRAP,
       .bait = mount_on_nothing, .seen = mount_points_stay,
       .may_be_refused = true)
{
	return false;
}

/* ---- what is protected in a workspace ---------------------------------------------------- */

static void protect(struct scene *scene, const char *name)
{
	const char **words = arena_take(4 * sizeof(*words));
	const char *path = path_in(scene->work, name);

	scene_option(scene, "--set",
		     arena_format("workspace.protect=%s", name));
	if (!file_exists(path))
		return;
	words[0] = "--ro-bind";
	words[1] = words[2] = path;
	scene_bwrap(scene, words);
}

static void protect_a_repository(struct scene *scene)
{
	directory_make(path_in(scene->work, ".git"), 0755);
	directory_make(path_in(scene->work, ".git/hooks"), 0755);
	scene->bait = path_in(scene->work, ".git/config");
	file_write(scene->bait, "mine");
	protect(scene, ".git/config");
	protect(scene, ".git/hooks");
	protect(scene, ".envrc");
}

static bool says_evil(const char *path)
{
	return file_exists(path) && strstr(file_read(path, NULL), "evil");
}

static bool repository_is_evil(const struct scene *scene,
			       const struct outcome *outcome)
{
	return says_evil(scene->bait) ||
	       says_evil(path_in(scene->work, ".git/hooks/pre-commit")) ||
	       says_evil(path_in(scene->work, ".envrc"));
}

static void write_evil(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	if (fd >= 0 && write(fd, "evil", 4) == 4)
		close(fd);
}

ATTACK(paths, protected_directory_renamed, .weak = BWRAP,
       .bait = protect_a_repository, .seen = repository_is_evil)
{
	rename(".git", ".g2");
	mkdir(".git", 0755);
	mkdir(".git/hooks", 0755);
	write_evil(".git/config");
	write_evil(".git/hooks/pre-commit");
	return false;
}

ATTACK(paths, protected_directory_exchanged, .weak = BWRAP,
       .bait = protect_a_repository, .seen = repository_is_evil)
{
	mkdir("other", 0755);
	write_evil("other/config");
	syscall(SYS_renameat2, AT_FDCWD, "other", AT_FDCWD, ".git",
		2 /* RENAME_EXCHANGE */);
	return false;
}

/* What is not there yet is there for the host afterwards. */
ATTACK(paths, protected_name_created, .weak = BWRAP,
       .bait = protect_a_repository, .seen = repository_is_evil)
{
	write_evil(".envrc");
	rmdir(".envrc");
	unlink(".envrc");
	write_evil("draft");
	rename("draft", ".envrc");
	link("draft", ".envrc");
	symlink("draft", ".envrc");
	return false;
}

ATTACK(paths, protected_file_written, .weak = BARE,
       .bait = protect_a_repository, .seen = repository_is_evil)
{
	chmod(".git/config", 0777);
	write_evil(".git/config");
	unlink(".git/config");
	write_evil(".git/config");
	write_evil("draft");
	link("draft", ".git/hooks/pre-commit");
	rename("draft", ".git/hooks/pre-commit");
	return false;
}

/* ---- masks --------------------------------------------------------------------------------- */

static void hide_a_secret(struct scene *scene)
{
	const char *directory = scratch_make_in("/tmp");

	scene->bait = path_in(directory, "secret");
	file_write(scene->bait, "hunter2");
	chmod(directory, 0755);
	scene_tell(scene, "secret", scene->bait);
}

static bool reads_below(const char *top)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s%s", top, attack_word("secret"));
	return strstr(attack_read(path), "hunter2");
}

ATTACK(paths, masked_file, .weak = BARE, .bait = hide_a_secret)
{
	return reads_below("") || reads_below("/proc/self/root") ||
	       reads_below("/proc/1/root") || reads_below("/oldroot") ||
	       reads_below("/../..") || reads_below("/proc/self/cwd/../../../"
	       "../../../../..");
}

/* Up from the directory that it was started in. */
ATTACK(paths, way_up, .weak = BARE, .bait = hide_a_secret)
{
	for (int i = 0; i < 64; i++)
		if (chdir("..") < 0)
			return false;
	return strstr(attack_read(attack_word("secret") + 1), "hunter2");
}

ATTACK(paths, mask_renamed, .weak = BARE, .bait = hide_a_secret)
{
	static const char *const masks[] = { "/tmp", "/home", "/run" };
	char other[4096], *directory = strdup(attack_word("secret"));

	*strrchr(directory, '/') = '\0';
	snprintf(other, sizeof(other), "%s2", directory);
	if (rename(directory, other) == 0)
		return rename(other, directory) == 0;
	/* Where nothing holds them these are the host's. */
	for (int i = 0; i < 3 && !*attack_word("weak"); i++)
		if (rename(masks[i], "/other") == 0 || rmdir(masks[i]) == 0 ||
		    rename(masks[i], "other") == 0)
			return true;
	return false;
}

/* ---- files of the host ----------------------------------------------------------------------- */

static void keep_the_host(struct scene *scene)
{
	make_victim(scene);
	file_write(path_in(scene->bait, "file"), "mine");
	mount_on(scene, scene->bait, scene->bait);
	scene_tell(scene, "layer", scene->bait);
}

ATTACK(paths, layer_written_through_the_workspace, .weak = BARE,
       .bait = keep_the_host)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/file", attack_word("layer"));
	/* Another name of the same file would not be read-only. */
	return link(path, "alias") == 0 || attack_opens(path, O_WRONLY) ||
	       unlink(path) == 0;
}

static void run_the_workspaces_launcher(struct scene *scene)
{
	size_t length;
	const char *text = file_read(sbx_launch(), &length);

	scene->bait = path_in(scene->work, "sbx-launch");
	file_write_bytes(scene->bait, text, length, 0755);
	if (!scene->is_weak)
		scene->launcher = scene->bait;
}

static bool launcher_is_evil(const struct scene *scene,
			     const struct outcome *outcome)
{
	return says_evil(scene->bait);
}

ATTACK(paths, launcher_in_the_workspace, .weak = WITH("--set",
       "security.tty=none"), .bait = run_the_workspaces_launcher,
       .seen = launcher_is_evil, .may_be_refused = true)
{
	unlink("sbx-launch");
	write_evil("sbx-launch");
	return false;
}

/* ---- exchanged while it is looked at ------------------------------------------------------------ */

/* For a longer race: meson setup -Dc_args=-DESCAPE_ROUNDS=5000 */
#ifndef ESCAPE_ROUNDS
#define ESCAPE_ROUNDS 60
#endif

/* A process of the host's that exchanges two names until it is killed. */
static pid_t start_swapping(const char *one, const char *other)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, 2);
		usleep(300);
	}
}

static void stop_swapping(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* How many of the launches hit the victim while the names change. */
static int race(struct scene *scene, const struct attack *attack,
		const char *one, const char *other)
{
	const char *const *argv = attack_command(scene, "leave_a_mark",
						 attack);
	pid_t swapper = start_swapping(one, other);
	int hits = 0, runs = 0;

	for (int i = 0; i < ESCAPE_ROUNDS && !(scene->is_weak && hits); i++) {
		const struct outcome *o = program_run(&(struct program){
			.argv = argv, .cwd = scene->top });

		runs += o->exit == ATTACK_HELD;
		hits += attack->seen(scene, o);
		unlink(path_in(scene->bait, "hit"));
	}
	stop_swapping(swapper);
	if (!hits && !runs)
		harness_fail("no launch started anything");
	return hits;
}

/* @other is a name beside the workspace. */
static void expect_races_won(const struct attack *attack, const char *one,
			     const char *other)
{
	for (int weak = 0; weak < 2; weak++) {
		struct scene *scene = attack_scene(attack, weak);
		int hits = race(scene, attack, path_in(scene->top, one),
				path_in(scene->top, other));

		if (weak)
			cr_expect(hits, "it never succeeds where it should");
		else
			cr_expect_eq(hits, 0, "%d launches were hit", hits);
	}
}

static void have_a_link_at_hand(struct scene *scene)
{
	start_from_elsewhere(scene, scene->work);
	link_make(make_victim(scene), path_in(scene->top, "link"));
}

Test(paths, workspace_exchanged_with_a_link)
{
	expect_races_won(&(struct attack){ .weak = BWRAP,
			 .bait = have_a_link_at_hand, .seen = victim_is_hit },
			 "work", "link");
}

/*
 * The directory of the profile, which no payload may write, is refused as a
 * workspace.  A link above it is the caller's own business, but not between
 * the refusal and the mount.
 */
static void have_the_profile_at_hand(struct scene *scene)
{
	const char *real = path_in(scene->top, "real");

	directory_make(path_in(scene->top, "parent"), 0755);
	directory_make(path_in(scene->top, "parent/conf"), 0755);
	directory_make(real, 0755);
	scene->bait = path_in(real, "conf");
	directory_make(scene->bait, 0755);
	file_write(path_in(scene->bait, "p.ini"),
		   arena_format("[profile]\ninclude = %s\n",
				sbx_source("tests/escape/attack.ini")));
	link_make(real, path_in(scene->top, "link"));
	scene->profile = path_in(scene->bait, "p.ini");
	start_from_elsewhere(scene, path_in(scene->top, "parent/conf"));
	scene->work = path_in(scene->top, "parent/conf");
}

Test(paths, workspace_exchanged_with_the_profile)
{
	expect_races_won(&(struct attack){ .weak = BWRAP,
			 .bait = have_the_profile_at_hand,
			 .seen = victim_is_hit }, "parent", "link");
}

/* A name that is held for the time of the run, and removed behind it. */
static void have_a_file_at_hand(struct scene *scene)
{
	const char *victim = make_victim(scene);

	start_from_elsewhere(scene, scene->work);
	directory_make(path_in(scene->work, "sub"), 0755);
	link_make(scene->is_weak ? arena_format("/oldroot%s", victim) :
		  victim, path_in(scene->top, "link"));
	scene_option(scene, "--set", "workspace.protect=sub/hit");
	scene_bwrap(scene, (const char *const[]){ "--ro-bind", "/dev/null",
		    path_in(scene->work, "sub/hit"), NULL });
}

Test(paths, protected_parent_exchanged_with_a_link)
{
	expect_races_won(&(struct attack){ .weak = BWRAP,
			 .bait = have_a_file_at_hand, .seen = victim_is_hit },
			 "work/sub", "link");
}
