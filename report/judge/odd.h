/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_ODD_H
#define REPORT_JUDGE_ODD_H

#include "report/model/part.h"

/** Cells that are odd in one way: where are they? */
struct odd {
	size_t n, first;
	size_t *at_rank;	/* those with an end at each rank, then */
	size_t *at_node;	/* at each node */
};

/** None so far; -1 when memory runs out.  odd_release() frees, also then. */
int odd_init(const struct run *run, struct odd *o);
void odd_release(struct odd *o);
/** The cell at @at is one. */
void odd_add(const struct run *run, struct odd *o, size_t at);
/** The set-up of the one GPU that all of them touch, else of the one node, else
 *  of all. */
struct part odd_place(const struct run *run, const struct odd *o);

#endif
