/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One JSON line a path:
 *
 *   {"path":"src/a.c","change":"modified","type":"file","size":120}
 */
#include "engine/listing.h"

#include "engine/changes.h"

#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

static const char *type_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symlink";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	default:
		return "device";
	}
}

struct list {
	int fd;
	uint64_t size, most; /* bytes: written so far, and at the end */
	struct text_buf text;
};

enum { FLUSH_AT = 64 * 1024 };

static int flush(struct list *list, struct error *err)
{
	size_t done = 0;

	list->size += list->text.count;
	if (list->size > list->most)
		return error_set(err, EFBIG, "the list has more than %" PRIu64
				 " bytes", list->most);
	while (done < list->text.count) {
		ssize_t wrote = write(list->fd, list->text.at + done,
				      list->text.count - done);

		if (wrote < 0 && errno != EINTR)
			return error_set(err, errno, "write the changes-file");
		if (wrote > 0)
			done += (size_t)wrote;
	}
	list->text.count = 0;
	return 0;
}

static int list_change(const struct change *change, void *data,
		       struct error *err)
{
	struct list *list = data;

	text_add(&list->text, "{\"path\":");
	text_add_json(&list->text, change->path);
	text_addf(&list->text, ",\"change\":\"%s\",\"type\":\"%s\"",
		  change_names[change->kind], type_name(change->status.st_mode));
	if (S_ISREG(change->status.st_mode))
		text_addf(&list->text, ",\"size\":%llu",
			  (unsigned long long)change->status.st_size);
	text_add(&list->text, "}\n");
	return list->text.count < FLUSH_AT ? 0 : flush(list, err);
}

int listing_write(int fd, uint64_t most, int upper, const int *lowers,
		  size_t count, struct error *err)
{
	auto_arena struct arena *arena = arena_new();
	struct list list = { .fd = fd, .most = most, .text.arena = arena };
	const struct change_visitor visitor = {
		.change = list_change, .data = &list,
	};
	int r = changes_walk(upper, lowers, count, &visitor, err);

	return r < 0 ? r : flush(&list, err);
}
