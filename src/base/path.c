/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Paths as text; nothing here looks at a file system. */
#include "base/text.h"

#include <string.h>

bool path_is_normal(const char *path)
{
	if (*path != '/')
		return false;
	if (!path[1])
		return true;
	while (*path) {
		size_t length = strcspn(++path, "/");

		if (!length || (length == 1 && *path == '.') ||
		    (length == 2 && !memcmp(path, "..", 2)))
			return false;
		path += length;
	}
	return true;
}

char *path_normalise(struct arena *arena, const char *path)
{
	char *normal = arena_alloc(arena, strlen(path) + 2);
	size_t used = 0;

	while (*path) {
		size_t length;

		path += strspn(path, "/");
		length = strcspn(path, "/");
		if (length == 2 && !memcmp(path, "..", 2)) {
			while (used && normal[--used] != '/')
				;
		} else if (length && !(length == 1 && *path == '.')) {
			normal[used++] = '/';
			memcpy(normal + used, path, length);
			used += length;
		}
		path += length;
	}
	if (!used)
		normal[used++] = '/';
	normal[used] = '\0';
	return normal;
}

char *path_join(struct arena *arena, const char *base, const char *name)
{
	size_t length = strlen(base), name_size = strlen(name) + 1;
	char *joined;

	if (*name == '/')
		return arena_strdup(arena, name);
	joined = arena_alloc(arena, length + 1 + name_size);
	/* The end comes with @name. */
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
	memcpy(joined, base, length);
	if (!length || base[length - 1] != '/')
		joined[length++] = '/';
	memcpy(joined + length, name, name_size);
	return joined;
}

bool path_is_below(const char *path, const char *top)
{
	size_t length = strlen(top);

	if (length == 1)
		return true;
	return !strncmp(path, top, length) &&
	       (!path[length] || path[length] == '/');
}

size_t path_depth(const char *path)
{
	size_t depth = 0;

	if (!path[1])
		return 0;
	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

bool path_is_shown_by(const char *path, const char *place, const char *best)
{
	return path_is_below(path, place) &&
	       (!best || strlen(place) >= strlen(best));
}
