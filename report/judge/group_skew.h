/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_GROUP_SKEW_H
#define REPORT_JUDGE_GROUP_SKEW_H

#include <jansson.h>

#include "lib/base/err.h"
#include "report/model/part.h"

/**
 * Facts of @run in which the nodes of a run of collectives differ, as warnings
 * behind the findings of @verdict, which group_verdict() made of it; each says
 * whether a failing finding is about one of the odd nodes.  0, or -1 with @e.
 */
int group_skew(const struct run *run, json_t *verdict, struct err *e);

#endif
