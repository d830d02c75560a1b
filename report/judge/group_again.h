/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_GROUP_AGAIN_H
#define REPORT_JUDGE_GROUP_AGAIN_H

#include <jansson.h>

#include "lib/base/str.h"

/**
 * The command that measures pair by pair what a bisection named: @run is
 * run.json, @parts the list of its "bisect", one part at least.  Added to @out.
 * Pure; nothing of it is ever executed.
 */
void group_again(const json_t *run, const json_t *parts, struct str *out);

/** The name of a part as words and --pairs have it: n0, or n0:1. */
void group_part_name(const json_t *part, struct str *out);

/** The GPU of a part, -1 where it is a whole node. */
json_int_t group_part_gpu(const json_t *part);

#endif
