/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The default filter in the kernel: system calls made for real under it, as
 * somebody would who wants out.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "attempt.h"
#include "base/mem.h"
#include "filtered.h"
#include "harness/arena.h"
#include "harness/identity.h"
#include "harness/program.h"
#include "harness/scratch.h"
#include "sys/seccomp.h"

/* What the kernel drops from an argument of 32 bits. */
#define ABOVE (1UL << 32)

/* @call is -1 with errno @code. */
#define CHECK_FAILS(call, code) \
	CHECK((errno = 0, (call)) == -1 && errno == (code))

/* ---- namespaces, mounts -------------------------------------------------------- */

static void *run_thread(void *argument)
{
	return argument;
}

static int try_namespaces(const void *unused)
{
	static const unsigned long flags[] = {
		CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET,
		CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP,
	};
	struct clone_args_3 { uint64_t word[11]; } args = {
		{ CLONE_NEWUSER, 0, 0, 0, SIGCHLD } };
	pthread_t thread;
	int status;

	LOAD(0);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		CHECK_FAILS(unshare((int)flags[i]), EPERM);
		CHECK_FAILS(syscall(SYS_unshare, flags[i] | ABOVE), EPERM);
		CHECK_FAILS(syscall(SYS_clone, flags[i] | SIGCHLD, 0, 0, 0, 0),
			    EPERM);
		CHECK_FAILS(syscall(SYS_clone, flags[i] | SIGCHLD | ABOVE, 0,
				    0, 0, 0), EPERM);
	}
	CHECK_FAILS(unshare(0x80), EPERM); /* time, which clone cannot */
	CHECK_FAILS(syscall(SYS_clone3, &args, sizeof(args)), ENOSYS);
	CHECK_FAILS(setns(0, 0), EPERM);
	CHECK_FAILS(mount("none", "/", "tmpfs", 0, NULL), EPERM);
	CHECK_FAILS(umount2("/", MNT_DETACH), EPERM);
	CHECK_FAILS(chroot("/"), EPERM);
	CHECK_FAILS(syscall(SYS_open_tree, -1, "/", 0), EPERM);
	CHECK_FAILS(syscall(SYS_fsopen, "tmpfs", 0), EPERM);
	CHECK_FAILS(syscall(SYS_mount_setattr, -1, "", 0, NULL, 0), EPERM);
	CHECK_FAILS(syscall(467, -1, "", 0, NULL, 0), EPERM);
	CHECK_FAILS(sethostname("x", 1), EPERM);

	/* What the C library makes of clone and clone3 still is there. */
	CHECK(pthread_create(&thread, NULL, run_thread, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	status = system("exit 7");
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	return 0;
}

Test(seccomp_calls, no_namespaces_and_no_mounts)
{
	expect_passes(try_namespaces);
	expect_passes(try_namespaces, .as_user = true);
}

static int try_nesting(const void *unused)
{
	LOAD(SECCOMP_ALLOW_USERNS);
	CHECK(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0);
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	CHECK(mount("none", "/tmp", "tmpfs", 0, NULL) == 0);
	CHECK(umount2("/tmp", 0) == 0);
	CHECK_FAILS(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, -3, 0), EPERM);
	CHECK_FAILS(socket(AF_PACKET, SOCK_RAW, 0), EAFNOSUPPORT);
	CHECK_FAILS(socket(AF_INET, SOCK_PACKET, 0x300), EAFNOSUPPORT);
	CHECK_FAILS(socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER),
		    EPROTONOSUPPORT);
	return 0;
}

Test(seccomp_calls, the_variant_for_nesting_nests)
{
	expect_passes(try_nesting, .as_user = true);
}

/* ---- sockets ----------------------------------------------------------------------- */

