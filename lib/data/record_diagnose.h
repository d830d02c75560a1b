/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_RECORD_DIAGNOSE_H
#define LIB_DATA_RECORD_DIAGNOSE_H

#include "lib/data/record.h"

/** Values of the column kind. */
#define DIAGNOSE_LAYER "rung"	/* a test of one layer */
#define DIAGNOSE_KNOB "knob"	/* the run's own test with a setting changed */

/** One line of diagnose.csv: one failed pair in one test of its layers. */
#define DIAGNOSE_COLUMNS(TEXT, INT, REAL, OUTCOME) \
	INT(src_rank, "one rank of the pair that failed") \
	TEXT(src_node, 64, "its node") \
	INT(src_gpu, "its GPU, index on the node") \
	INT(dst_rank, "the other rank") \
	TEXT(dst_node, 64, "its node") \
	INT(dst_gpu, "its GPU, index on the node") \
	TEXT(kind, 8, \
	     "rung: test of one layer; knob: test of a changed setting") \
	TEXT(step, 64, "which layer or setting") \
	TEXT(dir, 96, "run directory of this test, below this one") \
	OUTCOME(outcome, "the worse of both directions, as in results.csv") \
	TEXT(code, 48, "kind of failure, one word") \
	TEXT(detail, 400, "the failure in one sentence, or why not tried") \
	REAL(wall_s, "duration of this test, all pairs together, seconds") \
	TEXT(start_utc, 32, "when it began, RFC 3339")
struct diagnose_row {
	RECORD_FIELDS(DIAGNOSE_COLUMNS)
};

extern const struct schema schema_diagnose;

#endif
