/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The harness itself: a tool that says yes to everything proves nothing. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/program.h"
#include "harness/scratch.h"
#include "harness/tree.h"

Test(program, catches_output_and_status)
{
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV("sh", "-c", "cat; echo out; echo err >&2; exit 7"),
		.input = "in\n" });

	expect_exit(o, 7);
	expect_out(o, "in\nout\n");
	expect_err(o, "err\n");
	cr_expect_eq(o->signal, 0);
}

Test(program, tells_a_signal_from_a_status)
{
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV("sh", "-c", "kill -USR1 $$") });

	expect_exit(o, 128 + SIGUSR1);
	cr_expect_eq(o->signal, SIGUSR1);
}

Test(program, large_input_and_output_pass)
{
	size_t length = 3 << 20;
	char *data = arena_take(length);
	const struct outcome *o;

	memset(data, 'x', length);
	o = program_run(&(struct program){
		.argv = ARGV("cat"), .input = data, .input_length = length });
	expect_exit(o, 0);
	cr_expect_eq(o->out_length, length);
}

Test(program, ends_what_takes_too_long_and_all_it_started)
{
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV("sh", "-c", "echo first; setsid sleep 99 & "
					 "trap '' TERM; sleep 99; sleep 99"),
		.time_limit = 300 });

	cr_expect(o->timed_out);
	cr_expect_eq(o->signal, SIGKILL);
	expect_out(o, "first\n");
	cr_expect_eq(*host_descendants(), 0);
}

Test(program, tells_who_holds_the_output_open)
{
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV("sh", "-c", "sleep 99 & exit 3"),
		.time_limit = 300 });

	cr_expect(o->held_open);
	expect_exit(o, 3);
	cr_expect_eq(*host_descendants(), 0);
}

Test(program, environment_directory_and_descriptors)
{
	const char *dir = scratch_make();
	int fd = open(dir, O_RDONLY);
	const struct outcome *o;

	o = program_run(&(struct program){
		.argv = ARGV("sh", "-c",
			     "echo $A $B; pwd -P; ls /proc/self/fd"),
		.env = ARGV("A=1", "B=2", "PATH=/usr/bin:/bin"),
		.set = ARGV("B=3"), .cwd = dir,
		.fds = { { fd, 9 } } });
	expect_exit(o, 0);
	/* ls has one more, for the directory it reads. */
	expect_out(o, arena_format("1 3\n%s\n0\n1\n2\n3\n9\n", dir));
}

Test(program, closed_stdio)
{
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV("sh", "-c", "test -e /proc/self/fd/0 || echo no"),
		.fds = { { -1, 0 } } });

	expect_out(o, "no\n");
}

static int count_environment(const void *data)
{
	CHECK(!strcmp(getenv("ONLY"), data));
	CHECK(getppid() != 1);
	printf("fine\n");
	return 5;
}

Test(program, function)
{
	const struct outcome *o = program_run(&(struct program){
		.call = count_environment, .data = "this",
		.env = ARGV("ONLY=this") });

	expect_exit(o, 5);
	expect_out(o, "fine\n");
	o = program_run(&(struct program){
		.call = count_environment, .data = "other",
		.env = ARGV("ONLY=this") });
	expect_exit(o, 1);
	expect_err_has(o, "not so: !strcmp");
}

static int ignore_usr1(const void *data)
{
	signal(SIGUSR1, SIG_IGN);
	return 0;
}

Test(program, function_before_exec)
{
	const struct outcome *o = program_run(&(struct program){
		.call = ignore_usr1,
		.argv = ARGV("sh", "-c", "kill -USR1 $$; echo on") });

	expect_exit(o, 0);
	expect_out(o, "on\n");
}

Test(program, ordinary_user)
{
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV("sh", "-c", "id -u; id -G"), .as_user = true });
	unsigned int id = identity_user();

	expect_out(o, arena_format("%u\n%u\n", id, id));
	if (identity_self() != IDENTITY_UNSHARE)
		cr_expect_neq(id, 0);
}

