/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engine/conditions.h"

#include "base/text.h"

#include <assert.h>
#include <string.h>

/* The reasons are documented in sbx-launch(1), DIAGNOSTICS. */
static const struct {
	const char *reason;
	const char *cause;  /* NULL: the text says it already */
	const char *remedy;
} conditions[] = {
	[CONDITION_NS_FORBIDDEN] = { "ns-limit:{name}",
		"already inside a sandbox that forbids user namespaces, "
		"user.max_{name}_namespaces=0",
		"allow them in the sandbox around this one: under sbx-launch "
		"nested-userns = yes in [security]" },
	[CONDITION_NS_LIMIT] = { "ns-limit:{name}",
		"user.max_{name}_namespaces={value} allows no more",
		"whoever runs this machine or the container around has to "
		"allow more: sysctl -w user.max_{name}_namespaces=10000" },
	[CONDITION_NS_DEPTH] = { "ns-depth",
		"namespaces are nested too deeply (32 at most), or a limit of "
		"a namespace around this one is reached",
		"start it in fewer sandboxes inside one another, or raise "
		"user.max_*_namespaces outside of them" },
	[CONDITION_NS_UNKNOWN] = { "ns-unsupported",
		"this kernel has no {name} namespaces",
		"use a kernel that was built with them (CONFIG_NAMESPACES, "
		"CONFIG_USER_NS and its like)" },
	[CONDITION_USERNS_SYSCTL] = { "userns-sysctl",
		"kernel.unprivileged_userns_clone=0 keeps user namespaces from "
		"ordinary users",
		"whoever runs this machine has to allow them: sysctl -w "
		"kernel.unprivileged_userns_clone=1" },
	[CONDITION_USERNS_APPARMOR] = { "userns-apparmor",
		"AppArmor keeps user namespaces from programs without a "
		"profile (kernel.apparmor_restrict_unprivileged_userns=1)",
		"install the AppArmor profile that comes with sbx-launch as "
		"/etc/apparmor.d/sbx-launch, with the path {path} in it, and "
		"load it: apparmor_parser -r /etc/apparmor.d/sbx-launch" },
	[CONDITION_USERNS_UNMAPPED] = { "userns-unmapped",
		"the id of this process has no mapping in the user namespace "
		"around",
		"have whoever made that namespace write its uid_map and "
		"gid_map first" },
	[CONDITION_USERNS_SECCOMP] = { "userns-seccomp",
		"a system-call filter (seccomp) of the surrounding container "
		"refuses user namespaces",
		"start the container with a filter that allows clone, unshare "
		"and mount: docker or podman run --security-opt "
		"seccomp=unconfined --security-opt systempaths=unconfined" },
	[CONDITION_USERNS_LSM] = { "userns-lsm",
		"a security module refuses user namespaces to '{value}'",
		"give the program or its container a policy that allows them: "
		"docker or podman run --security-opt apparmor=unconfined or "
		"label=disable" },
	[CONDITION_CHROOT] = { "chroot",
		"running in a chroot, where the kernel gives no user "
		"namespaces",
		"enter the tree with pivot_root or as a container's root "
		"instead of with chroot" },
	[CONDITION_CHROOT_PLAIN] = { "chroot",
		"running in a chroot, whose root directory is not a mount "
		"point",
		"enter the tree with pivot_root or as a container's root "
		"instead of with chroot" },
	[CONDITION_NAMESPACES] = { "namespaces",
		"the kernel or a security module refuses new namespaces",
		"look into the kernel's log for who refused: dmesg or "
		"journalctl -k" },
	[CONDITION_PROCESS_LIMIT] = { "process-limit",
		"no more processes are allowed to this user or in this control "
		"group",
		"raise the limit (ulimit -u, or pids.max of the group), or end "
		"some processes" },
	[CONDITION_UIDMAP_READ_ONLY] = { "uidmap",
		"/proc is mounted read-only, so that no id can be mapped",
		"give the sandbox or container around a /proc that can be "
		"written, as its own and not as a read-only bind" },
	[CONDITION_UIDMAP_SETFCAP] = { "setfcap",
		"mapping uid 0 of the namespace around needs CAP_SETFCAP, "
		"which is missing",
		"start as an ordinary user, or add the capability: docker or "
		"podman run --cap-add SETFCAP" },
	[CONDITION_UIDMAP] = { "uidmap",
		"the kernel or a security module refuses the id map",
		"look into the kernel's log for who refused: dmesg or "
		"journalctl -k" },
	[CONDITION_PROC_MISSING] = { "proc-missing",
		"there is no process file system at /proc",
		"mount one: mount -t proc proc /proc" },
	[CONDITION_ONLY_ROOT_ID] = { "only-root-id", NULL,
		"map more ids into the namespace, start as an ordinary user, "
		"or accept the host's root with run-as = caller" },
	[CONDITION_MOUNT_MAX] = { "mount-max",
		"the mount namespace holds {value} mounts and fs.mount-max is "
		"{name}",
		"bind fewer trees with many mounts below them, or raise the "
		"limit: sysctl -w fs.mount-max=200000" },
	[CONDITION_PROC_MASKED] = { "proc-masked",
		"masked /proc (mount too revealing): '{path}' covers a part of "
		"it, so that the kernel gives no new one",
		"start the container with a /proc that is not masked: docker "
		"or podman run --security-opt systempaths=unconfined" },
	[CONDITION_MOUNT_UNBINDABLE] = { "mount-unbindable",
		"it is on '{path}', which is mounted unbindable",
		"have whoever mounted it allow it: mount --make-private "
		"'{path}'" },
	[CONDITION_MOUNT_API] = { "mount-api",
		"{call}(2) does not exist here: the kernel is older than 5.12, "
		"or a system-call filter hides it",
		"use a newer kernel, or a container whose filter knows "
		"{call}" },
	[CONDITION_MOUNT_SECCOMP] = { "mount-denied",
		"{call}(2) is refused by a system-call filter (seccomp) of the "
		"surrounding container",
		"start the container with a filter that allows {call}: docker "
		"or podman run --security-opt seccomp=unconfined" },
	[CONDITION_ROOTFS] = { "initramfs",
		"running on the file system that the machine started with "
		"(initramfs), which cannot be exchanged for another",
		"mount a root file system, and enter it with switch_root "
		"before" },
	[CONDITION_MOUNT_LSM] = { "mount-denied",
		"{call}(2) is refused by a security module to '{value}'",
		"give the program or its container a policy that allows "
		"mounts: docker or podman run --security-opt "
		"apparmor=unconfined or label=disable" },
	[CONDITION_MOUNT_DENIED] = { "mount-denied",
		"{call}(2) is refused by the surrounding container or a "
		"security module",
		"look into the kernel's log for who refused (dmesg, journalctl "
		"-k), and allow {call} there" },
	[CONDITION_AUTOMOUNT] = { "source-missing",
		"the automount at '{path}' mounts nothing there",
		"see whether the daemon behind it runs, correct the path, or "
		"write 'optional' behind it to go on without" },
	[CONDITION_SOURCE_MISSING] = { "source-missing", NULL,
		"make it, correct the path, or write 'optional' behind it to "
		"go on without" },
	[CONDITION_SOURCE_DENIED] = { "source-denied", NULL,
		"the user that starts the sandbox has to be able to enter "
		"every directory on the way to it" },
	[CONDITION_NO_IDMAP] = { "idmap",
		"{value} has no id-mapped mounts",
		"use ext4, xfs, btrfs or tmpfs, or start as an ordinary user, "
		"or set run-as = caller" },
	[CONDITION_OPEN_FILES] = { "open-files", NULL,
		"the hard limit on open files is too low for this many mounts: "
		"raise it (ulimit -Hn)" },
	[CONDITION_WORKSPACE_READ_ONLY] = { "workspace-read-only", NULL,
		"mount it read-write, or set mode = ro or ephemeral" },
	[CONDITION_OVERLAY_UPPER] = { "overlay-upper", NULL,
		"upper '{path}' is on {value}, which cannot hold one; put it "
		"on ext4, xfs, btrfs or tmpfs" },
	[CONDITION_OVERLAY_LOWER] = { "overlay-lower", NULL,
		"'{path}' is mounted below the layer '{value}': overlay the "
		"two separately" },
	[CONDITION_OVERLAY_LOWER_KIND] = { "overlay-lower", NULL,
		"'{path}' is on a file system that cannot be a layer "
		"({value}): copy it to another one" },
	[CONDITION_OVERLAY_COUNT] = { "overlay-layers", NULL,
		"the kernel lays at most 500 directories on each other: merge "
		"some of them" },
	[CONDITION_OVERLAY_WORK] = { "overlay-layers", NULL,
		"upper '{path}' and work '{value}' have to be on one file "
		"system, and neither in the other" },
	[CONDITION_OVERLAY_DEPTH] = { "overlay-layers", NULL,
		"'{path}' is on an overlay itself: if that lies on another "
		"one, the kernel takes no third; put it on another file "
		"system" },
	[CONDITION_OVERLAY_READ_ONLY] = { "overlay-read-only", NULL,
		"upper '{path}' and its work directory must belong to the user "
		"that the payload runs as" },
	[CONDITION_OVERLAY_BUSY] = { "overlay-busy", NULL,
		"wait for that run to end, or give each run an upper directory "
		"of its own" },
	[CONDITION_POINT_KIND] = { "mount-point", NULL,
		"mount a directory on a directory, and a file on a file" },
	[CONDITION_POINT_PARENT] = { "mount-point", NULL,
		"choose a place below a directory" },
	[CONDITION_POINT_MISSING] = { "mount-point", NULL,
		"make it on the host before, or choose a place outside of what "
		"is writable" },
	[CONDITION_CAPABILITY] = { "capability",
		"started as root without {name}, which this needs",
		"start as an ordinary user, or add the capability: docker or "
		"podman run --cap-add {value}" },
	[CONDITION_CALL_DENIED] = { "call-denied",
		"{call}(2) is refused by a system-call filter (seccomp) of the "
		"surrounding container",
		"start the container with a filter that allows {call}: docker "
		"or podman run --security-opt seccomp=unconfined" },
	[CONDITION_SIGSYS] = { "seccomp-kill",
		"killed by a system-call filter of the surrounding container "
		"(SIGSYS)",
		"start it with a filter that allows namespaces and mounts: "
		"docker or podman run --security-opt seccomp=unconfined" },
	[CONDITION_HUNG] = { "setup-timeout", NULL,
		"{value} at '{path}' does not answer: unmount it (umount -l), "
		"restart its server, or leave it out" },
	[CONDITION_INTERPRETER_HIDDEN] = { "no-interpreter",
		"it is there, but its interpreter '{name}' is hidden by mask "
		"{value}",
		"add 'layer = {path}' to [layers]" },
	[CONDITION_INTERPRETER_MISSING] = { "no-interpreter",
		"it is there, but its interpreter '{name}' ({value}) is not",
		"install it, or show it inside: system = yes in [root], or a "
		"layer in [layers]" },
	[CONDITION_NOEXEC] = { "noexec",
		"it is on a file system that is mounted noexec",
		"mount that without noexec, move the file, or write its "
		"interpreter before it" },
	[CONDITION_FORMAT] = { "exec-format",
		"it is neither a program nor a script with a #! line",
		"write its interpreter before it, or put #!/bin/sh or the like "
		"into its first line" },
	[CONDITION_MACHINE] = { "exec-format",
		"it is a program for another machine ({value})",
		"use one that was built for this machine" },
};
static_assert(ARRAY_SIZE(conditions) == CONDITION_COUNT, "a row for each");

