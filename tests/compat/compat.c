/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The same command line under Debian's bubblewrap and under sbx-launch by the
 * name of bwrap, compared from inside and from outside: exit status, both
 * streams, what was written to descriptors, and what became of the directory
 * on the host.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "corpus.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/program.h"
#include "harness/scratch.h"
#include "harness/tree.h"

#define REFERENCE "/usr/bin/bwrap"

enum { FIRST_FD = 200, WORDS_MOST = 4096 };

/* One run of a case, ready to be compared. */
struct seen {
	int exit;
	const char *text[ASPECT_COUNT]; /* but for the exit status */
};

struct running {
	const struct compat_case *is;
	const char *directory;  /* @dir */
	const char *link_directory;
	int outs[PROGRAM_FDS];  /* descriptors of kind "out" */
	size_t outs_count;
	int next_fd;
};

/* ---- words ------------------------------------------------------------------- */

static const char *namespaces(void)
{
	static const char *known;
	static const char *const names[] = {
		"cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts",
	};
	struct arena_text text = { NULL };

	if (known)
		return known;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char link[64] = "";

		if (readlink(arena_format("/proc/self/ns/%s", names[i]), link,
			     sizeof(link) - 1) < 0)
			harness_fail("no /proc/self/ns/%s", names[i]);
		arena_add_format(&text, "%s=%s,", names[i], link);
	}
	known = arena_string(&text);
	return known;
}

static const char *expand(const struct running *run, const char *word)
{
	const struct {
		const char *name, *value;
	} values[] = {
		{ "@dir", run->directory },
		{ "@probe", sbx_helper("compat-probe") },
		{ "@uid", arena_format("%u", getuid()) },
		{ "@gid", arena_format("%u", getgid()) },
		{ "@ns", namespaces() },
	};
	struct arena_text text = { NULL };

	if (!strchr(word, '@'))
		return word;
	while (*word) {
		size_t i, count = sizeof(values) / sizeof(*values);

		for (i = 0; i < count; i++)
			if (!strncmp(word, values[i].name,
				     strlen(values[i].name)))
				break;
		if (i < count) {
			arena_add_format(&text, "%s", values[i].value);
			word += strlen(values[i].name);
		} else {
			arena_add(&text, word++, 1);
		}
	}
	return arena_string(&text);
}

/* @text with @dir again for the directory: the same for every run. */
static const char *contract(const struct running *run, const char *text)
{
	size_t length = strlen(run->directory);
	struct arena_text out = { NULL };

	while (*text) {
		if (!strncmp(text, run->directory, length)) {
			arena_add_format(&out, "@dir");
			text += length;
		} else {
			arena_add(&out, text++, 1);
		}
	}
	return arena_string(&out);
}

/* ---- descriptors ------------------------------------------------------------- */

/* Numbers that no case uses for its own descriptors. */
static int lift(struct running *run, int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, run->next_fd++);

	if (fd < 0 || high < 0)
		harness_fail("a descriptor of %s: %m", run->is->name);
	close(fd);
	return high;
}

static int unlinked_file(const void *data, size_t length)
{
	int fd = open(P_tmpdir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		fd = memfd_create("file", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, length) != (ssize_t)length ||
	    lseek(fd, 0, SEEK_SET))
		harness_fail("cannot fill a file: %m");
	return fd;
}

static int pipe_with(const char *text, size_t length)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) ||
	    write(ends[1], text, length) != (ssize_t)length)
		harness_fail("cannot fill a pipe: %m");
	close(ends[1]);
	return ends[0];
}

static int args_file(const struct running *run, const struct words *words)
{
	struct arena_text text = { NULL };

	for (size_t i = 0; i < words->count; i++) {
		const char *word = expand(run, words->at[i]);

		arena_add(&text, word, strlen(word) + 1);
	}
	return unlinked_file(text.data ? text.data : "", text.length);
}

