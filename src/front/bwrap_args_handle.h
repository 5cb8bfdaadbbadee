/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What bubblewrap's options do to the plan.  Handlers are option_fn; what
 * a row's tag means to each is said here.
 */
#ifndef FRONT_BWRAP_ARGS_HANDLE_H
#define FRONT_BWRAP_ARGS_HANDLE_H

#include "front/bwrap_args.h"
#include "front/op_words.h"

/*
 * Read descriptor @fd from where it stands to its end and close it.  Returns
 * 0 or a negative errno.
 */
typedef int (*bwrap_read_fn)(int fd, struct text_buf *out);

/* What has to be remembered between options. */
struct bwrap_parse {
	struct op_pending pending;
	bool *seen;             /* by row: was the option given? */
	bool unshare_user;      /* --unshare-user itself */
	bool unshare_user_try;  /* --unshare-user-try or --unshare-all */
	bool has_hostname;
	bwrap_read_fn read_args; /* for --args; tests replace it */
};

/* parse->bwrap, made when it is not there yet. */
struct bwrap_parse *bwrap_parse_state(struct parse *parse);

#define OPTION_HANDLER(name)                                                  \
	int name(struct parse *parse, const struct option *option,            \
		 const char *const *values, struct origin origin,             \
		 struct error *err)

OPTION_HANDLER(bwrap_do_action);      /* enum parse_action */
OPTION_HANDLER(bwrap_do_args);
OPTION_HANDLER(bwrap_do_nothing);
OPTION_HANDLER(bwrap_do_switch);      /* offset of a bool in plan_bwrap */
OPTION_HANDLER(bwrap_do_fd);          /* offset of an int in plan_bwrap */
OPTION_HANDLER(bwrap_do_seccomp);     /* the same */
OPTION_HANDLER(bwrap_do_add_seccomp);
OPTION_HANDLER(bwrap_do_label);       /* offset of a string in plan_bwrap */
OPTION_HANDLER(bwrap_do_lock_file);
OPTION_HANDLER(bwrap_do_cap);         /* 1: add, 0: drop */

OPTION_HANDLER(bwrap_do_unshare);     /* enum ns_kind */
OPTION_HANDLER(bwrap_do_unshare_try); /* enum ns_kind */
OPTION_HANDLER(bwrap_do_unshare_all);
OPTION_HANDLER(bwrap_do_share_net);
OPTION_HANDLER(bwrap_do_join);        /* enum ns_kind */
OPTION_HANDLER(bwrap_do_uid);
OPTION_HANDLER(bwrap_do_gid);
OPTION_HANDLER(bwrap_do_hostname);

OPTION_HANDLER(bwrap_do_chdir);
OPTION_HANDLER(bwrap_do_argv0);
OPTION_HANDLER(bwrap_do_env);         /* enum env_kind */

OPTION_HANDLER(bwrap_do_op);          /* named like the operation's row */
OPTION_HANDLER(bwrap_do_perms);
OPTION_HANDLER(bwrap_do_size);
OPTION_HANDLER(bwrap_do_overlay_src);

/* Text of the error when nothing takes the layers of --overlay-src. */
extern const char bwrap_overlay_src_error[];

#endif
