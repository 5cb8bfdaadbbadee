/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Landlock: what can still be done afterwards. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "attempt.h"
#include "base/mem.h"
#include "harness/identity.h"
#include "harness/program.h"
#include "harness/scratch.h"
#include "sys/caps.h"
#include "sys/landlock.h"

static struct error err;

/* Skips the test where the kernel has less than @abi. */
static void needs_abi(int abi)
{
	if (landlock_abi() < abi)
		skip_test("landlock", "Landlock ABI %d", abi);
}

static int open_path(const char *path)
{
	return open(path, O_PATH | O_CLOEXEC);
}

/* ---- files ----------------------------------------------------------------- */

static int fence_files(const void *data)
{
	const char *top = data;
	const struct landlock_hierarchy hierarchies[] = {
		{ .fd = open_path("read") },
		{ .fd = open_path("write"), .is_writable = true },
		{ .fd = open_path("file"), .is_writable = true },
	};
	const struct landlock_rules rules = {
		.hierarchies = hierarchies,
		.count = ARRAY_SIZE(hierarchies),
	};
	int abi;

	CHECK(chdir(top) == 0);
	ATTEMPT(caps_no_new_privs(&err));
	ATTEMPT(landlock_restrict(&rules, &abi, &err));
	CHECK(abi == landlock_abi());
	CHECK(open("read/a", O_RDONLY) >= 0);
	CHECK(open("read/a", O_WRONLY) < 0 && errno == EACCES);
	CHECK(open("read/new", O_WRONLY | O_CREAT, 0600) < 0 &&
	      errno == EACCES);
	CHECK(truncate("read/a", 0) < 0 || abi < 3);
	CHECK(open("write/new", O_RDWR | O_CREAT, 0600) >= 0);
	CHECK(truncate("write/a", 0) == 0);
	CHECK(mkdir("write/below", 0700) == 0);
	/* From one directory to another, which ABI 1 cannot say */
	CHECK(rename("write/new", "write/below/new") == 0);
	CHECK(unlink("write/below/new") == 0 && rmdir("write/below") == 0);
	CHECK(open("file", O_RDWR) >= 0);
	CHECK(open("other/a", O_RDONLY) < 0 && errno == EACCES);
	CHECK(open("/etc/passwd", O_RDONLY) < 0 && errno == EACCES);
	return 0;
}

Test(landlock, fences_hierarchies)
{
	const char *top = scratch_make();
	static const char *const directories[] = { "read", "write", "other" };

	needs_abi(2);
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
		const char *directory = path_in(top, directories[i]);

		directory_make(directory, 0755);
		file_write(path_in(directory, "a"), "text");
	}
	file_write(path_in(top, "file"), "text");
	expect_passes(fence_files, .data = top, .cwd = top);
}

/* ---- scopes ---------------------------------------------------------------- */

static int connect_abstract(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path + 1, name);
	return connect(fd, (struct sockaddr *)&address,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				   1 + strlen(name)));
}

static int listen_abstract(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path + 1, name);
	if (bind(fd, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			     strlen(name))) < 0)
		return -1;
	return listen(fd, 1);
}

static int fence_scopes(const void *unused)
{
	const struct landlock_rules rules = {
		.scope_abstract_sockets = true,
		.scope_signals = true,
	};
	char outside[64], inside[64];
	int abi;

	snprintf(outside, sizeof(outside), "sbx-test-%d-out", getpid());
	snprintf(inside, sizeof(inside), "sbx-test-%d-in", getpid());
	CHECK(listen_abstract(outside) == 0);
	CHECK(connect_abstract(outside) == 0);
	CHECK(kill(getppid(), 0) == 0);
	ATTEMPT(caps_no_new_privs(&err));
	ATTEMPT(landlock_restrict(&rules, &abi, &err));
	CHECK(abi == landlock_abi());
	CHECK(connect_abstract(outside) < 0 && errno == EPERM);
	CHECK(kill(getppid(), 0) < 0 && errno == EPERM);
	CHECK(listen_abstract(inside) == 0);
	CHECK(connect_abstract(inside) == 0);
	CHECK(kill(getpid(), 0) == 0);
	/* Files are no concern of these rules */
	CHECK(open("/etc/passwd", O_RDONLY) >= 0);
	return 0;
}

Test(landlock, fences_sockets_and_signals)
{
	needs_abi(6);
	expect_passes(fence_scopes);
}

/* ---- never required -------------------------------------------------------- */

static int without_landlock(const void *code)
{
	const struct landlock_hierarchy hierarchy = { .fd = open_path("/") };
	const struct landlock_rules rules = {
		.hierarchies = &hierarchy,
		.count = 1,
		.scope_signals = true,
	};
	int abi = 99;

	CHECK(landlock_abi() == 0);
	ATTEMPT(landlock_restrict(&rules, &abi, &err));
	CHECK(abi == 0);
	return 0;
}

Test(landlock, is_no_error_when_it_is_not_there)
{
	expect_passes(without_landlock,
		      REFUSING({ "landlock_create_ruleset", ENOSYS }));
	expect_passes(without_landlock,
		      REFUSING({ "landlock_create_ruleset", EOPNOTSUPP }));
}

static int many_layers(const void *unused)
{
	const struct landlock_rules rules = { .scope_signals = true };
	int abi;

	ATTEMPT(caps_no_new_privs(&err));
	for (int i = 0; i < 16; i++) {
		ATTEMPT(landlock_restrict(&rules, &abi, &err));
		CHECK(abi == landlock_abi());
	}
	ATTEMPT(landlock_restrict(&rules, &abi, &err));
	CHECK(abi == 0);
	return 0;
}

Test(landlock, is_no_error_when_the_layers_are_used_up)
{
	needs_abi(6);
	expect_passes(many_layers);
}

static int wrong_use(const void *unused)
{
	const struct landlock_hierarchy closed = { .fd = 999 };
	struct landlock_rules rules = { .scope_signals = true };
	int abi = 99;

	ATTEMPT(caps_apply(0, false, &err));
	/* no_new_privs is missing */
	REFUSED(landlock_restrict(&rules, &abi, &err), EPERM,
		"landlock_restrict_self");
	rules = (struct landlock_rules){ .hierarchies = &closed, .count = 1 };
	REFUSED(landlock_restrict(&rules, &abi, &err), EBADF, "landlock");
	CHECK(abi == 99);
	return 0;
}

Test(landlock, wrong_use_is_an_error)
{
	needs_abi(6);
	/* The harness sets no_new_privs only for its filters */
	expect_passes(wrong_use);
}
