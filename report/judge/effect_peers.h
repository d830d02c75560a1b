/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_EFFECT_PEERS_H
#define REPORT_JUDGE_EFFECT_PEERS_H

#include "report/judge/effect_table.h"

/** Parts of one kind that are compared, each by what it has with every partner
 *  node. */
struct effect_peers {
	size_t n, width;	/* parts, partner nodes */
	size_t aside;		/* partners that hide what a part is */
	bool inside;		/* partners are GPUs of its node */
	float *samples[2];	/* n x width, as in a table */
	double *mean[WAYS], *error[WAYS];
	double usual[WAYS];	/* error */
	double between[WAYS];	/* deviation of the parts themselves */
};

/** One part as it came out. */
struct effect_estimate {
	double by, half;	/* logarithm, half of its interval */
	double half_alone;	/* that of one part, which nobody chose from
				 * many: wrong once in a hundred */
	size_t partners;
	bool inside;		/* these are GPUs of its node */
};

/** Room for samples, to be filled; 0, or -1 when memory runs out.
 *  effect_peers_release() frees, also then. */
int effect_peers_init(struct effect_peers *x, size_t n, size_t width);
void effect_peers_release(struct effect_peers *x);
/** The means of all parts from their samples, and how far they are from each
 *  other by nature. */
void effect_peers_learn(const struct effect_work *w, struct effect_peers *x);
/** Part @i as sender, receiver or both, with an interval as wide as a normal
 *  one of @z deviations; 0, or -1 when memory runs out. */
int effect_estimate(const struct effect_peers *x, size_t i, int way, double z,
		    struct effect_estimate *e);
/** What share of a normal variable is above @z deviations. */
double effect_tail(double z);
/** How many deviations have @tail above them. */
double effect_deviations(double tail);

#endif
