/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_RETEST_LOOK_H
#define REPORT_JUDGE_RETEST_LOOK_H

#include "report/judge/retest.h"

/** The tests of one part of a retest: for retest_look.c, by retest_marks.c. */

/** Kinds that are on one node alone, and can be at fault for a test with
 *  another part. */
#define ON_ONE_NODE (KIND(NODE) | KIND(NODE_NETWORK) | KIND(INTRA_NODE) | \
		     KIND(SOCKET) | KIND(CABLE_SWAP) | KIND(NIC) | \
		     KIND(GPU) | KIND(GPU_NVLINK))
/** Those that have tests, of one node or between two. */
#define WITH_CELLS (ON_ONE_NODE | KIND(NODE_PAIR) | KIND(PAIR))
/** Of these it matters which one it is. */
#define NUMBERED (KIND(SOCKET) | KIND(CABLE_SWAP) | KIND(NIC) | KIND(GPU) | \
		  KIND(GPU_NVLINK) | KIND(PAIR))

/** A part of which the tests are looked at. */
struct look {
	const struct run *run;
	const struct verdict *v;
	const json_t *json;	/* of it, in run.json */
	struct part part;	/* as this run numbers it */
	uint8_t *marks;		/* a cell each: a test of it ... */
	uint8_t *all;		/* ... of any part */
	size_t units[2], whole[2];	/* pairs that were planned, inside a
					 * node and between two, and those of
					 * which each test was made */
	size_t other_nic;
};

/** "parts" of run.json; NULL: it is no retest. */
const json_t *look_parts(const struct run *run);
/** A number of @json, -1: it has none. */
int look_number(const json_t *json, const char *key);
/** The node called @name; -1: there is none, or it is "". */
int look_node(const struct run *run, const char *name);

/** Find the tests of the part, without those that say nothing of it; @l is set
 *  but for what follows from that. */
void look_at(struct look *l);
/** Does @p have most of the tests that are marked, of one kind of path? */
bool look_covers(const struct look *l, const struct part *p);
/** The worst ratio to the controls of any class of paths that has enough tests,
 *  of bandwidth or @latency; NAN: none. */
double look_ratio(const struct look *l, bool latency);
/** Were half of the pairs tested to their end, of each kind of path? */
bool look_is_covered(const struct look *l);

#endif
