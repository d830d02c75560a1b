/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_TIME_H
#define PROBES_PLAN_TIME_H

#include "lib/spec.h"
#include "probes/layout.h"
#include "probes/plan.h"
#include "probes/xport.h"

/**
 * How long a healthy run of @p will take in seconds, once its processes are
 * there: what the busiest GPU, NIC or machine has to do, one pair after the
 * other, at the cost that its transport states; everything else runs beside
 * that.  A guess to plan with, within a factor of two or so.  Pure.
 * @cores  of the one machine that all ranks share, 0 = they do not
 * Returns NAN where the transport states no cost or memory runs out.
 */
double plan_time_s(const struct layout *l, const struct plan *p,
		   const struct spec *s, const struct xport_ops *ops,
		   int cores);

#endif
