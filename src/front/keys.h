/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The keys of a profile: one row each.  A file, --set and the shorthands of
 * the command line all end in the same rows.
 */
#ifndef FRONT_KEYS_H
#define FRONT_KEYS_H

#include "front/op_words.h"
#include "front/variables.h"

struct key;

/* The words of one value, and where they were written. */
struct key_value {
	const char *name;          /* the key as written (a row may match many) */
	const char *const *words;
	size_t count;
	struct origin origin;
};

/* What the handlers work on. */
struct key_target {
	struct plan *plan;
	struct variables *variables;
	/* [mounts]: what perms, size and overlay-src said, and the last one. */
	struct op_pending pending;
	struct origin pending_origin;
	/* [environment] and [setenv], put into the plan in this order. */
	bool keeps_environment;
	struct origin clear_origin;
	LIST_OF(struct env_step) keeps, sets;
};

/* Returns 0, or a negative errno with @err filled (without the origin). */
typedef int (*key_fn)(struct key_target *target, const struct key *key,
		      const struct key_value *value, struct error *err);

enum key_flags {
	KEY_REPEATS = 1 << 0,
	KEY_TEXT = 1 << 1,     /* the value is one text to the end of the line */
	KEY_ANY_NAME = 1 << 2, /* the name is a part of what is said */
	KEY_FIRST = 1 << 3,    /* taken before the rest, which may refer to it */
	KEY_REPORT = 1 << 6,   /* taken next: errors of the rest are recorded */
	KEY_BARE = 1 << 4,     /* makes sense without a profile, too */
	KEY_IN_FILE = 1 << 5,  /* only a file can hold it, --set cannot */
};

struct key {
	const char *section, *name;
	unsigned flags;              /* enum key_flags */
	unsigned least, most;        /* number of words */
	key_fn apply;
	long tag;                    /* the handler's business */
	const char *operands;        /* "SRC [DEST]" */
	const char *help;            /* one line */
};

enum { KEY_WORDS_ANY = ~0U };

extern const struct key keys[];
extern const size_t keys_count;

/* Is there such a section?  0, or a negative errno with @err filled. */
int keys_check_section(const char *section, struct error *err);

/*
 * The row for @name in @section.  Returns 0, or a negative errno with @err
 * filled (unknown section or key, with the nearest right spelling).
 */
int keys_find(const char *section, const char *name,
	      const struct key **ret_key, struct error *err);

/* When all keys are applied: what is left over, and the environment. */
int keys_finish(struct key_target *target, struct error *err);

/* ---- handlers; key_values.c, key_places.c and key_mounts.c ---------------- */

int key_nothing(struct key_target *target, const struct key *key,
		const struct key_value *value, struct error *err);
int key_description(struct key_target *target, const struct key *key,
		    const struct key_value *value, struct error *err);
int key_interpreter(struct key_target *target, const struct key *key,
		    const struct key_value *value, struct error *err);
int key_argument(struct key_target *target, const struct key *key,
		 const struct key_value *value, struct error *err);
int key_chdir(struct key_target *target, const struct key *key,
	      const struct key_value *value, struct error *err);
int key_share(struct key_target *target, const struct key *key,
	      const struct key_value *value, struct error *err);
int key_hostname(struct key_target *target, const struct key *key,
		 const struct key_value *value, struct error *err);
int key_id(struct key_target *target, const struct key *key,
	   const struct key_value *value, struct error *err);
int key_environment_clear(struct key_target *target, const struct key *key,
			  const struct key_value *value, struct error *err);
int key_environment_keep(struct key_target *target, const struct key *key,
			 const struct key_value *value, struct error *err);
int key_setenv(struct key_target *target, const struct key *key,
	       const struct key_value *value, struct error *err);
int key_limit(struct key_target *target, const struct key *key,
	      const struct key_value *value, struct error *err);
int key_run_as(struct key_target *target, const struct key *key,
	       const struct key_value *value, struct error *err);
int key_seccomp(struct key_target *target, const struct key *key,
		const struct key_value *value, struct error *err);
int key_unix_sockets(struct key_target *target, const struct key *key,
		     const struct key_value *value, struct error *err);
int key_nested_userns(struct key_target *target, const struct key *key,
		      const struct key_value *value, struct error *err);
int key_tty(struct key_target *target, const struct key *key,
	    const struct key_value *value, struct error *err);
int key_keep_fd(struct key_target *target, const struct key *key,
		const struct key_value *value, struct error *err);
int key_loopback(struct key_target *target, const struct key *key,
		 const struct key_value *value, struct error *err);
int key_status_fd(struct key_target *target, const struct key *key,
		  const struct key_value *value, struct error *err);
int key_report(struct key_target *target, const struct key *key,
	       const struct key_value *value, struct error *err);

int key_root_source(struct key_target *target, const struct key *key,
		    const struct key_value *value, struct error *err);
int key_root_system(struct key_target *target, const struct key *key,
		    const struct key_value *value, struct error *err);
int key_mask_tmpfs(struct key_target *target, const struct key *key,
		   const struct key_value *value, struct error *err);
int key_mask_hide(struct key_target *target, const struct key *key,
		  const struct key_value *value, struct error *err);
int key_layer(struct key_target *target, const struct key *key,
	      const struct key_value *value, struct error *err);
int key_workspace_path(struct key_target *target, const struct key *key,
		       const struct key_value *value, struct error *err);
int key_workspace_mode(struct key_target *target, const struct key *key,
		       const struct key_value *value, struct error *err);
int key_workspace_place(struct key_target *target, const struct key *key,
			const struct key_value *value, struct error *err);
int key_workspace_commit(struct key_target *target, const struct key *key,
			 const struct key_value *value, struct error *err);
int key_workspace_commit_fd(struct key_target *target, const struct key *key,
			    const struct key_value *value, struct error *err);
int key_workspace_protect(struct key_target *target, const struct key *key,
			  const struct key_value *value, struct error *err);
int key_mount(struct key_target *target, const struct key *key,
	      const struct key_value *value, struct error *err);

/* ---- for the handlers ------------------------------------------------------- */

/* @word as a member of @names; the error lists them. */
int key_choice(const char *word, const char *const *names, size_t count,
	       size_t *ret_index, struct error *err);
int key_bool(const char *word, bool *ret_value, struct error *err);
/* A number in @least..@most. */
int key_number(const char *word, uint64_t least, uint64_t most,
	       uint64_t *ret_value, struct error *err);
int key_fd(const char *word, int *ret_fd, struct error *err);
/* A host path: not empty, not too long, made absolute and normal. */
int key_host_path(struct key_target *target, const char *word,
		  const char **ret_path, struct error *err);
/* A path inside: absolute, made normal. */
int key_inside_path(struct key_target *target, const char *word,
		    const char **ret_path, struct error *err);

/* The rows of workspace_place: which member. */
enum workspace_place { PLACE_LOWER, PLACE_UPPER, PLACE_WORK, PLACE_EXPORT };
/* The rows of report: which member. */
enum report_member {
	REPORT_STATUS_FILE, REPORT_AUDIT_FILE, REPORT_CHANGES_FILE,
	REPORT_RUN_ID, REPORT_HANDLE_ID,
};

#endif
