/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file systems that the launcher fills: tmpfs, /dev, and the empty objects
 * that hide things.
 *
 * Every tmpfs under a profile's rules is bounded in bytes and inodes.  One
 * that shall be read-only is writable until the last mount point in it is
 * made; assemble.c seals it then.
 */
#include "engine/child.h"

#include "sys/mountfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

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

/* What is cloned from a mount has its attributes. */
static int make_blank(struct child *child, struct error *err)
{
	static const struct mountfd_attr attr = { .set = MOUNT_ATTR_RDONLY };

	child->blank = new_tmpfs(BLANK_SIZE, 16, 0700, MOUNT_ATTR_NOSUID |
				 MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err);
	if (child->blank < 0)
		return child->blank;
	if (mkdirat(child->blank, "m", 0755) < 0 ||
	    mkdirat(child->blank, "d", 0) < 0 ||
	    mknodat(child->blank, "f", S_IFREG, 0) < 0)
		return error_set(err, errno, "make an empty object");
	return mountfd_set_attr(child->blank, &attr, err);
}

int apifs_blank(struct child *child, enum blank blank, struct error *err)
{
	static const char *const names[BLANK_COUNT] = {
		[BLANK_DIRECTORY] = "m",
		[BLANK_CLOSED_DIRECTORY] = "d",
		[BLANK_CLOSED_FILE] = "f",
	};

	if (child->blank < 0 && make_blank(child, err) < 0)
		return error_result(err);
	return root_clone(&child->blank, names[blank], err);
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

/* Nobody else makes names in a /dev that is not filled yet. */
static int place(int dev, const char *name, bool is_file, int mount,
		 struct error *err)
{
	int r = is_file ? mknodat(dev, name, S_IFREG | 0444, 0) :
			  mkdirat(dev, name, 0755);

	if (r < 0)
		return error_set(err, errno, "make '%s'", name);
	return mount < 0 ? 0 : mountfd_attach_below(mount, dev, name, err);
}

static int fill_dev(struct child *child, int dev, struct source *source,
		    struct error *err)
{
	for (size_t i = 0; i < source->devices.count; i++) {
		auto_close int mount = take_fd(&source->devices.at[i]);
		const char *name = i < ARRAY_SIZE(device_names) ?
				   device_names[i] : "console";

		if (mount >= 0 && place(dev, name, true, mount, err) < 0)
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
	auto_close int pts = mountfd_new("devpts", options,
					 ARRAY_SIZE(options),
					 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
					 err);

	if (pts < 0 || place(dev, "pts", false, pts, err) < 0)
		return error_result(err);
	if (symlinkat("pts/ptmx", dev, "ptmx") < 0)
		return error_set(err, errno, "symlink 'ptmx'");
	return 0;
}

static int make_shm(struct child *child, int dev, struct error *err)
{
	auto_close int shm = -EBADF;

	if (child_is_bwrap(child))
		return place(dev, "shm", false, shm, err);
	shm = new_tmpfs(SHM_SIZE, SHM_INODES, 01777, MOUNT_ATTR_NOSUID |
			MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err);
	if (shm < 0)
		return shm;
	point_is_memory(child, shm);
	return place(dev, "shm", false, shm, err);
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
