/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Namespaces that exist already: bubblewrap's --userns, --userns2, --pidns.
 *
 * The monitor enters the user namespace before the child is made, so the
 * child is born there with every capability of it; the pid namespace counts
 * for children only, so the monitor stays where it is.  A new pid namespace
 * below a joined one cannot be made by the process that joined (pid_namespaces
 * (7)): a go-between is born in the joined one, makes the child there, and
 * the child is given the monitor as its parent.
 */
#include "engine/child.h"

#include "sys/proc.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static int enter_userns(int fd, struct error *err)
{
	if (!setns(fd, CLONE_NEWUSER))
		return 0;
	if (errno == EINVAL)
		return error_set(err, 0, "Joining the specified user namespace "
				 "failed, it might not be a descendant of the "
				 "current user namespace.");
	return error_set(err, errno,
			 "Joining specified user namespace failed");
}

int join_before(struct run *run, struct error *err)
{
	const struct plan_ns *user = &run->plan->ns[NS_USER];
	const struct plan_ns *pid = &run->plan->ns[NS_PID];

	if (user->want == NS_WANT_JOIN && enter_userns(user->fd, err) < 0)
		return error_result(err);
	if (pid->want == NS_WANT_JOIN && setns(pid->fd, CLONE_NEWPID) < 0)
		return error_set(err, errno, "Setting pidns failed");
	return 0;
}

/* In the go-between: make the child as the monitor's, say so, and be gone. */
static _Noreturn void make_child(struct run *run, struct proc_clone *args)
{
	struct message hello = { .kind = MESSAGE_BORN };
	struct message failure = { .kind = MESSAGE_ERROR };
	struct error *err = &failure.error;
	int pidfd = -EBADF;
	pid_t child;

	args->flags |= CLONE_NEWPID | CLONE_PARENT;
	child = proc_clone(args, &pidfd, err);
	if (!child && run_send(run->child_socket, &hello, err) >= 0)
		child_run(run);
	if (child < 0)
		run_send(run->child_socket, &failure, &hello.error);
	_exit(child < 0 ? ERROR_STATUS_LAUNCHER : 0);
}

/* Make the child in a new pid namespace below the joined one. */
int join_spawn(struct run *run, struct proc_clone *args, struct error *err)
{
	struct proc_clone plain = { .cgroup_fd = -EBADF };
	struct message message;
	struct error ignored;
	int pidfd, status, r;
	pid_t sender = 0, between = proc_clone(&plain, &pidfd, err);

	if (between < 0)
		return between;
	if (!between)
		make_child(run, args);
	r = run_receive(run->monitor_socket, &message, &sender, err);
	mem_close_fd(&pidfd);
	waitpid(between, &status, 0);
	if (r > 0 && message.kind == MESSAGE_ERROR)
		*err = message.error;
	if (r <= 0 || message.kind != MESSAGE_BORN)
		return r < 0 ? r : message.kind == MESSAGE_ERROR ?
		       error_result(err) :
		       error_set(err, ECHILD, "make the child");
	run->child = sender;
	r = proc_pidfd_open(run->child, &ignored);
	run->child_pidfd = r < 0 ? -EBADF : r;
	return 0;
}

int join_second(struct child *child, struct error *err)
{
	int fd = child->plan->bwrap.userns2_fd;

	if (fd >= 0 && setns(fd, CLONE_NEWUSER) < 0)
		return error_set(err, errno, "Setting userns2 failed");
	return 0;
}

/* In a joined user namespace the ids are those it maps: --uid, --gid. */
int join_ids(struct child *child, struct error *err)
{
	const struct plan_ids *ids = &child->plan->ids;
	const struct run_ids *started = &child->run->ids;

	if (child->plan->ns[NS_USER].want != NS_WANT_JOIN)
		return 0;
	if (ids->has_gid && ids->gid != started->host_gid &&
	    setgid(ids->gid) < 0)
		return error_set(err, errno, "unable to switch to gid %u",
				 ids->gid);
	if (ids->has_uid && ids->uid != started->host_uid &&
	    setuid(ids->uid) < 0)
		return error_set(err, errno, "unable to switch to uid %u",
				 ids->uid);
	return 0;
}
