/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the caller has a say: before the command starts (--block-fd), and
 * before its changes are committed (commit-fd).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"

enum { GATE_FD = 7 };

struct gate {
	struct box *box;
	const char *upper, *list, *status;
	int near;            /* the test's end */
	struct process *run; /* it has the other one */
};

static struct gate make_gate(void)
{
	struct gate gate = { .box = box_make() };

	gate.list = path_in(gate.box->conf, "list");
	gate.status = path_in(gate.box->conf, "status");
	file_write(path_in(gate.box->work, "old"), "old\n");
	gate.upper = box_overlay(gate.box, arena_format("commit = on-success\n"
		    "[report]\nchanges-file = %s\nstatus-file = %s\n",
		    gate.list, gate.status));
	return gate;
}

static void start(struct gate *gate, const char *option, const char *value,
		  const char *program)
{
	int ends[2];

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	gate->near = ends[1];
	gate->run = process_start(&(struct program){
		.argv = ARGV(sbx_launch(), "--profile", gate->box->profile,
			     option, value, "--", "sh", "-c", program),
		.fds = { { ends[0], GATE_FD } } });
	close(ends[0]);
}

/* Until the file @path has @text in it. */
static bool await(const char *path, const char *text)
{
	for (int i = 0; i < 1000; i++) {
		if (file_exists(path) && strstr(file_read(path, NULL), text))
			return true;
		usleep(20000);
	}
	return false;
}

static bool is_new_there(const struct gate *gate)
{
	return file_exists(path_in(gate->box->work, "new"));
}

/* ---- before the changes land -------------------------------------------------------------- */

static void start_commit(struct gate *gate)
{
	*gate = make_gate();
	start(gate, "--set", "workspace.commit-fd=7", "echo x >new; rm old");
	cr_assert(await(gate->status, "{\"event\":\"changes\",\"added\":1,"
			"\"modified\":0,\"deleted\":1,\"retyped\":0}\n"));
	/* All that there is to look at is there. */
	expect_file(gate->list,
		    "{\"path\":\"new\",\"change\":\"added\",\"type\":\"file\","
		    "\"size\":2}\n{\"path\":\"old\",\"change\":\"deleted\","
		    "\"type\":\"file\",\"size\":4}\n");
	expect_file(path_in(gate->upper, "new"), "x\n");
	usleep(50000);
	cr_expect(!is_new_there(gate));
	cr_expect(file_exists(path_in(gate->box->work, "old")));
}

static void expect_end(struct gate *gate, int exit, bool committed)
{
	expect_exit(process_finish(gate->run), exit);
	cr_expect_eq(is_new_there(gate), committed);
	cr_expect_neq(file_exists(path_in(gate->box->work, "old")),
		      committed);
	cr_expect(!file_exists(path_in(gate->upper, "new")));
	cr_expect(strstr(file_read(gate->status, NULL), committed ?
			 "\"committed\":true" : "\"committed\":false"),
		  "%s", file_read(gate->status, NULL));
}

Test(commit_fd, a_byte_is_a_yes)
{
	struct gate gate;

	start_commit(&gate);
	cr_assert_eq(write(gate.near, "", 1), 1);
	expect_end(&gate, 0, true);
	close(gate.near);
	box_expect_clean(gate.box);
}

Test(commit_fd, the_end_of_the_file_is_a_no)
{
	struct gate gate;

	start_commit(&gate);
	close(gate.near);
	expect_end(&gate, 0, false);
	box_expect_clean(gate.box);
}

Test(commit_fd, a_signal_is_a_no)
{
	struct gate gate;

	start_commit(&gate);
	process_signal(gate.run, SIGTERM);
	expect_end(&gate, 0, false);
	close(gate.near);
}

Test(commit_fd, a_killed_launcher_is_a_no)
{
	struct gate gate;

	start_commit(&gate);
	process_signal(gate.run, SIGKILL);
	process_finish(gate.run);
	close(gate.near);
	cr_expect(!is_new_there(&gate));
	box_expect_clean(gate.box);
	cr_expect(!file_exists(path_in(gate.upper, "new")));
}

