/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The documents of --info-fd and --json-status-fd, byte for byte as callers
 * of bubblewrap parse them.  They are written before the child is released, so
 * that a caller can prepare its namespaces.
 */
#include "engine/report.h"

#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Namespaces in the order of the documents, by their names in /proc. */
static const struct report_ns {
	enum ns_kind kind;
	const char *link;
	const char *key;
} report_namespaces[] = {
	{ NS_CGROUP, "cgroup", "cgroup-namespace" },
	{ NS_IPC, "ipc", "ipc-namespace" },
	{ NS_MOUNT, "mnt", "mnt-namespace" },
	{ NS_NET, "net", "net-namespace" },
	{ NS_PID, "pid", "pid-namespace" },
	{ NS_UTS, "uts", "uts-namespace" },
};

/* 0: cannot be read. */
static ino_t report_ns_inode(const char *process, const char *link)
{
	char path[64];
	struct stat ns;

	snprintf(path, sizeof(path), "/proc/%s/ns/%s", process, link);
	return stat(path, &ns) < 0 ? 0 : ns.st_ino;
}

/* The members, each with @before in front and @between after the last but it. */
static void report_child_members(struct run *run, struct text_buf *text,
				 const char *between)
{
	char child[16];

	snprintf(child, sizeof(child), "%d", run->child);
	text_addf(text, "\"child-pid\": %s", child);
	for (size_t i = 0; i < ARRAY_SIZE(report_namespaces); i++) {
		const struct report_ns *row = &report_namespaces[i];
		const struct plan_ns *ns = &run->plan->ns[row->kind];
		ino_t inode;

		if (ns->want != NS_WANT_NEW && ns->want != NS_WANT_TRY &&
		    !ns->also_new)
			continue;
		inode = report_ns_inode(child, row->link);
		if (!inode || (ns->want == NS_WANT_TRY &&
			       inode == report_ns_inode("self", row->link)))
			continue;
		text_addf(text, "%s\"%s\": %ju", between, row->key,
			  (uintmax_t)inode);
	}
}

static int report_write_document(int fd, const struct text_buf *text,
				 struct error *err)
{
	size_t done = 0;

	while (done < text->count) {
		ssize_t size = write(fd, text->at + done, text->count - done);

		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return error_set(err, errno, "Write to info_fd");
		done += (size_t)size;
	}
	return 0;
}

int report_bwrap_child(struct run *run, struct error *err)
{
	const struct plan_bwrap *bwrap = &run->plan->bwrap;
	int r;

	if (bwrap->info_fd >= 0) {
		struct text_buf text = { .arena = run->arena };

		text_add(&text, "{\n    ");
		report_child_members(run, &text, ",\n    ");
		text_add(&text, "\n}\n");
		r = report_write_document(bwrap->info_fd, &text, err);
		if (r < 0)
			return r;
		close(bwrap->info_fd);
	}
	if (bwrap->json_status_fd >= 0) {
		struct text_buf text = { .arena = run->arena };

		text_add(&text, "{ ");
		report_child_members(run, &text, ", ");
		text_add(&text, " }\n");
		r = report_write_document(bwrap->json_status_fd, &text, err);
		if (r < 0)
			return r;
	}
	return 0;
}

void report_bwrap_exit(struct run *run, int status)
{
	int fd = run->plan->bwrap.json_status_fd;
	struct text_buf text = { .arena = run->arena };
	struct error ignored;

	if (fd < 0)
		return;
	text_addf(&text, "{ \"exit-code\": %d }\n", status);
	report_write_document(fd, &text, &ignored);
	close(fd);
}