static int try_sockets(const void *unused)
{
	static const int refused[] = { AF_VSOCK, AF_PACKET, AF_KEY, AF_RXRPC,
				       AF_TIPC, AF_BLUETOOTH, AF_CAN, 38 /* alg */,
				       43 /* smc */, 44 /* xdp */ };
	int pair[2];

	LOAD(0);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		CHECK_FAILS(socket(refused[i], SOCK_STREAM, 0), EAFNOSUPPORT);
		CHECK_FAILS(syscall(SYS_socket, (long)refused[i] | (long)ABOVE,
				    SOCK_SEQPACKET, 0), EAFNOSUPPORT);
	}
	CHECK_FAILS(socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER),
		    EPROTONOSUPPORT);
	CHECK_FAILS(socket(AF_NETLINK, SOCK_RAW, NETLINK_XFRM),
		    EPROTONOSUPPORT);
	CHECK_FAILS(socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP),
		    EPROTONOSUPPORT);
	CHECK(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE) >= 0);
	CHECK(socket(AF_INET, SOCK_STREAM, 0) >= 0);
	CHECK(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, IPPROTO_UDP) >= 0);
	CHECK(socket(AF_UNIX, SOCK_DGRAM, 0) >= 0);
	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
	/* Bits above an int are the kernel's to drop; it is the same call. */
	CHECK(syscall(SYS_socket, (long)(AF_UNIX | ABOVE), SOCK_STREAM, 0) >= 0);
	return 0;
}

Test(seccomp_calls, families_and_protocols_are_a_list)
{
	expect_passes(try_sockets);
}

/* A socket that listens or receives below the test's own directory. */
static int host_socket(const char *path, int type, struct sockaddr_un *ret)
{
	int fd = socket(AF_UNIX, type, 0);

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(ret->sun_path, sizeof(ret->sun_path), "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)ret, sizeof(*ret)) < 0 ||
	    (type == SOCK_STREAM && listen(fd, 1) < 0))
		return -1;
	return fd;
}

static int try_without_unix(const void *directory)
{
	static const int connected[] = { SOCK_STREAM, SOCK_SEQPACKET };
	struct sockaddr_un stream, datagram;
	int pair[2], old[2];
	char byte;

	CHECK(chdir(directory) == 0); /* short names */
	CHECK(host_socket("stream", SOCK_STREAM, &stream) >= 0);
	CHECK(host_socket("datagram", SOCK_DGRAM, &datagram) >= 0);
	/* Why pairs of datagram sockets are refused: */
	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, old) == 0);
	CHECK(sendto(old[0], "x", 1, 0, (struct sockaddr *)&datagram,
		     sizeof(datagram)) == 1);

	LOAD(SECCOMP_DENY_UNIX);
	CHECK_FAILS(socket(AF_UNIX, SOCK_STREAM, 0), EPERM);
	CHECK_FAILS(socket(AF_UNIX, SOCK_DGRAM, 0), EPERM);
	CHECK_FAILS(syscall(SYS_socket, AF_UNIX | ABOVE, SOCK_STREAM, 0),
		    EPERM);
	CHECK_FAILS(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), EPERM);
	CHECK_FAILS(socketpair(AF_UNIX, SOCK_RAW, 0, pair), EPERM);
	for (size_t i = 0; i < ARRAY_SIZE(connected); i++) {
		int type = connected[i] | SOCK_CLOEXEC;

		CHECK(socketpair(AF_UNIX, type, 0, pair) == 0);
		CHECK(write(pair[0], "x", 1) == 1);
		CHECK(read(pair[1], &byte, 1) == 1);
		CHECK(connect(pair[0], (struct sockaddr *)&stream,
			      sizeof(stream)) < 0);
		CHECK(close(pair[1]) == 0);
		CHECK(connect(pair[0], (struct sockaddr *)&stream,
			      sizeof(stream)) < 0);
		CHECK(sendto(pair[0], "x", 1, MSG_NOSIGNAL,
			     (struct sockaddr *)&stream, sizeof(stream)) < 0);
		CHECK(listen(pair[0], 1) < 0);
	}
	CHECK(socket(AF_INET, SOCK_STREAM, 0) >= 0);
	return 0;
}

