/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_MEMLOCK_LOOK_H
#define PROBES_MEMLOCK_LOOK_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/record_rows.h"
#include "lib/spec/spec.h"

/* ---- parse --------------------------------------------------------------- */

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

/** Line @name ("Max locked memory") of /proc/PID/limits. */
int proc_limit_parse(const struct str *text, const char *name,
		     struct limit_pair *out, struct err *e);

/** Lines CapEff and Uid of /proc/PID/status: the effective ones. */
int proc_status_parse(const struct str *text, bool *has_ipc_lock, int64_t *uid,
		      struct err *e);

/**
 * Container runtime of a process, by the names in /proc/PID/cgroup: "docker",
 * "kubernetes", ... or "" outside a container. *@group is the unified (v2) or
 * memory (v1) group, "/" if there is none.
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

/**
 * LimitMEMLOCK of section [Service] or DefaultLimitMEMLOCK of [Manager]: the
 * last one wins.  @ignored is a line behind it that looks like one, but that
 * systemd passes over: a word that is no size, another section, another
 * spelling.
 */
struct unit_limit {
	struct limit_pair limit;
	char source[160];	/* FILE:LINE, @file as passed in; "": no line */
	char ignored[340];	/* FILE:LINE: WHY; "": none */
};

/** Called for each file in systemd's order; @u starts zeroed. */
int unit_parse(const struct str *text, const char *file, struct unit_limit *u,
	       struct err *e);

/** The user that logs in, as far as pam_limits uses it. */
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

/**
 * Lines "DOMAIN soft|hard|- memlock VALUE" of limits.conf that apply to @user.
 * Called for each file in the order of pam_limits; @soft and @hard start
 * zeroed.
 */
int conf_parse(const struct str *text, const char *file,
	       const struct conf_user *user, struct conf_value *soft,
	       struct conf_value *hard, struct err *e);

struct slurm_limits {
	bool propagates;	/* MEMLOCK is taken from the submitting shell */
	char limits[120];	/* PropagateResourceLimits, as printed */
	char except[120];	/* PropagateResourceLimitsExcept, as printed */
};

/** "scontrol show config". */
int slurm_config_parse(const struct str *text, struct slurm_limits *out,
		       struct err *e);

/* text that all parsers read */

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
/** Read the next line into l->text. At the end, or on an error in l->rc,
 *  false. */
bool text_lines_next(struct text_lines *l);
/** Put "line N: " before what @e says is wrong; returns -1. */
int text_lines_fail(const struct text_lines *l);
/** The next blank-separated word of *@at into @word; false at the end. */
bool text_word(const char **at, char *word, size_t size);
/** VALUE of "KEY = VALUE"; NULL when @line is about something else. */
const char *text_value(const char *line, const char *key);
/** "unlimited", "infinity", or a number of @unit_B; 0, or -1 with @e. */
int text_limit(const char *word, int64_t unit_B, int64_t *out, struct err *e);

/* ---- look ---------------------------------------------------------------- */

/**
 * One look at one node, shared by the files of the child only:
 *   child.c       arguments, the shell, and the order of the steps
 *   read.c        files below the sysroot
 *   contexts.c    the limit of each context, and the file that sets it
 *   neighbours.c  other settings that fail the same jobs
 *   proof.c       the size that breaks, as the user of a job
 */
struct memlock {
	char node[64];
	char root[PATH_MAX];	/* "" = this machine, else a recorded one */
	int hcas;
	int64_t needed_B;
	bool in_step; /* a process of a Slurm step */
	bool slurmd_known, is_root;
	struct limit_pair slurmd;
	int64_t cgroup_B;	/* memory limit; MEMLOCK_UNLIMITED */
	struct str text;	/* of the file read last */
	json_t *rows;		/* of the shell: an array; else NULL, and each
				 * row is sent at once */
	/* of the proof: the context whose limit it is under, and the limit */
	enum memlock_context proof_context;
	int64_t proof_limit_B;
};

/* Locked memory that an NCCL job needs */

