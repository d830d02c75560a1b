/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_GPU_DCGM_H
#define PROBES_GPU_DCGM_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

/** What dcgmi diag found wrong: one of its tests on one GPU, or on the node. */
struct dcgm_found {
	int gpu;		/* as NVML counts; -1 = the node */
	bool fail;		/* else a warning, or a setting of the node */
	char test[48];
	char words[320];	/* its own */
};
#define DCGM_FOUND_MAX 256	/* more are left out */

struct dcgm_report {
	size_t n_tests;		/* that it did */
	size_t n;
	struct dcgm_found list[DCGM_FOUND_MAX];
};

/**
 * Read what "dcgmi diag -j" prints, of DCGM 3 ("DCGM GPU Diagnostic", results
 * by gpu_ids) and 4 ("DCGM Diagnostic", by entity); lines before the JSON
 * are skipped.  Pure.  0, or -1 with @e: it is none, or says that it failed.
 */
int dcgm_parse(const char *text, size_t len, struct dcgm_report *r,
	       struct err *e);

#endif
