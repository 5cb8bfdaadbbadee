/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finding a profile, and reading it only if it can be trusted: a regular
 * file that belongs to root or the caller and that nobody else can write, in
 * a directory of which the same holds.
 *
 * Everything is looked at through descriptors.  A symlink may lead to the
 * file (/etc/sbx-launch/default.ini -> py.ini is common) if it belongs to
 * root or the caller; the directory of each link on the way is checked as the
 * file's own is.  A directory that all may write but where only owners may
 * remove (/tmp) will do: the file in it is the owner's all the same.  Inside
 * a user namespace that does not map root, files of the installed directories
 * may belong to the overflow id.
 */
#ifndef FRONT_PROFILE_FILE_H
#define FRONT_PROFILE_FILE_H

#include "plan/plan.h"

struct profile_text {
	const char *path;       /* as opened */
	const char *directory;  /* of @path, before links are followed */
	const char *text;
	size_t size;
	/* The file first, then each directory up to the root. */
	LIST_OF(struct file_id) chain;
};

/*
 * The path of profile @name: itself when it holds a slash, otherwise what
 * the search finds.  Returns 0, or a negative errno with @err filled.
 */
int profile_file_find(struct arena *arena, const char *name,
		      const char **ret_path, struct error *err);

/*
 * Open, check and read @path; all of it lives in @arena.  Returns 0, or a
 * negative errno with @err filled.
 */
int profile_file_read(struct arena *arena, const char *path,
		      struct profile_text *ret_text, struct error *err);

/*
 * Is @uid what the kernel shows for owners that the user namespace does not
 * map?  Where it is mapped it is a user like any other.
 */
bool profile_file_is_unmapped(uid_t uid);

#endif
