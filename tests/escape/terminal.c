/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attacks on the terminal that the launcher was started from. */
#include "attack.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static void start_on_a_terminal(struct scene *scene)
{
	scene->program.pty = true;
}

/* What is typed is read by the caller's shell, after the end. */
ATTACK(terminal, typing, .weak = BWRAP, .bait = start_on_a_terminal)
{
	if (ioctl(0, TIOCSTI, "\n") == 0)
		return true;
	if (errno == EIO)
		attack_not_here("the kernel allows nobody to type");
	return false;
}

ATTACK(terminal, opening, .weak = BWRAP, .bait = start_on_a_terminal)
{
	return attack_opens("/dev/tty", O_RDWR) ||
	       attack_opens("/dev/console", O_RDWR);
}

ATTACK(terminal, foreground, .weak = BWRAP, .bait = start_on_a_terminal)
{
	signal(SIGTTOU, SIG_IGN);
	return setpgid(0, 0) == 0 && tcsetpgrp(0, getpid()) == 0;
}

/* With it go its signals, and what TIOCSTI wants. */
ATTACK(terminal, taking_it_over, .weak = BARE, .bait = start_on_a_terminal)
{
	setsid();
	return tcgetpgrp(0) >= 0 || ioctl(0, TIOCSCTTY, 1) == 0;
}

/* The caller's shell would hang up. */
ATTACK(terminal, line_discipline, .weak = BWRAP,
       .bait = start_on_a_terminal)
{
	int discipline = 0; /* the one that it has */

	return ioctl(0, TIOCSETD, &discipline) == 0;
}
