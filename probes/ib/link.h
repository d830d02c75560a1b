/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_IB_LINK_H
#define PROBES_IB_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "probes/ib/device.h"
#include "probes/ib/memory.h"
#include "probes/ib/ticket.h"
#include "probes/transport/xport.h"

/**
 * One reliable connection and what is on its way through it.  Beside the data
 * the ends talk by single words that one writes into the other's box: words
 * travel behind the data they are about, as the connection keeps its order.
 *
 * Calls that may wait return 0, or -1 with l->fault set: then the link is of
 * no more use, and verbs_tell_fault() puts it into words.
 */
#define BOX_WORDS 8

/** Memory that both ends write words into; the HCA reads and writes it. */
struct verbs_box {
	uint64_t in[BOX_WORDS];		/* by the peer */
	uint64_t ping_in;
	uint64_t out[BOX_WORDS];	/* to the peer */
	uint64_t ping_out;
};

struct xport {
	struct xport_self self;
	struct verbs_device dev;
	struct verbs_memory memory;
	struct verbs_box *box;
	struct verbs_area box_area;
	struct xport_link *pending;	/* between ticket() and join() */
	bool by_cm;		/* rdma_cm finds the paths */
	int64_t op;		/* enum spec_op */
	int tx_depth;
};

enum link_fault {
	FAULT_NONE,
	FAULT_WC,		/* a completion failed */
	FAULT_CALL,		/* a verb did */
	FAULT_TIMEOUT,
	FAULT_CANCELLED,
};

/** What is waited for, and so how: verbs_wait(). */
enum link_pace {
	PACE_WORD,
	PACE_STREAM,		/* what comes next of many messages */
	PACE_PING,		/* the answer that is timed */
};

/** Messages that are handed to the driver at once. */
#define LINK_GROUP_MAX 32

/** One of the queue pairs that data is spread over; words use the first. */
struct link_queue {
	struct ibv_qp *qp;
	int posted;		/* data messages, not completed */
	int to_receive;		/* receives to be posted again */
};

struct cm;

struct xport_link {
	struct xport *x;
	struct ibv_cq *cq;
	struct link_queue queue[QPS_MAX];
	int n_queues;
	struct verbs_ticket own, peer;
	struct gid_entry gid, peer_gid;	/* that this pair uses */
	struct cm *cm;			/* NULL: the path is our own */
	struct ip_addr ip, peer_ip;	/* by which that goes */
	uint64_t word;		/* that the ends know each other by there; the
				 * same bytes on both machines */
	int mtu_B;
	unsigned inline_bytes;
	int tx_depth, rx_depth;	/* of each queue */
	/* on its way */
	int posted;		/* data messages of all queues */
	int64_t done;		/* data messages, completed, of this stream */
	int words_out;		/* words not completed */
	int quiet;		/* words that will not, since the last */
	int64_t received;	/* messages that have arrived */
	bool last_word;		/* one of them said that it is the last */
	uint16_t step_in, step_out;
	/* waiting */
	enum link_pace pace;
	unsigned spins;		/* in vain, since something came */
	int64_t since_ns;
	int64_t look_ns;
	/* the end of it */
	enum link_fault fault;
	enum verbs_call call;
	int error;		/* errno, or status of the completion */
	uint32_t vendor;
};

/** CQ and QP, in state INIT, and the own ticket; NULL with @r. */
struct xport_link *verbs_pair_new(struct xport *x, const char *nonce,
			    struct xport_result *r);
/** The peer's ticket is here: do the ends fit, and which GIDs are used?  @lead:
 *  this end offered first.  0, or -1 with @r. */
int verbs_pair_meet(struct xport_link *l, const char *ticket, bool lead,
		    int peer, struct xport_result *r);
/** On to RTS, by the path of l->cm, or else our own.  0, or -1 with @r. */
int verbs_pair_connect(struct xport_link *l, struct xport_result *r);
void verbs_pair_free(struct xport_link *l);

/** Post @n messages of @bytes, at most LINK_GROUP_MAX, as the operation wants
 *  it: one completion, by the queue that has the least to do. */
int verbs_post(struct xport_link *l, int n, size_t bytes);
/** One message of no bytes that ends in the peer's link->received. */
int verbs_post_ping(struct xport_link *l, bool last);
/** Write @value into the peer's ping word. */
int verbs_write_ping(struct xport_link *l, uint64_t value);
/** Read 8 bytes of the peer. */
int verbs_read_ping(struct xport_link *l);
/** Look what has completed, post receives again. */
int verbs_poll(struct xport_link *l);
/** Nothing came: may the caller look again?  Then 0. */
int verbs_wait(struct xport_link *l, int64_t deadline_ns);

/** Look, then wait as verbs_wait() does. */
int verbs_turn(struct xport_link *l, int64_t deadline_ns);

/** Tell the peer @value, below 2^48; the n-th is heard as the n-th. */
int verbs_tell(struct xport_link *l, uint64_t value);
/** Is there a word from the peer?  It is taken then. */
bool verbs_heard(struct xport_link *l, uint64_t *value);
/** Wait for it; @patient sleeps in between, to leave the CPU to others. */
int verbs_hear(struct xport_link *l, uint64_t *value, bool patient,
	      int64_t deadline_ns);

/** Is the own port no longer ACTIVE?  That explains whatever else was seen:
 *  then @r says so. */
bool verbs_tell_port(const struct xport_link *l, struct xport_result *r);
/** The fault as @r says it. */
void verbs_tell_fault(const struct xport_link *l, const char *doing,
		     struct xport_result *r);

#endif
