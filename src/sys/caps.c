/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Capabilities.
 *
 * libcap-ng sets the thread's sets.  It is kept from the bounding set, which
 * needs one prctl(2) a capability anyway: version 0.8.3 reads
 * /proc/PID/status three times around that, with a pid of this namespace and
 * whatever procfs is mounted, and that can be a stranger's.
 *
 * A process that was started by root and keeps an empty set of capabilities
 * would get them all back by the next exec; no_new_privs and the securebits
 * are two locks on that door, the bounding set is the third.
 */
#include "sys/caps.h"

#include "base/mem.h"
#include "sys/proc.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAPS_SECUREBITS                                                     \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |    \
	 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |      \
	 SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED | SECBIT_KEEP_CAPS_LOCKED)

enum { CAPS_NUMBERS = 64 };

static uint64_t caps_bit(int cap)
{
	return (uint64_t)1 << cap;
}

/* Number of the last capability that the kernel has. */
static int caps_last(void)
{
	static int last = -1;

	if (last >= 0)
		return last;
	/* The header's idea first: two calls where it is the kernel's, too */
	last = CAP_LAST_CAP;
	while (last > 0 && prctl(PR_CAPBSET_READ, last, 0, 0, 0) < 0)
		last--;
	while (last + 1 < CAPS_NUMBERS &&
	       prctl(PR_CAPBSET_READ, last + 1, 0, 0, 0) >= 0)
		last++;
	return last;
}

uint64_t caps_all(void)
{
	int last = caps_last();

	return last == CAPS_NUMBERS - 1 ? UINT64_MAX : caps_bit(last + 1) - 1;
}

/* ---- reading --------------------------------------------------------------- */

/* The sets, and their lines in /proc/PID/status, in the order there. */
static const struct {
	const char *name, *label;
	size_t offset;
} caps_sets[] = {
	{ "inheritable", "\nCapInh:\t",
	  offsetof(struct caps_state, inheritable) },
	{ "permitted", "\nCapPrm:\t",
	  offsetof(struct caps_state, permitted) },
	{ "effective", "\nCapEff:\t",
	  offsetof(struct caps_state, effective) },
	{ "bounding", "\nCapBnd:\t",
	  offsetof(struct caps_state, bounding) },
	{ "ambient", "\nCapAmb:\t",
	  offsetof(struct caps_state, ambient) },
};

static uint64_t *caps_set(struct caps_state *state, size_t set)
{
	return (uint64_t *)(void *)((char *)state + caps_sets[set].offset);
}

/* All sets from the text of a status file; false: they are not all there. */
static bool caps_parse_status(const char *text, struct caps_state *state,
			      uint64_t *ret_ignored)
{
	static const char ignored[] = "\nSigIgn:\t";

	text = strstr(text, ignored);
	if (!text)
		return false;
	*ret_ignored = strtoull(text + strlen(ignored), NULL, 16);
	for (size_t i = 0; i < ARRAY_SIZE(caps_sets); i++) {
		/* In the file's order, so each search goes on from the last */
		text = strstr(text, caps_sets[i].label);
		if (!text)
			return false;
		text += strlen(caps_sets[i].label);
		*caps_set(state, i) = strtoull(text, NULL, 16);
	}
	return true;
}

static bool caps_read_status(int procfs, struct caps_state *state,
			     uint64_t *ret_ignored)
{
	auto_close int fd = -EBADF;
	struct error ignored;
	/*
	 * What is behind the sets does not matter; with a long list of groups
	 * before them they are not found, and the other way is taken.
	 */
	char text[2048];
	ssize_t size;

	fd = proc_open_file(procfs, "self/status", O_RDONLY, &ignored);
	if (fd < 0)
		return false;
	size = read(fd, text, sizeof(text) - 1);
	if (size < 0)
		return false;
	text[size] = '\0';
	return caps_parse_status(text, state, ret_ignored);
}

/* The sets that one call tells. */
static int caps_get(struct caps_state *state, struct error *err)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &header, data) < 0)
		return error_set(err, errno, "capget");
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		state->effective |= (uint64_t)data[i].effective << 32 * i;
		state->permitted |= (uint64_t)data[i].permitted << 32 * i;
		state->inheritable |= (uint64_t)data[i].inheritable << 32 * i;
	}
	return 0;
}

int caps_read_effective(uint64_t *ret_set, struct error *err)
{
	struct caps_state read = { .effective = 0 };
	int result = caps_get(&read, err);

	if (result >= 0)
		*ret_set = read.effective;
	return result;
}

