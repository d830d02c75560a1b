/* SPDX-License-Identifier: BSD-3-Clause */
/* Second attempts: retry.c chooses, and here they are queued. */
#include "probes/engine/coord/coordinator.h"

#include "probes/plan/retry.h"

static bool rank_works(void *ctx, int rank)
{
	const struct coord *c = ctx;

	return c->ranks[rank].state <= RANK_READY;
}

static int queue_again(void *ctx, const struct task *t)
{
	struct coord *c = ctx;
	struct task again = *t;

	again.id = c->next_id++;
	return coord_queue(c, &again);
}

static const struct retry_ops retry_ops = {
	.works = rank_works,
	.queue = queue_again,
};

size_t coord_queue_retries(struct coord *c)
{
	size_t n = (size_t)c->layout.n_ranks;
	struct slow_limit limits[PATH_CLASSES];

	cells_mark_slow(c->cells, n * n, limits);
	return retry_choose(&c->layout, c->cells, RETRY_BROKEN, &retry_ops, c) +
	       retry_choose(&c->layout, c->cells, RETRY_SLOW, &retry_ops, c);
}