Test(seccomp_calls, without_unix_sockets_nothing_connects)
{
	expect_passes(try_without_unix, .data = scratch_make());
}

/* ---- files ------------------------------------------------------------------------- */

enum { FCHMODAT2 = 452 };

static mode_t mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : st.st_mode & 07777;
}

static int try_setid(const void *directory)
{
	struct open_how how = { .flags = O_CREAT | O_WRONLY, .mode = 04755 };
	int fd;

	umask(0);
	CHECK(chdir(directory) == 0);
	LOAD(SECCOMP_DENY_SETID);

	fd = open("file", O_CREAT | O_RDWR, 0755);
	CHECK(fd >= 0);
	CHECK(chmod("file", 0711) == 0 && mode_of("file") == 0711);
	CHECK(mkdir("dir", 01777) == 0 && mode_of("dir") == 01777);
	/* Without O_CREAT nobody looks at what lies in the mode. */
	CHECK(syscall(SYS_openat, AT_FDCWD, "file", O_RDONLY, 06777) >= 0);

#ifdef SYS_chmod
	CHECK_FAILS(syscall(SYS_chmod, "file", 04755), EPERM);
	CHECK_FAILS(syscall(SYS_chmod, "file", 02755 | ABOVE), EPERM);
	CHECK_FAILS(syscall(SYS_open, "x", O_CREAT | O_WRONLY, 04755), EPERM);
	CHECK_FAILS(syscall(SYS_creat, "x", 02755), EPERM);
	CHECK_FAILS(syscall(SYS_mkdir, "x", 02755), EPERM);
	CHECK_FAILS(syscall(SYS_mknod, "x", S_IFREG | 04755, 0), EPERM);
#endif
	CHECK_FAILS(fchmod(fd, 04755), EPERM);
	CHECK_FAILS(fchmod(fd, 02000), EPERM);
	CHECK_FAILS(fchmodat(AT_FDCWD, "file", 06777, 0), EPERM);
	CHECK_FAILS(syscall(FCHMODAT2, AT_FDCWD, "file", 04755, 0), EPERM);
	CHECK_FAILS(openat(AT_FDCWD, "x", O_CREAT | O_WRONLY, 04755), EPERM);
	CHECK_FAILS(syscall(SYS_openat, AT_FDCWD | ABOVE, "x",
			    (O_CREAT | O_WRONLY) | ABOVE, 04755 | ABOVE), EPERM);
	CHECK_FAILS(openat(AT_FDCWD, ".", O_TMPFILE | O_RDWR, 04755), EPERM);
	CHECK(openat(AT_FDCWD, ".", O_TMPFILE | O_RDWR, 0755) >= 0);
	CHECK_FAILS(syscall(SYS_openat2, AT_FDCWD, "x", &how, sizeof(how)),
		    ENOSYS);
	CHECK_FAILS(mkdirat(AT_FDCWD, "x", 02755), EPERM);
	CHECK_FAILS(mknodat(AT_FDCWD, "x", S_IFREG | 04755, 0), EPERM);
	CHECK(mknodat(AT_FDCWD, "fifo", S_IFIFO | 0644, 0) == 0);
	CHECK(access("x", F_OK) < 0 && mode_of("file") == 0711);
	return 0;
}

static int try_setid_where_it_may_be(const void *directory)
{
	struct open_how how = { .flags = O_CREAT | O_WRONLY, .mode = 0755 };

	umask(0);
	CHECK(chdir(directory) == 0);
	LOAD(0);
	CHECK(open("file", O_CREAT | O_RDWR, 0755) >= 0);
	CHECK(chmod("file", 04755) == 0 && mode_of("file") == 04755);
	CHECK(syscall(SYS_openat2, AT_FDCWD, "x", &how, sizeof(how)) >= 0);
	return 0;
}

