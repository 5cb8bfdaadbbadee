/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Detached mounts without the calls that make them.
 *
 * A tmpfs of our own is stacked on "/": absolute paths go on to start in the
 * mount below it, so it hides nothing, and nobody walks into it who does not
 * have its descriptor (which is got through "/..").  A mount that mountfd.h
 * calls detached is one on a name in there, and its descriptor one of its
 * root:
 *
 *   clone      mount(MS_BIND) of a descriptor on a new name
 *   new        mount(TYPE) on a new name
 *   attributes mount(MS_REMOUNT | MS_BIND), mount by mount (mount_attr.c)
 *   attach     mount(MS_MOVE)
 *
 * The area is unbindable, so that a recursive clone of "/" leaves it out.
 *
 * Since mount(2) takes names, each call is made from within /proc/self/fd,
 * where a descriptor is a name: what was opened is what is mounted, and
 * nothing is looked up twice.  That directory is opened once, with the checks
 * of proc_open_file(), so that nothing mounted over a part of /proc leads
 * astray.
 *
 * The new root stays in the area until all is built, since /proc/self/fd is
 * needed until then; mount_legacy_pivot() comes last.
 *
 * Unnecessary from Linux 5.12 on, where no filter refuses its calls.
 */
#include "sys/mount_legacy.h"

#include "base/mem.h"
#include "base/text.h"
#include "sys/mount_attr.h"
#include "sys/mount_stage.h"
#include "sys/proc.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Bytes of an option string, mount(2): a page, with its NUL. */
enum { OPTIONS_MOST = 4096 };

static bool is_active;

bool mount_legacy_is_active(void)
{
	return is_active;
}

int mount_legacy_begin(int procfs, uid_t uid, gid_t gid, struct error *err)
{
	int r = stage_begin(procfs, uid, gid, err);

	is_active = r >= 0;
	return r;
}

static int open_source(int dirfd, const char *path, unsigned flags)
{
	int fd;

	if (!*path)
		return fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
	fd = openat(dirfd, path, O_PATH | O_CLOEXEC |
		    (flags & MOUNTFD_NOFOLLOW ? O_NOFOLLOW : 0));
	return fd;
}

/* Do both show one object?  A server that does not answer is not asked. */
static bool is_same(int fd, int other)
{
	enum { MASK = STATX_TYPE | STATX_INO };
	struct statx one, two;
	int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;

	return !statx(fd, "", flags, MASK, &one) &&
	       !statx(other, "", flags, MASK, &two) &&
	       one.stx_ino == two.stx_ino &&
	       one.stx_dev_major == two.stx_dev_major &&
	       one.stx_dev_minor == two.stx_dev_minor;
}

int mount_legacy_clone(int dirfd, const char *path, unsigned flags,
		       struct error *err)
{
	unsigned long how = MS_BIND | (flags & MOUNTFD_RECURSIVE ? MS_REC : 0);
	auto_close int source = open_source(dirfd, path, flags);
	auto_close int mount = -EBADF;
	struct stage_point point;
	struct statx status;

	if (source < 0)
		return error_call(err, errno, "open", "open '%s'", path);
	if (statx(source, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE,
		  &status) < 0)
		return error_set(err, errno, "statx '%s'", path);
	if (stage_make_point(S_ISDIR(status.stx_mode), &point, err) < 0)
		return error_result(err);
	if (stage_mount(source, NULL, point.fd, how, NULL) < 0) {
		mem_close_fd(&point.fd);
		return error_call(err, errno, "mount", "mount (bind) '%s'",
				  path);
	}
	mount = stage_take(&point, err);
	if (mount >= 0 && !is_same(source, mount))
		return error_set(err, EXDEV, "mount (bind) '%s': something "
				 "else was mounted", path);
	return take_fd(&mount);
}

int mount_legacy_set_attr(int mount, const struct mountfd_attr *attr,
			  struct error *err)
{
	if (attr->idmap_userns > 0)
		return error_set(err, ENOSYS, "mount_setattr (id map)");
	if (attr->propagation &&
	    stage_mount(-EBADF, NULL, mount, attr->propagation |
			(attr->recursive ? MS_REC : 0), NULL) < 0)
		return error_call(err, errno, "mount", "mount (propagation)");
	return attr->recursive ? mount_attr_expect(mount, attr, err) :
	       mount_attr_set_one(mount, attr, err);
}

int mount_legacy_settle(struct error *err)
{
	if (mount_attr_settle(err) < 0)
		return error_result(err);
	return stage_leave(err);
}

int mount_legacy_attach(int mount, int target, const char *place,
			struct error *err)
{
	if (mount_attr_settle(err) < 0)
		return error_result(err);
	if (stage_mount(mount, NULL, target, MS_MOVE, NULL) < 0)
		return error_call(err, errno, "mount", "mount (move) on '%s'",
				  place);
	return 0;
}

static int join_options(struct text_buf *buf,
			const struct mountfd_option *options, size_t count,
			struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct mountfd_option *option = &options[i];

		if (!option->value && option->fd > 0)
			return error_set(err, EOPNOTSUPP, "mount: option '%s'",
					 option->key);
		/* A comma would begin the next one. */
		if (option->value && strchr(option->value, ','))
			return error_set(err, EINVAL, "mount: option '%s'",
					 option->key);
		text_addf(buf, "%s%s%s%s", i ? "," : "", option->key,
			  option->value ? "=" : "",
			  option->value ? option->value : "");
	}
	return buf->count < OPTIONS_MOST ? 0 :
	       error_set(err, E2BIG, "mount: options");
}

/* The attributes that are called the same by mount(2). */
static_assert(MOUNT_ATTR_RDONLY == MS_RDONLY &&
	      MOUNT_ATTR_NOSUID == MS_NOSUID &&
	      MOUNT_ATTR_NODEV == MS_NODEV &&
	      MOUNT_ATTR_NOEXEC == MS_NOEXEC, "attributes are flags");

int mount_legacy_new(const char *type, const struct mountfd_option *options,
		     size_t count, unsigned attrs, struct error *err)
{
	const unsigned known = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
	auto_arena struct arena *arena = arena_new();
	struct text_buf buf = { .arena = arena };
	struct stage_point point;

	if (attrs & ~known)
		return error_set(err, EINVAL, "mount %s", type);
	text_add(&buf, "");
	if (join_options(&buf, options, count, err) < 0 ||
	    stage_make_point(true, &point, err) < 0)
		return error_result(err);
	if (stage_mount(-EBADF, type, point.fd, attrs, buf.at) < 0) {
		mem_close_fd(&point.fd);
		return error_call(err, errno, "mount", "mount %s", type);
	}
	return stage_take(&point, err);
}

int mount_legacy_pivot(int mount, struct error *err)
{
	if (mount_attr_settle(err) < 0 || stage_cover(mount, err) < 0)
		return error_result(err);
	if (fchdir(mount) < 0)
		return error_set(err, errno, "fchdir to the new root");
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return error_call(err, errno, "pivot_root", "pivot_root");
	is_active = false;
	/* The area lies on the old root, which lies on the new one. */
	if (stage_end(err) < 0)
		return error_result(err);
	if (fchdir(mount) < 0 || umount2(".", MNT_DETACH) < 0)
		return error_call(err, errno, "umount2", "detach the old root");
	return 0;
}
