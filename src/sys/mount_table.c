/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libmount is loaded when it is needed: linked in the usual way it would
 * bring libblkid, libselinux and libpcre2 into every start, and Debian has no
 * archive of it.  The static image can load it, too, since the calls of the C
 * library that look up users have dlopen(3) in it anyway; that takes the C
 * library that the image was built with.
 */
#include "sys/mount_table.h"

#include "sys/proc.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libmount/libmount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

/* What is called of it, one word a function. */
#define FUNCTIONS(X)            \
	X(mnt_free_iter)        \
	X(mnt_fs_get_fstype)    \
	X(mnt_fs_get_id)        \
	X(mnt_fs_get_optional_fields) \
	X(mnt_fs_get_parent_id) \
	X(mnt_fs_get_target)    \
	X(mnt_fs_get_vfs_options) \
	X(mnt_get_builtin_optmap) \
	X(mnt_new_iter)         \
	X(mnt_new_table_from_file) \
	X(mnt_optstr_get_flags) \
	X(mnt_table_next_fs)    \
	X(mnt_unref_table)

static struct {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a name that is declared */
#define MEMBER(name) __typeof__(name) *name;
	FUNCTIONS(MEMBER)
#undef MEMBER
	void *library;
} lib;

static int load(struct error *err)
{
	static const struct {
		const char *name;
		void **address;
	} functions[] = {
#define ROW(name) { #name, (void **)&lib.name },
		FUNCTIONS(ROW)
#undef ROW
	};
	const char *missing = NULL;
	void *library;

	if (lib.library)
		return 0;
	library = dlopen("libmount.so.1", RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; library && !missing && i < ARRAY_SIZE(functions);
	     i++) {
		*functions[i].address = dlsym(library, functions[i].name);
		if (!*functions[i].address)
			missing = functions[i].name;
	}
	if (library && !missing) {
		lib.library = library;
		return 0;
	}
	error_set(err, ELIBACC, "load libmount: %s", missing ? missing :
		  dlerror());
	error_reason(err, "libmount");
	error_remedy(err, "install the package that has libmount.so.1, for "
		     "the C library that this program was built with");
	return error_result(err);
}

static int add_entry(struct arena *arena, struct libmnt_fs *fs,
		     struct mount_table *table)
{
	const char *propagation = lib.mnt_fs_get_optional_fields(fs);
	const char *options = lib.mnt_fs_get_vfs_options(fs);
	const char *target = lib.mnt_fs_get_target(fs);
	const char *type = lib.mnt_fs_get_fstype(fs);
	struct mount_entry entry = {
		.id = lib.mnt_fs_get_id(fs),
		.parent = lib.mnt_fs_get_parent_id(fs),
		.target = arena_strdup(arena, target ? target : ""),
		.type = arena_strdup(arena, type ? type : ""),
		.is_unbindable = propagation && strstr(propagation,
						       "unbindable"),
	};

	/* A flag that is not understood is one that would get lost. */
	if (options &&
	    lib.mnt_optstr_get_flags(options, &entry.flags,
			lib.mnt_get_builtin_optmap(MNT_LINUX_MAP)) < 0)
		return -EINVAL;
	/* Younger (5.10) than some that are in use. */
	if (options && strstr(options, "nosymfollow"))
		entry.flags |= MS_NOSYMFOLLOW;
	*arena_push(arena, &table->entries) = entry;
	return 0;
}

static int read_table(struct arena *arena, const char *path,
		      struct mount_table *table, struct error *err)
{
	struct libmnt_table *found = lib.mnt_new_table_from_file(path);
	struct libmnt_iter *each = lib.mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs;
	int r = found && each ? 0 : -EIO;

	while (!r && !lib.mnt_table_next_fs(found, each, &fs))
		r = add_entry(arena, fs, table);
	if (each)
		lib.mnt_free_iter(each);
	if (found)
		lib.mnt_unref_table(found);
	/* Every process has at least its root. */
	if (!r && !table->entries.count)
		r = -EIO;
	return r < 0 ? error_set(err, -r, "read the mount table") : 0;
}

int mount_table_read(struct arena *arena, int procfs,
		     struct mount_table *ret_table, struct error *err)
{
	struct mount_table table = { 0 };
	auto_close int fd = -EBADF;
	char path[32];

	if (load(err) < 0)
		return error_result(err);
	fd = proc_open_file(procfs, "self/mountinfo", O_RDONLY, err);
	if (fd < 0)
		return fd;
	/* It takes a name, and this is one of that very file. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (read_table(arena, path, &table, err) < 0)
		return error_result(err);
	*ret_table = table;
	return 0;
}

static bool is_below(const char *target, const char *top)
{
	size_t length = strlen(top);

	if (length && top[length - 1] == '/')
		length--;
	return !strncmp(target, top, length) && target[length] == '/' &&
	       target[length + 1];
}

const struct mount_entry *
mount_table_below(const struct mount_table *table, const char *top,
		  const struct mount_entry *after)
{
	size_t i = after ? (size_t)(after - table->entries.at) + 1 : 0;

	for (; i < table->entries.count; i++)
		if (is_below(table->entries.at[i].target, top))
			return &table->entries.at[i];
	return NULL;
}

const struct mount_entry *mount_table_find(const struct mount_table *table,
					   int id)
{
	for (size_t i = 0; i < table->entries.count; i++)
		if (table->entries.at[i].id == id)
			return &table->entries.at[i];
	return NULL;
}
