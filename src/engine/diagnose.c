/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel answers with a number.  What it stands for is found here, by
 * looking at the settings, the filter, the security module and the mounts
 * around: a table of checks for each kind of call, the most telling first.
 *
 * A setting is named only when it has the value that refuses: to be told to
 * change one that allows it already has cost people days.
 */
#include "engine/diagnose.h"

#include "engine/child.h"
#include "engine/conditions.h"
#include "base/text.h"
#include "sys/caps.h"
#include "sys/mount_table.h"
#include "sys/surroundings.h"
#include "sys/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>

/* What is known of the failure, and what is found out about it. */
struct case_file {
	const struct run *run;
	struct arena *arena;
	const struct error *err;
	int code;
	const struct op *op; /* at work when it failed; NULL: none */
	struct condition_words words;
};

/* Returns whether this is it; fills the words. */
typedef bool (*check_fn)(struct case_file *file);

struct check {
	check_fn holds;
	enum condition condition;
};

static bool is_refusal(const struct case_file *file)
{
	return file->code == EPERM || file->code == EACCES;
}

/* Does this process lack the right @number in its own user namespace? */
static bool lacks(unsigned number)
{
	struct caps_state caps;
	struct error ignored;

	return caps_read(-EBADF, &caps, &ignored) >= 0 &&
	       !(caps.effective & 1ULL << number);
}

static bool is_refused(struct case_file *file)
{
	return is_refusal(file);
}

static bool always(struct case_file *file)
{
	return true;
}

/* ---- no namespaces ---------------------------------------------------------- */

static const struct {
	uint64_t flag;
	const char *name;
} namespaces[] = {
	{ CLONE_NEWUSER, "user" }, { CLONE_NEWNS, "mnt" },
	{ CLONE_NEWPID, "pid" }, { CLONE_NEWNET, "net" },
	{ CLONE_NEWIPC, "ipc" }, { CLONE_NEWUTS, "uts" },
	{ CLONE_NEWCGROUP, "cgroup" },
};

/* The first limit that is 0 of the namespaces that the run wants. */
static bool is_zero_limit(struct case_file *file)
{
	uint64_t flags = identity_clone_flags(file->run), value;

	for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++) {
		const char *name = arena_printf(file->arena,
			"user/max_%s_namespaces", namespaces[i].name);

		if (!(flags & namespaces[i].flag) ||
		    !surroundings_sysctl(name, &value) || value)
			continue;
		file->words.name = namespaces[i].name;
		file->words.value = "0";
		return true;
	}
	return false;
}

/* A limit of 0 in a namespace below the machine's is a sandbox's doing. */
static bool is_forbidden(struct case_file *file)
{
	struct userns_ids own;
	struct error ignored;

	return is_zero_limit(file) && !strcmp(file->words.name, "user") &&
	       userns_read_own(-EBADF, file->arena, &own, &ignored) >= 0 &&
	       !own.is_initial;
}

static bool is_depth(struct case_file *file)
{
	return file->code == ENOSPC || file->code == EUSERS;
}

static bool is_unknown_kind(struct case_file *file)
{
	uint64_t flags = identity_clone_flags(file->run);

	if (file->code != EINVAL)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++) {
		file->words.name = namespaces[i].name;
		if (flags & namespaces[i].flag &&
		    access(arena_printf(file->arena, "/proc/self/ns/%s",
					namespaces[i].name), F_OK) < 0)
			return true;
	}
	return false;
}

static bool is_process_limit(struct case_file *file)
{
	return file->code == EAGAIN;
}

static bool is_sysctl(struct case_file *file)
{
	uint64_t value;

	return file->run->ids.new_userns && is_refusal(file) &&
	       surroundings_sysctl("kernel/unprivileged_userns_clone",
				   &value) && !value && lacks(CAP_SYS_ADMIN);
}

