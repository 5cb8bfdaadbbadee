/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Without the calls for detached mounts: the same sandbox, or a refusal that
 * says what is missing.  Whole suites run like that, too: root:ENOSYS and the
 * like in meson.build.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/identity.h"
#include "harness/scratch.h"

#define MOUNT_CALLS(error)                                       \
	{ "open_tree", error }, { "mount_setattr", error },      \
	{ "move_mount", error }, { "fsopen", error },            \
	{ "fsconfig", error }, { "fsmount", error }

static const struct refusal unknown[] = { MOUNT_CALLS(ENOSYS), { 0 } };
static const struct refusal refused[] = { MOUNT_CALLS(EPERM), { 0 } };
/* What is younger than Linux 5.2, or 5.6, or 5.9 */
static const struct refusal younger[] = {
	MOUNT_CALLS(ENOSYS), { "openat2", ENOSYS }, { "clone3", ENOSYS },
	{ "close_range", ENOSYS }, { "faccessat2", ENOSYS },
	{ "landlock_create_ruleset", ENOSYS }, { 0 },
};
/* Linux 4.18: no descriptor of a process either, whoever asks for one */
static const struct refusal oldest[] = {
	MOUNT_CALLS(ENOSYS), { "openat2", ENOSYS }, { "clone3", ENOSYS },
	{ "close_range", ENOSYS }, { "faccessat2", ENOSYS },
	{ "landlock_create_ruleset", ENOSYS },
	{ "clone", EINVAL, 0, CLONE_PIDFD, CLONE_PIDFD },
	{ "pidfd_open", ENOSYS }, { "pidfd_send_signal", ENOSYS },
	{ "waitid", EINVAL, 0, ~0U, P_PIDFD }, { 0 },
};
/* Linux 5.2 to 5.11 */
static const struct refusal last_only[] = {
	{ "mount_setattr", ENOSYS }, { 0 },
};

static const struct refusal *const kernels[] = {
	unknown, refused, younger, oldest, last_only,
};

/* Root's own files cannot be shown to another id. */
static const char *own_id(void)
{
	return identity_self() == IDENTITY_ROOT && !identity_refused() ?
	       "[security]\nrun-as = caller\n" : "";
}

static const struct outcome *run_without(const struct refusal *calls,
					 const char *const *argv)
{
	return program_run(&(struct program){ .argv = argv,
					      .refuse = calls });
}

/* ---- which it is ----------------------------------------------------------- */

Test(engine, features_name_it)
{
	const char *const *argv = ARGV(sbx_launch(), "--features");

	if (!identity_refused())
		expect_out_has(run_without(NULL, argv),
			       "\nengine descriptors\n");
	expect_out_has(run_without(unknown, argv),
		       "\nengine legacy open_tree ENOSYS\n");
	expect_out_has(run_without(refused, argv),
		       "\nengine legacy open_tree EPERM\n");
	if (!identity_refused())
		expect_out_has(run_without(last_only, argv),
			       "\nengine legacy mount_setattr ENOSYS\n");
}

Test(engine, a_check_names_it)
{
	struct box *box = box_make();
	const struct outcome *o;

	box_profile(box, "%s", own_id());
	o = run_without(refused, ARGV(sbx_launch(), "--check", "--profile",
				      box->profile));
	expect_exit(o, 0);
	expect_out_has(o, "legacy open_tree EPERM\n");
	o = run_without(unknown, ARGV(sbx_launch(), "--check=json",
				      "--profile", box->profile));
	expect_exit(o, 0);
	expect_out_has(o, "\"engine\": \"legacy open_tree ENOSYS\"");
	box_expect_clean(box);
}

/* ---- the same sandbox ------------------------------------------------------- */

/*
 * Mount points with the options of the last mount on each.  One that another
 * covers cannot be reached, and by mount(2) not be changed either.
 */
