/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Picks the language by the name it was called under, has the command line
 * read, and runs, explains or checks the plan.  Only here anything is printed
 * and only here the process exits.
 */
#include "base/mem.h"
#include "base/text.h"
#include "engine/engine.h"
#include "front/bwrap_args.h"
#include "front/command.h"
#include "front/front.h"
#include "front/keys.h"
#include "front/reach.h"
#include "plan/survey.h"
#include "print/print.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

enum { STATUS_BWRAP_FAILURE = 1 };

static bool is_bwrap;

/* ---- output ----------------------------------------------------------------- */

/* All of @text, or as much as can be written. */
static int write_all(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t written = write(fd, text, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		text += written;
		size -= (size_t)written;
	}
	return 0;
}

static const char *prefix(void)
{
	return is_bwrap ? "bwrap" : "sbx-launch";
}

static void print_line(struct arena *arena, const char *level,
		       const char *text)
{
	struct text_buf line = { .arena = arena };

	text_addf(&line, "%s%s: %s\n", level, prefix(),
		  text_printable(arena, text));
	/* Nothing can be said about a stderr that does not take it. */
	write_all(STDERR_FILENO, line.at, line.count);
}

static void print_warnings(const struct parse *parse)
{
	for (size_t i = 0; i < parse->warnings.count; i++)
		print_line(parse->arena,
			   parse->warnings.at[i].has_level ? "<4>" : "",
			   parse->warnings.at[i].text);
}

/* The cause, and below it what can be done; bubblewrap has one line only. */
static int print_error(struct arena *arena, const struct plan *plan,
		       const struct error *err)
{
	const char *level = plan && plan->bwrap.level_prefix ? "<3>" : "";

	print_line(arena, level, error_line(arena, err));
	if (*err->remedy && !is_bwrap)
		print_line(arena, level, err->remedy);
	if (is_bwrap)
		return STATUS_BWRAP_FAILURE;
	return err->status ? err->status : ERROR_STATUS_LAUNCHER;
}

static int print_text_out(int fd, const char *text, size_t size)
{
	struct error err = { 0 };
	auto_arena struct arena *arena = arena_new();
	int r = write_all(fd, text, size);

	if (r >= 0)
		return 0;
	error_set(&err, -r, "cannot write to %s",
		  fd == STDOUT_FILENO ? "stdout" : "stderr");
	return print_error(arena, NULL, &err);
}

_Noreturn static void out_of_memory(void)
{
	static const char as_bwrap[] = "Out of memory\n";
	static const char as_native[] = "sbx-launch: out of memory\n";

	if (is_bwrap)
		write_all(STDERR_FILENO, as_bwrap, sizeof(as_bwrap) - 1);
	else
		write_all(STDERR_FILENO, as_native, sizeof(as_native) - 1);
	_exit(is_bwrap ? STATUS_BWRAP_FAILURE : ERROR_STATUS_LAUNCHER);
}

/* ---- actions that run nothing ---------------------------------------------------- */

static int print_version(struct arena *arena)
{
	struct text_buf text = { .arena = arena };

	if (is_bwrap)
		bwrap_version(&text);
	else
		text_addf(&text, "sbx-launch %s\n", SBX_VERSION);
	return print_text_out(STDOUT_FILENO, text.at, text.count);
}

/* One line a feature: a program looks for the line that it needs. */
static int print_features(struct arena *arena, const struct parse *parse)
{
	struct text_buf text = { .arena = arena };

	text_addf(&text, "version %s\nbubblewrap %s\nengine %s\n",
		  SBX_VERSION, BWRAP_VERSION, engine_mounts(arena));
	for (size_t t = 0; t < parse->tables_count; t++)
		for (size_t i = 0; i < parse->tables[t].count; i++)
			text_addf(&text, "option %s\n",
				  parse->tables[t].rows[i].name);
	for (size_t i = 0; i < keys_count; i++)
		if (keys[i].name)
			text_addf(&text, "key %s.%s\n", keys[i].section,
				  keys[i].name);
	for (size_t i = 0; i < op_types_count; i++)
		text_addf(&text, "key mounts.%s\n", op_types[i].name);
	return print_text_out(STDOUT_FILENO, text.at, text.count);
}

