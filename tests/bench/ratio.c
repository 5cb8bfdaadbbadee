/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ratio ROUNDS NAME COMMAND [ARGUMENT...] [--- NAME COMMAND [ARGUMENT...]]...
 *
 * Run the commands in turn, ROUNDS times, and print a line of JSON for each:
 * the medians of its times, and the median of its ratio to the first command
 * in the same round.  A machine that slows down for a while slows down all
 * commands of a round, which leaves a ratio as it is.
 *
 * A command that writes a struct timespec of CLOCK_MONOTONIC to stdout (see
 * instant.c) gets its time split there: from the start to the payload's first
 * instruction, and from there to the return.
 *
 * Ends with 0, or 1 when a command could not be started or did not end with 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	COMMANDS_MAX = 16,
	ROUNDS_MAX = 10000,
	WARM_UP = 3,
};

/* All in milliseconds. */
enum figure {
	FIGURE_WALL,
	FIGURE_CPU,
	FIGURE_UNTIL_PAYLOAD,
	FIGURE_AFTER_PAYLOAD,
	FIGURE_COUNT
};

static const char *const figure_names[] = {
	[FIGURE_WALL] = "wall",
	[FIGURE_CPU] = "cpu",
	[FIGURE_UNTIL_PAYLOAD] = "until_payload",
	[FIGURE_AFTER_PAYLOAD] = "after_payload",
};
_Static_assert(sizeof(figure_names) / sizeof(*figure_names) == FIGURE_COUNT,
	       "a name for every figure");

struct command {
	const char *name;
	char **argv;
	double *figures[FIGURE_COUNT];
};

extern char **environ;

static double since(const struct timespec *from, const struct timespec *to)
{
	return (double)(to->tv_sec - from->tv_sec) * 1e3 +
	       (double)(to->tv_nsec - from->tv_nsec) / 1e6;
}

static double milliseconds(const struct timeval *time)
{
	return (double)time->tv_sec * 1e3 + (double)time->tv_usec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts @values. */
static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), compare);
	return count % 2 ? values[count / 2] :
			   (values[count / 2 - 1] + values[count / 2]) / 2;
}

static pid_t start(const struct command *command, int out)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	r = posix_spawnp(&pid, command->argv[0], &actions, NULL,
			 command->argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (r) {
		fprintf(stderr, "ratio: %s: %s\n", command->name, strerror(r));
		exit(1);
	}
	return pid;
}

static void run(const struct command *command, int round)
{
	struct timespec begin, end, payload;
	struct rusage usage;
	int fds[2], status;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0) {
		perror("ratio: pipe");
		exit(1);
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	pid = start(command, fds[1]);
	while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
		;
	clock_gettime(CLOCK_MONOTONIC, &end);
	close(fds[1]);
	if (status) {
		fprintf(stderr, "ratio: %s: wait status %#x\n", command->name,
			(unsigned int)status);
		exit(1);
	}
	if (read(fds[0], &payload, sizeof(payload)) != sizeof(payload))
		payload = begin;
	close(fds[0]);
	if (round < 0)
		return;
	command->figures[FIGURE_WALL][round] = since(&begin, &end);
	command->figures[FIGURE_CPU][round] = milliseconds(&usage.ru_utime) +
					      milliseconds(&usage.ru_stime);
	command->figures[FIGURE_UNTIL_PAYLOAD][round] =
		since(&begin, &payload);
	command->figures[FIGURE_AFTER_PAYLOAD][round] = since(&payload, &end);
}

static double ratio_to(const double *values, const double *first, int rounds)
{
	static double ratios[ROUNDS_MAX];

	for (int i = 0; i < rounds; i++)
		ratios[i] = first[i] > 0 ? values[i] / first[i] : 0;
	return median(ratios, rounds);
}

static void print(const struct command *commands, int count, int rounds)
{
	double ratios[COMMANDS_MAX][2];

	/* All ratios first: a median sorts its values. */
	for (int i = 0; i < count; i++)
		for (int j = FIGURE_WALL; j <= FIGURE_CPU; j++)
			ratios[i][j] = ratio_to(commands[i].figures[j],
						commands[0].figures[j],
						rounds);
	for (int i = 0; i < count; i++) {
		printf("{\"name\":\"%s\"", commands[i].name);
		for (int j = 0; j < FIGURE_COUNT; j++)
			printf(",\"%s_ms\":%.4f", figure_names[j],
			       median(commands[i].figures[j], rounds));
		printf(",\"wall_ratio\":%.4f,\"cpu_ratio\":%.4f}\n",
		       ratios[i][FIGURE_WALL], ratios[i][FIGURE_CPU]);
	}
}

int main(int argc, char **argv)
{
	struct command commands[COMMANDS_MAX];
	int rounds = argc > 3 ? (int)strtol(argv[1], NULL, 10) : 0, count = 0;

	if (rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: ratio ROUNDS NAME COMMAND... "
				"[--- NAME COMMAND...]...\n");
		return 1;
	}
	for (int i = 2; i + 1 < argc && count < COMMANDS_MAX; count++) {
		commands[count].name = argv[i++];
		commands[count].argv = &argv[i];
		for (int j = 0; j < FIGURE_COUNT; j++)
			commands[count].figures[j] =
				calloc((size_t)rounds, sizeof(double));
		while (i < argc && strcmp(argv[i], "---") != 0)
			i++;
		if (i < argc)
			argv[i++] = NULL;
	}
	for (int round = -WARM_UP; round < rounds; round++)
		for (int i = 0; i < count; i++)
			run(&commands[i], round);
	print(commands, count, rounds);
	return 0;
}
