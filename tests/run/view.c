/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file system that the payload sees: what can be written, what is masked,
 * /proc and /dev.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"
#include "harness/tree.h"

/*
 * Reads mountinfo and prints, sorted: "rw PLACE" for what is not read-only,
 * "suid PLACE" and "dev PLACE" for what lacks nosuid and nodev, "shared
 * PLACE" for what takes part in propagation, and "open PLACE" for a directory
 * in which a file could be made.  A place covered by another mount is left
 * out, since nothing reaches it.
 */
static const char look_at_mounts[] =
	"import os\n"
	"def plain(text):\n"
	"    return text.encode().decode('unicode_escape')\\\n"
	"        .encode('latin-1').decode()\n"
	"lines = []\n"
	"mounts = [line.split() for line in open('/proc/self/mountinfo')]\n"
	"parents = {m[1]: {} for m in mounts}\n"
	"for m in mounts:\n"
	"    parents[m[1]][m[4]] = m\n"
	"def covered(m):\n"
	"    return m[4] in parents.get(m[0], {})\n"
	"for m in mounts:\n"
	"    place, options = plain(m[4]), m[5].split(',')\n"
	"    dash = m.index('-')\n"
	"    if covered(m):\n"
	"        continue\n"
	"    if 'rw' in options and 'rw' in m[dash + 3].split(','):\n"
	"        lines.append('rw ' + place)\n"
	"    if 'nosuid' not in options:\n"
	"        lines.append('suid ' + place)\n"
	"    if 'nodev' not in options:\n"
	"        lines.append('dev ' + place)\n"
	"    if m[6] != '-':\n"
	"        lines.append('shared ' + place)\n"
	"    try:\n"
	"        if os.path.isdir(place):\n"
	"            name = os.path.join(place, '.probe')\n"
	"            os.close(os.open(name, os.O_CREAT | os.O_WRONLY))\n"
	"            os.unlink(name)\n"
	"            lines.append('open ' + place)\n"
	"    except OSError:\n"
	"        pass\n"
	"print(*sorted(set(lines)), sep='\\n')\n";

static const char *mounts_inside(struct box *box)
{
	const struct outcome *o = BOX_PYTHON(box, look_at_mounts);

	assert_exit(o, 0);
	return o->out;
}

/* A line of @list begins with @word and ends with a place not in @places. */
static void expect_only(const char *list, const char *word,
			const char *const *places)
{
	size_t length = strlen(word);

	for (const char *line = list; *line; line = strchr(line, '\n') + 1) {
		const char *place = line + length + 1;
		bool known = false;

		if (strncmp(line, word, length) != 0 || line[length] != ' ')
			continue;
		for (int i = 0; places[i]; i++)
			known |= strcspn(place, "\n") == strlen(places[i]) &&
				 !strncmp(place, places[i], strlen(places[i]));
		cr_expect(known, "%.*s", (int)strcspn(line, "\n"), line);
	}
	for (int i = 0; places[i]; i++)
		cr_expect(strstr(list, arena_format("%s %s\n", word,
						    places[i])),
			  "not there: %s %s", word, places[i]);
}

Test(view, only_what_the_plan_makes_writable_is)
{
	struct box *box = box_make();
	const char *mounts = mounts_inside(box);

	expect_only(mounts, "open", ARGV(box->work, "/tmp", "/dev/shm"));
	expect_only(mounts, "shared", ARGV(NULL));
	expect_only(mounts, "suid", ARGV(NULL));
	box_expect_clean(box);
}

/* Of the mounts that say rw, the rest is devices and process files. */
Test(view, what_is_read_only_is_so_as_a_mount)
{
	struct box *box = box_make();
	const char *mounts = mounts_inside(box);
	static const char *const devices[] = {
		"/dev/full", "/dev/null", "/dev/pts", "/dev/random",
		"/dev/urandom", "/dev/zero", NULL,
	};
	const char *rw[16] = { box->work, "/tmp", "/proc", "/dev/shm" };

	memcpy(rw + 4, devices, sizeof(devices));
	expect_only(mounts, "rw", rw);
	expect_only(mounts, "dev", devices);
}

