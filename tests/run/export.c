/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `export`: what a run changed, copied out, whole or not at all. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"
#include "harness/tree.h"

static const char *out_of(const struct box *box)
{
	return path_in(box->top, "out");
}

static struct box *make_place(void)
{
	struct box *box = box_make();

	box_fill(box);
	box_profile(box, "mode = ephemeral\nexport = %s\n", out_of(box));
	return box;
}

/* The janitor takes its moment. */
static void expect_left(const struct box *box, const char *expected)
{
	for (int i = 0; i < 1000 &&
	     strcmp(directory_names(box->top), expected) != 0; i++)
		usleep(20000);
	expect_names(box->top, expected);
}

Test(export, what_changed_and_nothing_else)
{
	struct box *box = make_place();
	const struct tree *before = tree_read(box->work, TREE_TOUCHED);
	const struct outcome *o = BOX_PYTHON(box,
		"import os\n"
		"open('changed', 'a').write('after\\n')\n"
		"os.unlink('deleted')\n"
		"open('added', 'w').write('added\\n')\n"
		"os.chmod('added', 0o750)\n"
		"os.makedirs('new/er')\n"
		"open('dir/sub/new', 'w').write('deep\\n')\n"
		"os.chmod('dir/sub/new', 0o600)\n");

	expect_exit(o, 0);
	expect_listing(out_of(box),
		       "d 755  \n"
		       "f 750 added \n"
		       "f 644 changed \n"
		       "d 755 dir \n"
		       "d 755 dir/sub \n"
		       "f 600 dir/sub/new \n"
		       "d 755 new \n"
		       "d 755 new/er \n");
	expect_file(path_in(out_of(box), "changed"), "before\nafter\n");
	expect_file(path_in(out_of(box), "dir/sub/new"), "deep\n");
	expect_tree_unchanged(before, box->work, TREE_TOUCHED);
	expect_left(box, "conf out work ");
	box_expect_clean(box);
}

Test(export, of_an_overlay_on_disk)
{
	struct box *box = make_place();

	box_overlay(box, arena_format("export = %s\nprotect = held\n",
				      out_of(box)));
	expect_exit(BOX_SH(box, "echo x >added"), 0);
	expect_listing(out_of(box), "d 755  \nf 644 added \n");
	expect_left(box, "conf out upper work ");
	box_expect_clean(box);
}

/* The copy would be copied again, and that again. */
Test(export, into_the_upper_layer)
{
	struct box *box = make_place();
	const char *upper = box_overlay(box, "");

	directory_make(path_in(upper, "dir"), 0755);
	box_overlay(box, arena_format("export = %s/dir/out\n", upper));
	BOX_EXPECT_REFUSED(box, "p.ini:", "export", "/dir/out' lies below the "
			   "upper layer");
	box_overlay(box, arena_format("export = %s/out\n", upper));
	BOX_EXPECT_REFUSED(box, "lies below the upper layer");
}

/* The workspace itself, of which a copy is no part. */
Test(export, into_the_lower_layer)
{
	struct box *box = make_place();
	const char *out = path_in(box->work, "dir/out");
	const char *text = arena_format("export = %s\n", out);

	box_profile(box, "mode = ephemeral\n%s", text);
	expect_exit(BOX_SH(box, "rm -r dir; mkdir -p dir/out new; "
			   "echo in >dir/out/f; mv changed new"), 0);
	expect_listing(out, "d 755  \nd 755 dir \nd 755 dir/out \n"
		       "f 644 dir/out/f \nd 755 new \nf 644 new/changed \n");
	scratch_remove(out);
	box_expect_clean(box);
	box_overlay(box, text);
	expect_exit(BOX_SH(box, "echo x >dir/sub/added"), 0);
	expect_listing(out, "d 755  \nd 755 dir \nd 755 dir/sub \n"
		       "f 644 dir/sub/added \n");
	BOX_EXPECT_REFUSED(box, "p.ini", "export", out, "File exists");
	scratch_remove(out);
	box_profile(box, "mode = ephemeral\nexport = %s\n", box->work);
	BOX_EXPECT_REFUSED(box, "p.ini", "export", "File exists");
}

/* It would be what somebody else has changed meanwhile. */
Test(export, into_what_is_committed_to)
{
	struct box *box = make_place();

	box_overlay(box, arena_format("export = %s/dir/out\n"
				      "commit = on-success\n", box->work));
	BOX_EXPECT_REFUSED(box, "p.ini", "export", "/dir/out' lies below the "
			   "lower layer, to which the changes are committed");
	box_overlay(box, arena_format("export = %s\ncommit = on-success\n",
				      out_of(box)));
	expect_exit(BOX_SH(box, "mv changed renamed"), 0);
	expect_listing(out_of(box), "d 755  \nf 644 renamed \n");
	cr_expect(file_exists(path_in(box->work, "renamed")));
}