Test(program, user_namespace)
{
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV("sh", "-c",
			     "mount -t tmpfs none /mnt && id -u && "
			     "ls /mnt"),
		.as_user = true, .unshare = CLONE_NEWUSER | CLONE_NEWNS });

	expect_exit(o, 0);
	expect_out(o, "0\n");
}

Test(program, terminal)
{
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV("sh", "-c",
			     "test -t 0 && test -t 2 && echo </dev/tty tty"),
		.pty = true });

	expect_exit(o, 0);
	expect_out(o, "tty\r\n");
}

Test(program, in_steps)
{
	struct process *p = process_start(&(struct program){
		.argv = ARGV("sh", "-c", "trap 'echo term; exit 4' TERM; "
					 "read line; echo got $line; "
					 "while :; do sleep 0.01; done"),
		.input_open = true });

	process_write(p, "word\n", 5);
	cr_assert(process_await(p, "got word"));
	process_signal(p, SIGTERM);
	cr_expect(process_await(p, "term"));
	cr_expect_not(process_await(p, "what does not come"));
	expect_exit(process_finish(p), 4);
}

Test(refusal, call_fails_with_the_errno)
{
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV("mkdir", "/tmp/never"),
		.refuse = (const struct refusal[]){
			{ "mkdir", ENOLINK }, { "mkdirat", ENOLINK }, { 0 } },
	});

	expect_exit(o, 1);
	expect_err_has(o, "severed");
}

static int try_unshare(const void *data)
{
	CHECK(unshare(CLONE_NEWUSER) < 0 && errno == EXDEV);
	CHECK(unshare(CLONE_FS) == 0);
	return 0;
}

Test(refusal, only_with_that_argument)
{
	expect_exit(program_run(&(struct program){
		.call = try_unshare,
		.refuse = (const struct refusal[]){
			{ "unshare", EXDEV, 0, CLONE_NEWUSER, CLONE_NEWUSER },
			{ 0 } } }), 0);
}

Test(refusal, kill)
{
	const struct outcome *o = program_run(&(struct program){
		.call = try_unshare,
		.refuse = (const struct refusal[]){
			{ "unshare", REFUSAL_KILL }, { 0 } } });

	expect_exit(o, 128 + SIGSYS);
}

Test(refusal, program_for_shells)
{
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV(sbx_helper("refuse"), "mkdir=EDQUOT",
			     "mkdirat=EDQUOT", "--", "mkdir", "/tmp/never") });

	expect_exit(o, 1);
	expect_err_has(o, "quota");
	o = program_run(&(struct program){
		.argv = ARGV(sbx_helper("refuse"), "mkdir=E", "--", "true") });
	expect_exit(o, 99);
}

Test(scratch, files)
{
	const char *dir = scratch_make();
	const char *file = path_in(dir, "a/b/c");

	directory_make_all(path_in(dir, "a/b"));
	file_write(file, "text\n");
	expect_file(file, "text\n");
	cr_expect_eq(file_mode(file), S_IFREG | 0644);
	cr_expect_eq(file_mode(dir), S_IFDIR | 0700);
	link_make("nowhere", path_in(dir, "link"));
	cr_expect(file_exists(path_in(dir, "link")));
	cr_expect_not(file_exists(path_in(dir, "other")));
	file_write(path_in(dir, "same"), "text\n");
	file_write(path_in(dir, "more"), "text\n\n");
	cr_expect(file_equal(file, path_in(dir, "same")));
	cr_expect_not(file_equal(file, path_in(dir, "more")));
}

Test(scratch, removes_directories_that_nobody_may_enter)
{
	const char *dir = scratch_make();
	const char *work = path_in(dir, "work");

	directory_make_all(path_in(work, "work/below"));
	cr_assert_eq(chmod(path_in(work, "work"), 0), 0);
	scratch_remove(work);
	cr_expect_not(file_exists(work));
	scratch_remove(work);
}

