/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_P2P_MEASURE_H
#define PROBES_P2P_MEASURE_H

#include "probes/host/gpu.h"
#include "probes/transport/xport.h"

/**
 * How one direction of a pair of GPUs is measured, whatever moves the bytes.
 * Both ends call p2p_measure() with the same cell but for sender and drill, and
 * take the same decisions.  Calls of a struct p2p_way return 0, or -1 with the
 * result filled in and the link dead.
 */
struct p2p_way {
	/* for the agent and for sentences */
	const char *sending, *receiving;
	const char *transfers;		/* "copies" */
	double sample_s;		/* what a sample shall last: */
#define NCCL_SAMPLE_S 2e-3
#define CUDA_SAMPLE_S 5e-3
	enum outcome away;		/* of an end that a drill keeps away */
	void (*doing)(struct xport_link *l, const char *doing);
	/** A driver call that came back with @rc. */
	int (*cuda)(struct xport_link *l, CUresult rc);
	/** Buffers of @bytes at both ends. */
	int (*reserve)(struct xport_link *l, uint64_t bytes);
	/** Move the bytes @count times, untimed. */
	int (*move)(struct xport_link *l, const struct xport_cell *c,
		    int count);
	/**
	 * The same timed: when it returns the bytes have arrived, and *@s has
	 * the seconds.  One transfer takes about @one_s, 0 when that is not
	 * known yet.
	 */
	int (*sample)(struct xport_link *l, const struct xport_cell *c,
		      int count, double one_s, double *s);
	/** Optional, where sample() has not seen to it: make *@s the same at
	 *  both ends, when what arrived is looked at. */
	int (*agree)(struct xport_link *l, double *s);
	/** The latency, into the result of the sender. */
	int (*latency)(struct xport_link *l, const struct xport_cell *c);
};

/**
 * Measure one direction: bandwidth, data, and the latency when asked for.
 * Fills in @r whatever happens.  Returns false when the link is of no more use
 * because a drill kept this end away.
 */
bool p2p_measure(const struct p2p_way *way, struct xport_link *l,
		 struct gpu *g, struct worker *w, const struct xport_cell *c,
		 int64_t deadline_ns, struct xport_result *r);

#endif
