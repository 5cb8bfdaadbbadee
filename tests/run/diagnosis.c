/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A machine, a container or a command that is no good: the cause on the first
 * line, the remedy on the second, a reason for programs, and nothing has run.
 * Each test makes the condition itself and none leaves it to the host.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
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
#define REFUSE_USERNS                                                        \
	REFUSE({ "clone3", ENOSYS },                                         \
	       { "clone", EPERM, 0, CLONE_NEWUSER, CLONE_NEWUSER })

/* One for runs as identity_user(), where the test itself is root. */
static struct box *user_box(void)
{
	struct box *box;

	setenv("TMPDIR", "/var/tmp", 1);
	box = plain_box("");
	scratch_give(box->top);
	return box;
}

/* ---- no namespaces ----------------------------------------------------------- */

Test(namespaces, refused_by_a_filter)
{
	struct box *box = plain_box("");

	EXPECT(box, WITH(.refuse = REFUSE_USERNS), 125, "userns-seccomp",
	       "make the namespaces: clone: a system-call filter (seccomp) of "
	       "the surrounding container refuses user namespaces (EPERM)",
	       "start the container with a filter that allows clone, unshare "
	       "and mount: docker or podman run --security-opt "
	       "seccomp=unconfined --security-opt systempaths=unconfined");
}

Test(namespaces, killed_by_a_filter)
{
	static const char remedy[] = "start it with a filter that allows "
		"namespaces and mounts: docker or podman run --security-opt "
		"seccomp=unconfined";
	struct box *box = plain_box("");

	EXPECT(box, WITH(.refuse = REFUSE({ "clone3", REFUSAL_KILL })), 125,
	       "seccomp-kill", "make the namespaces: killed by a system-call "
	       "filter of the surrounding container (SIGSYS)", remedy);
	EXPECT(box, WITH(.refuse = REFUSE({ "clone3", ENOSYS },
		{ "clone", REFUSAL_KILL, 0, CLONE_NEWUSER, CLONE_NEWUSER })),
	       125, "seccomp-kill", "make the namespaces: killed by *(SIGSYS)",
	       remedy);
	EXPECT(box, WITH(.refuse = REFUSE({ "pivot_root", REFUSAL_KILL })),
	       125, "seccomp-kill", "set-up of the sandbox: killed by a "
	       "system-call filter of the surrounding container (SIGSYS)",
	       remedy);
}

static int set_limit(const void *kind)
{
	return machine_enter_userns(0) ||
	       machine_write(arena_format("/proc/sys/user/max_%s_namespaces",
				       (const char *)kind), "0");
}

Test(namespaces, a_limit_of_0)
{
	static const char *const kinds[] = {
		"mnt", "pid", "net", "ipc", "uts", "cgroup",
	};
	struct box *box = plain_box("");

	EXPECT(box, WITH(.call = set_limit, .data = "user"), 125,
	       "ns-limit:user", "make the namespaces: clone3: already inside "
	       "a sandbox that forbids user namespaces, "
	       "user.max_user_namespaces=0 (ENOSPC)",
	       "allow them in the sandbox around this one: under sbx-launch "
	       "nested-userns = yes in [[]security]");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		EXPECT(box, WITH(.call = set_limit, .data = kinds[i]), 125,
		       arena_format("ns-limit:%s", kinds[i]),
		       arena_format("make the namespaces: clone3: "
				    "user.max_%s_namespaces=0 allows no more "
				    "(ENOSPC)", kinds[i]),
		       arena_format("whoever runs this machine or the "
				    "container around has to allow more: "
				    "sysctl -w user.max_%s_namespaces=10000",
				    kinds[i]));
}

/* As deep as user namespaces go: 32 below the first. */
static int nest(const void *data)
{
	const int levels = identity_self() == IDENTITY_UNSHARE ? 32 : 33;

	for (int level = 0; level < levels; level++)
		if (machine_enter_userns(0))
			return 1;
	return 0;
}

Test(namespaces, nested_too_deeply)
{
	struct box *box = plain_box("");

	EXPECT(box, WITH(.call = nest), 125, "ns-depth",
	       "make the namespaces: clone3: namespaces are nested too deeply "
	       "(32 at most), or a limit of a namespace around this one is "
	       "reached (ENOSPC)",
	       "start it in fewer sandboxes inside one another, or raise "
	       "user.max_[*]_namespaces outside of them");
}

