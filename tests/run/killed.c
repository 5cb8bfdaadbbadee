/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whoever of a run is killed, told to end or stopped, at whatever moment:
 * the run ends, and nothing of it is left on the host.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"
#include "harness/tree.h"

/* The members of a run; the janitor is there only when it has work. */
enum member { MONITOR, FIRST, PAYLOAD, JANITOR };

/* A line of @pid's status behind the name; "" when it is gone meanwhile. */
static const char *status_line(pid_t pid, const char *name)
{
	FILE *file = fopen(arena_format("/proc/%d/status", pid), "re");
	char line[256];
	const char *found = "";

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			found = arena_format("%s", line + strlen(name));
	if (file)
		fclose(file);
	return found;
}

/* How many pid namespaces below the test's @pid is; -1: it is gone. */
static int depth_of(pid_t pid)
{
	const char *ids = status_line(pid, "NSpid:");
	int depth = -1;

	for (; *ids; ids++)
		depth += *ids == '\t';
	return depth;
}

static pid_t parent_of(pid_t pid)
{
	return atoi(status_line(pid, "PPid:"));
}

/* 0: not there at the moment. */
static pid_t find(pid_t monitor, enum member member)
{
	if (member == MONITOR)
		return monitor;
	for (const pid_t *pid = host_descendants(); *pid; pid++) {
		pid_t parent = parent_of(*pid);

		if (member == FIRST && parent == monitor && depth_of(*pid) > 0)
			return *pid;
		if (member == JANITOR && parent == monitor &&
		    depth_of(*pid) == 0)
			return *pid;
		if (member == PAYLOAD && parent_of(parent) == monitor &&
		    depth_of(*pid) > 0)
			return *pid;
	}
	return 0;
}

/* Every kind of thing that a run puts on the host. */
static struct box *full_box(void)
{
	struct box *box = box_make();
	const char *upper = path_in(box->top, "upper");

	directory_make(upper, 0700);
	file_write(path_in(box->work, "file"), "file\n");
	box_profile(box, "mode = overlay\nupper = %s\nprotect = held\n"
			 "protect = deep/held\n"
			 "[limits]\ngrace = 200ms\noutput = 1m\n",
		    box_quoted(upper));
	/* overlayfs gives the upper layer a number, once. */
	expect_exit(BOX_SH(box, "true"), 0);
	return box;
}

/* Some processes that would go on for a while, deaf to TERM. */
#define LONG_LIFE "trap '' TERM HUP; setsid sleep 99 & sleep 98 & " \
		  "echo on; sleep 97; sleep 96"

static void expect_nothing_left(struct box *box, const struct tree *before)
{
	box_expect_clean(box);
	/* The janitor needs a moment after the last process has gone. */
	for (int i = 0; i < 1000; i++) {
		if (!*tree_changes(before, tree_read(box->top, TREE_CONTENT)))
			return;
		usleep(20000);
	}
	expect_tree_unchanged(before, box->top, TREE_CONTENT);
}

