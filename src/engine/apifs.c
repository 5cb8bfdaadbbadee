/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file systems that the kernel or the launcher fills: tmpfs, /proc, /sys
 * and /dev, and the empty objects that hide things.
 *
 * Every tmpfs under a profile's rules is bounded in bytes and inodes.  One
 * that shall be read-only is writable until the last mount point in it is
 * made; assemble.c seals it then.
 */
#include "engine/child.h"

#include "base/text.h"
#include "sys/mountfd.h"
#include "sys/rootfs.h"
#include "sys/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

enum {
	DEFAULT_SIZE = 512 << 20,
	DEFAULT_INODES = 128 * 1024,
	DEV_SIZE = 1 << 20,
	DEV_INODES = 1024,
	SHM_SIZE = 128 << 20,
	SHM_INODES = 16 * 1024,
	BLANK_SIZE = 64 << 10,
};

/* Sizes are bytes, 0: the kernel's default; an option string each. */
static int new_tmpfs(uint64_t size, uint64_t inodes, unsigned mode,
		     unsigned attrs, struct error *err)
{
	struct mountfd_option options[3];
	char texts[3][24];
	size_t count = 0;

	snprintf(texts[0], sizeof(texts[0]), "%o", mode);
	options[count++] = (struct mountfd_option){ "mode", texts[0] };
	if (size) {
		snprintf(texts[1], sizeof(texts[1]), "%llu",
			 (unsigned long long)size);
		options[count++] = (struct mountfd_option){ "size", texts[1] };
	}
	if (inodes) {
		snprintf(texts[2], sizeof(texts[2]), "%llu",
			 (unsigned long long)inodes);
		options[count++] = (struct mountfd_option){ "nr_inodes",
							    texts[2] };
	}
	return mountfd_new("tmpfs", options, count, attrs, err);
}

int apifs_tmpfs(struct child *child, const struct op *op, bool bounded,
		struct error *err)
{
	unsigned mode = op->mode == OP_MODE_NONE ? 0755 : op->mode;
	uint64_t size = op->size, inodes = op->inodes;
	int mount;

