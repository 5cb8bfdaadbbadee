/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * steps OUTPUT COMMAND [ARGS...]: which instructions a command and the
 * processes that it makes run, until each of them executes another program.
 *
 * Every process is stepped through with ptrace(2).  OUTPUT gets one line for
 * each instruction the first time that it is reached, in that order: its
 * distance in hexadecimal from where the image of COMMAND lies.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { IMAGE_LIMIT = 16 * 1024 * 1024 };

static bool seen[IMAGE_LIMIT];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* The first mapping of a process that has just executed @program. */
static unsigned long image_of(pid_t pid, const char *program)
{
	char path[64], line[4096 + 128];
	unsigned long begin = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		die(path);
	while (!begin && fgets(line, sizeof(line), maps))
		if (strstr(line, program))
			begin = strtoul(line, NULL, 16);
	fclose(maps);
	if (!begin) {
		fprintf(stderr, "steps: '%s' is not mapped\n", program);
		exit(1);
	}
	return begin;
}

static void note(pid_t pid, unsigned long image, FILE *output)
{
	struct user_regs_struct registers;
	unsigned long at;

	/* It may have been killed meanwhile. */
	if (ptrace(PTRACE_GETREGS, pid, NULL, &registers) < 0)
		return;
	at = registers.rip - image;
	if (at >= IMAGE_LIMIT || seen[at])
		return;
	seen[at] = true;
	fprintf(output, "%lx\n", at);
}

int main(int argc, char **argv)
{
	int status, first_status = 0;
	unsigned long image;
	pid_t first, pid;
	char *program;
	FILE *output;

	if (argc < 3) {
		fprintf(stderr, "usage: steps OUTPUT COMMAND [ARGS...]\n");
		return 1;
	}
	program = realpath(argv[2], NULL);
	output = fopen(argv[1], "we");
	if (!program || !output)
		die(argv[program ? 1 : 2]);
	first = fork();
	if (first < 0)
		die("fork");
	if (!first) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(program, argv + 2);
		_exit(127);
	}
	if (waitpid(first, &status, 0) < 0 || !WIFSTOPPED(status))
		die(program);
	image = image_of(first, program);
	if (ptrace(PTRACE_SETOPTIONS, first, NULL, PTRACE_O_EXITKILL |
		   PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
		   PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC) < 0)
		die("ptrace");
	ptrace(PTRACE_SINGLESTEP, first, NULL, NULL);
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		int signal;

		if (!WIFSTOPPED(status)) {
			if (pid == first)
				first_status = status;
			continue;
		}
		if (status >> 16 == PTRACE_EVENT_EXEC) {
			ptrace(PTRACE_DETACH, pid, NULL, NULL);
			continue;
		}
		signal = WSTOPSIG(status);
		if (signal == SIGTRAP || signal == SIGSTOP) {
			note(pid, image, output);
			signal = 0;
		}
		ptrace(PTRACE_SINGLESTEP, pid, NULL, signal);
	}
	if (fclose(output))
		die(argv[1]);
	return WIFEXITED(first_status) ? WEXITSTATUS(first_status) : 1;
}