/* The same from system calls. */
static int caps_ask_kernel(struct caps_state *state, struct error *err)
{
	struct caps_state read = { .effective = 0 };

	if (caps_get(&read, err) < 0)
		return error_result(err);
	for (int cap = 0; cap <= caps_last(); cap++) {
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
			read.bounding |= caps_bit(cap);
		/* Ambient is a part of both, always */
		if (read.permitted & read.inheritable & caps_bit(cap) &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0,
			  0) == 1)
			read.ambient |= caps_bit(cap);
	}
	*state = read;
	return 0;
}

static int caps_read_all(int procfs, struct caps_state *ret_state,
			 uint64_t *ret_ignored, struct error *err)
{
	struct caps_state state = { .effective = 0 };
	uint64_t ignored = 0;
	int result, bits;

	if (!caps_read_status(procfs, &state, &ignored)) {
		ignored = UINT64_MAX;
		result = caps_ask_kernel(&state, err);
		if (result < 0)
			return result;
	}
	bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
	if (bits < 0)
		return error_call(err, errno, "prctl",
				  "prctl PR_GET_SECUREBITS");
	state.securebits = (unsigned)bits;
	state.no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
	*ret_state = state;
	if (ret_ignored)
		*ret_ignored = ignored;
	return 0;
}

int caps_read(int procfs, struct caps_state *ret_state, struct error *err)
{
	return caps_read_all(procfs, ret_state, NULL, err);
}

/* ---- setting --------------------------------------------------------------- */

int caps_cut_bounding(uint64_t keep, struct error *err)
{
	for (int cap = 0; cap <= caps_last(); cap++) {
		if (keep & caps_bit(cap))
			continue;
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		if (errno == EPERM || errno == EINVAL)
			return 1;
		return error_set(err, errno,
				 "drop capability %d from the bounding set",
				 cap);
	}
	return 0;
}

int caps_apply(uint64_t keep, bool ambient, struct error *err)
{
	const capng_type_t sets =
		CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_INHERITABLE |
		(ambient ? CAPNG_AMBIENT : 0);

	/*
	 * 0 is the calling thread, under any number: the library's own idea
	 * of it is from before a clone(2) that it did not see.
	 */
	capng_setpid(0);
	capng_clear(CAPNG_SELECT_ALL);
	keep &= caps_all();
	for (unsigned cap = 0; cap < CAPS_NUMBERS; cap++)
		if (keep & caps_bit((int)cap))
			capng_update(CAPNG_ADD, sets, cap);
	errno = 0;
	if (capng_apply(CAPNG_SELECT_CAPS) < 0)
		return error_call(err, errno ? errno : EPERM, "capset",
				  "capset");
	errno = 0;
	if (capng_apply(CAPNG_SELECT_AMBIENT) < 0 && errno != EPERM &&
	    errno != EINVAL)
		return error_call(err, errno, "prctl",
				  "prctl PR_CAP_AMBIENT");
	return 0;
}

/* Is everything gone, as the kernel says? */
static int caps_verify_none(int procfs, uint64_t *ret_ignored,
			    struct error *err)
{
	struct caps_state state;
	int result;

	result = caps_read_all(procfs, &state, ret_ignored, err);
	if (result < 0)
		return result;
	for (size_t i = 0; i < ARRAY_SIZE(caps_sets); i++)
		if (*caps_set(&state, i))
			return error_set(err, EPERM,
					 "capabilities: the %s set is not "
					 "empty (0x%llx)", caps_sets[i].name,
					 (unsigned long long)*caps_set(&state,
								       i));
	if ((state.securebits & CAPS_SECUREBITS) != CAPS_SECUREBITS)
		return error_set(err, EPERM,
				 "capabilities: securebits are 0x%x and not "
				 "0x%x", state.securebits,
				 (unsigned)CAPS_SECUREBITS);
	return 0;
}

int caps_drop_all(int procfs, uint64_t *ret_ignored, struct error *err)
{
	int result;

	/* Refused: said by what it left behind, when that is read back */
	if (prctl(PR_SET_SECUREBITS, CAPS_SECUREBITS, 0, 0, 0) < 0 &&
	    errno != EPERM)
		return error_call(err, errno, "prctl",
				  "prctl PR_SET_SECUREBITS");
	result = caps_cut_bounding(0, err);
	if (result < 0)
		return result;
	result = caps_apply(0, false, err);
	if (result < 0)
		return result;
	return caps_verify_none(procfs, ret_ignored, err);
}

int caps_no_new_privs(struct error *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_call(err, errno, "prctl",
				  "prctl PR_SET_NO_NEW_PRIVS");
	return 0;
}
