/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A directory tree as it is now, to say later what became different: for
 * tests that claim that a run changed nothing, or only this.
 */
#ifndef HARNESS_TREE_H
#define HARNESS_TREE_H

struct tree;

enum tree_look {
	TREE_CONTENT,  /* names, types, modes, owners, content, link targets,
			* extended attributes */
	TREE_TOUCHED,  /* that, and inode numbers and times of change: a file
			* that was written with what it already held, too */
};

/* Everything below @path, mounts not followed.  Ends the test on errors. */
const struct tree *tree_read(const char *path, enum tree_look look);

/*
 * What is different in @now, sorted by path: a line "+ NAME", "- NAME" or
 * "! NAME: what was -> what is" each; an empty string when nothing is.
 */
const char *tree_changes(const struct tree *before, const struct tree *now);

/* Claim that @before, read from @path with @look, is still what is there. */
#define expect_tree_unchanged(before, path, look)                        \
	do {                                                             \
		const char *tree_changes_now =                           \
			tree_changes(before, tree_read(path, look));     \
		cr_expect(!*tree_changes_now, "%s was changed:\n%s",     \
			  path, tree_changes_now);                       \
	} while (0)

#endif