static bool wants_colour(void)
{
	return isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
}

static struct survey survey_of(const struct plan *plan)
{
	struct survey survey = { 0 };

	engine_survey(plan, &survey);
	return survey;
}

static int print_plan(struct arena *arena, const struct plan *plan,
		      enum explain_format format)
{
	struct text_buf text = { .arena = arena };
	bool in_colour = wants_colour();
	struct error err = { 0 };
	struct survey survey;
	int r = -EINVAL;

	switch (format) {
	case EXPLAIN_TEXT:
		survey = survey_of(plan);
		reach_find(plan, &survey);
		r = in_colour ? print_text_in_colour(plan, &text, &err) :
		    print_text(plan, &text, &err);
		print_host_text(plan, &survey, in_colour, &text);
		break;
	case EXPLAIN_JSON:
		survey = survey_of(plan);
		reach_find(plan, &survey);
		r = print_json_of_host(plan, &survey, &text, &err);
		break;
	case EXPLAIN_BWRAP:
		r = print_bwrap(plan, &text, &err);
		break;
	case EXPLAIN_INI:
		r = print_ini(plan, &text, &err);
		break;
	case EXPLAIN_NO:
		break;
	}
	if (r < 0)
		return print_error(arena, plan, &err);
	return print_text_out(STDOUT_FILENO, text.at, text.count);
}

/*
 * @survey NULL: it did not come to a plan that could be tried; @err NULL:
 * everything could be set up.
 */
static int print_check(struct arena *arena, const struct plan *plan,
		       enum check_format format, const struct survey *survey,
		       const struct error *err)
{
	const struct print_check check = {
		.error = err, .survey = survey,
	};
	struct text_buf text = { .arena = arena };
	int r;

	if (format == CHECK_TEXT)
		print_check_text(&check, &text, wants_colour());
	else
		print_check_json(&check, &text);
	r = print_text_out(STDOUT_FILENO, text.at, text.count);
	if (err && format == CHECK_TEXT)
		print_error(arena, plan, err);
	return err ? ERROR_STATUS_LAUNCHER : r;
}

/* ---- running ----------------------------------------------------------------------- */

