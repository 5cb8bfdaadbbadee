/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "front/bwrap_args.h"

#include "front/bwrap_args_handle.h"
#include "front/bwrap_args_values.h"

#include <stddef.h>

#define OPTION_BOTH (OPTION_BWRAP | OPTION_NATIVE)
#define IN_PLAN(member) offsetof(struct plan_bwrap, member)

const struct option bwrap_options[] = {
	{ "--help", 0, OPTION_BOTH, bwrap_do_action, PARSE_HELP, NULL,
	  "Print this help and exit" },
	{ "--version", 0, OPTION_BOTH, bwrap_do_action, PARSE_VERSION, NULL,
	  "Print the version and exit" },
	{ "--args", 1, OPTION_BWRAP, bwrap_do_args, 0, "FD",
	  "Read further options from FD, each ended by a NUL byte" },
	{ "--argv0", 1, OPTION_BWRAP, bwrap_do_argv0, 0, "VALUE",
	  "Give the command this name (argv[0])",
	  "--argv0 takes one argument" },
	{ "--level-prefix", 0, OPTION_BWRAP, bwrap_do_switch,
	  IN_PLAN(level_prefix), NULL,
	  "Begin messages with <3> or <4>, for logs" },

	{ "--unshare-all", 0, OPTION_BWRAP, bwrap_do_unshare_all, 0, NULL,
	  "New namespaces of every kind there is" },
	{ "--share-net", 0, OPTION_BWRAP, bwrap_do_share_net, 0, NULL,
	  "Keep the network, after --unshare-all" },
	{ "--unshare-user", 0, OPTION_BWRAP, bwrap_do_unshare, NS_USER, NULL,
	  "A new user namespace" },
	{ "--unshare-user-try", 0, OPTION_BWRAP, bwrap_do_unshare_try,
	  NS_USER, NULL, "The same where it is possible" },
	{ "--unshare-ipc", 0, OPTION_BWRAP, bwrap_do_unshare, NS_IPC, NULL,
	  "A new IPC namespace" },
	{ "--unshare-pid", 0, OPTION_BWRAP, bwrap_do_unshare, NS_PID, NULL,
	  "A new pid namespace" },
	{ "--unshare-net", 0, OPTION_BWRAP, bwrap_do_unshare, NS_NET, NULL,
	  "A new network namespace, with a loopback and nothing else" },
	{ "--unshare-uts", 0, OPTION_BWRAP, bwrap_do_unshare, NS_UTS, NULL,
	  "A new UTS namespace (host name)" },
	{ "--unshare-cgroup", 0, OPTION_BWRAP, bwrap_do_unshare, NS_CGROUP,
	  NULL, "A new cgroup namespace" },
	{ "--unshare-cgroup-try", 0, OPTION_BWRAP, bwrap_do_unshare_try,
	  NS_CGROUP, NULL, "The same where it is possible" },
	{ "--userns", 1, OPTION_BWRAP, bwrap_do_join, NS_USER, "FD",
	  "Enter this user namespace instead of making one" },
	{ "--userns2", 1, OPTION_BWRAP, bwrap_do_fd, IN_PLAN(userns2_fd),
	  "FD", "Enter this user namespace when all is set up" },
	{ "--disable-userns", 0, OPTION_BWRAP, bwrap_do_switch,
	  IN_PLAN(disable_userns), NULL,
	  "No further user namespaces inside" },
	{ "--assert-userns-disabled", 0, OPTION_BWRAP, bwrap_do_switch,
	  IN_PLAN(assert_userns_disabled), NULL,
	  "Fail if user namespaces can be made inside" },
	{ "--pidns", 1, OPTION_BWRAP, bwrap_do_join, NS_PID, "FD",
	  "Run in this pid namespace, or in a new one below it" },

	{ "--uid", 1, OPTION_BWRAP, bwrap_do_uid, 0, "UID",
	  "User id inside, in a user namespace" },
	{ "--gid", 1, OPTION_BWRAP, bwrap_do_gid, 0, "GID",
	  "Group id inside, in a user namespace" },
	{ "--hostname", 1, OPTION_BWRAP, bwrap_do_hostname, 0, "NAME",
	  "Host name inside, in a UTS namespace" },
	{ "--chdir", 1, OPTION_BWRAP, bwrap_do_chdir, 0, "DIR",
	  "Start the command in DIR", "--chdir takes one argument" },
	{ "--clearenv", 0, OPTION_BWRAP, bwrap_do_env, ENV_CLEAR, NULL,
	  "Empty the environment" },
	{ "--setenv", 2, OPTION_BWRAP, bwrap_do_env, ENV_SET, "VAR VALUE",
	  "Set an environment variable" },
	{ "--unsetenv", 1, OPTION_BWRAP, bwrap_do_env, ENV_UNSET, "VAR",
	  "Remove an environment variable" },
	{ "--lock-file", 1, OPTION_BWRAP, bwrap_do_lock_file, 0, "DEST",
	  "Hold a read lock on DEST while the sandbox lives" },
	{ "--sync-fd", 1, OPTION_BWRAP, bwrap_do_fd, IN_PLAN(sync_fd), "FD",
	  "Keep FD open while the sandbox lives" },

	{ "--bind", 2, OPTION_BWRAP, bwrap_do_op, 0, "SRC DEST",
	  "Show SRC of the host at DEST" },
	{ "--bind-try", 2, OPTION_BWRAP, bwrap_do_op, 0, "SRC DEST",
	  "The same, nothing if SRC is missing" },
	{ "--dev-bind", 2, OPTION_BWRAP, bwrap_do_op, 0, "SRC DEST",
	  "Show SRC at DEST, with working device nodes" },
	{ "--dev-bind-try", 2, OPTION_BWRAP, bwrap_do_op, 0, "SRC DEST",
	  "The same, nothing if SRC is missing" },
	{ "--ro-bind", 2, OPTION_BWRAP, bwrap_do_op, 0, "SRC DEST",
	  "Show SRC at DEST, read-only" },
	{ "--ro-bind-try", 2, OPTION_BWRAP, bwrap_do_op, 0, "SRC DEST",
	  "The same, nothing if SRC is missing" },
	{ "--bind-fd", 2, OPTION_BWRAP, bwrap_do_op, 0, "FD DEST",
	  "Show the open file or directory FD at DEST" },
	{ "--ro-bind-fd", 2, OPTION_BWRAP, bwrap_do_op, 0, "FD DEST",
	  "The same, read-only", "--bind-fd takes two arguments" },
	{ "--remount-ro", 1, OPTION_BWRAP, bwrap_do_op, 0, "DEST",
	  "Make the mount at DEST read-only, not what is below it",
	  "--remount-ro takes one argument" },
	{ "--overlay-src", 1, OPTION_BWRAP, bwrap_do_overlay_src, 0, "SRC",
	  "A layer for the overlay that follows, the lowest first",
	  bwrap_overlay_src_error },
	{ "--overlay", 3, OPTION_BWRAP, bwrap_do_op, 0, "RWSRC WORKDIR DEST",
	  "Layers at DEST, changes go to RWSRC" },
	{ "--tmp-overlay", 1, OPTION_BWRAP, bwrap_do_op, 0, "DEST",
	  "Layers at DEST, changes go to memory and are lost" },
	{ "--ro-overlay", 1, OPTION_BWRAP, bwrap_do_op, 0, "DEST",
	  "Layers at DEST, read-only" },
	{ "--exec-label", 1, OPTION_BWRAP, bwrap_do_label,
	  IN_PLAN(exec_label), "LABEL", "SELinux label of the command" },
	{ "--file-label", 1, OPTION_BWRAP, bwrap_do_label,
	  IN_PLAN(file_label), "LABEL", "SELinux label of files made inside" },
	{ "--proc", 1, OPTION_BWRAP, bwrap_do_op, 0, "DEST",
	  "A process file system at DEST" },
	{ "--dev", 1, OPTION_BWRAP, bwrap_do_op, 0, "DEST",
	  "A small set of devices at DEST" },
	{ "--tmpfs", 1, OPTION_BWRAP, bwrap_do_op, 0, "DEST",
	  "An empty file system in memory at DEST" },
	{ "--mqueue", 1, OPTION_BWRAP, bwrap_do_op, 0, "DEST",
	  "POSIX message queues at DEST" },
	{ "--dir", 1, OPTION_BWRAP, bwrap_do_op, 0, "DEST",
	  "Make the directory DEST" },
	{ "--file", 2, OPTION_BWRAP, bwrap_do_op, 0, "FD DEST",
	  "Make the file DEST with what FD holds" },
	{ "--bind-data", 2, OPTION_BWRAP, bwrap_do_op, 0, "FD DEST",
	  "Show a private file with what FD holds at DEST" },
	{ "--ro-bind-data", 2, OPTION_BWRAP, bwrap_do_op, 0, "FD DEST",
	  "The same, read-only" },
	{ "--symlink", 2, OPTION_BWRAP, bwrap_do_op, 0, "TARGET DEST",
	  "Make DEST a symbolic link to TARGET" },
	{ "--chmod", 2, OPTION_BWRAP, bwrap_do_op, 0, "OCTAL PATH",
	  "Change the mode of PATH, which is there" },
	{ "--perms", 1, OPTION_BWRAP, bwrap_do_perms, 0, "OCTAL",
	  "Mode of what the next option makes" },
	{ "--size", 1, OPTION_BWRAP, bwrap_do_size, 0, "BYTES",
	  "Size of the tmpfs that the next option makes" },

	{ "--seccomp", 1, OPTION_BWRAP, bwrap_do_seccomp,
	  IN_PLAN(seccomp_fd), "FD", "Put the BPF filter in FD on the command" },
	{ "--add-seccomp-fd", 1, OPTION_BWRAP, bwrap_do_add_seccomp, 0, "FD",
	  "The same, may be repeated" },
	{ "--block-fd", 1, OPTION_BWRAP, bwrap_do_fd, IN_PLAN(block_fd),
	  "FD", "Wait for FD before the command starts" },
	{ "--userns-block-fd", 1, OPTION_BWRAP, bwrap_do_fd,
	  IN_PLAN(userns_block_fd), "FD",
	  "Wait for FD before the user namespace is used" },
	{ "--info-fd", 1, OPTION_BWRAP, bwrap_do_fd, IN_PLAN(info_fd), "FD",
	  "Write pid and namespaces to FD, as JSON" },
	{ "--json-status-fd", 1, OPTION_BWRAP, bwrap_do_fd,
	  IN_PLAN(json_status_fd), "FD",
	  "Write start and exit status to FD, a JSON line each" },
	{ "--new-session", 0, OPTION_BWRAP, bwrap_do_switch,
	  IN_PLAN(new_session), NULL,
	  "A session without the terminal" },
	{ "--die-with-parent", 0, OPTION_BWRAP, bwrap_do_switch,
	  IN_PLAN(die_with_parent), NULL,
	  "Kill all inside when the caller dies" },
	{ "--as-pid-1", 0, OPTION_BWRAP, bwrap_do_switch, IN_PLAN(as_pid_1),
	  NULL, "The command is the pid namespace's first process" },
	{ "--cap-add", 1, OPTION_BWRAP, bwrap_do_cap, 1, "CAP",
	  "Give the command this capability, or ALL" },
	{ "--cap-drop", 1, OPTION_BWRAP, bwrap_do_cap, 0, "CAP",
	  "Take this capability away, or ALL" },
	{ "--not-a-security-boundary", 0, OPTION_BWRAP, bwrap_do_switch,
	  IN_PLAN(not_a_security_boundary), NULL,
	  "Go on when some steps of the set-up fail" },
	{ "--no-new-privs", 0, OPTION_BWRAP, bwrap_do_nothing, 0, NULL,
	  "Always so; taken because callers give it" },
};
const size_t bwrap_options_count = ARRAY_SIZE(bwrap_options);

