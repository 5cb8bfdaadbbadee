/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why the kernel does not lay these layers on each other: it says EINVAL to
 * all of it, and the reason goes to its log.
 */
#include "engine/child.h"
#include "engine/conditions.h"

#include "base/text.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

/* What is known, and what a check finds. */
struct layers {
	const struct child *child;
	const struct op *op;
	const struct source *source;
	struct condition_words words;
};

/* ---- file systems -------------------------------------------------------------- */

/* As of statfs(2). */
enum { TYPE_OVERLAY = 0x794c7630 };

struct file_system {
	unsigned type;
	const char *name;
};

static const struct file_system no_uppers[] = {
	{ TYPE_OVERLAY, "overlay" },
	{ 0x65735546, "FUSE" },
	{ 0x6969, "NFS" },
	{ 0x01021997, "9p" },
	{ 0xff534d42, "CIFS" },
	{ 0xfe534d42, "SMB" },
	{ 0x00c36400, "Ceph" },
	{ 0x4d44, "FAT" },
	{ 0x2011bab0, "exFAT" },
	{ 0x7366746e, "NTFS" },
	{ 0xf15f, "eCryptfs" },
};

/* They compare names in a way of their own. */
static const struct file_system no_lowers[] = {
	{ 0x9fa0, "proc" },
	{ 0x4d44, "FAT" },
	{ 0x2011bab0, "exFAT" },
};

static const char *name_in(const struct file_system *list, size_t count,
			   const struct statfs *status)
{
	for (size_t i = 0; i < count; i++)
		if ((unsigned)status->f_type == list[i].type)
			return list[i].name;
	return NULL;
}

/* The kernel may also mount read-only then. */
static bool has_bad_upper(struct layers *layers)
{
	struct statfs status;

	if (layers->source->upper < 0 ||
	    fstatfs(layers->source->upper, &status) < 0)
		return false;
	layers->words.path = layers->op->upper ? layers->op->upper : "";
	layers->words.value = name_in(no_uppers, ARRAY_SIZE(no_uppers),
				      &status);
	if (!layers->words.value && status.f_flags & ST_RDONLY)
		layers->words.value = "a read-only file system";
	return layers->words.value;
}

static bool has_bad_lower(struct layers *layers)
{
	struct statfs status;

	for (size_t i = 0; i < layers->source->lowers.count; i++) {
		if (fstatfs(layers->source->lowers.at[i], &status) < 0)
			continue;
		layers->words.path = layers->op->lowers.at[i];
		layers->words.value = name_in(no_lowers, ARRAY_SIZE(no_lowers),
					      &status);
		if (layers->words.value)
			return true;
	}
	return false;
}

/* ---- how they lie ----------------------------------------------------------------- */

static bool has_too_many(struct layers *layers)
{
	enum { KERNEL_MOST = 500 };

	return layers->source->lowers.count > KERNEL_MOST;
}

/* The work directory's path, when it is not one that was made. */
static bool has_bad_work(struct layers *layers)
{
	const struct op *op = layers->op;
	struct arena *arena = layers->child->arena;
	struct stat upper, work;
	const char *a, *b;

	if (!op->upper || !op->work ||
	    fstat(layers->source->upper, &upper) < 0 ||
	    fstat(layers->source->work, &work) < 0)
		return false;
	layers->words.path = a = path_normalise(arena, op->upper);
	layers->words.value = b = path_normalise(arena, op->work);
	return upper.st_dev != work.st_dev || path_is_below(a, b) ||
	       path_is_below(b, a);
}

/* The lower layer above the mount point @point, or NULL. */
static const char *lower_above(const struct child *child, const struct op *op,
			       const char *point)
{
	for (size_t i = 0; i < op->lowers.count; i++) {
		const char *lower = path_normalise(child->arena,
						   op->lowers.at[i]);

		if (path_is_below(point, lower) && strcmp(point, lower) != 0)
			return lower;
	}
	return NULL;
}

/*
 * A directory with something mounted below it cannot be a layer in a user
 * namespace, where that cannot be taken away: name the last such mount.
 */
static bool has_mount_below(struct layers *layers)
{
	const struct child *child = layers->child;
	struct error ignored;
	int fd = proc_open_file(child->procfs, "self/mountinfo", O_RDONLY,
				&ignored);
	FILE *table = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL, point[PATH_MAX];
	bool found = false;
	size_t size = 0;

	while (table && getline(&line, &size, table) > 0) {
		const char *lower;

		if (sscanf(line, "%*s %*s %*s %*s %4095s", point) != 1)
			continue;
		lower = lower_above(child, layers->op, point);
		if (!lower)
			continue;
		found = true;
		layers->words.path = arena_strdup(child->arena, point);
		layers->words.value = lower;
	}
	free(line);
	if (table)
		fclose(table);
	return found;
}

/* The last question: what else would be wrong with a layer that is one? */
static bool is_too_deep(struct layers *layers)
{
	struct statfs status;

	for (size_t i = 0; i < layers->source->lowers.count; i++) {
		layers->words.path = layers->op->lowers.at[i];
		if (!fstatfs(layers->source->lowers.at[i], &status) &&
		    (unsigned)status.f_type == TYPE_OVERLAY)
			return true;
	}
	return false;
}

/* ---- which it is ------------------------------------------------------------------- */

bool layers_have_mount(const struct child *child, const struct op *op,
		       struct error *err)
{
	struct layers layers = { .child = child, .op = op };

	if (!has_mount_below(&layers))
		return false;
	error_set(err, EINVAL, "a layer has a mount below it");
	condition_apply(child->plan, CONDITION_OVERLAY_LOWER, &layers.words,
			err);
	return true;
}

void layers_explain(const struct child *child, const struct op *op,
		    const struct source *source, struct error *err)
{
	static const struct {
		bool (*holds)(struct layers *layers);
		enum condition condition;
		bool at_any_error; /* false: only EINVAL is because of it */
	} faults[] = {
		{ has_bad_upper, CONDITION_OVERLAY_UPPER, true },
		{ has_too_many, CONDITION_OVERLAY_COUNT, true },
		{ has_bad_work, CONDITION_OVERLAY_WORK },
		{ has_bad_lower, CONDITION_OVERLAY_LOWER_KIND },
		{ has_mount_below, CONDITION_OVERLAY_LOWER },
		{ is_too_deep, CONDITION_OVERLAY_DEPTH },
	};
	struct layers layers = {
		.child = child, .op = op, .source = source,
	};

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		if ((err->code != EINVAL && !faults[i].at_any_error) ||
		    !faults[i].holds(&layers))
			continue;
		condition_apply(child->plan, faults[i].condition,
				&layers.words, err);
		return;
	}
}