/*
 * AppArmor lets the namespace be made and takes the rights in it away, so that
 * whatever comes next is refused.
 */
static bool is_apparmor(struct case_file *file)
{
	uint64_t value;

	file->words.path = surroundings_program(file->arena);
	return file->run->ids.new_userns && is_refusal(file) &&
	       surroundings_sysctl("kernel/apparmor_restrict_unprivileged_"
				   "userns", &value) && value &&
	       lacks(CAP_SYS_ADMIN);
}

static bool is_unmapped(struct case_file *file)
{
	struct userns_ids own;
	struct error ignored;

	return file->run->ids.new_userns && is_refusal(file) &&
	       userns_read_own(-EBADF, file->arena, &own, &ignored) >= 0 &&
	       (!userns_map_find(&own.uid, geteuid(), NULL) ||
		!userns_map_find(&own.gid, getegid(), NULL));
}

static bool lacks_admin(struct case_file *file)
{
	file->words.name = "CAP_SYS_ADMIN";
	file->words.value = "SYS_ADMIN";
	return is_refusal(file) && !geteuid() &&
	       (!file->run->ids.new_userns || file->run->ids.switches) &&
	       lacks(CAP_SYS_ADMIN);
}

static bool is_filter(struct case_file *file)
{
	return (is_refusal(file) || file->code == ENOSYS) &&
	       surroundings_have_filter();
}

static bool is_module(struct case_file *file)
{
	file->words.value = surroundings_label(file->arena);
	return is_refusal(file) && file->words.value;
}

/*
 * Looked for by its traces, and else by what is left: without a filter and a
 * security module nothing but a chroot answers EPERM.
 */
static bool is_chroot(struct case_file *file)
{
	return file->run->ids.new_userns && file->code == EPERM &&
	       surroundings_are_chroot();
}

static bool must_be_chroot(struct case_file *file)
{
	return file->run->ids.new_userns && file->code == EPERM;
}

static const struct check namespace_checks[] = {
	{ is_forbidden, CONDITION_NS_FORBIDDEN },
	{ is_zero_limit, CONDITION_NS_LIMIT },
	{ is_depth, CONDITION_NS_DEPTH },
	{ is_unknown_kind, CONDITION_NS_UNKNOWN },
	{ is_process_limit, CONDITION_PROCESS_LIMIT },
	{ is_sysctl, CONDITION_USERNS_SYSCTL },
	{ is_apparmor, CONDITION_USERNS_APPARMOR },
	{ is_unmapped, CONDITION_USERNS_UNMAPPED },
	{ lacks_admin, CONDITION_CAPABILITY },
	{ is_chroot, CONDITION_CHROOT },
	{ is_filter, CONDITION_USERNS_SECCOMP },
	{ is_module, CONDITION_USERNS_LSM },
	{ must_be_chroot, CONDITION_CHROOT },
	{ is_refused, CONDITION_NAMESPACES },
	{ NULL, 0 },
};

/* ---- no id maps --------------------------------------------------------------- */

static bool is_read_only(struct case_file *file)
{
	return file->code == EROFS ||
	       (file->code == EACCES && surroundings_proc_is_read_only());
}

static bool lacks_setfcap(struct case_file *file)
{
	return file->code == EPERM && !file->run->ids.host_uid && !geteuid() &&
	       lacks(CAP_SETFCAP);
}

static bool lacks_setid(struct case_file *file)
{
	bool is_gid = !strcmp(file->err->call, "gid_map") ||
		      !strcmp(file->err->call, "setgroups") ||
		      !strcmp(file->err->call, "setresgid");

	file->words.value = is_gid ? "SETGID" : "SETUID";
	file->words.name = is_gid ? "CAP_SETGID" : "CAP_SETUID";
	return file->code == EPERM && file->run->ids.switches &&
	       lacks(is_gid ? CAP_SETGID : CAP_SETUID);
}

static bool is_too_many_files(struct case_file *file)
{
	return file->code == EMFILE;
}

