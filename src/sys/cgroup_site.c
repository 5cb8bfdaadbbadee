/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finding a place for a run's group.
 *
 * Version 2 (cgroups(7)).  A process may be moved or cloned into a group when
 * cgroup.procs of the nearest common ancestor of its old and its new group
 * may be written.  So the place is the launcher's own group or one above it.
 * A group hands controllers on to those below only while it has no processes
 * itself, the root excepted.  That leaves three cases:
 *
 *   - a group above the launcher's which already hands on what is wanted: a
 *     slice, or a delegated service whose processes sit in a leaf of it;
 *   - the launcher's own group when nobody else is in it, as in a scope made
 *     for it: the launcher then moves itself into a leaf;
 *   - the root itself when the launcher is in it: a machine without a service
 *     manager.
 *
 * Otherwise no controllers are enabled: what belongs to a service manager
 * stays as that has set it.
 *
 * Version 1: each controller has a hierarchy of its own, and a group goes
 * below the launcher's own.
 *
 * The mount table is not read: the places are those that every distribution
 * uses, and what is found there is checked by the type of file system.
 */
#include "sys/cgroup_site.h"

#include "base/mem.h"
#include "sys/cgroup_files.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char cgroup_top[] = "/sys/fs/cgroup";

/* ---- own groups ------------------------------------------------------------ */

void cgroup_view_read(struct cgroup_view *view)
{
	struct error ignored;
	auto_close int fd = -EBADF;
	ssize_t size = -1;

	fd = proc_open_file(-EBADF, "self/cgroup", O_RDONLY, &ignored);
	if (fd >= 0)
		size = read(fd, view->own, sizeof(view->own) - 1);
	view->own[size < 0 ? 0 : size] = '\0';
}

/* Is @name one of the comma-separated names from @list to @end? */
static bool cgroup_list_has(const char *list, const char *end,
			    const char *name)
{
	size_t length = strlen(name);

	while (list <= end) {
		size_t word = strcspn(list, ",:");

		if (word == length && !memcmp(list, name, length))
			return true;
		list += word + 1;
	}
	return false;
}

/*
 * This process's group in the hierarchy of @controller (version 2: ""), from
 * a line "N:CONTROLLERS:/PATH".  False: there is no such hierarchy, or the
 * group lies outside of what can be seen.
 */
static bool cgroup_own_path(const struct cgroup_view *view,
			    const char *controller, char *ret_path,
			    size_t room)
{
	const char *line = view->own;

	while (*line) {
		size_t length = strcspn(line, "\n");
		const char *names = memchr(line, ':', length);
		const char *path = names ? memchr(names + 1, ':',
						  length - (size_t)(names + 1 -
								    line))
					 : NULL;

		if (path && cgroup_list_has(names + 1, path, controller)) {
			size_t size = length - (size_t)(path + 1 - line);

			if (size >= room)
				return false;
			memcpy(ret_path, path + 1, size);
			ret_path[size] = '\0';
			return !strstr(ret_path, "/..");
		}
		line += length + (line[length] == '\n');
	}
	return false;
}

/* ---- directories ----------------------------------------------------------- */

/* The root of a hierarchy as it is mounted, if it is one. */
static int cgroup_open_root(const char *path, long type)
{
	auto_close int fd = -EBADF;
	struct statfs info;

	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstatfs(fd, &info) < 0 || (long)info.f_type != type)
		return -EBADF;
	return take_fd(&fd);
}

