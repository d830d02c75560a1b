/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_IB_LINK_H
#define PROBES_IB_LINK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/net.h"
#include "lib/spec/spec.h"
#include "probes/dl/verbs.h"
#include "probes/host/gpu.h"
#include "probes/host/port.h"
#include "probes/transport/xport.h"

/* ---- gid ----------------------------------------------------------------- */

/**
 * The address of a RoCE port is one of its GID table; which one decides the
 * protocol (RoCE v1 or v2), the IP family and the VLAN.  Pure.
 */
#define GID_BYTES  16
#define GID_TEXT   40
#define GID_MAX	   256
#define GID_OFFERS 16		/* that are sent to a peer */

struct gid_entry {
	int index;		/* in the table */
	uint8_t raw[GID_BYTES];
	int roce;		/* 1, 2; 0 = not known or InfiniBand */
	int prefix;		/* of the address; 0 = not known */
};

/** "RoCE v2", "IB/RoCE v1" as in gid_attrs/types; 0 for anything else. */
int gid_parse_type(const char *text);

/** "AF_INET", "AF_INET6", as NCCL_IB_ADDR_FAMILY has it; 0, or -1 with @e. */
int gid_parse_family(const char *text, sa_family_t *family, struct err *e);

/** The address that a GID is: IPv4 in IPv6 becomes IPv4. */
struct ip_addr gid_ip(const uint8_t raw[GID_BYTES]);
/** The same as text; returns @buf. */
const char *gid_text(const uint8_t raw[GID_BYTES], char buf[GID_TEXT]);

/** Keep those of @table, in their order, that are of the @family (AF_INET,
 *  AF_INET6), the version of @roce and the @range, which NCCL's settings want;
 *  0, or no bits of the range: any.  How many. */
size_t gid_allowed(struct gid_entry *table, size_t n, sa_family_t family,
		   int roce, const struct ip_net *range);

/** Put those that a port is better reached by first: RoCE v2 before v1, of v2
 *  what can be routed before what is of the link only, of these IPv4, of these
 *  the lower index. */
void gid_order(struct gid_entry *table, size_t n);

/**
 * Find the GIDs by which two ports reach each other, as places in their lists:
 * of one protocol and family at
 * both ends, RoCE v2 before v1 and routed before not as gid_order() has it, of
 * these those of one subnet, of these IPv4, of these the first of both lists.
 * Each end comes to the same answer from the same lists.  False when no two
 * fit.
 */
bool gid_agree(const struct gid_entry *lead, size_t n_lead,
	       const struct gid_entry *other, size_t n_other, size_t *at_lead,
	       size_t *at_other);

/* ---- words --------------------------------------------------------------- */

/**
 * Codes and causes of what verbs report.  Pure: numbers and errnos in, words
 * out, the same with and without rdma-core's headers.
 */

/** Status of a work completion, as in enum ibv_wc_status; never NULL. */
const struct err_words *verbs_wc_words(int status);

/** The purpose of a failed call. */
enum verbs_call {
	VERBS_OPEN, VERBS_PD, VERBS_REG_MR, VERBS_REG_GPU, VERBS_CREATE_CQ,
	VERBS_CREATE_QP, VERBS_TO_INIT, VERBS_TO_RTR, VERBS_TO_RTS,
	VERBS_POST, VERBS_POLL, VERBS_CALLS
};

/** "ibv_modify_qp INIT to RTR". */
extern const char *const verbs_call_names[VERBS_CALLS];
/** Why @call failed with errno @err, locked memory being @limited or not;
 *  never NULL. */
const struct err_words *verbs_call_words(enum verbs_call call, int err,
					   bool limited);

/* ---- device -------------------------------------------------------------- */

/** A number that the user decides, or else what NCCL's jobs have. */
struct verbs_setting {
	int value;
	bool given;		/* not the default */
	const char *source;	/* option, NCCL_IB_TC, a file, default */
};

