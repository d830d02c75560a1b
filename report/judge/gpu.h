/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_GPU_H
#define REPORT_JUDGE_GPU_H

#include "report/judge/gpu_turns.h"
#include "report/judge/verdict.h"

/**
 * Which GPU is not as it should be?  Pure: by what its tests found, and beside
 * the GPUs of the same model, whatever node they are in.  A cell is a test.
 * Slower than these by 5 % is a warning, by --slow (10 %) a fault; it takes
 * four of them, and a GPU that is no slower than those of its index on other
 * nodes is as the design has it.  @turns: of @rows; what gets slower by 5 %
 * from the first third of them to the last is a warning.  0, or -1 without
 * memory.
 */
int gpu_judge(const struct run *run, const struct gpu_rows *rows,
	      const struct gpu_turns *turns, struct verdict *v);

#endif
