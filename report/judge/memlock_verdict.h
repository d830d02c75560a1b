/* SPDX-License-Identifier: BSD-3-Clause */
/* The judge of memlock. */
#ifndef REPORT_JUDGE_MEMLOCK_VERDICT_H
#define REPORT_JUDGE_MEMLOCK_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/str.h"
#include "lib/data/record_rows.h"
#include "report/judge/verdict.h"
#include "report/model/run.h"

/* ---- memlock chain ------------------------------------------------------- */

/**
 * The limit of locked memory is inherited from process to process.  Finds the
 * first process that lowered it, from the limit in each context of one node.
 */
struct chain_level {
	bool exists;		/* there is such a context */
	bool known;		/* its limit could be read */
	bool has_cap;		/* CAP_IPC_LOCK */
	int64_t soft, hard;	/* bytes, MEMLOCK_UNLIMITED */
};

enum chain_propagation { CHAIN_UNASKED, CHAIN_PROPAGATED, CHAIN_KEPT };

/** The links that can lower it. */
enum chain_link {
	LINK_SLURMD,
	LINK_PROPAGATION,
	LINK_BATCH,		/* something before the batch script */
	LINK_STEP,		/* something between script and step */
	LINK_CONTAINER,
	LINK_SHELL,		/* what logs in: limits.conf, a default */
	CHAIN_LINKS
};

struct chain_fault {
	enum chain_link link;
	enum memlock_context context;	/* context in which the limit is too
					 * low */
	int64_t limit_B;		/* its value there */
};

#define CHAIN_FAULTS 2

struct memlock_chain {
	struct chain_level level[MEMLOCK_CONTEXTS];
	enum chain_propagation propagation;
	bool by_conf;		/* limits.conf says what the shell here has */
	int64_t needed_B;
	/* the answer of chain_judge() */
	struct chain_fault faults[CHAIN_FAULTS];
	size_t n;
	unsigned judged;	/* contexts that count, 1 << context each */
	bool unknown;		/* one of them cannot be read */
	bool slurmd_unseen;	/* not needed: the jobs' own limits are known */
	bool spared;		/* no job runs in the shell here */
};

/** Answers @c, which has no answer yet.  Pure.  A login shell and, inside a
 *  job, slurmd count only as causes. */
void chain_judge(struct memlock_chain *c);

/* ---- memlock verdict ----------------------------------------------------- */

/** Pure: rows in, findings out, a cause once for all nodes that have it.  0, or
 *  -1 without memory. */
int memlock_judge(const struct run *run, struct verdict *v);

/** The same findings and cells of @n @rows into @v, which is empty and stays
 *  open: others may add theirs. */
void memlock_find(const struct run *run, const struct memlock_row *rows,
		  size_t n, struct verdict *v);

#endif
