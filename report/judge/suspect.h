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
 * of its share, and half of log2 n for the share itself.  The shortest message
 * is the best explanation (minimum description length: J. Rissanen, Automatica
 * 14, 1978).
 */
enum mark { MARK_IGNORE, MARK_GOOD, MARK_BAD };

/** What is asked of parts before they are blamed. */
struct suspect_need {
	unsigned percent;	/* of a part's cells must be bad */
	bool by_chance;		/* how many are bad says nothing of which */
	bool relative[PATH_CLASSES];	/* marks come from comparing cells */
};

struct suspect {
	struct part part;
	size_t id;		/* in the part index */
	size_t good, bad;	/* cells that touch it and count */
	double share;		/* of its cells that are bad */
	bool lone;		/* two nodes of which a sample has one pair of
				 * GPUs: it says no more than that, and is no
				 * cheaper to name */
	unsigned percent;	/* of them that must be */
	double name_bits;	/* to say which part it is */
};

/** A bad cell. */
struct suspect_cell {
	uint32_t at;		/* place in the matrix */
	uint32_t owner;		/* number in list[] of who is blamed for it */
	uint32_t second;	/* who is if that one is dropped */
	uint32_t first;		/* of those in touching[] that touch it */
	uint8_t n;		/* how many */
	bool both_ways;		/* is the way back bad too? */
};

struct suspects {
	const struct run *run;
	const uint8_t *marks;
	struct part_index index;
	struct suspect *list;	/* in order of preference */
	size_t n;
	struct suspect_cell *bad;	/* all of them, by place */
	size_t n_bad;
	uint32_t *touching;	/* numbers in list[], cell by cell */
	size_t n_touching;
	double pair_bits;	/* to name one pair of GPUs */
};

#define SUSPECT_NONE UINT32_MAX

/**
 * All parts of which at least @need->percent of the cells are bad.  Cells of a
 * path class that are good throughout and all touch the part do not acquit it
 * when the class is relative.  0, or -1 when memory runs out;
 * suspects_release() frees in both cases.
 */
int suspects_find(const struct run *run, const uint8_t *marks,
		  const struct suspect_need *need, struct suspects *s);
void suspects_release(struct suspects *s);

/** Bits to list a bad cell by itself: half of its pair, when the way back is
 *  bad too, else the pair and its direction. */
static inline double suspects_cell_bits(const struct suspects *s,
					const struct suspect_cell *c)
{
	return c->both_ways ? s->pair_bits / 2 : s->pair_bits + 1;
}

/** Bits to say which of @bad + @good cells are the bad ones. */
double suspect_share_bits(size_t bad, size_t good);

#endif