static const struct check map_checks[] = {
	{ is_too_many_files, CONDITION_OPEN_FILES },
	{ is_read_only, CONDITION_UIDMAP_READ_ONLY },
	{ is_apparmor, CONDITION_USERNS_APPARMOR },
	{ lacks_setfcap, CONDITION_UIDMAP_SETFCAP },
	{ lacks_setid, CONDITION_CAPABILITY },
	{ always, CONDITION_UIDMAP },
	{ NULL, 0 },
};

/* ---- no mounts ---------------------------------------------------------------- */

static bool is_call(const struct case_file *file, const char *name)
{
	return !strcmp(file->err->call, name);
}

/* The mounts around; false: they cannot be read. */
static bool read_mounts(struct case_file *file, struct mount_table *ret_table)
{
	struct error ignored;

	return mount_table_read(file->arena, -EBADF, ret_table,
				&ignored) >= 0;
}

static bool is_mount_max(struct case_file *file)
{
	struct mount_table table = { 0 };
	uint64_t most;

	if (file->code != ENOSPC || !surroundings_sysctl("fs/mount-max", &most))
		return false;
	file->words.name = arena_printf(file->arena, "%llu",
					(unsigned long long)most);
	file->words.value = read_mounts(file, &table) ?
		arena_printf(file->arena, "%zu", table.entries.count) :
		"as many as it may";
	return true;
}

static bool is_proc_masked(struct case_file *file)
{
	const struct mount_entry *below;
	struct mount_table table;

	if (file->code != EPERM || !strstr(file->err->text, " proc"))
		return false;
	if (!read_mounts(file, &table))
		return false;
	below = mount_table_below(&table, "/proc", NULL);
	file->words.path = below ? below->target : "/proc";
	return below || surroundings_proc_is_read_only();
}

/* pivot_root(2): the first mount of all has nothing below it. */
static bool is_rootfs(struct case_file *file)
{
	return file->code == EINVAL && is_call(file, "pivot_root") &&
	       surroundings_root() == SURROUNDINGS_ROOT_FIRST;
}

/* Propagation, for which "/" has to be a mount, or pivot_root(2). */
static bool is_plain_root(struct case_file *file)
{
	return file->code == EINVAL && !file->run->ids.new_userns &&
	       (is_call(file, "mount") || is_call(file, "pivot_root")) &&
	       surroundings_root() == SURROUNDINGS_ROOT_PLAIN;
}

static bool is_missing_call(struct case_file *file)
{
	return file->code == ENOSYS;
}

static bool is_source_call(const struct case_file *file)
{
	return is_call(file, "open_tree") || is_call(file, "open");
}

/* The mount that shows @path. */
static const struct mount_entry *mount_of(const struct mount_table *table,
					  const char *path)
{
	const struct mount_entry *at = NULL;

	for (size_t i = 0; i < table->entries.count; i++) {
		const struct mount_entry *entry = &table->entries.at[i];

		if (path_is_shown_by(path, entry->target,
				     at ? at->target : NULL))
			at = entry;
	}
	return at;
}

static bool is_automount(struct case_file *file)
{
	const struct mount_entry *at;
	struct mount_table table;

	if (file->code != ENOENT || !is_source_call(file) || !file->op ||
	    !file->op->source || !read_mounts(file, &table))
		return false;
	at = mount_of(&table, file->op->source);
	file->words.path = at ? at->target : NULL;
	return at && !strcmp(at->type, "autofs");
}

static bool is_unbindable(struct case_file *file)
{
	const struct mount_entry *at;
	struct mount_table table;

	if (file->code != EINVAL || !file->op || !file->op->source ||
	    (!is_call(file, "open_tree") && !is_call(file, "mount")) ||
	    !read_mounts(file, &table))
		return false;
	at = mount_of(&table, file->op->source);
	file->words.path = at ? at->target : NULL;
	return at && at->is_unbindable;
}

