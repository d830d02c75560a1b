/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/collective/collective.h"

#include <math.h>
#include <string.h>

#include "lib/base/hash.h"

/* Elements between the patterns of two ranks: more than any buffer has. */
#define RANK_STRIDE (UINT64_C(1) << 40)

/* ---- numbers of a type -------------------------------------------------- */

/** The exponent of what has @value's size in the type, the least one below. */
static int exponent_of(const struct dtype *t, double value)
{
	int least = 2 - (1 << (t->exponent - 1)), exp;

	frexp(value, &exp);	/* 0.5 <= value / 2^exp < 1 */
	return exp - 1 > least ? exp - 1 : least;
}

/** @value in steps of its last digit; to even, as hardware rounds. */
static double steps_of(const struct dtype *t, double value)
{
	return nearbyint(ldexp(value, t->mantissa - exponent_of(t, value)));
}

uint64_t collective_encode(const struct dtype *t, double value)
{
	int bits = 8 << t->width_log2;
	int bias = t->is_float ? (1 << (t->exponent - 1)) - 1 : 0;
	uint64_t sign = signbit(value) ? 1 : 0;

	if (!t->is_float) {
		return (uint64_t)(int64_t)trunc(value) &
		       (bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1);
	}
	if (value == 0) {
		return 0;
	}
	/* a leading 1 and a carry run into the exponent by themselves */
	return ((uint64_t)steps_of(t, fabs(value)) +
		((uint64_t)(exponent_of(t, value) + bias - 1) << t->mantissa)) |
	       sign << (t->exponent + t->mantissa);
}

/* ---- input and result --------------------------------------------------- */

/** Small numbers of rank @rank at a place with the bits @h. */
static int mixed(int h, int64_t rank)
{
	return (int)((h + rank) & 3);
}

/** Return the amount that the rank in turn adds on top: if that rank is
 *  missing, the result shows it. */
static double added(int h)
{
	return 1 + h;
}

/**
 * How many ranks, the first, add small numbers to a sum everywhere: all of
 * whole numbers, which may wrap; of floats as many as leave every sum, in
 * whatever order, a whole number that the type has, 2^(mantissa + 1) at most.
 * The others add where it is their turn.
 */
static int64_t adding(const struct dtype *t, int64_t ranks)
{
	int64_t most;

	if (!t->is_float) {
		return ranks;
	}
	/* four of them are 0+1+2+3 */
	most = (((INT64_C(2) << t->mantissa) - (int64_t)added(3)) / 6) * 4;
	return ranks < most ? ranks : most;
}

/*
 * A mean is of one number, that of the rank in turn, and zeros.  NCCL makes it
 * in two ways (hostToDevRedOp() of its enqueue.cc): floats are multiplied with
 * 1 / ranks, as the type has that, before they are added; a power of two keeps
 * its digits, however it is rounded.  The sum of whole numbers is divided at
 * the end; a multiple of the ranks, if the type has one, leaves no rest.  If it
 * has none (more than 127 ranks of int8, 255 of uint8, 1,023 of f8e4m3, in
 * which 1 / 1024 is 0) NCCL's own mean of anything is 0: only values that are
 * not 0 are detected.
 */
static double mean_given(const struct dtype *t, int h, int64_t ranks)
{
	int bias, exp = 0;
	double most, times;

	if (t->is_float) {
		bias = (1 << (t->exponent - 1)) - 1;
		while (exp < bias - 3 && ldexp(1, exp) < (double)ranks) {
			exp++;
		}
		return ldexp(1, exp + h);
	}
	most = ldexp(1, (8 << t->width_log2) - t->is_signed) - 1;
	times = fmin(added(h), floor(most / (double)ranks));
	return times > 0 ? times * (double)ranks : most;
}

