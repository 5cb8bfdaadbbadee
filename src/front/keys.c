/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of keys, and finding a row in it. */
#include "front/keys.h"

#include <string.h>

#define ONE .least = 1, .most = 1
#define SOME .least = 1, .most = KEY_WORDS_ANY

const struct key keys[] = {
	{ "profile", "include", KEY_REPEATS | KEY_IN_FILE, ONE, key_nothing, 0,
	  "PATH", "another profile, read first; relative to this file" },
	{ "profile", "description", KEY_TEXT, ONE, key_description, 0,
	  "TEXT", "shown by --explain" },

	{ "exec", "interpreter", 0, ONE, key_interpreter, 0,
	  "PATH", "program that runs the script; a bare name is searched "
	  "along PATH" },
	{ "exec", "argument", KEY_REPEATS, ONE, key_argument, 0,
	  "WORD", "between the interpreter and the script" },
	{ "exec", "chdir", 0, ONE, key_chdir, 0,
	  "PATH", "working directory; default the workspace, else /" },

	{ "namespaces", "share", KEY_REPEATS, SOME, key_share, 0,
	  "net|pid|ipc|uts|cgroup", "the caller's instead of a new one" },
	{ "namespaces", "hostname", 0, ONE, key_hostname, 0,
	  "NAME", "host name inside; default localhost" },
	{ "namespaces", "uid", 0, ONE, key_id, false,
	  "N", "user id seen inside; default the caller's, 1000 for root" },
	{ "namespaces", "gid", 0, ONE, key_id, true,
	  "N", "group id seen inside; default the caller's, 1000 for root" },

	{ "root", "source", 0, ONE, key_root_source, 0,
	  "PATH|none", "read-only root; none is an empty one; default /" },
	{ "root", "system", 0, ONE, key_root_system, 0,
	  "yes|no", "with none: /usr, /bin, /lib and what a runtime needs of "
	  "/etc" },

	{ "mask", "tmpfs", KEY_REPEATS, .least = 1, .most = 5, key_mask_tmpfs,
	  0, "PATH [size=SIZE] [inodes=N] [mode=OCTAL] [ro|rw]",
	  "an empty directory in its place; ro, but /tmp is rw and 1777" },
	{ "mask", "hide", KEY_REPEATS, ONE, key_mask_hide, 0,
	  "PATH", "whatever it is, empty and unreadable" },

#define LAYER(name, flags, help)                                              \
	{ "layers", name, flags, .least = 0, .most = 3, key_layer, 0,         \
	  "SRC [DEST] [optional]", help }
	LAYER("deps", 0, "installed packages, read-only"),
	LAYER("skills", 0, "shared scripts, read-only"),
	LAYER("layer", KEY_REPEATS, "any further directory, read-only"),
	LAYER("prefix", 0, "the interpreter's installation, read-only"),
	LAYER("shim", 0, "a file or directory of shims, read-only"),
#undef LAYER

	{ "workspace", "path", KEY_FIRST, .least = 1, .most = 2,
	  key_workspace_path, 0,
	  "SRC [DEST]", "the directory to work in; default none" },
	{ "workspace", "mode", 0, ONE, key_workspace_mode, 0,
	  "rw|ro|overlay|ephemeral", "what becomes of writes; default rw" },
	{ "workspace", "lower", KEY_REPEATS, ONE, key_workspace_place,
	  PLACE_LOWER, "PATH", "overlay: a lower layer, the last on top; "
	  "default the path" },
	{ "workspace", "upper", 0, ONE, key_workspace_place, PLACE_UPPER,
	  "PATH", "overlay: the directory that gets the changes" },
	{ "workspace", "work", 0, ONE, key_workspace_place, PLACE_WORK,
	  "PATH", "overlay: work directory; default made beside upper" },
	{ "workspace", "protect", KEY_REPEATS, ONE, key_workspace_protect, 0,
	  "RELATIVE-PATH", "read-only by name inside the workspace" },
	{ "workspace", "export", 0, ONE, key_workspace_place, PLACE_EXPORT,
	  "DIR", "copy what changed there after a run that exits 0" },
	{ "workspace", "commit", 0, ONE, key_workspace_commit, 0,
	  "never|on-success", "overlay: make the changes in the lower layer; "
	  "default never" },
	{ "workspace", "commit-fd", 0, ONE, key_workspace_commit_fd, 0,
	  "N", "commit when a byte comes from there" },

	{ "mounts", NULL, KEY_REPEATS | KEY_ANY_NAME, .least = 1, .most = 4,
	  key_mount, 0,
	  "ARGUMENTS [optional]", "bubblewrap's options without the dashes" },

	{ "environment", "clear", 0, ONE, key_environment_clear, 0,
	  "yes|no", "start from an empty environment; default yes" },
	{ "environment", "keep", KEY_REPEATS, SOME, key_environment_keep, 0,
	  "NAME|PREFIX*", "take these from the caller" },
	{ "setenv", NULL, KEY_ANY_NAME | KEY_TEXT | KEY_BARE, ONE, key_setenv,
	  0, "VALUE", "set a variable; the value goes to the end of the line" },

#define LIMIT(name, kind, flags, operands, help)                              \
	{ "limits", name, flags, .least = 1, .most = 2, key_limit, kind,      \
	  operands " [optional]", help }
	LIMIT("processes", LIMIT_PROCESSES, 0, "N", "processes and threads"),
	LIMIT("open-files", LIMIT_OPEN_FILES, 0, "N", "descriptors a process"),
	LIMIT("file-size", LIMIT_FILE_SIZE, 0, "SIZE", "of one file"),
	LIMIT("cpu-time", LIMIT_CPU_TIME, 0, "DURATION",
	      "CPU time a process"),
	LIMIT("address-space", LIMIT_ADDRESS_SPACE, 0, "SIZE", "a process"),
	LIMIT("stack", LIMIT_STACK, 0, "SIZE", "of a process"),
	LIMIT("core", LIMIT_CORE, 0, "SIZE", "core dumps; default none"),
	LIMIT("memlock", LIMIT_MEMLOCK, 0, "SIZE", "locked memory"),
	LIMIT("memory", LIMIT_MEMORY, 0, "SIZE", "of the whole run (cgroup)"),
	LIMIT("cpu", LIMIT_CPU, 0, "PERCENT%", "of the whole run (cgroup)"),
	LIMIT("timeout", LIMIT_TIMEOUT, KEY_BARE, "DURATION",
	      "wall clock, then TERM"),
	LIMIT("grace", LIMIT_GRACE, 0, "DURATION",
	      "from TERM to KILL; default 2s"),
#undef LIMIT
	{ "limits", "output", 0, .least = 1, .most = 2, key_limit,
	  LIMIT_OUTPUT, "SIZE [note]", "bytes a stream that pass" },

	{ "security", "run-as", 0, ONE, key_run_as, 0,
	  "auto|caller|UID[:GID]", "the payload's id on the host" },
	{ "security", "seccomp", 0, ONE, key_seccomp, 0,
	  "default|none|FILE", "the system call filter" },
	{ "security", "unix-sockets", 0, ONE, key_unix_sockets, 0,
	  "allow|deny", "AF_UNIX sockets inside; default allow" },
	{ "security", "nested-userns", 0, ONE, key_nested_userns, 0,
	  "yes|no", "user namespaces inside; default no" },
	{ "security", "tty", 0, ONE, key_tty, 0,
	  "none|keep", "none: a session without the terminal; default none" },
	{ "security", "keep-fd", KEY_REPEATS, SOME, key_keep_fd, 0,
	  "N", "a descriptor that the payload gets" },

	{ "network", "loopback", 0, ONE, key_loopback, 0,
	  "yes|no", "bring lo up in a new network; default yes" },

#define REPORT(name, flags, handler, member, operands, help)                   \
	{ "report", name, (flags) | KEY_REPORT, ONE, handler, member,          \
	  operands, help }
	REPORT("status-fd", KEY_BARE, key_status_fd, 0, "N",
	       "JSON lines about the run"),
	REPORT("status-file", 0, key_report, REPORT_STATUS_FILE, "PATH",
	       "the same into a file"),
	REPORT("audit-file", KEY_BARE, key_report, REPORT_AUDIT_FILE, "PATH",
	       "append one JSON line a launch"),
	REPORT("changes-file", 0, key_report, REPORT_CHANGES_FILE, "PATH",
	       "one JSON line a path changed in the workspace"),
	REPORT("run-id", KEY_BARE, key_report, REPORT_RUN_ID, "ID",
	       "runId of the records"),
	REPORT("handle-id", KEY_BARE, key_report, REPORT_HANDLE_ID, "ID",
	       "handleId of the records"),
#undef REPORT
};
const size_t keys_count = ARRAY_SIZE(keys);

