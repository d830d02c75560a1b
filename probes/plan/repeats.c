/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/repeats.h"

#include <math.h>

#define Z      2.5758	/* of the normal distribution: 99 % are within */
#define MISSED 1e-3	/* a fault that is there is not seen so often */
#define MOST   1e15	/* that any answer is */

/** The least rate of which @bad of @n may well be; above 0 where @bad is. */
static double least_rate(double bad, double n)
{
	double rate = bad / n, more = Z * Z / n;

	return (rate + more / 2 -
		Z * sqrt(rate * (1 - rate) / n + more / (4 * n))) / (1 + more);
}

int64_t repeats_to_trust(int64_t bad, int64_t n)
{
	double most = log(MISSED) /
		      log1p(-least_rate((double)bad, (double)n));

	return (int64_t)fmin(fmax(ceil(most), 1), MOST);
}

int64_t repeats_for_enough(int64_t bad, int64_t n)
{
	return (int64_t)fmin(ceil(REPEATS_ENOUGH * (double)n / (double)bad),
			     MOST);
}
