/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_RETRY_H
#define PROBES_PLAN_RETRY_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/data/cells.h"
#include "lib/data/grid.h"
#include "probes/plan/layout.h"
#include "probes/plan/plan.h"

/** Second attempts may take this share of the first ones' time. */
#define RETRY_SHARE 0.25

/** Slow cells are apart: they must not take the turns of broken ones. */
enum retry_bad {
	RETRY_BROKEN, RETRY_SLOW,
	RETRY_STARVED,	/* begun, and not measured */
};

struct retry_ops {
	bool (*works)(void *ctx, int rank);	/* can it be asked again? */
	/** Takes the task, its id not yet set; 0, or -1 when it cannot. */
	int (*queue)(void *ctx, const struct task *t);
};

/**
 * Which cells deserve a second attempt: of @cells (those of @g, slow ones
 * marked) those that are @bad after one attempt, but of a part
 * that many of them share two only.  Hands each task to @ops->queue; returns
 * how many it took.  Pure but for that; none without memory.
 */
size_t retry_choose(const struct layout *l, const struct grid *g,
		    const struct cell *cells, enum retry_bad bad,
		    const struct retry_ops *ops, void *ctx);

#endif
