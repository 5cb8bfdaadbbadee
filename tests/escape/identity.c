/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attacks with whatever rights the payload has: ids, groups, capabilities. */
#include "attack.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* bubblewrap's payload keeps the capabilities of whoever starts it as root. */
#define AS_ANY_ROOT (AS_ROOT | AS_UNSHARE)

/* ---- files of the host's root ------------------------------------------------------- */

ATTACK(identity, shadow_file, .weak = BWRAP, .bites = AS_ROOT)
{
	return attack_opens("/etc/shadow", O_RDONLY);
}

/* Where nothing is masked. */
static void keep_a_file(struct scene *scene, mode_t mode, uid_t uid,
			gid_t gid)
{
	const char *directory = scratch_make_in("/opt");

	scene->bait = path_in(directory, "secret");
	file_write(scene->bait, "hunter2");
	if (chmod(directory, 0755) < 0 || chown(scene->bait, uid, gid) < 0 ||
	    chmod(scene->bait, mode) < 0)
		harness_fail("a file of group %d", (int)gid);
	scene_tell(scene, "file", scene->bait);
}

static void keep_a_file_of_root(struct scene *scene)
{
	keep_a_file(scene, 0600, 0, 0);
}

ATTACK(identity, file_of_root, .weak = BWRAP, .who = AS_ROOT,
       .bait = keep_a_file_of_root)
{
	return attack_opens(attack_word("file"), O_RDONLY);
}

enum { GROUP = 4242 };

static int join_a_group(const void *data)
{
	gid_t group = GROUP;

	return setgroups(1, &group);
}

static void keep_a_file_of_a_group(struct scene *scene)
{
	keep_a_file(scene, 0040, GROUP + 1, GROUP);
	scene->program.call = join_a_group;
}

/* "docker", "disk", "shadow": as good as root. */
ATTACK(identity, file_of_a_supplementary_group, .weak = BWRAP,
       .who = AS_ROOT, .bait = keep_a_file_of_a_group)
{
	return attack_opens(attack_word("file"), O_RDONLY);
}

/* Root's own files need no capability; this one names a program to run. */
ATTACK(identity, core_pattern, .weak = BWRAP, .bites = AS_ROOT)
{
	return attack_opens("/proc/sys/kernel/core_pattern", O_WRONLY) ||
	       attack_opens("/proc/sys/kernel/modprobe", O_WRONLY) ||
	       attack_opens("/proc/sys/vm/drop_caches", O_WRONLY);
}

/* ---- capabilities --------------------------------------------------------------------- */

ATTACK(identity, capabilities, .weak = BWRAP, .bites = AS_ANY_ROOT)
{
	const char *line = strstr(attack_read("/proc/self/status"), "\nCap");
	unsigned long long set;

	/* CapInh, CapPrm, CapEff, CapBnd and CapAmb, one behind the other. */
	for (int i = 0; i < 5 && line; i++) {
		if (sscanf(line, "\nCap%*3s: %llx", &set) == 1 && set)
			return true;
		line = strchr(line + 1, '\n');
	}
	return !line;
}

ATTACK(identity, remount_of_the_root, .weak = BWRAP, .bites = AS_ANY_ROOT)
{
	return mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL) == 0;
}

ATTACK(identity, unmount_of_a_mask, .weak = BWRAP, .bites = AS_ANY_ROOT)
{
	return umount2("/tmp", MNT_DETACH) == 0;
}

/* A clone of the root without what is mounted on it has no mask. */
ATTACK(identity, clone_of_the_root, .weak = BARE, .bites = AS_ROOT)
{
	return open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC) >=
	       0;
}

ATTACK(identity, mount_of_a_file_system, .weak = BWRAP,
       .bites = AS_ANY_ROOT)
{
	return mount("none", "/tmp", "tmpfs", 0, NULL) == 0 ||
	       fsopen("tmpfs", 0) >= 0;
}

static void unshare_control_groups(struct scene *scene)
{
	scene_bwrap(scene, ARGV("--unshare-cgroup"));
}

/* Their release_agent is a program that the kernel runs, outside. */
ATTACK(identity, mount_of_control_groups, .weak = BWRAP,
       .bites = AS_ANY_ROOT, .bait = unshare_control_groups)
{
	if (mount("none", "/tmp", "cgroup2", 0, NULL) == 0)
		return true;
	if (errno == ENODEV)
		attack_not_here("there are no control groups");
	return false;
}

ATTACK(identity, another_root, .weak = BWRAP, .bites = AS_ANY_ROOT)
{
	return chroot("/tmp") == 0;
}

/* In a user namespace of its own it would have all of them. */
ATTACK(identity, user_namespace, .weak = BWRAP)
{
	return unshare(CLONE_NEWUSER) == 0;
}

ATTACK(identity, user_namespace_without_the_filter, .weak = BWRAP,
       .with = WITH("--set", "security.seccomp=none"))
{
	return unshare(CLONE_NEWUSER) == 0;
}

static bool join(const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && setns(fd, 0) == 0;
}

/* The launcher's own, in which it had them. */
ATTACK(identity, namespaces_of_pid_1, .weak = BWRAP,
       .bites = AS_ANY_ROOT)
{
	return join("/proc/1/ns/net") || join("/proc/1/ns/ipc") ||
	       join("/proc/1/ns/user") || join("/proc/1/ns/mnt");
}

/* ---- programs and files with set-id bits ------------------------------------------------ */

PART(am_i_root)
{
	return geteuid() == 0;
}

static void let_in_a_program_of_root(struct scene *scene)
{
	const char *directory = scratch_make_in("/var/tmp");
	const char *program = path_in(directory, "su");
	size_t length;
	const char *text = file_read(path_in(scene->work, "attacker"),
				     &length);

	file_write_bytes(program, text, length, 0755);
	if (chmod(directory, 0755) < 0 || chmod(program, 04755) < 0)
		harness_fail("a set-user-ID program");
	scene_option(scene, "--set", arena_format("layers.layer=%s",
						  directory));
	scene_tell(scene, "program", program);
}

ATTACK(identity, set_user_id_program, .weak = BARE, .who = AS_ROOT,
       .as_user = true, .bait = let_in_a_program_of_root)
{
	execl(attack_word("program"), "su", "am_i_root", NULL);
	return false;
}

static bool is_setid(const struct scene *scene, const struct outcome *outcome)
{
	const char *path = path_in(scene->work, "left");

	return file_exists(path) && file_mode(path) & 06000;
}

/* On the host it belongs to root, whoever runs it there. */
ATTACK(identity, set_user_id_file_left_behind, .weak = BWRAP,
       .who = AS_ROOT, .seen = is_setid)
{
	int fd = open("left", O_RDWR | O_CREAT | O_CLOEXEC, 06755);

	if (fd < 0)
		fd = open("left", O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	if (fchmod(fd, 06755) < 0)
		chmod("left", 06755);
	return false;
}

ATTACK(identity, device_node_left_behind, .weak = BARE, .bites = AS_ROOT)
{
	return mknod("node", S_IFCHR | 0666, 0x103) == 0;
}
