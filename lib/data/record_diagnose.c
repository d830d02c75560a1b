/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/record_diagnose.h"

#define COLUMN(field, kind, text) \
	{ .name = #field, .type = kind, \
	  .offset = offsetof(struct diagnose_row, field), \
	  .size = sizeof(((struct diagnose_row *)NULL)->field), .help = text }

static const struct column columns[] = {
	COLUMN(src_rank, COLUMN_INT, "one rank of the pair that failed"),
	COLUMN(src_node, COLUMN_TEXT, "its node"),
	COLUMN(src_gpu, COLUMN_INT, "its GPU, index on the node"),
	COLUMN(dst_rank, COLUMN_INT, "the other rank"),
	COLUMN(dst_node, COLUMN_TEXT, "its node"),
	COLUMN(dst_gpu, COLUMN_INT, "its GPU, index on the node"),
	COLUMN(kind, COLUMN_TEXT, "rung: test of one layer; knob: test of a "
				  "changed setting"),
	COLUMN(step, COLUMN_TEXT, "which layer or setting"),
	COLUMN(dir, COLUMN_TEXT, "run directory of this test, below this one"),
	COLUMN(outcome, COLUMN_OUTCOME, "the worse of both directions, as in "
					"results.csv"),
	COLUMN(code, COLUMN_TEXT, "kind of failure, one word"),
	COLUMN(detail, COLUMN_TEXT, "the failure in one sentence, or why not "
				    "tried"),
	COLUMN(wall_s, COLUMN_REAL, "duration of this test, all pairs "
				    "together, seconds"),
	COLUMN(start_utc, COLUMN_TEXT, "when it began, RFC 3339"),
	{ 0 }
};

const struct schema schema_diagnose = {
	.name = "diagnose.csv",
	.columns = columns,
	.row_size = sizeof(struct diagnose_row),
};
