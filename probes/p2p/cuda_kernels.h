/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_P2P_CUDA_KERNELS_H
#define PROBES_P2P_CUDA_KERNELS_H

#include <stdint.h>

/**
 * PTX text, see gpu_kernels.h; for one thread.
 *
 * ping_pong(u64 mine, u64 theirs, u64 first, u64 rounds, u64 lead,
 *	     u64 limit_ns, u64 log)
 *	Flags @first, @first + 1, ... for @rounds rounds: write each into the
 *	other GPU's memory at @theirs and wait until the other GPU has written
 *	it here at @mine; the @lead writes before it waits, the other end after.
 *	Ends by itself @limit_ns after its start, whatever the other end does.
 *	What happened goes to the struct ping_log at @log.
 */
extern const char ipc_kernels_ptx[];

#define IPC_KERNEL_PING_PONG "ping_pong"

#define PING_ROUNDS 1000

struct ping_log {
	uint64_t rounds;	/* that were completed */
	uint64_t start_ns, end_ns;	/* of the whole */
	uint64_t start_tick, end_tick;	/* the same by a finer clock */
	uint64_t tick[PING_ROUNDS];	/* at the end of each round */
};

#endif