/** Return the input of rank @rank where the word has the bits @h. */
static double given(const struct dtype *t, int redop, int h, bool turn,
		    int64_t rank, int64_t ranks)
{
	switch (redop) {
	case 1:		/* prod: all but one are neutral */
		return turn ? 2 + h : 1;
	case 2:		/* max: one is above all others */
		return turn ? 4 + h : mixed(h, rank);
	case 3:		/* min: one is below */
		return turn ? h : 4 + mixed(h, rank);
	case 4:		/* avg */
		return turn ? mean_given(t, h, ranks) : 0;
	default:	/* sum: one adds what tells places apart */
		return (rank < adding(t, ranks) ? mixed(h, rank) : 0) +
		       (turn ? added(h) : 0);
	}
}

/** Return the result where the word has the bits @h. */
static double wanted(const struct dtype *t, int redop, int h, int64_t ranks)
{
	double value, share, sum;
	int64_t adds;

	switch (redop) {
	case 1:
		return 2 + h;
	case 2:
		return 4 + h;
	case 3:
		return h;
	case 4:
		value = mean_given(t, h, ranks);
		share = 1 / (double)ranks;
		if (!t->is_float) {
			return trunc(value / (double)ranks);
		}
		/* narrower types get it from a float */
		share = t->mantissa > 23 ? share : (double)(float)share;
		return value * ldexp(steps_of(t, share),
				     exponent_of(t, share) - t->mantissa);
	default:
		/* 0+1+2+3 for every four ranks that add, in whatever order, the
		 * rest, and the rank in turn */
		adds = adding(t, ranks);
		sum = (double)(adds / 4 * 6) + added(h);
		for (int64_t r = adds / 4 * 4; r < adds; r++) {
			sum += mixed(h, r);
		}
		return sum;
	}
}

void collective_data_init(struct collective_data *d, const struct dtype *t,
			  const struct redop *r, int64_t rank, int64_t ranks)
{
	*d = (struct collective_data){ .moves = r == NULL,
				 .width_log2 = t->width_log2,
				 .rank = rank, .ranks = ranks };

	for (int h = 0; r != NULL && h < 4; h++) {
		d->given[2 * h] = collective_encode(
			t, given(t, r->nccl, h, false, rank, ranks));
		d->given[2 * h + 1] = collective_encode(
			t, given(t, r->nccl, h, true, rank, ranks));
		d->wanted[h] =
			collective_encode(t, wanted(t, r->nccl, h, ranks));
	}
}

uint64_t collective_data_seed(uint64_t seed, int64_t rank)
{
	return seed + (uint64_t)rank * RANK_STRIDE;
}

/* ---- on the host --------------------------------------------------------- */

static uint64_t word_at(uint64_t seed, int64_t i)
{
	return (seed + (uint64_t)i) * PATTERN_MULTIPLIER;
}

static uint64_t moved(const struct collective_data *d, uint64_t word)
{
	return word >> (64 - (8 << d->width_log2));
}

void collective_data_fill(const struct collective_data *d, void *mem, int64_t n,
			  uint64_t seed)
{
	size_t width = (size_t)1 << d->width_log2;

	for (int64_t i = 0; i < n; i++) {
		uint64_t word = word_at(seed, i), v;

		v = d->moves ? moved(d, word) :
			       d->given[2 * (word >> 62) +
					(i % d->ranks == d->rank)];
		/* little-endian, as every machine with these GPUs */
		memcpy((char *)mem + (size_t)i * width, &v, width);
	}
}

int64_t collective_data_wrong(const struct collective_data *d, const void *mem,
			      int64_t n, uint64_t seed)
{
	size_t width = (size_t)1 << d->width_log2;
	int64_t wrong = 0;

	for (int64_t i = 0; i < n; i++) {
		uint64_t word = word_at(seed, i), got = 0, want;

		memcpy(&got, (const char *)mem + (size_t)i * width, width);
		want = d->moves ? moved(d, word) : d->wanted[word >> 62];
		wrong += got != want;
	}
	return wrong;
}
