/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Settings; what names operations is in bwrap_args_ops.c. */
#include "front/bwrap_args_handle.h"

#include "base/text.h"
#include "front/bwrap_args_values.h"
#include "plan/cap_names.h"

#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

static int read_to_end(int fd, struct text_buf *out)
{
	char part[16384];
	ssize_t length;

	do {
		length = read(fd, part, sizeof(part));
		if (length > 0)
			text_add_bytes(out, part, (size_t)length);
	} while (length > 0 || (length < 0 && errno == EINTR));
	if (length < 0)
		return -errno;
	close(fd);
	return 0;
}

struct bwrap_parse *bwrap_parse_state(struct parse *parse)
{
	struct bwrap_parse *state = parse->bwrap;

	if (state)
		return state;
	state = arena_alloc(parse->arena, sizeof(*state));
	state->seen = arena_alloc(parse->arena,
				  bwrap_options_count * sizeof(*state->seen));
	state->read_args = read_to_end;
	parse->bwrap = state;
	return state;
}

/* Note that @option was given; was it before? */
static bool note_seen(struct parse *parse, const struct option *option)
{
	bool *seen = &bwrap_parse_state(parse)->seen[option - bwrap_options];
	bool before = *seen;

	*seen = true;
	return before;
}

static void warn_if_repeated(struct parse *parse, const struct option *option)
{
	if (note_seen(parse, option))
		options_warn(parse, "Only the last %s option will take effect",
			     option->name);
}

/* The member of the plan's bubblewrap part that a row's tag says. */
static void *member_of(struct parse *parse, const struct option *option)
{
	return (char *)&parse->plan->bwrap + option->tag;
}

OPTION_HANDLER(bwrap_do_action)
{
	parse->action = (enum parse_action)option->tag;
	return 0;
}

OPTION_HANDLER(bwrap_do_nothing)
{
	return 0;
}

OPTION_HANDLER(bwrap_do_switch)
{
	*(bool *)member_of(parse, option) = true;
	return 0;
}

OPTION_HANDLER(bwrap_do_fd)
{
	warn_if_repeated(parse, option);
	return bwrap_parse_fd(values[0], member_of(parse, option), err);
}

OPTION_HANDLER(bwrap_do_seccomp)
{
	if (parse->plan->bwrap.seccomp_fds.count)
		return bwrap_usage_error(err, "--seccomp cannot be combined "
					 "with --add-seccomp-fd");
	return bwrap_do_fd(parse, option, values, origin, err);
}

OPTION_HANDLER(bwrap_do_add_seccomp)
{
	struct plan_bwrap *bwrap = &parse->plan->bwrap;
	int fd, r;

	if (bwrap->seccomp_fd >= 0)
		return bwrap_usage_error(err, "--add-seccomp-fd cannot be "
					 "combined with --seccomp");
	r = bwrap_parse_fd(values[0], &fd, err);
	if (r < 0)
		return r;
	*arena_push(parse->arena, &bwrap->seccomp_fds) = fd;
	return 0;
}

/* Labels need a kernel in which SELinux is at work: selinuxfs is mounted. */
static bool has_labels(void)
{
	struct statfs info;

	return !statfs("/sys/fs/selinux", &info) &&
	       info.f_type == SELINUX_MAGIC;
}

OPTION_HANDLER(bwrap_do_label)
{
	warn_if_repeated(parse, option);
	if (!has_labels())
		return bwrap_usage_error(err, "labeling not supported on this "
					 "system");
	*(const char **)member_of(parse, option) = values[0];
	return 0;
}

OPTION_HANDLER(bwrap_do_lock_file)
{
	*arena_push(parse->arena, &parse->plan->bwrap.lock_files) = values[0];
	return 0;
}

OPTION_HANDLER(bwrap_do_cap)
{
	struct cap_step step = { .is_add = option->tag };

	if (cap_from_text(values[0], &step.cap) < 0)
		return bwrap_usage_error(err, "unknown cap: %s", values[0]);
	*arena_push(parse->arena, &parse->plan->bwrap.caps) = step;
	return 0;
}

/*
 * Split @data at its NUL bytes; the last one may be missing.  The words are
 * parts of @data.
 */
static void split_words(struct parse *parse, const struct text_buf *data,
			struct option_words *words)
{
	LIST_OF(const char *) list = { 0 };
	size_t at = 0;

	while (at < data->count) {
		*arena_push(parse->arena, &list) = data->at + at;
		at += strlen(data->at + at) + 1;
	}
	words->at = list.at;
	words->count = list.count;
}

