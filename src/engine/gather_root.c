/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a launcher that root started opens before the child exists: the trees
 * that the payload sees with its own, unprivileged host id as the owner
 * (mount_setattr(2), MOUNT_ATTR_IDMAP).  Only root may map a file system of
 * the machine, and only in a mount namespace that root owns.
 */
#include "engine/child.h"

#include "sys/mountfd.h"
#include "sys/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* A user namespace that shows an owner's files as the payload's. */
struct idmap {
	uid_t uid;
	gid_t gid;
	int userns;
};

struct idmaps {
	struct idmap *at;
	size_t count, cap;
};

static int idmap_for(struct run *run, struct idmaps *maps, int mount,
		     struct error *err)
{
	struct idmap *map;
	struct statx owner;

	/* A server that does not answer is not asked again. */
	if (statx(mount, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		  STATX_UID | STATX_GID, &owner) < 0)
		return error_set(err, errno, "statx of the source");
	for (size_t i = 0; i < maps->count; i++)
		if (maps->at[i].uid == owner.stx_uid &&
		    maps->at[i].gid == owner.stx_gid)
			return maps->at[i].userns;
	map = arena_push(run->arena, maps);
	map->uid = owner.stx_uid;
	map->gid = owner.stx_gid;
	map->userns = userns_create_idmap(owner.stx_uid, owner.stx_gid,
					  run->ids.host_uid,
					  run->ids.host_gid, err);
	return map->userns;
}

int gather_fail_idmap(const char *path, struct error *err)
{
	const char *call;

	error_wrap(err, "'%s' cannot be shown with other owners", path);
	if (!mountfd_missing(&call))
		return error_result(err);
	error_reason(err, "idmap");
	error_remedy(err, "there are no id-mapped mounts without %s, which "
		     "this kernel or the system-call filter of the "
		     "surrounding container does not have: start as an "
		     "ordinary user, or set run-as = caller", call);
	return error_result(err);
}

/* Set @attr and the id map of the owner of @mount's root. */
static int map_tree(struct run *run, struct idmaps *maps, int mount,
		    struct mountfd_attr attr, const char *path,
		    struct source *source, struct error *err)
{
	attr.idmap_userns = idmap_for(run, maps, mount, err);
	if (attr.idmap_userns < 0)
		return error_result(err);
	if (mountfd_set_attr(mount, &attr, err) < 0)
		return gather_fail_idmap(path, err);
	source->is_mapped = true;
	return 0;
}

/*
 * The clone has failed.  Without the calls for it only the workspace cannot
 * do; the rest is gathered by the child, with everybody's rights.
 */
static int without_idmap(const struct op *op, const char *path,
			 struct error *err)
{
	const char *call;

	if (!mountfd_missing(&call))
		return error_result(err);
	return op->role == ROLE_WORKSPACE ? gather_fail_idmap(path, err) : 0;
}

static int map_bind(struct run *run, struct idmaps *maps, const struct op *op,
		    struct source *source, struct error *err)
{
	struct mountfd_attr attr;
	int mount = gather_clone(run->plan, op, err);

	if (gather_may_skip(run->plan, op, mount)) {
		/* The child tells the monitor of it. */
		source->skipped = true;
		return 0;
	}
	if (mount < 0)
		return without_idmap(op, op->source, err);
	source->mount = mount;
	gather_attr(run->plan, op, &attr);
	/* What is not the workspace may do with everybody's rights. */
	if (map_tree(run, maps, mount, attr, op->source, source, err) < 0 &&
	    (op->role == ROLE_WORKSPACE ||
	     mountfd_set_attr(mount, &attr, err) < 0)) {
		mem_close_fd(&source->mount);
		return without_idmap(op, op->source, err);
	}
	return gather_check(op, source, mount, err);
}

/* A layer was not cloned. */
static int fail_clone(const char *path, struct error *err)
{
	const char *call;

	return mountfd_missing(&call) ? gather_fail_idmap(path, err) :
	       error_result(err);
}

