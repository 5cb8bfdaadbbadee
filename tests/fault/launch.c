/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A launch of which one system call fails, for each call that it makes, up to
 * the exec of the payload and in the monitor, PID 1 and the janitor to their
 * end.  Whatever the call was:
 *
 *  - the payload did not run, or it saw what it sees in an undisturbed run;
 *  - if it did not run, one message says what failed, and the status is the
 *    launcher's own; if it did, the status is its own or the message is there;
 *  - nothing is left: no process, mount, file;
 *  - it takes no time worth mentioning.
 *
 * Of each call the first and the last in each process are tried; in the other
 * shapes only the last, of those that are made more often than in the first.  With
 * SBX_FAULT_ALL in the environment, all, with several errors each (if that is
 * the name of an error, with that one), and a line on stderr tells of each.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "box.h"
#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/scratch.h"
#include "harness/tree.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

enum {
	CALLS_MOST = 4096,
	WORDS_MOST = 64,
	PAYLOAD_STATUS = 7,
	SLOW_MS = 6000, /* the machine may be busy */
};

/* A kind of launch. */
struct shape {
	struct box *box;
	bool is_bwrap;
	const char *argv[WORDS_MOST]; /* the launcher's, without the payload */
	const char *walls;            /* what the payload says, undisturbed */
	const struct tree *tree;      /* below box->top */
	const char *groups;           /* that were there before; NULL: it has none */
};

/* The @nth call of @name in process @process. */
struct call {
	int process;
	const char *name;
	unsigned nth;
	bool is_last;
	bool is_bwrap; /* of a launch in bubblewrap's language */
};

struct calls {
	struct call at[CALLS_MOST];
	size_t count;
};

/*
 * Calls whose failure is no failure of the launch, with what may be different
 * then.  Everything else has to make the launch fail, or to have no effect.
 */
static const struct {
	const char *call;
	bool is_bwrap;       /* in bubblewrap's language only */
	const char *line;    /* how lines that may differ begin */
} optional[] = {
	/* --unshare-all means --unshare-user-try: root can do without. */
	{ "access", true, "namespace user:" },
	/* As bubblewrap's; with no_new_privs nothing comes of that set. */
	{ "prctl", true, "CapBnd:" },
	/* Root gets by its exec what is left in that set, in its namespace. */
	{ "prctl", true, "CapPrm:" },
	{ "prctl", true, "CapEff:" },
	/* Where the kernel gives no new /sys the host's stays, covered. */
	{ "fsopen", false, "mount / /sys " },
	{ "fsconfig", false, "mount / /sys " },
	{ "fsmount", false, "mount / /sys " },
};

/* Calls that have no way to fail, and whose result nobody looks at twice. */
static const char *const certain[] = {
	"getpid", "getppid", "getuid", "geteuid", "getgid", "getegid",
};

/* ---- launches -------------------------------------------------------------- */

static const char *of_namespace(const char *name)
{
	char target[64] = "";

	if (readlink(arena_format("/proc/self/ns/%s", name), target,
		     sizeof(target) - 1) < 0)
		harness_fail("namespace %s: %s", name, strerror(errno));
	return arena_format("%s", target);
}

/* Under `inject @option @value`. */
static const struct outcome *launch(const struct shape *shape,
				    const char *option, const char *value)
{
	static const char *const namespaces[] = {
		"user", "mnt", "pid", "net", "ipc", "uts", "cgroup",
	};
	const char *argv[2 * WORDS_MOST];
	size_t count = 0;

	argv[count++] = sbx_helper("inject");
	if (option) {
		argv[count++] = option;
		argv[count++] = value;
	}
	argv[count++] = "--";
	for (size_t i = 0; shape->argv[i]; i++)
		argv[count++] = shape->argv[i];
	argv[count++] = "--";
	argv[count++] = sbx_helper("fault-walls");
	for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++)
		argv[count++] = of_namespace(namespaces[i]);
	argv[count] = NULL;
	return program_run(&(struct program){ .argv = argv });
}

static void read_calls(const char *path, struct calls *calls)
{
	char *line = arena_format("%s", file_read(path, NULL));

	for (line = strtok(line, "\n"); line; line = strtok(NULL, "\n")) {
		struct call *call = &calls->at[calls->count];
		char *name;

		cr_assert(calls->count < CALLS_MOST);
		call->process = (int)strtol(line, &name, 10);
		cr_assert(*name == ' ');
		call->name = arena_format("%s", ++name);
		call->nth = 1;
		call->is_last = true;
		for (size_t i = calls->count; i-- > 0;) {
			struct call *before = &calls->at[i];

			if (before->process != call->process ||
			    strcmp(before->name, name) != 0)
				continue;
			call->nth = before->nth + 1;
			before->is_last = false;
			break;
		}
		calls->count++;
	}
}

/* ---- claims ------------------------------------------------------------------ */

