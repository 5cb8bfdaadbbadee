/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Standard input and output: the limit, and what stands in for files. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"

/* The exit event's member. */
static long counted(struct box *box, const char *name)
{
	const char *record = file_read(path_in(box->top, "status"), NULL);
	const char *at = strstr(record, "\"exit\"");

	at = at ? strstr(at, arena_format("\"%s\":", name)) : NULL;
	cr_assert(at, "no %s in %s", name, record);
	return strtol(at + strlen(name) + 3, NULL, 10);
}

static void with_limit(struct box *box, const char *limit)
{
	box_profile(box, "[limits]\noutput = %s\n"
		    "[report]\nstatus-file = %s\n", limit,
		    path_in(box->top, "status"));
}

/* ---- the limit ------------------------------------------------------------------------- */

Test(limit, passes_what_fits)
{
	struct box *box = box_make();
	const struct outcome *o;

	with_limit(box, "12");
	o = BOX_SH(box, "printf 'exactly 12 b'; echo err >&2; exit 3");
	expect_exit(o, 3);
	expect_out(o, "exactly 12 b");
	expect_err(o, "err\n");
	cr_expect_eq(counted(box, "outputBytes"), 16);
	cr_expect_eq(counted(box, "outputDropped"), 0);
	box_expect_clean(box);
}

Test(limit, drops_and_counts_the_rest)
{
	struct box *box = box_make();
	const struct outcome *o;

	with_limit(box, "1m");
	o = BOX_SH(box, "head -c 20m /dev/zero && echo unharmed >&2");
	expect_exit(o, 0);
	cr_expect_eq(o->out_length, 1 << 20);
	/* Each stream has its own. */
	expect_err(o, "unharmed\n");
	cr_expect_eq(counted(box, "outputBytes"), (1 << 20) + 9);
	cr_expect_eq(counted(box, "outputDropped"), 19 << 20);
	box_expect_clean(box);
}

Test(limit, of_nothing)
{
	struct box *box = box_make();
	const struct outcome *o;

	with_limit(box, "0");
	o = BOX_SH(box, "echo out; echo err >&2; exit 4");
	expect_exit(o, 4);
	expect_out(o, "");
	expect_err(o, "");
	cr_expect_eq(counted(box, "outputDropped"), 8);
}

Test(limit, is_exact_to_the_byte)
{
	struct box *box = box_make();
	const struct outcome *o;

	/* Pieces that no page and no pipe divides evenly. */
	with_limit(box, "100003");
	o = BOX_PYTHON(box,
		"import os\n"
		"data = bytes(i * 7 % 251 for i in range(300000))\n"
		"at = 0\n"
		"while at < len(data):\n"
		"    at += os.write(1, data[at:at + 1237])\n");
	expect_exit(o, 0);
	cr_assert_eq(o->out_length, 100003);
	for (size_t i = 0; i < o->out_length; i++)
		cr_assert_eq((unsigned char)o->out[i], i * 7 % 251,
			     "at %zu", i);
	cr_expect_eq(counted(box, "outputDropped"), 300000 - 100003);
}

Test(limit, does_not_wait_for_who_holds_the_pipe)
{
	struct box *box = box_make();
	const struct outcome *o;

	with_limit(box, "1k");
	o = BOX_SH(box, "setsid sleep 99 & echo done");
	expect_exit(o, 0);
	expect_out(o, "done\n");
	cr_expect_lt(o->end_ms, 5000);
	box_expect_clean(box);
}

/* A reader that does not read holds up the command, and no time-out. */
Test(limit, and_a_reader_that_does_not_read)
{
	struct box *box = box_make();
	int fds[2];
	const struct outcome *o;

	box_profile(box, "[limits]\noutput = 10m\ntimeout = 700ms\n"
			 "grace = 300ms\n");
	cr_assert(pipe2(fds, O_CLOEXEC) == 0);
	o = program_run(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c", "trap '' TERM; "
				 "head -c 9m /dev/zero; echo done >late"),
		.fds = { { fds[1], 1 } }, .time_limit = 15000 });
	expect_exit(o, 124);
	cr_expect(!file_exists(path_in(box->work, "late")));
	close(fds[0]);
	close(fds[1]);
	box_expect_clean(box);
}

