/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_RECORD_GPU_H
#define LIB_DATA_RECORD_GPU_H

#include "lib/data/record.h"

/* Values of the column test, in the order in which they are done. */
#define GPU_TEST_OPEN	 "open"		/* may it be used, and by us? */
#define GPU_TEST_H2D	 "h2d"
#define GPU_TEST_D2H	 "d2h"
#define GPU_TEST_BOTH	 "both"		/* the two at once */
#define GPU_TEST_FAR_H2D "h2d_far"	/* by memory of the other socket */
#define GPU_TEST_FAR_D2H "d2h_far"
#define GPU_TEST_ALL_H2D "h2d_all"	/* all GPUs of the node at once */
#define GPU_TEST_ALL_D2H "d2h_all"
#define GPU_TEST_COPY	 "copy"		/* inside its memory */
#define GPU_TEST_PATTERN "pattern"	/* of all its free memory */
#define GPU_TEST_COMPUTE "compute"
#define GPU_TEST_DCGM	 "dcgm"		/* a failure that dcgmi diag found */

/* Codes of dcgm. */
#define GPU_DCGM_FAIL	 "dcgm_fail"
#define GPU_DCGM_WARN	 "dcgm_warn"
/* A code: there is no socket but that of the GPU. */
#define GPU_ONE_SOCKET	 "one_socket"

/** One line of results.csv of gpu: a test of a GPU. */
#define GPU_COLUMNS(TEXT, INT, REAL, OUTCOME) \
	TEXT(node, 64, "node that the GPU is in") \
	INT(gpu, "index of the GPU there, as CUDA counts") \
	TEXT(model, 64, "its name") \
	TEXT(test, 16, "open h2d d2h both copy ..., as gpucheck-gpu(1) has " \
		       "them") \
	INT(size_B, "bytes of one transfer, or tested") \
	REAL(bw_GB_s, "median bandwidth, 10^9 bytes per second") \
	REAL(expected_GB_s, "what the link to the host promises") \
	REAL(lat_us, "median time of a transfer of 8 bytes, microseconds") \
	TEXT(link, 32, "PCIe link during the transfer, as \"32.0 GT/s x16\"") \
	INT(count, "how often it was done") \
	INT(wrong, "words, or results, that were wrong") \
	TEXT(hash, 20, "of the result that most blocks of threads had") \
	INT(sm, "multiprocessor of the first wrong result") \
	REAL(power_W, "mean power meanwhile, watts") \
	REAL(temp_C, "highest temperature meanwhile, degrees Celsius") \
	REAL(clock_MHz, "lowest clock of the multiprocessors meanwhile") \
	TEXT(throttled, 64, "why its clock was lowered meanwhile") \
	REAL(wall_s, "duration of the test, seconds") \
	OUTCOME(outcome, "ok, error, timeout, crashed, corrupt, skipped, " \
			 "not_run") \
	TEXT(code, 48, "kind of failure, one word") \
	TEXT(detail, 400, "the failure in one sentence") \
	TEXT(start_utc, 32, "when it began, RFC 3339") \
	INT(turn, "which time of --soak, from 1")
struct gpu_row {
	RECORD_FIELDS(GPU_COLUMNS)
};

extern const struct schema schema_gpu;

#endif
