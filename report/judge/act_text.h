/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_ACT_TEXT_H
#define REPORT_JUDGE_ACT_TEXT_H

#include "report/judge/verdict.h"

/**
 * What to type next about @f, by its code, the transport or probe of @run and
 * the kind of part.  There is a text for any; it is static.  In it {node},
 * {index}, {peer} stand for the part's, {again} for the command that measures
 * one bad pair once more.
 */
const char *act_text(const struct run *run, const struct finding *f);

#endif
