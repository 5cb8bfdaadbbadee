/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "front/system_root.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

/* On a merged-/usr host these are links; elsewhere directories. */
static const char *const directories[] = {
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
};

/*
 * What the C library, a dynamic loader and the usual runtimes read: users and
 * names, the network's names, certificates, time zone, types, Debian's
 * alternatives.  None of it is secret; what is not there is left out.
 */
static const char *const files[] = {
	"/etc/alternatives",
	"/etc/ca-certificates",
	"/etc/ca-certificates.conf",
	"/etc/crypto-policies",
	"/etc/debian_version",
	"/etc/fonts",
	"/etc/gai.conf",
	"/etc/group",
	"/etc/host.conf",
	"/etc/hosts",
	"/etc/ld.so.cache",
	"/etc/ld.so.conf",
	"/etc/ld.so.conf.d",
	"/etc/locale.alias",
	"/etc/locale.conf",
	"/etc/localtime",
	"/etc/mime.types",
	"/etc/nsswitch.conf",
	"/etc/os-release",
	"/etc/passwd",
	"/etc/pki",
	"/etc/protocols",
	"/etc/resolv.conf",
	"/etc/rpc",
	"/etc/services",
	"/etc/ssl",
	"/etc/timezone",
};

static void add_bind(struct plan *plan, const char *path)
{
	struct op *op = plan_add_op(plan, OP_BIND, PHASE_SYSTEM,
				    plan->root.system_origin);

	op->source = path;
	op->dest = path;
	op->flags = OP_READ_ONLY | OP_OPTIONAL;
}

static void add_link(struct plan *plan, const char *path)
{
	char target[PATH_MAX];
	ssize_t length = readlink(path, target, sizeof(target));
	struct op *op;

	if (length <= 0 || (size_t)length == sizeof(target))
		return;
	op = plan_add_op(plan, OP_SYMLINK, PHASE_SYSTEM,
			 plan->root.system_origin);
	op->dest = path;
	op->target = arena_strndup(plan->arena, target, (size_t)length);
}

/* An empty one, for a mask to lie on: what is not there cannot be masked. */
static void add_tmp(struct plan *plan)
{
	plan_add_op(plan, OP_DIR, PHASE_SYSTEM,
		    plan->root.system_origin)->dest = "/tmp";
}

void system_root_add(struct plan *plan)
{
	struct stat info;

	for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
		if (lstat(directories[i], &info) < 0)
			continue;
		if (S_ISLNK(info.st_mode))
			add_link(plan, directories[i]);
		else if (S_ISDIR(info.st_mode))
			add_bind(plan, directories[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (stat(files[i], &info) >= 0)
			add_bind(plan, files[i]);
	add_tmp(plan);
}