static bool is_missing_source(struct case_file *file)
{
	return file->code == ENOENT && is_source_call(file);
}

/* The caller cannot get there either, whatever is mounted. */
static bool is_denied_source(struct case_file *file)
{
	auto_close int fd = -EBADF;

	if (file->code != EACCES || !is_source_call(file))
		return false;
	if (is_call(file, "open"))
		return true;
	if (!file->op || !file->op->source)
		return false;
	fd = open(file->op->source, O_PATH | O_CLOEXEC);
	return fd < 0 && errno == EACCES;
}

static bool is_idmap(struct case_file *file)
{
	const struct mount_entry *at, *below;
	const struct op *op = file->op;
	const char *path = op ? op->upper ? op->upper : op->source : NULL;
	struct mount_table table;

	file->words.value = "its file system, or one that is mounted below it,";
	if (!path || !read_mounts(file, &table))
		return true;
	at = mount_of(&table, path);
	below = mount_table_below(&table, path, NULL);
	if (!at)
		return true;
	file->words.value = below ?
		arena_printf(file->arena, "%s, or %s mounted below it at '%s',",
			     at->type, below->type, below->target) : at->type;
	return true;
}

static const struct check idmap_checks[] = {
	{ lacks_admin, CONDITION_CAPABILITY },
	{ is_idmap, CONDITION_NO_IDMAP },
	{ NULL, 0 },
};

static const struct check proc_checks[] = {
	{ is_too_many_files, CONDITION_OPEN_FILES },
	{ always, CONDITION_PROC_MISSING },
	{ NULL, 0 },
};

static const struct check mount_checks[] = {
	{ is_too_many_files, CONDITION_OPEN_FILES },
	{ is_mount_max, CONDITION_MOUNT_MAX },
	{ is_automount, CONDITION_AUTOMOUNT },
	{ is_missing_source, CONDITION_SOURCE_MISSING },
	{ is_denied_source, CONDITION_SOURCE_DENIED },
	{ is_proc_masked, CONDITION_PROC_MASKED },
	{ is_unbindable, CONDITION_MOUNT_UNBINDABLE },
	{ is_plain_root, CONDITION_CHROOT_PLAIN },
	{ is_rootfs, CONDITION_ROOTFS },
	{ is_missing_call, CONDITION_MOUNT_API },
	{ is_apparmor, CONDITION_USERNS_APPARMOR },
	{ lacks_admin, CONDITION_CAPABILITY },
	{ is_filter, CONDITION_MOUNT_SECCOMP },
	{ is_module, CONDITION_MOUNT_LSM },
	{ is_refused, CONDITION_MOUNT_DENIED },
	{ NULL, 0 },
};

/* ---- anything else ------------------------------------------------------------ */

/* A full path is what a filter refuses rarely, and its owner often. */
static bool is_filtered(struct case_file *file)
{
	return file->code != EACCES && is_filter(file);
}

static const struct check other_checks[] = {
	{ is_too_many_files, CONDITION_OPEN_FILES },
	{ is_process_limit, CONDITION_PROCESS_LIMIT },
	{ lacks_setid, CONDITION_CAPABILITY },
	{ is_filtered, CONDITION_CALL_DENIED },
	{ NULL, 0 },
};

/* A call without a name was not refused by anybody. */
static const struct check no_checks[] = {
	{ is_too_many_files, CONDITION_OPEN_FILES }, { NULL, 0 },
};

/* ---- which checks --------------------------------------------------------------- */