struct conflict {
	bool is_there;
	const char *text;
};

/* The text of the first conflict that is there, as an error. */
static int first_conflict(const struct conflict *conflicts, size_t count,
			  struct error *err)
{
	for (size_t i = 0; i < count; i++)
		if (conflicts[i].is_there)
			return bwrap_usage_error(err, "%s", conflicts[i].text);
	return 0;
}

/* What must be right even when there is no command. */
static int check_user_namespaces(struct parse *parse, struct error *err)
{
	const struct bwrap_parse *state = bwrap_parse_state(parse);
	const struct plan *plan = parse->plan;
	bool is_new = state->unshare_user ||
		      (plan->rules == PLAN_RULES_PROFILE &&
		       plan->ns[NS_USER].want == NS_WANT_NEW);
	bool joins = plan->ns[NS_USER].want == NS_WANT_JOIN;
	bool blocks = plan->bwrap.userns_block_fd >= 0;
	bool disables = plan->bwrap.disable_userns;
	const struct conflict conflicts[] = {
		{ state->pending.layers.count, bwrap_overlay_src_error },
		{ blocks && !is_new,
		  "--userns-block-fd requires --unshare-user" },
		{ blocks && plan->bwrap.info_fd < 0,
		  "--userns-block-fd requires --info-fd" },
		{ joins && state->unshare_user,
		  "--userns is not compatible with --unshare-user" },
		{ joins && state->unshare_user_try,
		  "--userns is not compatible with --unshare-user-try" },
		{ disables && !is_new,
		  "--disable-userns requires --unshare-user" },
		{ disables && blocks,
		  "--disable-userns is not compatible with "
		  "--userns-block-fd" },
	};

	return first_conflict(conflicts, ARRAY_SIZE(conflicts), err);
}

