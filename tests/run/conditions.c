/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * More machines and containers that are no good, made as diagnosis.c makes
 * them: those that take more to be made than a filter, and the causes that
 * are left when nothing else explains a failure.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "diagnosed.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"
#include "machine.h"

#define REFUSE(...) ((const struct refusal[]){ __VA_ARGS__, { 0 } })

/* ---- no namespaces ------------------------------------------------------------ */

/* A kernel without one kind: nothing of that name in /proc/PID/ns. */
static int lack_namespace(const void *lacking)
{
	static const char *const kinds[] = {
		"user", "mnt", "pid", "net", "ipc", "uts", "cgroup",
	};
	const char *ns = arena_format("/proc/%d/ns", (int)getpid());

	if (machine_enter_userns(CLONE_NEWNS))
		return 1;
	CHECK(mount("none", ns, "tmpfs", 0, NULL) == 0);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i], lacking) != 0 &&
		    machine_write(path_in(ns, kinds[i]), ""))
			return 1;
	return 0;
}

Test(namespaces, unknown_to_the_kernel)
{
	static const char *const kinds[] = { "user", "ipc", "cgroup" };
	struct box *box = plain_box("");

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		EXPECT(box, WITH(.call = lack_namespace, .data = kinds[i],
				 .refuse = REFUSE({ "clone3", EINVAL })), 125,
		       "ns-unsupported", arena_format("make the namespaces: "
			"clone3: this kernel has no %s namespaces (EINVAL)",
			kinds[i]), "use a kernel that was built with them "
		       "(CONFIG_NAMESPACES, CONFIG_USER_NS and its like)");
}

/* Something in the kernel that tells nobody of itself says no. */
static const char *const *failing(const char *what)
{
	const char **words = arena_take(5 * sizeof(*words));

	words[0] = sbx_helper("inject");
	words[1] = "--fail";
	words[2] = what;
	words[3] = "--";
	return words;
}

Test(namespaces, refused_for_no_reason_that_shows)
{
	struct box *box = plain_box("");

	EXPECT(box, WITH(.argv = failing("0:clone3:1=EACCES")), 125,
	       "namespaces", "make the namespaces: clone3: the kernel or a "
	       "security module refuses new namespaces (EACCES)",
	       "look into the kernel's log for who refused: dmesg or "
	       "journalctl -k");
}

Test(ids, refused_for_no_reason_that_shows)
{
	static const struct refusal short_writes[] = {
		{ "write", EPERM, 2, ~31ULL, 0 }, { 0 },
	};
	struct program how = { 0 };
	struct box *box = plain_box("");

	/*
	 * Root's payload is somebody else, whose map the launcher writes; for
	 * others the child does, whose number is not known: a name that is in
	 * no cache is looked up by a process of its own.  Records are longer
	 * than a map.
	 */
	if (identity_self() == IDENTITY_ROOT)
		how.argv = failing("0:write:1=EPERM");
	else
		how.refuse = short_writes;
	expect_diagnosis(box, &how, "true", &(struct diagnosis){
		125, "uidmap", "uid_map: write '[0-9]* [0-9]* 1' to "
		"'/proc/*/uid_map': the kernel or a security module refuses "
		"the id map (EPERM)", "look into the kernel's log for who "
		"refused: dmesg or journalctl -k" });
}

/* Root of a namespace that maps nobody else, and the host's root outside. */
Test(ids, only_the_one_of_root)
{
	struct box *box;

	box_need_root();
	box = plain_box("");
	EXPECT(box, WITH(.unshare = CLONE_NEWUSER), 125, "only-root-id",
	       "started by the host's root in a user namespace without another "
	       "id to run the payload under: Operation not permitted",
	       "map more ids into the namespace, start as an ordinary user, or "
	       "accept the host's root with run-as = caller");
}

/* ---- no mounts ------------------------------------------------------------------ */

/*
 * Landlock is a security module that refuses mounts to who has any rule for
 * files, whatever that says.
 */
static int fence(const void *unused)
{
	const struct landlock_ruleset_attr attr = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK,
	};
	int rules = (int)syscall(SYS_landlock_create_ruleset, &attr,
				 sizeof(attr.handled_access_fs), 0);

	CHECK(rules >= 0);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(syscall(SYS_landlock_restrict_self, rules, 0) == 0);
	close(rules);
	return 0;
}

static void need_landlock(void)
{
	if (syscall(SYS_landlock_create_ruleset, NULL, 0,
		    LANDLOCK_CREATE_RULESET_VERSION) < 1)
		skip_test("landlock", "this kernel has no Landlock");
}

