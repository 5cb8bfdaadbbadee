/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which files are profiles, and which of them are believed. */
#include "front/profile_file.h"
#include "profile_dir.h"

#include "front/ini.h"

#include <sys/socket.h>
#include <sys/un.h>

TestSuite(profile_trust, .init = dir_setup, .fini = dir_teardown,
	  .timeout = 30);

static struct profile_text text;

static void expect_read(const char *path)
{
	memset(&err, 0, sizeof(err));
	cr_expect_eq(profile_file_read(arena, path, &text, &err), 0, "%s",
		     err.text);
}

static void expect_refusal(const char *path, int code, const char *message)
{
	memset(&err, 0, sizeof(err));
	cr_expect_lt(profile_file_read(arena, path, &text, &err), 0, "%s",
		     path);
	cr_expect_str_eq(err.text, message);
	cr_expect_eq(err.code, code);
}

Test(profile_trust, a_file_of_ones_own)
{
	struct stat info;

	put_bytes("p.ini", "a\0b", 3);
	expect_read("p.ini");
	cr_expect_eq(text.size, 3);
	cr_expect_eq(memcmp(text.text, "a\0b", 4), 0);
	cr_expect_str_eq(text.directory, ".");
	stat("p.ini", &info);
	cr_expect_eq(text.chain.at[0].inode, info.st_ino);
	stat(dir, &info);
	cr_expect_eq(text.chain.at[1].inode, info.st_ino);
	stat("/", &info);
	cr_expect_eq(text.chain.at[text.chain.count - 1].inode, info.st_ino);
	cr_expect_eq(text.chain.count, 4, "file, directory, /tmp, /");
}

Test(profile_trust, what_is_not_there)
{
	expect_refusal("nope.ini", ENOENT, "profile 'nope.ini'");
	expect_refusal("no/such/p.ini", ENOENT, "profile 'no/such/p.ini'");
	put("file", "");
	expect_refusal("file/p.ini", ENOTDIR, "profile 'file/p.ini'");
}

Test(profile_trust, what_is_no_file)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX,
				       .sun_path = "s.ini" };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(mkdir("d.ini", 0755), 0);
	expect_refusal("d.ini", 0, "profile 'd.ini' is a directory, not a "
		       "regular file");
	expect_refusal("d.ini/", 0, "profile 'd.ini/' is a directory, not a "
		       "regular file");
	/* Opened as usual it would wait for a writer, for ever. */
	cr_assert_eq(mkfifo("f.ini", 0600), 0);
	expect_refusal("f.ini", 0, "profile 'f.ini' is a FIFO, not a regular "
		       "file");
	cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)),
		     0);
	expect_refusal("s.ini", 0, "profile 's.ini' is a socket, not a "
		       "regular file");
	expect_refusal("/dev/null", 0, "profile '/dev/null' is a device, not "
		       "a regular file");
	close(fd);
}

Test(profile_trust, what_others_can_write)
{
	put("p.ini", "");
	chmod("p.ini", 0602);
	expect_refusal("p.ini", 0, "profile 'p.ini' is not trusted: the file "
		       "'p.ini' can be written by everybody");
	cr_expect_str_eq(err.remedy, "chmod go-w 'p.ini'");
	cr_expect_str_eq(err.reason, "profile-trust");
	chmod("p.ini", 0620);
	expect_refusal("p.ini", 0, "profile 'p.ini' is not trusted: the file "
		       "'p.ini' can be written by its group");
	chmod("p.ini", 0400);
	expect_read("p.ini");
}

Test(profile_trust, directories_that_others_can_write)
{
	cr_assert_eq(mkdir("d", 0755), 0);
	put("d/p.ini", "");
	chmod("d", 0757);
	expect_refusal("d/p.ini", 0, "profile 'd/p.ini' is not trusted: "
		       "directory 'd' can be written by everybody");
	chmod("d", 0775);
	expect_refusal("d/p.ini", 0, "profile 'd/p.ini' is not trusted: "
		       "directory 'd' can be written by its group");
	/* Only owners remove and rename there. */
	chmod("d", 01777);
	expect_read("d/p.ini");
	chmod("d", 0755);
	expect_read("d/p.ini");
}

Test(profile_trust, a_directory_above_that_everybody_can_write)
{
	cr_assert_eq(mkdir("a", 0755), 0);
	cr_assert_eq(mkdir("a/b", 0755), 0);
	put("a/b/p.ini", "");
	chmod("a", 0757);
	expect_refusal("a/b/p.ini", 0, "profile 'a/b/p.ini' is not trusted: a "
		       "directory above it can be written by everybody");
	chmod("a", 0755);
	expect_read("a/b/p.ini");
}

Test(profile_trust, a_link_is_followed_and_both_ends_are_checked)
{
	cr_assert_eq(mkdir("links", 0755), 0);
	cr_assert_eq(mkdir("files", 0755), 0);
	put("files/p.ini", "x");
	cr_assert_eq(symlink("../files/p.ini", "links/l.ini"), 0);
	cr_assert_eq(symlink("l.ini", "links/m.ini"), 0);
	expect_read("links/m.ini");
	cr_expect_eq(text.size, 1);
	cr_expect_str_eq(text.directory, "links");
	chmod("files", 0777);
	expect_refusal("links/m.ini", 0, "profile 'links/m.ini' is not "
		       "trusted: directory 'links/../files' can be written by "
		       "everybody");
	chmod("files", 0755);
	chmod("links", 0777);
	expect_refusal("links/m.ini", 0, "profile 'links/m.ini' is not "
		       "trusted: directory 'links' can be written by "
		       "everybody");
}

