/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Handlers of [root], [mask], [layers] and [workspace]. */
#include "front/keys.h"

#include <limits.h>
#include <string.h>

static int check_path_size(const char *word, struct error *err)
{
	if (!*word)
		return error_set(err, 0, "the path is empty");
	if (strlen(word) >= PATH_MAX)
		return error_set(err, ENAMETOOLONG, "a path of %zu bytes",
				 strlen(word));
	return 0;
}

int key_host_path(struct key_target *target, const char *word,
		  const char **ret_path, struct error *err)
{
	const char *cwd = NULL;
	int r = check_path_size(word, err);

	if (r < 0)
		return r;
	if (*word != '/') {
		r = variables_cwd(target->variables, &cwd, err);
		if (r < 0)
			return r;
		word = path_join(target->plan->arena, cwd, word);
	}
	*ret_path = word;
	return 0;
}

int key_inside_path(struct key_target *target, const char *word,
		    const char **ret_path, struct error *err)
{
	int r = check_path_size(word, err);

	if (r < 0)
		return r;
	if (*word != '/')
		return error_set(err, 0, "'%s' is not an absolute path", word);
	*ret_path = path_is_normal(word)
		? word : path_normalise(target->plan->arena, word);
	return 0;
}

/* SRC [DEST]: @dest NULL means the same path inside. */
static int source_and_dest(struct key_target *target, const char *source,
			   const char *dest, const char **ret_source,
			   const char **ret_dest, struct error *err)
{
	const char *path = NULL;
	int r = key_host_path(target, source, &path, err);

	if (r < 0)
		return r;
	r = key_inside_path(target, dest ? dest : path, ret_dest, err);
	if (r < 0)
		return r;
	if (!strcmp(*ret_dest, "/"))
		return error_set(err, 0, "nothing can be put on '/' ('source' "
				 "in [root] says what is there)");
	*ret_source = path;
	return 0;
}

int key_root_source(struct key_target *target, const struct key *key,
		    const struct key_value *value, struct error *err)
{
	struct plan_root *root = &target->plan->root;

	root->origin = value->origin;
	root->is_none = !strcmp(value->words[0], "none");
	if (root->is_none)
		return 0;
	return key_host_path(target, value->words[0], &root->source, err);
}

int key_root_system(struct key_target *target, const struct key *key,
		    const struct key_value *value, struct error *err)
{
	target->plan->root.system_origin = value->origin;
	return key_bool(value->words[0], &target->plan->root.has_system, err);
}

static int mask_option(struct op *op, const char *word, bool *ret_is_placed,
		       struct error *err)
{
	uint64_t *amount = NULL;
	const char *text = strchr(word, '=');
	int r;

	if (!strcmp(word, "ro") || !strcmp(word, "rw")) {
		op->flags = (op->flags & ~(unsigned)OP_READ_ONLY) |
			    (word[1] == 'o' ? OP_READ_ONLY : 0);
		*ret_is_placed = true;
		return 0;
	}
	if (text_has_prefix(word, "mode=")) {
		if (text_parse_mode(text + 1, &op->mode) < 0)
			return error_set(err, 0, "'%s' is not an octal mode "
					 "of at most 7777", text + 1);
		return 0;
	}
	if (text_has_prefix(word, "size="))
		amount = &op->size;
	else if (text_has_prefix(word, "inodes="))
		amount = &op->inodes;
	if (!amount)
		return error_set(err, 0, "'%s' is not one of size=, inodes=, "
				 "mode=, ro, rw", word);
	r = text_parse_size(text + 1, amount);
	if (r < 0 || !*amount || *amount > INT64_MAX)
		return error_set(err, 0, "'%s' is not a size above 0",
				 text + 1);
	return 0;
}

int key_mask_tmpfs(struct key_target *target, const struct key *key,
		   const struct key_value *value, struct error *err)
{
	struct op *op = plan_add_op(target->plan, OP_TMPFS, PHASE_VIEW,
				    value->origin);
	bool is_access_said = false;
	int r = key_inside_path(target, value->words[0], &op->dest, err);

	op->role = ROLE_MASK;
	op->flags = OP_OPTIONAL | OP_READ_ONLY;
	for (size_t i = 1; r >= 0 && i < value->count; i++)
		r = mask_option(op, value->words[i], &is_access_said, err);
	if (r < 0)
		return r;
	if (!strcmp(op->dest, "/"))
		return error_set(err, 0, "'/' cannot be masked ('source = "
				 "none' in [root] gives an empty root)");
	if (!strcmp(op->dest, "/tmp")) {
		if (!is_access_said)
			op->flags &= ~(unsigned)OP_READ_ONLY;
		if (op->mode == OP_MODE_NONE)
			op->mode = 01777;
	}
	return 0;
}

int key_mask_hide(struct key_target *target, const struct key *key,
		  const struct key_value *value, struct error *err)
{
	struct op *op = plan_add_op(target->plan, OP_HIDE, PHASE_VIEW,
				    value->origin);
	int r = key_inside_path(target, value->words[0], &op->dest, err);

	op->role = ROLE_MASK;
	op->flags = OP_OPTIONAL;
	if (r >= 0 && !strcmp(op->dest, "/"))
		return error_set(err, 0, "'/' cannot be hidden");
	return r;
}

