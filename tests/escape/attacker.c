/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* attacker NAME [WORD=VALUE...]: make one attack; see attack.h. */
#include "attack.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct attacker_entry *entries;
static char **words;

void attacker_add(struct attacker_entry *entry)
{
	for (struct attacker_entry *e = entries; e; e = e->next)
		if (!strcmp(e->name, entry->name))
			abort(); /* two of one name */
	entry->next = entries;
	entries = entry;
}

const char *attack_word(const char *name)
{
	size_t length = strlen(name);

	for (char **word = words; *word; word++)
		if (!strncmp(*word, name, length) && (*word)[length] == '=')
			return *word + length + 1;
	return "";
}

_Noreturn void attack_not_here(const char *why)
{
	fprintf(stderr, "NOT HERE: %s: %s\n", why, strerror(errno));
	_exit(ATTACK_NOT_HERE);
}

bool attack_opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

const char *attack_read(const char *path)
{
	static char text[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	text[length < 0 ? 0 : length] = '\0';
	if (fd >= 0)
		close(fd);
	return text;
}

bool attack_in_child(bool (*function)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(function() ? ATTACK_GOT : ATTACK_HELD);
	return pid > 0 && waitpid(pid, &status, 0) == pid &&
	       WIFEXITED(status) && WEXITSTATUS(status) == ATTACK_GOT;
}

int main(int argc, char **argv)
{
	struct attacker_entry *entry = entries;
	bool got;

	while (entry && argc > 1 && strcmp(entry->name, argv[1]) != 0)
		entry = entry->next;
	if (argc < 2 || !entry) {
		fprintf(stderr, "attacker: no such attack\n");
		return 1;
	}
	words = argv + 2;
	errno = 0;
	got = entry->function();
	if (!got)
		fprintf(stderr, "HELD: %s\n", strerror(errno));
	return got ? ATTACK_GOT : ATTACK_HELD;
}
