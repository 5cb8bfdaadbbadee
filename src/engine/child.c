/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The child: from its first instruction to PID 1's loop.
 *
 * It must not die unnoticed and must not outlive the monitor: the parent
 * death signal is the first thing it asks for, and a socket that is closed
 * tells it that the monitor was gone before that.  A failure is one message
 * to the monitor; nothing of the payload has run then.
 */
#include "engine/child.h"

#include "engine/stages.h"
#include "sys/mountfd.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* Wait until the monitor has published and mapped what it must. */
static int wait_for_go(struct run *run, struct error *err)
{
	struct message message;
	int r;

	if (!run->child_waits)
		return 0;
	r = run_receive(run->child_socket, &message, NULL, err);
	if (r < 0)
		return r;
	/* The monitor failed, and says so itself. */
	if (!r || message.kind != MESSAGE_GO)
		_exit(ERROR_STATUS_LAUNCHER);
	return 0;
}

static int stage_map_ids(struct child *child, struct error *err)
{
	child->procfs = proc_open_procfs(err);
	if (child->procfs < 0)
		return child->procfs;
	mountfd_set_procfs(child->procfs);
	if (wait_for_go(child->run, err) < 0)
		return error_result(err);
	if (identity_map_self(child, err) < 0 ||
	    resources_inside(child, err) < 0)
		return error_result(err);
	return child_is_bwrap(child) ? 0 : verify_namespaces(child, err);
}

/*
 * What is mounted from here on must not appear on the host.  The copy that a
 * new mount namespace has of the host's mounts takes part in propagation both
 * ways, unless another user namespace owns it (mount_namespaces(7)); what is
 * cloned from it later is a slave, too.
 */
static int cut_propagation(const struct child *child, struct error *err)
{
	if (child->run->ids.new_userns ||
	    child->plan->ns[NS_USER].want == NS_WANT_JOIN)
		return 0;
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return error_call(err, errno, "mount", "Failed to make / "
				  "slave");
	return 0;
}

static int stage_gather(struct child *child, struct error *err)
{
	umask(0);
	if (cut_propagation(child, err) < 0)
		return error_result(err);
	if (gather_sources(child, err) < 0)
		return error_result(err);
	return identity_switch(child, err);
}

/* The child's stages, in the order of engine.c's table. */
static int (*const steps[STAGE_COUNT])(struct child *, struct error *) = {
	[STAGE_MAP_IDS] = stage_map_ids,
	[STAGE_GATHER] = stage_gather,
	[STAGE_SWITCH_ROOT] = assemble_root,
	[STAGE_ASSEMBLE] = assemble_ops,
	[STAGE_IDENTITY] = identity_settle,
	[STAGE_CONFINE] = confine_child,
};

static int run_stages(struct child *child, struct error *err)
{
	struct run *run = child->run;

	for (int stage = 0; stage < STAGE_COUNT; stage++) {
		int r;

		if (!steps[stage])
			continue;
		run->progress->stage = stage;
		r = steps[stage](child, err);
		stages_log(run, stage, r < 0 ? err : NULL);
		if (r < 0)
			return r;
	}
	run->progress->stage = STAGE_INIT;
	init_wait_block_fd(run);
	return payload_find(child, err);
}

/* Fork the payload, or be it where no PID 1 is wanted. */
static int start_payload(struct child *child, struct error *err)
{
	pid_t payload;

	/* With a PID 1 it is that one that leads the session. */
	if (child->plan->bwrap.new_session && setsid() < 0)
		return error_call(err, errno, "setsid", "setsid");
	if (!run_has_init(child->run))
		payload_run(child);
	if (init_ready(child->run, err) < 0)
		return error_result(err);
	stages_log(child->run, STAGE_INIT, NULL);
	/*
	 * Both are in one memory until the exec, and this process waits for
	 * it: nothing is copied, and the payload runs at once.  It never
	 * returns to here, and what it changes before (the arena, errno) is
	 * of no meaning to PID 1.
	 */
	/* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork) */
	payload = vfork();
	if (payload < 0)
		return error_call(err, errno, "vfork", "fork the payload");
	if (!payload)
		payload_run(child); /* NOLINT(clang-analyzer-unix.Vfork) */
	init_run(child->run, payload, child->procfs);
}

_Noreturn void child_run(struct run *run)
{
	struct child child = {
		.run = run, .plan = run->plan, .arena = run->arena,
		.sources = run->sources, .root = -EBADF, .procfs = -EBADF,
		.blank = -EBADF, .spares = { [0 ... BLANK_COUNT - 1] = -EBADF },
	};
	struct message failure = { .kind = MESSAGE_ERROR };
	struct error *err = &failure.error;
	struct error ignored;

	/* Nobody is left to tell. */
	if (init_begin(run, err) == -EPIPE)
		_exit(ERROR_STATUS_LAUNCHER);
	stages_log(run, STAGE_SPAWN, NULL);
	if (!err->code && run_stages(&child, err) >= 0)
		start_payload(&child, err);
	if (run->progress->stage == STAGE_INIT)
		stages_log(run, STAGE_INIT, err);
	snprintf(err->stage, sizeof(err->stage), "%s",
		 engine_stage_name((size_t)run->progress->stage));
	run_send(run->child_socket, &failure, &ignored);
	_exit(ERROR_STATUS_LAUNCHER);
}
