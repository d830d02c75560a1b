/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_MEMLOCK_PARSE_H
#define PROBES_MEMLOCK_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/str.h"
#include "lib/data/record_memlock.h"

/**
 * Texts that say something about limits: what files of /proc, of systemd, of
 * pam_limits and Slurm's tools have in them.  Pure.  Each returns 0, or -1 with
 * @e (what, in which line) and its outputs undefined.  More than
 * MEMLOCK_TEXT_MAX bytes and a NUL inside are errors.
 */
#define MEMLOCK_TEXT_MAX (256 * 1024)

/** A limit: bytes, or a count; MEMLOCK_UNLIMITED. */
struct limit_pair {
	int64_t soft, hard;
};

/* proc.c */

/** Line @name ("Max locked memory") of /proc/PID/limits. */
int proc_limit_parse(const struct str *text, const char *name,
		     struct limit_pair *out, struct err *e);

struct proc_status {
	bool has_ipc_lock;	/* effective */
	int64_t uid;		/* effective */
};

/** Lines CapEff and Uid of /proc/PID/status. */
int proc_status_parse(const struct str *text, struct proc_status *out,
		      struct err *e);

/**
 * What runs the process, by the names in /proc/PID/cgroup: "docker",
 * "kubernetes", ... or "" when it is no container.  *@group is the unified
 * (v2) or memory (v1) group, "/" when there is none.
 */
struct proc_cgroup {
	char container[16];
	char unit[64];		/* NAME.service that it runs in, "" */
	char group[256];
	bool v2;
};

int proc_cgroup_parse(const struct str *text, struct proc_cgroup *out,
		      struct err *e);

/**
 * Option size= of the tmpfs at @mount in /proc/self/mounts, bytes; 0 when the
 * tmpfs has none, -1 when nothing is mounted there.
 */
int proc_mount_size(const struct str *text, const char *mount, int64_t *size_B,
		    struct err *e);

/* unit.c */

/**
 * LimitMEMLOCK of section [Service] or DefaultLimitMEMLOCK of [Manager]: the
 * last one wins.  @line is 0, and @limit untouched, when there is none.
 * @ignored is a line behind it that looks like one, but that systemd passes
 * over: a word that is no size, another section, another spelling; 0 = none.
 */
struct unit_limit {
	struct limit_pair limit;
	int line;
	int ignored;
	char why[160];		/* of @ignored: the line, and what is wrong */
};

int unit_parse(const struct str *text, struct unit_limit *out, struct err *e);

/* conf.c */

/** Who logs in: pam_limits looks at all of it. */
struct conf_user {
	const char *name;
	int64_t uid;
	const char *const *groups;	/* names, NULL at the end */
};

/** How closely a line names the user; the closest one counts. */
enum conf_match { CONF_NONE, CONF_ANYONE, CONF_GROUP, CONF_USER };

/** One of soft and hard: which line set it. */
struct conf_value {
	enum conf_match match;
	int64_t value_B;
	char source[160];	/* FILE:LINE, @file as passed in */
	char text[120];		/* of the line, for people */
};

struct conf_limit {
	struct conf_value soft, hard;
};

/**
 * Lines "DOMAIN soft|hard|- memlock VALUE" of limits.conf that apply to @user.
 * Called for each file in the order of pam_limits; @out starts zeroed.
 */
int conf_parse(const struct str *text, const char *file,
	       const struct conf_user *user, struct conf_limit *out,
	       struct err *e);

/* slurm.c */

struct slurm_limits {
	bool propagates;	/* is MEMLOCK taken from the submitting
				 * shell? */
	char limits[120];	/* PropagateResourceLimits, as printed */
	char except[120];	/* PropagateResourceLimitsExcept, as printed */
};

/** "scontrol show config". */
int slurm_config_parse(const struct str *text, struct slurm_limits *out,
		       struct err *e);

/* text.c: what the parsers have in common */

/** One line after the other: blanks at both ends cut, tabs as blanks. */
struct text_lines {
	const char *at;
	struct err *e;
	int rc;			/* -1 with @e: the text is not fit to read */
	int line;		/* of text[], from 1 */
	char text[1024];
};

void text_lines_init(struct text_lines *l, const struct str *text,
		     struct err *e);
/** Is l->text the next line?  Else l->rc says whether all have been. */
bool text_lines_next(struct text_lines *l);
/** Put "line N: " before what @e says is wrong; returns -1. */
int text_lines_fail(const struct text_lines *l);
/** The next blank-separated word of *@at into @word; false at the end. */
bool text_word(const char **at, char *word, size_t size);
/** VALUE of "KEY = VALUE"; NULL when @line is about something else. */
const char *text_value(const char *line, const char *key);
/** "unlimited", "infinity", or a number of @unit_B; 0, or -1 with @e. */
int text_limit(const char *word, int64_t unit_B, int64_t *out, struct err *e);

#endif
