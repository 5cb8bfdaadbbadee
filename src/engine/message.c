/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The messages between the processes of a run: one struct message a packet,
 * cut behind the member that its kind uses, so that thousands of skipped
 * operations fit into the socket's buffer.
 */
#include "engine/run.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#define END_OF(member) \
	(offsetof(struct message, member) + \
	 sizeof(((struct message *)NULL)->member))

/* Bytes on the wire. */
static const size_t message_sizes[] = {
	[MESSAGE_ERROR] = END_OF(error),
	[MESSAGE_SKIPPED] = END_OF(index),
	[MESSAGE_BORN] = END_OF(kind),
	[MESSAGE_PAYLOAD] = END_OF(kind),
	[MESSAGE_EXITED] = END_OF(usage),
	[MESSAGE_GO] = END_OF(kind),
	[MESSAGE_SIGNAL] = END_OF(to_group),
};
static_assert(ARRAY_SIZE(message_sizes) == MESSAGE_COUNT,
	      "a size for each kind");

bool run_has_pid_namespace(const struct run *run)
{
	const struct plan_ns *ns = &run->plan->ns[NS_PID];

	return ns->want == NS_WANT_NEW || ns->also_new;
}

bool run_has_init(const struct run *run)
{
	const struct plan *plan = run->plan;

	if (plan->rules == PLAN_RULES_PROFILE)
		return true;
	return !plan->bwrap.as_pid_1 &&
	       (run_has_pid_namespace(run) || plan->bwrap.lock_files.count ||
		plan->bwrap.sync_fd >= 0);
}

bool run_dies_with_monitor(const struct run *run)
{
	return run->plan->rules == PLAN_RULES_PROFILE ||
	       run->plan->bwrap.die_with_parent;
}

int run_connect(struct run *run, struct error *err)
{
	int ends[2];
	auto_close int monitor = -EBADF;
	auto_close int child = -EBADF;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_call(err, errno, "socketpair", "socketpair");
	monitor = ends[0];
	child = ends[1];
	/* The kernel then adds the sender's pid, as the reader sees it. */
	if (setsockopt(monitor, SOL_SOCKET, SO_PASSCRED, &(int){1},
		       sizeof(int)) < 0)
		return error_set(err, errno, "SO_PASSCRED");
	run->monitor_socket = take_fd(&monitor);
	run->child_socket = take_fd(&child);
	return 0;
}

int run_send(int socket, const struct message *message, struct error *err)
{
	int flags = MSG_NOSIGNAL;
	ssize_t sent;

	/*
	 * Whoever forwards a signal has others to listen to, and the reader
	 * may be stopped.
	 */
	if (message->kind == MESSAGE_SIGNAL)
		flags |= MSG_DONTWAIT;
	do {
		sent = send(socket, message, message_sizes[message->kind],
			    flags);
	} while (sent < 0 && errno == EINTR);
	/* Reset: gone without having read everything. */
	if (sent < 0)
		return error_set(err, errno == ECONNRESET ? EPIPE : errno,
				 "write to the launcher's socket");
	return 0;
}

/* The sender's pid, or 0. */
static pid_t message_sender(struct msghdr *header)
{
	for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part;
	     part = CMSG_NXTHDR(header, part)) {
		struct ucred who;

		if (part->cmsg_level != SOL_SOCKET ||
		    part->cmsg_type != SCM_CREDENTIALS)
			continue;
		memcpy(&who, CMSG_DATA(part), sizeof(who));
		return who.pid;
	}
	return 0;
}

static void message_end_strings(struct error *error)
{
	error->stage[sizeof(error->stage) - 1] = '\0';
	error->reason[sizeof(error->reason) - 1] = '\0';
	error->call[sizeof(error->call) - 1] = '\0';
	error->text[sizeof(error->text) - 1] = '\0';
	error->remedy[sizeof(error->remedy) - 1] = '\0';
}

int run_receive(int socket, struct message *ret_message, pid_t *ret_sender,
		struct error *err)
{
	/* Room for the pid and for no descriptor. */
	alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred))];
	struct message message;
	struct iovec part = { &message, sizeof(message) };
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = ret_sender ? control : NULL,
		.msg_controllen = ret_sender ? sizeof(control) : 0,
	};
	ssize_t size;

	/*
	 * Reset is told once, when the other side is gone without having read
	 * everything; what it has sent is still there.
	 */
	do {
		size = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
	} while (size < 0 && (errno == EINTR || errno == ECONNRESET));
	if (size < 0)
		return error_set(err, errno,
				 "read from the launcher's socket");
	if (size == 0)
		return 0;
	if ((size_t)size < sizeof(message.kind) ||
	    (unsigned)message.kind >= MESSAGE_COUNT ||
	    (size_t)size != message_sizes[message.kind])
		return error_set(err, EBADMSG,
				 "broken message on the launcher's socket");
	if (message.kind == MESSAGE_ERROR)
		message_end_strings(&message.error);
	if (ret_sender)
		*ret_sender = message_sender(&header);
	memcpy(ret_message, &message, (size_t)size);
	return 1;
}
