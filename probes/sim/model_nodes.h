/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_SIM_MODEL_NODES_H
#define PROBES_SIM_MODEL_NODES_H

#include <jansson.h>

#include "lib/base/err.h"
#include "probes/plan/layout.h"

/**
 * The nodes of a model as each agent is told about them: neighbours that are
 * alike are one entry, with their names as a host list, so that a fleet is some
 * hundred bytes and not some hundred thousand for each of its agents.
 */

/** @nodes, as run.json has them, as such a list; NULL without memory. */
json_t *model_nodes_json(const json_t *nodes);
/** The other way: @l is made of @list; layout_release() frees.  0, or -1 with
 *  @e: no memory, or it is no such list. */
int model_nodes_read(struct layout *l, const json_t *list, struct err *e);

#endif
