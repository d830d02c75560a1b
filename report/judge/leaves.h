/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_LEAVES_H
#define REPORT_JUDGE_LEAVES_H

#include "report/model/run.h"

/**
 * Where nobody says which nodes share a leaf switch, the bad cells may: those
 * of one NIC index on several nodes, or those from one set of nodes to another
 * and inside none of them.  Sets the leaves of @run, named A, B, ..., and
 * leaves_inferred; nothing where the cells show no such thing.  Cells must have
 * their classes.  0, or -1 when memory runs out.
 */
int leaves_infer(struct run *run);

#endif
