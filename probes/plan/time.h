/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_TIME_H
#define PROBES_PLAN_TIME_H

#include "lib/spec/spec.h"
#include "probes/plan/layout.h"
#include "probes/plan/plan.h"
#include "probes/transport/xport.h"

/**
 * How many pairs of @p must follow each other, over all passes: what the
 * busiest GPU, NIC or machine has to do; everything else runs beside that.
 * @cores  of the one machine that all ranks share, 0 = they do not
 * Pure; 0 where memory runs out.
 */
size_t plan_turns(const struct layout *l, const struct plan *p,
		  const struct spec *s, int cores);

/**
 * How long a healthy run of so many @turns will take in seconds, once its
 * processes are there, at the cost that the transport states.  A guess to plan
 * with, within a factor of two or so.  Pure.
 * Returns NAN where the transport states no cost, or without turns.
 */
double plan_time_s(size_t turns, const struct spec *s,
		   const struct xport_ops *ops);

/** The same of @cells tests, whose rows one coordinator takes in, and a report
 *  reads; NAN without tests.  Pure. */
double plan_rows_s(size_t cells, const struct xport_ops *ops);

/**
 * How long a pair that stands may take for both directions at all sizes, in
 * nanoseconds: --timeout a size; where none is asked for, the transport's own,
 * or longer where so many bytes are that only a dead link takes as long.  Pure.
 */
int64_t plan_task_ns(const struct spec *s, const struct xport_ops *ops);

/** Seconds that a healthy pair needs of plan_task_ns(); NAN where the transport
 *  states no cost. */
double plan_pair_s(const struct spec *s, const struct xport_ops *ops);

/** Bytes that a healthy pair sends, both directions; of a model as few as
 *  decide.  Pure. */
double plan_pair_bytes(const struct spec *s, const struct xport_ops *ops);

/** Bytes that the pairs of @p send from node to node in a healthy run, about:
 *  what neighbours may notice of it.  Pure. */
double plan_bytes(const struct layout *l, const struct plan *p,
		  const struct spec *s, const struct xport_ops *ops);

/** Seconds that second attempts may take after first ones that took @time_s:
 *  time for one at least.  NAN where that is. */
double plan_retry_s(double time_s, const struct spec *s,
		    const struct xport_ops *ops);

/** The same of a follow-up; NAN, too, where there will be none. */
double plan_follow_s(double time_s, const struct spec *s,
		     const struct xport_ops *ops);

#endif
