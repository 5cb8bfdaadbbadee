/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A commit that is killed at each of its steps: what there is afterwards is
 * what was before, or all of the changes.
 *
 * The launcher is run under ptrace(2) up to its Nth system call that changes
 * something, from the moment on at which it begins to prepare the commit.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"
#include "harness/tree.h"

struct place {
	struct box *box;
	const char *upper, *stage;
};

static struct place make_place(void)
{
	struct place place = { .box = box_make() };
	const char *work = place.box->work;

	place.stage = path_in(place.box->top, ".work.sbx-commit");
	file_write(path_in(work, "changed"), "before\n");
	file_write(path_in(work, "deleted"), "before\n");
	directory_make(path_in(work, "dir"), 0755);
	file_write(path_in(work, "dir/old"), "before\n");
	directory_make(path_in(work, "closed"), 0555);
	place.upper = box_overlay(place.box, "commit = on-success\n");
	return place;
}

/* Each kind of step. */
#define CHANGE_ALL "echo x >>changed; rm deleted; rm -r dir; mkdir dir; " \
		   "echo x >dir/new; chmod 755 closed; echo x >closed/in; " \
		   "chmod 555 closed"

/* Either nothing has happened, or everything; and nothing is left. */
static const struct tree *tree_before, *tree_after;

static void make_trees(void)
{
	struct place place = make_place();

	tree_before = tree_read(place.box->work, TREE_CONTENT);
	expect_exit(BOX_SH(place.box, CHANGE_ALL), 0);
	tree_after = tree_read(place.box->work, TREE_CONTENT);
	cr_assert(*tree_changes(tree_before, tree_after));
	cr_assert(!file_exists(place.stage));
}

/* 1: all has landed, 0: nothing, -1: neither. */
static int state_of(const struct place *place)
{
	const struct tree *now = tree_read(place->box->work, TREE_CONTENT);

	if (!*tree_changes(tree_after, now))
		return 1;
	return *tree_changes(tree_before, now) ? -1 : 0;
}

static bool is_tidy(const struct place *place)
{
	return !file_exists(place->stage) &&
	       !file_exists(path_in(place->upper, "changed")) &&
	       !file_exists(path_in(place->box->top,
				    ".upper.sbx-commit-work"));
}

/* ---- one system call after the other -------------------------------------------------------- */

static bool changes_something(const struct __ptrace_syscall_info *call)
{
	switch (call->entry.nr) {
	case SYS_openat:
		return call->entry.args[2] & O_CREAT;
	case SYS_mkdirat:
	case SYS_symlinkat:
	case SYS_renameat:
	case SYS_renameat2:
	case SYS_unlinkat:
	case SYS_write:
	case SYS_pwrite64:
	case SYS_ftruncate:
	case SYS_fchmod:
	case SYS_fchmodat:
	case SYS_utimensat:
	case SYS_fsync:
	case SYS_syncfs:
		return true;
	default:
		return false;
	}
}

static pid_t start_traced(const struct place *place)
{
	pid_t pid = fork();
	int status, null;

	if (!pid) {
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execl(sbx_launch(), "sbx-launch", "--profile",
		      place->box->profile, "--", "sh", "-c", CHANGE_ALL,
		      NULL);
		_exit(99);
	}
	cr_assert_gt(pid, 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSTOPPED(status));
	cr_assert_eq(ptrace(PTRACE_SETOPTIONS, pid, NULL,
			    PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL), 0);
	return pid;
}

/*
 * Up to the call number @nth that changes something, which is not carried out;
 * true if it came to that.  Otherwise the launcher has ended with
 * *@ret_status, after *@ret_count such calls.
 */
static bool run_until(const struct place *place, pid_t pid, int nth,
		      int *ret_count, int *ret_status)
{
	int signal = 0, count = 0;

	for (;;) {
		struct __ptrace_syscall_info call;

		cr_assert_eq(ptrace(PTRACE_SYSCALL, pid, NULL,
				    (long)signal), 0);
		cr_assert_eq(waitpid(pid, ret_status, 0), pid);
		*ret_count = count;
		if (!WIFSTOPPED(*ret_status))
			return false;
		signal = WSTOPSIG(*ret_status);
		if (signal != (SIGTRAP | 0x80))
			continue;
		signal = 0;
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(call),
			   &call) <= 0 ||
		    call.op != PTRACE_SYSCALL_INFO_ENTRY ||
		    !changes_something(&call) ||
		    (!count && !file_exists(place->stage)))
			continue;
		if (++count == nth)
			return true;
	}
}