/* A group below the root of its hierarchy; @path begins with a slash. */
static int cgroup_open_below(int root, const char *path)
{
	path += strspn(path, "/");
	return openat(root, *path ? path : ".",
		      O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/*
 * The system call itself: filters older than faccessat2(2) refuse that one,
 * which the C library then takes for the answer.
 */
static bool cgroup_may_write(int directory, const char *file)
{
	return !syscall(SYS_faccessat, directory, file, W_OK);
}

/* ---- version 2 ------------------------------------------------------------- */

/* The controllers in a file like cgroup.controllers. */
static unsigned cgroup_read_controllers(int directory, const char *file)
{
	char text[1024], *word, *save;
	unsigned controllers = 0;

	if (cgroup_read_file(directory, file, text, sizeof(text)) < 0)
		return 0;
	for (word = strtok_r(text, " \n", &save); word;
	     word = strtok_r(NULL, " \n", &save))
		for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
			if (!strcmp(word, cgroup_names[i]))
				controllers |= 1U << i;
	return controllers;
}

/* Is this process the only one in its group? */
static bool cgroup_is_alone(int directory)
{
	char text[64];
	char own[16];

	if (cgroup_read_file(directory, "cgroup.procs", text,
			     sizeof(text)) < 0)
		return false;
	snprintf(own, sizeof(own), "%d\n", (int)getpid());
	return !strcmp(text, own);
}

enum cgroup_type { TYPE_ROOT, TYPE_DOMAIN, TYPE_OTHER };

static enum cgroup_type cgroup_read_type(int directory)
{
	char type[32];
	int result = cgroup_read_file(directory, "cgroup.type", type,
				      sizeof(type));

	if (result == -ENOENT)
		return TYPE_ROOT;
	return !result && !strcmp(type, "domain\n") ? TYPE_DOMAIN : TYPE_OTHER;
}

/*
 * Does @directory serve?  Then 0, with *@ret_site complete but for the
 * descriptor.  *@ret_why is left alone where it simply is not writable.
 */
static int cgroup_try_v2(int directory, bool is_own, unsigned wanted,
			 struct cgroup_site *ret_site, const char **ret_why)
{
	enum cgroup_type type = cgroup_read_type(directory);
	unsigned missing;

	if (!cgroup_may_write(directory, ".") ||
	    !cgroup_may_write(directory, "cgroup.procs"))
		return -1;
	if (type == TYPE_OTHER) {
		*ret_why = "the launcher is in a threaded cgroup";
		return -1;
	}
	missing = wanted & ~cgroup_read_controllers(directory,
						    "cgroup.subtree_control");
	if (missing & ~cgroup_read_controllers(directory,
					       "cgroup.controllers")) {
		*ret_why = "the launcher's cgroup does not have the "
			   "controllers";
		return -1;
	}
	if (missing && !(is_own && (type == TYPE_ROOT ||
				    cgroup_is_alone(directory)) &&
			 cgroup_may_write(directory,
					  "cgroup.subtree_control"))) {
		*ret_why = "other processes are in the launcher's cgroup, and "
			   "none above it hands the controllers on";
		return -1;
	}
	ret_site->enable = missing;
	ret_site->must_leave = missing && type != TYPE_ROOT;
	return 0;
}

int cgroup_find_v2(const struct cgroup_view *view, unsigned wanted,
		   struct cgroup_site *ret_site, const char **ret_why)
{
	static const char unwritable[] =
		"no cgroup around the launcher is writable for it";
	auto_close int root = -EBADF;
	char path[PATH_MAX];
	bool is_own = true;
	char *slash;

	root = cgroup_open_root(cgroup_top, CGROUP2_SUPER_MAGIC);
	if (root < 0)
		root = cgroup_open_root("/sys/fs/cgroup/unified",
					CGROUP2_SUPER_MAGIC);
	if (root < 0) {
		*ret_why = "no cgroup file system at /sys/fs/cgroup";
		return -1;
	}
	if (!cgroup_own_path(view, "", path, sizeof(path))) {
		*ret_why = "the launcher's cgroup cannot be seen from here";
		return -1;
	}
	*ret_why = unwritable;
	for (;;) {
		auto_close int fd = cgroup_open_below(root, path);
		const char *why = NULL;

		if (fd >= 0 &&
		    !cgroup_try_v2(fd, is_own, wanted, ret_site, &why)) {
			ret_site->fd = take_fd(&fd);
			return 0;
		}
		/* The nearest that would do but for something says what */
		if (why && *ret_why == unwritable)
			*ret_why = why;
		is_own = false;
		slash = strrchr(path, '/');
		if (!slash || !slash[1])
			return -1;
		/* Up to and with the root, which is "/" */
		slash[slash == path] = '\0';
	}
}

/* ---- version 1 ------------------------------------------------------------- */

int cgroup_find_v1(const struct cgroup_view *view,
		   enum cgroup_controller controller,
		   struct cgroup_site *ret_site, const char **ret_why)
{
	auto_close int root = -EBADF;
	auto_close int fd = -EBADF;
	char mount[64], path[PATH_MAX];

	/* "cpu" is a link where it is mounted together with cpuacct */
	snprintf(mount, sizeof(mount), "%s/%s", cgroup_top,
		 cgroup_names[controller]);
	root = cgroup_open_root(mount, CGROUP_SUPER_MAGIC);
	if (root < 0 || !cgroup_own_path(view, cgroup_names[controller], path,
					 sizeof(path))) {
		*ret_why = "the controller has no hierarchy of its own";
		return -1;
	}
	fd = cgroup_open_below(root, path);
	if (fd < 0 || !cgroup_may_write(fd, ".")) {
		*ret_why = "the launcher's cgroup is not writable for it";
		return -1;
	}
	*ret_site = (struct cgroup_site){ .fd = take_fd(&fd) };
	return 0;
}
