/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Commands that cannot run and places that cannot be: cause, remedy, reason.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "diagnosed.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"

/* ---- the command -------------------------------------------------------------------- */

static void expect_command(struct box *box, const char *command,
			   const struct diagnosis *want)
{
	expect_diagnosis(box, &(struct program){ 0 }, command, want);
}

static const char *make_script(struct box *box, const char *text)
{
	const char *script = path_in(box->work, "s");

	file_write(script, text);
	chmod(script, 0755);
	return script;
}

Test(command, its_interpreter)
{
	struct box *box = box_make();

	make_script(box, "#! /usr/bin/nothing -x\n");
	box_profile(box, "mode = ro\n");
	expect_command(box, "./s", &(struct diagnosis){ 126, "no-interpreter",
		"exec './s': it is there, but its interpreter "
		"'/usr/bin/nothing' (of its #! line) is not (ENOENT)",
		"install it, or show it inside: system = yes in [[]root], or "
		"a layer in [[]layers]" });
	make_script(box, "#!/home/user/tools/py\n");
	expect_command(box, "./s", &(struct diagnosis){ 126, "no-interpreter",
		"exec './s': it is there, but its interpreter "
		"'/home/user/tools/py' is hidden by mask /home (*p.ini:2) "
		"(ENOENT)",
		"add 'layer = /home/user/tools' to [[]layers]" });
}

Test(command, its_loader)
{
	struct box *box = box_make();

	cr_assert_eq(system(arena_format("cp /bin/true '%s/s'", box->work)),
		     0);
	box_profile_alone(box, "[root]\nsource = none\n[workspace]\n"
			  "path = %s\nmode = ro\n", box->work);
	expect_command(box, "./s", &(struct diagnosis){ 126, "no-interpreter",
		"exec './s': it is there, but its interpreter "
		"'*/ld-linux*' (the loader of its ELF header) is not (ENOENT)",
		"install it, or show it inside: *" });
}

Test(command, of_no_format)
{
	struct box *box = box_make();
	const char *script = make_script(box, "echo on\n");
	int fd;

	box_profile(box, "mode = ro\n");
	expect_command(box, "./s", &(struct diagnosis){ 126, "exec-format",
		"exec './s': it is neither a program nor a script with a #! "
		"line (ENOEXEC)",
		"write its interpreter before it, or put #!/bin/sh or the like "
		"into its first line" });
	cr_assert_eq(system(arena_format("cp /bin/true '%s'", script)), 0);
	fd = open(script, O_WRONLY | O_CLOEXEC);
	/* e_machine: S/390 */
	cr_assert_eq(pwrite(fd, "\x16\0", 2, 18), 2);
	close(fd);
	expect_command(box, "./s", &(struct diagnosis){ 126, "exec-format",
		"exec './s': it is a program for another machine (S/390) "
		"(ENOEXEC)", "use one that was built for this machine" });
}

Test(command, on_a_noexec_mount)
{
	struct box *box;

	box_need_mounts();
	box = box_make();
	cr_assert_eq(mount("none", box->work, "tmpfs", MS_NOEXEC, NULL), 0);
	make_script(box, "#!/bin/sh\n");
	box->host = host_read();
	expect_command(box, "./s", &(struct diagnosis){ 126, "noexec",
		"exec './s': it is on a file system that is mounted noexec "
		"(EACCES)", "mount that without noexec, move the file, or "
		"write its interpreter before it" });
	umount2(box->work, MNT_DETACH);
}

Test(command, hidden)
{
	struct box *box = box_make();

	expect_command(box, "/home/user/bin/tool", &(struct diagnosis){ 127,
		"hidden", "command '/home/user/bin/tool' is hidden by mask "
		"'/home' (*p.ini:2)",
		"add 'layer = /home/user/bin' to [[]layers]" });
	box_profile(box, "[exec]\nchdir = /home/user\n");
	expect_command(box, "true", &(struct diagnosis){ 125, "hidden",
		"*p.ini:9: working directory '/home/user' is hidden by mask "
		"'/home' (*p.ini:2)",
		"add 'layer = /home/user' to [[]layers]" });
}

/* ---- places --------------------------------------------------------------------------- */

