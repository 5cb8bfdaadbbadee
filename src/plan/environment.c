/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The payload's environment.
 *
 * With a profile the caller's environment is not to be trusted: variables
 * that make a loader, a shell or an interpreter run something are taken only
 * when the profile names them in full.
 */
#include "plan/plan.h"

#include "base/text.h"

#include <string.h>

/* Names and prefixes of such variables. */
static const char *const dangerous[] = {
	"LD_*", "GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH", "NLSPATH",
	"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "BASH_FUNC_*",
	"PROMPT_COMMAND", "IFS", "CDPATH", "PYTHON*", "NODE_OPTIONS",
	"NODE_PATH", "PERL5*", "PERLLIB", "RUBYOPT", "RUBYLIB",
	"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "GIT_*",
};

static bool is_dangerous(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(dangerous); i++)
		if (text_matches(dangerous[i], name))
			return true;
	return false;
}

struct environment {
	struct arena *arena;
	LIST_OF(char *) list;
};

/* What @entry, NAME=VALUE, gives the variable @name; NULL: it is another's. */
static const char *value_of(const char *entry, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(entry, name, length) && entry[length] == '=' ?
	       entry + length + 1 : NULL;
}

const char *plan_environment_value(char *const *environment, const char *name)
{
	const char *value = NULL;

	while (*environment && !value)
		value = value_of(*environment++, name);
	return value;
}

static bool has(const struct environment *environment, const char *name)
{
	for (size_t i = 0; i < environment->list.count; i++)
		if (value_of(environment->list.at[i], name))
			return true;
	return false;
}

static void unset(struct environment *environment, const char *name)
{
	size_t kept = 0;

	for (size_t i = 0; i < environment->list.count; i++) {
		char *entry = environment->list.at[i];

		if (!value_of(entry, name))
			environment->list.at[kept++] = entry;
	}
	environment->list.count = kept;
}

static void set(struct environment *environment, const char *name,
		const char *value)
{
	char *entry = arena_printf(environment->arena, "%s=%s", name, value);

	/* In place, as setenv(3) does: the order stays. */
	for (size_t i = 0; i < environment->list.count; i++) {
		if (value_of(environment->list.at[i], name)) {
			environment->list.at[i] = entry;
			return;
		}
	}
	*arena_push(environment->arena, &environment->list) = entry;
}

static void keep(struct environment *environment, const char *pattern,
		 char *const *caller)
{
	for (; *caller; caller++) {
		const char *equals = strchr(*caller, '=');
		const char *name;

		if (!equals || equals == *caller)
			continue;
		name = arena_strndup(environment->arena, *caller,
				     (size_t)(equals - *caller));
		if (text_matches(pattern, name) &&
		    (!strcmp(pattern, name) || !is_dangerous(name)))
			set(environment, name, equals + 1);
	}
}

static void start(struct environment *environment, char *const *caller,
		  bool is_profile)
{
	for (; *caller; caller++) {
		const char *equals = strchr(*caller, '=');
		const char *name;

		if (is_profile) {
			if (!equals)
				continue;
			name = arena_strndup(environment->arena, *caller,
					     (size_t)(equals - *caller));
			if (is_dangerous(name))
				continue;
		}
		*arena_push(environment->arena, &environment->list) = *caller;
	}
}

/* ---- what is there without being asked for ------------------------------------------- */

/* Is the directory at @path one that the payload can write? */
static bool is_writable(const struct plan *plan, const char *path)
{
	const struct op *last = NULL;

	for (size_t i = 0; i < plan->ops.count; i++) {
		const struct op *op = &plan->ops.at[i];

		if (path_is_below(path, op_place(op)))
			last = op;
	}
	if (!last || last->flags & OP_READ_ONLY)
		return false;
	switch (last->kind) {
	case OP_BIND:
	case OP_BIND_FD:
	case OP_OVERLAY:
	case OP_TMP_OVERLAY:
	case OP_TMPFS:
	case OP_DIR:
		return true;
	case OP_REMOUNT_RO:
	case OP_RO_OVERLAY:
	case OP_PROC:
	case OP_DEV:
	case OP_MQUEUE:
	case OP_FILE:
	case OP_BIND_DATA:
	case OP_SYMLINK:
	case OP_CHMOD:
	case OP_HIDE:
	case OP_PROTECT:
	case OP_COUNT:
		return false;
	}
	return false;
}

