/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Capabilities: what /proc/self/status of the next program says. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "attempt.h"
#include "base/mem.h"
#include "harness/identity.h"
#include "harness/program.h"
#include "sys/caps.h"
#include "sys/proc.h"
#include "sys/userns.h"

static struct error err;

#define BIT(cap) ((uint64_t)1 << (cap))

/* What a program that @prepare prepared finds in its own status. */
static const struct outcome *status_after(int (*prepare)(const void *),
					  int namespaces)
{
	return program_run(&(struct program){
		.call = prepare,
		.argv = ARGV("grep", "-E", "^(Cap|NoNew)", "/proc/self/status"),
		.unshare = namespaces });
}

static const char nothing[] = "CapInh:\t0000000000000000\n"
			      "CapPrm:\t0000000000000000\n"
			      "CapEff:\t0000000000000000\n"
			      "CapBnd:\t0000000000000000\n"
			      "CapAmb:\t0000000000000000\n";

/* ---- nothing left ---------------------------------------------------------- */

static int drop_all(const void *unused)
{
	struct caps_state state;

	ATTEMPT(caps_drop_all(-EBADF, NULL, &err));
	ATTEMPT(caps_read(-EBADF, &state, &err));
	CHECK(!(state.effective | state.permitted | state.inheritable |
		state.bounding | state.ambient));
	CHECK(prctl(PR_GET_SECUREBITS) ==
	      (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
	       SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
	       SECBIT_NO_CAP_AMBIENT_RAISE |
	       SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED |
	       SECBIT_KEEP_CAPS_LOCKED));
	/* And a second time, where nothing is left to do it with */
	ATTEMPT(caps_drop_all(-EBADF, NULL, &err));
	return 0;
}

/* The namespace's root, whom an exec gives everything otherwise. */
Test(caps, drops_all_in_a_new_namespace)
{
	const struct outcome *o = status_after(drop_all, CLONE_NEWUSER);

	expect_exit(o, 0);
	expect_out_has(o, nothing);
}

Test(caps, drops_all_as_root)
{
	const struct outcome *o;

	if (identity_self() == IDENTITY_USER)
		return;
	o = status_after(drop_all, 0);
	expect_exit(o, 0);
	expect_out_has(o, nothing);
}

static int drop_and_hold(const void *unused)
{
	ATTEMPT(caps_drop_all(-EBADF, NULL, &err));
	CHECK(prctl(PR_SET_SECUREBITS, 0) < 0 && errno == EPERM);
	CHECK(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0) <
	      0);
	REFUSED(caps_apply(BIT(CAP_CHOWN), true, &err), EPERM, "capset");
	return 0;
}

Test(caps, nothing_brings_them_back)
{
	expect_passes(drop_and_hold, .unshare = CLONE_NEWUSER);
}

static int drop_without_right(const void *unused)
{
	ATTEMPT(caps_apply(0, false, &err));
	REFUSED(caps_drop_all(-EBADF, NULL, &err), EPERM,
		"the bounding set is not empty");
	return 0;
}

Test(caps, says_what_could_not_be_dropped)
{
	expect_passes(drop_without_right);
}

/* Ambient ones survive an exec of any user: exactly what has to be gone. */
static int drop_ambient(const void *unused)
{
	ATTEMPT(caps_apply(caps_all(), true, &err));
	return drop_all(unused);
}

Test(caps, drops_ambient_ones)
{
	const struct outcome *o = status_after(drop_ambient, CLONE_NEWUSER);

	expect_exit(o, 0);
	expect_out_has(o, nothing);
}

/* ---- some left ------------------------------------------------------------- */

static const uint64_t some = BIT(CAP_NET_RAW) | BIT(CAP_SETFCAP);

/* As an ordinary user inside, so that only ambient ones live on. */
static int keep_some(const void *unused)
{
	char map[64];

	snprintf(map, sizeof(map), "1000 %u 1", getuid());
	CHECK(unshare(CLONE_NEWUSER) == 0);
	ATTEMPT(userns_write_maps(-EBADF, 0, map, NULL, true, &err));
	CHECK(caps_cut_bounding(some, &err) == 0);
	ATTEMPT(caps_apply(some, true, &err));
	ATTEMPT(caps_no_new_privs(&err));
	return 0;
}

Test(caps, keeps_exactly_what_is_wanted)
{
	const struct outcome *o = status_after(keep_some, 0);

	expect_exit(o, 0);
	expect_out(o, "CapInh:\t0000000080002000\n"
		      "CapPrm:\t0000000080002000\n"
		      "CapEff:\t0000000080002000\n"
		      "CapBnd:\t0000000080002000\n"
		      "CapAmb:\t0000000080002000\n"
		      "NoNewPrivs:\t1\n");
}