Test(profile_trust, links_that_lead_nowhere)
{
	cr_assert_eq(symlink("gone", "dangling.ini"), 0);
	cr_assert_eq(symlink("loop.ini", "loop.ini"), 0);
	cr_assert_eq(symlink("/dev/tty", "tty.ini"), 0);
	expect_refusal("dangling.ini", ENOENT, "profile 'dangling.ini'");
	expect_refusal("loop.ini", ELOOP, "profile 'loop.ini'");
	expect_refusal("tty.ini", 0, "profile 'tty.ini' is a device, not a "
		       "regular file");
}

Test(profile_trust, files_of_root_and_of_somebody_else)
{
	expect_read("/etc/passwd");
	/* Only root can give files away. */
	if (getuid())
		return;
	put("p.ini", "");
	cr_assert_eq(chown("p.ini", 4242, 4242), 0);
	expect_refusal("p.ini", 0, "profile 'p.ini' is not trusted: the file "
		       "'p.ini' belongs to user 4242, not to you or root");
	cr_assert_eq(mkdir("d", 0755), 0);
	put("d/p.ini", "");
	cr_assert_eq(chown("d", 4242, 4242), 0);
	expect_refusal("d/p.ini", 0, "profile 'd/p.ini' is not trusted: "
		       "directory 'd' belongs to user 4242, not to you or "
		       "root");
	cr_assert_eq(symlink(in_dir("ok.ini"), "l.ini"), 0);
	put("ok.ini", "");
	cr_assert_eq(lchown("l.ini", 4242, 4242), 0);
	expect_refusal("l.ini", 0, "profile 'l.ini' is not trusted: symlink "
		       "'l.ini' belongs to user 4242, not to you or root");
}

Test(profile_trust, a_file_that_cannot_be_read)
{
	put("p.ini", "");
	cr_assert_eq(chmod("p.ini", 0), 0);
	/* Root reads anything. */
	if (getuid())
		expect_refusal("p.ini", EACCES, "profile 'p.ini'");
	else
		expect_read("p.ini");
}

Test(profile_trust, a_huge_file)
{
	put("p.ini", "");
	cr_assert_eq(truncate("p.ini", (off_t)INI_SIZE_MOST + 1), 0);
	expect_refusal("p.ini", 0, "profile 'p.ini' is larger than 16 MiB");
	cr_assert_eq(truncate("p.ini", (off_t)1 << 42), 0);
	expect_refusal("p.ini", 0, "profile 'p.ini' is larger than 16 MiB");
}

/* ---- the search ------------------------------------------------------------------- */

static void expect_found(const char *name, const char *path)
{
	const char *found = NULL;

	memset(&err, 0, sizeof(err));
	cr_assert_eq(profile_file_find(arena, name, &found, &err), 0, "%s",
		     err.text);
	cr_expect_str_eq(found, path);
}

Test(profile_trust, a_name_with_a_slash_is_a_path)
{
	expect_found("./x", "./x");
	expect_found("/a/b.ini", "/a/b.ini");
	expect_found("a/b", "a/b");
}

Test(profile_trust, a_bare_name_is_searched)
{
	const char *path;

	setenv("HOME", dir, 1);
	unsetenv("XDG_CONFIG_HOME");
	put("sbx-unit-x.ini", "");
	expect_found("sbx-unit-x", "sbx-unit-x.ini");
	expect_found("sbx-unit-x.ini", "sbx-unit-x.ini");
	cr_assert_eq(mkdir(".config", 0755), 0);
	cr_assert_eq(mkdir(".config/sbx-launch", 0755), 0);
	put(".config/sbx-launch/sbx-unit-x.ini", "");
	expect_found("sbx-unit-x", in_dir(".config/sbx-launch/sbx-unit-x.ini"));
	cr_assert_eq(mkdir("xdg", 0755), 0);
	cr_assert_eq(mkdir("xdg/sbx-launch", 0755), 0);
	setenv("XDG_CONFIG_HOME", in_dir("xdg"), 1);
	expect_found("sbx-unit-x", "sbx-unit-x.ini");
	put("xdg/sbx-launch/sbx-unit-x", "");
	expect_found("sbx-unit-x", in_dir("xdg/sbx-launch/sbx-unit-x"));
	/* The XDG specification has a relative one ignored. */
	setenv("XDG_CONFIG_HOME", "xdg", 1);
	expect_found("sbx-unit-x", in_dir(".config/sbx-launch/sbx-unit-x.ini"));

	cr_expect_lt(profile_file_find(arena, "sbx-unit-none", &path, &err),
		     0);
	cr_expect_str_eq(err.text, "profile 'sbx-unit-none'");
	cr_expect_eq(err.code, ENOENT);
	cr_expect_not_null(strstr(err.remedy, "/sbx-launch"));
	cr_expect_lt(profile_file_find(arena, "", &path, &err), 0);
	cr_expect_str_eq(err.text, "the profile's name is empty");
}
