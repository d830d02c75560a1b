/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_EXPLAIN_WORKS_H
#define REPORT_EXPLAIN_WORKS_H

#include <stddef.h>

#include "lib/base/str.h"

/**
 * Which rank do the others wait for?  The watchdog of PyTorch numbers the
 * collectives of a group: who waits for number 118 and who has enqueued no more
 * than 117 are found by joining the lines of all ranks.
 */

/** More ranks and groups than these are not told apart. */
#define WORKS_MAX 16384

struct works {
	struct work {
		char group[24];
		int rank;
		long waits, enqueued;	/* the last; 0: not said */
	} *list;
	size_t n;
	int ranks;		/* how many the job has, by NCCL; 0 */
	struct str named;	/* "4, 5": a line named them as missing */
};

void works_release(struct works *w);

/** Take what the line of @rank (-1: it says not) has of it. */
void works_line(struct works *w, const char *line, size_t len, int rank);

/** What it comes to: the group with the most ranks behind. */
struct works_verdict {
	char group[24];
	long work;		/* what is waited for; 0: nothing known */
	size_t waiting;		/* ranks */
	struct str behind;	/* "3, 9": they never enqueued it; released by
				 * the caller */
	size_t n_behind;
	struct str silent;	/* the same of ranks that say nothing */
	size_t n_silent;
};
void works_judge(struct works *w, struct works_verdict *v);

#endif