Test(seccomp_calls, no_file_gets_a_setid_bit)
{
	expect_passes(try_setid, .data = scratch_make());
	expect_passes(try_setid_where_it_may_be, .data = scratch_make());
}

static int try_only(const void *directory)
{
	struct open_how how = { .flags = O_CREAT | O_WRONLY, .mode = 0755 };
	char data[128] = "";

	CHECK(chdir(directory) == 0);
	LOAD(SECCOMP_ONLY | SECCOMP_DENY_SETID | SECCOMP_DENY_UNIX);
	CHECK(open("file", O_CREAT | O_RDWR, 0755) >= 0);
	CHECK_FAILS(chmod("file", 04755), EPERM);
	CHECK_FAILS(syscall(SYS_openat2, AT_FDCWD, "x", &how, sizeof(how)),
		    ENOSYS);
	CHECK_FAILS(socket(AF_UNIX, SOCK_STREAM, 0), EPERM);
	CHECK_FAILS(syscall(SYS_io_uring_setup, 8, data), EPERM);
	/* The kernel's own answers to what the default refuses */
	CHECK(socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER) >= 0 ||
	      errno == EPROTONOSUPPORT);
	CHECK_FAILS(syscall(SYS_keyctl, -1), EOPNOTSUPP);
	CHECK_FAILS(setns(-1, 0), EBADF);
	CHECK(personality(ADDR_NO_RANDOMIZE) == PER_LINUX);
	CHECK(unshare(CLONE_NEWUSER) == 0);
	return 0;
}

Test(seccomp_calls, what_is_denied_beside_no_filter)
{
	expect_passes(try_only, .data = scratch_make());
}

/* ---- the terminal ------------------------------------------------------------------- */

static int try_terminal(const void *unused)
{
	unsigned long requests[] = { TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD };
	struct winsize size;
	int waiting, line = 0;
	char byte = 'x';

	LOAD(0);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		for (int shift = 32; shift < 64; shift++) {
			unsigned long above = 1UL << shift;
			void *what = requests[i] == TIOCSETD ? (void *)&line :
							       &byte;

			CHECK_FAILS(syscall(SYS_ioctl, 0, requests[i], what),
				    EPERM);
			CHECK_FAILS(syscall(SYS_ioctl, 0, requests[i] | above,
					    what), EPERM);
		}
	CHECK(ioctl(0, FIONREAD, &waiting) == 0 && waiting == 0);
	CHECK(ioctl(0, TIOCGWINSZ, &size) == 0);
	CHECK(isatty(0));
	return 0;
}

Test(seccomp_calls, nobody_types_into_the_terminal)
{
	expect_passes(try_terminal, .pty = true);
}

/* ---- other processes, keys, large parts of the kernel --------------------------------- */

