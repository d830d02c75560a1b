/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_COLLECTIVE_H
#define REPORT_JUDGE_COLLECTIVE_H

#include "report/judge/verdict.h"
#include "report/model/sweep.h"

/** What a finding says of a collective that did not end, last: "all" looks for
 *  what is behind it. */
#define COLLECTIVE_TIMEOUT "timeout"
#define COLLECTIVE_FAILED  "failed"

/**
 * The judge of collectives.  Pure: a cell is a row; "dropped" of run.json names
 * ranks that are to blame for a failure, "bisect" the smallest bad set; curves
 * that fall short of @reference (may be NULL) at more than a single size are
 * findings.  0, or -1 when memory runs out.
 */
int collective_judge(const struct run *run, const struct sweep *s,
		     const struct sweep *reference, struct verdict *v);

#endif
