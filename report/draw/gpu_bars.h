/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_DRAW_GPU_BARS_H
#define REPORT_DRAW_GPU_BARS_H

#include <stdbool.h>

#include "lib/base/str.h"
#include "report/judge/gpu_turns.h"

#define GPU_BARS_FILE "bars.svg"

/** A bar for each node and test of bandwidth in @rows, one a test of a GPU, the
 *  GPUs of a node beside each other: the slowest of the node, as a part of the
 *  median of the test.  SVG to @out; false where there is nothing to draw. */
bool gpu_bars(const struct gpu_rows *rows, struct str *out);

#endif
