/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_NCCL_CHOSEN_H
#define PROBES_NCCL_CHOSEN_H

#include <stdbool.h>
#include <stddef.h>

/**
 * What NCCL really used, from the lines that its rank 0 logs with the subsystem
 * TUNING: it may take another algorithm or protocol than the one asked for, and
 * says so nowhere else.  Pure: from text to text.
 */
#define NCCL_CHOSEN_ALGO 32
#define NCCL_CHOSEN_PROTO 16

/**
 * The last choice for @function ("allreduce", in any case) in @text (@len
 * bytes, need not end in NUL): "AllReduce: 1024 Bytes -> Algo Ring proto LL
 * channel...", the same with numbers and without the function in older
 * versions, or "AllReduce [Symmetric]: 1024 Bytes -> Kernel NAME ...".  False:
 * no such line.
 */
bool nccl_chosen_find(const char *text, size_t len, const char *function,
		      char algo[NCCL_CHOSEN_ALGO],
		      char proto[NCCL_CHOSEN_PROTO]);

/** What NCCL calls the algorithms and protocols, NULL at the end. */
extern const char *const nccl_algos[], *const nccl_protos[];

#endif
