/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What bubblewrap's language refuses, with its very words. */
#include "bwrap_line.h"

#include <criterion/criterion.h>

#define USAGE_PERMS "--perms must be followed by an option that creates a file"
#define USAGE_SRC "--overlay-src must be followed by another --overlay-src " \
	"or one of --overlay, --tmp-overlay, or --ro-overlay"

struct refused {
	const char *text; /* NULL: it is taken */
	const char *const words[10];
};

static void check_all(const struct refused *rows, size_t count, uint32_t uid)
{
	for (size_t i = 0; i < count; i++) {
		struct line *line = line_read_as(uid, rows[i].words);
		const char *text = line->result < 0 ? line->err.text : NULL;
		bool same = text && rows[i].text ?
				    !strcmp(text, rows[i].text) :
				    text == rows[i].text;

		cr_expect(same, "row %zu (%s %s): '%s' in place of '%s'", i,
			  rows[i].words[0],
			  rows[i].words[1] ? rows[i].words[1] : "",
			  text ? text : "(taken)",
			  rows[i].text ? rows[i].text : "(taken)");
		arena_free(line->arena);
	}
}

Test(bwrap_errors, unknown_words)
{
	static const struct refused rows[] = {
		{ "Unknown option -", { "-", "x" } },
		{ "Unknown option -x", { "-x" } },
		{ "Unknown option --bind=/", { "--bind=/", "/", "x" } },
		{ "Unknown option --unshare", { "--unshare", "x" } },
		{ "Unknown option --profile", { "--profile", "x" } },
		{ NULL, { "", "--nonsense" } },
		{ NULL, { "--", "--nonsense" } },
		{ NULL, { "--no-new-privs", "x" } },
	};

	check_all(rows, ARRAY_SIZE(rows), 1000);
}

Test(bwrap_errors, the_nearest_option_is_the_remedy)
{
	struct line *line = line_read(WORDS("--unshare-usr", "x"));

	cr_assert(line->result < 0);
	cr_expect(strstr(line->err.remedy, "--unshare-user"), "%s",
		  line->err.remedy);
	arena_free(line->arena);
}

Test(bwrap_errors, too_few_words)
{
	static const struct refused rows[] = {
		{ "--args takes an argument", { "--args" } },
		{ "--argv0 takes one argument", { "--argv0" } },
		{ "--userns takes an argument", { "--userns" } },
		{ "--userns2 takes an argument", { "--userns2" } },
		{ "--pidns takes an argument", { "--pidns" } },
		{ "--uid takes an argument", { "--uid" } },
		{ "--gid takes an argument", { "--gid" } },
		{ "--hostname takes an argument", { "--hostname" } },
		{ "--chdir takes one argument", { "--chdir" } },
		{ "--setenv takes two arguments", { "--setenv", "a" } },
		{ "--unsetenv takes an argument", { "--unsetenv" } },
		{ "--lock-file takes an argument", { "--lock-file" } },
		{ "--sync-fd takes an argument", { "--sync-fd" } },
		{ "--bind takes two arguments", { "--bind", "a" } },
		{ "--bind-try takes two arguments", { "--bind-try", "a" } },
		{ "--dev-bind takes two arguments", { "--dev-bind", "a" } },
		{ "--dev-bind-try takes two arguments",
		  { "--dev-bind-try", "a" } },
		{ "--ro-bind takes two arguments", { "--ro-bind", "a" } },
		{ "--ro-bind-try takes two arguments",
		  { "--ro-bind-try" } },
		{ "--bind-fd takes two arguments", { "--bind-fd", "3" } },
		{ "--bind-fd takes two arguments", { "--ro-bind-fd", "3" } },
		{ "--remount-ro takes one argument", { "--remount-ro" } },
		{ "--overlay takes three arguments",
		  { "--overlay", "a", "b" } },
		{ "--tmp-overlay takes an argument", { "--tmp-overlay" } },
		{ "--ro-overlay takes an argument", { "--ro-overlay" } },
		{ USAGE_SRC, { "--overlay-src" } },
		{ "--exec-label takes an argument", { "--exec-label" } },
		{ "--file-label takes an argument", { "--file-label" } },
		{ "--proc takes an argument", { "--proc" } },
		{ "--dev takes an argument", { "--dev" } },
		{ "--tmpfs takes an argument", { "--tmpfs" } },
		{ "--mqueue takes an argument", { "--mqueue" } },
		{ "--dir takes an argument", { "--dir" } },
		{ "--file takes two arguments", { "--file", "3" } },
		{ "--bind-data takes two arguments", { "--bind-data" } },
		{ "--ro-bind-data takes two arguments",
		  { "--ro-bind-data", "3" } },
		{ "--symlink takes two arguments", { "--symlink", "a" } },
		{ "--chmod takes two arguments", { "--chmod", "0" } },
		{ "--perms takes an argument", { "--perms" } },
		{ "--size takes an argument", { "--size" } },
		{ "--seccomp takes an argument", { "--seccomp" } },
		{ "--add-seccomp-fd takes an argument",
		  { "--add-seccomp-fd" } },
		{ "--block-fd takes an argument", { "--block-fd" } },
		{ "--userns-block-fd takes an argument",
		  { "--userns-block-fd" } },
		{ "--info-fd takes an argument", { "--info-fd" } },
		{ "--json-status-fd takes an argument",
		  { "--json-status-fd" } },
		{ "--cap-add takes an argument", { "--cap-add" } },
		{ "--cap-drop takes an argument", { "--cap-drop" } },
	};

	check_all(rows, ARRAY_SIZE(rows), 1000);
}

