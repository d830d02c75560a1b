/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_COLLECTIVE_DATA_H
#define PROBES_COLLECTIVE_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "probes/collective/collective.h"

/**
 * The data that a collective is checked with.  What only moves gets every bit
 * of a pattern.  What is reduced gets small numbers, chosen so that the result
 * follows from the position alone, whatever the order of additions, and exactly
 * in every type: no sum is more than it can hold.  So a result is right to the
 * last bit, or wrong.  Both are pure functions of seed
 * and position, so GPU and host agree (gpu_kernels, kernels.c).
 *
 * Element @i is made of the word (seed + i) * PATTERN_MULTIPLIER: moved, its
 * upper bits; reduced, an entry of a table, chosen by its two upper bits h and
 * by whether the rank is the one in turn at @i (i modulo ranks).
 */
#define COLLECTIVE_GIVEN  8	/* 2 * h + in turn */
#define COLLECTIVE_WANTED 4	/* h */

struct collective_data {
	bool moves;
	int width_log2;
	int64_t rank, ranks;
	uint64_t given[COLLECTIVE_GIVEN];	/* bits that this rank puts
						 * in */
	uint64_t wanted[COLLECTIVE_WANTED];	/* bits that must come out */
};

/** Of rank @rank of @ranks, for a reduction by @r, NULL: that only moves. */
void collective_data_init(struct collective_data *d, const struct dtype *t,
			  const struct redop *r, int64_t rank, int64_t ranks);

/** The seed of what rank @rank sends, when it is moved: far from the others'.
 */
uint64_t collective_data_seed(uint64_t seed, int64_t rank);

/** Bits of @value in the type @t, the nearest that there is. */
uint64_t collective_encode(const struct dtype *t, double value);

/** On the host: put @n elements at @mem / count those that are wrong. */
void collective_data_fill(const struct collective_data *d, void *mem, int64_t n,
			  uint64_t seed);
int64_t collective_data_wrong(const struct collective_data *d, const void *mem,
			      int64_t n, uint64_t seed);

#endif
