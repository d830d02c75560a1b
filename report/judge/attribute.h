/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_ATTRIBUTE_H
#define REPORT_JUDGE_ATTRIBUTE_H

#include <stddef.h>
#include <stdint.h>

#include "report/judge/blame.h"

/**
 * From bad cells to the fewest parts that explain them: those that blame.h
 * finds, and what they leave as pairs.  Pure.
 */

/** Less of a part may be chance, and helps nobody to find it. */
#define ATTRIBUTE_PERCENT 20
/** More lone pairs than this are one cause, with a list. */
#define ATTRIBUTE_MAX_PAIRS 10

struct cause {
	struct part part;
	size_t cells;		/* marked cells that touch the part */
	size_t explained;	/* the bad ones of them */
	double score;		/* blame_score(); of what no pattern explains
				 * 0 */
	struct part *or_parts;	/* that explain these cells as well, or
				 * nearly so */
	size_t n_or;
	uint32_t *rest;		/* bad cells that no part explains, where they
				 * are too many for a cause each; NULL: this is
				 * a part */
	size_t n_rest;
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
	      const struct suspect_need *need, struct causes *out);
void causes_release(struct causes *c);

#endif