Test(mounts, refused_by_who_does_not_show)
{
	struct box *box;

	need_landlock();
	box = plain_box("");
	EXPECT(box, WITH(.call = fence), 125, "mount-denied",
	       "*: *mount(2) is refused by the surrounding container or a "
	       "security module (EPERM)", "look into the kernel's log for who "
	       "refused (dmesg, journalctl -k), and allow *mount there");
}

static int fence_with_label(const void *label)
{
	return machine_enter_userns(CLONE_NEWNS) ||
	       machine_fake_proc("attr/current", label) || fence(NULL);
}

Test(mounts, refused_by_a_security_module)
{
	struct box *box;
	const char *label;

	need_landlock();
	/* With a mount in it /proc cannot be had anew. */
	box = plain_box("[namespaces]\nshare = pid\n");
	label = path_in(box->top, "label");
	file_write(label, "some-container (enforce)\n");
	EXPECT(box, WITH(.call = fence_with_label, .data = label), 125,
	       "mount-denied", "*: *mount(2) is refused by a security module "
	       "to 'some-container' (EPERM)", "give the program or its "
	       "container a policy that allows mounts: docker or podman run "
	       "--security-opt apparmor=unconfined or label=disable");
}

/* Neither the new calls nor the old one, as many containers have it. */
Test(mounts, all_refused_by_a_filter)
{
	struct box *box = plain_box("");

	EXPECT(box, WITH(.refuse = REFUSE({ "open_tree", EPERM },
		{ "mount_setattr", EPERM }, { "move_mount", EPERM },
		{ "fsopen", EPERM }, { "mount", EPERM })), 125,
	       "mount-denied", "*: mount(2) is refused by a system-call filter "
	       "(seccomp) of the surrounding container (EPERM)",
	       "start the container with a filter that allows mount: docker or "
	       "podman run --security-opt seccomp=unconfined");
}

/* ---- overlays --------------------------------------------------------------------- */

struct layers {
	struct box *box;
	const char *upper; /* DISK/upper, on a file system of its own */
	const char *disk;
};

static struct layers make_layers(bool is_own_disk)
{
	struct layers layers = { .box = box_make() };
	mode_t mode = 0755;

	layers.disk = path_in(layers.box->top, "disk");
	layers.upper = path_in(layers.disk, "upper");
	directory_make(layers.disk, mode);
	if (is_own_disk)
		cr_assert_eq(mount("none", layers.disk, "tmpfs", 0,
				   "mode=755"), 0);
	directory_make(layers.upper, 0700);
	box_profile(layers.box, "mode = overlay\nupper = %s\n", layers.upper);
	layers.box->host = host_read();
	return layers;
}

static void make_read_only(const char *path)
{
	cr_assert_eq(mount(path, path, NULL, MS_BIND, NULL), 0);
	cr_assert_eq(mount(NULL, path, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY,
			   NULL), 0);
}

Test(overlays, upper_on_a_read_only_file_system)
{
	struct layers layers;
	const char *work;

	box_need_mounts();
	layers = make_layers(true);
	work = path_in(layers.disk, "work");
	directory_make(work, 0700);
	make_read_only(layers.disk);
	layers.box->host = host_read();
	EXPECT(layers.box, WITH(0), 125, "overlay-upper",
	       arena_format("*p.ini:7: overlay '%s': make the work directory "
			    "'%s/.upper.sbx-work': Read-only file system",
			    layers.box->work, layers.disk),
	       arena_format("upper '%s' is on a read-only file system, which "
			    "cannot hold one; put it on ext4, xfs, btrfs or "
			    "tmpfs", layers.upper));
	/* With a work directory that is there already the kernel says it. */
	box_profile(layers.box, "mode = overlay\nupper = %s\nwork = %s\n",
		    layers.upper, work);
	EXPECT(layers.box, WITH(0), 125, "overlay-upper",
	       arena_format("*p.ini:7: overlay '%s': *", layers.box->work),
	       arena_format("upper '%s' is on a read-only file system, *",
			    layers.upper));
	umount2(layers.disk, MNT_DETACH);
	umount2(layers.disk, MNT_DETACH);
}

