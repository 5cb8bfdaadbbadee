/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Handlers of keys that are a number, a word or a name. */
#include "front/keys.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

int key_choice(const char *word, const char *const *names, size_t count,
	       size_t *ret_index, struct error *err)
{
	char all[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		if (!strcmp(names[i], word)) {
			*ret_index = i;
			return 0;
		}
		used += (size_t)snprintf(all + used, sizeof(all) - used,
					 "%s%s", i ? ", " : "", names[i]);
	}
	error_set(err, 0, "'%s' is not one of %s", word, all);
	if (text_nearest(word, names, count))
		error_remedy(err, "did you mean '%s'?",
			     text_nearest(word, names, count));
	return error_result(err);
}

int key_bool(const char *word, bool *ret_value, struct error *err)
{
	if (text_parse_bool(word, ret_value) < 0)
		return error_set(err, 0, "'%s' is not one of yes, no", word);
	return 0;
}

int key_number(const char *word, uint64_t least, uint64_t most,
	       uint64_t *ret_value, struct error *err)
{
	uint64_t value = 0;
	int r = text_parse_u64(word, &value);

	if (r == -EINVAL)
		return error_set(err, 0, "'%s' is not a number", word);
	if (r < 0 || value < least || value > most)
		return error_set(err, 0, "%s is out of range (%llu to %llu)",
				 word, (unsigned long long)least,
				 (unsigned long long)most);
	*ret_value = value;
	return 0;
}

int key_fd(const char *word, int *ret_fd, struct error *err)
{
	uint64_t value = 0;
	int r = key_number(word, 0, INT_MAX, &value, err);

	if (r >= 0)
		*ret_fd = (int)value;
	return r;
}

int key_nothing(struct key_target *target, const struct key *key,
		const struct key_value *value, struct error *err)
{
	return 0;
}

int key_description(struct key_target *target, const struct key *key,
		    const struct key_value *value, struct error *err)
{
	struct plan *plan = target->plan;

	for (size_t i = 0; i < plan->profiles.count; i++)
		if (value->origin.name &&
		    !strcmp(plan->profiles.at[i].path, value->origin.name))
			plan->profiles.at[i].description = value->words[0];
	return 0;
}

int key_interpreter(struct key_target *target, const struct key *key,
		    const struct key_value *value, struct error *err)
{
	if (!*value->words[0])
		return error_set(err, 0, "the interpreter is empty");
	target->plan->interpreter = value->words[0];
	target->plan->interpreter_origin = value->origin;
	return 0;
}

int key_argument(struct key_target *target, const struct key *key,
		 const struct key_value *value, struct error *err)
{
	*arena_push(target->plan->arena, &target->plan->arguments) =
		value->words[0];
	return 0;
}

int key_chdir(struct key_target *target, const struct key *key,
	      const struct key_value *value, struct error *err)
{
	target->plan->chdir_origin = value->origin;
	return key_inside_path(target, value->words[0], &target->plan->chdir,
			       err);
}

int key_share(struct key_target *target, const struct key *key,
	      const struct key_value *value, struct error *err)
{
	static const char *const names[] = {
		"net", "pid", "ipc", "uts", "cgroup",
	};
	static const enum ns_kind kinds[] = {
		NS_NET, NS_PID, NS_IPC, NS_UTS, NS_CGROUP,
	};

	for (size_t i = 0; i < value->count; i++) {
		size_t index = 0;
		int r = key_choice(value->words[i], names, ARRAY_SIZE(names),
				   &index, err);

		if (r < 0)
			return r;
		target->plan->ns[kinds[index]].want = NS_WANT_HOST;
		target->plan->ns[kinds[index]].origin = value->origin;
	}
	return 0;
}

int key_hostname(struct key_target *target, const struct key *key,
		 const struct key_value *value, struct error *err)
{
	size_t length = strlen(value->words[0]);

	if (!length || length > HOST_NAME_MAX)
		return error_set(err, 0, "a host name has 1 to %d bytes, this "
				 "one has %zu", HOST_NAME_MAX, length);
	target->plan->hostname = value->words[0];
	target->plan->hostname_origin = value->origin;
	return 0;
}

int key_id(struct key_target *target, const struct key *key,
	   const struct key_value *value, struct error *err)
{
	struct plan_ids *ids = &target->plan->ids;
	bool is_gid = key->tag;
	uint64_t id = 0;
	int r = key_number(value->words[0], 0, UINT32_MAX - 1, &id, err);

	if (r < 0)
		return r;
	*(is_gid ? &ids->has_gid : &ids->has_uid) = true;
	*(is_gid ? &ids->gid : &ids->uid) = (uint32_t)id;
	return 0;
}

int key_environment_clear(struct key_target *target, const struct key *key,
			  const struct key_value *value, struct error *err)
{
	bool clear = false;
	int r = key_bool(value->words[0], &clear, err);

	if (r < 0)
		return r;
	target->keeps_environment = !clear;
	target->clear_origin = value->origin;
	return 0;
}