static int lose_ids(const void *data)
{
	CHECK(unshare(CLONE_NEWUSER) == 0);
	return 0;
}

Test(namespaces, without_an_id)
{
	struct box *box = plain_box("");

	EXPECT(box, WITH(.call = lose_ids), 125,
	       "userns-unmapped", "make the namespaces: clone3: the id of this "
	       "process has no mapping in the user namespace around (EPERM)",
	       "have whoever made that namespace write its uid_map and gid_map "
	       "first");
}

/* Nobody else sees the mount, whatever is shared with whom. */
static int enter_chroot(const void *root)
{
	if (machine_enter_mounts())
		return 1;
	CHECK(mount("/", root, NULL, MS_BIND | MS_REC, NULL) == 0);
	CHECK(chroot(root) == 0);
	CHECK(chdir("/") == 0);
	return 0;
}

Test(namespaces, in_a_chroot)
{
	struct box *box;
	const char *root;

	box_need_mounts();
	box = plain_box("");
	root = path_in(box->top, "root");
	directory_make(root, 0755);
	EXPECT(box, WITH(.call = enter_chroot, .data = root), 125, "chroot",
	       "make the namespaces: clone3: running in a chroot, where the "
	       "kernel gives no user namespaces (EPERM)",
	       "enter the tree with pivot_root or as a container's root "
	       "instead of with chroot");
}

static int few_processes(const void *data)
{
	const struct rlimit limit = { 0, 0 };

	CHECK(setrlimit(RLIMIT_NPROC, &limit) == 0);
	return 0;
}

Test(namespaces, too_many_processes)
{
	struct box *box = user_box();

	EXPECT(box, WITH(.as_user = true, .call = few_processes), 125,
	       "process-limit", "make the namespaces: clone3: no more "
	       "processes are allowed to this user or in this control group "
	       "(EAGAIN)", "raise the limit (ulimit -u, or pids.max of the "
	       "group), or end some processes");
}

/* Settings that not every kernel has: in a directory that covers its own. */
static void fake_setting(const char *name, const char *value)
{
	cr_assert_eq(mount("fake", "/proc/sys/kernel", "tmpfs", 0, NULL), 0);
	file_write(path_in("/proc/sys/kernel", name), value);
}

Test(namespaces, forbidden_to_ordinary_users)
{
	struct box *box;

	box_need_root();
	box_need_mounts();
	box = user_box();
	fake_setting("unprivileged_userns_clone", "0\n");
	box->host = host_read();
	EXPECT(box, WITH(.as_user = true, .refuse = REFUSE_USERNS), 125,
	       "userns-sysctl", "make the namespaces: clone: "
	       "kernel.unprivileged_userns_clone=0 keeps user namespaces from "
	       "ordinary users (EPERM)", "whoever runs this machine has to "
	       "allow them: sysctl -w kernel.unprivileged_userns_clone=1");
	/* One that allows it is not to blame. */
	file_write("/proc/sys/kernel/unprivileged_userns_clone", "1\n");
	EXPECT(box, WITH(.as_user = true, .refuse = REFUSE_USERNS), 125,
	       "userns-seccomp", "*", "*");
	umount2("/proc/sys/kernel", MNT_DETACH);
}

Test(namespaces, forbidden_by_apparmor)
{
	const char *remedy = arena_format("install the AppArmor profile that "
		"comes with sbx-launch as /etc/apparmor.d/sbx-launch, with the "
		"path %s in it, and load it: apparmor_parser -r "
		"/etc/apparmor.d/sbx-launch", sbx_launch());
	struct box *box;

	box_need_root();
	box_need_mounts();
	box = user_box();
	fake_setting("apparmor_restrict_unprivileged_userns", "1\n");
	box->host = host_read();
	EXPECT(box, WITH(.as_user = true, .refuse = REFUSE_USERNS), 125,
	       "userns-apparmor", "make the namespaces: clone: AppArmor keeps "
	       "user namespaces from programs without a profile "
	       "(kernel.apparmor_restrict_unprivileged_userns=1) (EPERM)",
	       remedy);
	/* It gives them, and nothing in them. */
	EXPECT(box, WITH(.as_user = true,
			 .refuse = REFUSE({ "mount_setattr", EACCES })), 125,
	       "userns-apparmor", "*: mount_setattr: AppArmor keeps *(EACCES)",
	       remedy);
	umount2("/proc/sys/kernel", MNT_DETACH);
}