Test(overlays, upper_that_is_a_mount_point)
{
	struct layers layers;

	box_need_mounts();
	layers = make_layers(false);
	cr_assert_eq(mount("none", layers.upper, "tmpfs", 0, "mode=700"), 0);
	layers.box->host = host_read();
	EXPECT(layers.box, WITH(0), 125, "overlay-upper",
	       arena_format("*p.ini:7: overlay '%s': upper '%s' is a mount "
			    "point, so that its work directory is in another "
			    "mount", layers.box->work, layers.upper),
	       "make a directory below it, for the upper layer");
	umount2(layers.upper, MNT_DETACH);
}

Test(overlays, upper_of_another_run)
{
	const struct layers layers = make_layers(false);
	int lock = open(layers.upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert(lock >= 0 && !flock(lock, LOCK_EX | LOCK_NB));
	layers.box->host = host_read();
	EXPECT(layers.box, WITH(0), 125, "overlay-busy",
	       arena_format("*p.ini:7: overlay '%s': upper '%s' is in use by "
			    "another run: Device or resource busy",
			    layers.box->work, layers.upper),
	       "wait for that run to end, or give each run an upper directory "
	       "of its own");
	close(lock);
}

/* Layers that the kernel does not lay on each other, in bubblewrap's language. */
static void expect_layers(const char *const *options, const char *reason,
			  const char *remedy)
{
	enum { WORDS_MOST = 1100 };
	static const char *const front[] = {
		"--status-fd", "1", "--ro-bind", "/", "/",
	};
	const char **words = arena_take(WORDS_MOST * sizeof(*words));
	const struct outcome *o;
	size_t count = 0;

	words[count++] = sbx_launch();
	for (size_t i = 0; i < sizeof(front) / sizeof(front[0]); i++)
		words[count++] = front[i];
	while (*options)
		words[count++] = *options++;
	words[count++] = "/opt";
	words[count++] = "true";
	cr_assert_lt(count, WORDS_MOST);
	words[count] = NULL;
	o = program_run(&(struct program){ .argv = words });
	expect_exit(o, 125);
	expect_out_has(o, arena_format("\"reason\":\"%s\"", reason));
	if (remedy)
		expect_err_has(o, remedy);
}

Test(overlays, layers_that_do_not_go_together)
{
	enum { LAYERS = 501 };
	struct box *box = box_make();
	const char *upper = path_in(box->top, "u");
	const char *work = path_in(upper, "work");
	const char **many = arena_take((2 * LAYERS + 2) * sizeof(*many));

	directory_make(upper, 0755);
	directory_make(work, 0755);
	expect_layers(ARGV("--overlay-src", box->work, "--overlay", upper,
			   work), "overlay-layers",
		      arena_format("sbx-launch: upper '%s' and work '%s' have "
				   "to be on one file system, and neither in "
				   "the other\n", upper, work));
	expect_layers(ARGV("--overlay-src", "/proc", "--tmp-overlay"),
		      "overlay-lower", "sbx-launch: '/proc' is on a file "
		      "system that cannot be a layer (proc): copy it to "
		      "another one\n");
	expect_layers(ARGV("--overlay-src", upper, "--overlay", upper,
			   box->work), "overlay-layers", NULL);
	for (int i = 0; i < LAYERS; i++) {
		many[2 * i] = "--overlay-src";
		many[2 * i + 1] = path_in(box->work, arena_format("%d", i));
		directory_make(many[2 * i + 1], 0755);
	}
	many[2 * LAYERS] = "--tmp-overlay";
	many[2 * LAYERS + 1] = NULL;
	expect_layers(many, "overlay-layers", "sbx-launch: the kernel lays at "
		      "most 500 directories on each other: merge some of "
		      "them\n");
}

Test(overlays, over_an_overlay_over_an_overlay)
{
	const char *names[] = { "a", "b", "one", "two" };
	struct box *box;
	const char *deep;

	box_need_mounts();
	box = box_make();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		names[i] = path_in(box->top, names[i]);
		directory_make(names[i], 0755);
	}
	cr_assert_eq(mount("none", names[2], "overlay", 0,
			   arena_format("lowerdir=%s:%s", names[0],
					names[1])), 0);
	/* Where that is on an overlay already, it is as deep as it gets. */
	deep = mount("none", names[3], "overlay", 0,
		     arena_format("lowerdir=%s:%s", names[2], names[1])) ?
		names[2] : names[3];
	expect_layers(ARGV("--overlay-src", deep, "--tmp-overlay"),
		      "overlay-layers", arena_format("sbx-launch: '%s' is on "
			"an overlay itself: ", deep));
	umount2(names[3], MNT_DETACH);
	umount2(names[2], MNT_DETACH);
}

