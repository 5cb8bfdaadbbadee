/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "diagnosed.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "harness/arena.h"
#include "harness/identity.h"
#include "harness/scratch.h"

enum { STATUS_FD = 7, WORDS_MOST = 32 };

struct box *plain_box(const char *profile)
{
	struct box *box = box_make();

	box_profile_alone(box, "[mask]\ntmpfs = /home\n%s", profile);
	return box;
}

static const struct outcome *run_in(struct box *box,
				    const struct program *program,
				    const char *command)
{
	struct program started = *program;
	const char *status = path_in(box->top, "status");
	int fd = open(status, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	const char *const launch[] = {
		sbx_launch(), "--profile", box->profile, "--status-fd", "7",
		"--", command, NULL,
	};
	const char *words[WORDS_MOST];
	const struct outcome *o;
	size_t count = 0;

	cr_assert(fd >= 0);
	while (program->argv && program->argv[count]) {
		words[count] = program->argv[count];
		count++;
	}
	memcpy(words + count, launch, sizeof(launch));
	started.argv = words;
	started.fds[0] = (struct program_fd){ fd, STATUS_FD };
	o = program_run(&started);
	close(fd);
	return o;
}

static void expect_line(const struct outcome *o, const char *line,
			const char *pattern, const char *what)
{
	cr_expect(!fnmatch(arena_format("sbx-launch: %s", pattern), line, 0),
		  "%s is\n  %s\nexpected\n  %s\n%s", what, line, pattern,
		  outcome_describe(o));
}

void expect_diagnosis(struct box *box, const struct program *program,
			     const char *command, const struct diagnosis *want)
{
	const struct outcome *o = run_in(box, program, command);
	char *first = arena_format("%s", o->err), *second, *third;
	const char *record = file_read(path_in(box->top, "status"), NULL);

	expect_exit(o, want->status);
	expect_out(o, "");
	second = strchr(first, '\n');
	cr_assert(second, "no line: %s", outcome_describe(o));
	*second++ = '\0';
	third = strchr(second, '\n');
	if (third)
		*third++ = '\0';
	expect_line(o, first, want->cause, "the cause");
	if (want->remedy)
		expect_line(o, second, want->remedy, "the remedy");
	cr_expect(!third || !*third, "a third line: %s", outcome_describe(o));
	cr_expect(strstr(record, arena_format("\"reason\":\"%s\"",
					      want->reason)),
		  "reason is not %s: %s", want->reason, record);
	box_expect_clean(box);
}
