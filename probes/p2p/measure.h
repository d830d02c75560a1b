/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_P2P_MEASURE_H
#define PROBES_P2P_MEASURE_H

#include "probes/host/gpu.h"
#include "probes/transport/xport.h"

/* ---- cuda kernels -------------------------------------------------------- */

#define IPC_KERNEL_PING_PONG "ping_pong"

#define PING_ROUNDS 1000

struct ping_log {
	uint64_t rounds;	/* that were completed */
	uint64_t start_ns, end_ns;	/* of the whole */
	uint64_t start_tick, end_tick;	/* the same by a finer clock */
	uint64_t tick[PING_ROUNDS];	/* at the end of each round */
};

/* ---- one end of a pair of GPUs ------------------------------------------- */

/** Between two looks at the GPU that are not the first ones. */
#define P2P_POLL_NS 20000

/**
 * One end of a pair of GPUs, whatever moves the bytes: the first member of a
 * struct xport_link, so that a pointer to one is a pointer to the other.
 */
struct p2p_end {
	const struct p2p_way *way;
	struct gpu *gpu;
	struct worker *worker;
	int peer;		/* rank, for sentences */
	bool dead;		/* the link is of no more use */
	/* of the call at hand */
	const struct xport_cell *c;
	const char *doing;
	int64_t began_ns, deadline_ns;
	struct xport_result *r;
};

/** Begin a call that lasts until @deadline_ns at most and fills in @r. */
void p2p_begin(struct p2p_end *end, int64_t deadline_ns,
	       struct xport_result *r);
/** Set the current activity, for the agent and for sentences; static text. */
void p2p_doing(struct p2p_end *end, const char *doing);
/** Fill in the result and free the GPU by failed() of the way; returns -1. */
int p2p_fail(struct p2p_end *end, enum outcome outcome, const char *code,
	     const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/** Take what a driver call returned: 0, or -1 by p2p_fail(). */
int p2p_cuda(struct p2p_end *end, CUresult rc);
/** Put time stamp @i on the stream here; 0, or -1 by p2p_fail(). */
int p2p_stamp(struct p2p_end *end, int i);
/** Wait between two looks at the GPU, after @looks of them: 0, or -1 by
 *  p2p_fail() when the coordinator has cancelled the task. */
int p2p_pause(struct p2p_end *end, unsigned looks);

/* ---- measure ------------------------------------------------------------- */

/**
 * How one direction of a pair of GPUs is measured.  Both ends call
 * p2p_measure() with the same cell but for sender and drill, and take the same
 * decisions.  Calls of a struct p2p_way return 0, or -1 with the result filled
 * in and the link dead.
 */
struct p2p_way {
	/* for the agent and for sentences */
	const char *sending, *receiving;
	const char *transfers;		/* "copies" */
	double sample_s;		/* what a sample shall last: */
#define NCCL_SAMPLE_S 2e-3
#define CUDA_SAMPLE_S 5e-3
	enum outcome away;		/* of an end that a drill keeps away */
	/** Free the GPU after a failure, with the result filled in. */
	void (*failed)(struct xport_link *l);
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
 * Measure one direction in the call at hand: bandwidth, data, and the latency
 * when asked for.  Fills in the result whatever happens.  Returns false when
 * the link is of no more use.
 */
bool p2p_measure(struct p2p_end *end, const struct xport_cell *c);

#endif
