/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * /proc and /sys: what the kernel fills, and what of it the payload does not
 * get to see or to change.
 *
 * The permissions in there would mostly do for an ordinary user; the covers
 * hold for whoever the payload is.  All names in them are the kernel's, so
 * that a name leads to the same object each time.
 */
#include "engine/child.h"

#include "base/text.h"
#include "sys/mountfd.h"
#include "sys/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

/* Take over @failure, which is none where a name is missing. */
static int unless_missing(int r, const struct error *failure,
			  struct error *err)
{
	if (r == -ENOENT)
		return 0;
	*err = *failure;
	return r;
}

/*
 * Cover @name below @directory by an empty object.  One that found no place
 * serves the next name: some are missing in every kernel.
 */
static int cover_blank(struct child *child, int directory, const char *name,
		       enum blank blank, struct error *err)
{
	int *spare = &child->spares[blank];
	struct error failure;
	int r;

	if (*spare < 0)
		*spare = apifs_blank(child, blank, err);
	if (*spare < 0)
		return *spare;
	r = mountfd_attach_below(*spare, directory, name, &failure);
	if (r < 0)
		return unless_missing(r, &failure, err);
	mem_close_fd(spare);
	return 0;
}

/* ---- /proc ------------------------------------------------------------------ */

/* Parts of /proc that are not about processes: read-only, */
static const char *const proc_fixed[] = {
	"sys", "sysrq-trigger", "irq", "bus", "fs",
};

enum { BWRAP_FIXED = 4 };

/* ... or empty. */
static const struct {
	const char *name;
	enum blank blank;
} proc_covers[] = {
	{ "acpi", BLANK_CLOSED_DIRECTORY },
	{ "asound", BLANK_CLOSED_DIRECTORY },
	{ "interrupts", BLANK_CLOSED_FILE },
	{ "kcore", BLANK_CLOSED_FILE },
	{ "keys", BLANK_CLOSED_FILE },
	{ "kmsg", BLANK_CLOSED_FILE },
	{ "latency_stats", BLANK_CLOSED_FILE },
	{ "sched_debug", BLANK_CLOSED_FILE },
	{ "scsi", BLANK_CLOSED_DIRECTORY },
	{ "timer_list", BLANK_CLOSED_FILE },
	{ "timer_stats", BLANK_CLOSED_FILE },
};

static int fix(struct child *child, int proc, const char *name,
	       struct error *err)
{
	const struct mountfd_attr read_only = {
		.set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
		       MOUNT_ATTR_NODEV |
		       (child_is_bwrap(child) ? 0 : MOUNT_ATTR_NOEXEC),
	};
	struct error failure;
	auto_close int mount = mountfd_clone(proc, name, MOUNTFD_NOFOLLOW,
					     &failure);

	if (mount < 0)
		return unless_missing(mount, &failure, err);
	if (mountfd_set_attr(mount, &read_only, err) < 0)
		return error_result(err);
	return mountfd_attach_below(mount, proc, name, err);
}

/* In bubblewrap's language: of the first four what the user could write to. */
static int fix_for_bwrap(struct child *child, int proc, struct error *err)
{
	for (size_t i = 0; i < BWRAP_FIXED; i++) {
		const char *name = proc_fixed[i];

		/* The C library would take faccessat2(2), 5.8. */
		if (syscall(SYS_faccessat, proc, name, W_OK) < 0) {
			if (errno == EACCES || errno == ENOENT ||
			    errno == EROFS)
				continue;
			error_set(err, errno, "access '/proc/%s'", name);
			return op_say(child, err, "Can't access /proc/%s",
				      name);
		}
		if (fix(child, proc, name, err) < 0)
			return error_result(err);
	}
	return 0;
}

int kernelfs_proc(struct child *child, const struct op *op,
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
		return fix_for_bwrap(child, proc, err);
	for (size_t i = 0; !r && i < ARRAY_SIZE(proc_fixed); i++)
		r = fix(child, proc, proc_fixed[i], err);
	for (size_t i = 0; !r && i < ARRAY_SIZE(proc_covers); i++)
		r = cover_blank(child, proc, proc_covers[i].name,
				proc_covers[i].blank, err);
	return r;
}

/* ---- /sys ------------------------------------------------------------------- */

/* What tells of the machine, or of what it does at the moment. */
static const char *const sys_covers[] = {
	"firmware", "devices/virtual/powercap",
};

/* Empty in every sysfs until the host mounts something there. */
static const char *const sys_mount_points[] = {
	"kernel/debug", "kernel/security", "kernel/tracing", "fs/bpf",
	"fs/cgroup", "fs/pstore",
};

static int cover_all(struct child *child, int sys, const char *const *names,
		     size_t count, struct error *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < count; i++)
		r = cover_blank(child, sys, names[i], BLANK_DIRECTORY, err);
	return r;
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
		r = cover_blank(child, sys, arena_printf(child->arena,
				"%s/%s/%s", top, names.at[i], name),
				BLANK_DIRECTORY, err);
	}
	tree_forget(&names);
	return r;
}

/*
 * A sysfs shows the devices of the network namespace that it was mounted in:
 * the host's is replaced by one of ours.  The kernel allows that to whom the
 * network belongs and who could see all of the host's; in containers that
 * show less the host's stays, with its network devices and with what is
 * mounted in it.  Returns whether it is ours.
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
	return 1;
}

int kernelfs_sys(struct child *child, struct error *err)
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
	if (!r)
		r = cover_all(child, sys, sys_mount_points,
			      ARRAY_SIZE(sys_mount_points), err);
	if (r < 0 || cover_all(child, sys, sys_covers, ARRAY_SIZE(sys_covers),
			       err) < 0)
		return error_result(err);
	return cover_heat(child, sys, err);
}
