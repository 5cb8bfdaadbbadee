/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Landlock.
 *
 * A ruleset names the actions that it handles; what it handles is denied
 * unless a rule allows it below a hierarchy.  Handled is everything that the
 * kernel's ABI knows, so that a right that comes with a later kernel is
 * denied there and simply not spoken of here.
 *
 * ABI 1 has no right for moving a file to another directory and denies that
 * always.  Programs do not live with that: hierarchies need ABI 2 (5.19).
 *
 * The structures are spelled out, since the headers of a distribution are
 * older than the kernels that the binary meets; the kernel takes a longer
 * structure than its own as long as the rest is zero.
 */
#include "sys/landlock.h"

#include "base/mem.h"

#include <errno.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	LANDLOCK_ABI_REFER = 2,
	LANDLOCK_ABI_SCOPES = 6,

	LANDLOCK_SCOPED_ABSTRACT = 1 << 0,
	LANDLOCK_SCOPED_SIGNALS = 1 << 1,
};

/* struct landlock_ruleset_attr as of ABI 6. */
struct landlock_ruleset {
	uint64_t handled_fs, handled_net, scoped;
};

/* File access rights by the ABI that brought them. */
static const struct {
	int abi;
	uint64_t rights;
} landlock_rights[] = {
	{ 1, (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1 },
	{ 2, (uint64_t)1 << 13 }, /* REFER */
	{ 3, (uint64_t)1 << 14 }, /* TRUNCATE */
	{ 5, (uint64_t)1 << 15 }, /* IOCTL_DEV */
};

enum {
	LANDLOCK_READ = LANDLOCK_ACCESS_FS_EXECUTE |
			LANDLOCK_ACCESS_FS_READ_FILE |
			LANDLOCK_ACCESS_FS_READ_DIR,
	LANDLOCK_IOCTL = 1 << 15,
	/* What can be said of a file that is no directory */
	LANDLOCK_OF_FILE = LANDLOCK_ACCESS_FS_EXECUTE |
			   LANDLOCK_ACCESS_FS_WRITE_FILE |
			   LANDLOCK_ACCESS_FS_READ_FILE | 1 << 14 |
			   LANDLOCK_IOCTL,
};

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

static uint64_t landlock_rights_of(int abi)
{
	uint64_t rights = 0;

	for (size_t i = 0; i < ARRAY_SIZE(landlock_rights); i++)
		if (landlock_rights[i].abi <= abi)
			rights |= landlock_rights[i].rights;
	return rights;
}

static int landlock_allow(int ruleset, uint64_t handled,
			  const struct landlock_hierarchy *hierarchy,
			  struct error *err)
{
	struct landlock_path_beneath_attr rule = {
		.parent_fd = hierarchy->fd,
		.allowed_access = LANDLOCK_READ,
	};
	struct stat info;

	if (fstat(hierarchy->fd, &info) < 0)
		return error_set(err, errno, "landlock: stat");
	if (hierarchy->is_writable)
		rule.allowed_access = ~(uint64_t)LANDLOCK_IOCTL;
	if (hierarchy->has_devices)
		rule.allowed_access |= LANDLOCK_IOCTL;
	if (!S_ISDIR(info.st_mode))
		rule.allowed_access &= LANDLOCK_OF_FILE;
	rule.allowed_access &= handled;
	if (syscall(SYS_landlock_add_rule, ruleset,
		    LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return error_call(err, errno, "landlock_add_rule",
				  "landlock_add_rule");
	return 0;
}

int landlock_restrict(const struct landlock_rules *rules, int *ret_abi,
		      struct error *err)
{
	int abi = landlock_abi();
	struct landlock_ruleset attr = { .handled_fs = 0 };
	auto_close int ruleset = -EBADF;

	if (rules->count && abi >= LANDLOCK_ABI_REFER)
		attr.handled_fs = landlock_rights_of(abi);
	if (rules->scope_abstract_sockets && abi >= LANDLOCK_ABI_SCOPES)
		attr.scoped |= LANDLOCK_SCOPED_ABSTRACT;
	if (rules->scope_signals && abi >= LANDLOCK_ABI_SCOPES)
		attr.scoped |= LANDLOCK_SCOPED_SIGNALS;
	if (!attr.handled_fs && !attr.scoped) {
		*ret_abi = 0;
		return 0;
	}
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr,
			       sizeof(attr), 0);
	if (ruleset < 0)
		return error_call(err, errno, "landlock_create_ruleset",
				  "landlock_create_ruleset");
	for (size_t i = 0; attr.handled_fs && i < rules->count; i++) {
		int result = landlock_allow(ruleset, attr.handled_fs,
					    &rules->hierarchies[i], err);

		if (result < 0)
			return result;
	}
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0) {
		/* More than 16 layers: as if the kernel had none left */
		if (errno != E2BIG)
			return error_call(err, errno, "landlock_restrict_self",
				  "landlock_restrict_self");
		abi = 0;
	}
	*ret_abi = abi;
	return 0;
}
