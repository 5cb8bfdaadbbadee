/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a run has put on the host is removed when it is over, whoever was
 * killed on the way.
 *
 * In the ordinary course the monitor does it itself.  For the other one there
 * is the janitor: a process outside, in a process group of its own and deaf to
 * all signals that can be blocked, which does nothing but wait.  It is told of a
 * thing before that is made (janitor_expect()) and what it became afterwards
 * (janitor_made()), so that there is no moment at which it could be missed.
 *
 * The janitor's end of a socket sees the end of file once both the monitor and
 * PID 1, which hold the other end, are gone.  PID 1 closes its files early
 * in its exit; that its mounts are gone, too, is told by its pidfd.
 *
 * Removed is only what still is the object that was made, and only what is
 * empty; of an overlay's work directory, which nobody but the kernel writes
 * to, the content as well.
 */
#include "engine/commit.h"

#include "sys/proc.h"
#include "sys/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum {
	/* PID 1 is not known: how often, and after how long, to try again */
	REMOVE_TRIES = 20,
	REMOVE_PAUSE_MS = 50,
	/* longer than all that: then it is stopped, or sleeps in the kernel */
	JANITOR_MS = 3000,
};

/* ---- removing ------------------------------------------------------------- */

/* What is there by that name; 0 or a negative errno. */
static int leftover_look(const struct leftover *leftover, mode_t *ret_type,
			 struct leftover *ret_now)
{
	struct statx status;

	if (statx(leftover->parent_fd, leftover->name, AT_SYMLINK_NOFOLLOW,
		  STATX_TYPE | STATX_INO | STATX_SIZE | STATX_BTIME,
		  &status) < 0)
		return -errno;
	*ret_now = (struct leftover){
		.dev = makedev(status.stx_dev_major, status.stx_dev_minor),
		.ino = status.stx_ino,
	};
	if (status.stx_mask & STATX_BTIME)
		ret_now->born = (uint64_t)status.stx_btime.tv_sec *
				1000000000U + status.stx_btime.tv_nsec;
	/* Nothing of ours has content, as far as it is a file. */
	*ret_type = S_ISREG(status.stx_mode) && status.stx_size ? 0 :
		    status.stx_mode & S_IFMT;
	return 0;
}

/*
 * Is it what was made, and something that may be removed?  Negative: that
 * cannot be seen at the moment.
 */
static int is_ours(const struct leftover *leftover)
{
	mode_t type = 0;
	struct leftover now = { 0 };
	int r;

	if (leftover->is_void)
		return 0;
	r = leftover_look(leftover, &type, &now);
	if (r < 0)
		return r == -ENOENT || r == -ENOTDIR ? 0 : r;
	if (type != (mode_t)(leftover->is_directory ? S_IFDIR : S_IFREG))
		return 0;
	if (leftover->by_name)
		return 1;
	/* Killed before the confirmation: ours if it is young enough. */
	if (!leftover->ino)
		return now.born && now.born >= leftover->announced;
	/* The C library makes do without statx(2), and then without a birth. */
	return now.dev == leftover->dev && now.ino == leftover->ino &&
	       (!leftover->born || !now.born || now.born == leftover->born);
}

/*
 * Has no other run it in use?  From here on none can take it up: the lock
 * stays until this one is over.
 */
static bool is_alone(const struct leftover *leftover)
{
	auto_close int opened = -EBADF;
	int lock = leftover->lock_fd;

	if (!leftover->is_shared)
		return true;
	if (lock < 0) {
		opened = openat(leftover->parent_fd, leftover->name,
				O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
				O_NOCTTY | O_CLOEXEC);
		lock = opened;
	}
	/* Where there are no locks there is nothing to share. */
	return lock >= 0 && (!flock(lock, LOCK_EX | LOCK_NB) ||
			     errno != EWOULDBLOCK);
}

/* Something else by that name, or not empty, is left alone: 0. */
static int leftover_remove(const struct leftover *leftover)
{
	int r = is_ours(leftover);

	if (r <= 0 || !is_alone(leftover))
		return r;
	if (leftover->is_work)
		return tree_remove(leftover->parent_fd, leftover->name);
	r = unlinkat(leftover->parent_fd, leftover->name,
		     leftover->is_directory ? AT_REMOVEDIR : 0);
	return r < 0 && errno != ENOENT && errno != ENOTEMPTY ? -errno : 0;
}

/* The last made first, since it may be in an earlier one. */
static int remove_all(const struct run *run, struct error *err)
{
	int failed = 0;

	for (size_t i = run->leftovers.count; i-- > 0;) {
		const struct leftover *leftover = &run->leftovers.at[i];
		int r = leftover_remove(leftover);

		if (r < 0 && !failed) {
			failed = error_set(err, -r, "remove '%s'",
					   leftover->name);
			error_reason(err, "leftover");
		}
	}
	return failed;
}