Test(places, a_file_in_the_way)
{
	struct box *box = plain_box("[layers]\nlayer = /usr /etc/passwd/x\n");

	EXPECT(box, WITH(0), 125, "mount-point", "*p.ini:4: bind '/usr' on "
	       "'/etc/passwd/x': '/etc/passwd' is a file: Not a directory",
	       "choose a place below a directory");
	box_profile_alone(box, "[layers]\nlayer = /usr /etc/passwd\n");
	EXPECT(box, WITH(0), 125, "mount-point", "*p.ini:2: bind '/usr' on "
	       "'/etc/passwd': '/etc/passwd' is a file, what is mounted there "
	       "is a directory: Not a directory",
	       "mount a directory on a directory, and a file on a file");
	box_profile_alone(box, "[layers]\nlayer = /etc/passwd /usr\n");
	EXPECT(box, WITH(0), 125, "mount-point", "*p.ini:2: bind "
	       "'/etc/passwd' on '/usr': '/usr' is a directory, what is "
	       "mounted there is not: Is a directory",
	       "mount a directory on a directory, and a file on a file");
}

Test(places, a_workspace_that_is_read_only)
{
	struct box *box;

	box_need_mounts();
	box = box_make();
	cr_assert_eq(mount("none", box->work, "tmpfs", MS_RDONLY, NULL), 0);
	box->host = host_read();
	EXPECT(box, WITH(0), 125, "workspace-read-only", arena_format("*"
		"p.ini:7: bind '%s' on '%s': workspace '%s' is on a read-only "
		"mount: Read-only file system", box->work, box->work,
		box->work), "mount it read-write, or set mode = ro or "
	       "ephemeral");
	umount2(box->work, MNT_DETACH);
}

static void overlay_profile(struct box *box, const char *lower,
			    const char *upper)
{
	box_profile_alone(box, "[workspace]\npath = %s\nmode = overlay\n"
			  "upper = %s\n", lower, upper);
}

Test(places, an_upper_on_an_overlay)
{
	struct box *box;
	const char *merged, *upper;

	box_need_root();
	box_need_mounts();
	box = box_make();
	merged = path_in(box->top, "merged");
	upper = path_in(merged, "upper");
	directory_make(path_in(box->top, "l"), 0755);
	directory_make(path_in(box->top, "u"), 0755);
	directory_make(path_in(box->top, "w"), 0755);
	directory_make(merged, 0755);
	cr_assert_eq(mount("none", merged, "overlay", 0,
			   arena_format("lowerdir=%s/l,upperdir=%s/u,"
					"workdir=%s/w", box->top, box->top,
					box->top)), 0);
	directory_make(upper, 0755);
	box_profile_alone(box, "[workspace]\npath = %s\nmode = overlay\n"
			  "upper = %s\n[security]\nrun-as = caller\n",
			  box->work, upper);
	box->host = host_read();
	EXPECT(box, WITH(0), 125, "overlay-upper", "*p.ini:2: overlay *: *",
	       arena_format("upper '%s' is on overlay, which cannot hold one; "
			    "put it on ext4, xfs, btrfs or tmpfs", upper));
	umount2(merged, MNT_DETACH);
}

Test(places, a_mount_below_a_layer)
{
	struct box *box;
	const char *below, *upper;

	box_need_mounts();
	box = box_make();
	below = path_in(box->work, "below");
	upper = path_in(box->top, "upper");
	directory_make(below, 0755);
	directory_make(upper, 0755);
	cr_assert_eq(mount("none", below, "tmpfs", 0, NULL), 0);
	overlay_profile(box, box->work, upper);
	box->host = host_read();
	EXPECT(box, WITH(0), 125, "overlay-lower", "*p.ini:2: overlay *: *",
	       arena_format("'%s' is mounted below the layer '%s': overlay the "
			    "two separately", below, box->work));
	umount2(below, MNT_DETACH);
}

/* ---- one sandbox in another ------------------------------------------------------------ */

Test(nested, in_a_sandbox_that_forbids_it)
{
	struct box *box = box_make();
	const char *inner = path_in(box->work, "inner.ini");
	const struct outcome *o;

	file_write(inner, "[mask]\ntmpfs = /home\n");
	box_profile(box, "mode = ro\n");
	o = BOX_RUN(box, sbx_launch(), "--profile", inner, "--", "true");
	expect_exit(o, 125);
	expect_err(o, "sbx-launch: make the namespaces: clone: already inside "
		   "a sandbox that forbids user namespaces, "
		   "user.max_user_namespaces=0 (EPERM)\n"
		   "sbx-launch: allow them in the sandbox around this one: "
		   "under sbx-launch nested-userns = yes in [security]\n");
	box_profile(box, "mode = ro\n[security]\nnested-userns = yes\n");
	o = BOX_RUN(box, sbx_launch(), "--profile", inner, "--", "true");
	cr_expect(!strstr(o->err, "forbids"), "%s", outcome_describe(o));
}
