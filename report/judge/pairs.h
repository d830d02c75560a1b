/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_PAIRS_H
#define REPORT_JUDGE_PAIRS_H

#include "report/judge/verdict.h"

/** The judge of runs that measure pairs.  Pure: cells, facts and expectations
 *  in, findings out.  0 or -1 (memory). */
int verdict_compute(const struct run *run, struct verdict *v);
/** Of runs that only asked their nodes: a cell of @cells is a node. */
int info_judge(const struct run *run, const size_t cells[CELL_CLASSES],
	       struct verdict *v);

#endif
