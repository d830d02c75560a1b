/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_TRANSPORTS_H
#define PROBES_TRANSPORTS_H

#include <stdbool.h>

#include "probes/transport/xport.h"

/** The transports there are. */
extern const struct xport_ops xport_nccl, xport_cuda, xport_tcp, xport_verbs,
	xport_sim;
extern const struct xport_ops *const xports[];	/* by priority, NULL ends */

/** By name, NULL when there is none. */
const struct xport_ops *xport_find(const char *name);

#endif
