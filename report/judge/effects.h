/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_EFFECTS_H
#define REPORT_JUDGE_EFFECTS_H

#include <stddef.h>
#include <stdint.h>

#include "report/judge/explained.h"
#include "report/model/part.h"

/**
 * Nodes, NICs and GPUs that are a little worse than their peers, each judged by
 * all of its tests at once.  Pure.
 *
 * The logarithm of what a cell measured is what its sender adds, what its
 * receiver adds, what is usual for its kind (of HCA ports, their rate as well),
 * and noise.  Ends are told apart by
 * a median polish (J. Tukey, Exploratory Data Analysis, 1977) of the means of
 * each rank with each partner node.  A part is compared with those of its index
 * on the other nodes: an index that is worse on all of them is built so.  What
 * a part adds is the mean of the middle half of its partner nodes; how sure
 * that is, a jackknife says that leaves out one of these at a time (R. Miller,
 * Biometrika 61, 1974), never less than is usual for its peers; what healthy
 * parts differ by counts as well.  The intervals are corrected for all parts
 * and directions that are looked at (S. Holm, Scand. J. Statist. 6, 1979), so
 * that one run of a hundred names any part by chance.  Bandwidth is that of the
 * narrowest part, so that a slow node hides what its partners are: nodes that
 * were found count no more, and the search goes on.
 *
 * In a sample of the pairs a rank has a test or two with a partner node, and
 * most ranks another one: what is usual is that of all tests of the same sort,
 * and paths between nodes are not judged.
 */

/** What does not count, of enum explained: not what a cell failed first. */
#define EFFECTS_SKIP (EXPLAINED | COVERED)

enum effects_of { EFFECTS_BANDWIDTH, EFFECTS_LATENCY };

struct effect {
	struct part part;	/* GPU, NIC or node, and direction; what several
				 * NICs have in common */
	struct part also;	/* explains the same; its kind is that of part
				 * where there is none */
	double ratio;		/* of what its peers reach: 0.92 of the
				 * bandwidth, 1.4 times the latency */
	double low, high;	/* the corrected interval of that */
	double bound;		/* it is worse than this: the same for it alone,
				 * once it was chosen */
	size_t tests;		/* of it that count */
	size_t partners;	/* nodes that these were with, or */
	bool inside;		/* GPUs of its node */
};

struct effects {
	struct effect *list;	/* nodes first */
	size_t n;
};

/**
 * The parts of @run that are worse by @least: 0.03 is 3 % less bandwidth, or
 * 3 % more latency; the whole interval must be worse than their peers.  Cells
 * with a bit of EFFECTS_SKIP in @skip, or that failed, do not count.  0, or -1
 * when memory runs out; effects_release() frees.
 */
int effects_find(const struct run *run, const uint8_t *skip,
		 enum effects_of of, double least, struct effects *out);
void effects_release(struct effects *e);

#endif
