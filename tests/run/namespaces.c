/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the payload is apart from: namespaces, network, IPC, who it is. */
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/shm.h>
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

static const char *const kinds[] = {
	"user", "mnt", "pid", "net", "ipc", "uts", "cgroup",
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), SHARABLE_FROM = 2 };

static const char *own_namespace(const char *kind)
{
	char link[64];
	ssize_t length;

	length = readlink(arena_format("/proc/self/ns/%s", kind), link,
			  sizeof(link));
	cr_assert_gt(length, 0);
	return arena_format("%.*s", (int)length, link);
}

/* "kind:[number]" of each namespace inside, in the order of kinds[]. */
static const char *namespaces_inside(struct box *box)
{
	const struct outcome *o = BOX_RUN(box, "readlink",
		"/proc/self/ns/user", "/proc/self/ns/mnt",
		"/proc/self/ns/pid", "/proc/self/ns/net", "/proc/self/ns/ipc",
		"/proc/self/ns/uts", "/proc/self/ns/cgroup");

	assert_exit(o, 0);
	return o->out;
}

static void expect_shared(const char *inside, const char *shared)
{
	for (int i = 0; i < KINDS; i++) {
		bool same = strstr(inside, own_namespace(kinds[i]));

		cr_expect(strstr(inside, arena_format("%s:[", kinds[i])));
		cr_expect_eq(same, shared && !strcmp(kinds[i], shared),
			     "with share = %s, %s is %s", shared, kinds[i],
			     same ? "shared" : "new");
	}
}

Test(namespaces, every_one_is_new)
{
	struct box *box = box_make();

	expect_shared(namespaces_inside(box), NULL);
	box_expect_clean(box);
}

Test(namespaces, the_one_that_is_shared_is_the_callers)
{
	struct box *box = box_make();

	for (int i = SHARABLE_FROM; i < KINDS; i++) {
		box_profile(box, "[namespaces]\nshare = %s\n", kinds[i]);
		expect_shared(namespaces_inside(box), kinds[i]);
	}
	box_expect_clean(box);
}

Test(namespaces, several_are_shared)
{
	struct box *box = box_make();
	const char *inside;

	box_profile(box, "[namespaces]\nshare = net ipc\nshare = uts\n");
	inside = namespaces_inside(box);
	for (int i = 0; i < KINDS; i++)
		cr_expect_eq(!!strstr(inside, own_namespace(kinds[i])),
			     i >= 3 && i <= 5, "%s", kinds[i]);
}

Test(namespaces, host_name)
{
	struct box *box = box_make();
	char name[HOST_NAME_MAX + 1];

	expect_out(BOX_RUN(box, "uname", "-n"), "localhost\n");
	box_profile(box, "[namespaces]\nhostname = a-name.example\n");
	expect_out(BOX_RUN(box, "uname", "-n"), "a-name.example\n");
	box_profile(box, "[namespaces]\nshare = uts\n");
	gethostname(name, sizeof(name));
	expect_out(BOX_RUN(box, "uname", "-n"), arena_format("%s\n", name));
}

Test(namespaces, only_its_own_processes)
{
	struct box *box = box_make();
	const struct outcome *o = BOX_SH(box,
		"for i in /proc/[0-9]*; do echo ${i#/proc/}; done; echo me $$");

	expect_exit(o, 0);
	/* PID 1 and the shell, whose number is the next one. */
	expect_out(o, "1\n2\nme 2\n");
}

Test(namespaces, a_shared_pid_namespace_still_ends_with_the_payload)
{
	struct box *box = box_make();
	const struct outcome *o;

	box_profile(box, "[namespaces]\nshare = pid\n");
	o = BOX_SH(box, "setsid sleep 98 & sleep 97 & echo on");
	expect_exit(o, 0);
	expect_out(o, "on\n");
	box_expect_clean(box);
}

/* ---- network and IPC ----------------------------------------------------------- */

static const char loopback[] =
	"import socket, threading\n"
	"server = socket.create_server(('127.0.0.1', 0))\n"
	"client = socket.create_connection(server.getsockname(), 5)\n"
	"client.sendall(b'through lo')\n"
	"print(server.accept()[0].recv(99).decode())\n"
	"print(*(name for _, name in socket.if_nameindex()))\n"
	"try:\n"
	"    socket.create_connection(('192.0.2.1', 80), 5)\n"
	"except OSError as error:\n"
	"    print(error.strerror)\n";

Test(namespaces, the_network_is_a_loopback_device_that_is_up)
{
	struct box *box = box_make();
	const struct outcome *o = BOX_PYTHON(box, loopback);

	expect_exit(o, 0);
	expect_out(o, "through lo\nlo\nNetwork is unreachable\n");
}

Test(namespaces, the_loopback_device_stays_down_if_told)
{
	struct box *box = box_make();
	const struct outcome *o;

	box_profile(box, "[network]\nloopback = no\n");
	o = BOX_PYTHON(box,
		       "import socket\n"
		       "try:\n"
		       "    socket.create_connection(('127.0.0.1', 9), 5)\n"
		       "except OSError as error:\n"
		       "    print(error.strerror)\n");
	expect_exit(o, 0);
	expect_out(o, "Network is unreachable\n");
}

