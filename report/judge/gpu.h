/* SPDX-License-Identifier: BSD-3-Clause */
/* The judge of gpu. */
#ifndef REPORT_JUDGE_GPU_H
#define REPORT_JUDGE_GPU_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/data/record_rows.h"
#include "report/judge/verdict.h"

/* ---- gpu turns ----------------------------------------------------------- */

/** How a test of --soak went on: medians of its first and last third. */
struct gpu_trend {
	size_t n;		/* turns */
	double early, late;	/* GB/s; of compute MHz; NAN: too few */
	double noise;		/* of these two, the larger MAD */
	double early_C, late_C;
};

/** One row for all turns of a test of a GPU: the first that is not good, or
 *  whose result is not that of the first, else the first; with the median
 *  bandwidth of them all.  trends[k] is of list[k]. */
struct gpu_turns {
	struct gpu_row *list;
	size_t n;
	struct gpu_trend *trends;
	bool borrowed;		/* list is run->gpu: each was done once */
};

/** Sort the rows of @run by GPU, and make @t of them.  0, or -1 without memory;
 *  gpu_turns_release() frees what @turns, a struct gpu_turns, has, also
 *  then. */
int gpu_turns_make(struct run *run, struct gpu_turns *t);
void gpu_turns_release(void *turns);

/* ---- gpu ----------------------------------------------------------------- */

/**
 * Finds GPUs that are not as they should be.  Pure: it uses the results of
 * their tests and compares GPUs of the same model on all nodes.  A cell is a
 * test.  A GPU that is slower than its peers by 5 % is a warning, by --slow (10
 * %) a fault; this needs four peers.  A GPU that is no slower than those of its
 * index on other nodes is slow by design.  A GPU that gets slower by 5 % from
 * the first third of the turns to the last is a warning.  Returns 0, or -1
 * without memory.
 */
int gpu_judge(const struct run *run, const struct gpu_turns *turns,
	      struct verdict *v);

#endif
