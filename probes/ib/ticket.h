/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_IB_TICKET_H
#define PROBES_IB_TICKET_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "probes/host/port.h"
#include "probes/ib/gid.h"

/** Queue pairs that share the data of one connection. */
#define QPS_MAX 16

/** What one end of a queue pair must know of the other. */
struct verbs_ticket {
	char name[PORT_NAME];	/* of the port, for messages */
	char link_layer[32];
	int64_t lid, psn;
	int64_t qpns[QPS_MAX];
	size_t n_qpns;		/* at least one */
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

#endif