Test(view, a_writable_mount_below_the_root_becomes_read_only)
{
	const char *below, *deeper;
	struct box *box;

	box_need_mounts();
	box = box_make();
	below = "/usr/share/doc";
	deeper = "/usr/share/doc/deeper";
	cr_assert_eq(mount("test", below, "tmpfs", 0, "mode=777"), 0);
	directory_make(deeper, 0777);
	cr_assert_eq(mount("test", deeper, "tmpfs", 0, "mode=777"), 0);
	file_write(path_in(deeper, "file"), "there\n");
	expect_out(BOX_SH(box, arena_format("cat %s/file; true >%s/new || echo "
					    "no; true >%s/file || echo no",
					    deeper, below, deeper)),
		   "there\nno\nno\n");
	cr_expect(!file_exists(path_in(below, "new")));
}

Test(view, mounts_made_later_on_the_host_stay_out)
{
	struct box *box;
	struct process *p;
	const char *late;

	box_need_mounts();
	box = box_make();
	late = "/usr/share/doc";
	p = process_start(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c", "echo on; read x; "
				 "test -e /usr/share/doc/late || echo no"),
		.input_open = true });
	cr_assert(process_await(p, "on\n"));
	cr_assert_eq(mount("test", late, "tmpfs", 0, NULL), 0);
	file_write(path_in(late, "late"), "");
	process_write(p, "\n", 1);
	expect_out(process_finish(p), "on\nno\n");
	umount(late);
}

/* ---- /dev, /proc, /tmp -------------------------------------------------------------------- */

Test(view, dev)
{
	struct box *box = box_make();
	const struct outcome *o = BOX_SH(box,
		"cd /dev && stat -c '%n %F %a' * && readlink fd stdin ptmx "
		"&& head -c3 zero | od -An -tx1 && echo x >null "
		"&& head -c4 urandom | wc -c && ls -A shm pts; "
		"true >full; head -c1 zero >full");

	expect_out(o, "core symbolic link 777\nfd symbolic link 777\n"
		   "full character special file 666\n"
		   "null character special file 666\n"
		   "ptmx symbolic link 777\npts directory 755\n"
		   "random character special file 666\n"
		   "shm directory 1777\nstderr symbolic link 777\n"
		   "stdin symbolic link 777\nstdout symbolic link 777\n"
		   "urandom character special file 666\n"
		   "zero character special file 666\n"
		   "/proc/self/fd\n/proc/self/fd/0\npts/ptmx\n"
		   " 00 00 00\n4\npts:\nptmx\n\nshm:\n");
	expect_err_has(o, "No space left on device");
	box_expect_clean(box);
}

Test(view, pseudo_terminals_and_shared_memory_work)
{
	struct box *box = box_make();
	const struct outcome *o = BOX_PYTHON(box,
		"import multiprocessing, os, pty\n"
		"master, slave = pty.openpty()\n"
		"os.write(slave, b'through\\n')\n"
		"print(os.ttyname(slave), os.read(master, 99))\n"
		"lock = multiprocessing.Lock()\n"
		"from multiprocessing import shared_memory\n"
		"memory = shared_memory.SharedMemory('n', True, 8192)\n"
		"print(memory.size, os.listdir('/dev/shm'))\n"
		"memory.unlink()\n");

	expect_exit(o, 0);
	expect_out(o, "/dev/pts/0 b'through\\r\\n'\n8192 ['n']\n");
	box_expect_clean(box);
}

Test(view, temporary_places_are_for_everybody_and_bounded)
{
	struct box *box = box_make();
	const struct outcome *o;

	box_profile_alone(box, "[mask]\ntmpfs = /tmp size=3m inodes=50\n"
			  "tmpfs = /home mode=0750 rw size=64k\n"
			  "[workspace]\npath = %s\n", box->work);
	o = BOX_SH(box, "stat -c %a /tmp /dev/shm /home; "
		   "df -k --output=size /tmp /home | tail -n2 | tr -d ' '; "
		   "dd if=/dev/zero of=/tmp/x bs=1M count=9 2>&1 | "
		   "grep -o 'No space.*'; rm /tmp/x; cd /tmp; "
		   "touch $(seq 60) 2>&1 | grep -o 'No space.*' | uniq; "
		   "echo x >/home/x && echo written; "
		   "test $(df -m --output=size /dev | tail -n1) -le 64; echo $?;"
		   "test $(df -m --output=size /dev/shm | tail -n1) -le 1024; "
		   "echo $?");
	expect_exit(o, 0);
	expect_out(o, "1777\n1777\n750\n3072\n64\n"
		   "No space left on device\nNo space left on device\n"
		   "written\n0\n0\n");
}

