/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_TRANSPORT_NCCL_TOLD_H
#define PROBES_TRANSPORT_NCCL_TOLD_H

#include <stdbool.h>

#include "probes/nccl/log.h"
#include "probes/nccl/network.h"
#include "probes/transport/xport.h"

/** Which network NCCL has chosen in this process: it says so at its first
 *  communicator, and is told of once. */
struct nccl_told {
	struct nccl_nics nics;
	struct nccl_network net;
	bool read, said;
};

/** When @log has the first communicator. */
void nccl_told_read(struct nccl_told *t, const struct nccl_log *log);
/** ... as facts: the network, why it is no better one, and @nic; "": the first
 *  interface of sockets. */
void nccl_told_say(struct nccl_told *t, const struct xport_self *self,
		   const char *nic);

#endif