static const char *word_of(const struct condition_words *words,
			   const char *name, size_t size)
{
	const struct {
		const char *name, *value;
	} all[] = {
		{ "call", words->call }, { "name", words->name },
		{ "path", words->path }, { "value", words->value },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (strlen(all[i].name) == size &&
		    !strncmp(all[i].name, name, size))
			return all[i].value ? all[i].value : "?";
	return "";
}

static const char *expand(struct arena *arena, const char *text,
			  const struct condition_words *words)
{
	struct text_buf buf = { .arena = arena };

	while (*text) {
		size_t plain = strcspn(text, "{"), name;

		text_add_bytes(&buf, text, plain);
		text += plain;
		if (!*text)
			break;
		name = strcspn(++text, "}");
		text_add(&buf, word_of(words, text, name));
		text += name + 1;
	}
	return buf.at;
}

void condition_apply(const struct plan *plan, enum condition which,
		     const struct condition_words *words, struct error *err)
{
	struct arena *arena = plan->arena;
	const char *cause = conditions[which].cause;
	const char *name = error_errno_name(err->code);

	error_reason(err, expand(arena, conditions[which].reason, words));
	error_remedy(err, "%s", expand(arena, conditions[which].remedy,
				       words));
	if (!cause || plan->rules == PLAN_RULES_BWRAP)
		return;
	error_say(err, "%s", arena_printf(arena, "%s: %s%s%s%s", err->text,
					   expand(arena, cause, words),
					   name ? " (" : "", name ? name : "",
					   name ? ")" : ""));
	err->is_complete = true;
}
