/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Attacks on the kernel, and on what it shows: keyrings, /proc, /sys, calls
 * in which there were holes before.  seccomp.c has what the filter's
 * arguments are about.
 */
#include "attack.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/fanotify.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <net/if.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define NO_FILTER WITH("--set", "security.seccomp=none")

/* ---- keyrings -------------------------------------------------------------------------- */

static int keep_a_key(const void *data)
{
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	syscall(SYS_add_key, "user", "sbx-secret", "hunter2", 7,
		KEY_SPEC_SESSION_KEYRING);
	return 0;
}

static void hold_a_key(struct scene *scene)
{
	scene->program.call = keep_a_key;
}

static bool find_the_key(void)
{
	char text[8];
	long key = syscall(SYS_keyctl, KEYCTL_SEARCH,
			   KEY_SPEC_SESSION_KEYRING, "user", "sbx-secret", 0);

	return key >= 0 && syscall(SYS_keyctl, KEYCTL_READ, key, text,
				   sizeof(text)) == 7;
}

ATTACK(kernel, key_of_the_callers_session, .weak = BWRAP, .bait = hold_a_key)
{
	return find_the_key();
}

ATTACK(kernel, key_without_the_filter, .weak = BWRAP, .with = NO_FILTER,
       .bait = hold_a_key)
{
	return find_the_key();
}

/* It may start a program on the host. */
ATTACK(kernel, request_of_a_key, .weak = BWRAP)
{
	return syscall(SYS_request_key, "user", "sbx-nothing", NULL, 0) >= 0 ||
	       errno == ENOKEY;
}

/* ---- what the filter keeps away --------------------------------------------------------- */

/* A call that is refused to everybody, or not there, is no attack. */
static bool opens(long fd)
{
	if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EACCES ||
		       errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT))
		attack_not_here("this kernel refuses it");
	return fd >= 0;
}

ATTACK(kernel, io_uring, .weak = NO_FILTER)
{
	char params[256] = { 0 };

	return opens(syscall(SYS_io_uring_setup, 8, params));
}

ATTACK(kernel, bpf_map, .weak = NO_FILTER)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY,
				.key_size = 4, .value_size = 8,
				.max_entries = 1 };

	return opens(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
}

