/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * crowd WIDTH TOTAL COMMAND [ARGUMENT...]: start the command TOTAL times,
 * WIDTH at once, and print how many ended a second.
 *
 * Ends with 0, or 1 when one of them could not be started or failed.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void start(char **argv)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null",
					 O_WRONLY, 0);
	r = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (r) {
		fprintf(stderr, "crowd: %s: %s\n", argv[0], strerror(r));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	long width = argc > 3 ? strtol(argv[1], NULL, 10) : 0;
	long total = argc > 3 ? strtol(argv[2], NULL, 10) : 0;
	struct timespec begin, end;
	long started = 0, ended = 0;
	int status;

	if (width < 1 || total < width) {
		fprintf(stderr, "usage: crowd WIDTH TOTAL COMMAND...\n");
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (ended < total) {
		while (started < total && started - ended < width) {
			start(argv + 3);
			started++;
		}
		if (wait(&status) < 0 || status) {
			fprintf(stderr, "crowd: %s: wait status %#x\n",
				argv[3], (unsigned int)status);
			return 1;
		}
		ended++;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%.2f\n", (double)total /
	       ((double)(end.tv_sec - begin.tv_sec) +
		(double)(end.tv_nsec - begin.tv_nsec) / 1e9));
	return 0;
}