static const char *abstract_server(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *name = arena_format("sbx-test-%d", getpid());
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t length = (socklen_t)(sizeof(sa_family_t) + 1 +
				       strlen(name));

	memcpy(address.sun_path + 1, name, strlen(name));
	cr_assert_eq(bind(fd, (struct sockaddr *)&address, length), 0);
	cr_assert_eq(listen(fd, 4), 0);
	return name;
}

static const char connect_abstract[] =
	"import socket, sys\n"
	"try:\n"
	"    socket.socket(socket.AF_UNIX).connect('\\0' + sys.argv[1])\n"
	"    print('connected')\n"
	"except OSError as error:\n"
	"    print(error.strerror)\n";

Test(namespaces, abstract_sockets_of_the_host_are_out_of_reach)
{
	const char *name = abstract_server();
	struct box *box = box_make();

	/* The test's claim rests on a server that does answer. */
	expect_out(program_run(&(struct program){
			.argv = ARGV(PYTHON, "-c", connect_abstract, name) }),
		   "connected\n");
	expect_out(BOX_PYTHON(box, connect_abstract, name),
		   "Connection refused\n");
}

Test(namespaces, unix_sockets_are_denied_when_told)
{
	static const char code[] =
		"import socket\n"
		"socket.socket(socket.AF_INET).close()\n"
		"try:\n"
		"    socket.socket(socket.AF_UNIX)\n"
		"    print('made')\n"
		"except OSError as error:\n"
		"    print(error.strerror)\n";
	struct box *box = box_make();

	expect_out(BOX_PYTHON(box, code), "made\n");
	box_profile(box, "[security]\nunix-sockets = deny\n");
	expect_out(BOX_PYTHON(box, code), "Operation not permitted\n");
}

Test(namespaces, shared_memory_of_the_host_is_out_of_reach)
{
	struct box *box = box_make();
	int id = shmget((key_t)(0x5b0000 + getpid()), 4096, IPC_CREAT | 0666);
	const struct outcome *o, *shared;

	cr_assert_geq(id, 0);
	o = BOX_RUN(box, "wc", "-l", "/proc/sysvipc/shm");
	box_profile(box, "[namespaces]\nshare = ipc\n");
	shared = BOX_RUN(box, "grep", "-c", arena_format(" %d ", id),
			 "/proc/sysvipc/shm");
	shmctl(id, IPC_RMID, NULL);
	expect_out(o, "1 /proc/sysvipc/shm\n");
	expect_out(shared, "1\n");
}

/* ---- who the payload is ------------------------------------------------------------ */

/* What uid = and gid = are without being said. */
static unsigned int default_id(void)
{
	return getuid() ? getuid() : 1000;
}

Test(identity, ids_inside)
{
	struct box *box = box_make();

	expect_out(BOX_SH(box, "id -u; id -g"),
		   arena_format("%u\n%u\n", default_id(), default_id()));
	box_profile(box, "[namespaces]\nuid = 4321\ngid = 1234\n");
	expect_out(BOX_SH(box, "id -u; id -g"), "4321\n1234\n");
	box_profile(box, "[namespaces]\nuid = 0\ngid = 0\n");
	expect_out(BOX_SH(box, "id -u; id -g"), "0\n0\n");
	box_expect_clean(box);
}