/* End as what ran was ended, for a caller that looks at it with wait(2). */
static void die_by(int number)
{
	sigset_t set;

	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static struct engine_options options_for(const struct native_options *native,
					 const struct engine_start *start)
{
	return (struct engine_options){
		.start = *start,
		.is_bwrap = is_bwrap,
		.is_check = native->check != CHECK_NO,
		.log_fd = native->log_fd >= 0 ? native->log_fd
			: native->is_verbose ? STDERR_FILENO : -EBADF,
		.profile = native->profile,
	};
}

/* A set-up that was ended from outside. */
static int fail_check(int status, struct error *err)
{
	if (status == ERROR_STATUS_TIMEOUT) {
		error_set(err, 0, "the time-out came before the set-up was "
			  "done");
		error_remedy(err, "give it more time: --timeout 10s");
		error_reason(err, "timeout");
	} else {
		error_set(err, 0, "the set-up was ended before it was done, "
			  "with status %d", status);
		error_reason(err, "setup-killed");
	}
	return error_result(err);
}

static int run(struct arena *arena, const struct front *front,
	       const struct engine_start *start)
{
	const struct native_options *native = &front->native;
	const struct plan *plan = front->parse.plan;
	const struct engine_options options = options_for(native, start);
	struct engine_outcome outcome = { 0 };
	struct survey survey = { 0 };
	struct error err = { 0 };
	int r;

	/* Before the run moves the launcher anywhere. */
	if (options.is_check)
		survey = survey_of(plan);
	r = engine_run(plan, &options, &outcome, &err);
	/* Ended from outside: a signal, the time-out. */
	if (options.is_check && r >= 0 && outcome.status)
		r = fail_check(outcome.status, &err);
	if (options.is_check)
		return print_check(arena, plan, native->check, &survey,
				   r < 0 ? &err : NULL);
	if (r < 0) {
		command_explain(plan, &err);
		return print_error(arena, plan, &err);
	}
	if (outcome.has_warning)
		print_error(arena, plan, &outcome.warning);
	if (outcome.end_by_signal)
		die_by(outcome.end_by_signal);
	return outcome.status;
}

/* What cannot be read is a launch, too, for who keeps books. */
static int refuse(struct arena *arena, const struct front *front,
		  const struct engine_start *start, const struct error *err)
{
	const struct native_options *native = &front->native;
	const struct plan *plan = front->parse.plan;
	const struct engine_options options = options_for(native, start);

	if (options.is_check)
		return print_check(arena, plan, native->check, NULL, err);
	if (plan && native->explain == EXPLAIN_NO)
		engine_refused(plan, &options, err);
	return print_error(arena, plan, err);
}

/* No command.  A launch that was meant to be is in the records. */
static int show_usage(struct arena *arena, const struct front *front,
		      const char *argv0, const struct engine_start *start)
{
	const struct engine_options options = options_for(&front->native,
							  start);
	const char *help = front_help(front, argv0);
	struct error err = { 0 };

	print_text_out(STDERR_FILENO, help, strlen(help));
	if (is_bwrap)
		return STATUS_BWRAP_FAILURE;
	error_set(&err, 0, "no command is given");
	error_reason(&err, "usage");
	engine_refused(front->parse.plan, &options, &err);
	return ERROR_STATUS_LAUNCHER;
}

static int act(struct arena *arena, struct front *front, const char *argv0,
	       const struct engine_start *start)
{
	const char *help;

	switch (front->parse.action) {
	case PARSE_VERSION:
		return print_version(arena);
	case PARSE_FEATURES:
		return print_features(arena, &front->parse);
	case PARSE_HELP:
		help = front_help(front, argv0);
		return print_text_out(STDOUT_FILENO, help, strlen(help));
	case PARSE_USAGE:
		return show_usage(arena, front, argv0, start);
	case PARSE_RUN:
		break;
	}
	if (front->native.explain != EXPLAIN_NO)
		return print_plan(arena, front->parse.plan,
				  front->native.explain);
	return run(arena, front, start);
}

/*
 * bubblewrap's language under its own name, and under the name that a
 * sandboxed program finds its launcher by.
 */
static bool is_called_bwrap(const char *argv0)
{
	const char *slash = argv0 ? strrchr(argv0, '/') : NULL;

	return argv0 && (!strcmp(slash ? slash + 1 : argv0, "bwrap") ||
			 !strcmp(argv0, "/proc/self/exe"));
}

/* Rights that the caller does not have are nothing to build a sandbox on. */
static int refuse_setuid(struct error *err)
{
	if (geteuid() == getuid() && getegid() == getgid())
		return 0;
	if (is_bwrap)
		return error_set(err, 0, "Unexpected setuid user %u, should "
				 "be 0", geteuid());
	error_set(err, 0, "this program must not be setuid or setgid");
	error_remedy(err, "chmod ug-s %s", (const char *)getauxval(AT_EXECFN));
	error_reason(err, "usage");
	return error_result(err);
}

/*
 * PID 1 wipes the block that they come in before the payload, to which they
 * go, runs.
 */
static char **copy_words(struct arena *arena, char **words)
{
	LIST_OF(char *) copy = { 0 };

	for (; words && *words; words++)
		*arena_push(arena, &copy) = arena_strdup(arena, *words);
	*arena_push(arena, &copy) = NULL;
	return copy.at;
}

static int launch(int argc, char **argv)
{
	struct engine_start start;
	struct arena *arena;
	struct error err = { 0 };
	struct front front = { 0 };
	int r;

	engine_begin(&start);
	is_bwrap = is_called_bwrap(argv[0]);
	mem_set_oom_handler(out_of_memory);
	arena = arena_new();
	argv = copy_words(arena, argv);
	environ = copy_words(arena, environ);
	r = refuse_setuid(&err);
	if (r >= 0)
		r = front_read(&front, arena, argc, (const char *const *)argv,
			       is_bwrap, &err);
	if (front.parse.arena)
		print_warnings(&front.parse);
	if (r < 0)
		return refuse(arena, &front, &start, &err);
	return act(arena, &front, argv[0], &start);
}

/*
 * Nothing is buffered, and what was allocated goes with the process: to take
 * it apart would only touch pages.
 */
int main(int argc, char **argv)
{
	_exit(launch(argc, argv));
}
