/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Paths below a root: by openat2(2), and component by component where there
 * is none.  Every claim is made of both.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "attempt.h"
#include "base/mem.h"
#include "harness/arena.h"
#include "harness/program.h"
#include "harness/scratch.h"
#include "sys/rootfs.h"

static struct error err;

enum { LINKS_MOST = 40 };

/* secret/file beside root/, and in there links of all kinds. */
static const char *make_tree(void)
{
	static const char *const links[][2] = {
		{ "abs", "/a/b" }, { "rel", "./a/../a/b" }, { "a/up", ".." },
		{ "out", "../../../../secret" }, { "top", "../../.." },
		{ "loop", "loop" }, { "dangling", "/a/missing/x" },
		{ "door/go", "../a" }, { "l0", "/a" },
	};
	const char *top = scratch_make();
	const char *root = path_in(top, "root");

	directory_make(path_in(top, "secret"), 0755);
	file_write(path_in(top, "secret/file"), "outside");
	directory_make_all(path_in(root, "a/b"));
	directory_make(path_in(root, "door"), 0755);
	file_write(path_in(root, "a/b/file"), "inside");
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		link_make(links[i][1], path_in(root, links[i][0]));
	for (int i = 1; i <= LINKS_MOST; i++)
		link_make(arena_format("l%d", i - 1),
			  path_in(root, arena_format("l%d", i)));
	directory_make_all(path_in(root, "closed/below"));
	chmod(path_in(root, "closed"), 0);
	return top;
}

static void end_tree(const char *top)
{
	chmod(path_in(top, "root/closed"), 0755);
}

static int open_root(const char *top)
{
	return open(path_in(top, "root"), O_PATH | O_CLOEXEC);
}

/* Is @fd what is called @path on the host? */
static bool is_at(int fd, const char *path)
{
	struct stat one, two;

	return !fstatat(fd, "", &one, AT_EMPTY_PATH) && !lstat(path, &two) &&
	       one.st_ino == two.st_ino && one.st_dev == two.st_dev;
}

static bool is_outside(int fd, const char *top)
{
	return is_at(fd, top) || is_at(fd, path_in(top, "secret")) ||
	       is_at(fd, path_in(top, "secret/file"));
}

/* ---- opening ---------------------------------------------------------------- */

static const struct row {
	const char *path;
	enum rootfs_follow follow;
	const char *found; /* below root/; NULL: */
	int error;
} rows[] = {
	{ "", ROOTFS_FOLLOW, "." },
	{ "/", ROOTFS_FOLLOW, "." },
	{ "/a//b/", ROOTFS_FOLLOW, "a/b" },
	{ "a/./b/../b/file", ROOTFS_FOLLOW, "a/b/file" },
	{ "..", ROOTFS_FOLLOW, "." },
	{ "../../a/../..", ROOTFS_FOLLOW, "." },
	{ "../../../secret/file", ROOTFS_FOLLOW, NULL, ENOENT },
	{ "abs", ROOTFS_FOLLOW, "a/b" },
	{ "rel/file", ROOTFS_FOLLOW, "a/b/file" },
	{ "a/up", ROOTFS_FOLLOW, "." },
	{ "a/up/../abs/..", ROOTFS_FOLLOW, "a" },
	{ "out", ROOTFS_FOLLOW, NULL, ENOENT },
	{ "out/file", ROOTFS_FOLLOW, NULL, ENOENT },
	{ "top", ROOTFS_FOLLOW, "." },
	{ "top/../../a", ROOTFS_FOLLOW, "a" },
	{ "loop", ROOTFS_FOLLOW, NULL, ELOOP },
	{ "loop/x", ROOTFS_FOLLOW, NULL, ELOOP },
	{ "dangling", ROOTFS_FOLLOW, NULL, ENOENT },
	{ "l39", ROOTFS_FOLLOW, "a" },
	{ "l40", ROOTFS_FOLLOW, NULL, ELOOP },
	{ "a/b/file/", ROOTFS_FOLLOW, NULL, ENOTDIR },
	{ "a/b/file/x", ROOTFS_FOLLOW, NULL, ENOTDIR },
	{ "a/b/file/.", ROOTFS_FOLLOW, NULL, ENOTDIR },
	{ "a/b/file/..", ROOTFS_FOLLOW, NULL, ENOTDIR },
	{ "closed", ROOTFS_FOLLOW, "closed" },
	{ "closed/below", ROOTFS_FOLLOW, NULL, EACCES },
	{ "closed/..", ROOTFS_FOLLOW, NULL, EACCES },
	{ "abs", ROOTFS_NOFOLLOW_LAST, "abs" },
	{ "a/up/loop", ROOTFS_NOFOLLOW_LAST, "loop" },
	{ "abs/", ROOTFS_NOFOLLOW_LAST, "a/b" },
	{ "abs/file", ROOTFS_NOFOLLOW_LAST, "a/b/file" },
	{ "abs/file/x", ROOTFS_NOFOLLOW_LAST, NULL, ENOTDIR },
	{ "a/up/..", ROOTFS_NOFOLLOW_LAST, "." },
	{ "missing/x", ROOTFS_NOFOLLOW_LAST, NULL, ENOENT },
	{ "a/b/file", ROOTFS_NO_SYMLINKS, "a/b/file" },
	{ "a/../a", ROOTFS_NO_SYMLINKS, "a" },
	{ "abs", ROOTFS_NO_SYMLINKS, NULL, ELOOP },
	{ "a/up/a", ROOTFS_NO_SYMLINKS, NULL, ELOOP },
	{ "missing", ROOTFS_NO_SYMLINKS, NULL, ENOENT },
};