/*
 * Ids are free in a user namespace.  Only root does without one; where one
 * is only tried for, the engine knows.
 */
static bool lacks_user_namespace(const struct plan *plan)
{
	return plan->ns[NS_USER].want == NS_WANT_HOST && !plan->caller_uid;
}

static int check_requirements(struct parse *parse, struct error *err)
{
	const struct plan *plan = parse->plan;
	const struct plan_ids *ids = &plan->ids;
	const struct plan_ns *pid = &plan->ns[NS_PID];
	bool lacks_userns = lacks_user_namespace(plan);
	bool has_new_pid = pid->want == NS_WANT_NEW || pid->also_new;
	const struct conflict conflicts[] = {
		{ lacks_userns && ids->has_uid && ids->uid != plan->caller_uid,
		  "Specifying --uid requires --unshare-user or --userns" },
		{ lacks_userns && ids->has_gid && ids->gid != plan->caller_gid,
		  "Specifying --gid requires --unshare-user or --userns" },
		{ bwrap_parse_state(parse)->has_hostname &&
		  plan->ns[NS_UTS].want != NS_WANT_NEW,
		  "Specifying --hostname requires --unshare-uts" },
		{ plan->bwrap.as_pid_1 && !has_new_pid,
		  "Specifying --as-pid-1 requires --unshare-pid" },
		{ plan->bwrap.as_pid_1 && plan->bwrap.lock_files.count,
		  "Specifying --as-pid-1 and --lock-file is not permitted" },
	};

	return first_conflict(conflicts, ARRAY_SIZE(conflicts), err);
}

int bwrap_finish(struct parse *parse, struct error *err)
{
	int r = check_user_namespaces(parse, err);

	if (r < 0)
		return r;
	if (!parse->plan->command.count) {
		parse->action = PARSE_USAGE;
		return 0;
	}
	return check_requirements(parse, err);
}

void bwrap_usage(const char *argv0, struct text_buf *out)
{
	text_addf(out, "usage: %s [OPTIONS...] [--] COMMAND [ARGS...]\n\n",
		  argv0 ? argv0 : "bwrap");
	for (size_t i = 0; i < bwrap_options_count; i++) {
		const struct option *option = &bwrap_options[i];
		const char *operands = option->operands;
		const char *spelling =
			arena_printf(out->arena, "%s%s%s", option->name,
				     operands ? " " : "",
				     operands ? operands : "");

		text_addf(out, "    %-28s %s\n", spelling, option->help);
	}
}

void bwrap_version(struct text_buf *out)
{
	text_addf(out, "bubblewrap %s\nsbx-launch %s\n", BWRAP_VERSION,
		  SBX_VERSION);
}
