/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_DRAIN_H
#define REPORT_JUDGE_DRAIN_H

#include "report/judge/verdict.h"

/**
 * Is a finding reason enough to take its node out of service?  It is by the
 * node's own word: a part that it misses, a process of ours that died there, a
 * test that never left it and failed while others passed.  It is by three
 * witnesses: nodes that passed with each other, and failed with this one.  One
 * node or two that failed with it may be to blame themselves, and what fell
 * silent may have been cut off by whoever listened.
 *
 * Sets f->drain of one that fails in one node; where it is not proved, f->says
 * has who did not reach that node, and f->act the test that would tell.
 * v->cells are counted, f->act is there.  Pure.
 */
void drain_weigh(const struct run *run, const struct verdict *v,
		 struct finding *f);

/** Did @node itself end the connection to its agent, so that it was there? */
bool drain_hung_up(const struct run *run, int node);

#endif