OPTION_HANDLER(bwrap_do_args)
{
	struct option_words words = {
		.origin = ORIGIN_ARGS_FD, .name = values[0],
	};
	struct text_buf data = { .arena = parse->arena };
	unsigned accepts = parse->accepts;
	int fd, r;

	if (parse->words->origin == ORIGIN_ARGS_FD)
		return bwrap_usage_error(err, "--args not supported in "
					 "arguments file");
	r = bwrap_parse_fd(values[0], &fd, err);
	if (r < 0)
		return r;
	r = bwrap_parse_state(parse)->read_args(fd, &data);
	if (r < 0) {
		error_set(err, -r, "Can't read --args data");
		error_reason(err, "usage");
		return r;
	}
	split_words(parse, &data, &words);
	/* What is not bubblewrap's was looked for on the command line alone. */
	parse->accepts = OPTION_BWRAP;
	r = options_parse(parse, &words, err);
	parse->accepts = accepts;
	return r;
}

/* ---- namespaces and ids -------------------------------------------------- */

static void want_new(struct plan *plan, enum ns_kind kind,
		     struct origin origin)
{
	struct plan_ns *ns = &plan->ns[kind];

	if (ns->want == NS_WANT_JOIN)
		ns->also_new = true;
	else
		ns->want = NS_WANT_NEW;
	ns->origin = origin;
}

/* Where a new one is wanted for certain, trying adds nothing. */
static void want_try(struct plan *plan, enum ns_kind kind,
		     struct origin origin)
{
	struct plan_ns *ns = &plan->ns[kind];

	if (ns->want != NS_WANT_HOST)
		return;
	ns->want = NS_WANT_TRY;
	ns->origin = origin;
}

OPTION_HANDLER(bwrap_do_unshare)
{
	enum ns_kind kind = (enum ns_kind)option->tag;

	if (kind == NS_USER) {
		bwrap_parse_state(parse)->unshare_user = true;
		/* With --userns it is refused in the end. */
		if (parse->plan->ns[kind].want == NS_WANT_JOIN)
			return 0;
	}
	want_new(parse->plan, kind, origin);
	return 0;
}

OPTION_HANDLER(bwrap_do_unshare_try)
{
	enum ns_kind kind = (enum ns_kind)option->tag;

	if (kind == NS_USER)
		bwrap_parse_state(parse)->unshare_user_try = true;
	want_try(parse->plan, kind, origin);
	return 0;
}

OPTION_HANDLER(bwrap_do_unshare_all)
{
	static const enum ns_kind certain[] = {
		NS_IPC, NS_PID, NS_NET, NS_UTS,
	};

	bwrap_parse_state(parse)->unshare_user_try = true;
	want_try(parse->plan, NS_USER, origin);
	want_try(parse->plan, NS_CGROUP, origin);
	for (size_t i = 0; i < ARRAY_SIZE(certain); i++)
		want_new(parse->plan, certain[i], origin);
	return 0;
}

OPTION_HANDLER(bwrap_do_share_net)
{
	parse->plan->ns[NS_NET].want = NS_WANT_HOST;
	parse->plan->ns[NS_NET].origin = origin;
	return 0;
}

OPTION_HANDLER(bwrap_do_join)
{
	struct plan_ns *ns = &parse->plan->ns[option->tag];
	int r;

	warn_if_repeated(parse, option);
	r = bwrap_parse_fd(values[0], &ns->fd, err);
	if (r < 0)
		return r;
	if (option->tag == NS_PID && ns->want == NS_WANT_NEW)
		ns->also_new = true;
	ns->want = NS_WANT_JOIN;
	ns->origin = origin;
	return 0;
}

OPTION_HANDLER(bwrap_do_uid)
{
	warn_if_repeated(parse, option);
	parse->plan->ids.has_uid = true;
	return bwrap_parse_id("uid", values[0], &parse->plan->ids.uid, err);
}

OPTION_HANDLER(bwrap_do_gid)
{
	warn_if_repeated(parse, option);
	parse->plan->ids.has_gid = true;
	return bwrap_parse_id("gid", values[0], &parse->plan->ids.gid, err);
}

OPTION_HANDLER(bwrap_do_hostname)
{
	warn_if_repeated(parse, option);
	bwrap_parse_state(parse)->has_hostname = true;
	parse->plan->hostname = values[0];
	return 0;
}

/* ---- the command ---------------------------------------------------------- */

OPTION_HANDLER(bwrap_do_chdir)
{
	warn_if_repeated(parse, option);
	parse->plan->chdir = values[0];
	parse->plan->chdir_origin = origin;
	return 0;
}

OPTION_HANDLER(bwrap_do_argv0)
{
	if (note_seen(parse, option))
		return bwrap_usage_error(err, "--argv0 used multiple times");
	parse->plan->argv0 = values[0];
	return 0;
}

OPTION_HANDLER(bwrap_do_env)
{
	enum env_kind kind = (enum env_kind)option->tag;
	const char *name = option->values ? values[0] : NULL;
	const char *value = option->values > 1 ? values[1] : NULL;

	if (name && (!*name || strchr(name, '=')))
		return bwrap_usage_error(err, "%s failed", option->name + 2);
	plan_add_env(parse->plan, kind, name, value, origin);
	return 0;
}