static const char *choose_home(const struct plan *plan)
{
	if (plan->workspace.source && plan->workspace.mode != WORKSPACE_RO)
		return plan->workspace.dest;
	return is_writable(plan, "/tmp") ? "/tmp" : "/";
}

static const char *choose_tmp(const struct plan *plan)
{
	return is_writable(plan, "/tmp") ? "/tmp" : choose_home(plan);
}

/* The caller's name is right only for the caller's id. */
static const char *choose_user(const struct plan *plan, char *const *caller)
{
	uint32_t uid = plan->caller_uid ? plan->caller_uid : 1000;
	const char *user = NULL;

	if (plan->ids.has_uid)
		uid = plan->ids.uid;
	if (!uid)
		return "root";
	if (uid == plan->caller_uid)
		user = plan_environment_value(caller, "USER");
	return user && *user ? user : "user";
}

/* Options behind the profile may have taken it away on purpose. */
static bool is_unwanted(const struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->environment.count; i++) {
		const struct env_step *step = &plan->environment.at[i];

		if (step->origin.kind != ORIGIN_ARGUMENT &&
		    step->origin.kind != ORIGIN_ARGS_FD)
			continue;
		if (step->kind == ENV_CLEAR ||
		    (step->kind == ENV_UNSET && !strcmp(step->name, name)))
			return true;
	}
	return false;
}

static void add_default(struct environment *environment,
			const struct plan *plan, const char *name,
			const char *value)
{
	if (!is_unwanted(plan, name) && !has(environment, name))
		set(environment, name, value);
}

/* A terminal that is kept is the caller's; without one nothing is known. */
static const char *choose_term(const struct plan *plan, char *const *caller)
{
	const char *term = NULL;

	if (plan->security.tty == TTY_KEEP)
		term = plan_environment_value(caller, "TERM");
	return term && *term ? term : "dumb";
}

static void add_defaults(struct environment *environment,
			 const struct plan *plan, char *const *caller)
{
	const char *user = choose_user(plan, caller);

	add_default(environment, plan, "PATH", "/usr/local/sbin:/usr/local/bin:"
		    "/usr/sbin:/usr/bin:/sbin:/bin");
	add_default(environment, plan, "HOME", choose_home(plan));
	add_default(environment, plan, "USER", user);
	add_default(environment, plan, "LOGNAME", user);
	add_default(environment, plan, "TMPDIR", choose_tmp(plan));
	add_default(environment, plan, "LANG", "C.UTF-8");
	add_default(environment, plan, "TERM", choose_term(plan, caller));
}

char **plan_environment(const struct plan *plan, struct arena *arena,
			char *const *caller)
{
	struct environment environment = { .arena = arena };
	bool is_profile = plan->rules == PLAN_RULES_PROFILE;

	start(&environment, caller, is_profile);
	for (size_t i = 0; i < plan->environment.count; i++) {
		const struct env_step *step = &plan->environment.at[i];

		switch (step->kind) {
		case ENV_CLEAR:
			environment.list.count = 0;
			break;
		case ENV_KEEP:
			keep(&environment, step->name, caller);
			break;
		case ENV_SET:
			set(&environment, step->name, step->value);
			break;
		case ENV_UNSET:
			unset(&environment, step->name);
			break;
		}
	}
	if (is_profile)
		add_defaults(&environment, plan, caller);
	*arena_push(arena, &environment.list) = NULL;
	return environment.list.at;
}