Test(export, of_no_change_is_empty)
{
	struct box *box = make_place();

	expect_exit(BOX_SH(box, "cat changed"), 0);
	expect_listing(out_of(box), "d 755  \n");
}

Test(export, keeps_holes_and_times)
{
	struct box *box = make_place();
	struct stat made;

	expect_exit(BOX_PYTHON(box,
		"import os\n"
		"f = open('sparse', 'wb')\n"
		"f.seek(1 << 33); f.write(b'end'); f.close()\n"
		"os.utime('sparse', (5, 1234567890))\n"
		"open('empty', 'w')\n"), 0);
	cr_assert_eq(stat(path_in(out_of(box), "sparse"), &made), 0);
	cr_expect_eq(made.st_size, (1LL << 33) + 3);
	cr_expect_lt(made.st_blocks, 1000);
	cr_expect_eq(made.st_mtime, 1234567890);
	cr_expect_eq(file_mode(path_in(out_of(box), "empty")),
		     S_IFREG | 0644);
}

/* ---- what the payload could make dangerous ------------------------------------------------ */

Test(export, no_links_out_devices_sockets_pipes)
{
	struct box *box = make_place();
	const char *secret = path_in(box->top, "secret");

	file_write(secret, "secret\n");
	expect_exit(BOX_PYTHON(box,
		"import os, socket, sys\n"
		"os.makedirs('d/e')\n"
		"for n, t in (('in', 'changed'), ('d/up', '../changed'),\n"
		"             ('d/e/up', '../../d'), ('dangling', 'nowhere'),\n"
		"             ('d/dots', './/..//./x')):\n"
		"    os.symlink(t, n)\n"
		"for n, t in (('out1', '/etc/passwd'), ('out2', '..'),\n"
		"             ('d/out3', '../../x'), ('out4', sys.argv[1]),\n"
		"             ('out5', 'd/../../x'), ('d/e/out6', '../../../x'),\n"
		"             ('out7', 'd/e/up/../..'), ('out8', '/')):\n"
		"    os.symlink(t, n)\n"
		"socket.socket(socket.AF_UNIX).bind('socket')\n"
		"os.mkfifo('fifo'); os.mkfifo('d/fifo')\n"
		"try: os.mknod('null', 0o20666, os.makedev(1, 3))\n"
		"except OSError: pass\n"
		"os.unlink('changed'); os.mkfifo('changed')\n", secret), 0);
	expect_listing(out_of(box),
		       "d 755  \n"
		       "d 755 d \n"
		       "l 777 d/dots .//..//./x\n"
		       "d 755 d/e \n"
		       "l 777 d/e/up ../../d\n"
		       "l 777 d/up ../changed\n"
		       "l 777 dangling nowhere\n"
		       "l 777 in changed\n");
	expect_left(box, "conf out secret work ");
}

Test(export, no_set_user_id_owner_attributes)
{
	struct box *box = make_place();
	const char *copy = path_in(out_of(box), "f");
	struct stat made;

	box_overlay(box, arena_format("export = %s\n[security]\n"
				      "run-as = caller\n", out_of(box)));
	expect_exit(BOX_PYTHON(box,
		"import os\n"
		"open('f', 'w').write('f'); os.mkdir('d')\n"
		"for p, m in (('f', 0o6755), ('d', 0o3777)):\n"
		"    try: os.chmod(p, m)\n"
		"    except OSError: os.chmod(p, m & 0o777)\n"
		"try: os.setxattr('f', 'user.mine', b'x')\n"
		"except OSError: pass\n"), 0);
	cr_assert_eq(lstat(copy, &made), 0);
	cr_expect_eq(made.st_mode, S_IFREG | 0755, "%o", made.st_mode);
	cr_expect_eq(made.st_uid, geteuid());
	cr_expect_eq(file_mode(path_in(out_of(box), "d")), S_IFDIR | 0755);
	expect_out(program_run(&(struct program){ .argv = ARGV(PYTHON, "-c",
			"import os, sys; print(os.listxattr(sys.argv[1]))",
			copy) }), "[]\n");
}

/* What was closed inside is copied, and its owner can get rid of it. */
Test(export, of_mode_000)
{
	struct box *box = make_place();

	expect_exit(BOX_PYTHON(box,
		"import os\n"
		"os.makedirs('a/b'); open('a/b/f', 'w').write('in\\n')\n"
		"os.chmod('a/b/f', 0); os.chmod('a/b', 0); os.chmod('a', 0)\n"),
		0);
	expect_listing(out_of(box),
		       "d 755  \nd 755 a \nd 755 a/b \nf 0 a/b/f \n");
}

