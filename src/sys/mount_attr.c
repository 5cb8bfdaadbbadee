/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mount(MS_REMOUNT | MS_BIND) sets the flags of one mount to what it is
 * given, and the kernel refuses to take away the ones that a user namespace
 * inherited; so each call repeats what the mount has.  A tree has to be taken
 * mount by mount, from the mount table, which is read once for all trees
 * that wait, and once more to see that each has what it was to get.
 *
 * The table names mounts by paths that others can rename meanwhile.  A path
 * is walked without following a link and counts only where it ends in the
 * mount that the table says; one that does not is looked for again.  Left
 * alone is only what nobody can reach:
 *
 *   a mount that lies under another one, and
 *   one behind a directory that this process, which has the rights of the
 *   payload or more, may not search.
 */
#include "sys/mount_attr.h"

#include "base/mem.h"
#include "base/text.h"
#include "sys/mount_stage.h"
#include "sys/mount_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

/* MOUNT_ATTR_* of these have the same values. */
enum { SETTABLE = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC };
enum { NOSYMFOLLOW = 0x2000 }; /* statfs(2), 5.10 */
enum { ATTEMPTS = 3 };

struct tree {
	int mount;
	int id;
	struct mountfd_attr attr;
};

static LIST_OF(struct tree) waiting;
static struct arena *waiting_arena;

/* The flags that a mount with @flags is to have, for MS_REMOUNT. */
static unsigned long wanted_flags(unsigned long flags,
				  const struct mountfd_attr *attr)
{
	flags &= SETTABLE | MS_NOSYMFOLLOW;
	return (flags & ~(attr->clear & SETTABLE)) | (attr->set & SETTABLE);
}

static int check_known(const struct mountfd_attr *attr, struct error *err)
{
	if ((attr->set | attr->clear) & ~(uint64_t)SETTABLE)
		return error_set(err, EINVAL, "mount: attributes");
	return 0;
}

/* Access times are left as they are when no flag speaks of them. */
static int remount(int mount, unsigned long flags)
{
	return stage_mount(-EBADF, NULL, mount,
			   MS_REMOUNT | MS_BIND | flags, NULL);
}

/* The flags that the table has for @mount. */
static int read_flags(int mount, unsigned long *ret_flags, struct error *err)
{
	auto_arena struct arena *arena = arena_new();
	const struct mount_entry *entry;
	struct mount_table table;
	uint64_t id;

	if (mountfd_id(mount, "", &id, err) < 0 ||
	    mount_table_read(arena, stage_procfs(), &table, err) < 0)
		return error_result(err);
	entry = mount_table_find(&table, (int)id);
	if (!entry)
		return error_set(err, ESTALE, "mount %d is not in the mount "
				 "table", (int)id);
	*ret_flags = entry->flags;
	return 0;
}

int mount_attr_set_one(int mount, const struct mountfd_attr *attr,
		       struct error *err)
{
	struct statvfs status;
	unsigned long flags;

	if (check_known(attr, err) < 0)
		return error_result(err);
	if (!attr->set && !attr->clear)
		return 0;
	if (fstatvfs(mount, &status) < 0)
		return error_set(err, errno, "statvfs of the mount");
	/* ST_* have the values of MS_*, but for the one that glibc lacks. */
	flags = status.f_flag & SETTABLE;
	if (status.f_flag & NOSYMFOLLOW)
		flags |= MS_NOSYMFOLLOW;
	/* Read-only may be the file system's own, and not the mount's. */
	if (flags & MS_RDONLY && !(attr->set & MS_RDONLY) &&
	    read_flags(mount, &flags, err) < 0)
		return error_result(err);
	if (remount(mount, wanted_flags(flags, attr)) < 0)
		return error_call(err, errno, "mount", "mount (remount)");
	return 0;
}

int mount_attr_expect(int mount, const struct mountfd_attr *attr,
		      struct error *err)
{
	uint64_t id;

	if (check_known(attr, err) < 0 || mountfd_id(mount, "", &id, err) < 0)
		return error_result(err);
	if (!waiting_arena)
		waiting_arena = arena_new();
	*arena_push(waiting_arena, &waiting) = (struct tree){
		.mount = mount, .id = (int)id, .attr = *attr,
	};
	return 0;
}

/* ---- which mount belongs to which tree ------------------------------------ */

struct member {
	const struct mount_entry *entry;
	const struct mount_entry *top; /* of the tree; NULL: in none */
	const struct tree *tree;
};

/* All mounts, by id. */
struct members {
	struct member *at;
	size_t count;
};

static int by_id(const void *one, const void *two)
{
	int a = ((const struct member *)one)->entry->id;
	int b = ((const struct member *)two)->entry->id;

	return (a > b) - (a < b);
}

static struct member *find_member(const struct members *members, int id)
{
	struct mount_entry entry = { .id = id };
	struct member key = { .entry = &entry };

	return bsearch(&key, members->at, members->count, sizeof(key), by_id);
}

