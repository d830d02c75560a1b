/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_LINK_COUNTS_H
#define PROBES_HOST_LINK_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/host/interface.h"

#define LINK_COUNTS 5

/** What the kernel has counted at an interface since it was made. */
struct link_counts {
	int64_t n[LINK_COUNTS];	/* -1 = it does not say */
};

/** Of @i, below @root ("" = /).  None where the interface of that name there
 *  has another hardware address: /sys of another network namespace. */
void link_counts_read(const char *root, const struct interface *i,
		      struct link_counts *c);

/** "carrier_changes +2, rx_errors +7" into @buf, "" when nothing has grown;
 *  was its link down in between? */
bool link_counts_grown(const struct link_counts *before,
		       const struct link_counts *now, char *buf, size_t size);

#endif