/* In @top: the directory "root" and a file "label". */
static int confine(const void *top)
{
	return machine_enter_mounts() ||
	       machine_fake_proc("attr/current", path_in(top, "label")) ||
	       enter_chroot(path_in(top, "root"));
}

/* Without a filter a label is to blame, whatever else says EPERM. */
Test(namespaces, refused_by_a_security_module)
{
	struct box *box;

	box_need_mounts();
	box = plain_box("");
	directory_make(path_in(box->top, "root"), 0755);
	file_write(path_in(box->top, "label"), "some-container (enforce)\n");
	EXPECT(box, WITH(.call = confine, .data = box->top), 125,
	       "userns-lsm", "make the namespaces: clone3: a security module "
	       "refuses user namespaces to 'some-container' (EPERM)",
	       "give the program or its container a policy that allows them: "
	       "docker or podman run --security-opt apparmor=unconfined or "
	       "label=disable");
}

/* ---- no id maps, no rights ------------------------------------------------------ */

static int read_only_proc(const void *data)
{
	if (machine_enter_userns(CLONE_NEWNS))
		return 1;
	CHECK(mount("/proc", "/proc", NULL, MS_BIND | MS_REC, NULL) == 0);
	CHECK(mount(NULL, "/proc", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY |
		    MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0);
	return 0;
}

Test(ids, proc_is_read_only)
{
	struct box *box = plain_box("");

	EXPECT(box, WITH(.call = read_only_proc), 125, "uidmap",
	       "uid_map: open '/proc/self/uid_map': /proc is mounted read-only, "
	       "so that no id can be mapped (EROFS)",
	       "give the sandbox or container around a /proc that can be "
	       "written, as its own and not as a read-only bind");
}

static int cover(const void *path)
{
	return machine_enter_userns(CLONE_NEWNS) || machine_cover(path);
}

Test(ids, proc_is_missing)
{
	struct box *box = plain_box("");

	/* It reads /proc itself, and ends the program at its own end. */
	if (sbx_sanitized())
		skip_test("sanitizer", "LeakSanitizer needs /proc");
	EXPECT(box, WITH(.call = cover, .data = "/proc"), 125, "proc-missing",
	       "*/proc*: there is no process file system at /proc (*)",
	       "mount one: mount -t proc proc /proc");
}

/* Root keeps, at its exec, what the bounding set has. */
static int drop(const void *cap)
{
	CHECK(prctl(PR_CAPBSET_DROP, *(const int *)cap, 0, 0, 0) == 0);
	return 0;
}

Test(ids, root_without_setfcap)
{
	const bool is_root = identity_self() == IDENTITY_ROOT;
	struct box *box = plain_box(is_root ? "[security]\nrun-as = caller\n" :
				    "");
	const int cap = CAP_SETFCAP;

	EXPECT(box, WITH(.unshare = identity_self() == IDENTITY_USER ?
				    CLONE_NEWUSER : 0,
			 .call = drop, .data = &cap), 125, "setfcap",
	       "uid_map: write '1000 0 1' to '/proc/self/uid_map': mapping uid "
	       "0 of the namespace around needs CAP_SETFCAP, which is missing "
	       "(EPERM)", "start as an ordinary user, or add the capability: "
	       "docker or podman run --cap-add SETFCAP");
}

Test(ids, root_without_other_rights)
{
	static const struct {
		int cap;
		const char *name, *text;
	} rows[] = {
		{ CAP_SETGID, "SETGID", "setgroups" },
		{ CAP_SETUID, "SETUID", "uid_map: write *" },
		{ CAP_SYS_ADMIN, "SYS_ADMIN", "*open_tree '*'" },
	};
	struct box *box;

	box_need_root();
	box = box_make();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* Without a workspace nothing is shown with other owners. */
		if (rows[i].cap != CAP_SYS_ADMIN)
			box_profile_alone(box, "[mask]\ntmpfs = /home\n");
		else
			box_profile(box, "%s", "");
		EXPECT(box, WITH(.call = drop, .data = &rows[i].cap), 125,
		       "capability", arena_format("%s: started as root without "
			"CAP_%s, which this needs (EPERM)", rows[i].text,
			rows[i].name), arena_format("start as an ordinary "
			"user, or add the capability: docker or podman run "
			"--cap-add %s", rows[i].name));
	}
}