static bool is_certain(const struct call *call)
{
	for (size_t i = 0; i < ARRAY_SIZE(certain); i++)
		if (!strcmp(certain[i], call->name))
			return true;
	return false;
}

/* `memory = 100m optional`: the group of the sandbox is its caller's then. */
static bool is_of_an_optional_limit(const char *line)
{
	const char *end = strchrnul(line, '\n');
	const char *found = strstr(line, " /sys/fs/cgroup/memory ");

	return found && found < end;
}

static bool is_allowed(const struct call *call, const char *line)
{
	if (call && !call->process && is_of_an_optional_limit(line))
		return true;
	for (size_t i = 0; call && i < ARRAY_SIZE(optional); i++)
		if (!strcmp(optional[i].call, call->name) &&
		    optional[i].is_bwrap == call->is_bwrap &&
		    !strncmp(line, optional[i].line, strlen(optional[i].line)))
			return true;
	return false;
}

static bool has_line(const char *text, const char *line, size_t length)
{
	for (; text && *text; text = strchr(text, '\n'), text += !!text)
		if (!strncmp(text, line, length) && text[length] == '\n')
			return true;
	return false;
}

/* The lines of @text that @other does not have, but for those allowed. */
static void add_missing(struct arena_text *all, char sign, const char *text,
			const char *other, const struct call *call)
{
	while (*text) {
		size_t length = strcspn(text, "\n");

		/* The last line may have been cut off. */
		if (text[length] && !has_line(other, text, length) &&
		    !is_allowed(call, text))
			arena_add_format(all, "%c %.*s\n", sign, (int)length,
					 text);
		text += length + (text[length] == '\n');
	}
}

/* One message, ours, which says more than the error. */
static bool is_message(const struct shape *shape, const char *err)
{
	const char *prefix = shape->is_bwrap ? "bwrap: " : "sbx-launch: ";
	const char *end = strchr(err, '\n');

	return !strncmp(err, prefix, strlen(prefix)) && end &&
	       (!end[1] || (!shape->is_bwrap &&
			    !strncmp(end + 1, prefix, strlen(prefix))));
}

/* Those of launches that are directly below the test's own. */
static const char *list_groups(void)
{
	return program_run(&(struct program){
		.argv = ARGV("sh", "-c", "while IFS=: read -r n kind path; do "
			     "find \"/sys/fs/cgroup/$kind$path\" -maxdepth 1 "
			     "-name 'sbx-launch-*'; done </proc/self/cgroup "
			     "2>/dev/null") })->out;
}

static void judge(struct shape *shape, const struct call *call,
		  const char *what, const struct outcome *o)
{
	bool ran = strstr(o->out, "ran\n") || strstr(o->out, "all said\n");
	struct arena_text differs = { 0 };
	int own = shape->is_bwrap ? 1 : 125;
	const struct tree *now;
	const char *left;

	what = arena_format("%s: exit status %d after %u ms, %s: %s", what,
			    o->exit, o->end_ms, ran ? "ran" : "did not run",
			    o->err);
	cr_expect(!o->timed_out && o->end_ms < SLOW_MS, "slow: %s", what);
	if (ran && o->exit == PAYLOAD_STATUS) {
		add_missing(&differs, '-', shape->walls, o->out, call);
		add_missing(&differs, '+', o->out, shape->walls, call);
		cr_expect(!differs.length, "not the walls of an undisturbed "
			  "run: %s\n%s", what, arena_string(&differs));
	} else {
		/* Cut off, perhaps, but what is there has to be the same. */
		add_missing(&differs, '+', o->out, shape->walls, call);
		cr_expect(!differs.length, "other walls: %s\n%s", what,
			  arena_string(&differs));
		cr_expect(o->exit == own || o->exit == 126 || o->exit == 127,
			  "not the launcher's status: %s", what);
		cr_expect(is_message(shape, o->err), "no message: %s", what);
	}
	left = host_changes(shape->box->host);
	cr_expect(!*left, "left on the host: %s\n%s", what, left);
	if (*left)
		shape->box->host = host_read();
	if (shape->groups) {
		left = list_groups();
		cr_expect(!strcmp(shape->groups, left), "control groups are "
			  "left: %s\n%s", what, left);
		shape->groups = left;
	}
	now = tree_read(shape->box->top, TREE_CONTENT);
	left = tree_changes(shape->tree, now);
	cr_expect(!*left, "files are left: %s\n%s", what, left);
	/* Each is told once. */
	shape->tree = now;
	host_kill_descendants();
}

static void try_one(struct shape *shape, const struct call *call,
		    const char *error, bool says)
{
	const char *what = arena_format("%d:%s:%u=%s", call->process,
					call->name, call->nth, error);
	const struct outcome *o = launch(shape, "--fail", what);

	if (says)
		fprintf(stderr, "%s -> %d, %s, %u ms: %s\n", what, o->exit,
			*o->out ? "ran" : "did not run", o->end_ms, o->err);
	judge(shape, call, what, o);
}