Test(bwrap_errors, numbers)
{
	static const struct refused rows[] = {
		{ "Invalid fd: x", { "--sync-fd", "x", "c" } },
		{ "Invalid fd: ", { "--sync-fd", "", "c" } },
		{ "Invalid fd: -1", { "--info-fd", "-1", "c" } },
		{ "Invalid fd: 1 ", { "--block-fd", "1 ", "c" } },
		{ "Invalid fd: 0x1", { "--seccomp", "0x1", "c" } },
		{ "Invalid fd: 2147483648", { "--pidns", "2147483648" } },
		{ "Invalid fd: 99999999999999999999",
		  { "--file", "99999999999999999999", "/x", "c" } },
		{ "Invalid fd: x", { "--args", "x" } },
		{ NULL, { "--sync-fd", "+4", "--block-fd", " \t5", "c" } },
		{ NULL, { "--sync-fd", "4294967299", "c" } },
		{ NULL, { "--sync-fd", "-4294967293", "c" } },
		{ "Invalid uid: -1", { "--uid", "-1", "c" } },
		{ "Invalid uid: 2147483648", { "--uid", "2147483648", "c" } },
		{ "Invalid gid: 4294967295", { "--gid", "4294967295", "c" } },
		{ "Invalid gid: 1a", { "--gid", "1a", "c" } },
		{ "--perms takes an octal argument <= 07777",
		  { "--perms", "10000", "--dir", "/x" } },
		{ "--perms takes an octal argument <= 07777",
		  { "--perms", "-1" } },
		{ "--perms takes an octal argument <= 07777",
		  { "--perms", "" } },
		{ "--perms takes an octal argument <= 07777",
		  { "--perms", "08" } },
		{ "--chmod takes an octal argument <= 07777",
		  { "--chmod", "u+x", "/x" } },
		{ NULL, { "--perms", " +755", "--dir", "/x", "c" } },
		{ "--size takes a non-zero number of bytes",
		  { "--size", "0" } },
		{ "--size takes a non-zero number of bytes",
		  { "--size", "08" } },
		{ "--size takes a non-zero number of bytes",
		  { "--size", " 1" } },
		{ "--size takes a non-zero number of bytes",
		  { "--size", "+1" } },
		{ "--size takes a non-zero number of bytes",
		  { "--size", "1k" } },
		{ "--size takes a non-zero number of bytes",
		  { "--size", "18446744073709551616" } },
		{ "--size (for tmpfs) is limited to 9223372036854775807",
		  { "--size", "9223372036854775808" } },
		{ "unknown cap: chown", { "--cap-add", "chown" } },
		{ "unknown cap: 64", { "--cap-drop", "64" } },
		{ "unknown cap: -1", { "--cap-drop", "-1" } },
		{ "unknown cap: ", { "--cap-drop", "" } },
		{ NULL, { "--cap-drop", "aLl", "--cap-add", "CAP_kill",
			  "--cap-add", "12", "c" } },
		{ "setenv failed", { "--setenv", "", "x" } },
		{ "setenv failed", { "--setenv", "a=b", "x" } },
		{ "unsetenv failed", { "--unsetenv", "" } },
		{ "unsetenv failed", { "--unsetenv", "a=" } },
	};

	check_all(rows, ARRAY_SIZE(rows), 1000);
}

Test(bwrap_errors, what_must_follow)
{
	static const struct refused rows[] = {
		{ USAGE_PERMS, { "--perms", "0", "--bind", "a", "b" } },
		{ USAGE_PERMS, { "--perms", "0", "--unshare-pid" } },
		{ USAGE_PERMS, { "--perms", "0", "--size", "1", "--dev",
				 "/x" } },
		{ "--size must be followed by --tmpfs",
		  { "--size", "1", "--dir", "/x" } },
		{ "--size must be followed by --tmpfs",
		  { "--perms", "0", "--size", "1", "--dir", "/x" } },
		{ USAGE_SRC, { "--overlay-src", "a", "--perms", "0" } },
		{ USAGE_SRC, { "--overlay-src", "a", "--tmpfs", "/x" } },
		{ USAGE_SRC, { "--overlay-src", "a", "command" } },
		{ USAGE_SRC, { "--overlay-src", "a", "--", "command" } },
		{ USAGE_SRC, { "--overlay-src", "a" } },
		{ "--perms given twice for the same action",
		  { "--perms", "0", "--perms", "x" } },
		{ "--size given twice for the same action",
		  { "--size", "1", "--size", "1" } },
		{ "--overlay requires at least one --overlay-src",
		  { "--overlay", "a", "b", "c" } },
		{ "--tmp-overlay requires at least one --overlay-src",
		  { "--tmp-overlay", "a" } },
		{ "--ro-overlay requires at least two --overlay-src",
		  { "--overlay-src", "a", "--ro-overlay", "b" } },
		{ NULL, { "--perms", "0", "command" } },
		{ NULL, { "--size", "1", "--", "command" } },
		{ NULL, { "--size", "1", "--perms", "0", "--tmpfs", "/x",
			  "command" } },
		{ "--argv0 used multiple times",
		  { "--argv0", "a", "--argv0", "a" } },
		{ "--seccomp cannot be combined with --add-seccomp-fd",
		  { "--add-seccomp-fd", "3", "--seccomp", "x" } },
		{ "--add-seccomp-fd cannot be combined with --seccomp",
		  { "--seccomp", "3", "--add-seccomp-fd", "x" } },
	};

	check_all(rows, ARRAY_SIZE(rows), 1000);
}

