/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_SUSPECT_H
#define REPORT_JUDGE_SUSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/model/part_index.h"

/**
 * The parts that may be to blame for bad cells, and what it costs to blame
 * them.  Costs are bits: the length of a message that tells somebody who knows
 * the cluster which cells are bad.  "GPU 4 of n1" is a short one; that a part
 * fails in some of its cells only costs the bits that say in which: the entropy
 * of its share, and half of log2 n for the share itself.  The shortest message is the best explanation (minimum
 * description length: J. Rissanen, Automatica 14, 1978).
 */
enum mark { MARK_IGNORE, MARK_GOOD, MARK_BAD };

struct suspect {
	struct part part;
	size_t id;		/* in the part index */
	size_t good, bad;	/* cells that touch it and count */
	double share;		/* of its cells that are bad */
	double name_bits;	/* to say which part it is */
};

struct suspects {
	const struct run *run;
	const uint8_t *marks;
	struct part_index index;
	uint32_t *of_part;	/* part number -> list[], or SUSPECT_NONE */
	struct suspect *list;	/* in order of preference */
	size_t n;
	uint32_t *bad;		/* all bad cells: place in the matrix, rising */
	size_t n_bad;
	uint8_t *both_ways;	/* of each: is the way back bad too? */
	size_t *first_of;	/* of each, and one more: where in of_bad[] */
	uint32_t *of_bad;	/* the suspects that touch it */
	double pair_bits;	/* to name one pair of GPUs */
};

#define SUSPECT_NONE UINT32_MAX

/**
 * All parts of which at least @percent of the cells are bad.  Cells of a path
 * class that are good throughout and all touch the part do not acquit it when
 * the class is @relative: its marks come from comparing cells with each other.
 * 0, or -1 when memory runs out; suspects_release() frees in both cases.
 */
int suspects_find(const struct run *run, const uint8_t *marks,
		  unsigned percent, const bool relative[PATH_CLASSES],
		  struct suspects *s);
void suspects_release(struct suspects *s);

/** Their numbers in list[] that touch bad cell number @i; how many, to @n. */
static inline const uint32_t *suspects_of_bad(const struct suspects *s,
					      size_t i, size_t *n)
{
	*n = s->first_of[i + 1] - s->first_of[i];
	return &s->of_bad[s->first_of[i]];
}

/** Number of bad cell @at in bad[], which has it. */
size_t suspects_find_bad(const struct suspects *s, uint32_t at);

/** Bits to list bad cell number @i by itself: half of its pair, when the way
 *  back is bad too, else the pair and its direction. */
static inline double suspects_cell_bits(const struct suspects *s, size_t i)
{
	return s->both_ways[i] ? s->pair_bits / 2 : s->pair_bits + 1;
}

/** Bits to say which of @bad + @good cells are the bad ones. */
double suspect_share_bits(size_t bad, size_t good);

static inline int suspects_src(const struct suspects *s, uint32_t at)
{
	return (int)(at / (uint32_t)s->run->n_ranks);
}

static inline int suspects_dst(const struct suspects *s, uint32_t at)
{
	return (int)(at % (uint32_t)s->run->n_ranks);
}

static inline uint32_t suspects_way_back(const struct suspects *s, uint32_t at)
{
	return (uint32_t)run_at(s->run, suspects_dst(s, at),
				suspects_src(s, at));
}

#endif
