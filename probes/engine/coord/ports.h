/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_PORTS_H
#define PROBES_ENGINE_COORD_PORTS_H

#include "probes/engine/coord/ranks.h"

/** HCA ports as ranks: for probes that test these. */

/** Find the slots of r->ports in what the agents have said; each agent then
 *  knows which of its ports is in which, and how many take part.  0, or -1
 *  without memory. */
int ports_make(struct ranks *r);

/** What --hca says; without it, of agent @a, what its NCCL_IB_HCA says, @from
 *  where (may be NULL); "": nothing. */
const char *ports_filter(const struct coord *c, const struct coord_agent *a,
			 const char **from);

/** "NCCL_IB_HCA=^mlx5_0 (/etc/nccl.conf)", and on how many nodes if not on all
 *  alike: what stood in for --hca; NULL: nothing did. */
json_t *ports_filter_json(const struct coord *c);

/** The group of @slot: two ranks of different ones cannot communicate. */
int ports_group(const struct ranks *r, int slot);

/** The port of k->slot on the node of @k into @k; false: there is none. */
bool ports_take(const struct ranks *r, struct rank *k);

/** How many HCA ports the nodes have, up or down; or, @efa, how many that ib
 *  does not apply to. */
size_t ports_count(const struct coord *c, bool efa);

#endif