/* A mount is in the tree of its parent, unless it is the top of one. */
static void spread(const struct members *members)
{
	bool again = true;

	while (again) {
		again = false;
		for (size_t i = 0; i < members->count; i++) {
			struct member *member = &members->at[i];
			const struct member *parent =
				find_member(members, member->entry->parent);

			if (member->tree || !parent || !parent->tree ||
			    parent == member)
				continue;
			member->tree = parent->tree;
			member->top = parent->top;
			again = true;
		}
	}
}

static int sort_members(struct arena *arena, const struct mount_table *table,
			struct members *ret_members, struct error *err)
{
	struct members members = { .count = table->entries.count };

	members.at = arena_alloc(arena, members.count * sizeof(*members.at));
	for (size_t i = 0; i < members.count; i++)
		members.at[i].entry = &table->entries.at[i];
	qsort(members.at, members.count, sizeof(*members.at), by_id);
	for (size_t i = 0; i < waiting.count; i++) {
		const struct tree *tree = &waiting.at[i];
		struct member *top = find_member(&members, tree->id);
		uint64_t id;

		if (!top || mountfd_id(tree->mount, "", &id, err) < 0 ||
		    (int)id != tree->id)
			return error_set(err, ESTALE, "mount %d is not in the "
					 "mount table", tree->id);
		top->tree = tree;
		top->top = top->entry;
	}
	spread(&members);
	*ret_members = members;
	return 0;
}

/* ---- one mount of a tree -------------------------------------------------- */

/* What of @member's path is below the top of its tree; "" for the top. */
static const char *path_below(const struct member *member)
{
	size_t length = strlen(member->top->target);

	return member->entry->target + (length > 1 ? length : 0);
}

/* Is another mount of the tree on the way to @member, or on it? */
static bool is_covered(const struct members *members,
		       const struct member *member)
{
	const char *target = member->entry->target;

	for (size_t i = 0; i < members->count; i++) {
		const struct member *other = &members->at[i];
		const struct member *above = member;
		size_t length = strlen(other->entry->target);

		if (other->tree != member->tree || other == member ||
		    other->entry == other->top ||
		    strncmp(target, other->entry->target, length) != 0 ||
		    (target[length] && target[length] != '/'))
			continue;
		/* What it is mounted in is on the way, too, but no cover. */
		while (above && above != other && above->entry != above->top)
			above = find_member(members, above->entry->parent);
		if (above != other)
			return true;
	}
	return false;
}

/* Walk down from the top; 0 and a descriptor, or negative errno. */
static int open_member(const struct member *member)
{
	int fd = fcntl(member->tree->mount, F_DUPFD_CLOEXEC, 3);
	const char *at = path_below(member);

	while (fd >= 0 && *(at += strspn(at, "/"))) {
		size_t length = strcspn(at, "/");
		auto_close int above = fd;
		auto_free char *name = strndup(at, length);

		if (!name)
			return -ENOMEM;
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): auto_free */
		fd = openat(above, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		at += length;
	}
	return fd < 0 ? -errno : fd;
}

/*
 * Returns 1 when it has to be looked at again: its flags were set, or it was
 * not found where the table has it.
 */
static int set_member(const struct members *members,
		      const struct member *member, struct error *err)
{
	unsigned long flags = wanted_flags(member->entry->flags,
					   &member->tree->attr);
	auto_close int fd = -EBADF;
	uint64_t id;

	if (flags == (member->entry->flags & (SETTABLE | MS_NOSYMFOLLOW)))
		return 0;
	fd = open_member(member);
	if (fd == -EACCES)
		return 0;
	if (fd >= 0 && mountfd_id(fd, "", &id, err) < 0)
		return error_result(err);
	if (fd < 0 || (int)id != member->entry->id)
		return is_covered(members, member) ? 0 : 1;
	if (remount(fd, flags) < 0)
		return error_call(err, errno, "mount", "mount (remount) of "
				  "what is mounted on '%s'",
				  path_below(member));
	return 1;
}

/* One pass over the table.  Returns 0 when every mount had its flags. */
static int set_all(struct arena *arena, struct error *err)
{
	struct mount_table table;
	struct members members = { 0 };
	int result = 0;

	if (mount_table_read(arena, stage_procfs(), &table, err) < 0 ||
	    sort_members(arena, &table, &members, err) < 0)
		return error_result(err);
	for (size_t i = 0; i < members.count; i++) {
		int r = members.at[i].tree ?
			set_member(&members, &members.at[i], err) : 0;

		if (r < 0)
			return r;
		result |= r;
	}
	return result;
}

int mount_attr_settle(struct error *err)
{
	int r = 1;

	if (!waiting.count)
		return 0;
	for (int i = 0; r > 0 && i < ATTEMPTS; i++) {
		auto_arena struct arena *arena = arena_new();

		r = set_all(arena, err);
	}
	if (r > 0)
		r = error_set(err, EAGAIN, "what is mounted below a source "
			      "moves while its attributes are set");
	arena_free(waiting_arena);
	waiting_arena = NULL;
	memset(&waiting, 0, sizeof(waiting));
	return r;
}
