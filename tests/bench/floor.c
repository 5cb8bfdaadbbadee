/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * floor WORKSPACE COMMAND [ARGUMENT...]
 *
 * The least that the benchmark's sandbox can cost: all namespaces, the host
 * read-only, empty /home and /tmp, /proc, a /dev of its own, one writable
 * workspace, PID 1 and its child, in nothing but the system calls that this
 * takes.  No options, no checks, no errors that anybody could read: what a
 * launcher needs on top of this is what it is measured by.
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sched.h>

static const char *const device_nodes[] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
	"/dev/tty",
};

enum { DEVICES = sizeof(device_nodes) / sizeof(*device_nodes) };

/* The result of a call that has to succeed. */
static int must(long result, const char *what)
{
	if (result < 0) {
		dprintf(STDERR_FILENO, "floor: %s: %s\n", what,
			strerror(errno));
		_exit(1);
	}
	return (int)result;
}

static void write_file(const char *path, const char *text)
{
	int fd = must(open(path, O_WRONLY | O_CLOEXEC), path);

	must(write(fd, text, strlen(text)), path);
	close(fd);
}

static void map_ids(uid_t uid, gid_t gid)
{
	char line[64];

	write_file("/proc/self/setgroups", "deny");
	snprintf(line, sizeof(line), "%u %u 1", uid, uid);
	write_file("/proc/self/uid_map", line);
	snprintf(line, sizeof(line), "%u %u 1", gid, gid);
	write_file("/proc/self/gid_map", line);
}

static void start_loopback(void)
{
	int fd = must(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	must(ioctl(fd, SIOCSIFFLAGS, &request), "SIOCSIFFLAGS");
	close(fd);
}

static int clone_tree(const char *path, unsigned int flags)
{
	return must(open_tree(AT_FDCWD, path,
			      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags),
		    path);
}

static void set_attributes(int fd, unsigned long attributes)
{
	struct mount_attr attr = { .attr_set = attributes };

	must(mount_setattr(fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
			   sizeof(attr)), "mount_setattr");
}

static void attach(int fd, const char *path)
{
	must(move_mount(fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH),
	     path);
	close(fd);
}

static void mount_tmpfs(const char *path)
{
	must(mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755"),
	     path);
}

static void make_devices(const int *devices)
{
	mount_tmpfs("/dev");
	for (int i = 0; i < DEVICES; i++) {
		close(must(open(device_nodes[i], O_CREAT | O_CLOEXEC, 0444),
			   device_nodes[i]));
		attach(devices[i], device_nodes[i]);
	}
	must(symlink("/proc/self/fd", "/dev/fd"), "fd");
	must(symlink("/proc/self/fd/0", "/dev/stdin"), "stdin");
	must(symlink("/proc/self/fd/1", "/dev/stdout"), "stdout");
	must(symlink("/proc/self/fd/2", "/dev/stderr"), "stderr");
	must(symlink("pts/ptmx", "/dev/ptmx"), "ptmx");
	must(mkdir("/dev/shm", 0755), "shm");
	must(mkdir("/dev/pts", 0755), "pts");
	must(mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		   "newinstance,ptmxmode=0666,mode=620"), "devpts");
}

static void make_parents(const char *path)
{
	char part[4096];

	snprintf(part, sizeof(part), "%s", path);
	for (char *slash = strchr(part + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(part, 0755);
		*slash = '/';
	}
	mkdir(part, 0755);
}

static void build(const char *workspace)
{
	int devices[DEVICES], root, work;

	must(mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL), "/");
	root = clone_tree("/", AT_RECURSIVE);
	set_attributes(root, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
			     MOUNT_ATTR_NODEV);
	work = clone_tree(workspace, AT_RECURSIVE);
	set_attributes(work, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	for (int i = 0; i < DEVICES; i++)
		devices[i] = clone_tree(device_nodes[i], 0);

	must(move_mount(root, "", AT_FDCWD, "/tmp", MOVE_MOUNT_F_EMPTY_PATH),
	     "root");
	must(fchdir(root), "fchdir");
	must(syscall(SYS_pivot_root, ".", "."), "pivot_root");
	must(umount2(".", MNT_DETACH), "umount2");
	must(chdir("/"), "chdir");

	mount_tmpfs("/home");
	mount_tmpfs("/tmp");
	must(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		   NULL), "/proc");
	make_devices(devices);
	make_parents(workspace);
	attach(work, workspace);
	must(chdir(workspace), "workspace");
}

static int wait_for(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0), "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int main(int argc, char **argv)
{
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
			 CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
			 CLONE_NEWNET,
		.exit_signal = SIGCHLD,
	};
	uid_t uid = getuid();
	gid_t gid = getgid();
	char *environment[] = { "PATH=/usr/bin", NULL };
	pid_t pid;

	if (argc < 3)
		return 2;
	pid = must(syscall(SYS_clone3, &args, sizeof(args)), "clone3");
	if (pid)
		return wait_for(pid);
	must(prctl(PR_SET_PDEATHSIG, SIGKILL), "PR_SET_PDEATHSIG");
	map_ids(uid, gid);
	start_loopback();
	build(argv[1]);
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS");
	pid = must(fork(), "fork");
	if (pid)
		_exit(wait_for(pid));
	execve(argv[2], argv + 2, environment);
	_exit(127);
}
