/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_MEMLOCK_LOOK_H
#define PROBES_MEMLOCK_LOOK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "lib/data/record_memlock.h"
#include "lib/spec/spec.h"
#include "probes/memlock/parse.h"

/**
 * One look at one node, shared by the files of the child only:
 *   child.c       arguments, and what comes after what
 *   read.c        files below the sysroot
 *   contexts.c    which limit holds where, and who set it
 *   neighbours.c  other settings that fail the same jobs
 *   proof.c       what really breaks, as the user of a job
 *   verbs.c       the same on an HCA
 */
struct memlock {
	char node[64];
	char root[PATH_MAX];	/* "" = this machine, else a recorded one */
	int hcas;
	int64_t needed_B;
	bool in_step;		/* a process of a Slurm step */
	char container[32];	/* what runs it, "" = no container */
	bool container_keeps;	/* it sets no limit of its own */
	bool slurmd_known, is_root;
	struct limit_pair slurmd;
	int64_t cgroup_B;	/* memory limit; MEMLOCK_UNLIMITED */
	struct str text;	/* of the file read last */
	json_t *rows;		/* of the shell: an array; else NULL, and what
				 * is said goes out at once */
};

/* What an NCCL job needs: need.c */

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

/** For a job that uses @hcas HCAs, at least one is counted; or what the user
 *  says. */
int64_t memlock_needed(const struct spec *s, int hcas);

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

/* user.c */

/** A row: which line of limits.conf sets the limit of user @uid. */
void memlock_look_conf(struct memlock *m, enum memlock_context context,
		       int64_t uid);

/* service.c */

/** A row: what systemd was told about slurmd, process @pid. */
void memlock_look_unit(struct memlock *m, long pid);

/* neighbours.c */

void memlock_look_neighbours(struct memlock *m, enum memlock_context context);

/* proof.c */

/** Rows of the proof; gives up the privileges of this process for good. */
void memlock_prove(struct memlock *m);

#endif
