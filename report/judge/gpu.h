/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_GPU_H
#define REPORT_JUDGE_GPU_H

#include "lib/data/record_gpu.h"
#include "report/judge/verdict.h"

/** The rows of a run of gpu. */
struct gpu_rows {
	struct gpu_row *list;
	size_t n;
};

/**
 * Which GPU is not as it should be?  Pure: by what its tests found, and beside
 * the GPUs of the same model, whatever node they are in.  A cell is a test.
 * Slower than these by 5 % is a warning, by --slow (10 %) a fault; it takes
 * four of them, and a GPU that is no slower than those of its index on other
 * nodes is as the design has it.  0, or -1 without memory.
 */
int gpu_judge(const struct run *run, const struct gpu_rows *rows,
	      struct verdict *v);

#endif
