/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_P2P_NCCL_LINK_H
#define PROBES_P2P_NCCL_LINK_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "probes/dl/nccl.h"
#include "probes/host/gpu.h"
#include "probes/nccl/log.h"
#include "probes/p2p/measure.h"
#include "probes/transport/xport.h"

/** Its collectives: nccl_collective.c. */
extern const struct collective_ops collective_nccl;

/** The transport nccl, open in one worker. */
struct xport {
	const struct nccl *nccl;
	struct gpu gpu;
	struct xport_self self;
	int log_fd;		/* see nccl/log.h */
	json_t *env;		/* NCCL_* set by us */
	bool ifname_set;	/* and NCCL_SOCKET_IFNAME, of this node */
	bool has_plan;		/* NCCL has the ports of the plan */
	/* NULL: not this worker's business, or done */
	struct nccl_torch_look *torch;
	bool stuck;		/* an abort did not free the GPU, or an error
				 * has ended its context */
	atomic_int links;	/* not yet closed; several close at once */
	/* the network that NCCL has chosen in this process */
	struct nccl_nics nics;
	struct nccl_network network;
	bool network_read, network_said;
};

/** Read which network NCCL has chosen: its log says so at the first
 *  communicator. */
void link_read_network(struct xport *x);
/** Report that once, as facts: the network, why it is no better one, and @nic;
 *  "": the first interface of sockets. */
void link_say_network(struct xport *x, const char *nic);

/**
 * Two ranks with a communicator of their own.  Calls queue work on the GPU's
 * stream unless they say "waits"; each returns 0, or -1 with the result that
 * link_begin() named filled in and the communicator aborted: the GPU is free
 * again, the link dead.
 */
struct xport_link {
	struct p2p_end end;
	struct xport *x;
	ncclUniqueId id;
	ncclComm_t comm;
	struct xport_seat seat;
	int me;			/* 0 on the end that made the ticket, 1 on the
				 * other one */
	off_t log_from;		/* NCCL's log before is of other pairs */
	off_t met_from;		/* from here on it is of this pair alone */
	struct link_way {
		char path[NCCL_PATH_SIZE];
		char nic[NCCL_NIC_SIZE];	/* of this end */
	} out, in;		/* how NCCL sends to the peer, and back */
};

/** The address @p as NCCL takes it. */
static inline void *on_gpu(CUdeviceptr p)
{
	return (void *)(uintptr_t)p;
}

/** From here on until @deadline_ns; what goes wrong goes to @r. */
void link_begin(struct xport_link *l, int64_t deadline_ns,
		struct xport_result *r);
/** failed() of the way: give the communicator up; NCCL's log says why. */
void link_failed(struct xport_link *l);

/** Start making the communicator; returns at once where NCCL can. */
int link_make(struct xport_link *l);
/** begun() of the transport: 0 while it is being made, 1 when it is there. */
int link_made(struct xport_link *l, struct xport_result *r);
/** meet() of the transport: first contact both ways; waits. */
int link_contact(struct xport_link *l, int64_t deadline_ns,
		 struct xport_result *r);
/** close() of the transport: give the communicator back, politely for a second
 *  at most. */
void link_close(struct xport_link *l);

/** Send @bytes from @at, or receive them there. */
int link_move(struct xport_link *l, CUdeviceptr at, uint64_t bytes, bool sends);
/** Send and receive @bytes at the same time. */
int link_swap(struct xport_link *l, CUdeviceptr from, CUdeviceptr to,
	      uint64_t bytes);
/** Meet the other end on the stream: what follows starts together. */
int link_meet(struct xport_link *l);
/** Tell the other end @mine and hear its *@theirs; waits. */
int link_exchange(struct xport_link *l, uint64_t mine, uint64_t *theirs);

/** Wait until time stamp @i has passed. */
int link_wait(struct xport_link *l, int i);

#endif