Test(export, any_bytes_in_names)
{
	struct box *box = make_place();

	expect_exit(BOX_PYTHON(box,
		"import os\n"
		"for n in (b'a\\nb', b'\\xff', b'-rf', b'x' * 255, b'~'):\n"
		"    os.mkdir(n); open(n + b'/' + n, 'wb').write(n)\n"), 0);
	expect_file(path_in(out_of(box), "a\nb/a\nb"), "a\nb");
	expect_file(path_in(out_of(box), "\xff/\xff"), "\xff");
	expect_file(path_in(out_of(box), "-rf/-rf"), "-rf");
}

Test(export, of_directories_in_directories)
{
	struct box *box = make_place();
	const struct outcome *o = BOX_PYTHON(box,
		"import os\n"
		"for i in range(2500): os.mkdir('d'); os.chdir('d')\n"
		"open('f', 'w').write('deep')\n");

	expect_exit(o, 0);
	expect_out(program_run(&(struct program){ .argv = ARGV(PYTHON, "-c",
			"import os, sys\n"
			"os.chdir(sys.argv[1])\n"
			"for i in range(2500): os.chdir('d')\n"
			"print(os.listdir(), open('f').read())\n",
			out_of(box)) }), "['f'] deep\n");
	scratch_remove(out_of(box));
	box_expect_clean(box);
}

/* ---- or not at all -------------------------------------------------------------------------- */

static void expect_none(struct box *box, const struct outcome *o, int exit)
{
	expect_exit(o, exit);
	expect_left(box, "conf work ");
	box_expect_clean(box);
}

Test(export, not_after_a_failure)
{
	struct box *box = make_place();

	expect_none(box, BOX_SH(box, "true >new; exit 3"), 3);
	expect_none(box, BOX_SH(box, "true >new; kill -9 $$"), 137);
	expect_none(box, BOX_RUN(box, "/does/not/exist"), 127);
	expect_none(box, program_run(&(struct program){
			.argv = ARGV(sbx_launch(), "--profile", box->profile,
				     "--timeout", "300ms", "--", "sh", "-c",
				     "trap 'exit 0' TERM; true >new; "
				     "sleep 9 & wait") }), 124);
}

Test(export, where_something_is)
{
	struct box *box = make_place();
	const char *out = out_of(box);

	directory_make(out, 0700);
	BOX_EXPECT_REFUSED(box, "p.ini", "export", out, "File exists");
	rmdir(out);
	file_write(out, "mine\n");
	BOX_EXPECT_REFUSED(box, "p.ini", "export", out, "File exists");
	expect_file(out, "mine\n");
	unlink(out);
	link_make("nowhere", out);
	BOX_EXPECT_REFUSED(box, "p.ini", "export", out, "File exists");
	unlink(out);
	box_profile(box, "mode = ephemeral\nexport = %s/not/there\n",
		    box->top);
	BOX_EXPECT_REFUSED(box, "p.ini", "export", "No such file");
	box_profile(box, "mode = ephemeral\nexport = /\n");
	BOX_EXPECT_REFUSED(box, "p.ini", "export");
}

/* Who takes the name while the command runs keeps it. */
Test(export, where_something_has_come_to_be)
{
	struct box *box = make_place();
	struct process *p = process_start(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c",
				 "true >new; echo on; read x; true"),
		.input_open = true });
	const struct outcome *o;

	cr_assert(process_await(p, "on\n"));
	file_write(out_of(box), "mine\n");
	process_close_input(p);
	o = process_finish(p);
	expect_exit(o, 125);
	expect_err_has(o, "File exists");
	expect_file(out_of(box), "mine\n");
	expect_left(box, "conf out work ");
}

Test(export, into_what_cannot_be_written)
{
	struct box *box = make_place();
	const struct outcome *o;

	box_profile(box, "mode = ephemeral\nexport = /proc/out\n");
	o = BOX_SH(box, "true >new");
	expect_exit(o, 125);
	expect_err_has(o, "/proc/out");
	box_expect_clean(box);
}

/* To another file system, until that is full. */
Test(export, on_a_full_disk)
{
	struct box *box;
	const char *disk;
	const struct outcome *o;

	box_need_mounts();
	box = make_place();
	disk = path_in(box->top, "disk");
	directory_make(disk, 0700);
	cr_assert_eq(mount("test", disk, "tmpfs", 0, "size=1m,mode=700"), 0);
	box->host = host_read();
	box_profile(box, "mode = ephemeral\nexport = %s/out\n", disk);
	o = BOX_SH(box, "mkdir d; head -c 600k /dev/zero >d/a; "
		   "head -c 600k /dev/zero >d/b");
	expect_exit(o, 125);
	expect_err_has(o, "export");
	expect_err_has(o, "No space left on device");
	expect_listing(disk, "d 700  \n");
	expect_exit(BOX_SH(box, "head -c 600k /dev/zero >a"), 0);
	expect_listing(disk, "d 700  \nd 755 out \nf 644 out/a \n");
	umount2(disk, MNT_DETACH);
}