static int unknown_section(const char *section, struct error *err)
{
	const char *names[ARRAY_SIZE(keys)], *nearest;

	for (size_t i = 0; i < keys_count; i++)
		names[i] = keys[i].section;
	error_set(err, 0, "there is no section [%s]", section);
	nearest = text_nearest(section, names, keys_count);
	if (nearest)
		error_remedy(err, "did you mean [%s]?", nearest);
	return error_result(err);
}

static int unknown_key(const char *section, const char *name,
		       struct error *err)
{
	const char *names[ARRAY_SIZE(keys)], *nearest;
	const struct key *elsewhere = NULL;

	for (size_t i = 0; i < keys_count; i++) {
		bool is_here = !strcmp(keys[i].section, section);

		names[i] = is_here ? keys[i].name : NULL;
		if (keys[i].name && !strcmp(keys[i].name, name))
			elsewhere = &keys[i];
	}
	error_set(err, 0, "there is no key '%s' in [%s]", name, section);
	nearest = text_nearest(name, names, keys_count);
	if (elsewhere)
		error_remedy(err, "'%s' belongs into [%s]", name,
			     elsewhere->section);
	else if (nearest)
		error_remedy(err, "did you mean '%s'?", nearest);
	return error_result(err);
}

int keys_check_section(const char *section, struct error *err)
{
	for (size_t i = 0; i < keys_count; i++)
		if (!strcmp(keys[i].section, section))
			return 0;
	return unknown_section(section, err);
}

