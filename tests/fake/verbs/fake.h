/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_FAKE_VERBS_FAKE_H
#define TESTS_FAKE_VERBS_FAKE_H

/**
 * A libibverbs.so.1 without hardware: see README.md.  Folder $FAKE_VERBS has
 * its files: "devices" and "faults", both text, and "wire", which all processes
 * map: queue pairs, memory keys and the time at which each port is free again.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define FV_PORTS 128		/* of all nodes */
#define FV_GIDS	 8		/* of a port */
#define FV_QPS	 1024		/* of all processes */
#define FV_RING	 1024		/* requests of a queue */
#define FV_MRS	 16384
#define FV_RULES 64
#define FV_SGES	 4
#define FV_INLINE 256		/* bytes in a request itself */
#define FV_ID	 96		/* "n1/mlx5_0", "mlx5_0:2" */

#define FV_MS 1000000LL		/* ns */
#define FV_S  (1000 * FV_MS)

/* ---- devices.c ----------------------------------------------------------- */

/** A port, as its line in "devices" has it. */
struct fv_port {
	char id[FV_ID], node[32], hca[IBV_SYSFS_NAME_MAX];
	int number;		/* 1 ... */
	bool ethernet, down;
	double rate_Gb_s, pace_Gb_s;	/* said; kept, 0: as fast as it goes */
	double queue_Gb_s;	/* kept by each queue pair; 0: that of a port */
	int mtu;		/* enum ibv_mtu */
	union ibv_gid gids[FV_GIDS];
	int n_gids;
};

struct fv_device {
	struct ibv_device device;
	int first, n_ports;	/* in fv_ports */
};

struct fv_context {
	struct fv_device *device;
	bool down[8];		/* as the last event had it, by port */
	struct verbs_context verbs;
};

extern struct fv_port fv_ports[FV_PORTS];
extern int fv_n_ports;

struct fv_context *fv_context_of(struct ibv_context *ctx);
/** The place of port @number in fv_ports, or -1. */
int fv_port_of(struct ibv_context *ctx, int number);
/** The place of the port with this address, or -1. */
int fv_port_by_gid(const union ibv_gid *gid);
int64_t fv_now_ns(void);
void fv_sleep_ns(int64_t ns);

/* ---- faults.c ------------------------------------------------------------ */

enum fv_fault {
	FV_CUT,		/* nothing comes through, no address is resolved */
	FV_LOST,	/* addresses are resolved, then nothing comes through */
	FV_DOWN,	/* the port says so; cut, too */
	FV_SLOW,	/* value: share of the rate that is left */
	FV_CORRUPT,	/* a byte of each message is changed */
	FV_MEMLOCK,	/* value: bytes that may be locked; 0: the process's
			 * limit */
	FV_FAULTS
};

/** Whether a fault holds between two ports now; @to < 0: any.  @gid: index of
 *  the local address, -1: of no interest.  *@value is that of its rule.  Not a
 *  fault of one UDP port. */
bool fv_faulty(enum fv_fault fault, int from, int to, int gid, double *value);
/** Whether a packet with the flow label @label, in either direction, is lost
 *  now by a rule of its UDP source port. */
bool fv_flow_lost(int from, int to, uint32_t label);
bool fv_port_down(int port);

/* ---- memory.c ------------------------------------------------------------ */

struct fv_wire_port {
	atomic_llong free_ns[2];	/* to send, to receive */
	atomic_llong moved_B;		/* both ways */
};

/** A receive that its owner posts and the peer fills in. */
struct fv_recv {
	uint64_t wr_id, addr;
	uint32_t length, lkey;
	uint32_t byte_len, imm;
	int status, opcode;
	unsigned int flags;
};

struct fv_wire_qp {
	atomic_uint number;		/* 0: free */
	atomic_int pid, state;
	int port;
	uint32_t peer;
	atomic_uint posted, filled;	/* receives, counted on and on */
	atomic_int busy;		/* peers that are at it */
	struct fv_recv ring[FV_RING];
};

struct fv_wire_mr {
	atomic_uint key;		/* 0: free */
	atomic_int pid, busy;
	uint64_t addr, length, iova;
	unsigned int access;
};

struct fv_wire {
	struct fv_wire_port ports[FV_PORTS];
	atomic_llong begun_ns[FV_RULES];
	struct fv_wire_mr mrs[FV_MRS];
	struct fv_wire_qp qps[FV_QPS];
};

/** Mapped once; NULL with errno. */
struct fv_wire *fv_wire(void);
/** A free slot of @n, or one whose process is gone, by its key and pid; which
 *  it then has.  Returns the slot, or -1. */
int fv_claim(atomic_uint *key, atomic_int *pid, size_t stride, int n);
/** Wait until no peer is at what has just lost its key. */
void fv_quiesce(const atomic_int *busy);
/** Where @length bytes at @addr under @key are in their process (*@pid); NULL
 *  if the key does not allow that. */
void *fv_translate(uint32_t key, uint64_t addr, uint64_t length,
		   unsigned int access, int *pid);
/** Lock @bytes more, or unlock them; 0 or ENOMEM. */
int fv_lock(struct ibv_context *ctx, int64_t bytes);

/* ---- queue.c ------------------------------------------------------------- */

struct fv_send {
	struct ibv_send_wr wr;
	struct ibv_sge sge[FV_SGES];
	uint8_t data[FV_INLINE];
	uint32_t bytes;
	int64_t due_ns;		/* the last byte has left, and arrived */
	int64_t next_ns;	/* of the next attempt */
	int attempts;
	int status;		/* enum ibv_wc_status, once it has been moved */
};

struct fv_qp {
	struct ibv_qp qp;
	struct fv_wire_qp *wire;
	pthread_mutex_t lock;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	int peer_port;		/* in fv_ports; -1: none has that address */
	unsigned int reported, moved, posted;	/* sends, counted on and on */
	unsigned int taken;	/* receives */
	struct fv_send *sends;	/* FV_RING */
	int64_t locked_B;
	int64_t free_ns;	/* by the rate of a queue pair */
};

struct fv_cq {
	struct ibv_cq cq;
	pthread_mutex_t lock;
	struct fv_qp *qps[FV_QPS];
	int n_qps, turn;
};

int fv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		 struct ibv_send_wr **bad);
int fv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		 struct ibv_recv_wr **bad);
int fv_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);

/* ---- move.c -------------------------------------------------------------- */

/** When @bytes between the ports are through, if they leave now or as soon as
 *  the ports are free: reserves that time. */
int64_t fv_reserve(int from, int to, uint32_t bytes);
/** The same for @q, which sends or @reads, and has a rate of its own. */
int64_t fv_reserve_queue(struct fv_qp *q, bool reads, uint32_t bytes);
/** Move what is due of the queue; its lock is held. */
void fv_move(struct fv_qp *q);
/** Fail what is in the queue: the first request with @status. */
void fv_break(struct fv_qp *q, int status);

#endif