Test(limit, and_a_reader_that_goes_away)
{
	struct box *box = box_make();

	with_limit(box, "10m");
	expect_exit(program_run(&(struct program){
		.argv = ARGV("sh", "-c", "{ \"$@\"; echo $? >status; } | "
			     "head -c 5 >/dev/null", "sh", sbx_launch(),
			     "--profile", box->profile, "--", "yes"),
		.cwd = box->work }), 0);
	expect_file(path_in(box->work, "status"), "141\n");
	box_expect_clean(box);
}

Test(limit, into_a_socket)
{
	struct box *box = box_make();
	int fds[2];
	char data[64];

	with_limit(box, "20");
	cr_assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) ==
		  0);
	expect_exit(program_run(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c",
				 "head -c 100000 /dev/zero | tr '\\0' y"),
		.fds = { { fds[1], 1 } } }), 0);
	close(fds[1]);
	cr_expect_eq(recv(fds[0], data, sizeof(data), MSG_WAITALL), 20);
	cr_expect_eq(data[19], 'y');
	cr_expect_eq(counted(box, "outputDropped"), 100000 - 20);
	close(fds[0]);
}

Test(limit, into_a_terminal)
{
	struct box *box = box_make();
	const struct outcome *o;

	with_limit(box, "5");
	o = program_run(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c", "echo 123456789"),
		.pty = true });
	expect_exit(o, 0);
	expect_out(o, "12345");
}

Test(limit, and_the_end_of_a_time_out)
{
	struct box *box = box_make();
	const struct outcome *o;

	box_profile(box, "[limits]\noutput = 1m\ntimeout = 2s\n");
	o = BOX_SH(box, "echo before; echo too >&2; exec sleep 98");
	expect_exit(o, 124);
	expect_out(o, "before\n");
	expect_err(o, "too\n");
}

/* ---- regular files --------------------------------------------------------------------------- */

static const struct outcome *with_file(struct box *box, int number,
				       const char *path, int flags,
				       const char *script)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);
	const struct outcome *o;

	cr_assert_geq(fd, 0, "%s", path);
	o = program_run(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c", script),
		.fds = { { fd, number } } });
	close(fd);
	return o;
}

Test(file, at_standard_input_is_read_to_its_end)
{
	struct box *box = box_make();
	const char *file = path_in(box->top, "in");
	char *data = arena_take(3000001);
	const struct outcome *o;

	memset(data, 'd', 3000000);
	file_write(file, data);
	o = with_file(box, 0, file, O_RDONLY, "wc -c");
	expect_exit(o, 0);
	expect_out(o, "3000000\n");
	box_expect_clean(box);
}

Test(file, at_standard_input_cannot_be_opened_for_writing)
{
	struct box *box = box_make();
	const char *file = path_in(box->top, "in");
	const struct outcome *o;

	file_write(file, "precious\n");
	o = with_file(box, 0, file, O_RDONLY,
		      "exec 3<>/proc/self/fd/0; echo overwritten >&3; "
		      "exec 4>/proc/self/fd/0; : >/dev/stdin; exit 0");
	cr_expect(!o->timed_out);
	expect_file(file, "precious\n");
	box_expect_clean(box);
}

Test(file, at_standard_output_cannot_be_read_or_cut)
{
	struct box *box = box_make();
	const char *log = path_in(box->top, "log");
	const struct outcome *o;

	file_write(log, "secret\n");
	o = with_file(box, 1, log, O_WRONLY | O_APPEND,
		      "echo first; (: >/proc/self/fd/1); "
		      "timeout 0.3 cat </proc/self/fd/1 >&2; echo last");
	expect_exit(o, 0);
	cr_expect(!strstr(o->err, "secret"), "%s", o->err);
	cr_expect(!strncmp(file_read(log, NULL), "secret\n", 7), "%s",
		  file_read(log, NULL));
	cr_expect(strstr(file_read(log, NULL), "last\n"), "%s",
		  file_read(log, NULL));
	box_expect_clean(box);
}

