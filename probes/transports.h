/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_TRANSPORTS_H
#define PROBES_TRANSPORTS_H

#include <stdbool.h>

#include "probes/transport/xport.h"

/**
 * The transports there are.  To add one: its file with "const struct xport_ops
 * xport_foo", a line here and one in transports.c, and its row, what it is and
 * who offers it, in lib/spec: enum xport_caps and transport_words.
 */
extern const struct xport_ops xport_nccl, xport_cuda, xport_tcp, xport_verbs,
	xport_sim;
extern const struct xport_ops *const xports[];	/* by priority, NULL ends */

/** By name, NULL when there is none. */
const struct xport_ops *xport_find(const char *name);
/** What --transport=auto is, with GPUs or without. */
const struct xport_ops *xport_auto(bool gpu);

#endif