/* The janitor is all that it has at that time. */
static void kill_children_of(pid_t pid)
{
	const char *list = host_process_file(pid, arena_format(
		"task/%d/children", pid), NULL);
	char *end;

	for (long child; (child = strtol(list, &end, 10)) > 0; list = end)
		kill((pid_t)child, SIGKILL);
}

static void kill_at(int nth, bool with_janitor, int *landed)
{
	struct place place = make_place();
	int count, status, state;
	pid_t pid = start_traced(&place);

	cr_assert(run_until(&place, pid, nth, &count, &status));
	if (with_janitor)
		kill_children_of(pid);
	kill(pid, SIGKILL);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	if (with_janitor)
		expect_exit(BOX_SH(place.box, "cat changed"), 0);
	for (int i = 0; i < 2000 && !is_tidy(&place); i++)
		usleep(10000);
	state = state_of(&place);
	cr_expect(is_tidy(&place), "call %d%s: not tidy", nth,
		  with_janitor ? ", and the janitor" : "");
	cr_expect_neq(state, -1, "call %d%s: half of it", nth,
		      with_janitor ? ", and the janitor" : "");
	box_expect_clean(place.box);
	landed[state > 0]++;
	chmod(path_in(place.box->work, "closed"), 0700);
}

static int count_calls(void)
{
	struct place place = make_place();
	int count, status;
	pid_t pid = start_traced(&place);

	cr_assert(!run_until(&place, pid, -1, &count, &status));
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status));
	cr_expect_eq(state_of(&place), 1);
	return count;
}

/* Every fourth one in each way; with SBX_THOROUGH all of them. */
Test(commit_killed, at_every_step)
{
	int calls, landed[2] = { 0 };
	const char *thorough = getenv("SBX_THOROUGH");
	bool is_thorough = thorough && *thorough;

	make_trees();
	calls = count_calls();
	cr_expect_gt(calls, 20, "%d", calls);
	for (int nth = 1; nth <= calls; nth++) {
		if (is_thorough || nth % 4 == 1)
			kill_at(nth, true, landed);
		if (is_thorough || nth % 4 == 3)
			kill_at(nth, false, landed);
	}
	cr_expect_gt(landed[0], 0);
	cr_expect_gt(landed[1], 0);
}

/* Once begun it goes on: whoever wants the run to end has come too late. */
Test(commit_killed, told_to_end_and_stopped_in_the_middle)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGSTOP };

	make_trees();
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct place place = make_place();
		int count, status;
		pid_t pid = start_traced(&place);

		cr_assert(run_until(&place, pid, 12, &count, &status));
		kill(pid, signals[i]);
		ptrace(PTRACE_DETACH, pid, NULL, NULL);
		usleep(20000);
		kill(pid, SIGCONT);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_expect(WIFEXITED(status) && !WEXITSTATUS(status), "%d: %x",
			  signals[i], status);
		cr_expect_eq(state_of(&place), 1, "%d", signals[i]);
		cr_expect(is_tidy(&place));
		box_expect_clean(place.box);
		chmod(path_in(place.box->work, "closed"), 0700);
	}
}

/* While the command runs, and around its end. */
Test(commit_killed, at_any_moment)
{
	make_trees();
	for (int round = 0; round < 8; round++) {
		struct place place = make_place();
		struct process *p = process_start(&(struct program){
			.argv = BOX_ARGV(place.box, "sh", "-c", CHANGE_ALL) });

		usleep((unsigned int)round * 6000);
		process_signal(p, SIGKILL);
		process_finish(p);
		box_expect_clean(place.box);
		for (int i = 0; i < 2000 && !is_tidy(&place); i++)
			usleep(10000);
		cr_expect(is_tidy(&place), "round %d", round);
		cr_expect_neq(state_of(&place), -1, "round %d", round);
		chmod(path_in(place.box->work, "closed"), 0700);
	}
}