/* Nobody has told it to end: the file system calls it so. */
Test(export, of_what_cannot_be_copied)
{
	static const char *const errors[] = { "EIO", "ECANCELED" };
	struct box *box = make_place();

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		const struct outcome *o = program_run(&(struct program){
			.argv = ARGV(sbx_helper("inject"), "--fail",
				     arena_format("0:pwrite64:1=%s", errors[i]),
				     "--", sbx_launch(), "--profile",
				     box->profile, "--", "sh", "-c",
				     "echo x >new") });

		expect_none(box, o, 125);
		expect_err_has(o, "export the changes: copy 'new'");
	}
}

static bool has_begun(const struct box *box)
{
	return strcmp(directory_names(box->top), "conf work ") != 0;
}

static const char much[] =
	"mkdir d; for i in 1 2 3 4 5 6 7 8; do head -c 4m /dev/zero >d/$i; "
	"done; echo on";

/* Stop @launcher while it copies.  False: it has done so already. */
static bool stop_in_the_middle(const struct box *box, pid_t launcher)
{
	const char *stat = arena_format("/proc/%d/stat", launcher);

	for (int i = 0; i < 400000 && !has_begun(box); i++)
		usleep(50);
	cr_assert_eq(kill(launcher, SIGSTOP), 0);
	for (int i = 0; i < 20000; i++) {
		const char *text = file_try(stat, NULL);

		if (!text || strstr(text, ") T ") || strstr(text, ") Z "))
			break;
		usleep(1000);
	}
	return !file_exists(out_of(box));
}

/* True: a launch was told to end while it copied, and did. */
static bool tell_to_end(struct box *box, int number)
{
	struct process *p = process_start(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c", much) });
	const struct outcome *o;
	bool is_met;

	cr_assert(process_await(p, "on\n"));
	is_met = stop_in_the_middle(box, process_pid(p));
	process_signal(p, number);
	process_signal(p, SIGCONT);
	o = process_finish(p);
	if (is_met)
		expect_none(box, o, 128 + number);
	scratch_remove(out_of(box));
	return is_met;
}

enum { ROUNDS_MOST = 20 };

Test(export, told_to_end_in_the_middle)
{
	static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };
	struct box *box = make_place();

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		int round = 0;

		while (round < ROUNDS_MOST && !tell_to_end(box, numbers[i]))
			round++;
		cr_expect_lt(round, ROUNDS_MOST, "never in the middle");
	}
}

static bool lose_caller(struct box *box)
{
	struct process *p = process_start(&(struct program){
		.argv = ARGV("sh", "-c", "\"$@\" & echo \"$!\"; wait", "sh",
			     sbx_launch(), "--profile", box->profile, "--",
			     "sh", "-c", much) });
	pid_t launcher;
	bool is_met;

	cr_assert(process_await(p, "on\n"));
	launcher = atoi(process_output(p));
	cr_assert_gt(launcher, 1, "%s", process_output(p));
	is_met = stop_in_the_middle(box, launcher);
	process_signal(p, SIGKILL);
	kill(launcher, SIGCONT);
	cr_expect(!process_finish(p)->held_open);
	if (is_met) {
		expect_left(box, "conf work ");
		box_expect_clean(box);
	}
	scratch_remove(out_of(box));
	return is_met;
}

Test(export, its_caller_dies_in_the_middle)
{
	struct box *box = make_place();
	int round = 0;

	while (round < ROUNDS_MOST && !lose_caller(box))
		round++;
	cr_expect_lt(round, ROUNDS_MOST, "never in the middle");
}

Test(export, killed_in_the_middle)
{
	struct box *box = make_place();
	int met = 0;

	for (int round = 0; round < 5; round++) {
		struct process *p = process_start(&(struct program){
			.argv = BOX_ARGV(box, "sh", "-c", much) });

		cr_assert(process_await(p, "on\n"));
		for (int i = 0; i < 2000 && !has_begun(box); i++)
			usleep(50);
		met += !file_exists(out_of(box));
		process_signal(p, SIGKILL);
		process_finish(p);
		box_expect_clean(box);
		if (!file_exists(out_of(box))) {
			expect_left(box, "conf work ");
			continue;
		}
		/* It was complete already. */
		expect_exit(program_run(&(struct program){
				.argv = ARGV("sh", "-c",
					     "test $(du -sb \"$1\" | cut -f1) "
					     "-gt 33554432", "sh",
					     out_of(box)) }), 0);
		scratch_remove(out_of(box));
	}
	cr_expect_gt(met, 0, "it was never in the middle");
}
