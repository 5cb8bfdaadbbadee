/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Attacks, each written once and run twice: in a sandbox that is too weak for
 * it, where it must succeed, and in a shipped profile, where it must not.
 *
 *     ATTACK(process, ptrace_of_pid_1, .weak = BWRAP)
 *     {
 *             return ptrace(PTRACE_SEIZE, 1, 0, 0) == 0;
 *     }
 *
 * A file of attacks is compiled twice.  As a test program (attack.c), where
 * ATTACK() makes a test of that name; and with ATTACKER defined as a part of
 * the program that is started in the sandbox (attacker.c), which has nothing
 * but the attacks: static, so that it runs in any root, and in no sanitizer.
 */
#ifndef ESCAPE_ATTACK_H
#define ESCAPE_ATTACK_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include <criterion/criterion.h>

#include "harness/arena.h"
#include "harness/host.h"
#include "harness/identity.h"
#include "harness/program.h"
#include "harness/scratch.h"

/* ---- inside ------------------------------------------------------------------ */

/* How the attacker ends; no launcher has these. */
enum attack_end {
	ATTACK_GOT = 20,      /* it returned true */
	ATTACK_HELD = 21,     /* false; errno is printed */
	ATTACK_NOT_HERE = 22, /* this kernel or machine has no such thing */
};

/* What the scene says under @name ("" if nothing). */
const char *attack_word(const char *name);

/* End the attack: it cannot be made on this machine. */
_Noreturn void attack_not_here(const char *why);

/* Can @path be opened? */
bool attack_opens(const char *path, int flags);

/* The first bytes of a file, as a string; "" when it cannot be read. */
const char *attack_read(const char *path);

/* Did something of @function's run as a child of its own end with true? */
bool attack_in_child(bool (*function)(void));

/* ---- outside ------------------------------------------------------------------ */

enum {
	AS_ROOT = 1 << IDENTITY_ROOT,
	AS_USER = 1 << IDENTITY_USER,
	AS_UNSHARE = 1 << IDENTITY_UNSHARE,
};

/*
 * What is not strong enough: Debian's bubblewrap with the words that its
 * callers give it; no sandbox at all; or the profile with these options.
 */
extern const char *const attack_bwrap[], *const attack_bare[];
#define BWRAP attack_bwrap
#define BARE attack_bare
#define WITH(...) ARGV(__VA_ARGS__)

enum { SCENE_WORDS = 32 };

/* One of the two runs. */
struct scene {
	const char *top;   /* a directory of mode 0700; below it: */
	const char *work;  /* the workspace and working directory, with the
			    * attacker in it */
	bool is_weak;      /* the attacker finds "yes" under "weak" then */
	const char *attacker; /* the program */
	const char *launcher; /* sbx-launch */
	const char *profile;
	const char *bait;  /* for whoever set it */
	struct program program; /* may be added to */
	/* Made by the functions below. */
	const char *words[SCENE_WORDS];   /* for attack_word() */
	const char *options[SCENE_WORDS]; /* for the launcher */
	const char *bwrap[SCENE_WORDS];   /* for bubblewrap */
};

/* attack_word(@name) is to be @value. */
void scene_tell(struct scene *scene, const char *name, const char *value);
/* Further options, behind those that are always there. */
void scene_option(struct scene *scene, const char *name, const char *value);
void scene_bwrap(struct scene *scene, const char *const *words);

/* Skip the test where the kernel's Landlock is older than @abi. */
void scene_need_landlock(int abi);

struct attack {
	const char *const *weak; /* where it succeeds */
	unsigned bites;  /* AS_*: for whom it does; 0: everybody */
	unsigned who;    /* AS_*: whom it is of any use to; 0: everybody */
	const char *const *with; /* options of both runs in a profile */

	bool as_user;    /* root starts it as an ordinary user */

	/* Before a run: what is on the host, what the attacker is told. */
	void (*bait)(struct scene *scene);
	/* After it: what it did to the host; added to what it says itself. */
	bool (*seen)(const struct scene *scene, const struct outcome *outcome);
	/* The launch itself may be refused. */
	bool may_be_refused;
};

/* Both runs of the attack @name, and what is claimed of them. */
void attack_try(const char *name, const struct attack *attack);

/*
 * For attacks that take more than that: one run, and whether it succeeded.
 * attack_scene() makes what it runs in.
 */
struct scene *attack_scene(const struct attack *attack, bool is_weak);
bool attack_run(struct scene *scene, const char *name,
		const struct attack *attack);

/* The command line of that run, ended by NULL. */
const char *const *attack_command(const struct scene *scene, const char *name,
				  const struct attack *attack);

#ifdef ATTACKER

struct attacker_entry {
	const char *name;
	bool (*function)(void);
	struct attacker_entry *next;
};

void attacker_add(struct attacker_entry *entry);

#define ATTACK(noun, name, ...)                                           \
	static bool name(void);                                           \
	__attribute__((constructor)) static void name##_add(void)         \
	{                                                                 \
		static struct attacker_entry entry = { #name, name, NULL }; \
									  \
		attacker_add(&entry);                                     \
	}                                                                 \
	static bool name(void)

/* Tests that are written out belong to the other program. */
#undef Test
#define Test(noun, name, ...) static void noun##_##name(void)

#else

#define ATTACK(noun, name, ...)                                           \
	static bool name(void);                                           \
	Test(noun, name)                                                  \
	{                                                                 \
		attack_try(#name, &(const struct attack){ __VA_ARGS__ }); \
	}                                                                 \
	static bool name(void)

#endif

/* The attacker's part of a test that is written out. */
#ifdef ATTACKER
#define PART(name) ATTACK(part, name)
#else
#define PART(name) static bool name(void)
#endif

#endif
