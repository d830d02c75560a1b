/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_RAILS_H
#define PROBES_PLAN_RAILS_H

#include <stdbool.h>

#include <jansson.h>

/** Are rails connected?  What the routes of the nodes say of that.  Pure. */

/** A NIC or port of a node. */
struct rail_nic {
	const char *name;	/* several joined by '+' are one */
	int rail;
	int group;		/* others are not reached by design */
};

/** What nodes say, counted. */
struct rails_said {
	int apart;	/* no rail of theirs has a route to another */
	int joined;	/* one has */
};

/** Count what a node says by @facts, its facts of its @n @nics; one that has no
 *  two rails with addresses says nothing. */
void rails_hear(struct rails_said *s, const json_t *facts,
		const struct rail_nic *nics, int n);

/** Is it the design?  More nodes say so than not: one whose addresses are wrong
 *  does not decide for all. */
static inline bool rails_are_apart(const struct rails_said *s)
{
	return s->apart > s->joined;
}

#endif