void janitor_tidy(struct run *run)
{
	for (size_t i = run->leftovers.count; i-- > 0;) {
		struct leftover *leftover = &run->leftovers.at[i];

		if (!leftover->is_work && !leftover_remove(leftover))
			leftover->is_void = true;
	}
}

/* ---- what the janitor is told ---------------------------------------------- */

enum note_kind {
	NOTE_EXPECT, /* with the directory */
	NOTE_MADE,   /* the last one: @dev, @ino, @born */
	NOTE_VOID,   /* number @index was not made, or is to stay */
	NOTE_HOLD,   /* a descriptor to keep open until the end */
	NOTE_WATCH,  /* the pidfd of PID 1 */
};

struct note {
	enum note_kind kind;
	bool is_directory, is_work, by_name, is_shared;
	uint64_t announced, born;
	dev_t dev;
	ino_t ino;
	size_t index;
	char name[NAME_MAX + 1];
};

static int note_send(struct run *run, const struct note *note, int fd,
		     struct error *err)
{
	alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { (void *)note, sizeof(*note) };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		struct cmsghdr *rights = (struct cmsghdr *)control;

		header.msg_control = control;
		header.msg_controllen = sizeof(control);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
	}
	if (sendmsg(run->janitor_socket, &header, MSG_NOSIGNAL) < 0)
		return error_set(err, errno, "tell the janitor");
	return 0;
}

/* 1 with a note, 0 at the end. */
static int note_receive(int socket, struct note *ret_note, int *ret_fd)
{
	alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct iovec part = { ret_note, sizeof(*ret_note) };
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *rights;
	ssize_t size;

	do {
		size = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
	} while (size < 0 && errno == EINTR);
	*ret_fd = -EBADF;
	if (size != sizeof(*ret_note))
		return 0;
	rights = CMSG_FIRSTHDR(&header);
	if (rights && rights->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(rights), sizeof(*ret_fd));
	return 1;
}

/* ---- the janitor ------------------------------------------------------------ */

static void janitor_take_note(struct run *run, const struct note *note,
			      int fd)
{
	struct leftover *last = NULL;

	if (run->leftovers.count)
		last = &run->leftovers.at[run->leftovers.count - 1];
	switch (note->kind) {
	case NOTE_EXPECT:
		*arena_push(run->arena, &run->leftovers) = (struct leftover){
			.parent_fd = fd,
			.name = arena_strdup(run->arena, note->name),
			.is_directory = note->is_directory,
			.is_work = note->is_work,
			.by_name = note->by_name,
			.is_shared = note->is_shared,
			.lock_fd = -EBADF,
			.announced = note->announced,
		};
		break;
	case NOTE_MADE:
		if (last) {
			last->dev = note->dev;
			last->ino = note->ino;
			last->born = note->born;
			last->lock_fd = fd;
		}
		break;
	case NOTE_VOID:
		if (note->index < run->leftovers.count)
			run->leftovers.at[note->index].is_void = true;
		break;
	case NOTE_HOLD:
		break;
	case NOTE_WATCH:
		run->child_pidfd = fd;
		break;
	}
}

static _Noreturn void janitor_clean(struct run *run)
{
	struct pollfd end = { .fd = run->child_pidfd, .events = POLLIN };
	struct error ignored;
	bool failed = true;

	while (end.fd >= 0 && poll(&end, 1, -1) < 0 && errno == EINTR)
		;
	commit_recover(run);
	/*
	 * Where nobody said who PID 1 is, it may be about to go.  The monitor
	 * leaves to this one, too, what it could not remove.
	 */
	for (int i = 0; i < REMOVE_TRIES && failed; i++) {
		if (i)
			poll(NULL, 0, REMOVE_PAUSE_MS);
		failed = remove_all(run, &ignored) < 0;
	}
	failed |= resources_remove(run, &ignored) < 0;
	_exit(failed);
}

static _Noreturn void janitor_run(struct run *run, int socket)
{
	int keep[RESOURCES_FDS_MOST + COMMIT_FDS_MOST + 1];
	struct error ignored;
	struct note note;
	sigset_t all;
	size_t count;
	int fd;

	sigfillset(&all);
	count = resources_fds(run, keep);
	count += commit_fds(run, keep + count);
	keep[count++] = socket;
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0 || chdir("/") < 0 ||
	    proc_close_fds(-EBADF, 0, keep, count, PROC_FDS_CLOSE, &ignored) < 0 ||
	    proc_wipe_args("sbx-launch", &ignored) < 0)
		_exit(1);
	run->child_pidfd = -EBADF;
	while (note_receive(socket, &note, &fd) > 0)
		janitor_take_note(run, &note, fd);
	janitor_clean(run);
}

