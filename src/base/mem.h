/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory and descriptors that clean up after themselves.
 *
 * An arena owns everything that lives as long as a plan: it only grows and
 * is freed as one.  Its functions never return NULL; when memory runs out
 * they call the handler that main.c installed, which does not return.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

struct arena;

/* Called when memory runs out; must not return.  The default aborts. */
typedef void (*mem_oom_fn)(void);
void mem_set_oom_handler(mem_oom_fn handler);

/* A new, empty arena; the caller frees it with arena_free(). */
struct arena *arena_new(void);
/* Free @arena and everything allocated from it; NULL is allowed. */
void arena_free(struct arena *arena);

/* @size zeroed bytes, aligned for any object; owned by @arena. */
void *arena_alloc(struct arena *arena, size_t size);
/* A copy of @data, with one NUL byte behind it. */
void *arena_memdup(struct arena *arena, const void *data, size_t size);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t size);
char *arena_printf(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *arena, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/*
 * Make room for one element more in an array that lives in an arena.
 * Returns the array, moved if need be; @cap is updated.  Used through
 * arena_push().
 */
void *arena_grow(struct arena *arena, void *array, size_t count, size_t *cap,
		 size_t element);

/*
 * The address of a new, zeroed last element of the growing array @list, a
 * struct with members `at`, `count` and `cap`, declared with LIST_OF().
 */
#define LIST_OF(type) struct { type *at; size_t count, cap; }
#define arena_push(arena, list) ({                                            \
	__auto_type list_ = (list);                                           \
	list_->at = arena_grow((arena), list_->at, list_->count, &list_->cap, \
			       sizeof(*list_->at));                           \
	&list_->at[list_->count++];                                           \
})

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* Cleanup attributes: `auto_close int fd = -EBADF;` */
static inline void mem_free_pointer(void *pointer)
{
	int saved = errno;

	free(*(void **)pointer);
	errno = saved;
}

static inline void mem_close_fd(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -EBADF;
	errno = saved;
}

static inline void mem_free_arena(struct arena **arena)
{
	arena_free(*arena);
}

#define auto_free __attribute__((cleanup(mem_free_pointer)))
#define auto_close __attribute__((cleanup(mem_close_fd)))
#define auto_arena __attribute__((cleanup(mem_free_arena)))

/* Hand the descriptor on: returns it and leaves -EBADF behind. */
static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -EBADF;
	return taken;
}

#endif