ATTACK(kernel, perf_event, .weak = NO_FILTER)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK, .exclude_kernel = 1,
	};

	return opens(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

ATTACK(kernel, userfaultfd, .weak = NO_FILTER)
{
	return opens(syscall(SYS_userfaultfd, 1 /* of user mode only */));
}

/* Whoever can read a file can watch everybody who uses it. */
ATTACK(kernel, fanotify, .weak = NO_FILTER)
{
	return opens(syscall(SYS_fanotify_init, FAN_REPORT_FID, O_RDONLY));
}

ATTACK(kernel, socket_of_the_hypervisor, .weak = NO_FILTER)
{
	return opens(socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

ATTACK(kernel, socket_of_the_cryptography, .weak = NO_FILTER)
{
	return opens(socket(AF_ALG, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
}

ATTACK(kernel, netlink_of_devices, .weak = NO_FILTER)
{
	return opens(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 15));
}

ATTACK(kernel, clone_with_a_user_namespace, .weak = BWRAP)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return pid > 0;
}

/* Its flags are where no filter looks. */
ATTACK(kernel, clone3_with_a_user_namespace, .weak = BWRAP)
{
	struct clone_args args = { .flags = CLONE_NEWUSER,
				   .exit_signal = SIGCHLD };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(0);
	return pid > 0;
}

#ifdef __x86_64__

static bool unshare_in_32_bits(void)
{
	long r = 310; /* unshare, there */

	__asm__ volatile("int $0x80" : "+a"(r)
			 : "b"(CLONE_NEWUSER) : "memory");
	return r == 0;
}

static bool getpid_in_32_bits(void)
{
	long r = 20;

	__asm__ volatile("int $0x80" : "+a"(r) : : "memory");
	return r > 0;
}

ATTACK(kernel, call_of_a_32_bit_program, .weak = BWRAP)
{
	if (attack_in_child(unshare_in_32_bits))
		return true;
	if (!attack_in_child(getpid_in_32_bits))
		attack_not_here("no 32-bit calls");
	return false;
}

static bool unshare_in_x32(void)
{
	return syscall(0x40000000 | SYS_unshare, CLONE_NEWUSER) == 0;
}

ATTACK(kernel, call_of_an_x32_program, .weak = BWRAP)
{
	if (attack_in_child(unshare_in_x32))
		return true;
	attack_not_here("no x32 calls");
}

#endif

/* ---- what the machine is called, what it says, what it shares ------------------------ */

static void tell_the_name(struct scene *scene)
{
	struct utsname name;

	uname(&name);
	if (!strcmp(name.nodename, "localhost"))
		skip_test("not-here", "the host is called localhost, too");
	scene_tell(scene, "name", name.nodename);
}

ATTACK(kernel, name_of_the_host, .weak = BWRAP, .bait = tell_the_name)
{
	struct utsname name;

	return uname(&name) == 0 &&
	       !strcmp(name.nodename, attack_word("name"));
}

ATTACK(kernel, messages_of_the_kernel, .weak = NO_FILTER)
{
	char text[4096];

	return opens(klogctl(3 /* read all */, text, sizeof(text)));
}

static void share_memory(struct scene *scene)
{
	key_t key = (key_t)(getpid() * 2 + scene->is_weak);
	int id = shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0666);
	char *memory = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

	if (memory == (void *)-1)
		harness_fail("shared memory");
	/* It is there for as long as somebody has it. */
	strcpy(memory, "hunter2");
	shmctl(id, IPC_RMID, NULL);
	scene_tell(scene, "id", arena_format("%d", id));
}

ATTACK(kernel, shared_memory_of_the_host, .weak = BWRAP,
       .bait = share_memory)
{
	const char *memory = shmat((int)strtol(attack_word("id"), NULL, 10),
				   NULL, SHM_RDONLY);

	return memory != (void *)-1 && !strcmp(memory, "hunter2");
}

/* ---- /proc and /sys ---------------------------------------------------------------------- */

/* When which device was used, and so what is typed. */
ATTACK(kernel, interrupts_of_the_machine, .weak = BWRAP)
{
	return strstr(attack_read("/proc/interrupts"), "CPU0");
}

ATTACK(kernel, timers_of_the_machine, .weak = BWRAP, .bites = AS_ROOT)
{
	return *attack_read("/proc/timer_list");
}

ATTACK(kernel, keys_of_the_host, .weak = BWRAP)
{
	if (access("/proc/keys", F_OK) < 0)
		attack_not_here("no /proc/keys");
	return attack_opens("/proc/keys", O_RDONLY) &&
	       *attack_read("/proc/keys");
}

static int open_anything(const char *directory, const char *const *names)
{
	for (; *names; names++) {
		char path[256];

		snprintf(path, sizeof(path), "%s/%s", directory, *names);
		if (attack_opens(path, O_WRONLY))
			return true;
	}
	return false;
}

ATTACK(kernel, switches_of_the_kernel, .weak = BWRAP, .bites = AS_ROOT)
{
	return open_anything("/proc/sys", ARGV(
		"kernel/randomize_va_space", "kernel/hostname",
		"vm/overcommit_memory", "fs/suid_dumpable",
		"user/max_user_namespaces", "fs/binfmt_misc/register"));
}

/* Names in @path that nothing of the sandbox's put there. */
static bool has_entries(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	bool any = false;

	while (directory && (entry = readdir(directory)))
		any |= entry->d_name[0] != '.';
	if (directory)
		closedir(directory);
	return any;
}

static void unshare_the_network(struct scene *scene)
{
	scene_bwrap(scene, ARGV("--unshare-net"));
}

/* Without a network of the host's its devices are no business either. */
ATTACK(kernel, network_devices_of_the_host, .weak = BWRAP,
       .bait = unshare_the_network)
{
	DIR *directory = opendir("/sys/class/net");
	struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		if (entry->d_name[0] != '.' &&
		    !if_nametoindex(entry->d_name))
			return true;
	return false;
}

static bool shows(const char *path)
{
	if (!has_entries(path))
		attack_not_here("nothing there");
	return true;
}

ATTACK(kernel, firmware_of_the_machine, .weak = BWRAP)
{
	return shows("/sys/firmware");
}

ATTACK(kernel, control_groups_of_the_host, .weak = BWRAP)
{
	return shows("/sys/fs/cgroup");
}

/* Then /sys is the host's own. */
#define HOST_NETWORK WITH("--set", "namespaces.share=net")

ATTACK(kernel, firmware_where_the_network_is_shared, .weak = BWRAP,
       .with = HOST_NETWORK)
{
	return shows("/sys/firmware");
}

ATTACK(kernel, control_groups_where_the_network_is_shared, .weak = BWRAP,
       .with = HOST_NETWORK)
{
	return shows("/sys/fs/cgroup");
}

ATTACK(kernel, tracing_of_the_kernel, .weak = BWRAP, .bites = AS_ROOT)
{
	return has_entries("/sys/kernel/tracing") ||
	       shows("/sys/kernel/debug");
}

ATTACK(kernel, power_of_the_machine, .weak = BWRAP)
{
	return shows("/sys/devices/virtual/powercap");
}
