/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Overlays.
 *
 * Layers go to the kernel as descriptors, so no character of a path means
 * anything and their number is not limited by the length of an option
 * string.  Three ways, the newest first:
 *
 *   descriptors                  Linux 6.13
 *   lowerdir+ one by one, as /proc/self/fd/N   6.5 (5.2 knows the others)
 *   one option string of /proc/self/fd/N for mount(2)
 *
 * The last holds about 200 layers in its 4095 bytes.  Always `userxattr`:
 * it is what a user namespace can use, and it keeps a payload's own
 * attributes apart from the ones that the overlay reads.
 */
#include "engine/child.h"
#include "engine/conditions.h"
#include "engine/results.h"

#include "base/text.h"
#include "sys/mountfd.h"
#include "sys/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

/* Bytes of an option string, mount(2): a page, with its NUL. */
enum { OPTIONS_MOST = 4096 };

static int layer_count(const struct source *source)
{
	return (int)source->lowers.count;
}

/* A private upper and work directory in memory. */
static int make_memory_upper(struct child *child, const struct op *op,
			     struct source *source, struct error *err)
{
	struct op tmpfs = {
		.kind = OP_TMPFS, .mode = 0755, .size = op->size,
		.inodes = op->inodes,
	};
	auto_close int mount = apifs_tmpfs(child, &tmpfs,
					   !child_is_bwrap(child), err);

	if (mount < 0)
		return mount;
	if (mkdirat(mount, "upper", 0755) < 0 ||
	    mkdirat(mount, "work", 0755) < 0)
		return error_set(err, errno, "make the upper layer");
	source->upper = openat(mount, "upper", O_PATH | O_CLOEXEC);
	source->work = openat(mount, "work", O_PATH | O_CLOEXEC);
	if (source->upper < 0 || source->work < 0)
		return error_set(err, errno, "open the upper layer");
	*arena_push(child->arena, &source->staged) = take_fd(&mount);
	return op->role == ROLE_WORKSPACE ?
	       results_hand_over(child->run, source->upper, err) : 0;
}

/* The layer @fd, as itself or by the name that /proc has for it. */
static struct mountfd_option layer(const char *key, int fd, bool by_name,
				   struct arena *arena)
{
	struct mountfd_option option = { .key = key };

	if (by_name)
		option.value = arena_printf(arena, "/proc/self/fd/%d", fd);
	else
		option.fd = fd;
	return option;
}

static int mount_by_layers(const struct source *source, unsigned attrs,
			   bool by_name, struct arena *arena,
			   struct error *err)
{
	size_t most = source->lowers.count + 3, count = 0;
	struct mountfd_option *options =
		arena_alloc(arena, most * sizeof(*options));

	options[count++] = (struct mountfd_option){ "userxattr" };
	for (int i = layer_count(source); i--;)
		options[count++] = layer("lowerdir+", source->lowers.at[i],
					 by_name, arena);
	if (source->upper >= 0) {
		options[count++] = layer("upperdir", source->upper, by_name,
					 arena);
		options[count++] = layer("workdir", source->work, by_name,
					 arena);
	}
	return mountfd_new("overlay", options, count, attrs, err);
}

static void add_layer(struct text_buf *buf, const char *before, int fd)
{
	text_addf(buf, "%s/proc/self/fd/%d", before, fd);
}

/*
 * The one string goes to mount(2), since fsconfig(2) takes 255 bytes of it.
 * What that attaches is cloned, and vanishes with the old root.
 */
static int mount_by_string(const struct source *source, unsigned attrs,
			   struct arena *arena, struct error *err)
{
	const struct mountfd_attr attr = { .set = attrs };
	struct text_buf buf = { .arena = arena };
	auto_close int mounted = -EBADF;

