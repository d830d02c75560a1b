/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_PORT_USE_H
#define PROBES_ENGINE_COORD_PORT_USE_H

#include <jansson.h>

#include "probes/engine/coord/ranks.h"
#include "probes/plan/port_slots.h"

/**
 * What the ports of the nodes are there for, by where their GPUs are: the
 * layout that p2p would have.  More nodes than not must say of a name that GPUs
 * use it, so that one that has lost a NIC, or a GPU, decides nothing.  A node
 * whose GPUs are not all seen has no vote.  To be asked by port_use_of(), and
 * dropped; NULL without memory.
 */
json_t *port_uses(const struct coord *c);
enum port_use port_use_of(const json_t *uses, const char *name);

#endif