/* ---- no mounts -------------------------------------------------------------------- */

Test(mounts, proc_is_masked)
{
	struct box *box = plain_box("");

	EXPECT(box, WITH(.call = cover, .data = "/proc/fs"), 125,
	       "proc-masked", "default: proc '/proc': *: masked /proc (mount "
	       "too revealing): '/proc/fs' covers a part of it, so that the "
	       "kernel gives no new one (EPERM)",
	       "start the container with a /proc that is not masked: docker "
	       "or podman run --security-opt systempaths=unconfined");
}

Test(mounts, refused_by_a_filter)
{
	static const int codes[] = { EPERM, EACCES };
	struct box *box = plain_box("");

	for (size_t i = 0; i < 2; i++)
		EXPECT(box, WITH(.refuse = REFUSE({ "pivot_root", codes[i] })),
		       125, "mount-denied", arena_format("pivot_root: "
			"pivot_root(2) is refused by a system-call filter "
			"(seccomp) of the surrounding container (%s)",
			i ? "EACCES" : "EPERM"),
		       "start the container with a filter that allows "
		       "pivot_root: docker or podman run --security-opt "
		       "seccomp=unconfined");
	EXPECT(box, WITH(.refuse = REFUSE({ "pivot_root", ENOSYS })), 125,
	       "mount-api", "pivot_root: pivot_root(2) does not exist here: "
	       "the kernel is older than 5.12, or a system-call filter hides "
	       "it (ENOSYS)", "use a newer kernel, or a container whose filter "
	       "knows pivot_root");
	EXPECT(box, WITH(.refuse = REFUSE({ "sethostname", EPERM })), 125,
	       "call-denied", "sethostname 'localhost': sethostname(2) is "
	       "refused by a system-call filter (seccomp) of the surrounding "
	       "container (EPERM)", "start the container with a filter that "
	       "allows sethostname: docker or podman run --security-opt "
	       "seccomp=unconfined");
}

Test(mounts, too_many)
{
	struct box *box = plain_box("");

	EXPECT(box, WITH(.refuse = REFUSE({ "move_mount", ENOSPC })), 125,
	       "mount-max", "*move_mount*: the mount namespace holds [0-9]* "
	       "mounts and fs.mount-max is [0-9]* (ENOSPC)",
	       "bind fewer trees with many mounts below them, or raise the "
	       "limit: sysctl -w fs.mount-max=200000");
}

/* Only root's launcher clones it where it is that. */
Test(mounts, unbindable)
{
	struct box *box;
	const char *place;

	box_need_root();
	box_need_mounts();
	box = plain_box("");
	place = path_in(box->top, "place");
	directory_make(place, 0755);
	cr_assert_eq(mount("none", place, "tmpfs", 0, NULL), 0);
	directory_make(path_in(place, "below"), 0755);
	cr_assert_eq(mount(NULL, place, NULL, MS_UNBINDABLE, NULL), 0);
	box_profile_alone(box, "[layers]\nlayer = %s/below\n", place);
	box->host = host_read();
	EXPECT(box, WITH(0), 125, "mount-unbindable",
	       arena_format("*p.ini:2: bind '%s/below' on '%s/below': "
		"open_tree '*': it is on '%s', which is mounted unbindable "
		"(EINVAL)", place, place, place),
	       arena_format("have whoever mounted it allow it: mount "
			    "--make-private '%s'", place));
	umount2(place, MNT_DETACH);
}

/* As the first process sees it that the kernel starts. */
static int live_in_rootfs(const void *table)
{
	return machine_enter_mounts() ||
	       machine_fake_proc("mountinfo", table);
}

Test(mounts, the_root_is_the_first_of_all)
{
	struct box *box;
	const char *table;

	box_need_mounts();
	/* With a mount in it /proc cannot be had anew. */
	box = plain_box("[namespaces]\nshare = pid\n");
	table = path_in(box->top, "mountinfo");
	file_write(table, "1 1 0:2 / / rw - rootfs rootfs rw\n"
		   "20 1 0:5 / /proc rw - proc proc rw\n");
	EXPECT(box, WITH(.call = live_in_rootfs, .data = table,
			 .refuse = REFUSE({ "pivot_root", EINVAL })), 125,
	       "initramfs", "pivot_root: running on the file system that the "
	       "machine started with (initramfs), which cannot be exchanged "
	       "for another (EINVAL)", "mount a root file system, and enter it "
	       "with switch_root before");
}

