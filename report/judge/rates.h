/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_RATES_H
#define REPORT_JUDGE_RATES_H

#include <stddef.h>
#include <stdint.h>

#include "report/model/part.h"

/**
 * Parts that fail now and then: each is judged by how many of all its first
 * tests failed, whatever became of them when tried again, beside the share that
 * fails elsewhere.  Pure.
 *
 * The part of the largest likelihood ratio (its tests fail at a rate of their
 * own, against that of all others) is the one, less the logarithm of how many
 * there are of its kind; then the next one by the tests that are left.  It
 * counts if so many failures are, at the rate of the others, less likely than
 * one in a hundred for all parts together (C. Bonferroni, 1936).  What fails as
 * often when tried again, or more often than not, is broken and no matter of
 * chance: its tests are left to those who look for that.
 */

/** As a rule, what fails elsewhere is not less than this. */
#define RATES_USUAL 0.001

struct rate {
	struct part part;
	struct part *or_parts;	/* that explain as much */
	size_t n_or;
	size_t failed, tests;	/* of its first tests */
	size_t passed;		/* of those that failed, when tried again */
	double nats;		/* logarithm of the likelihood ratio */
};

struct rates {
	struct rate *list;
	size_t n;
	size_t tests;		/* elsewhere, broken parts left out */
	uint32_t *rest;		/* cells of these that failed */
	size_t n_rest;
	size_t again, passed;	/* of them, tried again */
};

/** Did the test of the cell at @at fail, first or for good? */
bool rates_failed(const struct run *run, size_t at);
/** Cells with EXPLAINED in @skip do not count.  0, or -1 when memory runs out;
 *  rates_release() frees. */
int rates_find(const struct run *run, const uint8_t *skip, struct rates *out);
void rates_release(struct rates *r);

#endif
