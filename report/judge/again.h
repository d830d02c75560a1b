/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_AGAIN_H
#define REPORT_JUDGE_AGAIN_H

#include "report/judge/attribute.h"
#include "report/judge/verdict.h"

/**
 * A part that is slow in the main pass, where many tests run at a time, and
 * what the follow-up says of the same tests, made by themselves.  Flows that
 * met on a link between switches then do not.  Pure.
 */

/** So many of its slow tests, made again, confirm a part or do not. */
#define AGAIN_TESTS 4

/** Did most of the slow tests of @c pass when they were made again, others of
 *  it having been good all the time?  Then it is no fault that is proved. */
bool again_doubts(const struct run *run, const struct cause *c);
/**
 * The same of parts between nodes only: what meets in the network is nobody's.
 * What is inside a node may be slow by itself now and then.
 */
bool again_refutes(const struct run *run, const struct cause *c);
/** Did most tests of a lone pair pass then?  What is slow first and again by
 *  chance is not for ever. */
bool again_mends(const struct run *run, const struct cause *c);
/** A line of evidence to @f, what the follow-up says of @p, if it does. */
void again_tell(const struct run *run, const struct part *p,
		struct finding *f);
/** The slow tests of @c, which is refuted, are of flows that met: a warning of
 *  the network as a whole, one for all of these. */
void again_collided(const struct run *run, const struct cause *c,
		    struct verdict *v);

#endif
