/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_ATTRIBUTE_H
#define REPORT_ATTRIBUTE_H

#include <stddef.h>
#include <stdint.h>

#include "report/part.h"

/**
 * From bad cells to the fewest parts that explain them.  Pure.
 *
 * A part is a suspect when nearly all cells that touch it are bad, between the
 * nodes and inside them alike (a NIC that is dead must not make its GPU
 * suspect, which works well inside the node).  Suspects are taken greedily, the
 * one that explains most of what is still unexplained first, then those that
 * the others make needless are dropped.  What is left is pairs.
 */
enum mark { MARK_IGNORE, MARK_GOOD, MARK_BAD };

/** Of the cells that touch a part, this share must be bad, in percent. */
struct attribute_need {
	unsigned part;
	unsigned wide;	/* of what is said of many nodes at once */
};

/** Of a part that is broken; what is wide must then be so without exception. */
#define ATTRIBUTE_PERCENT 95
/** More lone pairs than this show no pattern that a list would tell. */
#define ATTRIBUTE_MAX_PAIRS 1000

struct cause {
	struct part part;
	size_t cells;		/* marked cells that touch the part */
	size_t explained;	/* the bad ones of them */
	struct part *or_parts;	/* that explain the very same cells */
	size_t n_or;
};

struct causes {
	struct cause *list;
	size_t n;
};

/**
 * @marks: an enum mark for each cell, src major.  Returns 0 with @out filled
 * (causes_release() frees), or -1 when memory runs out.
 */
int attribute(const struct run *run, const uint8_t *marks,
	      const struct attribute_need *need, struct causes *out);
void causes_release(struct causes *c);

#endif
