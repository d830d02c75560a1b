/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_EFFECT_TABLE_H
#define REPORT_JUDGE_EFFECT_TABLE_H

#include "report/judge/effects.h"

/** As sender, as receiver, or the mean of both. */
enum { TX, RX, BOTH, WAYS };

/** What each rank, as sender or receiver, has with each partner node: means of
 *  logarithms, above 0 = better; NAN where there is none. */
struct effect_table {
	size_t width;		/* partner nodes; of a sample partners, another
				 * one in a column for each rank */
	float *of[2];		/* ranks x width */
	float *inside[2];	/* with the other GPUs of its node, a rank */
	uint32_t *count[2];	/* tests with other nodes, a rank */
	double far[2];		/* what is usual between leaf switches beside
				 * what is on one; 0: not known */
	bool crossed;		/* rails were tested with each other: else one
				 * test is all that two ranks have, so that a
				 * bad partner counts for more */
};

/** Rates that ports have; more are compared as one. */
#define EFFECT_SPEEDS 8

/** Pairs of ports are compared with those of the same rate: what is usual of
 *  each, a logarithm.  Of GPUs there is one rate, which nobody knows. */
struct effect_speeds {
	double GB_s[EFFECT_SPEEDS];	/* of the slower port; 0: not known */
	double usual[EFFECT_SPEEDS][PATH_CLASSES];
	size_t n;
};

/** What the search for effects works on. */
struct effect_work {
	const struct run *run;
	const uint8_t *skip;	/* or NULL */
	enum effects_of of;
	struct effect_speeds speeds;
	struct effect_table t;
	size_t nodes, ranks;
	double *room;		/* for two values of each rank and one of each
				 * node */
	bool *aside[2];		/* nodes that were found to be worse, as senders
				 * and as receivers: a test is as good as its
				 * worse end, so that they hide the other */
	size_t n_aside;
	double least;		/* logarithm */
	bool sample;		/* few pairs of many were measured */
	struct effects out;
};

/** From the cells of w->run that count into the empty w->t, where each class
 *  and index is beside its own kind; 0, or -1 when memory runs out.
 *  effect_table_release() frees, also then. */
int effect_table_make(struct effect_work *w);
void effect_table_release(struct effect_table *t);
/** The same of a sample, whose columns are so many. */
int effect_sample_fill(struct effect_work *w);
size_t effect_sample_width(const struct run *run);
/** What is inside nodes: beside the median of the node, and of the index. */
void effect_table_level_inside(const struct effect_work *w);

/** The logarithm of what cell @at measured, above 0 = better, beside what is
 *  usual for its rate; NAN where it does not count. */
float effect_log(const struct effect_work *w, size_t at);
/** The rates of w->run into w->speeds: 0, or -1 when memory runs out. */
int effect_speeds_learn(struct effect_work *w);
/** The median of what is known of @n values, @step apart; 0 without any. */
double effect_median(const struct effect_work *w, const float *v, size_t n,
		     size_t step);
/** Lower @n values, @step apart, by @by. */
void effect_lower(float *v, size_t n, size_t step, double by);

#endif
