/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_ROUTE_H
#define PROBES_HOST_ROUTE_H

#include <stdbool.h>

#include "lib/base/ip.h"

/** The kernel's routes, as it would use them for one packet. */

struct routes {
	int fd;			/* -1: they cannot be asked for */
	unsigned seq;		/* of the last question */
};

/** routes_close() closes. */
void routes_open(struct routes *r);
void routes_close(struct routes *r);
/**
 * Does the table of this node lead from address @from through interface
 * @ifindex to @to?  A packet that is bound to an interface leaves without a
 * route as well, as if all the world were on its wire.  True where the kernel
 * does not say.
 */
bool routes_lead(struct routes *r, const struct ip_addr *from,
		      unsigned ifindex, const struct ip_addr *to);

#endif
