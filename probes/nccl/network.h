/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_NCCL_NETWORK_H
#define PROBES_NCCL_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

#include "probes/nccl/path.h"

/**
 * Which network NCCL has chosen, as its log has it at level INFO, and why no
 * better one.  Pure: from text to text.
 */
struct nccl_network {
	char name[NCCL_NET_SIZE];	/* "IB", "Socket", "AWS Libfabric" */
	char why[160];			/* of sockets: NCCL's line that says
					 * most; "" = it says nothing */
};

/** The network of the last communicator that @text (@len bytes, need not end in
 *  NUL) tells of into @n; false when it tells of none. */
bool nccl_network_find(const char *text, size_t len, struct nccl_network *n);

#endif
