/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_COLLECTIVE_SAMPLES_H
#define PROBES_COLLECTIVE_SAMPLES_H

#include <stdint.h>

#include "lib/data/record_collective.h"

/**
 * How long to measure one size, and what comes out: pure.  A sample is a few
 * operations between two time stamps; every rank takes the same ones, and
 * their mean over the ranks counts, as nccl-tests has it.
 */
#define COLLECTIVE_SAMPLES	  128	/* of one size */
#define COLLECTIVE_STEP_SAMPLES 40	/* taken without asking again */
#define COLLECTIVE_BATCH	  64	/* operations of a sample, at most */

struct collective_samples {
	int64_t wanted;		/* -n; 0 = until steady */
	double one_us;		/* what one operation takes, about */
	double us[COLLECTIVE_SAMPLES];	/* an operation, mean over the ranks */
	int n;
	int batch;		/* operations of a sample; the last may have
				 * fewer */
	int now;		/* of those at hand */
	int64_t done;		/* operations */
	double spent_us;	/* by all of them */
	int room;		/* operations and stamps queued at once */
};

/**
 * Operations and stamps that may be queued behind a held stream before any of
 * them runs.  A GPU's queue takes 1024 entries, of which an operation may need
 * three; between nodes each operation also takes from NCCL's pool of proxy
 * operations, channel by channel, and waits where that is empty.
 */
int collective_samples_room(int64_t nodes);
/** Samples of one operation each that tell what one takes, when the size before
 *  took @about_us (0 = none was). */
int collective_samples_first(double about_us);
/** Begin, knowing that one operation takes about @one_us, on @nodes nodes. */
void collective_samples_begin(struct collective_samples *s, int64_t wanted,
			      double one_us, int64_t nodes);
/** How many samples next, of s->now operations each; 0 = enough: as many as
 *  were wanted, steady to 1 %, or not going to be. */
int collective_samples_next(struct collective_samples *s);
/** One more sample: the times of all @n_ranks ranks, microseconds. */
void collective_samples_add(struct collective_samples *s, const double *us,
			    int n_ranks);
/** What becomes of a size whose operations all take @one_us: so many of them,
 *  but for those that warm up, in *@steps orders. */
int64_t collective_samples_ops(double one_us, int64_t wanted, int64_t nodes,
			       int *steps);
/** Times and bandwidths into @row, whose op, ranks and size_B are set. */
void collective_samples_result(struct collective_samples *s,
			       struct collective_row *row);

#endif