static struct process *start(struct box *box)
{
	return process_start(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c", LONG_LIFE) });
}

/* ---- killed while it runs ------------------------------------------------------------------ */

static void kill_while_it_runs(enum member member, int exit)
{
	struct box *box = full_box();
	const struct tree *before = tree_read(box->top, TREE_CONTENT);
	struct process *p = start(box);
	const struct outcome *o;
	pid_t victim;

	cr_assert(process_await(p, "on\n"));
	victim = find(process_pid(p), member);
	cr_assert_neq(victim, 0);
	cr_assert_eq(kill(victim, SIGKILL), 0);
	o = process_finish(p);
	cr_expect(!o->timed_out);
	cr_expect_eq(o->exit, exit, "%s", outcome_describe(o));
	expect_nothing_left(box, before);
}

Test(killed, the_monitor)
{
	kill_while_it_runs(MONITOR, 128 + SIGKILL);
}

Test(killed, pid_1)
{
	kill_while_it_runs(FIRST, 128 + SIGKILL);
}

Test(killed, the_command)
{
	kill_while_it_runs(PAYLOAD, 128 + SIGKILL);
}

/* A run does without its janitor, and ends as ever. */
Test(killed, the_janitor)
{
	struct box *box = full_box();
	const struct tree *before = tree_read(box->top, TREE_CONTENT);
	struct process *p = start(box);

	cr_assert(process_await(p, "on\n"));
	cr_assert_eq(kill(find(process_pid(p), JANITOR), SIGKILL), 0);
	usleep(100000);
	process_signal(p, SIGTERM);
	expect_exit(process_finish(p), 128 + SIGKILL);
	expect_nothing_left(box, before);
}

Test(killed, the_monitors_process_group)
{
	struct box *box = full_box();
	const struct tree *before = tree_read(box->top, TREE_CONTENT);
	struct process *p = start(box);

	cr_assert(process_await(p, "on\n"));
	cr_assert_eq(kill(-process_pid(p), SIGKILL), 0);
	process_finish(p);
	expect_nothing_left(box, before);
}

/* The next run finds nothing of this one in its way. */
Test(killed, and_started_again)
{
	struct box *box = full_box();

	for (int i = 0; i < 3; i++) {
		struct process *p = start(box);

		if (!process_await(p, "on\n"))
			harness_fail("round %d: %s", i,
				     outcome_describe(process_finish(p)));
		process_signal(p, SIGKILL);
		process_finish(p);
		box_expect_clean(box);
	}
	expect_exit(BOX_SH(box, "cat file; exit 5"), 5);
}

Test(janitor, has_nothing_but_its_socket_and_the_locks)
{
	struct box *box = full_box();
	struct process *p = start(box);
	struct dirent *entry;
	pid_t janitor;
	DIR *fds;
	int count = 0;

	cr_assert(process_await(p, "on\n"));
	janitor = find(process_pid(p), JANITOR);
	cr_assert_neq(janitor, 0);
	cr_expect_eq(getpgid(janitor), janitor);
	fds = opendir(arena_format("/proc/%d/fd", janitor));
	cr_assert(fds);
	while ((entry = readdir(fds))) {
		char target[256] = "";

		if (readlinkat(dirfd(fds), entry->d_name, target,
			       sizeof(target) - 1) < 0)
			continue;
		count++;
		cr_expect(!strncmp(target, "socket:", 7) ||
			  strstr(target, "pidfd") ||
			  !strncmp(target, box->top, strlen(box->top)),
			  "%s -> %s", entry->d_name, target);
	}
	closedir(fds);
	cr_expect_gt(count, 0);
	cr_expect_str_eq(file_read(arena_format("/proc/%d/environ", janitor),
				   NULL), "");
	process_signal(p, SIGKILL);
	process_finish(p);
	box_expect_clean(box);
}

/* ---- at any moment ------------------------------------------------------------------------------- */

/* Moments grow longer through a launch, and beyond it. */
static void strike(struct box *box, enum member member, int number, int round)
{
	struct process *p = start(box);
	pid_t victim;
	unsigned int moment = (unsigned int)(round % 20 * 1700 +
					     rand() % 1700);

	usleep(moment);
	victim = find(process_pid(p), member);
	/* Not there yet: then it is the launcher that gets it. */
	if (!victim || (member == PAYLOAD && number == SIGTERM))
		victim = process_pid(p);
	kill(victim, number);
	if (number == SIGSTOP) {
		usleep(20000);
		/*
		 * What is stopped can be killed, and can go on, before and
		 * after.  (Stopped before its first instruction it knows
		 * nothing of the monitor's end until it goes on.)
		 */
		if (round % 2)
			kill(victim, SIGCONT);
		process_signal(p, SIGKILL);
		if (victim != process_pid(p))
			kill(victim, SIGCONT);
	} else if (number == SIGTERM && victim != process_pid(p)) {
		/* PID 1 and the janitor do not listen. */
		usleep(5000);
		process_signal(p, SIGTERM);
	} else if (member == JANITOR) {
		process_signal(p, SIGTERM);
	}
	process_finish(p);
}

static void strike_often(enum member member, int number)
{
	struct box *box = full_box();
	const struct tree *before = tree_read(box->top, TREE_CONTENT);

	/* SBX_THOROUGH: as many as it takes to trust it. */
	int rounds = getenv("SBX_THOROUGH") ? 100 : 20;

	srand((unsigned int)getpid());
	for (int round = 0; round < rounds; round++)
		strike(box, member, number, round);
	expect_nothing_left(box, before);
}

Test(any_moment, sigkill_of_the_monitor)
{
	strike_often(MONITOR, SIGKILL);
}

Test(any_moment, sigkill_of_pid_1)
{
	strike_often(FIRST, SIGKILL);
}

Test(any_moment, sigkill_of_the_command)
{
	strike_often(PAYLOAD, SIGKILL);
}

Test(any_moment, sigkill_of_the_janitor)
{
	strike_often(JANITOR, SIGKILL);
}

Test(any_moment, sigterm_of_the_monitor)
{
	strike_often(MONITOR, SIGTERM);
}

Test(any_moment, sigterm_of_pid_1)
{
	strike_often(FIRST, SIGTERM);
}

Test(any_moment, sigstop_of_the_monitor)
{
	strike_often(MONITOR, SIGSTOP);
}

Test(any_moment, sigstop_of_pid_1)
{
	strike_often(FIRST, SIGSTOP);
}

Test(any_moment, sigstop_of_the_command)
{
	strike_often(PAYLOAD, SIGSTOP);
}
