/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HANG_RAS_H
#define PROBES_HANG_RAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/str.h"

/**
 * NCCL's own watch over a job, its RAS threads (since 2.24): what each rank of
 * each communicator has begun, and which ranks do not answer.
 * The user guide of NCCL has it under Troubleshooting, RAS.
 */

/** Where they listen unless NCCL_RAS_ADDR says otherwise. */
#define RAS_ADDR "localhost:28028"
/** Largest answer: 4,096 ranks take 1.7 MB. */
#define RAS_MAX_BYTES (64 << 20)
#define RAS_MAX_RANKS 65536

/** A rank of a communicator. */
struct ras_rank {
	char comm[24];		/* hash of the communicator, "0x..." */
	int64_t comm_size;
	int64_t rank;		/* in it */
	char host[64];		/* as NCCL knows it, an address mostly */
	int64_t pid;
	int64_t gpu;		/* NVML's index */
	bool here;		/* on this node, which asked */
	bool missing, dead;	/* then it has not said the rest */
	bool told;		/* what it has begun */
	int64_t async_error;	/* ncclResult_t */
	char calls[120];	/* "AllReduce 21, AllGather 1": none that is 0;
				 * "" = none */
	int64_t total;		/* of all */
};

struct ras_answer {
	char version[16];	/* of NCCL */
	struct ras_rank *ranks;
	size_t n;
	bool words;		/* it told them in words: only ranks of
				 * communicators that disagree, those without a
				 * process number where it named no other */
};

/**
 * Pure.  The ranks of @text, of @len bytes: lines of the protocol, then JSON;
 * the comma that NCCL 2.28 forgets there in front of a "status" is put in.
 * Without JSON, what its words say.  0, or -1 with @e; ras_release() frees
 * either way.
 */
int ras_parse(const char *text, size_t len, struct ras_answer *a,
	      struct err *e);
/** The second of these alone. */
void ras_release(struct ras_answer *a);

#endif