Test(commit_fd, is_not_asked_after_a_failure)
{
	struct gate gate = make_gate();

	start(&gate, "--set", "workspace.commit-fd=7", "echo x >new; exit 4");
	expect_exit(process_finish(gate.run), 4);
	cr_expect(!is_new_there(&gate));
	cr_expect(!strstr(file_read(gate.status, NULL), "\"changes\""));
	close(gate.near);
}

Test(commit_fd, is_none_of_the_payloads)
{
	struct gate gate = make_gate();
	const struct outcome *o;

	start(&gate, "--set", "workspace.commit-fd=7",
	      "ls -l /proc/self/fd | grep -c pipe; test ! -e /proc/self/fd/7");
	cr_assert(await(gate.status, "\"changes\""));
	close(gate.near);
	o = process_finish(gate.run);
	expect_exit(o, 0);
	/* A number that nobody opened. */
	box_expect_refused(gate.box, program_run(&(struct program){
			.argv = ARGV(sbx_launch(), "--profile",
				     gate.box->profile, "--set",
				     "workspace.commit-fd=9", "--",
				     BOX_MARK) }),
			   125, "commit-fd", "descriptor 9", NULL);
	/* One that nothing can be read from: it would be waited for in vain. */
	box_expect_refused(gate.box, program_run(&(struct program){
			.argv = ARGV("sh", "-c", "exec \"$@\" 9>/dev/null",
				     "sh", sbx_launch(), "--profile",
				     gate.box->profile, "--set",
				     "workspace.commit-fd=9", "--",
				     BOX_MARK) }),
			   125, "commit-fd", "descriptor 9", "reading", NULL);
}

/* ---- before the command starts ------------------------------------------------------------- */

/* The sandbox is set up, and the caller can look at it from outside. */
Test(block_fd, holds_the_command_after_the_set_up)
{
	struct gate gate = make_gate();
	const struct outcome *o;
	const char *look = "";
	pid_t child = 0;

	start(&gate, "--block-fd", "7", "echo ran; true >new");
	for (int i = 0; i < 1000 && !strstr(look, gate.box->work); i++) {
		usleep(20000);
		for (const pid_t *pid = host_descendants(); *pid; pid++) {
			look = host_process_file(*pid, "mountinfo", NULL);
			child = *pid;
			if (strstr(look, " / / ") &&
			    strstr(look, gate.box->work) &&
			    strstr(look, "overlay overlay"))
				break;
			look = "";
		}
	}
	cr_assert_neq(child, 0);
	cr_expect(strstr(look, "overlay overlay"), "%s", look);
	usleep(50000);
	cr_expect_str_eq(process_output(gate.run), "");
	cr_expect(!file_exists(path_in(gate.upper, "new")));
	cr_assert_eq(write(gate.near, "", 1), 1);
	o = process_finish(gate.run);
	expect_exit(o, 0);
	expect_out(o, "ran\n");
	cr_expect(is_new_there(&gate));
	close(gate.near);
	box_expect_clean(gate.box);
}

/* A caller that does not agree ends the launcher instead. */
Test(block_fd, a_caller_that_does_not_agree)
{
	static const int signals[] = { SIGTERM, SIGKILL };

	for (size_t i = 0; i < 2; i++) {
		struct gate gate = make_gate();
		const struct outcome *o;

		start(&gate, "--block-fd", "7", "echo ran; true >new");
		usleep(300000);
		process_signal(gate.run, signals[i]);
		o = process_finish(gate.run);
		cr_expect_eq(o->exit, 128 + signals[i], "%s",
			     outcome_describe(o));
		expect_out(o, "");
		cr_expect(!is_new_there(&gate));
		close(gate.near);
		box_expect_clean(gate.box);
	}
}