/* The calls and files that have checks of their own. */
static const struct {
	const char *call;
	const struct check *checks;
} calls[] = {
	{ "clone3", namespace_checks },
	{ "clone", namespace_checks },
	{ "unshare", namespace_checks },
	{ "uid_map", map_checks },
	{ "gid_map", map_checks },
	{ "setgroups", map_checks },
	{ "open", mount_checks },
	{ "open_tree", mount_checks },
	{ "mount_setattr", mount_checks },
	{ "move_mount", mount_checks },
	{ "fsopen", mount_checks },
	{ "fsconfig", mount_checks },
	{ "fsmount", mount_checks },
	{ "mount", mount_checks },
	{ "umount2", mount_checks },
	{ "pivot_root", mount_checks },
	{ "idmap", idmap_checks },
	{ "/proc", proc_checks },
};

static const struct check *checks_for(const char *call)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (!strcmp(calls[i].call, call))
			return calls[i].checks;
	return other_checks;
}

/*
 * What is left has no explanation but where it happened.  The word says what
 * the caller has to look at.
 */
static const char *last_resort(const struct error *err)
{
	static const struct {
		int code;         /* 0: any */
		const char *stage; /* NULL: any */
		const char *reason;
	} rows[] = {
		{ EMFILE, NULL, "open-files" },
		{ ENFILE, NULL, "open-files" },
		{ ENOMEM, NULL, "no-memory" },
		{ ENOSPC, NULL, "no-space" },
		{ EDQUOT, NULL, "no-space" },
		{ 0, "spawn", "namespaces" },
		{ 0, "map-ids", "uidmap" },
		{ ENOENT, "gather", "source-missing" },
		{ ENOTDIR, "gather", "source-missing" },
		{ 0, "gather", "source-denied" },
		{ EACCES, "switch-root", "source-denied" },
		{ 0, "switch-root", "mount-denied" },
		{ 0, "assemble", "mount-point" },
		{ 0, "identity", "namespaces" },
		{ 0, "confine", "verify" },
		{ 0, "init", "verify" },
		{ 0, "exec", "not-executable" },
		{ EPERM, NULL, "call-denied" },
		{ ENOSYS, NULL, "call-denied" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if ((!rows[i].code || rows[i].code == err->code) &&
		    (!rows[i].stage || !strcmp(rows[i].stage, err->stage)))
			return rows[i].reason;
	return "";
}

void diagnose(const struct run *run, struct error *err)
{
	struct case_file file = {
		.run = run, .arena = run->arena, .err = err,
		.code = err->code, .words.call = err->call,
	};
	size_t op = run->progress ? run->progress->op : SIZE_MAX;

	/* Who has a reason has been explained where it failed. */
	if (*err->reason)
		return;
	if (op < run->plan->ops.count)
		file.op = &run->plan->ops.at[op];
	for (const struct check *check = *err->call ? checks_for(err->call) :
	     no_checks; check->holds; check++) {
		if (!check->holds(&file))
			continue;
		condition_apply(run->plan, check->condition, &file.words, err);
		return;
	}
	error_reason(err, last_resort(err));
}

/* ---- what leaves no errno --------------------------------------------------------- */

void diagnose_hung(const struct run *run, const struct op *op,
		   struct error *err)
{
	struct case_file file = { .run = run, .arena = run->arena };
	const struct mount_entry *at = NULL;
	struct mount_table table;

	error_reason(err, "setup-timeout");
	if (!op || !op->source || !read_mounts(&file, &table))
		return;
	at = mount_of(&table, op->source);
	if (!at)
		return;
	file.words.path = at->target;
	file.words.value = at->type;
	condition_apply(run->plan, CONDITION_HUNG, &file.words, err);
}

int diagnose_before_spawn(const struct run *run, struct error *err)
{
	const struct condition_words words = { 0 };

	if (!surroundings_have_filter() || !surroundings_kill_clone())
		return 0;
	error_set(err, 0, "%s", run->plan->rules == PLAN_RULES_BWRAP ?
		  "Creating new namespace failed: killed by a system-call "
		  "filter (SIGSYS)" : "make the namespaces");
	condition_apply(run->plan, CONDITION_SIGSYS, &words, err);
	return error_result(err);
}