	text_add(&buf, "userxattr");
	for (int i = layer_count(source); i--;)
		add_layer(&buf, i == layer_count(source) - 1 ? ",lowerdir=" :
			  ":", source->lowers.at[i]);
	if (source->upper >= 0) {
		add_layer(&buf, ",upperdir=", source->upper);
		add_layer(&buf, ",workdir=", source->work);
	}
	if (buf.count >= OPTIONS_MOST)
		return error_set(err, E2BIG, "overlay of %d layers, too many "
				 "for this kernel", layer_count(source));
	if (mount("overlay", ROOT_STAGE, "overlay", MS_NOSUID | MS_NODEV,
		  buf.at) < 0)
		return error_call(err, errno, "mount", "mount overlay");
	mounted = mountfd_clone(AT_FDCWD, ROOT_STAGE, 0, err);
	if (mounted >= 0 && mountfd_set_attr(mounted, &attr, err) < 0)
		return error_result(err);
	return take_fd(&mounted);
}

/*
 * What bubblewrap's users know: the options as it spells them.  Only for
 * the text of an error.
 */
static const char *spell_options(struct arena *arena, const struct op *op)
{
	struct text_buf buf = { .arena = arena };

	if (op->upper)
		text_addf(&buf, "upperdir=/oldroot%s,workdir=/oldroot%s,",
			  op->upper, op->work ? op->work : "");
	text_add(&buf, "lowerdir=");
	for (size_t i = op->lowers.count; i--;)
		text_addf(&buf, "/oldroot%s%s", op->lowers.at[i],
			  i ? ":" : "");
	text_add(&buf, ",userxattr");
	return buf.at;
}

/* A mount that came up read-only although it has an upper layer. */
static int check_writable(const struct child *child, const struct op *op,
			  const struct source *source, int mount,
			  struct error *err)
{
	struct statvfs status;

	if (source->upper < 0)
		return 0;
	if (fstatvfs(mount, &status) < 0)
		return error_set(err, errno, "statvfs of the overlay");
	if (!(status.f_flag & ST_RDONLY))
		return 0;
	error_set(err, EROFS, "the overlay came up read-only: workdir not "
		  "writable");
	condition_apply(child->plan, CONDITION_OVERLAY_READ_ONLY,
			&(struct condition_words){
				.path = op->upper ? op->upper : "" }, err);
	return -EROFS;
}

int overlay_mount(struct child *child, const struct op *op,
		  struct source *source, struct error *err)
{
	unsigned attrs = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	const char *dest = op->dest + strspn(op->dest, "/");
	auto_close int mount = -EBADF;

	if (op->kind == OP_TMP_OVERLAY &&
	    make_memory_upper(child, op, source, err) < 0)
		return error_result(err);
	/* The layers' mounts have to be part of this mount namespace. */
	for (size_t i = 0; i < source->staged.count; i++)
		if (root_stage(source->staged.at[i], err) < 0)
			return error_wrap(err, "a layer");
	/*
	 * An id-mapped clone of a layer leaves out what is mounted below it:
	 * then the kernel has nothing to complain of.
	 */
	if (child->run->ids.id_maps_mounts && op->flags & OP_ID_MAPPED &&
	    layers_have_mount(child, op, err))
		return -EINVAL;
	if (op->kind == OP_RO_OVERLAY)
		attrs |= child_is_bwrap(child) ? 0 : MOUNT_ATTR_RDONLY;
	mount = mount_by_layers(source, attrs, false, child->arena, err);
	if (mount == -EOPNOTSUPP)
		mount = mount_by_string(source, attrs, child->arena, err);
	/* EINVAL, too, is a kernel's answer to a key it does not know. */
	if (mount == -EINVAL || mount == -EBADF) {
		struct error first = *err;

		mount = mount_by_layers(source, attrs, true, child->arena,
					err);
		if (mount < 0)
			*err = first;
	}
	if (mount >= 0 && !check_writable(child, op, source, mount, err)) {
		if (op->kind == OP_TMP_OVERLAY)
			point_is_memory(child, mount);
		return take_fd(&mount);
	}
	if (err->code == ELOOP) {
		op_say(child, err, "Can't make overlay mount on /newroot/%s "
		       "with options %s: Overlay directories may not overlap",
		       dest, spell_options(child->arena, op));
		/* The words stand in place of the errno text. */
		error_reason(err, "overlay-layers");
		if (child_is_bwrap(child))
			err->code = 0;
		return error_result(err);
	}
	if (!err->reason[0])
		layers_explain(child, op, source, err);
	return op_say(child, err, "Can't make overlay mount on /newroot/%s "
		      "with options %s", dest,
		      spell_options(child->arena, op));
}
