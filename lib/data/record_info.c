/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/record_info.h"

#define COLUMN(field, kind, text) \
	{ .name = #field, .type = kind, \
	  .offset = offsetof(struct info_row, field), \
	  .size = sizeof(((struct info_row *)NULL)->field), .help = text }

static const struct column columns[] = {
	COLUMN(node, COLUMN_TEXT, "node that was asked"),
	COLUMN(outcome, COLUMN_OUTCOME,
	       "ok: it reported; error, crashed, timeout, skipped, not_run"),
	COLUMN(code, COLUMN_TEXT, "why not ok, one word"),
	COLUMN(detail, COLUMN_TEXT, "the same in one sentence"),
	COLUMN(start_utc, COLUMN_TEXT, "when it was asked, RFC 3339"),
	{ 0 }
};

const struct schema schema_info = {
	.name = "results.csv",
	.columns = columns,
	.row_size = sizeof(struct info_row),
};