static unsigned count_of(const struct calls *calls, const char *name)
{
	unsigned found = 0;

	for (size_t i = 0; calls && i < calls->count; i++)
		found += !strcmp(calls->at[i].name, name);
	return found;
}

/* The calls that @shape makes; what it did goes to @ret_outcome. */
static const struct calls *list_calls(const struct shape *shape,
				      const struct outcome **ret_outcome)
{
	struct calls *calls = arena_take(sizeof(*calls));
	const char *log = path_in(scratch_make(), "log");

	*ret_outcome = launch(shape, "--log", log);
	assert_exit(*ret_outcome, PAYLOAD_STATUS);
	read_calls(log, calls);
	for (size_t i = 0; i < calls->count; i++)
		calls->at[i].is_bwrap = shape->is_bwrap;
	cr_assert(calls->count > 100, "only %zu calls", calls->count);
	return calls;
}

/* @known: the calls of another shape, NULL: of none. */
static bool is_sample(const struct call *call, const struct calls *all,
		      const struct calls *known)
{
	if (!known)
		return call->nth == 1 || call->is_last;
	return call->is_last && count_of(all, call->name) >
				count_of(known, call->name);
}

static bool is_wanted(const char *everything, const char *error)
{
	return *everything != 'E' || !strcmp(everything, error);
}

/* @plain: another shape, whose calls have been tried. */
static void try_all(struct shape *shape, const struct shape *plain)
{
	static const char *const errors[] = { "EPERM", "ENOSYS", "ENOMEM" };
	const char *everything = getenv("SBX_FAULT_ALL");
	bool tries_all = everything && *everything;
	const struct outcome *o = launch(shape, NULL, NULL), *ignored;
	const struct calls *calls, *known = NULL;

	assert_exit(o, PAYLOAD_STATUS);
	shape->walls = o->out;
	calls = list_calls(shape, &o);
	shape->tree = tree_read(shape->box->top, TREE_CONTENT);
	if (plain)
		known = list_calls(plain, &ignored);
	shape->box->host = host_read();
	judge(shape, NULL, "undisturbed", o);
	for (size_t i = 0; i < calls->count; i++) {
		const struct call *call = &calls->at[i];

		if (is_certain(call) ||
		    (!tries_all && !is_sample(call, calls, known)))
			continue;
		for (size_t e = 0; e < ARRAY_SIZE(errors); e++)
			if (tries_all ? is_wanted(everything, errors[e]) : !e)
				try_one(shape, call, errors[e], tries_all);
	}
}

/* ---- shapes --------------------------------------------------------------------- */

static struct shape *shape_of(struct box *box)
{
	struct shape *shape = arena_take(sizeof(*shape));

	shape->box = box;
	shape->argv[0] = sbx_launch();
	shape->argv[1] = "--profile";
	shape->argv[2] = box->profile;
	return shape;
}

Test(launch, in_a_writable_workspace)
{
	try_all(shape_of(box_make()), NULL);
}

Test(launch, in_an_overlay)
{
	struct box *box = box_make();
	const char *upper = path_in(box->top, "upper");

	directory_make(upper, 0700);
	box_profile(box, "mode = overlay\nupper = %s\n", upper);
	try_all(shape_of(box), shape_of(box_make()));
}

Test(launch, in_memory)
{
	struct box *box = box_make();

	box_profile(box, "mode = ephemeral\n[report]\nchanges-file = %s\n",
		    path_in(box->top, "changes"));
	try_all(shape_of(box), shape_of(box_make()));
}

Test(launch, with_protected_names)
{
	struct box *box = box_make();

	directory_make(path_in(box->work, "git"), 0755);
	file_write(path_in(box->work, "git/config"), "safe\n");
	box_profile(box, "protect = git/config\nprotect = .envrc\n"
		    "protect = .vscode/settings.json\n");
	try_all(shape_of(box), shape_of(box_make()));
}

Test(launch, with_limits_and_records)
{
	struct box *box = box_make();
	struct shape *shape = shape_of(box);

	box_profile(box, "[limits]\nprocesses = 20\nopen-files = 64\n"
		    "file-size = 1m\noutput = 1m\ntimeout = 20s\n"
		    "memory = 100m optional\n"
		    "[report]\naudit-file = /dev/null\n");
	shape->groups = list_groups();
	try_all(shape, shape_of(box_make()));
}

Test(launch, in_the_language_of_bubblewrap)
{
	struct box *box = box_make();
	const char *name = path_in(box->top, "bwrap");
	struct shape shape = {
		.box = box, .is_bwrap = true,
		.argv = {
			name, "--unshare-all", "--die-with-parent",
			"--new-session", "--ro-bind", "/", "/",
			"--dev", "/dev", "--proc", "/proc",
			"--tmpfs", "/tmp", "--bind", box->work, "/mnt",
			"--chdir", "/mnt", "--clearenv", "--setenv", "A", "b",
		},
	};

	link_make(sbx_launch(), name);
	try_all(&shape, shape_of(box_make()));
}
