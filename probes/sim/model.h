/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_SIM_MODEL_H
#define PROBES_SIM_MODEL_H

#include <stdint.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "probes/plan/drill.h"
#include "probes/plan/pass.h"
#include "probes/transport/order.h"

/**
 * The ranks of --transport=sim: states of their agent instead of processes.
 * The agent of the lower rank answers for both ends of a pair at once.
 */
struct model;

/** What the coordinator sends along with "start" of pass @p, which models
 *  @layer; drill text included. */
json_t *model_json(const json_t *nodes, const char *drill_text,
		   enum drill_layer layer, uint64_t seed,
		   const struct pass *p);
/** The other way; NULL with @e.  model_free() frees. */
struct model *model_new(const json_t *j, struct err *e);
void model_free(struct model *m);
/** What answers @o, one of the tasks by @how (new reference): the entry of a
 *  "done"; NULL where it makes no sense. */
json_t *model_report(const struct model *m, const struct order *o,
		     const struct order_how *how);
/** Members of the message that answers @msg, a step of a collective; NULL where
 *  it makes no sense. */
json_t *model_collective(const struct model *m, const json_t *msg);

#endif
