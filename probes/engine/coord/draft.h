/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_DRAFT_H
#define PROBES_ENGINE_COORD_DRAFT_H

#include <stdbool.h>

#include "lib/spec/spec.h"
#include "probes/engine/coord/agents.h"

/** A node while it is being put together from the hellos of its agents. */
struct node_draft {
	char name[64], host[64], boot_id[64];
	struct coord_agent *whole; /* agent of the whole node, or ... */
	struct coord_agent *single[SPEC_MAX_GPUS]; /* ... one a rank, */
	int n_single;		   /* NULL: it never came, but ... */
	int absent[SPEC_MAX_GPUS]; /* ... the launcher's rank of it is
				    * known, plus one */
	bool present;
	int gpus; /* ranks that it had before; 0: not known */
};

/** Group agents into nodes, in boot order, into @d (agents_expected() entries,
 *  zeroed); returns how many.  One-worker agents that never came and are of no
 *  known node are one of their own, not present, named after their launcher's
 *  ranks: absent[] has these. */
int draft_nodes(const struct agents *s, struct node_draft *d);

#endif
