/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_FAKE_NCCL_NET_H
#define TESTS_FAKE_NCCL_NET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * The network of the fake NCCL, by the file that FAKE_NCCL_NET names: what NCCL
 * writes about it, who reaches whom, how fast, and what breaks.  A line each,
 * '#' begins a comment:
 *
 *	network NAME	as NCCL calls it (IB); Socket has no GPUDirect
 *	gpus N		a node (8)
 *	nics N NAME	a node, NAME0 NAME1 ... (one a GPU, mlx5_)
 *	rate GB_s	of a NIC one way, which its GPUs share (any)
 *	no_gdr		no GPUDirect RDMA
 *	rail_only	NICs of different numbers do not reach each other: a
 *			pair needs PXN, by a GPU of the sender's node that has
 *			the receiver's number and is in the communicator
 *	mnnvl N		NVLink joins N nodes each
 *	info TEXT	NCCL writes so at its first communicator; recorded
 *	warn TEXT	the same, as a warning
 *	hang A-B	first contact of the two never ends; a rank is NODE:GPU,
 *			* any
 *	error A-B	... fails
 *	crash A-B	... kills the sender, SIGSEGV
 *	abort A-B	... SIGABRT
 *	port A-B	... fails, unless NCCL_IB_RESILIENCY_PORT_FAILOVER is 1
 *	slow A-B SHARE NAME=VALUE
 *			of the rate is all that A has to B; with the last word,
 *			only if the environment has NAME with another value
 *
 * NCCL_IB_DISABLE=1 and NCCL_NET=Socket leave sockets, NCCL_PXN_DISABLE=1 no
 * relay, NCCL_MNNVL_ENABLE=0 no NVLink between nodes.
 */
#define NET_NODES 64
#define NET_NICS  64
#define NET_RANKS 16		/* of a communicator */

struct net_rule {
	char what[8];		/* hang, error, crash, abort, port, slow */
	char from[16], to[16];
	double share;		/* of slow */
	char unless[64];	/* of slow: NAME=VALUE or "" */
};

struct net {
	char network[32];
	int gpus, nics;
	char nic[32];
	double rate_GB_s;	/* 0: not limited */
	bool no_gdr, rail_only;
	int mnnvl;		/* nodes; 0: none */
	char says[32][160];	/* "INFO ...", "WARN ..." */
	int n_says;
	struct net_rule rules[16];
	int n_rules;
};

/** Who a rank of a communicator is. */
struct net_rank {
	int node, gpu;
};

/** How one reaches another. */
struct net_way {
	enum net_kind {
		NET_P2P, NET_NVLINK, NET_NIC, NET_RELAYED, NET_CUT
	} kind;
	int nic;		/* of the sender's node */
	int relay;		/* rank whose NIC that is */
};

/** When each NIC is free again, both ways; shared by all processes. */
struct net_nics {
	atomic_llong free_ns[NET_NODES][NET_NICS][2];
};

/** Read @text; what a line does not say is as above.  0, or the number of the
 *  first line that is wrong. */
int net_parse(const char *text, struct net *net);

int net_nic_of(const struct net *net, struct net_rank r);
/** How rank @src of the @n @ranks of a communicator sends to rank @dst. */
struct net_way net_way(const struct net *net, const struct net_rank *ranks,
		       int n, int src, int dst, bool pxn);
/** What is to happen between them, "" for nothing out of order. */
const char *net_rule(const struct net *net, struct net_rank from,
		     struct net_rank to);
/** The share of the rate that is left between them: 1, all of it. */
double net_share(const struct net *net, struct net_rank from,
		 struct net_rank to);
/** What stands behind "via " in a line of NCCL's log. */
void net_via(const struct net *net, struct net_way way, bool receives,
	     char *buf, size_t size);
/** Take the NIC for @bytes from @now_ns on, or from when it is free: returns
 *  when that ends. */
int64_t net_take(const struct net *net, atomic_llong *free_ns, int64_t now_ns,
		 uint64_t bytes);

#endif
