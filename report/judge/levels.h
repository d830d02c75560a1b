/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_LEVELS_H
#define REPORT_JUDGE_LEVELS_H

#include "report/model/run.h"

/**
 * Which cells are slow.  Beside the median of their path class
 * (cells_mark_slow()), unless most of them are slow themselves: one slow node
 * of three touches two thirds of all cells between nodes, and then the median
 * is that of the slow ones.  So, where a minority is much faster than the rest,
 * with nothing in between, that minority is taken for the healthy ones if a few
 * parts explain, without exception, all cells that are slow beside it.  If not,
 * the cluster is simply built so (an NVLink bridge between some GPUs).
 * Sets class of the cells and @run->slow.  0, or -1 when memory runs out.
 */
int levels_mark_slow(struct run *run);
/** run_read(), and that. */
int levels_read(const char *dir, struct run *run, struct err *e);

#endif
