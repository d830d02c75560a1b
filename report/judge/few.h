/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_FEW_H
#define REPORT_JUDGE_FEW_H

#include "report/model/part.h"

/**
 * Is there too little to compare @p with for its slowness to be a fault?  Among
 * fewer than four alike, or with fewer than three other nodes, it may as well
 * be the others that are fast.  Not where what its hardware carries is known,
 * and missed.  A pair is no part of anything.  Pure.
 */
bool few_to_compare(const struct run *run, const struct part *p);

#endif
