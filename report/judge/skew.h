/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_SKEW_H
#define REPORT_JUDGE_SKEW_H

#include "report/model/skew_facts.h"

/**
 * In which facts nodes differ that should be set up alike.  Pure.
 */

/** Values of a fact that are told apart. */
#define SKEW_VALUES 8
#define SKEW_VALUE_SIZE 80
/** A sentence has room for so much of one: longer ones that begin alike begin
 *  with "..." and near what differs. */
#define SKEW_SHOWN 48

/** One fact in which nodes differ. */
struct skew_diff {
	const struct skew_fact *fact;
	char name[96];		/* "driver", "mtu of ib0" */
	char source[80];
	/* the most common first, those as common as nodes come */
	char values[SKEW_VALUES][SKEW_VALUE_SIZE];
	size_t count[SKEW_VALUES];	/* nodes of each */
	size_t n_values;	/* different ones; more than fit are the last */
	int *value_of;		/* of each node, -1 = it did not say */
	bool told;		/* a finding has it */
};

struct skew {
	struct skew_diff *list;	/* in the order of the table */
	size_t n;
	size_t n_nodes;		/* machines that said something */
};

/** 0, or -1 when memory runs out; skew_release() frees in both cases. */
int skew_find(const struct run *run, struct skew *s);
void skew_release(struct skew *s);

/** Nodes that were not compared since their facts were not all read: there are
 *  more than RUN_MAX_FACTS.  0 where there are not. */
size_t skew_unheard(const struct run *run);

/** Are the most common two values as common as each other? */
static inline bool skew_is_even(const struct skew_diff *d)
{
	return d->count[0] == d->count[1];
}

#endif
