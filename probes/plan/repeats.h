/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_REPEATS_H
#define PROBES_PLAN_REPEATS_H

#include <stdint.h>

/**
 * How often a test that goes wrong now and then must be right to be trusted.
 * Pure.
 */

/** Where @bad (1 at least) of @n repeats were wrong: so many that are all right
 *  would be seen of the same fault one time in a thousand at most, 1 at least.
 *  The rate is taken as low as it may well be: the lower end of Wilson's 99 %
 *  interval. */
int64_t repeats_to_trust(int64_t bad, int64_t n);

/** How many repeats of the same fault let repeats_to_trust() ask for few
 *  enough: as many as will be wrong REPEATS_ENOUGH times. */
#define REPEATS_ENOUGH 10
int64_t repeats_for_enough(int64_t bad, int64_t n);

#endif