Test(file, at_output_is_written_where_it_stands)
{
	struct box *box = box_make();
	const char *log = path_in(box->top, "log");

	file_write(log, "0123456789");
	expect_exit(with_file(box, 1, log, O_WRONLY, "printf abc"), 0);
	expect_file(log, "abc3456789");
	expect_exit(with_file(box, 2, log, O_WRONLY | O_APPEND,
			      "printf +++ >&2"), 0);
	expect_file(log, "abc3456789+++");
}

Test(file, shared_by_output_and_errors_keeps_the_order)
{
	struct box *box = box_make();
	const char *log = path_in(box->top, "log");
	int fd = open(log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	expect_exit(program_run(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c",
				 "for i in 1 2 3 4 5; do echo out $i; "
				 "echo err $i >&2; done"),
		.fds = { { fd, 1 }, { fd, 2 } } }), 0);
	expect_file(log, "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"
			 "out 4\nerr 4\nout 5\nerr 5\n");
	close(fd);
}

/* A loop over the lines of a file goes on where the command stopped. */
Test(file, at_input_is_not_read_too_far)
{
	struct box *box = box_make();
	const char *file = path_in(box->top, "lines");
	const struct outcome *o;
	int fd;

	file_write(file, "one\ntwo\nthree\nfour\n");
	fd = open(file, O_RDONLY | O_CLOEXEC);
	o = program_run(&(struct program){
		.argv = ARGV("sh", "-c",
			"while read -r line; do echo \"loop $line\"; "
			"\"$@\"; done", "sh", sbx_launch(), "--profile",
			box->profile, "--", "sh", "-c",
			"read -r line; echo \"inside $line\""),
		.fds = { { fd, 0 } } });
	expect_exit(o, 0);
	expect_out(o, "loop one\ninside two\nloop three\ninside four\n");
	close(fd);
}

Test(file, that_is_full)
{
	struct box *box;
	const char *disk, *log;
	const struct outcome *o;

	box_need_mounts();
	box = box_make();
	disk = path_in(box->top, "disk");
	log = path_in(disk, "log");
	directory_make(disk, 0700);
	cr_assert(mount("disk", disk, "tmpfs", 0, "size=16384") == 0);
	file_write(log, "");
	o = with_file(box, 1, log, O_WRONLY | O_APPEND,
		      "head -c 1m /dev/zero; exit 3");
	expect_exit(o, 3);
	expect_err_has(o, "descriptor 1: No space left on device");
	umount2(disk, MNT_DETACH);
}

/* ---- what does not arrive -------------------------------------------------------------------- */

/* Passed is what is there, and dropped all else that was written. */
Test(lost, to_a_full_device)
{
	struct box *box = box_make();
	const struct outcome *o;

	with_limit(box, "1m");
	o = with_file(box, 1, "/dev/full", O_WRONLY,
		      "head -c 3000 /dev/zero; exit 3");
	expect_exit(o, 3);
	expect_err(o, "sbx-launch: write what the command writes to "
		      "descriptor 1: No space left on device\n");
	cr_expect_eq(counted(box, "outputBytes"), 0);
	cr_expect_eq(counted(box, "outputDropped"), 3000);
	/* What goes on writing learns of it, as it would have without us. */
	o = with_file(box, 1, "/dev/full", O_WRONLY,
		      "trap '' PIPE; while echo x; do :; done 2>/dev/null; "
		      "echo noticed >&2");
	expect_exit(o, 0);
	expect_err_has(o, "noticed\n");
	cr_expect_eq(counted(box, "outputBytes"), 8);
	cr_expect_gt(counted(box, "outputDropped"), 0);
	box_expect_clean(box);
}

Test(lost, to_a_reader_that_is_gone)
{
	struct box *box = box_make();
	int pipe_ends[2], socket_ends[2];

	with_limit(box, "1m");
	cr_assert_eq(pipe2(pipe_ends, O_CLOEXEC), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
				socket_ends), 0);
	close(pipe_ends[0]);
	close(socket_ends[0]);
	for (int i = 0; i < 2; i++) {
		const struct outcome *o = program_run(&(struct program){
			.argv = BOX_ARGV(box, "sh", "-c",
					 "head -c 3000 /dev/zero; exit 3"),
			.fds = { { i ? socket_ends[1] : pipe_ends[1], 1 } } });

		expect_exit(o, 3);
		expect_err(o, "");
		cr_expect_eq(counted(box, "outputBytes"), 0);
		cr_expect_eq(counted(box, "outputDropped"), 3000);
	}
	close(pipe_ends[1]);
	close(socket_ends[1]);
}