Test(view, proc_gives_nothing_away_and_takes_nothing)
{
	struct box *box = box_make();
	static const char code[] =
		"import os\n"
		"def attempt(path, flags):\n"
		"    try:\n"
		"        fd = os.open(path, flags)\n"
		"        content = os.read(fd, 9) if flags == 0 else b'open'\n"
		"        if content:\n"
		"            print(path, content)\n"
		"    except OSError:\n"
		"        pass\n"
		"for top, _, files in os.walk('/proc/sys'):\n"
		"    for name in files:\n"
		"        attempt(os.path.join(top, name), os.O_WRONLY)\n"
		"attempt('/proc/sysrq-trigger', os.O_WRONLY)\n"
		"for name in 'kcore', 'keys', 'kmsg', 'timer_list', \\\n"
		"        'sched_debug', 'interrupts', 'kallsyms_':\n"
		"    attempt('/proc/' + name, os.O_RDONLY)\n"
		"print('end')\n";

	expect_out(BOX_PYTHON(box, code), "end\n");
}

/* ---- masks --------------------------------------------------------------------------------- */

Test(masks, are_empty_and_read_only_except_tmp)
{
	struct box *box = box_make();

	expect_out(BOX_SH(box, "ls -A /home /root /run /tmp; "
			  "for d in /home /root /run /tmp; do "
			  "true >$d/x && echo wrote $d; done 2>/dev/null"),
		   "/home:\n\n/root:\n\n/run:\n\n/tmp:\nwrote /tmp\n");
	box_profile_alone(box, "[mask]\ntmpfs = /home rw\ntmpfs = /tmp ro\n");
	expect_out(BOX_SH(box, "for d in /home /tmp; do "
			  "true >$d/x && echo wrote $d; done 2>/dev/null"),
		   "wrote /home\n");
	box_expect_clean(box);
}

Test(masks, over_what_is_missing_are_nothing)
{
	struct box *box = box_make();
	const struct tree *before = tree_read(box->work, TREE_TOUCHED);
	const char *ghost = path_in(box->work, "ghost");

	box_profile(box, "[mask]\ntmpfs = %s\nhide = %s/file\n"
		    "tmpfs = /nowhere/at/all\n", ghost, box->work);
	expect_out(BOX_SH(box, "ls -A . /nowhere 2>/dev/null"),
		   ".:\n");
	expect_tree_unchanged(before, box->work, TREE_TOUCHED);
	box_expect_clean(box);
}

Test(masks, through_a_link_of_the_root)
{
	struct box *box = box_make();

	/* /var/run is a link to /run, and is masked under both names. */
	cr_assert_eq(file_mode("/var/run") & S_IFMT, S_IFLNK);
	box_profile_alone(box, "[mask]\ntmpfs = /var/run\n");
	expect_out(BOX_SH(box, "ls -A /run /var/run; readlink /var/run"),
		   "/run:\n\n/var/run:\n/run\n");
	box_profile_alone(box, "[mask]\ntmpfs = /var/run\ntmpfs = /run\n");
	expect_out(BOX_SH(box, "ls -A /run"), "");
}

static void make_socket(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_lt(strlen(path), sizeof(address.sun_path));
	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)),
		     0);
	cr_assert_eq(listen(fd, 4), 0);
}

