/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/few.h"

#define LEAST_ALIKE    4
#define LEAST_PARTNERS 3	/* nodes */

static bool misses_line(const struct run *run, const struct part *p)
{
	for (size_t at = 0; at < run_n_cells(run); at++) {
		if (run->cells[at].class == CELL_SLOW &&
		    cells_below_line(&run->cells[at]) &&
		    part_touches_at(run, p, at)) {
			return true;
		}
	}
	return false;
}

bool few_to_compare(const struct run *run, const struct part *p)
{
	const unsigned inside = KIND(GPU) | KIND(GPU_NVLINK);
	const unsigned outside = KIND(NODE) | KIND(NODE_NETWORK) |
				 KIND(NODE_PAIR) | KIND(NIC) | KIND(SOCKET) |
				 KIND(CABLE_SWAP) | KIND(RAIL) |
				 KIND(RAIL_LEAF) | KIND(SWITCH) |
				 KIND(LEAF_PAIR) | KIND(FABRIC_PATH);
	int nodes = 0;

	for (int i = 0; i < run->n_nodes; i++) {
		nodes += run->nodes[i].gpus > 0;
	}
	if (nodes > LEAST_PARTNERS ||
	    !(part_is(p, outside) ||
	      (part_is(p, inside) &&
	       run->nodes[p->node].gpus < LEAST_ALIKE))) {
		return false;
	}
	return !misses_line(run, p);
}