/* ---- words for what has no explanation ---------------------------------------------- */

/* What a caller can do wrong has a word of its own, and is never "other". */
Test(words, of_what_a_caller_can_do_wrong)
{
	struct box *box = box_make();
	const char *file = path_in(box->top, "file");
	const struct {
		const char *profile, *reason;
	} rows[] = {
		{ "[workspace]\npath = /nowhere\n", "source-missing" },
		{ arena_format("[workspace]\npath = %s\n", file),
		  "source-missing" },
		{ "[root]\nsource = /nowhere\n", "source-missing" },
		{ arena_format("[workspace]\npath = %s\nmode = overlay\n"
			       "upper = /nowhere\n", box->work),
		  "source-missing" },
		{ "[layers]\nlayer = /nowhere\n", "source-missing" },
		{ "[security]\nseccomp = /nowhere\n", "seccomp-program" },
		{ arena_format("[security]\nseccomp = %s\n", file),
		  "seccomp-program" },
		{ "[mask]\ntmpfs = /etc/passwd\n", "mount-point" },
		{ "[mounts]\nremount-ro = /etc\n", "mount-point" },
		{ "[mounts]\nsymlink = x /etc/passwd\n", "mount-point" },
		{ "[exec]\nchdir = /nowhere\n", "working-directory" },
		{ "[exec]\nchdir = /etc/passwd\n", "working-directory" },
		{ "[report]\naudit-file = /nowhere/x\n", "record" },
		{ "[report]\nstatus-file = /nowhere/x\n", "record" },
		{ arena_format("[workspace]\npath = %s\nmode = ephemeral\n"
			       "[report]\nchanges-file = /nowhere/x\n",
			       box->work), "record" },
		{ arena_format("[workspace]\npath = %s\nmode = ephemeral\n"
			       "export = /nowhere/x\n", box->work), "results" },
		{ "[workspace]\nmode = ro\n", "plan" },
		{ "[nothing]\n", "profile" },
	};

	file_write(file, "no program\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct outcome *o;

		box_profile_alone(box, "%s", rows[i].profile);
		o = program_run(&(struct program){
			.argv = ARGV(sbx_launch(), "--check=json", "--profile",
				     box->profile) });
		expect_exit(o, 125);
		outcome_claim(cr_expect, o,
			      strstr(claimed->out, arena_format(
				"\"reason\": \"%s\"", rows[i].reason)),
			      "reason is not %s for\n%s", rows[i].reason,
			      rows[i].profile);
	}
	box_expect_clean(box);
}

Test(words, of_a_check_that_runs_out_of_time)
{
	struct box *box = box_make();
	const struct outcome *o;
	int ends[2];

	/* The set-up waits for a byte that does not come. */
	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "--check=json", "--profile",
			     box->profile, "--timeout", "100ms", "--block-fd",
			     "5"),
		.fds = { { ends[0], 5 } } });
	expect_exit(o, 125);
	expect_out_has(o, "\"reason\": \"timeout\"");
	close(ends[0]);
	close(ends[1]);
	box_expect_clean(box);
}

/* The caller's shell finds it, and the sandbox does not: why not. */
Test(words, of_a_command_that_is_elsewhere)
{
	struct box *box = box_make();
	const char *directory = path_in(box->top, "bin");
	const char *tool = path_in(directory, "sbx-tool");
	const struct program program = {
		.argv = BOX_ARGV(box, "sbx-tool"),
		.set = ARGV(arena_format("PATH=%s:/usr/bin:/bin", directory)),
	};
	const struct outcome *o;

	directory_make(directory, 0755);
	file_write(tool, "#!/bin/sh\n");
	cr_assert_eq(chmod(tool, 0755), 0);
	box_profile_alone(box, "[mask]\ntmpfs = %s\n", directory);
	o = program_run(&program);
	expect_exit(o, 127);
	expect_err_has(o, arena_format("sbx-launch: '%s' is hidden by mask "
				       "'%s' (%s:2): add 'layer = ", tool,
				       directory, box->profile));
	box_profile_alone(box, "%s", "");
	o = program_run(&program);
	expect_exit(o, 127);
	expect_err_has(o, arena_format("sbx-launch: '%s' is not along the PATH "
				       "inside: ", tool));
	o = program_run(&(struct program){
		.argv = ARGV(sbx_launch(), "sbx-tool") });
	expect_exit(o, 127);
	expect_err_has(o, "\nsbx-launch: nothing of the host is shown: name a "
		       "profile");
	box_expect_clean(box);
}
