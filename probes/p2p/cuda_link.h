/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_P2P_CUDA_LINK_H
#define PROBES_P2P_CUDA_LINK_H

#include <stdbool.h>
#include <stdint.h>

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

/* ---- cuda link ----------------------------------------------------------- */

/** The transport cuda, open in one worker. */
struct xport {
	struct gpu gpu;
	struct xport_self self;
	int gpu_index;
	char boot_id[40];
	CUdeviceptr mailbox;	/* on the GPU; the other end writes its flags */
	CUfunction ping_pong;	/* NULL: the driver refused it */
	struct ping_log *log;	/* pinned */
	bool lent;		/* a lost end may still map the buffer */
	bool spoilt;		/* an error has ended the context, or work that
				 * never ends is on the GPU */
};

/**
 * Two workers of one node, each with the other's mailbox and receive buffer
 * mapped, and a connection to keep in step.  Calls return 0, or -1 with the
 * result that ipc_begin() named filled in and the link dead.
 */
struct xport_link {
	struct xport *x;
	int fd;
	int peer;		/* rank, for sentences */
	char peer_gpu[64];	/* "GPU 1", the same */
	bool dead;
	bool pings;		/* both ends can play ping-pong */
	char path[32];
	CUdeviceptr mailbox, buf;	/* the other end's; 0 = not mapped */
	uint64_t buf_bytes;
	/* of the call at hand */
	const char *doing;
	int64_t deadline_ns;
	struct xport_result *r;
};

/** Context, buffers, mailbox, kernels; 0 or -1 as gpu_open(). */
int ipc_gpu_open(struct xport *x, const char **code, struct err *e);

/** Which way CUDA says GPU @dev reaches GPU @peer: "NVLink", "PCIe", NULL when
 *  it does not. */
const char *ipc_way(const struct cuda *cu, CUdevice dev, CUdevice peer);

/** From here on until @deadline_ns; what goes wrong goes to @r. */
void ipc_begin(struct xport_link *l, int64_t deadline_ns,
	       struct xport_result *r);
/** Set the current activity, for the agent and for sentences; static text. */
void ipc_doing(struct xport_link *l, const char *doing);

/** Exchange identities, check that the GPUs reach each other, map the
 *  mailboxes. */
int ipc_open(struct xport_link *l);
/** Buffers of @bytes at both ends, mapped; contents are lost. */
int ipc_share(struct xport_link *l, uint64_t bytes);
/** close() of the transport: unmap, together with the other end where that is
 *  alive. */
void ipc_close(struct xport_link *l);

/** Tell the other end @mine and hear its *@theirs: a meeting, too. */
int ipc_exchange(struct xport_link *l, uint64_t mine, uint64_t *theirs);
int ipc_meet(struct xport_link *l);

/** Time stamp @i here on the stream / wait until it has passed. */
int ipc_stamp(struct xport_link *l, int i);
int ipc_wait(struct xport_link *l, int i);
/** Wait until the stream is empty. */
int ipc_drain(struct xport_link *l);

/** A driver call that came back with @rc. */
int ipc_cuda(struct xport_link *l, CUresult rc);

#endif
