/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * orphans N: a thousand orphans, "on", a line of input, N orphans, "done",
 * another line.
 *
 * A child of vfork(2) costs no copy of the page tables, which is what takes the
 * time: a hundredth of what one of fork(2) does in a virtual machine.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FAMILY = 200 };

static bool have_child(void)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(0);
	return pid > 0;
}

/* They have ended when their parent ends, which has waited for none. */
static _Noreturn void be_parent(long count)
{
	while (count > 0 && have_child())
		count--;
	_exit(count > 0);
}

static void make_orphans(long count)
{
	for (; count > 0; count -= FAMILY) {
		pid_t pid = fork();
		int status;

		if (!pid)
			be_parent(count < FAMILY ? count : FAMILY);
		if (pid < 0 || waitpid(pid, &status, 0) < 0 || status) {
			perror("orphans");
			exit(1);
		}
	}
}

static void say(const char *word)
{
	sleep(1);
	puts(word);
	fflush(stdout);
	getchar();
}

int main(int argc, char **argv)
{
	make_orphans(1000);
	say("on");
	make_orphans(argc > 1 ? atol(argv[1]) : 0);
	say("done");
	return 0;
}
