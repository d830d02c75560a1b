/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_TRANSPORTS_H
#define PROBES_TRANSPORTS_H

#include <stdbool.h>

#include "probes/transport/xport.h"

/**
 * The transports there are, by priority.  To add one: its file with "const
 * struct xport_ops xport_foo", its name here, and its row with its flags and
 * the commands that offer it in transport_words of lib/spec/options.c.
 */
#define XPORTS(X) X(nccl) X(cuda) X(tcp) X(verbs) X(sim)
#define XPORT_DECLARE(name) extern const struct xport_ops xport_##name;
XPORTS(XPORT_DECLARE)

extern const struct xport_ops *const xports[];	/* NULL ends */

/** By name, NULL when there is none. */
const struct xport_ops *xport_find(const char *name);
/** What --transport=auto is, with GPUs or without. */
const struct xport_ops *xport_auto(bool gpu);

#endif