/* A file that may not become larger, and one on a disk that is full. */
Test(lost, to_what_takes_only_some)
{
	struct box *box = box_make();
	const char *log = path_in(box->top, "log");
	struct stat made;

	with_limit(box, "1m");
	for (int i = 0; i < 2; i++) {
		expect_exit(program_run(&(struct program){
			.argv = ARGV("sh", "-c", arena_format(
				"ulimit -f 4; exec \"$@\" %s '%s'",
				i ? ">>" : ">", log), "sh", sbx_launch(),
				"--profile", box->profile, "--", "sh", "-c",
				"head -c 3000 /dev/zero; exit 3") }), 3);
		cr_assert_eq(stat(log, &made), 0);
		cr_expect_eq(made.st_size, 2048);
		cr_expect_eq(counted(box, "outputBytes"), i ? 0 : 2048);
		cr_expect_eq(counted(box, "outputDropped"), i ? 3000 : 952);
	}
}

/* ---- other descriptors ------------------------------------------------------------------------- */

Test(other, directories_are_refused)
{
	struct box *box = box_make();
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct outcome *o = program_run(&(struct program){
		.argv = BOX_ARGV(box, BOX_MARK), .fds = { { fd, 0 } } });

	close(fd);
	box_expect_refused(box, o, 125, "descriptor 0 is a directory", NULL);
}

Test(other, closed_ones_become_dev_null)
{
	struct box *box = box_make();

	expect_exit(program_run(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c",
				 "cat && echo x >&2 && "
				 "readlink /proc/self/fd/0 /proc/self/fd/2 "
				 ">names"),
		.fds = { { -1, 0 }, { -1, 2 } } }), 0);
	expect_file(path_in(box->work, "names"), "/dev/null\n/dev/null\n");
}

/* The payload of root is another user, and its pipes are its own. */
/* On a line of its own, behind all that passed. */
Test(limit, is_noted_when_that_is_asked_for)
{
	struct box *box = box_make();

	box_profile(box, "[limits]\noutput = 4 note\n");
	expect_err(BOX_SH(box, "echo abc; echo def >&2"), "def\n");
	expect_err(BOX_SH(box, "echo abcdef"),
		   "sbx-launch: output limit of 4 bytes a stream: 3 bytes were "
		   "dropped\n");
	expect_err(BOX_SH(box, "echo abcdef >&2; echo abcdefg"),
		   "abcd\nsbx-launch: output limit of 4 bytes a stream: 7 "
		   "bytes were dropped\n");
	expect_exit(BOX_SH(box, "echo abcdef; exit 3"), 3);
	box_profile(box, "[limits]\noutput = 4 optional\n");
	BOX_EXPECT_REFUSED(box, "p.ini:", "'optional' is not 'note'");
}

Test(other, pipes_can_be_opened_by_name)
{
	struct box *box = box_make();
	const struct outcome *o = BOX_SH(box,
		"echo out >/dev/stdout && echo err >/dev/stderr");

	expect_exit(o, 0);
	expect_out(o, "out\n");
	expect_err(o, "err\n");
	with_limit(box, "1k");
	o = BOX_SH(box, "echo out >/proc/self/fd/1");
	expect_exit(o, 0);
	expect_out(o, "out\n");
}

Test(other, umask_is_never_wide)
{
	struct box *box = box_make();
	const struct outcome *o = program_run(&(struct program){
		.argv = ARGV("sh", "-c", "umask 0; exec \"$@\"", "sh",
			     sbx_launch(), "--profile", box->profile, "--",
			     "sh", "-c", "umask") });

	expect_out(o, "0022\n");
	o = program_run(&(struct program){
		.argv = ARGV("sh", "-c", "umask 077; exec \"$@\"", "sh",
			     sbx_launch(), "--profile", box->profile, "--",
			     "sh", "-c", "umask") });
	expect_out(o, "0077\n");
}