static int janitor_start(struct run *run, struct error *err)
{
	const struct proc_clone plain = { .cgroup_fd = -EBADF };
	auto_close int far = -EBADF;
	auto_close int near = -EBADF;
	int ends[2];
	pid_t pid;

	if (run->janitor_socket >= 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_set(err, errno, "socketpair");
	near = ends[0];
	far = ends[1];
	pid = proc_clone(&plain, &run->janitor_pidfd, err);
	if (pid < 0)
		return error_wrap(err, "start the janitor");
	if (pid == 0) {
		close(near);
		janitor_run(run, far);
	}
	/* Not for it to do: it may not have run when the group is killed. */
	setpgid(pid, pid);
	run->janitor = pid;
	run->janitor_socket = take_fd(&near);
	return 0;
}

/* ---- what the monitor calls -------------------------------------------------- */

int janitor_group(struct run *run, struct error *err)
{
	return janitor_start(run, err);
}

int janitor_hold(struct run *run, int fd, struct error *err)
{
	const struct note note = { .kind = NOTE_HOLD };
	int r = janitor_start(run, err);

	return r < 0 ? r : note_send(run, &note, fd, err);
}

int janitor_expect(struct run *run, const struct leftover *what,
		   struct error *err)
{
	struct note note = {
		.kind = NOTE_EXPECT,
		.is_directory = what->is_directory,
		.is_work = what->is_work,
		.by_name = what->by_name,
		.is_shared = what->is_shared,
	};
	struct leftover *leftover;
	struct timespec now;
	int kept, r;

	r = janitor_start(run, err);
	if (r < 0)
		return r;
	if (strlen(what->name) > NAME_MAX)
		return error_set(err, ENAMETOOLONG, "'%s'", what->name);
	/* File systems stamp with the clock's last tick. */
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	note.announced = (uint64_t)now.tv_sec * 1000000000U +
			 (uint64_t)now.tv_nsec;
	snprintf(note.name, sizeof(note.name), "%s", what->name);
	kept = fcntl(what->parent_fd, F_DUPFD_CLOEXEC, 3);
	if (kept < 0)
		return error_set(err, errno, "dup");
	leftover = arena_push(run->arena, &run->leftovers);
	*leftover = *what;
	leftover->name = arena_strdup(run->arena, what->name);
	leftover->parent_fd = kept;
	leftover->lock_fd = -EBADF;
	leftover->announced = note.announced;
	return note_send(run, &note, kept, err);
}

int janitor_made(struct run *run, int lock, struct error *err)
{
	struct leftover *last = &run->leftovers.at[run->leftovers.count - 1];
	struct note note = { .kind = NOTE_MADE };
	struct leftover now = { 0 };
	mode_t type;
	int r = leftover_look(last, &type, &now);

	last->lock_fd = lock < 0 ? -EBADF : lock;
	if (r < 0)
		return error_set(err, -r, "stat '%s'", last->name);
	note.dev = last->dev = now.dev;
	note.ino = last->ino = now.ino;
	note.born = last->born = now.born;
	return note_send(run, &note, last->lock_fd, err);
}

void janitor_forget(struct run *run)
{
	janitor_keep(run, run->leftovers.count - 1);
}

void janitor_keep(struct run *run, size_t index)
{
	const struct note note = { .kind = NOTE_VOID, .index = index };
	struct error ignored;

	run->leftovers.at[index].is_void = true;
	note_send(run, &note, -EBADF, &ignored);
}

int janitor_watch(struct run *run, struct error *err)
{
	const struct note note = { .kind = NOTE_WATCH };

	/* Without a pidfd the end of the socket is the end, or nearly. */
	if (run->janitor_socket < 0 || run->child_pidfd < 0)
		return 0;
	return note_send(run, &note, run->child_pidfd, err);
}

/*
 * End the janitor.  With @waits it is first given the time to do what is left;
 * returns whether it could.
 */
static bool janitor_end(struct run *run, bool waits)
{
	struct error ignored;
	int status = -1;

	/* PID 1 has the other copy, and is gone. */
	close(run->janitor_socket);
	if (waits)
		proc_child_await(run->janitor_pidfd, run->janitor, JANITOR_MS);
	/*
	 * It may be stopped.  Where a filter refuses the signal it ends by
	 * itself, at the end of file.
	 */
	proc_child_signal(run->janitor_pidfd, run->janitor, SIGKILL,
			  &ignored);
	proc_child_wait(run->janitor_pidfd, run->janitor, true, &status, NULL,
			&ignored);
	mem_close_fd(&run->janitor_pidfd);
	run->janitor_socket = -EBADF;
	return status == 0;
}

int janitor_finish(struct run *run, struct error *err)
{
	struct error why, of_group;
	int r, group = 0;

	if (run->janitor_socket < 0)
		return 0;
	r = remove_all(run, &why);
	/* Unless the janitor is in the way, in a group of the launcher's. */
	if (run->cgroup.self_fd < 0)
		group = resources_remove(run, &of_group);
	if (janitor_end(run, r < 0 || group < 0))
		r = 0;
	/* What kept it may have gone; and nobody else comes. */
	group = resources_remove(run, &of_group);
	if (r < 0 || group < 0)
		*err = r < 0 ? why : of_group;
	return r < 0 ? r : group;
}