/* Filters: "allow" everything, "uname" fails with EPERM, "odd" is cut. */
static int filter_file(const char *name)
{
	struct sock_filter allow[] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_filter uname[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_uname, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	if (!strcmp(name, "allow"))
		return unlinked_file(allow, sizeof(allow));
	if (!strcmp(name, "uname"))
		return unlinked_file(uname, sizeof(uname));
	if (!strcmp(name, "odd"))
		return unlinked_file(allow, 5);
	harness_fail("no filter '%s'", name);
}

static int open_kind(struct running *run, const struct case_fd *fd)
{
	const char *value = fd->values.count ? fd->values.at[0] : "";
	int opened;

	if (!strcmp(fd->kind, "args"))
		return args_file(run, &fd->values);
	value = expand(run, value);
	if (!strcmp(fd->kind, "pipe"))
		return pipe_with(value, strlen(value));
	if (!strcmp(fd->kind, "ready"))
		return pipe_with("x", 1);
	if (!strcmp(fd->kind, "end"))
		return pipe_with("", 0);
	if (!strcmp(fd->kind, "file"))
		return unlinked_file(value, strlen(value));
	if (!strcmp(fd->kind, "path"))
		return open(value, O_PATH | O_CLOEXEC);
	if (!strcmp(fd->kind, "open"))
		return open(value, O_RDONLY | O_CLOEXEC);
	if (!strcmp(fd->kind, "filter"))
		return filter_file(value);
	if (!strcmp(fd->kind, "closed"))
		return -1;
	if (strcmp(fd->kind, "out") != 0)
		harness_fail("%s: no descriptor of kind '%s'", run->is->name,
			     fd->kind);
	opened = unlinked_file("", 0);
	run->outs[run->outs_count++] = opened;
	return opened;
}

static void open_fds(struct running *run, struct program *program)
{
	for (size_t i = 0; i < run->is->fds_count; i++) {
		const struct case_fd *fd = &run->is->fds[i];
		bool is_out = !strcmp(fd->kind, "out");
		int opened = open_kind(run, fd);

		if (strcmp(fd->kind, "closed") != 0)
			opened = lift(run, opened);
		if (is_out)
			run->outs[run->outs_count - 1] = opened;
		program->fds[i] = (struct program_fd){ opened, fd->number };
	}
}

/* Numbers of processes and of namespaces differ from run to run. */
static const char *without_numbers(const char *text)
{
	struct arena_text out = { NULL };

	while (*text) {
		bool is_number = text[0] == '"' && text[1] == ':' &&
				 text[2] == ' ';
		const char *before = text;

		if (!is_number || !strncmp(text - 9, "exit-code", 9)) {
			arena_add(&out, text++, 1);
			continue;
		}
		arena_add_format(&out, "\": ");
		text += 3;
		if (strspn(text, "0123456789"))
			arena_add_format(&out, "N");
		else
			text = before + 3;
		text += strspn(text, "0123456789");
	}
	return arena_string(&out);
}

static const char *read_outs(const struct running *run)
{
	struct arena_text text = { NULL };

	for (size_t i = 0; i < run->outs_count; i++) {
		char data[65536];
		ssize_t length = pread(run->outs[i], data, sizeof(data) - 1,
				       0);

		if (length < 0)
			harness_fail("cannot read a descriptor back: %m");
		data[length] = '\0';
		arena_add_format(&text, "descriptor %zu:\n%s", i,
				 without_numbers(data));
	}
	return arena_string(&text);
}

/* ---- a run --------------------------------------------------------------------- */

/*
 * What every case finds in @dir: source files and links, and a directory to
 * write to.
 */
static void standard_setup(const char *in)
{
	static const char *const directories[] = {
		"src", "src/dir", "src/dir/sub", "w", "w/dir", "empty",
	};

	for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++)
		directory_make(path_in(in, directories[i]), 0755);
	file_write(path_in(in, "src/file"), "content\n");
	file_write(path_in(in, "src/dir/sub/deep"), "deep\n");
	file_write(path_in(in, "w/secret"), "secret\n");
	file_write_script(path_in(in, "src/script"),
			  "#!/bin/sh\necho script \"$0\" \"$@\"\n");
	link_make("file", path_in(in, "src/link"));
	link_make("dir", path_in(in, "src/dirlink"));
	link_make("nowhere", path_in(in, "src/dangling"));
}

