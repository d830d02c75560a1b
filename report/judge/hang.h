/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_HANG_H
#define REPORT_JUDGE_HANG_H

#include "lib/data/record_hang.h"
#include "report/judge/verdict.h"

/** The rows of a run of hang. */
struct hang_rows {
	struct hang_row *list;	/* of processes */
	size_t n;
	struct hang_row *silent;	/* of nodes that did not answer */
	size_t n_silent;
};

/**
 * Whom do the others wait for?  Pure: by what each process is, by what each
 * rank of a communicator has begun, and by what it does meanwhile.  A cell is a
 * process: good where it goes on, or waits for one that is named; not run where
 * what is seen names nobody.  No single sign names a process that lives: it is
 * behind in a communicator that does not go on, or idle where the others spin.
 * 0, or -1 without memory.
 */
int hang_judge(const struct run *run, const struct hang_rows *rows,
	       struct verdict *v);

/**
 * Rows without a state, which no node has looked at, of processes that NCCL
 * misses at an address: those on a node that does not have them are gone, and
 * the others, of which nothing is known or another row tells, are dropped.
 */
void hang_find_far(const struct run *run, struct hang_rows *rows);
/** Does the job go on: has a rank begun a collective while it was watched? */
bool hang_goes_on(const struct hang_rows *rows);
/** Has NCCL told of any of its ranks what it has begun? */
bool hang_is_heard(const struct hang_rows *rows);

#endif