#define SHOW_MOUNTS                                                     \
	"while read a b c d e f g; do echo \"$e $f\"; done "            \
	"</proc/self/mountinfo | tac | sort -s -u -k 1,1; "             \
	"ls -di / /..; readlink /proc/self/root"

Test(engine, the_mounts_are_the_same)
{
	struct box *box = box_make();
	const struct outcome *expected, *o;

	box_profile(box, "[mask]\nhide = /etc/passwd\ntmpfs = /opt rw\n"
		    "[mounts]\ndev = /dev\nproc = /proc\n"
		    "ro-bind = /usr /mnt/new\n%s", own_id());
	expected = BOX_SH(box, SHOW_MOUNTS);
	expect_exit(expected, 0);
	expect_out_has(expected, "/mnt/new ro,nosuid,nodev");
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
		o = run_without(kernels[i], BOX_ARGV(box, "sh", "-c",
						     SHOW_MOUNTS));
		expect_exit(o, 0);
		expect_out(o, expected->out);
	}
	box_expect_clean(box);
}

Test(engine, the_workspace_is_written_to)
{
	struct box *box = box_make();
	const struct outcome *o;

	box_profile(box, "%s", own_id());
	o = run_without(unknown, BOX_ARGV(box, BOX_MARK));
	expect_out(o, "ran\n");
	cr_expect(file_exists(path_in(box->work, "ran")));
	box_expect_clean(box);
}

/* ---- how it ends, without pidfds ------------------------------------------- */

#define HOST_ROOT "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"

Test(engine, a_run_ends_by_itself_without_pidfds)
{
	static const char *const share[] = { "", "share = pid\n" };
	struct box *box = box_make();

	for (int i = 0; i < 2; i++) {
		/* A name that is missing takes a janitor. */
		box_profile(box, "protect = .git\n[namespaces]\n%s%s",
			    share[i], own_id());
		expect_exit(run_without(oldest, BOX_ARGV(box, "sh", "-c",
			    "sleep 98 & exit 7")), 7);
		expect_exit(run_without(oldest, BOX_ARGV(box, "sh", "-c",
			    "kill -9 $$")), 128 + SIGKILL);
	}
	expect_exit(run_without(oldest, ARGV(sbx_launch(), HOST_ROOT, "--",
		    "sh", "-c", "exit 7")), 7);
	expect_exit(run_without(oldest, ARGV(sbx_launch(), HOST_ROOT,
		    "--unshare-pid", "--", "sh", "-c", "kill -9 $$")),
		    128 + SIGKILL);
	box_expect_clean(box);
}

Test(engine, a_run_is_ended_without_pidfds)
{
	struct box *box = box_make();
	struct process *process;

	box_profile(box, "[limits]\ntimeout = 300ms\ngrace = 100ms\n%s",
		    own_id());
	expect_exit(run_without(oldest, BOX_ARGV(box, "sh", "-c",
		    "trap '' TERM; sleep 98 & sleep 97")), 124);
	box_profile(box, "[limits]\ngrace = 100ms\n%s", own_id());
	process = process_start(&(struct program){
		.argv = BOX_ARGV(box, "sh", "-c",
				 "trap '' TERM; sleep 98 & echo up; sleep 97"),
		.refuse = oldest });
	cr_expect(process_await(process, "up"));
	process_signal(process, SIGTERM);
	expect_exit(process_finish(process), 128 + SIGKILL);
	box_expect_clean(box);
}

/* ---- no /proc inside --------------------------------------------------------- */

Test(engine, descriptors_without_close_range)
{
	static const struct refusal missing[] = { { "close_range", ENOSYS },
						  { 0 } };
	static const struct refusal filtered[] = { { "close_range", EPERM },
						   { 0 } };
	const char *const *argv = ARGV(sbx_launch(), "--unshare-pid",
		"--ro-bind", "/", "/", "--tmpfs", "/mnt", "--proc",
		"/mnt/proc", "--tmpfs", "/proc", "--", "sh", "-c",
		"ls /mnt/proc/self/fd /mnt/proc/1/fd");
	const struct outcome *expected = run_without(NULL, argv);

	expect_exit(expected, 0);
	expect_out(run_without(missing, argv), expected->out);
	expect_out(run_without(filtered, argv), expected->out);
}