static void set_up(const struct running *run)
{
	struct arena_text script = { NULL };
	const struct outcome *outcome;

	scratch_remove(run->directory);
	directory_make(run->directory, 0755);
	standard_setup(run->directory);
	if (!run->is->setup.count)
		return;
	arena_add_format(&script, "set -e\numask 022\n");
	for (size_t i = 0; i < run->is->setup.count; i++)
		arena_add_format(&script, "%s\n",
				 expand(run, run->is->setup.at[i]));
	outcome = program_run(&(struct program){
		.argv = ARGV("/bin/sh", "-c", arena_string(&script)),
		.cwd = run->directory,
	});
	if (outcome->exit)
		harness_fail("%s: setup: %s", run->is->name, outcome->err);
}

static const char *const *environment(const struct running *run)
{
	static const char *const usual[] = {
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/root",
		"LANG=C.UTF-8", "USER=somebody", "WITH=a=b c",
	};
	const char **list = arena_take((run->is->env.count + 8) *
				       sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		list[count++] = usual[i];
	for (size_t i = 0; i < run->is->env.count; i++) {
		if (!strcmp(run->is->env.at[i], "-"))
			count = 0;
		else
			list[count++] = expand(run, run->is->env.at[i]);
	}
	list[count] = NULL;
	return list;
}

static const char *const *command_line(const struct running *run)
{
	const char **argv = arena_take((run->is->run.count + 2) *
				       sizeof(*argv));

	argv[0] = "bwrap";
	for (size_t i = 0; i < run->is->run.count; i++)
		argv[i + 1] = expand(run, run->is->run.at[i]);
	return argv;
}

/* Names, types, modes and content below the directory, a line each. */
static const char *tree_text(const struct running *run,
			     const struct tree *before)
{
	return contract(run, tree_changes(before, tree_read(run->directory,
							    TREE_CONTENT)));
}

/* Both are called "bwrap": messages and usage hold that name. */
struct start {
	const char *path;
	const char *const *argv;
	const char *const *env;
};

static int start_program(const void *data)
{
	const struct start *start = data;

	execve(start->path, (char *const *)start->argv,
	       (char *const *)start->env);
	return 98;
}

static struct seen *run_case(struct running *run, const char *path)
{
	struct seen *seen = arena_take(sizeof(*seen));
	const struct start start = {
		.path = path,
		.argv = command_line(run),
		.env = environment(run),
	};
	struct program program = {
		.call = start_program,
		.data = &start,
		.cwd = run->is->cwd ? expand(run, run->is->cwd)
				    : run->directory,
		.pty = run->is->has_tty,
		.input = run->is->input,
	};
	const struct outcome *outcome;
	const struct tree *before;

	set_up(run);
	before = tree_read(run->directory, TREE_CONTENT);
	run->outs_count = 0;
	run->next_fd = FIRST_FD;
	open_fds(run, &program);
	outcome = program_run(&program);
	seen->exit = outcome->timed_out ? -1 : outcome->exit;
	/* A document can be written there, too. */
	seen->text[ASPECT_OUT] = contract(run, without_numbers(outcome->out));
	seen->text[ASPECT_ERR] = contract(run, without_numbers(outcome->err));
	seen->text[ASPECT_TREE] = tree_text(run, before);
	seen->text[ASPECT_FD] = read_outs(run);
	for (size_t i = 0; i < run->is->fds_count; i++)
		if (program.fds[i].from >= 0)
			close(program.fds[i].from);
	return seen;
}

/* ---- comparing ------------------------------------------------------------------- */

static void expect_lines(const struct running *run, const char *what,
			 const struct words *lines, const char *text)
{
	struct arena_text whole = { NULL };

	if (!lines->count)
		return;
	for (size_t i = 0; i < lines->count; i++)
		arena_add_format(&whole, "%s\n",
				 contract(run, expand(run, lines->at[i])));
	cr_expect(!strcmp(arena_string(&whole), text),
		  "%s (%s:%u): %s is\n%s\nand not\n%s", run->is->name,
		  run->is->file, run->is->line, what, text,
		  arena_string(&whole));
}

static void expect_parts(const struct running *run, const char *what,
			 const struct words *parts, const char *text)
{
	for (size_t i = 0; i < parts->count; i++) {
		const char *part = contract(run, expand(run, parts->at[i]));

		cr_expect(strstr(text, part),
			  "%s (%s:%u): no '%s' in %s:\n%s", run->is->name,
			  run->is->file, run->is->line, part, what, text);
	}
}

static void expect_literal(const struct running *run, const struct seen *seen)
{
	const struct compat_case *is = run->is;

	if (is->has_exit)
		cr_expect(is->exit == seen->exit,
			  "%s (%s:%u): exit %d and not %d; stderr:\n%s",
			  is->name, is->file, is->line, seen->exit, is->exit,
			  seen->text[ASPECT_ERR]);
	expect_lines(run, "stdout", &is->out, seen->text[ASPECT_OUT]);
	expect_lines(run, "stderr", &is->err, seen->text[ASPECT_ERR]);
	expect_parts(run, "stdout", &is->out_has, seen->text[ASPECT_OUT]);
	expect_parts(run, "stderr", &is->err_has, seen->text[ASPECT_ERR]);
	expect_parts(run, "descriptors", &is->fd_has, seen->text[ASPECT_FD]);
}

/* Lines of @a that @b lacks, with @mark in front. */
static void add_missing(struct arena_text *into, const char *mark,
			const char *a, const char *b)
{
	const char *framed = arena_format("\n%s\n", b);

	while (*a) {
		size_t length = strcspn(a, "\n");
		const char *line = arena_format("\n%.*s\n", (int)length, a);

		if (!strstr(framed, line))
			arena_add_format(into, "%s%.*s\n", mark, (int)length,
					 a);
		a += length + (a[length] == '\n');
	}
}

static void expect_same(const struct running *run, const struct seen *reference,
			const struct seen *ours)
{
	const struct compat_case *is = run->is;

	if (!is->differs[ASPECT_EXIT])
		cr_expect(reference->exit == ours->exit,
			  "%s (%s:%u): exit %d, bubblewrap: %d; stderr:\n%s"
			  "and bubblewrap's:\n%s", is->name, is->file,
			  is->line, ours->exit, reference->exit,
			  ours->text[ASPECT_ERR], reference->text[ASPECT_ERR]);
	for (int aspect = ASPECT_OUT; aspect < ASPECT_COUNT; aspect++) {
		const char *a = reference->text[aspect];
		const char *b = ours->text[aspect];
		struct arena_text text = { NULL };

		if (is->differs[aspect] || !strcmp(a, b))
			continue;
		add_missing(&text, "- ", a, b);
		add_missing(&text, "+ ", b, a);
		cr_expect(false, "%s (%s:%u): %s differs (- bubblewrap, + "
			  "sbx-launch):\n%s", is->name, is->file, is->line,
			  aspect_names[aspect], text.length ?
			  arena_string(&text) : "(order of lines)\n");
	}
}

/* A reason that is listed and not there any more is a fault of the list. */
static void expect_needed(const struct running *run,
			  const struct seen *reference, const struct seen *ours)
{
	const struct compat_case *is = run->is;

	for (int aspect = ASPECT_OUT; aspect < ASPECT_COUNT; aspect++)
		if (is->differs[aspect] && !is->as)
			cr_expect(strcmp(reference->text[aspect],
					 ours->text[aspect]) != 0,
				  "%s (%s:%u): %s is listed as different and "
				  "is the same", is->name, is->file, is->line,
				  aspect_names[aspect]);
}

/* sbx-launch by the name of bwrap. */
static const char *ours_by_name(void)
{
	const char *path = path_in(scratch_make(), "bwrap");

	if (symlink(sbx_launch(), path))
		harness_fail("cannot link '%s': %m", path);
	return path;
}

/* Nothing goes on when the command has ended: no case starts a service. */
static void expect_nobody_left(const struct running *run)
{
	const struct timespec moment = { .tv_nsec = 20 * 1000 * 1000 };
	const pid_t *left = host_descendants();

	for (int i = 0; i < 1000 && *left; i++) {
		nanosleep(&moment, NULL);
		left = host_descendants();
	}
	cr_expect(!*left, "%s (%s:%u): process %d is left", run->is->name,
		  run->is->file, run->is->line, (int)*left);
	if (*left)
		host_kill_descendants();
}

static bool is_for_us(const struct compat_case *is)
{
	return !is->as || !strcmp(is->as, identity_name(identity_self()));
}

struct index {
	size_t number;
};

static const struct compat_case *cases(size_t *ret_count)
{
	return corpus_read(sbx_source("tests/compat/cases"), ret_count);
}

/* A process of Criterion's costs more than a case. */
enum { CASES_EACH = 12 };

ParameterizedTestParameters(compat, command_lines)
{
	static struct index indices[WORDS_MOST];
	size_t count, used = 0;

	cases(&count);
	for (size_t i = 0; i < count; i += CASES_EACH)
		indices[used++].number = i;
	return cr_make_param_array(struct index, indices, used);
}

static void compare(const struct compat_case *is)
{
	struct running run = { .is = is };
	const struct seen *reference, *ours;

	run.directory = path_in(scratch_make(), "case");
	ours = run_case(&run, ours_by_name());
	expect_nobody_left(&run);
	expect_literal(&run, ours);
	if (is->is_new)
		return;
	reference = run_case(&run, REFERENCE);
	/* bubblewrap leaves children of failed starts behind. */
	host_kill_descendants();
	expect_same(&run, reference, ours);
	expect_needed(&run, reference, ours);
}

/*
 * Without the calls for detached mounts a sample, of each kind of case; with
 * SBX_THOROUGH all of them.
 */
static size_t cases_step(void)
{
	const char *thorough = getenv("SBX_THOROUGH");

	return identity_refused() && !(thorough && *thorough) ? 6 : 1;
}

ParameterizedTest(struct index *index, compat, command_lines)
{
	size_t count;
	const struct compat_case *all = cases(&count);
	size_t end = index->number + CASES_EACH;

	for (size_t i = index->number; i < count && i < end;
	     i += cases_step())
		if (is_for_us(&all[i]))
			compare(&all[i]);
}

/* The corpus is as large, and knows as many options, as it should. */
Test(compat, corpus_names_every_option)
{
	const struct outcome *help;
	size_t count;
	const struct compat_case *all = cases(&count);
	const char *at;

	cr_expect_geq(count, 150);
	help = program_run(&(struct program){
		.argv = ARGV(ours_by_name(), "--help"),
	});
	assert_exit(help, 0);
	for (at = strstr(help->out, "\n    --"); at;
	     at = strstr(at + 1, "\n    --")) {
		const char *name = at + 5;
		bool found = false;

		name = arena_format("%.*s", (int)strcspn(name, " \n"), name);
		for (size_t i = 0; i < count && !found; i++)
			for (size_t j = 0; j < all[i].run.count; j++)
				if (!strcmp(all[i].run.at[j], name))
					found = true;
		cr_expect(found, "no case has %s", name);
	}
}