Test(identity, never_root_on_the_host)
{
	struct box *box = box_make();
	struct process *p;
	unsigned int host_uid = 0;
	const char *name;
	const pid_t *pids;
	int payloads = 0;

	p = process_start(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c", "echo on; exec sleep 30") });
	cr_assert(process_await(p, "on\n"));
	for (pids = host_descendants(); *pids; pids++) {
		const char *status = host_process_file(*pids, "status", NULL);

		name = box_field(status, "Name:");
		/* It may not have executed the other one yet. */
		if (strcmp(name, "sh") != 0 && strcmp(name, "sleep") != 0)
			continue;
		payloads++;
		host_uid = (unsigned int)strtoul(
			box_field(status, "Uid:"), NULL, 10);
	}
	process_signal(p, SIGTERM);
	process_finish(p);
	cr_expect_eq(payloads, 1);
	if (identity_self() == IDENTITY_ROOT)
		cr_expect_gt(host_uid, 0);
	else
		cr_expect_eq(host_uid, getuid());
}

Test(identity, groups_of_root_are_given_up)
{
	static const gid_t groups[] = { 4242, 4243 };
	const struct outcome *o;
	const char *file;
	struct box *box;

	box_need_root();
	box = box_make();
	/* /var/lib is visible, and its files keep their owners. */
	file = arena_format("/var/lib/sbx-test-%d", getpid());
	file_write(file, "for the group\n");
	cr_assert_eq(chown(file, 0, 4242), 0);
	cr_assert_eq(chmod(file, 0640), 0);
	cr_assert_eq(setgroups(2, groups), 0);
	o = BOX_SH(box, arena_format("id -G; cat %s", file));
	unlink(file);
	expect_exit(o, 1);
	expect_out(o, "1000\n");
	expect_err_has(o, "Permission denied");
}

static const char *status_inside(struct box *box)
{
	const struct outcome *o = BOX_RUN(box, "cat", "/proc/self/status");

	assert_exit(o, 0);
	return o->out;
}

static void expect_powerless(const char *status)
{
	static const char *const sets[] = {
		"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:",
	};

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		cr_expect_str_eq(box_field(status, sets[i]),
				 "0000000000000000", "%s", sets[i]);
	cr_expect_str_eq(box_field(status, "NoNewPrivs:"), "1");
	cr_expect_str_eq(box_field(status, "Seccomp:"), "2");
}

Test(identity, no_capabilities_and_none_to_come)
{
	struct box *box = box_make();

	expect_powerless(status_inside(box));
	box_profile(box, "[namespaces]\nuid = 0\ngid = 0\n");
	expect_powerless(status_inside(box));
	box_profile(box, "[security]\nrun-as = caller\n");
	expect_powerless(status_inside(box));
	box_profile(box, "[security]\nnested-userns = yes\n");
	expect_powerless(status_inside(box));
}

Test(identity, a_callers_ambient_capability_is_dropped)
{
	const struct outcome *o;
	const char *user;
	struct box *box;

	box_need_root();
	box = box_make();
	scratch_give(box->top);
	user = arena_format("%u", identity_user());
	chmod(getenv("TMPDIR"), 0711);
	o = program_run(&(struct program){
		.argv = ARGV("setpriv", "--reuid", user, "--regid", user,
			     "--clear-groups", "--inh-caps", "+net_raw",
			     "--ambient-caps", "+net_raw", sbx_launch(),
			     "--profile", box->profile, "--", "cat",
			     "/proc/self/status") });
	assert_exit(o, 0);
	expect_powerless(o->out);
	cr_expect_str_eq(box_field(o->out, "Uid:"),
			 arena_format("%s\t%s\t%s\t%s", user, user, user,
				      user));
}

Test(identity, without_the_filter_the_rest_holds)
{
	struct box *box = box_make();
	const char *status;

	box_profile(box, "[security]\nseccomp = none\n");
	status = status_inside(box);
	cr_expect_str_eq(box_field(status, "CapBnd:"), "0000000000000000");
	cr_expect_str_eq(box_field(status, "NoNewPrivs:"), "1");
	/* What root's payload makes belongs to others: a filter of its own. */
	if (identity_self() != IDENTITY_ROOT && !identity_refused())
		cr_expect_str_eq(box_field(status, "Seccomp:"), "0");
}

Test(identity, nested_user_namespaces)
{
	struct box *box = box_make();
	const struct outcome *o;

	expect_out(BOX_SH(box, "unshare -U true 2>/dev/null || echo no"),
		   "no\n");
	/* Without the filter it is the kernel's own limit that holds. */
	box_profile(box, "[security]\nseccomp = none\n");
	expect_out(BOX_SH(box, "unshare -U true 2>/dev/null || echo no"),
		   "no\n");
	box_profile(box, "[security]\nnested-userns = yes\n");
	o = BOX_RUN(box, "unshare", "-Ur", "id", "-u");
	expect_exit(o, 0);
	expect_out(o, "0\n");
}

Test(identity, a_mask_cannot_be_taken_off)
{
	static const char *const tries[] = {
		"umount /tmp", "mount -o remount,bind,rw /",
		"mount -t tmpfs none /tmp", "unshare -m true",
		"unshare -Urm umount /home", "chroot . true",
		"unshare -Urm mount -o remount,bind,rw /",
	};
	struct box *box = box_make();
	struct arena_text text = { 0 };

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++)
		arena_add_format(&text, "%s 2>/dev/null && echo '%s'\n",
				 tries[i], tries[i]);
	arena_add_format(&text, "echo end");
	expect_out(BOX_SH(box, arena_string(&text)), "end\n");
	box_profile(box, "[security]\nnested-userns = yes\nseccomp = none\n");
	expect_out(BOX_SH(box, "unshare -Urm sh -c '"
			  "umount /home; umount -l /home; "
			  "mount -o remount,bind,rw /; true >/x; ls -A /home' "
			  "2>/dev/null; test -e /x && echo wrote; echo end"),
		   "end\n");
}

Test(identity, root_keeps_to_the_files_of_nobody)
{
	struct box *box;
	const struct outcome *o;

	box_need_root();
	box = box_make();
	o = BOX_RUN(box, "head", "-c1", "/etc/shadow");
	expect_exit(o, 1);
	expect_err_has(o, "Permission denied");
	/* Only a word in the profile makes it root's business again. */
	box_profile(box, "[security]\nrun-as = caller\n");
	o = BOX_RUN(box, "head", "-c1", "/etc/shadow");
	expect_exit(o, 0);
	box_profile(box, "[security]\nrun-as = 4711:4712\n");
	file_write(path_in(box->work, "mine"), "mine\n");
	o = BOX_SH(box, "cat mine; echo more >made");
	expect_exit(o, 0);
	expect_out(o, "mine\n");
}