static int check_variable_name(const char *name, struct error *err)
{
	if (!*name || strchr(name, '='))
		return error_set(err, 0, "'%s' cannot be the name of a "
				 "variable", name);
	return 0;
}

int key_environment_keep(struct key_target *target, const struct key *key,
			 const struct key_value *value, struct error *err)
{
	for (size_t i = 0; i < value->count; i++) {
		const char *star = strchr(value->words[i], '*');
		int r = check_variable_name(value->words[i], err);

		if (r < 0)
			return r;
		if (star && star[1])
			return error_set(err, 0, "'%s': a '*' can only be the "
					 "last character", value->words[i]);
		*arena_push(target->plan->arena, &target->keeps) =
			(struct env_step){
				.kind = ENV_KEEP,
				.name = value->words[i],
				.origin = value->origin,
			};
	}
	return 0;
}

int key_setenv(struct key_target *target, const struct key *key,
	       const struct key_value *value, struct error *err)
{
	int r = check_variable_name(value->name, err);

	if (r < 0)
		return r;
	*arena_push(target->plan->arena, &target->sets) = (struct env_step){
		.kind = ENV_SET,
		.name = value->name,
		.value = value->words[0],
		.origin = value->origin,
	};
	return 0;
}

static int parse_percent(const char *word, uint64_t *ret_value)
{
	char number[24];
	size_t length = strcspn(word, "%");

	if (length >= sizeof(number) || (word[length] && word[length + 1]))
		return -EINVAL;
	memcpy(number, word, length);
	number[length] = '\0';
	return text_parse_u64(number, ret_value);
}

/* What may stand behind the amount. */
enum limit_word { LIMIT_WORD_OPTIONAL, LIMIT_WORD_NOTE, LIMIT_WORD_COUNT };
static const char *const limit_words[] = { "optional", "note" };
_Static_assert(ARRAY_SIZE(limit_words) == LIMIT_WORD_COUNT, "each is spelt");

static const struct limit_type {
	int (*parse)(const char *text, uint64_t *ret_value);
	const char *what;   /* what a word must be */
	uint64_t least;
	enum limit_word word;
} limit_types[] = {
	[LIMIT_PROCESSES] = { text_parse_u64, "number", 1 },
	[LIMIT_OPEN_FILES] = { text_parse_u64, "number", 3 },
	[LIMIT_FILE_SIZE] = { text_parse_size, "size", 0 },
	[LIMIT_CPU_TIME] = { text_parse_duration, "duration", 1 },
	[LIMIT_ADDRESS_SPACE] = { text_parse_size, "size", 1 },
	[LIMIT_STACK] = { text_parse_size, "size", 1 },
	[LIMIT_CORE] = { text_parse_size, "size", 0 },
	[LIMIT_MEMLOCK] = { text_parse_size, "size", 0 },
	[LIMIT_MEMORY] = { text_parse_size, "size", 1 },
	[LIMIT_CPU] = { parse_percent, "percentage", 1 },
	[LIMIT_TIMEOUT] = { text_parse_duration, "duration", 1 },
	[LIMIT_GRACE] = { text_parse_duration, "duration", 0 },
	/* The launcher itself holds it, which is never less. */
	[LIMIT_OUTPUT] = { text_parse_size, "size", 0, LIMIT_WORD_NOTE },
};
_Static_assert(ARRAY_SIZE(limit_types) == LIMIT_COUNT, "a type for each limit");

int key_limit(struct key_target *target, const struct key *key,
	      const struct key_value *value, struct error *err)
{
	const struct limit_type *type = &limit_types[key->tag];
	struct plan_limit *limit = &target->plan->limits[key->tag];
	const char *word = limit_words[type->word];
	bool has_word = value->count == 2;
	uint64_t amount;
	int r;

	if (has_word && strcmp(value->words[1], word) != 0)
		return error_set(err, 0, "'%s' is not '%s'",
				 value->words[1], word);
	r = type->parse(value->words[0], &amount);
	if (r == -EINVAL) {
		r = error_set(err, 0, "'%s' is not a %s", value->words[0],
			      type->what);
		if (type->parse == text_parse_duration)
			error_remedy(err, "a duration ends in ms, s, m or h");
		else if (type->parse == text_parse_size)
			error_remedy(err, "a size is a number of bytes or "
				     "ends in k, m, g or t");
		return r;
	}
	if (r < 0 || amount > INT64_MAX)
		return error_set(err, 0, "%s is too large", value->words[0]);
	if (amount < type->least)
		return error_set(err, 0, "%s is less than the least, %llu",
				 value->words[0],
				 (unsigned long long)type->least);
	limit->is_set = true;
	limit->is_optional = has_word && type->word == LIMIT_WORD_OPTIONAL;
	limit->has_note = has_word && type->word == LIMIT_WORD_NOTE;
	limit->value = amount;
	limit->origin = value->origin;
	return 0;
}

