/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_SWEEP_FINDINGS_H
#define REPORT_JUDGE_SWEEP_FINDINGS_H

#include "report/judge/verdict.h"
#include "report/model/sweep.h"

/**
 * What the curves of @s say without a reference: a size that is off between its
 * neighbours, in place and out of place that are not alike, a bandwidth that
 * falls towards the large sizes.  Warnings that accuse no part.  Without memory
 * @v has failed.
 */
void sweep_findings(const struct sweep *s, struct verdict *v);

#endif