int key_layer(struct key_target *target, const struct key *key,
	      const struct key_value *value, struct error *err)
{
	size_t count = value->count;
	unsigned optional = 0;
	struct op *op;

	if (count > 1 && !strcmp(value->words[count - 1], "optional")) {
		optional = OP_OPTIONAL;
		count--;
	}
	if (count > 2)
		return error_set(err, 0, "'%s' is not 'optional'",
				 value->words[2]);
	if (!count || !*value->words[0])
		return 0;
	op = plan_add_op(target->plan, OP_BIND, PHASE_VIEW, value->origin);
	op->role = ROLE_LAYER;
	op->flags = OP_READ_ONLY | OP_ID_MAPPED | optional;
	return source_and_dest(target, value->words[0],
			       count > 1 ? value->words[1] : NULL,
			       &op->source, &op->dest, err);
}

int key_workspace_path(struct key_target *target, const struct key *key,
		       const struct key_value *value, struct error *err)
{
	struct plan_workspace *workspace = &target->plan->workspace;
	const char *path = NULL;
	int r = key_host_path(target, value->words[0], &path, err);

	if (r < 0)
		return r;
	if (!path_normalise(target->plan->arena, path)[1]) {
		error_set(err, 0, "the workspace cannot be '/'");
		error_remedy(err, "start in another directory, or name one "
			     "with --workspace DIR");
		return error_result(err);
	}
	r = source_and_dest(target, value->words[0],
			    value->count > 1 ? value->words[1] : NULL,
			    &workspace->source, &workspace->dest, err);
	if (r < 0)
		return r;
	workspace->origin = value->origin;
	target->variables->workspace = workspace->dest;
	return 0;
}

int key_workspace_mode(struct key_target *target, const struct key *key,
		       const struct key_value *value, struct error *err)
{
	static const char *const names[] = {
		[WORKSPACE_RW] = "rw",
		[WORKSPACE_RO] = "ro",
		[WORKSPACE_OVERLAY] = "overlay",
		[WORKSPACE_EPHEMERAL] = "ephemeral",
	};
	size_t index = 0;
	int r;

	_Static_assert(ARRAY_SIZE(names) == WORKSPACE_MODE_COUNT,
		       "a name for each mode");
	r = key_choice(value->words[0], names, ARRAY_SIZE(names), &index, err);
	if (r < 0)
		return r;
	target->plan->workspace.mode = (enum workspace_mode)index;
	target->plan->workspace.mode_origin = value->origin;
	return 0;
}

int key_workspace_place(struct key_target *target, const struct key *key,
			const struct key_value *value, struct error *err)
{
	struct plan_workspace *workspace = &target->plan->workspace;
	const char *path = NULL;
	int r = key_host_path(target, value->words[0], &path, err);

	if (r < 0)
		return r;
	switch ((enum workspace_place)key->tag) {
	case PLACE_LOWER:
		*arena_push(target->plan->arena, &workspace->lowers) = path;
		workspace->lowers_origin = value->origin;
		return 0;
	case PLACE_UPPER:
		workspace->upper = path;
		workspace->upper_origin = value->origin;
		return 0;
	case PLACE_WORK:
		workspace->work = path;
		workspace->work_origin = value->origin;
		return 0;
	case PLACE_EXPORT:
		workspace->export_dir = path;
		workspace->export_origin = value->origin;
		return 0;
	}
	return 0;
}

int key_workspace_commit(struct key_target *target, const struct key *key,
			 const struct key_value *value, struct error *err)
{
	static const char *const names[] = { "never", "on-success" };
	size_t index = 0;
	int r = key_choice(value->words[0], names, ARRAY_SIZE(names), &index,
			   err);

	if (r < 0)
		return r;
	target->plan->workspace.commits = index == 1;
	target->plan->workspace.commit_origin = value->origin;
	return 0;
}

int key_workspace_commit_fd(struct key_target *target, const struct key *key,
			    const struct key_value *value, struct error *err)
{
	target->plan->workspace.commit_fd_origin = value->origin;
	return key_fd(value->words[0], &target->plan->workspace.commit_fd,
		      err);
}

int key_workspace_protect(struct key_target *target, const struct key *key,
			  const struct key_value *value, struct error *err)
{
	struct workspace_protect *protect;
	const char *word = value->words[0];
	char *rooted;
	int r = check_path_size(word, err);

	if (r < 0)
		return r;
	if (*word == '/')
		return error_set(err, 0, "'%s' is not relative to the "
				 "workspace", word);
	rooted = arena_printf(target->plan->arena, "/%s", word);
	/* A protected name is held as it is written: no ".." to think of. */
	for (const char *at = strstr(rooted, "/.."); at;
	     at = strstr(at + 1, "/.."))
		if (!at[3] || at[3] == '/')
			return error_set(err, 0, "'%s' leaves the workspace",
					 word);
	rooted = path_normalise(target->plan->arena, rooted);
	if (!rooted[1])
		return error_set(err, 0, "'%s' is the whole workspace ('mode = "
				 "ro' does that)", word);
	protect = arena_push(target->plan->arena,
			     &target->plan->workspace.protects);
	protect->path = rooted + 1;
	protect->origin = value->origin;
	return 0;
}