/** One HCA port, open, and how its queue pairs are to be set up. */
struct verbs_device {
	const struct verbs *v;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	char name[PORT_NAME];	/* mlx5_0:1 as rows have it */
	char hca[64];		/* mlx5_0 */
	uint8_t port;
	bool ethernet;		/* RoCE; else InfiniBand */
	uint16_t lid;
	uint8_t lmc;		/* the port has 2^lmc LIDs */
	int mtu_B;
	int read_depth, read_ask;	/* reads answered, asked at a time */
	int max_wr, max_cqe;
	struct gid_entry gids[GID_OFFERS];	/* the best first */
	size_t n_gids;
	struct verbs_setting gid_index, traffic_class, service_level,
		pkey_index, relaxed, qps;
	int qp_timeout, qp_retries;
	bool limited;		/* locked memory has a limit below infinity */
	json_t *conf;		/* nccl_conf_read() */
};

/**
 * Open port @name ("mlx5_0" or "mlx5_0:2"), choose its address and check that
 * it can work.  Returns 0, or -1 with @e and *@code; close it then too.
 */
int verbs_device_open(struct verbs_device *d, const char *name,
		      const struct spec *spec, const char **code,
		      struct err *e);
void verbs_device_close(struct verbs_device *d);

/** Return why packets of @d have no UDP source port that a flow label chooses;
 *  NULL: they have one. */
const char *verbs_flows_lack(const struct verbs_device *d);

/** Add @s to @facts as @fact of the port, from where it is. */
void verbs_setting_fact(const struct verbs_device *d, json_t *facts,
			const char *fact, const struct verbs_setting *s);

/** Add the chosen settings as facts of scope d->name. */
void verbs_device_facts(const struct verbs_device *d, json_t *facts);

/** Fill in @e and *@code for a row: @call failed with @err.  Returns -1. */
int verbs_call_fault(const struct verbs_device *d, enum verbs_call call,
		     int err, const char **code, struct err *e);

/* ---- memory -------------------------------------------------------------- */

/**
 * Registered buffers that data leaves from and arrives in, here or on a GPU.
 */
enum verbs_side { VERBS_SEND, VERBS_RECV, VERBS_SIDES };

struct verbs_area {
	uint64_t addr;
	uint32_t local_key, remote_key;
	struct ibv_mr *mr;
};

struct gpu;

#define VERBS_ALL_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			  IBV_ACCESS_REMOTE_READ)

struct verbs_memory {
	const struct verbs_device *d;
	size_t bytes;			/* of each side */
	struct verbs_area side[VERBS_SIDES];
	void *host[VERBS_SIDES];	/* NULL: on the GPU */
	struct gpu *gpu;		/* NULL: here */
	char fault[160];		/* why it could not be filled or read */
	const char *how;		/* "", /dmabuf, /peermem */
	bool relaxed;			/* PCIe may order data as it likes */
};

/** @gpu < 0: host memory, else that of the GPU nearest to the HCA, of several
 *  the @gpu-th.  0, or -1 with @e and *@code; close it then too. */
int verbs_memory_open(struct verbs_memory *m, const struct verbs_device *d,
		      size_t bytes, int gpu, const char **code, struct err *e);
void verbs_memory_close(struct verbs_memory *m);

/** The pattern into the side that sends; nothing of it into the other.  -1
 *  with m->fault. */
int verbs_memory_fill(struct verbs_memory *m, enum verbs_side side,
		      size_t bytes, uint64_t seed, int64_t deadline_ns);
/** Change some bytes that have arrived: a drill. */
void verbs_memory_spoil(struct verbs_memory *m, size_t bytes);
/** Bytes that did not arrive as sent; -1 with m->fault. */
int64_t verbs_memory_wrong(struct verbs_memory *m, size_t bytes, uint64_t seed,
			   int64_t deadline_ns);

/** @bytes of zeros for the HCA, registered as @out, *@relaxed or not; free()
 *  them after that.  NULL with @e and *@code. */
void *verbs_area_new(const struct verbs_device *d, size_t bytes, bool *relaxed,
		     struct verbs_area *out, const char **code, struct err *e);
/**
 * Register @bytes at @addr for all that a pair does, in a dma-buf @offset bytes
 * in where @fd >= 0; 0 or an errno.  With *@relaxed, PCIe may order what is
 * written there as it likes, as jobs have it: some hosts are slow without.
 * Where the HCA or its library refuses that it is as strict as ever, and
 * *@relaxed false.  What tells that other data has arrived must not be relaxed.
 */
int verbs_register(const struct verbs_device *d, uint64_t addr, size_t bytes,
		   int fd, uint64_t offset, bool *relaxed,
		   struct verbs_area *out);