static int change_sets(const void *unused)
{
	struct caps_state before, state;
	uint64_t effective = 0;

	ATTEMPT(caps_read(-EBADF, &before, &err));
	CHECK(before.permitted == caps_all() && !before.ambient);
	ATTEMPT(caps_apply(some, true, &err));
	ATTEMPT(caps_read(-EBADF, &state, &err));
	CHECK(state.effective == some && state.permitted == some);
	ATTEMPT(caps_read_effective(&effective, &err));
	CHECK(effective == some);
	CHECK(state.inheritable == some && state.ambient == some);
	CHECK(state.bounding == before.bounding && !state.no_new_privs);
	/* More than there is: refused as a whole */
	REFUSED(caps_apply(some | BIT(CAP_CHOWN), true, &err), EPERM,
		"capset");
	ATTEMPT(caps_read(-EBADF, &state, &err));
	CHECK(state.effective == some && state.ambient == some);
	/* Without ambient ones */
	ATTEMPT(caps_apply(some, false, &err));
	ATTEMPT(caps_read(-EBADF, &state, &err));
	CHECK(state.effective == some && !state.ambient);
	/* Bits that no kernel has do not matter */
	ATTEMPT(caps_apply(BIT(CAP_NET_RAW) | BIT(63), false, &err));
	ATTEMPT(caps_read(-EBADF, &state, &err));
	CHECK(state.permitted == BIT(CAP_NET_RAW));
	/* CAP_SETPCAP is gone */
	CHECK(caps_cut_bounding(0, &err) == 1);
	return 0;
}

Test(caps, changes_the_sets)
{
	expect_passes(change_sets, .unshare = CLONE_NEWUSER);
}

/* The library keeps the number of the thread; a clone it does not see. */
static int apply_in_clones(const void *unused)
{
	const struct proc_clone args = {
		.flags = CLONE_NEWPID,
		.cgroup_fd = -EBADF,
	};
	struct caps_state state;
	int pidfd, status;
	pid_t pid;

	ATTEMPT(caps_apply(caps_all(), false, &err));
	pid = (pid_t)ATTEMPT(proc_clone(&args, &pidfd, &err));
	if (!pid) {
		uint64_t keep = some | BIT(CAP_SETPCAP);

		if (caps_apply(keep, false, &err) < 0 ||
		    caps_read(-EBADF, &state, &err) < 0 ||
		    state.permitted != keep)
			_exit(1);
		_exit(caps_drop_all(-EBADF, NULL, &err) < 0 ? 2 : 0);
	}
	ATTEMPT(proc_child_wait(pidfd, pid, true, &status, NULL, &err));
	CHECK(status == 0);
	return 0;
}

Test(caps, works_in_a_process_that_was_cloned)
{
	expect_passes(apply_in_clones, .unshare = CLONE_NEWUSER);
}

/* ---- reading --------------------------------------------------------------- */

static int read_both_ways(const void *unused)
{
	struct caps_state by_file, by_call;
	int nowhere = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	ATTEMPT(caps_apply(some, true, &err));
	ATTEMPT(caps_read(-EBADF, &by_file, &err));
	/* No status file below this one */
	ATTEMPT(caps_read(nowhere, &by_call, &err));
	CHECK(!memcmp(&by_file, &by_call, sizeof(by_file)));
	CHECK(by_file.ambient == some);
	return 0;
}

static int drop_all_without_proc(const void *unused)
{
	int nowhere = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint64_t ignored = 0;

	ATTEMPT(caps_drop_all(nowhere, &ignored, &err));
	CHECK(ignored == UINT64_MAX);
	return 0;
}

static int drop_all_and_tell_signals(const void *unused)
{
	uint64_t ignored = 0;

	for (int number = 1; number <= SIGRTMAX; number++)
		signal(number, number == SIGALRM || number == SIGRTMAX ?
		       SIG_IGN : SIG_DFL);
	ATTEMPT(caps_drop_all(-EBADF, &ignored, &err));
	CHECK(ignored == (1ULL << (SIGALRM - 1) | 1ULL << (SIGRTMAX - 1)));
	return 0;
}

Test(caps, reads_with_and_without_proc)
{
	expect_passes(drop_all_without_proc, .unshare = CLONE_NEWUSER);
	expect_passes(drop_all_and_tell_signals, .unshare = CLONE_NEWUSER);
	expect_passes(read_both_ways, .unshare = CLONE_NEWUSER);
}

static int read_flags(const void *unused)
{
	struct caps_state state;

	ATTEMPT(caps_no_new_privs(&err));
	CHECK(prctl(PR_SET_SECUREBITS, SECBIT_NOROOT) == 0);
	ATTEMPT(caps_read(-EBADF, &state, &err));
	CHECK(state.no_new_privs && state.securebits == SECBIT_NOROOT);
	return 0;
}

Test(caps, reads_no_new_privs_and_securebits)
{
	expect_passes(read_flags, .unshare = CLONE_NEWUSER);
}