/* A directory like any other, with the host and what programs need in it. */
static int enter_plain_chroot(const void *root)
{
	static const char *const names[] = {
		"", "proc", "usr", "lib", "lib64",
	};

	if (machine_enter_mounts())
		return 1;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *place = path_in(root, *names[i] ? names[i] :
					    "inner");

		if (access(path_in("/", names[i]), F_OK) < 0)
			continue;
		CHECK(mkdir(place, 0755) == 0);
		CHECK(mount(path_in("/", names[i]), place, NULL,
			    MS_BIND | MS_REC, NULL) == 0);
	}
	CHECK(chroot(root) == 0);
	CHECK(chdir("/") == 0);
	return 0;
}

/* Root's launcher without a user namespace, as bubblewrap's callers have it. */
Test(mounts, the_root_is_no_mount)
{
	const struct outcome *o;
	struct box *box;
	const char *root;

	box_need_root();
	box_need_mounts();
	box = plain_box("");
	root = path_in(box->top, "root");
	directory_make(root, 0755);
	o = program_run(&(struct program){
		.argv = ARGV(path_in("/inner", sbx_launch()), "--status-fd",
			     "1", "--ro-bind", "/inner", "/", "true"),
		.call = enter_plain_chroot, .data = root });
	expect_exit(o, 125);
	expect_out_has(o, "\"reason\":\"chroot\"");
	expect_err_has(o, "Failed to make / slave: Invalid argument\n"
		       "sbx-launch: enter the tree with pivot_root or as a "
		       "container's root instead of with chroot\n");
	box_expect_clean(box);
}

static int few_files(const void *data)
{
	const struct rlimit limit = { 20, 20 };

	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	return 0;
}

Test(mounts, too_many_open_files)
{
	struct box *box = plain_box("[layers]\n"
		"layer = /usr /opt/1\nlayer = /usr /opt/2\n"
		"layer = /usr /opt/3\nlayer = /usr /opt/4\n"
		"layer = /usr /opt/5\nlayer = /usr /opt/6\n"
		"layer = /usr /opt/7\nlayer = /usr /opt/8\n");

	EXPECT(box, WITH(.call = few_files), 125, "open-files",
	       "*Too many open files", "the hard limit on open files is too "
	       "low for this many mounts: raise it (ulimit -Hn)");
}

Test(sources, missing)
{
	struct box *box = plain_box("[layers]\nlayer = /nowhere\n");

	EXPECT(box, WITH(0), 125, "source-missing", "*p.ini:4: bind "
	       "'/nowhere' on '/nowhere': open_tree '/nowhere': No such file "
	       "or directory", "make it, correct the path, or write 'optional' "
	       "behind it to go on without");
}

Test(sources, not_to_be_entered)
{
	struct box *box;

	if (identity_self() != IDENTITY_USER)
		skip_test("root-reads-all", "root enters everything");
	box = plain_box("[layers]\nlayer = /root/x /opt\n");
	EXPECT(box, WITH(0), 125, "source-denied", "*p.ini:4: bind '/root/x' "
	       "on '/opt': open_tree '/root/x': Permission denied",
	       "the user that starts the sandbox has to be able to enter every "
	       "directory on the way to it");
}

Test(sources, a_file_system_without_id_maps)
{
	struct box *box;

	box_need_root();
	box_need_mounts();
	box = box_make();
	cr_assert_eq(mount("none", box->work, "ramfs", 0, NULL), 0);
	box->host = host_read();
	EXPECT(box, WITH(0), 125, "idmap", arena_format("*p.ini:7: bind '%s' "
		"on '%s': '%s' cannot be shown with other owners: "
		"mount_setattr (id map): ramfs has no id-mapped mounts "
		"(EINVAL)", box->work, box->work, box->work),
	       "use ext4, xfs, btrfs or tmpfs, or start as an ordinary user, "
	       "or set run-as = caller");
	umount2(box->work, MNT_DETACH);
}
