/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What Criterion takes of libgit2, which it prints differences with: nothing
 * until there is a difference.
 *
 * Criterion starts a process a test, and the real libgit2 has each of them
 * load fourteen libraries and read every certificate of the machine, which
 * takes longer than most tests.  This library has its name and is found first;
 * a program that does not find it gets the real one.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

int git_libgit2_init(void);
int git_libgit2_shutdown(void);
int git_diff_buffers(const void *old, size_t old_length, const char *old_path,
		     const void *new, size_t new_length, const char *new_path,
		     const void *options, void *file, void *binary, void *hunk,
		     void *line, void *payload);

static void *real(const char *name)
{
	void *library = dlopen(LIBGIT2, RTLD_NOW | RTLD_LOCAL);
	void *function = library ? dlsym(library, name) : NULL;

	if (!function) {
		fprintf(stderr, "no differences: %s\n", dlerror());
		abort();
	}
	return function;
}

/* How often it is initialised now, as the real one says. */
int git_libgit2_init(void)
{
	return 1;
}

int git_libgit2_shutdown(void)
{
	return 0;
}

int git_diff_buffers(const void *old, size_t old_length, const char *old_path,
		     const void *new, size_t new_length, const char *new_path,
		     const void *options, void *file, void *binary, void *hunk,
		     void *line, void *payload)
{
	__typeof__(git_libgit2_init) *init = real("git_libgit2_init");
	__typeof__(git_diff_buffers) *diff = real("git_diff_buffers");

	init();
	return diff(old, old_length, old_path, new, new_length, new_path,
		    options, file, binary, hunk, line, payload);
}