/* Clone @path alone, mapped; the clone is attached later (overlay.c). */
static int map_layer(struct run *run, struct idmaps *maps, const struct op *op,
		     const char *path, struct source *source,
		     struct error *err)
{
	const struct mountfd_attr attr = { .propagation = MS_PRIVATE };
	auto_close int fd = gather_open(run->plan, op, path, err);
	int mount = fd < 0 ? fd : mountfd_clone(fd, "", 0, err);

	if (mount < 0)
		return fail_clone(path, err);
	*arena_push(run->arena, &source->staged) = mount;
	if (map_tree(run, maps, mount, attr, path, source, err) < 0)
		return error_result(err);
	return mount;
}

/*
 * The upper and the work directory have to be in one mount: what is cloned
 * is the directory that holds both.
 */
static int map_upper(struct run *run, struct idmaps *maps, const struct op *op,
		     struct source *source, struct error *err)
{
	struct mountfd_attr attr = { .propagation = MS_PRIVATE };
	const char *upper = op->upper, *work = source->work_path;
	size_t shared = 0;
	char *above;
	int mount;

	for (size_t i = 0; upper[i] && upper[i] == work[i]; i++)
		if (upper[i] == '/')
			shared = i;
	above = arena_strndup(run->arena, upper, shared ? shared : 1);
	mount = mountfd_clone(AT_FDCWD, above, 0, err);
	if (mount < 0)
		return fail_clone(upper, err);
	*arena_push(run->arena, &source->staged) = mount;
	source->upper = openat(mount, upper + shared + 1, O_PATH | O_CLOEXEC |
			       O_DIRECTORY | O_NOFOLLOW);
	source->work = openat(mount, work + shared + 1, O_PATH | O_CLOEXEC |
			      O_DIRECTORY | O_NOFOLLOW);
	if (source->upper < 0 || source->work < 0)
		return error_set(err, errno, "open '%s' or '%s'", upper, work);
	if (gather_check(op, source, source->upper, err) < 0)
		return error_result(err);
	/* It is the upper layer's owner whose files these are. */
	attr.idmap_userns = idmap_for(run, maps, source->upper, err);
	if (attr.idmap_userns < 0)
		return error_result(err);
	if (mountfd_set_attr(mount, &attr, err) < 0)
		return gather_fail_idmap(upper, err);
	return 0;
}

static int map_overlay(struct run *run, struct idmaps *maps,
		       const struct op *op, struct source *source,
		       struct error *err)
{
	source->type = S_IFDIR;
	for (size_t i = 0; i < op->lowers.count; i++) {
		int mount = map_layer(run, maps, op, op->lowers.at[i],
				      source, err);

		if (mount < 0)
			return mount;
		*arena_push(run->arena, &source->lowers) = mount;
	}
	return op->upper ? map_upper(run, maps, op, source, err) : 0;
}

/*
 * What the payload is to write to, and what the plan says it sees as the
 * owner does.
 */
static bool is_mapped(const struct op *op)
{
	return op->flags & OP_ID_MAPPED ||
	       (op->kind == OP_BIND && op->phase == PHASE_MOUNTS &&
		!(op->flags & (OP_READ_ONLY | OP_DEVICES)));
}

int gather_outside(struct run *run, struct error *err)
{
	struct child wrapper = { .plan = run->plan, .arena = run->arena };
	struct idmaps maps = { 0 };
	int r = 0;

	if (!run->ids.id_maps_mounts)
		return 0;
	for (size_t i = 0; !r && i < run->plan->ops.count; i++) {
		const struct op *op = &run->plan->ops.at[i];
		struct source *source = &run->sources[i];

		if (!is_mapped(op))
			continue;
		run->progress->op = i;
		if (op->lowers.count)
			r = map_overlay(run, &maps, op, source, err);
		else if (op->kind == OP_BIND)
			r = map_bind(run, &maps, op, source, err);
		if (r < 0)
			op_fail(&wrapper, op, err);
	}
	if (!r)
		run->progress->op = SIZE_MAX;
	for (size_t i = 0; i < maps.count; i++)
		if (maps.at[i].userns >= 0)
			close(maps.at[i].userns);
	return r;
}