static int open_rows(const void *top)
{
	auto_close int root = open_root(top);
	int wrong = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		int fd = rootfs_open(root, row->path, row->follow, &err);
		const char *found = path_in(path_in(top, "root"),
					    row->found ? row->found : "");

		if (row->found ? fd < 0 || !is_at(fd, found) :
				 fd != -row->error) {
			fprintf(stderr, "row %zu, '%s': %d\n", i, row->path,
				fd);
			wrong = 1;
		}
		if (fd >= 0)
			close(fd);
	}
	return wrong;
}

Test(rootfs, stays_below_the_root)
{
	const char *top = make_tree();

	expect_passes(open_rows, .data = top);
	expect_passes(open_rows, .data = top, REFUSING({ "openat2", ENOSYS }));
	expect_passes(open_rows, .data = top, REFUSING({ "openat2", EPERM }));
	end_tree(top);
}

/* What leads out of a procfs is a text at most. */
static int open_magic(const void *unused)
{
	static const char *const links[] = {
		"self/root", "self/cwd", "self/exe", "self/root/etc/passwd",
	};
	auto_close int root = open("/proc", O_PATH | O_CLOEXEC);
	struct stat proc, found;

	CHECK(!fstatat(root, "", &proc, AT_EMPTY_PATH));
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		auto_close int fd = rootfs_open(root, links[i], ROOTFS_FOLLOW,
						&err);

		CHECK(fd < 0 || (!fstatat(fd, "", &found, AT_EMPTY_PATH) &&
				 found.st_dev == proc.st_dev));
	}
	return 0;
}

Test(rootfs, passes_no_magic_link)
{
	expect_passes(open_magic);
	expect_passes(open_magic, REFUSING({ "openat2", ENOSYS }));
}

/* ---- walking ---------------------------------------------------------------- */

static int walk_to_what_is_missing(const void *top)
{
	auto_close int root = open_root(top);
	struct rootfs_part part;

	ATTEMPT(rootfs_walk(root, "rel/new/er", NULL, NULL, &part, &err));
	CHECK(is_at(part.fd, path_in(top, "root/a/b")));
	CHECK(!strcmp(part.rest, "new/er") && !strcmp(part.real, "/a/b"));
	close(part.fd);
	ATTEMPT(rootfs_walk(root, "out/file", NULL, NULL, &part, &err));
	CHECK(is_at(part.fd, path_in(top, "root")));
	CHECK(!strncmp(part.rest, "secret/", 7) && !*part.real);
	close(part.fd);
	ATTEMPT(rootfs_walk(root, "abs/file/..", NULL, NULL, &part, &err));
	CHECK(is_at(part.fd, path_in(top, "root/a/b/file")));
	CHECK(S_ISREG(part.type) && !strcmp(part.rest, ".."));
	close(part.fd);
	ATTEMPT(rootfs_walk(root, "top/closed/below", NULL, NULL, &part,
			    &err));
	CHECK(is_at(part.fd, path_in(top, "root/closed")) && part.is_closed);
	close(part.fd);
	return 0;
}

