/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The journal is text:
 *
 *   sbx-launch-commit 1 DEV INO      the directory that it is for
 *   KIND SLOT NOW BEFORE SIZE        a step, and on the next line its path
 *   ...                              of SIZE bytes
 *   end COUNT
 */
#include "engine/journal.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { JOURNAL_MOST = 256 * 1024 * 1024 }; /* bytes */

static const char kind_letters[] = "PSTM";
_Static_assert(sizeof(kind_letters) == JOURNAL_COUNT + 1, "a letter a kind");

static int write_all(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t wrote = write(fd, text, size);

		if (wrote < 0 && errno != EINTR)
			return -errno;
		if (wrote > 0) {
			text += wrote;
			size -= (size_t)wrote;
		}
	}
	return 0;
}

int journal_write(const struct journal_place *place, int stage,
		  const struct journal *journal)
{
	auto_arena struct arena *arena = arena_new();
	struct text_buf text = { .arena = arena };
	auto_close int fd = openat(stage, JOURNAL_DRAFT, O_WRONLY | O_CREAT |
				   O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat status;
	int r;

	if (fd < 0 || fstat(place->directory, &status) < 0)
		return -errno;
	text_addf(&text, "sbx-launch-commit 1 %" PRIu64 " %" PRIu64 "\n",
		  (uint64_t)status.st_dev, (uint64_t)status.st_ino);
	for (size_t i = 0; i < journal->steps.count; i++) {
		const struct journal_step *step = &journal->steps.at[i];

		text_addf(&text, "%c %zu %" PRIu64 " %" PRIu64 " %zu\n",
			  kind_letters[step->kind], step->slot, step->now,
			  step->before, strlen(step->path));
		text_add(&text, step->path);
		text_add(&text, "\n");
	}
	text_addf(&text, "end %zu\n", journal->steps.count);
	if (text.count > JOURNAL_MOST)
		return -EFBIG;
	r = write_all(fd, text.at, text.count);
	/* The slots, too; one call is quicker than one for each. */
	if (!r && syncfs(fd) < 0)
		r = -errno;
	if (!r && renameat(stage, JOURNAL_DRAFT, stage, JOURNAL_NAME) < 0)
		r = -errno;
	if (!r && fsync(stage) < 0)
		r = -errno;
	return r;
}

/* Its whole text of *@ret_size bytes; NULL with errno. */
static char *read_journal(struct arena *arena, int stage, size_t *ret_size)
{
	auto_close int fd = openat(stage, JOURNAL_NAME, O_RDONLY | O_NOFOLLOW |
				   O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	size_t size, done = 0;
	char *text;

	if (fd < 0 || fstat(fd, &status) < 0)
		return NULL;
	if (!S_ISREG(status.st_mode) || status.st_size > JOURNAL_MOST) {
		errno = EINVAL;
		return NULL;
	}
	size = (size_t)status.st_size;
	text = arena_alloc(arena, size + 1);
	while (done < size) {
		ssize_t got = read(fd, text + done, size - done);

		if (got < 0 && errno != EINTR)
			return NULL;
		if (!got)
			break;
		done += got > 0 ? (size_t)got : 0;
	}
	*ret_size = done;
	return text;
}

/* Cut the line at *@at off, and go on behind it; NULL: there is none. */
static char *take_line(char **at, const char *end)
{
	char *line = *at;
	char *newline = memchr(line, '\n', (size_t)(end - line));

	if (!newline)
		return NULL;
	*newline = '\0';
	*at = newline + 1;
	return line;
}

/* Nothing but names: ".." would lead out of the directory. */
static bool is_inside(const char *path)
{
	for (;; path++) {
		size_t length = strcspn(path, "/");

		if (!length || (length <= 2 && !strncmp(path, "..", length)))
			return false;
		path += length;
		if (!*path)
			return true;
	}
}

/* A step; false: it is the end, or nonsense, and @at is where it was. */
static bool parse_step(char **at, const char *end, struct journal_step *step)
{
	char *next = *at, *line = take_line(&next, end);
	const char *letter;
	size_t size = 0;
	char kind = '\0';

	if (!line)
		return false;
	/* NOLINTNEXTLINE(cert-err34-c): too large is refused */
	letter = sscanf(line, "%c %zu %" SCNu64 " %" SCNu64 " %zu", &kind,
			&step->slot, &step->now, &step->before, &size) == 5 ?
		 memchr(kind_letters, kind, JOURNAL_COUNT) : NULL;
	if (!letter || size >= (size_t)(end - next) || next[size] != '\n') {
		next[-1] = '\n';
		return false;
	}
	step->kind = (enum journal_kind)(letter - kind_letters);
	step->path = next;
	next[size] = '\0';
	if (!is_inside(next)) {
		next[-1] = '\n';
		return false;
	}
	*at = next + size + 1;
	return true;
}

int journal_read(const struct journal_place *place, int stage,
		 struct arena *arena, struct journal *ret_journal)
{
	size_t size = 0, count;
	char *at = read_journal(arena, stage, &size);
	const char *end = at + size, *line;
	struct journal_step step;
	uint64_t dev, ino;
	struct stat status;

	if (!at)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(place->directory, &status) < 0)
		return -errno;
	line = take_line(&at, end);
	/* A device may have another number after a restart. */
	/* NOLINTNEXTLINE(cert-err34-c): too large is refused */
	if (!line || sscanf(line, "sbx-launch-commit 1 %" SCNu64 " %" SCNu64,
			    &dev, &ino) != 2 || ino != status.st_ino)
		return -EBADMSG;
	while (parse_step(&at, end, &step))
		*arena_push(arena, &ret_journal->steps) = step;
	line = take_line(&at, end);
	/* NOLINTNEXTLINE(cert-err34-c): too large is refused */
	if (!line || sscanf(line, "end %zu", &count) != 1 ||
	    count != ret_journal->steps.count)
		return -EBADMSG;
	return 1;
}