Test(tree, says_what_changed)
{
	const char *dir = scratch_make(), *changes;
	const struct tree *before;

	file_write(path_in(dir, "stays"), "1");
	file_write(path_in(dir, "content"), "1");
	file_write(path_in(dir, "gone"), "1");
	directory_make(path_in(dir, "mode"), 0700);
	before = tree_read(dir, TREE_CONTENT);
	cr_expect_str_eq(tree_changes(before, tree_read(dir, TREE_CONTENT)),
			 "");

	file_write(path_in(dir, "content"), "2");
	file_write(path_in(dir, "new"), "1");
	scratch_remove(path_in(dir, "gone"));
	chmod(path_in(dir, "mode"), 0755);
	changes = tree_changes(before, tree_read(dir, TREE_CONTENT));
	cr_expect(strstr(changes, "! content: "), "%s", changes);
	cr_expect(strstr(changes, "- gone\n"), "%s", changes);
	cr_expect(strstr(changes, "! mode: 040700 "), "%s", changes);
	cr_expect(strstr(changes, "+ new\n"), "%s", changes);
	cr_expect(!strstr(changes, "stays"), "%s", changes);
}

Test(tree, sees_a_file_that_was_only_touched)
{
	const char *dir = scratch_make();
	const struct tree *content, *touched;

	file_write(path_in(dir, "file"), "1");
	content = tree_read(dir, TREE_CONTENT);
	touched = tree_read(dir, TREE_TOUCHED);
	expect_tree_unchanged(touched, dir, TREE_TOUCHED);
	usleep(20000);
	file_write(path_in(dir, "file"), "1");
	expect_tree_unchanged(content, dir, TREE_CONTENT);
	cr_expect_str_neq(
		tree_changes(touched, tree_read(dir, TREE_TOUCHED)), "");
}

Test(host, sees_a_process_that_is_left)
{
	const struct host *before = host_read();
	const char *changes;

	program_run(&(struct program){
		.argv = ARGV("sh", "-c",
			     "setsid sleep 99 >/dev/null 2>&1 & exit 0") });
	changes = host_changes_after(before, 100);
	cr_expect(strstr(changes, "+ process ") && strstr(changes, "(sleep)"),
		  "%s", changes);
	host_kill_descendants();
	expect_host_unchanged(before);
}

Test(host, sees_a_mount_and_a_descriptor_that_are_left)
{
	const struct host *before;
	const char *dir = scratch_make(), *changes;
	int fd;

	if (identity_self() == IDENTITY_USER)
		dir = NULL;
	else
		host_private_mounts();
	before = host_read();
	fd = open("/", O_RDONLY);
	if (dir)
		cr_assert_eq(mount("none", dir, "tmpfs", 0, NULL), 0);
	changes = host_changes_after(before, 100);
	cr_expect(strstr(changes, "+ descriptor "), "%s", changes);
	cr_expect(!dir || strstr(changes, "+ mount "), "%s", changes);
	close(fd);
	if (dir)
		cr_assert_eq(umount(dir), 0);
	expect_host_unchanged(before);
}

Test(host, counts_processes_of_a_user)
{
	size_t before = host_processes_of(getuid());
	struct process *p = process_start(&(struct program){
		.argv = ARGV("sleep", "99") });

	cr_expect_geq(before, 1);
	cr_expect_geq(host_processes_of(getuid()), 2);
	process_signal(p, SIGKILL);
	process_finish(p);
}

Test(identity, is_what_run_as_made)
{
	enum identity self = identity_self();

	cr_expect_eq(getuid() == 0, self != IDENTITY_USER);
	cr_expect_eq(file_exists(sbx_source("tests/expected-skips")), true);
	skip_test("selftest", "running as %s", identity_name(self));
}

/* Whatever the shell or the CI that started it had set up. */
Test(identity, no_signal_is_ignored)
{
	for (int number = 1; number < SIGRTMIN; number++) {
		struct sigaction now;

		if (sigaction(number, NULL, &now) < 0)
			continue;
		cr_expect(now.sa_handler != SIG_IGN, "signal %d", number);
	}
}
