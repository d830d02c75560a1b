/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_RESUME_H
#define PROBES_PLAN_RESUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data/grid.h"
#include "lib/data/record.h"
#include "probes/plan/pass.h"
#include "probes/plan/plan.h"

/**
 * What the rows of a run that ended early leave to be done.  Pure: rows in,
 * tasks out.
 *
 * A cell of a pass is done when its last attempt is good at the largest size
 * and bad at none; slow is good.  Where something was measured and was bad, or
 * only the smaller sizes were, the next attempt is due; where nothing was, the
 * first.  Rows that only say that an attempt came to nothing (not_run, skipped)
 * make room for what is measured now, so that no key is there twice; so do
 * those of a follow-up, which asked what all rows left open then.
 */
struct resume {
	const struct grid *grid;	/* borrowed */
	int n_passes;
	char passes[PASS_MAX][16];	/* their names, as the rows have them */
	int64_t size_B;			/* the largest */
	struct resume_cell {
		uint16_t attempt;	/* last one that measured; 0 = none */
		uint8_t outcome;	/* of it: cells_decides() */
	} *cells;	/* of each pass those of the grid */
	size_t done;	/* cells, of all passes */
};

/** Attempts that can be counted; a cell with as many stays as it is. */
#define RESUME_ATTEMPTS 60000

/** @g is what has cells, borrowed.  0, or -1 without memory; resume_release()
 *  frees. */
int resume_init(struct resume *r, const struct grid *g, int n_passes,
		const char *const names[], int64_t size_B);
void resume_release(struct resume *r);	/* safe on a zeroed one */

/** Every row once, in the order of the file; what is no cell's is ignored. */
void resume_row(struct resume *r, const struct p2p_row *row);
/** When all were seen: does this one stay? */
bool resume_keeps(const struct resume *r, const struct p2p_row *row);

/**
 * What is left of @t in pass number @pass: its directions that were never
 * measured, or those that were @tried, each to be counted on from its own
 * attempts.  Returns how many tasks @out has; their id is that of @t.
 */
int resume_left(const struct resume *r, int pass, const struct task *t,
		bool tried, struct task out[2]);

#endif
