/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_RECORD_DIAGNOSE_H
#define LIB_DATA_RECORD_DIAGNOSE_H

#include "lib/data/record.h"

/** Values of the column kind. */
#define DIAGNOSE_LAYER "rung"	/* a test of one layer */
#define DIAGNOSE_KNOB "knob"	/* the run's own test with a setting changed */

/** One line of diagnose.csv: one failed pair in one test of its layers. */
struct diagnose_row {
	int64_t src_rank;
	char src_node[64];
	int64_t src_gpu;
	int64_t dst_rank;
	char dst_node[64];
	int64_t dst_gpu;
	char kind[8];
	char step[64];		/* "tcp", "NCCL_IB_GID_INDEX=3" */
	char dir[96];		/* of its run, below this one's; "" = none */
	enum outcome outcome;	/* the worse of both directions */
	char code[48];
	char detail[400];
	double wall_s;		/* of the test, all its pairs together */
	char start_utc[32];
};

extern const struct schema schema_diagnose;

#endif