/* ---- ticket -------------------------------------------------------------- */

/** Queue pairs that share the data of one connection. */
#define QPS_MAX 16

/** Flows of one pair, with a queue pair each: as many as fit into a ticket. */
#define FLOWS_MAX XPORT_FLOWS_MAX

/** Data that one end of a queue pair needs from the other. */
struct verbs_ticket {
	char name[PORT_NAME];	/* of the port, for messages */
	char link_layer[32];
	int64_t lid, psn;
	int64_t qpns[QPS_MAX];
	int n_qpns;		/* at least one */
	int64_t flow_qpns[FLOWS_MAX];
	int n_flow_qpns;
	struct gid_entry gids[GID_OFFERS];	/* that it may be reached by;
						 * index is not told */
	size_t n_gids;
	int64_t mtu_B;		/* 256 ... 4096 */
	int64_t read_depth;	/* reads it answers at a time */
	int64_t data_addr, data_key;
	int64_t box_addr, box_key;
	int64_t cm_port;	/* where it listens by rdma_cm; 0 = nowhere */
	char ip[IP_TEXT];	/* ... on InfiniBand; "" = on RoCE, by a GID */
};

/** As JSON text, at most @size bytes; 0, or -1 with @e. */
int verbs_ticket_format(const struct verbs_ticket *t, char *buf, size_t size,
			struct err *e);
/** -1 with @e: this is no ticket of ours. */
int verbs_ticket_parse(const char *text, struct verbs_ticket *t,
		       struct err *e);

/* ---- link ---------------------------------------------------------------- */

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
	uint64_t flow_in;
	uint64_t out[BOX_WORDS];	/* to the peer */
	uint64_t ping_out;
	uint64_t flow_out;
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

/** Event to wait for, which decides how verbs_wait() waits. */
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
	struct flow *flows;		/* flows.c; NULL: none */
	struct ibv_cq *flow_cq;		/* of all of them */
	int n_flows;			/* of these, those that the pair has */
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
/** Takes the peer's ticket: checks that both ends fit, and chooses the GIDs.
 *  @lead: this end offered first.  Returns 0, or -1 with @r. */
int verbs_pair_meet(struct xport_link *l, const char *ticket, bool lead,
		    int peer, struct xport_result *r);
/** On to RTS, by the path of l->cm, or else our own.  0, or -1 with @r. */
int verbs_pair_connect(struct xport_link *l, struct xport_result *r);
void verbs_pair_free(struct xport_link *l);

/** Post @n messages of @bytes, at most LINK_GROUP_MAX, as the operation wants
 *  it: one completion, by the queue that has the least to do. */
int verbs_post(struct xport_link *l, int n, size_t bytes);
/** Send ping @value by the operation: write it into the peer's ping word, send
 *  a message that ends in the peer's link->received, or read 8 bytes of it. */
int verbs_ping(struct xport_link *l, uint64_t value);
#define LINK_PING_LAST UINT64_MAX	/* no more follow */
/** Look what has completed, post receives again. */
int verbs_poll(struct xport_link *l);
/** Waits after a look without a result.  Returns 0 if the caller may look
 *  again. */
int verbs_wait(struct xport_link *l, int64_t deadline_ns);

/** Look, then wait as verbs_wait() does. */
int verbs_turn(struct xport_link *l, int64_t deadline_ns);

/** Send @value, below 2^48, to the peer; words arrive in their order. */
int verbs_tell(struct xport_link *l, uint64_t value);
/** Wait for it; @patient sleeps in between, to leave the CPU to others. */
int verbs_hear(struct xport_link *l, uint64_t *value, bool patient,
	      int64_t deadline_ns);

/** If the own port is no longer ACTIVE, which explains any other symptom, say
 *  so in @r and return true. */
bool verbs_tell_port(const struct xport_link *l, struct xport_result *r);
/** The fault as @r says it. */
void verbs_tell_fault(const struct xport_link *l, const char *doing,
		     struct xport_result *r);

/* ---- flows --------------------------------------------------------------- */

/** The flow label of flow @i < FLOWS_MAX, never 0: each of another UDP source
 *  port. */
uint32_t flow_label(int i);
/** The UDP source port of RoCE v2 packets with flow label @label, 20 bits. */
uint16_t flow_port(uint32_t label);

