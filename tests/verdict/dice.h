/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_VERDICT_DICE_H
#define TESTS_VERDICT_DICE_H

#include <math.h>
#include <stdint.h>

#include "lib/base/hash.h"

/** Numbers that look random, the same ones for the same beginning. */

struct dice {
	uint64_t seed, of, more;	/* what they are of: each program's
					 * own, or each case's */
	uint64_t draws;			/* so far */
};

/** 0 or more, less than 1; each call is another draw. */
static inline double dice_unit(struct dice *d)
{
	return hash_unit(d->seed, d->of, ++d->draws, d->more);
}

static inline double dice_between(struct dice *d, double low, double high)
{
	return low + (high - low) * dice_unit(d);
}

/** From 0 to @n - 1. */
static inline int dice_below(struct dice *d, int n)
{
	return (int)(dice_unit(d) * n);
}

/** Of mean 0 and deviation 1 (G. Box and M. Muller, 1958). */
static inline double dice_normal(struct dice *d)
{
	double size = sqrt(-2 * log(1 - dice_unit(d)));

	return size * cos(2 * 3.14159265358979 * dice_unit(d));
}

#endif
