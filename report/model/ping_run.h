/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_PING_RUN_H
#define REPORT_MODEL_PING_RUN_H

#include "report/model/run.h"

/* ---- ping run ------------------------------------------------------------ */

/** In ping: the address that a rank stands for. */
struct mesh_end {
	char ifname[32];
	char ip[56];
	char segment[64];	/* its subnet */
	char state[16];		/* up, down, no_carrier; "" = no such end */
	int64_t mtu_B;		/* of the interface; 0 = not known */
};

/** Data of a ping run beside its cells; one block, free() frees it. */
struct mesh {
	struct mesh_end *ends;	/* a rank each */
	float *loss;		/* a cell each: share of packets without an
				 * answer; NAN */
	uint8_t *heard;		/* the other end has heard what it did not
				 * answer, or not in a way that came back */
	char segment[64];	/* the only one in this picture, "" = all */
	bool cross;		/* segments were tested against each other */
	size_t unrouted;	/* cells that nobody expects to pass: no route
				 * leads from the one segment to the other */
	int by_segment;		/* what stands for nodes in this picture are
				 * segments, of so many nodes; 0 = nodes do */
};

/** Room for @ranks and @cells, and one for the pairs that have none, with no
 *  loss known; NULL without memory. */
struct mesh *mesh_new(size_t ranks, size_t cells);

/** Return the address of @rank in a run with a mesh. */
static inline const struct mesh_end *mesh_end(const struct run *run, int rank)
{
	return &run->mesh->ends[rank];
}

/** The only segment that @run shows, "" = all there are. */
static inline const char *mesh_segment(const struct run *run)
{
	return run->mesh ? run->mesh->segment : "";
}

/** Return true if the cell at @at connects two segments, or two rails. */
static inline bool mesh_crosses(const struct run *run, size_t at)
{
	return run->ranks[run_src(run, at)].nic !=
	       run->ranks[run_dst(run, at)].nic;
}

/**
 * Read DIR, a run of ping, as a run whose ranks are addresses and whose NICs
 * are rails, so that it is judged and drawn as any other.  -1 with @e;
 * run_release() frees.
 */
int ping_run_read(const char *dir, struct run *run, struct err *e);

#endif