static int try_the_refused(const void *unused)
{
	char data[256] = "";

	LOAD(0);
	CHECK_FAILS(syscall(SYS_process_vm_readv, getpid(), data, 0, data, 0,
			    0), EPERM);
	CHECK_FAILS(syscall(SYS_process_vm_writev, getpid(), data, 0, data, 0,
			    0), EPERM);
	CHECK_FAILS(syscall(SYS_pidfd_getfd, 0, 0, 0), EPERM);
	CHECK_FAILS(syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 0), EPERM);
	CHECK_FAILS(syscall(SYS_open_by_handle_at, 0, data, 0), EPERM);
	CHECK_FAILS(syscall(SYS_name_to_handle_at, 0, "", data, data, 0),
		    EPERM);
	CHECK_FAILS(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, -3, 0), EPERM);
	CHECK_FAILS(syscall(SYS_add_key, "user", "a", "b", 1, -3), EPERM);
	CHECK_FAILS(syscall(SYS_request_key, "user", "a", "b", 0), EPERM);
	CHECK_FAILS(syscall(SYS_io_uring_setup, 8, data), EPERM);
	CHECK_FAILS(syscall(SYS_io_uring_enter, 0, 0, 0, 0, 0, 0), EPERM);
	CHECK_FAILS(syscall(SYS_io_uring_register, 0, 0, 0, 0), EPERM);
	CHECK_FAILS(syscall(SYS_bpf, 5, data, 128), EPERM);
	CHECK_FAILS(syscall(SYS_perf_event_open, data, 0, -1, -1, 0), EPERM);
	CHECK_FAILS(syscall(SYS_userfaultfd, 1), EPERM);
	CHECK_FAILS(syscall(SYS_fanotify_init, 0x200, 0), EPERM);
	CHECK_FAILS(syscall(SYS_syslog, 10, NULL, 0), EPERM);
	CHECK_FAILS(syscall(SYS_finit_module, 0, "", 0), EPERM);
	CHECK_FAILS(syscall(SYS_swapoff, ""), EPERM);
	CHECK_FAILS(syscall(SYS_clock_settime, 0, data), EPERM);
	CHECK_FAILS(syscall(1000), ENOSYS);
	return 0;
}

Test(seccomp_calls, what_reaches_past_the_sandbox)
{
	expect_passes(try_the_refused);
}

static int try_personality(const void *unused)
{
	LOAD(0);
	CHECK(personality(0xffffffff) == PER_LINUX);
	CHECK_FAILS(personality(ADDR_NO_RANDOMIZE), EPERM);
	CHECK_FAILS(personality(READ_IMPLIES_EXEC), EPERM);
	CHECK_FAILS(syscall(SYS_personality, ADDR_NO_RANDOMIZE | ABOVE), EPERM);
	/* The kernel sees 32 bits of it: this sets nothing, it asks. */
	CHECK(syscall(SYS_personality, 0xffffffff | ABOVE) == PER_LINUX);
	CHECK(personality(PER_LINUX32) == PER_LINUX);
	return 0;
}

Test(seccomp_calls, personalities_are_a_list)
{
	expect_passes(try_personality);
}

static int trace_a_child(const void *flags)
{
	int status;
	pid_t pid;

	LOAD(*(const unsigned *)flags);
	pid = fork();
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	errno = 0;
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	status = errno;
	CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	return status;
}

Test(seccomp_calls, debuggers)
{
	const struct outcome *o;
	unsigned flags = 0;

	expect_passes(trace_a_child, .data = &flags);
	flags = SECCOMP_DENY_PTRACE;
	o = program_run(&(struct program){ .call = trace_a_child,
					   .data = &flags });
	expect_exit(o, EPERM);
}

/* ---- other ABIs ---------------------------------------------------------------------- */

#ifdef __x86_64__
static int call_x32(const void *unused)
{
	LOAD(0);
	syscall(0x40000000 | SYS_getpid);
	return 0;
}

static int call_i386(const void *is_filtered)
{
	long r = 20; /* getpid */

	if (*(const bool *)is_filtered)
		LOAD(0);
	__asm__ volatile("int $0x80" : "+a"(r) : : "memory");
	return 0;
}

Test(seccomp_calls, another_abi_is_the_end)
{
	const struct outcome *o;
	bool is_filtered = false, is_built_in;

	o = program_run(&(struct program){ .call = call_x32 });
	cr_expect(o->signal == SIGSYS, "%s", outcome_describe(o));

	/* A kernel without 32-bit programs ends the process on its own. */
	o = program_run(&(struct program){ .call = call_i386,
					   .data = &is_filtered });
	is_built_in = o->signal == 0;
	is_filtered = true;
	o = program_run(&(struct program){ .call = call_i386,
					   .data = &is_filtered });
	cr_expect(o->signal == (is_built_in ? SIGSYS : SIGSEGV), "%s",
		  outcome_describe(o));
}
#endif