#define NEED_CQ_ENTRIES	 4096
#define NEED_CQE_B	 64	/* of a completion queue entry of mlx5 */
#define NEED_CQ_B	 ((int64_t)NEED_CQ_ENTRIES * NEED_CQE_B)
#define NEED_QP_REQUESTS 1024
#define NEED_REQUEST_B	 256	/* send and receive queue, a request each */
#define NEED_QP_B	 ((int64_t)NEED_QP_REQUESTS * NEED_REQUEST_B)
#define NEED_BUFFER_B	 (INT64_C(16) << 20)	/* one registration */
#define NEED_CHANNELS	 2			/* an HCA */
#define NEED_HCA_B \
	(NEED_CHANNELS * (NEED_CQ_B + NEED_QP_B + NEED_BUFFER_B))

/* read.c */

/**
 * File @path below the root, whole, into m->text.  0, or -1 with @e naming it;
 * e->code ENOENT: it is not there.
 */
int memlock_read(struct memlock *m, const char *path, struct err *e);
/** A file with one number in it; larger than int64 is MEMLOCK_UNLIMITED. */
int memlock_read_number(const struct memlock *m, const char *path,
			int64_t *value, struct err *e);
/** That of this process. */
struct limit_pair memlock_limit_now(void);

/* Rows */

/** Outcome ok and everything else "not measured" but node, context, check,
 *  time, and @source, "" for none. */
void memlock_row_init(const struct memlock *m, struct memlock_row *row,
		      enum memlock_context context, const char *check,
		      const char *source);
/** It is there, and cannot be known: outcome not_run, code unknown. */
void memlock_row_unknown(struct memlock_row *row, const struct err *why);
/** There is no such thing here: outcome skipped, code absent. */
void memlock_row_absent(struct memlock_row *row, const char *why);
void memlock_row_say(const struct memlock *m, const struct memlock_row *row);

/** A whole row that says why there is nothing to say about @check. */
void memlock_say_unknown(const struct memlock *m, enum memlock_context context,
			 const char *check, const char *source,
			 const struct err *why);
void memlock_say_absent(const struct memlock *m, enum memlock_context context,
			const char *check, const char *why);

/** "64 KiB", "unlimited". */
const char *memlock_text(int64_t bytes, char *buf, size_t size);

/* contexts.c */

/** Rows of every context, and what the rest of @m needs to know. */
void memlock_look_contexts(struct memlock *m);
/** Rows of both limits; that of the soft one says whether it is enough. */
void memlock_say_limit(const struct memlock *m, enum memlock_context context,
		       const struct limit_pair *limit, const char *source);

/** Report, in a row, the line of limits.conf that sets the limit of user
 *  @uid. */
void memlock_look_conf(struct memlock *m, enum memlock_context context,
		       int64_t uid);

/* neighbours.c */

void memlock_look_neighbours(struct memlock *m, enum memlock_context context);

/* proof.c */

/** Rows of the proof; gives up the privileges of this process for good. */
void memlock_prove(struct memlock *m);

/* ---- prove --------------------------------------------------------------- */

/** A search for the size at which an operation begins to fail. */
struct trial {
	const char *check;
	const char *hca;	/* "" without */
	int64_t unit_B;		/* sizes are multiples of it */
	int64_t first_B;	/* tried first, then twice that, and so on
				 * ... */
	int64_t ceiling_B;	/* ... up to here */
	int64_t device_max;	/* objects of that kind, 0 = no device */
	/** Try one size, leave nothing behind: 0 or the errno why not. */
	int (*attempt)(int64_t size_B, void *arg);
	void *arg;
	/* the result */
	int64_t max_ok_B;	/* 0: not even one unit worked */
	int64_t min_fail_B;	/* RECORD_NONE: all sizes worked */
	int error;		/* errno of min_fail_B */
};

/** Assumes that what fails at one size fails at all larger ones. */
void trial_bisect(struct trial *t);

/** A refusal: errno, size and circumstances. */
struct refusal {
	const char *check;	/* CHECK_CQ, ... */
	int error;
	int64_t tried_B;	/* the smallest size that fails */
	bool nothing_works;	/* the smallest possible size fails too */
	int64_t limit_B;	/* RLIMIT_MEMLOCK, soft */
	int64_t cgroup_B;	/* limit of the memory cgroup */
	int64_t maps, max_maps;	/* of this process; vm.max_map_count */
	int64_t device_max;	/* objects of that kind on the device */
};

/**
 * Name the cause.  ENOMEM has many: only where the size meets the limit is it
 * memlock.  Returns a word for the column code, the sentence in @detail.
 */
const char *refusal_explain(const struct refusal *r, char *detail,
			    size_t size);

#endif
