/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "harness/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "harness/arena.h"
#include "harness/identity.h"

enum { WALK_FDS = 64 };

struct tree_entry {
	const char *name;  /* below the root of the tree; "." is that */
	const char *state; /* everything that counts, as text */
};

struct tree {
	struct tree_entry *entries;
	size_t count;
	size_t size;
};

/* nftw(3) passes nothing to its callback; it runs in one thread only. */
static struct {
	struct tree *tree;
	size_t root_length;
	enum tree_look look;
} walk;

/* FNV-1a: a fingerprint, not a proof against somebody who tries. */
static uint64_t hash_file(const char *path)
{
	uint64_t hash = 0xcbf29ce484222325;
	unsigned char buffer[65536];
	int fd = open(path, O_RDONLY | O_NOATIME | O_CLOEXEC);
	ssize_t n;

	if (fd < 0 && errno == EPERM)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	/* Unreadable for everybody here: its times still tell. */
	if (fd < 0 && errno == EACCES)
		return 0;
	if (fd < 0)
		harness_fail("tree: open %s: %s", path, strerror(errno));
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		for (ssize_t i = 0; i < n; i++)
			hash = (hash ^ buffer[i]) * 0x100000001b3;
	if (n < 0)
		harness_fail("tree: read %s: %s", path, strerror(errno));
	close(fd);
	return hash;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_xattrs(struct arena_text *state, const char *path)
{
	char names[4096], value[4096];
	const char *sorted[256];
	ssize_t length = llistxattr(path, names, sizeof(names));
	size_t count = 0;

	for (char *name = names; length > 0 && name < names + length &&
	     count < 256; name += strlen(name) + 1)
		sorted[count++] = name;
	qsort(sorted, count, sizeof(*sorted), compare_names);
	for (size_t i = 0; i < count; i++) {
		ssize_t n = lgetxattr(path, sorted[i], value, sizeof(value));

		arena_add_format(state, " %s=", sorted[i]);
		for (ssize_t j = 0; j < n; j++)
			arena_add_format(state, "%02x",
					 (unsigned char)value[j]);
	}
}

static int add_entry(const char *path, const struct stat *st, int type,
		     struct FTW *place)
{
	const char *name = path + walk.root_length;
	struct arena_text state = { 0 };
	struct tree *tree = walk.tree;

	if (type == FTW_NS)
		harness_fail("tree: stat %s failed", path);
	arena_add_format(&state, "%06o %u:%u", st->st_mode, st->st_uid,
			 st->st_gid);
	if (S_ISREG(st->st_mode))
		arena_add_format(&state, " %lld bytes %016llx",
				 (long long)st->st_size,
				 (unsigned long long)hash_file(path));
	if (S_ISLNK(st->st_mode)) {
		char target[4097] = "";

		if (readlink(path, target, sizeof(target) - 1) < 0)
			harness_fail("tree: readlink %s: %s", path,
				     strerror(errno));
		arena_add_format(&state, " -> %s", target);
	}
	if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode))
		arena_add_format(&state, " device %llx",
				 (unsigned long long)st->st_rdev);
	add_xattrs(&state, path);
	if (walk.look == TREE_TOUCHED)
		arena_add_format(&state, " inode %llu changed %lld.%09ld",
				 (unsigned long long)st->st_ino,
				 (long long)st->st_ctim.tv_sec,
				 st->st_ctim.tv_nsec);

	if (tree->count == tree->size) {
		size_t size = tree->size ? tree->size * 2 : 256;
		struct tree_entry *bigger =
			arena_take(size * sizeof(*bigger));

		if (tree->count)
			memcpy(bigger, tree->entries,
			       tree->count * sizeof(*bigger));
		tree->entries = bigger;
		tree->size = size;
	}
	while (*name == '/')
		name++;
	tree->entries[tree->count++] = (struct tree_entry){
		.name = arena_format("%s", *name ? name : "."),
		.state = arena_string(&state),
	};
	return 0;
}

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct tree_entry *)a)->name,
		      ((const struct tree_entry *)b)->name);
}

const struct tree *tree_read(const char *path, enum tree_look look)
{
	struct tree *tree = arena_take(sizeof(*tree));

	walk.tree = tree;
	walk.root_length = strlen(path);
	walk.look = look;
	if (nftw(path, add_entry, WALK_FDS, FTW_PHYS | FTW_MOUNT) != 0)
		harness_fail("tree: %s: %s", path, strerror(errno));
	qsort(tree->entries, tree->count, sizeof(*tree->entries),
	      compare_entries);
	return tree;
}

const char *tree_changes(const struct tree *before, const struct tree *now)
{
	struct arena_text text = { 0 };
	size_t i = 0, j = 0;

	while (i < before->count || j < now->count) {
		const struct tree_entry *old = &before->entries[i];
		const struct tree_entry *new = &now->entries[j];
		int order = i == before->count ? 1 :
			    j == now->count ? -1 : compare_entries(old, new);

		if (order < 0)
			arena_add_format(&text, "- %s\n", old->name);
		else if (order > 0)
			arena_add_format(&text, "+ %s\n", new->name);
		else if (strcmp(old->state, new->state) != 0)
			arena_add_format(&text, "! %s: %s -> %s\n", old->name,
					 old->state, new->state);
		i += order <= 0;
		j += order >= 0;
	}
	return arena_string(&text);
}