	if (bounded && !size)
		size = DEFAULT_SIZE;
	if (bounded && !inodes)
		inodes = DEFAULT_INODES;
	mount = new_tmpfs(size, inodes, mode,
			  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
	if (mount < 0)
		return mount;
	point_is_own(child, mount);
	if (op->flags & OP_READ_ONLY) {
		int kept = fcntl(mount, F_DUPFD_CLOEXEC, 3);

		if (kept < 0) {
			close(mount);
			return error_set(err, errno, "dup");
		}
		*arena_push(child->arena, &child->seals) =
			(struct sealed){ kept, op->dest };
	}
	return mount;
}

static int make_blank(struct child *child, struct error *err)
{
	child->blank = new_tmpfs(BLANK_SIZE, 16, 0700, MOUNT_ATTR_NOSUID |
				 MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err);
	if (child->blank < 0)
		return child->blank;
	if (mkdirat(child->blank, "m", 0755) < 0 ||
	    mkdirat(child->blank, "d", 0) < 0 ||
	    mknodat(child->blank, "f", S_IFREG, 0) < 0)
		return error_set(err, errno, "make an empty object");
	return 0;
}

int apifs_blank(struct child *child, enum blank blank, struct error *err)
{
	static const char *const names[] = {
		[BLANK_DIRECTORY] = "m",
		[BLANK_CLOSED_DIRECTORY] = "d",
		[BLANK_CLOSED_FILE] = "f",
	};
	const struct mountfd_attr attr = {
		.set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
		       MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
	};
	int mount;

	if (child->blank < 0 && make_blank(child, err) < 0)
		return error_result(err);
	mount = root_clone(&child->blank, names[blank], err);
	if (mount >= 0 && mountfd_set_attr(mount, &attr, err) < 0) {
		close(mount);
		return error_result(err);
	}
	return mount;
}

/* ---- /proc ------------------------------------------------------------------ */

enum cover { COVER_READ_ONLY, COVER_BLANK };

/*
 * Parts of /proc that are not about processes.  Their permissions would do
 * for an ordinary user; this holds for whoever the payload is.
 */
static const struct {
	const char *name;
	enum cover cover;
} proc_covers[] = {
	{ "sys", COVER_READ_ONLY },
	{ "sysrq-trigger", COVER_READ_ONLY },
	{ "irq", COVER_READ_ONLY },
	{ "bus", COVER_READ_ONLY },
	{ "fs", COVER_READ_ONLY },
	{ "acpi", COVER_BLANK },
	{ "asound", COVER_BLANK },
	{ "interrupts", COVER_BLANK },
	{ "kcore", COVER_BLANK },
	{ "keys", COVER_BLANK },
	{ "kmsg", COVER_BLANK },
	{ "latency_stats", COVER_BLANK },
	{ "sched_debug", COVER_BLANK },
	{ "scsi", COVER_BLANK },
	{ "timer_list", COVER_BLANK },
	{ "timer_stats", COVER_BLANK },
};

static int cover_proc(struct child *child, int proc, const char *name,
		      enum cover cover, struct error *err)
{
	const struct mountfd_attr read_only = {
		.set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
		       MOUNT_ATTR_NODEV |
		       (child_is_bwrap(child) ? 0 : MOUNT_ATTR_NOEXEC),
	};
	auto_close int mount = -EBADF;
	auto_close int point = openat(proc, name,
				      O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	if (point < 0)
		return errno == ENOENT ? 0 :
			error_set(err, errno, "open '/proc/%s'", name);
	if (cover == COVER_BLANK) {
		if (fstatat(point, "", &status, AT_EMPTY_PATH) < 0)
			return error_set(err, errno, "stat '/proc/%s'", name);
		mount = apifs_blank(child, S_ISDIR(status.st_mode) ?
				    BLANK_CLOSED_DIRECTORY : BLANK_CLOSED_FILE,
				    err);
	} else {
		mount = mountfd_clone(point, "", 0, err);
		if (mount >= 0 && mountfd_set_attr(mount, &read_only, err) < 0)
			return error_result(err);
	}
	return mount < 0 ? mount : mountfd_attach(mount, point, name, err);
}

/* The same for bubblewrap's language: what the user could write to. */
static int cover_proc_bwrap(struct child *child, int proc, struct error *err)
{
	static const char *const names[] = {
		"sys", "sysrq-trigger", "irq", "bus",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		/* The C library would take faccessat2(2), 5.8. */
		if (syscall(SYS_faccessat, proc, names[i], W_OK) < 0) {
			if (errno == EACCES || errno == ENOENT ||
			    errno == EROFS)
				continue;
			error_set(err, errno, "access '/proc/%s'", names[i]);
			return op_say(child, err, "Can't access /proc/%s",
				      names[i]);
		}
		if (cover_proc(child, proc, names[i], COVER_READ_ONLY, err) < 0)
			return error_result(err);
	}
	return 0;
}

int apifs_proc(struct child *child, const struct op *op,
	       struct source *source, struct error *err)
{
	auto_close int point = point_open(child, op, false, err);
	auto_close int proc = take_fd(&source->mount);
	int r = 0;

	if (point < 0)
		return point;
	if (root_attach(child, proc, point, op->dest, err) < 0)
		return op_say(child, err, "Can't mount proc on /newroot/%s",
			      op->dest + strspn(op->dest, "/"));
	if (child_is_bwrap(child))
		return cover_proc_bwrap(child, proc, err);
	for (size_t i = 0; !r && i < ARRAY_SIZE(proc_covers); i++)
		r = cover_proc(child, proc, proc_covers[i].name,
			       proc_covers[i].cover, err);
	return r;
}

/* ---- /sys ------------------------------------------------------------------- */

/*
 * What is empty in every sysfs until the host mounts something there, and
 * what tells of the machine or of what it does at the moment.
 */
static const char *const sys_covers[] = {
	"firmware", "devices/virtual/powercap", "kernel/debug",
	"kernel/security", "kernel/tracing", "fs/bpf", "fs/cgroup",
	"fs/pstore",
};

static int cover_sys(struct child *child, int sys, const char *name,
		     struct error *err)
{
	auto_close int mount = -EBADF;
	auto_close int point = openat(sys, name, O_PATH | O_NOFOLLOW |
				      O_DIRECTORY | O_CLOEXEC);

