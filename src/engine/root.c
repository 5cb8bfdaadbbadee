/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The new root.
 *
 * A root is replaced, never stacked: the new mount is attached on "/" of the
 * copy of the host's mount table, pivot_root(2) exchanges the two, and the
 * old one, now on top of the new one's root, is detached with all that is in
 * it.  That "/" and "/.." are the same mount afterwards is checked: a root
 * that was stacked twice would leave the host one step up.
 *
 * From here on every path starts in the new root; the host is there only in
 * the form of the descriptors that were gathered.
 *
 * Where mounts go through mount(2) (sys/mount_legacy.c) the exchange comes
 * after the last of them, since until then they need the host's /proc; what
 * is built is below child->root in both cases.
 */
#include "engine/child.h"

#include "sys/mountfd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

static int verify_root(struct child *child, int mount, struct error *err)
{
	uint64_t wanted, here, above;

	if (mountfd_id(mount, "", &wanted, err) < 0 ||
	    mountfd_id(AT_FDCWD, "/", &here, err) < 0 ||
	    mountfd_id(AT_FDCWD, "/..", &above, err) < 0)
		return error_result(err);
	if (here != wanted || above != wanted)
		return error_set(err, EXDEV, "the new root is not the only "
				 "one: '/' is mount %llu, '/..' is %llu",
				 (unsigned long long)here,
				 (unsigned long long)above);
	child->root_id = here;
	return 0;
}

/*
 * Root's payload has an id of its own, to which a directory of root's may be
 * closed.
 */
static int fail_enter(const struct child *child, struct error *err)
{
	error_set(err, errno, "fchdir to the new root");
	if (err->code != EACCES || child_is_bwrap(child))
		return error_result(err);
	error_set(err, EACCES, "enter '%s' as the root of the sandbox",
		  child->plan->root.source ? child->plan->root.source : "/");
	error_remedy(err, "the command runs under another id, which may not "
		     "search that directory: chmod o+x it, give it to an id "
		     "that run-as names, or set run-as = caller");
	return error_result(err);
}

static int exchange(struct child *child, int mount, struct error *err)
{
	mem_close_fd(&child->root);
	if (fchdir(mount) < 0)
		return fail_enter(child, err);
	if (mountfd_pivot(mount, err) < 0)
		return error_result(err);
	if (chdir("/") < 0)
		return error_set(err, errno, "chdir '/'");
	if (verify_root(child, mount, err) < 0)
		return error_result(err);
	child->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (child->root < 0)
		return error_set(err, errno, "open '/'");
	return 0;
}

int root_replace(struct child *child, int mount, struct error *err)
{
	int kept;

	if (!mountfd_has_fallen_back())
		return exchange(child, mount, err);
	if (mountfd_id(mount, "", &child->root_id, err) < 0)
		return error_result(err);
	kept = fcntl(mount, F_DUPFD_CLOEXEC, 3);
	if (kept < 0)
		return error_set(err, errno, "dup");
	mem_close_fd(&child->root);
	child->root = kept;
	return 0;
}

int root_settle(struct child *child, struct error *err)
{
	auto_close int mount = -EBADF;

	if (!mountfd_has_fallen_back())
		return 0;
	mount = take_fd(&child->root);
	return exchange(child, mount, err);
}

int root_attach(struct child *child, int mount, int point, const char *path,
		struct error *err)
{
	int is_root = mountfd_is_root_of(point, child->root_id, err);

	if (is_root < 0)
		return is_root;
	return is_root ? root_replace(child, mount, err) :
	       mountfd_attach(mount, point, path, err);
}

static int clone_attached(int *tmpfs, const char *name, struct error *err)
{
	auto_close int mount = -EBADF, again = -EBADF;

	if (move_mount(*tmpfs, "", AT_FDCWD, "/",
		       MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return error_call(err, errno, "move_mount", "move_mount on "
				  "'/'");
	mount = mountfd_clone(*tmpfs, name, 0, err);
	if (mount >= 0)
		again = mountfd_clone(*tmpfs, "", 0, err);
	if (fchdir(*tmpfs) < 0 || umount2(".", MNT_DETACH) < 0 ||
	    chdir("/") < 0)
		return error_set(err, errno, "detach from '/'");
	if (again < 0)
		return error_result(err);
	/* What was attached once can never be again */
	close(*tmpfs);
	*tmpfs = take_fd(&again);
	return take_fd(&mount);
}

int root_clone(int *tmpfs, const char *name, struct error *err)
{
	int mount = mountfd_clone(*tmpfs, name, 0, err);

	return mount == -EINVAL ? clone_attached(tmpfs, name, err) : mount;
}

int root_stage(int mount, struct error *err)
{
	if (mountfd_has_fallen_back())
		return 0;
	if (move_mount(mount, "", AT_FDCWD, ROOT_STAGE,
		       MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return error_call(err, errno, "move_mount", "move_mount on "
				  "'%s'", ROOT_STAGE);
	return 0;
}