int key_run_as(struct key_target *target, const struct key *key,
	       const struct key_value *value, struct error *err)
{
	struct plan_ids *ids = &target->plan->ids;
	const char *word = value->words[0];
	char *uid_text = arena_strdup(target->plan->arena, word);
	char *gid_text = strchr(uid_text, ':');
	uint64_t uid = 0, gid = 0;
	int r;

	ids->run_as_origin = value->origin;
	if (!strcmp(word, "auto") || !strcmp(word, "caller")) {
		ids->run_as = *word == 'a' ? RUN_AS_AUTO : RUN_AS_CALLER;
		return 0;
	}
	if (gid_text)
		*gid_text++ = '\0';
	if (*uid_text < '0' || *uid_text > '9')
		return error_set(err, 0, "'%s' is not one of auto, caller, "
				 "UID, UID:GID", word);
	r = key_number(uid_text, 0, UINT32_MAX - 1, &uid, err);
	if (r >= 0)
		r = key_number(gid_text ? gid_text : uid_text, 0,
			       UINT32_MAX - 1, &gid, err);
	if (r < 0)
		return r;
	ids->run_as = RUN_AS_ID;
	ids->run_uid = (uint32_t)uid;
	ids->run_gid = (uint32_t)gid;
	return 0;
}

int key_seccomp(struct key_target *target, const struct key *key,
		const struct key_value *value, struct error *err)
{
	struct plan_security *security = &target->plan->security;
	const char *word = value->words[0];

	security->seccomp_origin = value->origin;
	if (!strcmp(word, "default") || !strcmp(word, "none")) {
		security->seccomp = *word == 'd' ? SECCOMP_DEFAULT
						 : SECCOMP_NONE;
		return 0;
	}
	/* A slip in the two words is likelier than a file of that name. */
	if (!strchr(word, '/')) {
		error_set(err, 0, "'%s' is not one of default, none, or a "
			  "file's path", word);
		error_remedy(err, "write './%s' if it is a file", word);
		return error_result(err);
	}
	security->seccomp = SECCOMP_FROM_FILE;
	return key_host_path(target, word, &security->seccomp_file, err);
}

int key_unix_sockets(struct key_target *target, const struct key *key,
		     const struct key_value *value, struct error *err)
{
	static const char *const names[] = { "allow", "deny" };
	size_t index = 0;
	int r = key_choice(value->words[0], names, ARRAY_SIZE(names), &index,
			   err);

	if (r < 0)
		return r;
	target->plan->security.deny_unix_sockets = index == 1;
	target->plan->security.unix_origin = value->origin;
	return 0;
}

int key_nested_userns(struct key_target *target, const struct key *key,
		      const struct key_value *value, struct error *err)
{
	return key_bool(value->words[0],
			&target->plan->security.allow_nested_userns, err);
}

int key_tty(struct key_target *target, const struct key *key,
	    const struct key_value *value, struct error *err)
{
	static const char *const names[] = { "none", "keep" };
	size_t index = 0;
	int r = key_choice(value->words[0], names, ARRAY_SIZE(names), &index,
			   err);

	if (r < 0)
		return r;
	target->plan->security.tty = index ? TTY_KEEP : TTY_NONE;
	target->plan->security.tty_origin = value->origin;
	return 0;
}

int key_keep_fd(struct key_target *target, const struct key *key,
		const struct key_value *value, struct error *err)
{
	target->plan->security.keep_origin = value->origin;
	for (size_t i = 0; i < value->count; i++) {
		int fd = -EBADF, r = key_fd(value->words[i], &fd, err);

		if (r < 0)
			return r;
		*arena_push(target->plan->arena,
			    &target->plan->security.keep_fds) = fd;
	}
	return 0;
}

int key_loopback(struct key_target *target, const struct key *key,
		 const struct key_value *value, struct error *err)
{
	return key_bool(value->words[0], &target->plan->bring_up_loopback,
			err);
}

int key_status_fd(struct key_target *target, const struct key *key,
		  const struct key_value *value, struct error *err)
{
	target->plan->report.status_origin = value->origin;
	return key_fd(value->words[0], &target->plan->report.status_fd, err);
}

int key_report(struct key_target *target, const struct key *key,
	       const struct key_value *value, struct error *err)
{
	struct plan_report *report = &target->plan->report;
	const char *word = value->words[0];

	switch ((enum report_member)key->tag) {
	case REPORT_STATUS_FILE:
		report->status_origin = value->origin;
		return key_host_path(target, word, &report->status_file, err);
	case REPORT_AUDIT_FILE:
		report->audit_origin = value->origin;
		return key_host_path(target, word, &report->audit_file, err);
	case REPORT_CHANGES_FILE:
		report->changes_origin = value->origin;
		return key_host_path(target, word, &report->changes_file, err);
	case REPORT_RUN_ID:
		report->run_id = word;
		return 0;
	case REPORT_HANDLE_ID:
		report->handle_id = word;
		return 0;
	}
	return 0;
}