/* As few as the loader needs for a library. */
Test(engine, few_descriptors_without_close_range)
{
	static const struct refusal missing[] = { { "close_range", ENOSYS },
						  { 0 } };
	struct box *box = box_make();

	box_profile(box, "[limits]\nopen-files = 4\n%s", own_id());
	expect_out(run_without(missing, BOX_ARGV(box, "sh", "-c",
		   "ulimit -n; ulimit -Hn")), "4\n4\n");
	box_expect_clean(box);
}

/* ---- what is mounted below a source ---------------------------------------- */

#define TRICKY "a b\tc\\d"

Test(engine, everything_below_a_source_is_read_only)
{
	const char *top, *tricky, *inner, *covered;
	struct box *box;

	box_need_mounts();
	box = box_make();
	top = scratch_make();
	tricky = path_in(top, TRICKY);
	cr_assert_eq(mount("test", top, "tmpfs", 0, "mode=777"), 0);
	directory_make(tricky, 0777);
	cr_assert_eq(mount("test", tricky, "tmpfs", 0, "mode=777"), 0);
	inner = path_in(tricky, "inner");
	directory_make(inner, 0777);
	cr_assert_eq(mount("test", inner, "tmpfs", MS_NOEXEC, "mode=777"), 0);
	covered = path_in(top, "covered");
	directory_make(covered, 0777);
	cr_assert_eq(mount("test", covered, "tmpfs", 0, "mode=777"), 0);
	cr_assert_eq(mount("test", covered, "tmpfs", 0, "mode=777"), 0);
	box_profile(box, "[layers]\nlayer = %s /opt\n%s", top, own_id());
	expect_out(run_without(unknown, BOX_ARGV(box, "sh", "-c",
		   "cd /opt; for d in . * */inner; do"
		   " true >\"$d/x\" || echo no; done 2>/dev/null;"
		   /* Once more where it is on the host */
		   " grep -c 'inner ro,nosuid,nodev,noexec' "
		   "/proc/self/mountinfo")),
		   "no\nno\nno\nno\n2\n");
	umount2(top, MNT_DETACH);
}

/* ---- what cannot be ---------------------------------------------------------- */

Test(engine, no_workspace_under_another_id)
{
	struct box *box;
	const struct outcome *o;

	box_need_root();
	if (identity_refused())
		return;
	box = box_make();
	o = run_without(unknown, BOX_ARGV(box, BOX_MARK));
	box_expect_refused(box, o, 125, "cannot be shown with other owners",
			   "open_tree", "run-as = caller", NULL);
	o = run_without(unknown, ARGV(sbx_launch(), "--check=json",
				      "--profile", box->profile));
	expect_exit(o, 125);
	expect_out_has(o, "\"reason\": \"idmap\"");
}

Test(engine, neither_kind_of_calls)
{
	static const struct refusal neither[] = {
		MOUNT_CALLS(EPERM), { "mount", EPERM, 3, MS_NOSUID | MS_REC,
				      MS_NOSUID }, { 0 },
	};
	struct box *box = box_make();
	const struct outcome *o;

	box_profile(box, "%s", own_id());
	o = run_without(neither, BOX_ARGV(box, BOX_MARK));
	box_expect_refused(box, o, 125, "open_tree is refused", "mount tmpfs",
			   "mount(2) is refused", NULL);
}

Test(engine, some_of_the_calls)
{
	static const struct refusal some[] = { { "move_mount", EPERM }, { 0 } };
	struct box *box = box_make();
	const struct outcome *o;

	if (identity_refused())
		return;
	box_profile(box, "%s", own_id());
	o = run_without(some, BOX_ARGV(box, BOX_MARK));
	box_expect_refused(box, o, 125, "move_mount", "container", NULL);
}
