/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_NODE_H
#define REPORT_JUDGE_NODE_H

#include "report/judge/verdict.h"
#include "report/model/memlock_run.h"

/** What run.json's "probe" says of a look of one node at itself. */
#define NODE_PROBE "node"

/** One of the processes that looked. */
struct node_look {
	const char *what;	/* "GPUs", for people */
	bool ok;
	char code[48], detail[200];	/* why it is not */
};

/**
 * What is a fault by itself, without another node beside it: facts of run,
 * rows of @m and the @n @looks in, findings out.  Limits of locked memory count
 * where there is an HCA; other limits where there is one or a GPU.  Pure.  0,
 * or -1 without memory.
 */
int node_judge(const struct run *run, const struct memlock_rows *m,
	       const struct node_look *looks, size_t n, struct verdict *v);

/** May a finding of @code fail a node where nobody looks?  Not what says that
 *  something could not be looked at, nor that a GPU is in use. */
bool node_may_fail(const char *code);

/** Is one of the findings of @v of a code that stands in the list @codes,
 *  "CODE,CODE"? */
bool node_has_one_of(const struct verdict *v, const char *codes);

/** The next word of the list *@codes into @code, cut; false at its end. */
bool node_next_code(const char **codes, char code[48]);

#endif
