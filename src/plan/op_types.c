/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/op_types.h"

#include <assert.h>
#include <string.h>

#define WORDS(...) .words = { __VA_ARGS__ }

const struct op_type op_types[] = {
	{ "bind", OP_BIND, 0, WORDS(WORD_SOURCE, WORD_DEST) },
	{ "bind-try", OP_BIND, OP_OPTIONAL, WORDS(WORD_SOURCE, WORD_DEST) },
	{ "ro-bind", OP_BIND, OP_READ_ONLY, WORDS(WORD_SOURCE, WORD_DEST) },
	{ "ro-bind-try", OP_BIND, OP_READ_ONLY | OP_OPTIONAL,
	  WORDS(WORD_SOURCE, WORD_DEST) },
	{ "dev-bind", OP_BIND, OP_DEVICES, WORDS(WORD_SOURCE, WORD_DEST) },
	{ "dev-bind-try", OP_BIND, OP_DEVICES | OP_OPTIONAL,
	  WORDS(WORD_SOURCE, WORD_DEST) },
	{ "bind-fd", OP_BIND_FD, 0, WORDS(WORD_FD, WORD_DEST) },
	{ "ro-bind-fd", OP_BIND_FD, OP_READ_ONLY, WORDS(WORD_FD, WORD_DEST) },
	{ "remount-ro", OP_REMOUNT_RO, 0, WORDS(WORD_DEST) },
	{ "overlay", OP_OVERLAY, 0, WORDS(WORD_UPPER, WORD_WORK, WORD_DEST),
	  TAKES_LAYERS },
	{ "tmp-overlay", OP_TMP_OVERLAY, 0, WORDS(WORD_DEST), TAKES_LAYERS },
	{ "ro-overlay", OP_RO_OVERLAY, 0, WORDS(WORD_DEST),
	  TAKES_LAYERS | TAKES_TWO_LAYERS },
	{ "proc", OP_PROC, 0, WORDS(WORD_DEST) },
	{ "dev", OP_DEV, 0, WORDS(WORD_DEST) },
	{ "tmpfs", OP_TMPFS, 0, WORDS(WORD_DEST), ALLOWS_PERMS | ALLOWS_SIZE },
	{ "mqueue", OP_MQUEUE, 0, WORDS(WORD_DEST) },
	{ "dir", OP_DIR, 0, WORDS(WORD_DEST), ALLOWS_PERMS },
	{ "file", OP_FILE, 0, WORDS(WORD_FD, WORD_DEST), ALLOWS_PERMS },
	{ "bind-data", OP_BIND_DATA, 0, WORDS(WORD_FD, WORD_DEST),
	  ALLOWS_PERMS },
	{ "ro-bind-data", OP_BIND_DATA, OP_READ_ONLY,
	  WORDS(WORD_FD, WORD_DEST), ALLOWS_PERMS },
	{ "symlink", OP_SYMLINK, 0, WORDS(WORD_TARGET, WORD_DEST) },
	{ "chmod", OP_CHMOD, 0, WORDS(WORD_MODE, WORD_DEST) },
};
const size_t op_types_count = ARRAY_SIZE(op_types);

static const char *const kind_names[] = {
	[OP_BIND] = "bind",
	[OP_BIND_FD] = "bind-fd",
	[OP_REMOUNT_RO] = "remount-ro",
	[OP_OVERLAY] = "overlay",
	[OP_TMP_OVERLAY] = "tmp-overlay",
	[OP_RO_OVERLAY] = "ro-overlay",
	[OP_PROC] = "proc",
	[OP_DEV] = "dev",
	[OP_TMPFS] = "tmpfs",
	[OP_MQUEUE] = "mqueue",
	[OP_DIR] = "dir",
	[OP_FILE] = "file",
	[OP_BIND_DATA] = "bind-data",
	[OP_SYMLINK] = "symlink",
	[OP_CHMOD] = "chmod",
	[OP_HIDE] = "hide",
	[OP_PROTECT] = "protect",
};
static_assert(ARRAY_SIZE(kind_names) == OP_COUNT, "a name for each kind");

/* The flags that tell one spelling of a kind from another. */
enum { SPELT_FLAGS = OP_READ_ONLY | OP_DEVICES | OP_OPTIONAL };

const struct op_type *op_type_find(const char *name)
{
	for (size_t i = 0; i < op_types_count; i++)
		if (!strcmp(op_types[i].name, name))
			return &op_types[i];
	return NULL;
}

const struct op_type *op_type_of(const struct op *op)
{
	for (size_t i = 0; i < op_types_count; i++)
		if (op_types[i].kind == op->kind &&
		    op_types[i].flags == (op->flags & SPELT_FLAGS))
			return &op_types[i];
	return NULL;
}

size_t op_type_arity(const struct op_type *type)
{
	size_t count = 0;

	while (count < OP_WORDS_MOST && type->words[count] != WORD_NONE)
		count++;
	return count;
}

const char *op_kind_name(enum op_kind kind)
{
	return kind_names[kind];
}

bool op_kind_covers(enum op_kind kind)
{
	switch (kind) {
	case OP_BIND:
	case OP_BIND_FD:
	case OP_OVERLAY:
	case OP_TMP_OVERLAY:
	case OP_RO_OVERLAY:
	case OP_PROC:
	case OP_DEV:
	case OP_TMPFS:
	case OP_MQUEUE:
	case OP_BIND_DATA:
	case OP_HIDE:
		return true;
	case OP_REMOUNT_RO:
	case OP_DIR:
	case OP_FILE:
	case OP_SYMLINK:
	case OP_CHMOD:
	case OP_PROTECT:
	case OP_COUNT:
		break;
	}
	return false;
}

bool op_is_on_root(const struct op *op)
{
	return !op->dest[strspn(op->dest, "/.")] && !strstr(op->dest, "..");
}