Test(masks, hide_whatever_it_is)
{
	struct box *box = box_make();
	const struct tree *before;
	const char *place = path_in(box->top, "p");
	const struct outcome *o;

	directory_make(place, 0755);
	directory_make(path_in(place, "dir"), 0755);
	file_write(path_in(place, "dir/secret"), "hunter2\n");
	file_write(path_in(place, "file"), "hunter2\n");
	link_make("file", path_in(place, "link"));
	cr_assert_eq(mkfifo(path_in(place, "fifo"), 0666), 0);
	make_socket(path_in(place, "sock"));
	box->host = host_read();
	before = tree_read(place, TREE_TOUCHED);
	/* Once where nobody writes, once where the payload may. */
	for (int i = 0; i < 2; i++) {
		box_profile_alone(box, "[mask]\nhide = /opt/p/dir\n"
				  "hide = /opt/p/%s\nhide = /opt/p/fifo\n"
				  "hide = /opt/p/sock\n%s = %s /opt/p\n",
				  i ? "file" : "link",
				  i ? "[workspace]\npath" : "[layers]\nlayer",
				  place);
		o = BOX_SH(box, "cd /opt/p; ls -A dir 2>&1 | grep -c secret; "
			   "cat dir/secret file link fifo sock; "
			   "for f in file dir fifo sock; do rm -rf $f; "
			   "mv $f $f.2; done; echo more >file; ls -A; "
			   PYTHON " -c 'import socket\n"
			   "socket.socket(socket.AF_UNIX).connect(\"sock\")'");
		cr_expect_neq(o->exit, 0);
		cr_expect(!strstr(o->out, "hunter2"), "%s",
			  outcome_describe(o));
		expect_out(o, "0\ndir\nfifo\nfile\nlink\nsock\n");
		expect_err_has(o, "PermissionError");
		expect_tree_unchanged(before, place, TREE_TOUCHED);
	}
	box_expect_clean(box);
}

/* ---- the root --------------------------------------------------------------------------------- */

Test(root, empty_with_the_system_in_it)
{
	struct box *box = box_make();
	const struct outcome *o;

	box_profile_alone(box, "[root]\nsource = none\nsystem = yes\n"
			  "[workspace]\npath = %s /workspace\n", box->work);
	o = BOX_SH(box, "ls -A / | grep -v lib32; pwd; true >made; ls -A /etc | grep -c shadow; "
		   "getent passwd 0 | cut -d: -f1; true >/x; true >/etc/x; "
		   PYTHON " -c 'import ssl, sqlite3; print(6 * 7)'; true");
	expect_exit(o, 0);
	expect_out(o, "bin\ndev\netc\nlib\nlib64\nproc\nsbin\ntmp\nusr\nworkspace\n"
		   "/workspace\n0\nroot\n42\n");
	expect_err_has(o, "/x: Read-only file system");
	expect_err_has(o, "/etc/x: Read-only file system");
	cr_expect(file_exists(path_in(box->work, "made")));
	expect_only(mounts_inside(box), "open",
		    ARGV("/workspace", "/dev/shm"));
	box_expect_clean(box);
}

Test(root, empty_without_anything)
{
	struct box *box = box_make();

	box_profile_alone(box, "[root]\nsource = none\n");
	box_expect_refused(box, BOX_RUN(box, BOX_MARK), 127, "sh",
			   "No such file or directory", NULL);
	box_profile_alone(box, "[root]\nsource = none\n[layers]\n"
			  "layer = /usr\nlayer = /lib64\nlayer = /lib\n");
	expect_out(BOX_RUN(box, "/usr/bin/ls", "-A", "/"),
		   "dev\nlib\nlib64\nproc\nusr\n");
}

Test(root, another_directory_of_the_host)
{
	struct box *box = box_make();
	const char *root = path_in(box->top, "root");
	const struct tree *before;

	directory_make(root, 0755);
	directory_make(path_in(root, "usr"), 0755);
	directory_make(path_in(root, "run"), 0755);
	file_write(path_in(root, "run/secret"), "hunter2\n");
	link_make("usr/bin", path_in(root, "bin"));
	link_make("usr/lib", path_in(root, "lib"));
	link_make("usr/lib64", path_in(root, "lib64"));
	link_make("/run", path_in(root, "var-run"));
	file_write(path_in(root, "only-here"), "yes\n");
	before = tree_read(root, TREE_TOUCHED);
	box_profile_alone(box, "[root]\nsource = %s\n[mask]\n"
			  "tmpfs = /var-run\n[layers]\nlayer = /usr\n"
			  "[workspace]\npath = %s /new/place\n", root,
			  box->work);
	expect_out(BOX_SH(box, "cat /only-here; ls -A / /run; pwd; true >made; "
			  "true >/x || echo no"),
		   "yes\n/:\nbin\ndev\nlib\nlib64\nnew\nonly-here\nproc\nrun\n"
		   "usr\nvar-run\n\n/run:\n/new/place\nno\n");
	cr_expect(file_exists(path_in(box->work, "made")));
	expect_tree_unchanged(before, root, TREE_TOUCHED);
	box_expect_clean(box);
}