Test(bwrap_errors, options_against_each_other)
{
	static const struct refused rows[] = {
		{ "--userns-block-fd requires --unshare-user",
		  { "--userns-block-fd", "3" } },
		{ "--userns-block-fd requires --unshare-user",
		  { "--userns-block-fd", "3", "--unshare-all", "c" } },
		{ "--userns-block-fd requires --info-fd",
		  { "--userns-block-fd", "3", "--unshare-user",
		    "--disable-userns" } },
		{ "--userns is not compatible with --unshare-user",
		  { "--userns", "3", "--unshare-user", "--unshare-all" } },
		{ "--userns is not compatible with --unshare-user",
		  { "--unshare-user", "--userns", "3" } },
		{ "--userns is not compatible with --unshare-user-try",
		  { "--userns", "3", "--unshare-user-try" } },
		{ "--userns is not compatible with --unshare-user-try",
		  { "--unshare-all", "--userns", "3", "--disable-userns" } },
		{ "--disable-userns requires --unshare-user",
		  { "--disable-userns", "--unshare-all" } },
		{ "--disable-userns requires --unshare-user",
		  { "--disable-userns", "--userns", "3" } },
		{ "--disable-userns is not compatible with --userns-block-fd",
		  { "--unshare-user", "--disable-userns", "--userns-block-fd",
		    "3", "--info-fd", "4" } },
		{ "Specifying --hostname requires --unshare-uts",
		  { "--hostname", "x", "--unshare-user", "c" } },
		{ "Specifying --as-pid-1 requires --unshare-pid",
		  { "--as-pid-1", "c" } },
		{ "Specifying --as-pid-1 requires --unshare-pid",
		  { "--as-pid-1", "--pidns", "3", "c" } },
		{ "Specifying --as-pid-1 and --lock-file is not permitted",
		  { "--as-pid-1", "--unshare-pid", "--lock-file", "x",
		    "c" } },
		{ NULL, { "--as-pid-1", "--pidns", "3", "--unshare-pid",
			  "c" } },
		{ NULL, { "--uid", "5", "--gid", "5", "c" } },
	};

	check_all(rows, ARRAY_SIZE(rows), 1000);
}

Test(bwrap_errors, root_needs_a_namespace_for_other_ids)
{
	static const struct refused rows[] = {
		{ "Specifying --uid requires --unshare-user or --userns",
		  { "--gid", "1", "--uid", "1", "--hostname", "x", "c" } },
		{ "Specifying --gid requires --unshare-user or --userns",
		  { "--gid", "1", "--uid", "0", "c" } },
		{ NULL, { "--uid", "0", "--gid", "0", "c" } },
		{ NULL, { "--uid", "1", "--unshare-user", "c" } },
		{ NULL, { "--uid", "1", "--userns", "3", "c" } },
	};

	check_all(rows, ARRAY_SIZE(rows), 0);
}

Test(bwrap_errors, files_of_words)
{
	static const char nested[] = "--args\0" "3";
	static const char cut[] = "--bind\0a";
	static const char native[] = "--profile\0py.ini";
	static const char perms[] = "--perms\0" "0711";
	struct arena *arena = arena_new();
	const struct refused rows[] = {
		{ "--args not supported in arguments file",
		  { "--args", line_data(arena, nested, sizeof(nested)) } },
		{ "--bind takes two arguments",
		  { "--args", line_data(arena, cut, sizeof(cut)), "b" } },
		{ "Unknown option --profile",
		  { "--args", line_data(arena, native, sizeof(native)) } },
		{ USAGE_PERMS,
		  { "--args", line_data(arena, perms, sizeof(perms)),
		    "--dir", "/x" } },
		{ USAGE_PERMS,
		  { "--perms", "0", "--args", line_data(arena, "", 0),
		    "--dir", "/x" } },
		{ "Can't read --args data", { "--args", "1000000" } },
	};
	struct line *line;

	check_all(rows, ARRAY_SIZE(rows), 1000);
	line = line_read(WORDS("--args", "1000000"));
	cr_expect_eq(line->err.code, EBADF);
	arena_free(line->arena);
	arena_free(arena);
}
