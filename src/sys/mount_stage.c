/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The area is a tmpfs with a file or an empty directory for every mount.
 *
 * A child of root's has, before it becomes the payload's id, an id that its
 * user namespace does not know: it may mount, but the kernel lets it make no
 * file anywhere.  A process that does become that id makes them then, many at
 * a time.
 */
#include "sys/mount_stage.h"

#include "base/mem.h"
#include "sys/mountfd.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>

enum { BATCH = 64 }; /* names of each type that a process makes */

static struct {
	int root; /* O_PATH of the tmpfs */
	int procfs;
	int fds;  /* /proc/self/fd */
	int cwd;  /* where relative paths start meanwhile */
	uid_t uid;
	gid_t gid;
	unsigned next[2]; /* number of the next file, directory */
	unsigned made[2]; /* ... and behind the last that was made ahead */
} stage = { .root = -EBADF, .procfs = -EBADF, .fds = -EBADF, .cwd = -EBADF };

int stage_mount(int source, const char *type, int target, unsigned long flags,
		const char *options)
{
	char from[16], on[16];
	int r, code;

	snprintf(from, sizeof(from), "%d", source);
	snprintf(on, sizeof(on), "%d", target);
	if (fchdir(stage.fds) < 0)
		return -1;
	r = mount(source >= 0 ? from : type, on, type, flags, options);
	code = errno;
	if (fchdir(stage.cwd) < 0)
		return -1;
	errno = code;
	return r;
}

int stage_procfs(void)
{
	return stage.procfs;
}

static int open_area(struct error *err)
{
	struct statfs status;
	uint64_t above, root;

	/* One step up from the root is what was mounted on it last. */
	stage.root = open("/..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (stage.root < 0)
		return error_set(err, errno, "open the staging area");
	if (mountfd_id(stage.root, "", &above, err) < 0 ||
	    mountfd_id(AT_FDCWD, "/", &root, err) < 0)
		return error_result(err);
	if (above == root || fstatfs(stage.root, &status) < 0 ||
	    status.f_type != TMPFS_MAGIC)
		return error_set(err, EXDEV, "the staging area is not the "
				 "last mount on '/'");
	if (stage_mount(-EBADF, NULL, stage.root, MS_UNBINDABLE, NULL) < 0)
		return error_set(err, errno, "make the staging area "
				 "unbindable");
	return 0;
}

int stage_begin(int procfs, uid_t uid, gid_t gid, struct error *err)
{
	char options[64];

	stage.procfs = procfs;
	stage.uid = uid;
	stage.gid = gid;
	stage.fds = proc_open_file(procfs, "self/fd", O_PATH | O_DIRECTORY,
				   err);
	if (stage.fds < 0)
		return stage.fds;
	stage.cwd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* A directory that may not be entered leads nowhere anyway. */
	if (stage.cwd < 0 || fchdir(stage.cwd) < 0) {
		mem_close_fd(&stage.cwd);
		stage.cwd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (stage.cwd < 0)
		return error_set(err, errno, "open the working directory");
	snprintf(options, sizeof(options), "mode=0755,uid=%u,gid=%u", uid,
		 gid);
	if (mount("tmpfs", "/", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  options) < 0)
		return error_call(err, errno, "mount", "mount tmpfs on '/'");
	return open_area(err);
}

int stage_leave(struct error *err)
{
	mem_close_fd(&stage.cwd);
	stage.cwd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (stage.cwd < 0 || fchdir(stage.cwd) < 0)
		return error_set(err, errno, "leave the working directory");
	return 0;
}

int stage_cover(int mount, struct error *err)
{
	if (stage_mount(mount, NULL, stage.root, MS_MOVE, NULL) < 0)
		return error_call(err, errno, "mount", "mount (move) on '/'");
	return 0;
}

int stage_end(struct error *err)
{
	if (fchdir(stage.root) < 0 || umount2(".", MNT_DETACH) < 0)
		return error_call(err, errno, "umount2", "detach the staging area");
	mem_close_fd(&stage.root);
	mem_close_fd(&stage.fds);
	mem_close_fd(&stage.cwd);
	return 0;
}

/* ---- names ---------------------------------------------------------------- */

static void name_point(char *ret_name, size_t size, bool is_directory,
		       unsigned number)
{
	snprintf(ret_name, size, "%c%u", is_directory ? 'd' : 'f', number);
}

static int make_name(bool is_directory, unsigned number)
{
	char name[16];

	name_point(name, sizeof(name), is_directory, number);
	return is_directory ? mkdirat(stage.root, name, 0755) :
	       mknodat(stage.root, name, S_IFREG | 0644, 0);
}

/* In the process between vfork(2) and its end: errno, or 0. */
static int make_ahead(bool is_directory)
{
	unsigned first = stage.next[is_directory];

	/* The calls themselves: the C library's are for all threads. */
	if (syscall(SYS_setresgid, stage.gid, stage.gid, stage.gid) < 0 ||
	    syscall(SYS_setresuid, stage.uid, stage.uid, stage.uid) < 0)
		return errno;
	for (unsigned i = 0; i < BATCH; i++)
		if (make_name(is_directory, first + i) < 0)
			return errno;
	return 0;
}

static int make_as_other(bool is_directory)
{
	int status = 0;
	/* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork) */
	pid_t pid = vfork();

	if (pid < 0)
		return -errno;
	if (!pid) /* NOLINTNEXTLINE(clang-analyzer-unix.Vfork): calls only */
		_exit(make_ahead(is_directory));
	while (waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return -errno;
	if (!WIFEXITED(status))
		return -EIO;
	if (!WEXITSTATUS(status))
		stage.made[is_directory] = stage.next[is_directory] + BATCH;
	return -WEXITSTATUS(status);
}

int stage_make_point(bool is_directory, struct stage_point *ret_point,
		     struct error *err)
{
	unsigned number = stage.next[is_directory];
	struct stage_point point;
	int r = 0;

	if (number >= stage.made[is_directory] &&
	    make_name(is_directory, number) < 0)
		r = errno == EOVERFLOW || errno == EACCES ?
		    make_as_other(is_directory) : -errno;
	if (r < 0)
		return error_set(err, -r, "make a name in the staging area");
	stage.next[is_directory]++;
	name_point(point.name, sizeof(point.name), is_directory, number);
	point.fd = openat(stage.root, point.name,
			  O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (point.fd < 0)
		return error_set(err, errno, "open a name in the staging "
				 "area");
	*ret_point = point;
	return 0;
}

int stage_take(struct stage_point *point, struct error *err)
{
	auto_close int mount = openat(stage.root, point->name,
				      O_PATH | O_NOFOLLOW | O_CLOEXEC);
	uint64_t below, above;
	int r = 0;

	if (mount < 0)
		r = error_set(err, errno, "open what was mounted");
	else if (mountfd_id(point->fd, "", &below, err) < 0 ||
		 mountfd_id(mount, "", &above, err) < 0)
		r = error_result(err);
	else if (above == below)
		r = error_set(err, EXDEV, "mount(2) did nothing");
	mem_close_fd(&point->fd);
	return r < 0 ? r : take_fd(&mount);
}
