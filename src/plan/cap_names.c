/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/cap_names.h"

#include "base/mem.h"

#include <assert.h>
#include <ctype.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const cap_names[] = {
	[CAP_CHOWN] = "cap_chown",
	[CAP_DAC_OVERRIDE] = "cap_dac_override",
	[CAP_DAC_READ_SEARCH] = "cap_dac_read_search",
	[CAP_FOWNER] = "cap_fowner",
	[CAP_FSETID] = "cap_fsetid",
	[CAP_KILL] = "cap_kill",
	[CAP_SETGID] = "cap_setgid",
	[CAP_SETUID] = "cap_setuid",
	[CAP_SETPCAP] = "cap_setpcap",
	[CAP_LINUX_IMMUTABLE] = "cap_linux_immutable",
	[CAP_NET_BIND_SERVICE] = "cap_net_bind_service",
	[CAP_NET_BROADCAST] = "cap_net_broadcast",
	[CAP_NET_ADMIN] = "cap_net_admin",
	[CAP_NET_RAW] = "cap_net_raw",
	[CAP_IPC_LOCK] = "cap_ipc_lock",
	[CAP_IPC_OWNER] = "cap_ipc_owner",
	[CAP_SYS_MODULE] = "cap_sys_module",
	[CAP_SYS_RAWIO] = "cap_sys_rawio",
	[CAP_SYS_CHROOT] = "cap_sys_chroot",
	[CAP_SYS_PTRACE] = "cap_sys_ptrace",
	[CAP_SYS_PACCT] = "cap_sys_pacct",
	[CAP_SYS_ADMIN] = "cap_sys_admin",
	[CAP_SYS_BOOT] = "cap_sys_boot",
	[CAP_SYS_NICE] = "cap_sys_nice",
	[CAP_SYS_RESOURCE] = "cap_sys_resource",
	[CAP_SYS_TIME] = "cap_sys_time",
	[CAP_SYS_TTY_CONFIG] = "cap_sys_tty_config",
	[CAP_MKNOD] = "cap_mknod",
	[CAP_LEASE] = "cap_lease",
	[CAP_AUDIT_WRITE] = "cap_audit_write",
	[CAP_AUDIT_CONTROL] = "cap_audit_control",
	[CAP_SETFCAP] = "cap_setfcap",
	[CAP_MAC_OVERRIDE] = "cap_mac_override",
	[CAP_MAC_ADMIN] = "cap_mac_admin",
	[CAP_SYSLOG] = "cap_syslog",
	[CAP_WAKE_ALARM] = "cap_wake_alarm",
	[CAP_BLOCK_SUSPEND] = "cap_block_suspend",
	[CAP_AUDIT_READ] = "cap_audit_read",
	[CAP_PERFMON] = "cap_perfmon",
	[CAP_BPF] = "cap_bpf",
	[CAP_CHECKPOINT_RESTORE] = "cap_checkpoint_restore",
};
const size_t cap_names_count = ARRAY_SIZE(cap_names);
static_assert(ARRAY_SIZE(cap_names) == CAP_LAST_CAP + 1,
	      "a name for each capability");

enum { CAPS_MOST = 64 };

int cap_from_text(const char *text, int *ret_cap)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	size_t length = strspn(text, letters);

	if (!strcasecmp(text, "all")) {
		*ret_cap = CAP_ALL;
		return 0;
	}
	for (size_t i = 0; i < cap_names_count; i++) {
		if (strlen(cap_names[i]) != length ||
		    strncasecmp(text, cap_names[i], length) != 0)
			continue;
		*ret_cap = (int)i;
		return 0;
	}
	if (isdigit((unsigned char)*text)) {
		unsigned long number = strtoul(text, NULL, 0);

		if (number < CAPS_MOST) {
			*ret_cap = (int)number;
			return 0;
		}
	}
	return -EINVAL;
}
