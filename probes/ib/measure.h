/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_IB_MEASURE_H
#define PROBES_IB_MEASURE_H

#include "probes/ib/link.h"

/** run() of the verbs transport: one direction at one size. */
bool verbs_measure(struct xport_link *l, const struct xport_cell *c,
		   int64_t deadline_ns, struct xport_result *r);

#endif
