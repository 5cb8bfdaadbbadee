/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A read-only view does not keep anybody from connecting to a socket in it.
 *
 * Two ways to find them: the kernel's list of bound sockets, which is complete
 * for this network namespace, and a walk that is not, over what is bound and
 * the directories in which sockets live: it neither goes deep nor crosses into
 * another file system, whose server may not answer.
 */
#include "front/reach.h"

#include "base/text.h"
#include "front/answer.h"
#include "front/view.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum {
	DEPTH_MOST = 3,
	ENTRIES_MOST = 50000, /* of one walk */
	SHOWN_MOST = 200,
};

static const char *const usual_places[] = {
	"/run", "/tmp", "/var/tmp", "/dev/shm", "/var/lib", "/home", "/root",
};

struct reach {
	const struct plan *plan;
	struct arena *arena;
	struct survey *survey;
	dev_t root;     /* the root's file system */
	size_t entries; /* left to look at */
};

/* @host is seen at @inside: is it what is there? */
static void add_if_seen(struct reach *reach, const char *inside,
			const char *host, bool is_fifo)
{
	const struct view view = view_look(reach->plan, inside);
	struct survey_endpoint *end;
	struct stat info;

	if (view.kind != VIEW_THERE || lstat(host, &info) < 0 ||
	    view.info.st_dev != info.st_dev || view.info.st_ino != info.st_ino)
		return;
	for (size_t i = 0; i < reach->survey->endpoints.count; i++)
		if (!strcmp(reach->survey->endpoints.at[i].path, inside))
			return;
	if (reach->survey->endpoints.count >= SHOWN_MOST) {
		reach->survey->endpoints_cut = true;
		return;
	}
	end = arena_push(reach->arena, &reach->survey->endpoints);
	end->path = arena_strdup(reach->arena, inside);
	end->is_fifo = is_fifo;
}

/* Every name under which the plan may show the host's @path. */
static void add_host_path(struct reach *reach, const char *path, bool is_fifo)
{
	for (size_t i = 0; i < reach->plan->ops.count; i++) {
		const struct op *op = &reach->plan->ops.at[i];
		const char *rest, *source = op->source;

		if (op->kind != OP_BIND || *source != '/' ||
		    !path_is_below(path, source))
			continue;
		rest = path + (source[1] ? strlen(source) : 0);
		add_if_seen(reach, *rest ? path_join(reach->arena,
				op_place(op), rest + 1) : op_place(op), path,
			    is_fifo);
	}
}

/* ---- the kernel's list ------------------------------------------------------- */

static void read_bound(struct reach *reach)
{
	FILE *file = fopen("/proc/net/unix", "re");
	char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		char *path = strchr(line, '/');

		if (!path || path == line || path[-1] != ' ')
			continue;
		path[strcspn(path, "\n")] = '\0';
		if (path_is_normal(path))
			add_host_path(reach, path, false);
	}
	free(line);
	if (file)
		fclose(file);
}

/* ---- the walk ------------------------------------------------------------------ */

static void walk(struct reach *reach, const char *path, int depth);

static void look_at_entry(struct reach *reach, const char *path,
			  const struct dirent *entry, int depth)
{
	const char *full = path_join(reach->arena, path, entry->d_name);

	if (entry->d_type == DT_SOCK || entry->d_type == DT_FIFO)
		add_host_path(reach, full, entry->d_type == DT_FIFO);
	else if (entry->d_type == DT_DIR && depth < DEPTH_MOST)
		walk(reach, full, depth + 1);
}

static void walk(struct reach *reach, const char *path, int depth)
{
	struct statx info;
	DIR *directory;
	struct dirent *entry;

	/* What is in a directory that is hidden cannot be reached. */
	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT |
		  AT_STATX_DONT_SYNC, STATX_TYPE, &info) < 0 ||
	    !S_ISDIR(info.stx_mode))
		return;
	if (depth && makedev(info.stx_dev_major, info.stx_dev_minor) !=
	    reach->root)
		return;
	directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (!reach->entries) {
			reach->survey->endpoints_cut = true;
			break;
		}
		reach->entries--;
		look_at_entry(reach, path, entry, depth);
	}
	if (directory)
		closedir(directory);
}

static void walk_from(struct reach *reach, const char *path)
{
	struct statx info, root;

	if (!answer_comes(path) ||
	    statx(AT_FDCWD, path, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
		  STATX_TYPE, &info) < 0 ||
	    statx(AT_FDCWD, "/", AT_STATX_DONT_SYNC, STATX_TYPE, &root) < 0)
		return;
	reach->root = makedev(info.stx_dev_major, info.stx_dev_minor);
	if (reach->root != makedev(root.stx_dev_major, root.stx_dev_minor) &&
	    !answer_lists(path)) {
		reach->survey->endpoints_cut = true;
		return;
	}
	reach->entries = ENTRIES_MOST;
	walk(reach, path, 0);
}

static int compare_paths(const void *a, const void *b)
{
	const struct survey_endpoint *left = a, *right = b;

	return strcmp(left->path, right->path);
}

void reach_find(const struct plan *plan, struct survey *survey)
{
	struct reach reach = {
		.plan = plan, .arena = plan->arena, .survey = survey,
	};

	read_bound(&reach);
	for (size_t i = 0; i < ARRAY_SIZE(usual_places); i++)
		if (view_look(plan, usual_places[i]).kind == VIEW_THERE)
			walk_from(&reach, usual_places[i]);
	for (size_t i = 0; i < plan->ops.count; i++) {
		const struct op *op = &plan->ops.at[i];

		if (op->kind == OP_BIND && *op->source == '/' &&
		    op->source[1])
			walk_from(&reach, op->source);
	}
	if (survey->endpoints.count)
		qsort(survey->endpoints.at, survey->endpoints.count,
		      sizeof(*survey->endpoints.at), compare_paths);
}
