/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "front/variables.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int variables_cwd(struct variables *variables, const char **ret_cwd,
		  struct error *err)
{
	if (!variables->cwd) {
		auto_free char *cwd = getcwd(NULL, 0);

		if (!cwd)
			return error_set(err, errno, "cannot name the current "
					 "directory");
		/* "(unreachable)" of getcwd(3) below another root. */
		if (*cwd != '/')
			return error_set(err, ENOENT, "the current directory "
					 "is outside of the root");
		variables->cwd = arena_strdup(variables->arena, cwd);
	}
	*ret_cwd = variables->cwd;
	return 0;
}

/*
 * Field @field (from 0) of the caller's line in /etc/passwd, or NULL.  Not
 * getpwuid(3), which loads libraries that the host's configuration names.
 */
static const char *passwd_field(struct arena *arena, int field)
{
	FILE *file = fopen("/etc/passwd", "re");
	auto_free char *line = NULL;
	const char *found = NULL;
	uid_t own = getuid();
	size_t size = 0;

	if (!file)
		return NULL;
	while (!found && getline(&line, &size, file) > 0) {
		char *rest = line, *fields[7] = { NULL };
		uint64_t uid;

		line[strcspn(line, "\n")] = '\0';
		for (size_t i = 0; i < ARRAY_SIZE(fields) && rest; i++)
			fields[i] = strsep(&rest, ":");
		if (fields[2] && fields[field] &&
		    !text_parse_u64(fields[2], &uid) && uid == own)
			found = arena_strdup(arena, fields[field]);
	}
	fclose(file);
	return found;
}

const char *variables_passwd_home(struct arena *arena)
{
	return passwd_field(arena, 5);
}

static int get_cwd(struct variables *variables, const char **ret_value,
		   struct error *err)
{
	return variables_cwd(variables, ret_value, err);
}

static int get_workspace(struct variables *variables, const char **ret_value,
			 struct error *err)
{
	if (!variables->workspace)
		return error_set(err, 0, "${workspace} is not known: there is "
				 "no 'path' in [workspace]");
	*ret_value = variables->workspace;
	return 0;
}

static int get_home(struct variables *variables, const char **ret_value,
		    struct error *err)
{
	const char *home = getenv("HOME");

	if (!home || *home != '/')
		home = variables_passwd_home(variables->arena);
	if (!home || *home != '/')
		return error_set(err, 0, "${home} is not known: HOME is not "
				 "set and /etc/passwd has no line for you");
	*ret_value = home;
	return 0;
}

static int get_user(struct variables *variables, const char **ret_value,
		    struct error *err)
{
	const char *user = passwd_field(variables->arena, 0);

	if (!user)
		user = getenv("USER");
	if (!user)
		return error_set(err, 0, "${user} is not known: /etc/passwd "
				 "has no line for you and USER is not set");
	*ret_value = user;
	return 0;
}

static int get_uid(struct variables *variables, const char **ret_value,
		   struct error *err)
{
	*ret_value = arena_printf(variables->arena, "%u", getuid());
	return 0;
}

static int get_profile_dir(struct variables *variables,
			   const char **ret_value, struct error *err)
{
	const char *cwd = NULL;
	int r;

	if (*variables->profile_dir != '/') {
		r = variables_cwd(variables, &cwd, err);
		if (r < 0)
			return r;
		variables->profile_dir = path_normalise(
			variables->arena,
			path_join(variables->arena, cwd,
				  variables->profile_dir));
	}
	*ret_value = variables->profile_dir;
	return 0;
}

static int get_environment(struct variables *variables, const char *name,
			   const char **ret_value, struct error *err)
{
	char *copy = arena_strdup(variables->arena, name);
	char *fallback = strstr(copy, ":-");
	const char *value;

	if (fallback) {
		*fallback = '\0';
		fallback += 2;
	}
	if (!*copy)
		return error_set(err, 0, "${env:} without a name");
	value = getenv(copy);
	/* As in the shell, ":-" also stands in for an empty value. */
	if (fallback && (!value || !*value))
		value = fallback;
	if (!value) {
		error_set(err, 0, "the environment has no %s, which ${env:%s} "
			  "asks for", copy, copy);
		error_remedy(err, "set it, or write ${env:%s:-default}", copy);
		return error_result(err);
	}
	*ret_value = value;
	return 0;
}

static const struct variable {
	const char *name;
	int (*get)(struct variables *variables, const char **ret_value,
		   struct error *err);
} known[] = {
	{ "cwd", get_cwd },
	{ "workspace", get_workspace },
	{ "home", get_home },
	{ "user", get_user },
	{ "uid", get_uid },
	{ "profile-dir", get_profile_dir },
};

/* How containers and accounts of services say that there is no home. */
static bool is_no_home(const char *path)
{
	return !strcmp(path, "/") || !strcmp(path, "/dev/null");
}

static int get_known(const struct variable *variable,
		     struct variables *variables, const char *fallback,
		     const char **ret_value, struct error *err)
{
	struct error ignored;
	const char *value;

	if (!fallback)
		return variable->get(variables, ret_value, err);
	if (variable->get(variables, &value, &ignored) < 0 ||
	    (variable->get == get_home && is_no_home(value)))
		value = fallback;
	*ret_value = value;
	return 0;
}

int variables_get(struct variables *variables, const char *name,
		  size_t length, const char **ret_value, struct error *err)
{
	const char *names[ARRAY_SIZE(known)], *nearest;
	char *wanted, *fallback;

	if (length >= 4 && !memcmp(name, "env:", 4)) {
		wanted = arena_strndup(variables->arena, name + 4, length - 4);
		return get_environment(variables, wanted, ret_value, err);
	}
	wanted = arena_strndup(variables->arena, name, length);
	fallback = strstr(wanted, ":-");
	if (fallback) {
		*fallback = '\0';
		fallback += 2;
	}
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		names[i] = known[i].name;
		if (!strcmp(wanted, known[i].name))
			return get_known(&known[i], variables, fallback,
					 ret_value, err);
	}
	error_set(err, 0, "there is no variable ${%s}", wanted);
	nearest = text_nearest(wanted, names, ARRAY_SIZE(names));
	if (nearest)
		error_remedy(err, "did you mean ${%s}?", nearest);
	else
		error_remedy(err, "a plain '${' is written '$${'");
	return error_result(err);
}
