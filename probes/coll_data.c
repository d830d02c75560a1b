/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/coll_data.h"

#include <math.h>
#include <string.h>

#include "probes/pattern.h"

/* Elements between the patterns of two ranks: more than any buffer has. */
#define RANK_STRIDE (UINT64_C(1) << 40)
/* Their sum, 123 at most, fits a signed byte. */
#define NARROW_RANKS 80

/* ---- numbers of a type -------------------------------------------------- */

static uint64_t encode_float(const struct coll_dtype *t, double value)
{
	int bias = (1 << (t->exponent - 1)) - 1, exp;
	uint64_t sign = signbit(value) ? 1 : 0, whole;
	double part;

	if (value == 0) {
		return 0;
	}
	part = frexp(fabs(value), &exp);	/* 0.5 <= part < 1 */
	/* nearbyint() rounds to even, as hardware does */
	whole = (uint64_t)nearbyint(ldexp(part, t->mantissa + 1));
	/* a carry runs into the exponent by itself */
	whole += ((uint64_t)(exp - 1 + bias) << t->mantissa) -
		 (UINT64_C(1) << t->mantissa);
	return whole | sign << (t->exponent + t->mantissa);
}

static uint64_t width_mask(int width_log2)
{
	return width_log2 == 3 ? UINT64_MAX :
				 (UINT64_C(1) << (8 << width_log2)) - 1;
}

uint64_t coll_encode(const struct coll_dtype *t, double value)
{
	return t->is_float ? encode_float(t, value) :
			     (uint64_t)(int64_t)trunc(value) &
				     width_mask(t->width_log2);
}

/* ---- what goes in, what comes out ------------------------------------------ */

/** Small numbers of rank @rank at a place with the bits @h. */
static int mixed(int h, int64_t rank)
{
	return (int)((h + rank) & 3);
}

/**
 * How many ranks, the first, add small numbers.  NCCL divides the sum of whole
 * numbers once it is complete: it must not wrap before.  80 / 4 * 6 + 3 fits 7
 * bits.
 */
static int64_t adding(const struct coll_dtype *t, int redop, int64_t ranks)
{
	bool narrow = redop == 4 && !t->is_float && t->width_log2 == 0;

	return narrow && ranks > NARROW_RANKS ? NARROW_RANKS : ranks;
}

/** @adds: sums get a small number of every rank below this one. */
static double given(int redop, int h, bool turn, int64_t rank, int64_t adds)
{
	switch (redop) {
	case 1:		/* prod: all but one are neutral */
		return turn ? 1 + (h & 1) : 1;
	case 2:		/* max: one is above all others */
		return turn ? 4 + h : mixed(h, rank);
	case 3:		/* min: one is below */
		return turn ? h : 4 + mixed(h, rank);
	default:	/* sum, avg: one adds what tells places apart */
		return (rank < adds ? mixed(h, rank) : 0) + (turn ? h : 0);
	}
}

/** 0+1+2+3 for every four of @ranks that add, in whatever order, and the rest. */
static double sum_of(int h, int64_t ranks)
{
	int64_t sum = ranks / 4 * 6 + h;

	for (int64_t r = ranks / 4 * 4; r < ranks; r++) {
		sum += mixed(h, r);
	}
	return (double)sum;
}

static double wanted(int redop, int h, int64_t ranks, int64_t adds)
{
	switch (redop) {
	case 1:
		return 1 + (h & 1);
	case 2:
		return 4 + h;
	case 3:
		return h;
	case 4:
		return sum_of(h, adds) / (double)ranks;
	default:
		return sum_of(h, adds);
	}
}

/**
 * Whole numbers are exact up to 2^(mantissa + 1).  Above, and for means, which
 * NCCL makes by scaling what goes in, every rank's share may round by half a
 * step.
 */
static uint64_t tolerance(const struct coll_dtype *t, int redop,
			  int64_t ranks)
{
	double exact = ldexp(1, t->mantissa + 1), most = 0;

	if (!t->is_float || (redop != 0 && redop != 4)) {
		return 0;
	}
	for (int h = 0; h < 4; h++) {
		most = fmax(most, sum_of(h, ranks));
	}
	return most > exact || redop == 4 ? (uint64_t)ranks / 2 + 2 : 0;
}

void coll_data_init(struct coll_data *d, const struct coll_dtype *t,
		    const struct coll_redop *r, int64_t rank, int64_t ranks)
{
	*d = (struct coll_data){ .moves = r == NULL,
				 .width_log2 = t->width_log2,
				 .rank = rank, .ranks = ranks };
	int64_t adds = r != NULL ? adding(t, r->nccl, ranks) : 0;

	for (int h = 0; r != NULL && h < 4; h++) {
		d->given[2 * h] = coll_encode(t, given(r->nccl, h, false,
						       rank, adds));
		d->given[2 * h + 1] = coll_encode(t, given(r->nccl, h, true,
							   rank, adds));
		d->wanted[h] = coll_encode(t, wanted(r->nccl, h, ranks, adds));
	}
	if (r != NULL) {
		d->tolerance = tolerance(t, r->nccl, ranks);
	}
}

uint64_t coll_data_seed(uint64_t seed, int64_t rank)
{
	return seed + (uint64_t)rank * RANK_STRIDE;
}

/* ---- on the host ------------------------------------------------------------ */

static uint64_t word_at(uint64_t seed, int64_t i)
{
	return (seed + (uint64_t)i) * PATTERN_MULTIPLIER;
}

static uint64_t moved(const struct coll_data *d, uint64_t word)
{
	return word >> (64 - (8 << d->width_log2));
}

void coll_data_fill(const struct coll_data *d, void *mem, int64_t n,
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

int64_t coll_data_wrong(const struct coll_data *d, const void *mem, int64_t n,
			uint64_t seed)
{
	size_t width = (size_t)1 << d->width_log2;
	int64_t wrong = 0;

	for (int64_t i = 0; i < n; i++) {
		uint64_t word = word_at(seed, i), got = 0, want;

		memcpy(&got, (const char *)mem + (size_t)i * width, width);
		want = d->moves ? moved(d, word) : d->wanted[word >> 62];
		wrong += (got > want ? got - want : want - got) >
			 d->tolerance;
	}
	return wrong;
}