int keys_find(const char *section, const char *name,
	      const struct key **ret_key, struct error *err)
{
	for (size_t i = 0; i < keys_count; i++) {
		const struct key *key = &keys[i];

		if (strcmp(key->section, section) != 0)
			continue;
		if (key->flags & KEY_ANY_NAME || !strcmp(key->name, name)) {
			*ret_key = key;
			return 0;
		}
	}
	if (keys_check_section(section, err) < 0)
		return error_result(err);
	return unknown_key(section, name, err);
}

int keys_finish(struct key_target *target, struct error *err)
{
	struct plan *plan = target->plan;
	const struct op_pending *pending = &target->pending;

	if (pending->has_perms || pending->has_size || pending->layers.count) {
		error_set(err, 0, "%s: '%s' must be followed by a key that "
			  "takes it",
			  origin_text(plan->arena, &target->pending_origin),
			  pending->has_perms ? "perms"
			  : pending->has_size ? "size" : "overlay-src");
		return error_result(err);
	}
	if (plan->rules == PLAN_RULES_PROFILE && !target->keeps_environment)
		plan_add_env(plan, ENV_CLEAR, NULL, NULL,
			     target->clear_origin);
	for (size_t i = 0; i < target->keeps.count; i++)
		*arena_push(plan->arena, &plan->environment) =
			target->keeps.at[i];
	for (size_t i = 0; i < target->sets.count; i++)
		*arena_push(plan->arena, &plan->environment) =
			target->sets.at[i];
	return 0;
}
