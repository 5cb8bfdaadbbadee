/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The payload of the benchmark: writes the time of its first instruction to
 * stdout, as ratio.c reads it, and ends.  With an argument it sleeps that
 * many seconds before it ends.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (write(STDOUT_FILENO, &now, sizeof(now)) != sizeof(now))
		return 1;
	if (argc > 1)
		sleep((unsigned int)strtoul(argv[1], NULL, 10));
	return 0;
}