Test(rootfs, says_what_is_missing)
{
	const char *top = make_tree();

	expect_passes(walk_to_what_is_missing, .data = top);
	expect_passes(walk_to_what_is_missing, .data = top,
		      REFUSING({ "openat2", ENOSYS }));
	end_tree(top);
}

/* ---- while others rename ----------------------------------------------------- */

static bool refuse_all(int directory, int link, void *data)
{
	return false;
}

static int walk_guarded(const void *top)
{
	auto_close int root = open_root(top);
	struct rootfs_part part;

	REFUSED(rootfs_walk(root, "a/b/../up", refuse_all, NULL, &part, &err),
		ELOOP, "a/b/../up");
	ATTEMPT(rootfs_walk(root, "a/b/file", refuse_all, NULL, &part, &err));
	close(part.fd);
	return 0;
}

Test(rootfs, asks_before_it_follows)
{
	const char *top = make_tree();

	expect_passes(walk_guarded, .data = top);
	expect_passes(walk_guarded, .data = top,
		      REFUSING({ "openat2", ENOSYS }));
	end_tree(top);
}

/*
 * In the middle of a walk, at a link that is allowed: what the walk has
 * passed or is about to enter becomes a link to the outside, or is moved there.
 */
struct swap {
	const char *path;   /* that is walked */
	const char *from, *to; /* renamed, below the scratch directory */
	const char *link;   /* put in the place of @from; NULL: nothing */
};

static const struct swap swaps[] = {
	{ "door/go/b/file", "root/door", "root/moved", "../secret" },
	{ "door/go/b/file", "root/a", "root/moved", "../secret" },
	{ "door/go/b/file", "root/a/b", "root/moved", "../../secret" },
	{ "door/go/file", "root/a", "root/moved", "/../secret" },
	{ "door/go/b/../../file", "root/a/b", "secret/b", NULL },
	{ "door/go/b/../../secret/file", "root/a", "secret/a", NULL },
};

struct swapping {
	const struct swap *swap;
	const char *top;
	int count;
};

static bool swap_now(int directory, int link, void *data)
{
	struct swapping *swapping = data;
	const struct swap *swap = swapping->swap;
	const char *from = path_in(swapping->top, swap->from);

	/* Links that it finds later are none of ours. */
	if (swapping->count++)
		return true;
	if (rename(from, path_in(swapping->top, swap->to)) < 0)
		return false;
	return !swap->link || !symlink(swap->link, from);
}

static int walk_swapped(const void *data)
{
	struct swapping swapping = *(const struct swapping *)data;
	auto_close int root = open_root(swapping.top);
	struct rootfs_part part = { .fd = -EBADF };
	int r = rootfs_walk(root, swapping.swap->path, swap_now, &swapping,
			    &part, &err);

	CHECK(swapping.count > 0);
	CHECK(access(path_in(swapping.top, swapping.swap->to), F_OK) == 0);
	CHECK(r < 0 || (part.rest[0] && !is_outside(part.fd, swapping.top)));
	return 0;
}

static void expect_stays(const struct swap *swap, const char *refused)
{
	const char *top = make_tree();

	/* A call that everybody can do without, or the one */
	expect_passes(walk_swapped, .data = &(struct swapping){
		.swap = swap, .top = top }, REFUSING({ refused, ENOSYS }));
	end_tree(top);
}

Test(rootfs, stays_below_while_names_change)
{
	for (size_t i = 0; i < ARRAY_SIZE(swaps); i++) {
		expect_stays(&swaps[i], "kcmp");
		expect_stays(&swaps[i], "openat2");
	}
}
