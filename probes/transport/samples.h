/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_TRANSPORT_SAMPLES_H
#define PROBES_TRANSPORT_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "probes/transport/xport.h"

/**
 * How long to measure.  A sample is a batch of transfers timed as one; samples
 * are taken until the last few agree.  Two ends that enter the same times
 * decide the same, without further words.
 */
#define SAMPLES_MAX	64
#define SAMPLE_BATCH	64	/* transfers of a sample, at most */
#define SAMPLES_STEADY	5	/* the last so many must agree */
/** Unsteady after so many times as long as a sample: not going to be. */
#define SAMPLES_ENOUGH	25

struct samples {
	double sample_s;	/* what a sample shall last */
	double spread;		/* samples agree to this share; 0 = 1 % */
	double one_s;		/* what one transfer takes, about */
	double total_s;
	double bw_GB_s[SAMPLES_MAX];
	int n;
	int64_t iters;
};

/** Transfers of the next sample. */
int samples_batch(const struct samples *s, const struct xport_cell *c);
/** @count transfers of a cell's size took @seconds. */
void samples_add(struct samples *s, const struct xport_cell *c, int count,
		 double seconds);
/** Is the figure steady, or not going to be? */
bool samples_enough(const struct samples *s, const struct xport_cell *c);
/** Median, extremes and count; sorts. */
void samples_result(struct samples *s, struct xport_result *r);

#endif