	if (point < 0)
		return errno == ENOENT ? 0 :
			error_set(err, errno, "open '/sys/%s'", name);
	mount = apifs_blank(child, BLANK_DIRECTORY, err);
	return mount < 0 ? mount : mountfd_attach(mount, point, name, err);
}

/*
 * How hot a processor gets tells what others do with it.  All have a count of
 * that, or none; only one that is switched off has none beside others.
 */
static int cover_heat(struct child *child, int sys, struct error *err)
{
	static const char top[] = "devices/system/cpu";
	static const char name[] = "thermal_throttle";
	auto_close int cpus = openat(sys, top, O_RDONLY | O_NOFOLLOW |
				     O_DIRECTORY | O_CLOEXEC);
	struct tree_names names;
	int r = 0;

	if (cpus < 0 || faccessat(cpus, "cpu0/thermal_throttle", F_OK, 0) < 0)
		return errno == ENOENT ? 0 :
			error_set(err, errno, "open '/sys/%s'", top);
	r = tree_list(cpus, &names);
	if (r < 0)
		return error_set(err, -r, "read '/sys/%s'", top);
	for (size_t i = 0; !r && i < names.count; i++) {
		if (!text_has_prefix(names.at[i], "cpu"))
			continue;
		r = cover_sys(child, sys, arena_printf(child->arena, "%s/%s/%s",
						       top, names.at[i], name),
			      err);
	}
	tree_forget(&names);
	return r;
}

/*
 * A sysfs shows the devices of the network namespace that it was mounted in:
 * the host's is replaced by one of ours.  The kernel allows that to whom the
 * network belongs and who could see all of the host's; in containers that
 * show less the host's stays, with its network devices.
 */
static int renew_sys(struct child *child, int *sys, struct error *err)
{
	struct error ignored;
	auto_close int mount = -EBADF;

	if (child->plan->ns[NS_NET].want != NS_WANT_NEW)
		return 0;
	mount = mountfd_new("sysfs", NULL, 0, MOUNT_ATTR_RDONLY |
			    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			    MOUNT_ATTR_NOEXEC, &ignored);
	if (mount < 0)
		return 0;
	if (mountfd_attach(mount, *sys, "/sys", err) < 0)
		return error_result(err);
	close(*sys);
	*sys = take_fd(&mount);
	return 0;
}

int apifs_sys(struct child *child, struct error *err)
{
	auto_close int sys = openat(child->root, "sys", O_PATH | O_NOFOLLOW |
				    O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;
	int r;

	/* A root without one has nothing to hide. */
	if (sys < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return 0;
	if (sys < 0 || fstatfs(sys, &fs) < 0)
		return error_set(err, errno, "open '/sys'");
	if (fs.f_type != SYSFS_MAGIC)
		return 0;
	r = renew_sys(child, &sys, err);
	for (size_t i = 0; !r && i < ARRAY_SIZE(sys_covers); i++)
		r = cover_sys(child, sys, sys_covers[i], err);
	return r ? r : cover_heat(child, sys, err);
}

/* ---- /dev ------------------------------------------------------------------- */

static const char *const device_names[] = {
	"null", "zero", "full", "random", "urandom", "tty",
};

static const struct {
	const char *name, *target;
} device_links[] = {
	{ "stdin", "/proc/self/fd/0" },
	{ "stdout", "/proc/self/fd/1" },
	{ "stderr", "/proc/self/fd/2" },
	{ "fd", "/proc/self/fd" },
	{ "core", "/proc/kcore" },
};

/* Without a terminal there is no /dev/tty to open. */
static bool device_wanted(const struct plan *plan, const char *name)
{
	return plan->security.tty != TTY_NONE || strcmp(name, "tty") != 0;
}

static int clone_device(const struct plan *plan, const char *path,
			struct error *err)
{
	const struct mountfd_attr attr = {
		.set = MOUNT_ATTR_NOSUID |
		       (plan->rules == PLAN_RULES_PROFILE ?
			MOUNT_ATTR_NOEXEC : 0),
		.propagation = plan->rules == PLAN_RULES_PROFILE ?
			       MS_PRIVATE : 0,
	};
	int mount = mountfd_clone(AT_FDCWD, path, 0, err);

	if (mount >= 0 && mountfd_set_attr(mount, &attr, err) < 0) {
		close(mount);
		return error_result(err);
	}
	return mount;
}

int apifs_gather_dev(struct arena *arena, const struct plan *plan,
		     struct source *source, struct error *err)
{
	char path[64], *tty;
	int mount;

	for (size_t i = 0; i < ARRAY_SIZE(device_names); i++) {
		mount = -EBADF;
		if (device_wanted(plan, device_names[i])) {
			snprintf(path, sizeof(path), "/dev/%s",
				 device_names[i]);
			mount = clone_device(plan, path, err);
			if (mount < 0)
				return mount;
		}
		*arena_push(arena, &source->devices) = mount;
	}
	/* The terminal itself, so that ttyname(3) finds it. */
	tty = plan->security.tty == TTY_NONE ? NULL : ttyname(STDOUT_FILENO);
	if (tty) {
		mount = clone_device(plan, tty, err);
		if (mount < 0)
			return mount;
		*arena_push(arena, &source->devices) = mount;
	}
	return 0;
}

static int place_device(int dev, const char *name, int mount,
			struct error *err)
{
	auto_close int point = rootfs_make(dev, name, 0, true, 0444, err);

	return point < 0 ? point : mountfd_attach(mount, point, name, err);
}

static int fill_dev(struct child *child, int dev, struct source *source,
		    struct error *err)
{
	for (size_t i = 0; i < source->devices.count; i++) {
		auto_close int mount = take_fd(&source->devices.at[i]);
		const char *name = i < ARRAY_SIZE(device_names) ?
				   device_names[i] : "console";

		if (mount >= 0 && place_device(dev, name, mount, err) < 0)
			return error_result(err);
	}
	for (size_t i = 0; i < ARRAY_SIZE(device_links); i++)
		if (symlinkat(device_links[i].target, dev,
			      device_links[i].name) < 0)
			return error_set(err, errno, "symlink '%s'",
					 device_links[i].name);
	return 0;
}

static int mount_devpts(int dev, struct error *err)
{
	static const struct mountfd_option options[] = {
		{ "newinstance" },
		{ "ptmxmode", "0666" },
		{ "mode", "620" },
	};
	auto_close int point = rootfs_make(dev, "pts", 0, false, 0755, err);
	auto_close int pts = -EBADF;

	if (point < 0)
		return point;
	pts = mountfd_new("devpts", options, ARRAY_SIZE(options),
			  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
	if (pts < 0 || mountfd_attach(pts, point, "pts", err) < 0)
		return error_result(err);
	if (symlinkat("pts/ptmx", dev, "ptmx") < 0)
		return error_set(err, errno, "symlink 'ptmx'");
	return 0;
}

static int make_shm(struct child *child, int dev, struct error *err)
{
	auto_close int point = rootfs_make(dev, "shm", 0, false, 0755, err);
	auto_close int shm = -EBADF;

	if (point < 0 || child_is_bwrap(child))
		return point < 0 ? point : 0;
	shm = new_tmpfs(SHM_SIZE, SHM_INODES, 01777, MOUNT_ATTR_NOSUID |
			MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err);
	if (shm < 0)
		return shm;
	point_is_memory(child, shm);
	return mountfd_attach(shm, point, "shm", err);
}

int apifs_dev(struct child *child, const struct op *op, struct source *source,
	      struct error *err)
{
	bool is_bwrap = child_is_bwrap(child);
	struct op tmpfs = {
		.kind = OP_TMPFS, .mode = 0755, .dest = op->dest,
		.flags = is_bwrap ? 0 : OP_READ_ONLY,
		.size = is_bwrap ? 0 : DEV_SIZE,
		.inodes = is_bwrap ? 0 : DEV_INODES,
	};
	auto_close int point = point_open(child, op, false, err);
	auto_close int dev = -EBADF;
	int r;

	if (point < 0)
		return point;
	dev = apifs_tmpfs(child, &tmpfs, false, err);
	if (dev < 0 || root_attach(child, dev, point, op->dest, err) < 0)
		return op_say(child, err, "Can't mount tmpfs on /newroot/%s",
			      op->dest + strspn(op->dest, "/"));
	r = fill_dev(child, dev, source, err);
	if (!r)
		r = make_shm(child, dev, err);
	if (!r)
		r = mount_devpts(dev, err);
	return r;
}