/** Create the queue pairs of --flows for @l, if its packets have UDP source
 *  ports, and name them in the own ticket; 0 or an errno.  flows_free() frees
 *  in any case. */
int flows_new(struct xport_link *l);
void flows_free(struct xport_link *l);
/** The queue pair of flow @i; NULL: there are no more. */
struct ibv_qp *flows_queue(const struct xport_link *l, int i);
/** Test all flows of @l, whose ends need not do more than be connected: set
 *  r->flows, and report those that lose packets.  @sends: this end is the
 *  sender of the rows. */
void flows_test(struct xport_link *l, bool sends, int64_t deadline_ns,
		struct xport_result *r);
/** Measure the bandwidth of one flow of @l and of up to FLOWS_AT_ONCE at once,
 *  as @r->flow_GB_s and @r->flows_GB_s, unless flows_test() found a fault or
 *  there is too little time; the peer need not do anything.  A stream of all
 *  data took @took_ns. */
void flows_measure(struct xport_link *l, const struct xport_cell *c,
		   int64_t took_ns, int64_t deadline_ns,
		   struct xport_result *r);

/* ---- cm ------------------------------------------------------------------ */

/**
 * --rdma-cm: the connection manager finds the way between two ports and opens
 * the connection, as it does for ib_send_bw -R and for storage.  It goes by IP
 * addresses, so it may fail where queue pairs that are set up by hand work, and
 * says at which step.  Queue pairs remain our own; they take their path from
 * it.
 *
 * The lead listens, the other end calls; each call returns 0, or -1 with @r.
 */

/** The address of an InfiniBand port, of IPoIB; family 0: it has none.  That of
 *  a RoCE port is the GID of each pair. */
struct ip_addr cm_address(const struct verbs_device *d);

/** Check that @d can use rdma_cm. Returns 0, or -1 with @e and *@code. */
int cm_check(const struct verbs_device *d, const char **code, struct err *e);

/** The lead: listen, and set l->own.cm_port for the peer. */
int cm_listen(struct xport_link *l, struct xport_result *r);
/** The other end: find the way to the lead and ask it for a connection, without
 *  waiting for its answer. */
int cm_call(struct xport_link *l, struct xport_result *r);
/** The lead: wait for the request of the other end, and refuse any other; the
 *  other end: wait for the answer.  Then the path is known. */
int cm_hear(struct xport_link *l, bool lead, int64_t deadline_ns,
	    struct xport_result *r);
/** Both ends, once queue pairs are ready: establish the connection.  The lead
 *  waits until the other end reports it. */
int cm_finish(struct xport_link *l, bool lead, int64_t deadline_ns,
	      struct xport_result *r);

struct ibv_ah_attr;
/** The path that cm_hear() has found. */
const struct ibv_ah_attr *cm_path(const struct cm *cm);

/** Safe on NULL. */
void cm_free(struct cm *cm);

/* ---- measure ------------------------------------------------------------- */

/** Measurements of a pair. Calls return 0, or -1 with the link's fault set. */

#define VERBS_SAMPLE_S 4e-3	/* what a sample shall last */

/**
 * Bandwidth: messages one behind the other, as many on their way as the queue
 * holds, or as it takes to keep it filled.
 */
struct stream {
	struct xport_link *l;
	const struct xport_cell *c;
	int64_t deadline_ns;
	int group, depth;
	int window;			/* on their way, without a given end */
	int64_t begin_ns;
	int64_t sent;			/* posted so far */
	int64_t post_ns;		/* when the last ones were */
	int64_t sample_ns;		/* when the sample began */
	int64_t counted;		/* done when the sample began */
	struct samples samples;
};

void stream_init(struct stream *s, struct xport_link *l,
		 const struct xport_cell *c, int64_t deadline_ns);
/** Send @n messages untimed, and wait until the last has completed. */
int stream_send(struct stream *s, int64_t n);
/** Post until s->samples is enough, then wait for the messages under way. */
int stream_run(struct stream *s);
/** The passive end of --bidi: load the way back until @word arrives. */
int stream_until_word(struct stream *s, uint64_t *word);

/** A drill: what began at @since_ns (clock_raw_ns()) shall last 1 / @factor
 *  times as long as it did. */
void verbs_throttle(int64_t since_ns, double factor);

#endif
