/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/record_step.h"

#define COLUMN(field, kind, text) NAMED(#field, field, kind, text)
#define NAMED(title, field, kind, text) \
	{ .name = title, .type = kind, \
	  .offset = offsetof(struct step_row, field), \
	  .size = sizeof(((struct step_row *)NULL)->field), .help = text }

static const struct column columns[] = {
	NAMED("rung", probe, COLUMN_TEXT, "probe, and directory of its run"),
	COLUMN(status, COLUMN_TEXT, "status of its verdict: pass, warn, fail, "
				    "unknown"),
	COLUMN(exit_code, COLUMN_INT, "its exit code"),
	COLUMN(pass, COLUMN_INT, "its tests, by class"),
	COLUMN(slow, COLUMN_INT, "slow tests"),
	COLUMN(fail, COLUMN_INT, "tests with an error or a crash"),
	COLUMN(timeout, COLUMN_INT, "tests that ran out of time"),
	COLUMN(corrupt, COLUMN_INT, "tests with changed bytes"),
	COLUMN(skipped, COLUMN_INT, "tests skipped for a reason"),
	COLUMN(not_run, COLUMN_INT, "tests that were not measured"),
	COLUMN(findings, COLUMN_INT, "how many findings it has"),
	COLUMN(wall_s, COLUMN_REAL, "from its start to its report, seconds"),
	COLUMN(outcome, COLUMN_OUTCOME, "ok, error, skipped, not_run"),
	COLUMN(code, COLUMN_TEXT, "why not ok, one word"),
	COLUMN(detail, COLUMN_TEXT, "the same in one sentence"),
	COLUMN(start_utc, COLUMN_TEXT, "when it began, RFC 3339"),
	{ 0 }
};

const struct schema schema_step = {
	.name = "results.csv",
	.columns = columns,
	.row_size = sizeof(struct step_row),
};
