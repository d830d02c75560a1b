/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/record_memlock.h"

#include <string.h>

#define COLUMN(field, kind, text) \
	{ .name = #field, .type = kind, \
	  .offset = offsetof(struct memlock_row, field), \
	  .size = sizeof(((struct memlock_row *)NULL)->field), .help = text }

static const struct column columns[] = {
	COLUMN(node, COLUMN_TEXT, "node that the row is about"),
	COLUMN(context, COLUMN_TEXT, "login, slurmd, batch, step, container, "
				     "here"),
	COLUMN(check, COLUMN_TEXT, "what was read or tried"),
	COLUMN(hca, COLUMN_TEXT, "HCA that it was tried on"),
	COLUMN(limit_B, COLUMN_INT, "the limit, bytes; 2^63-1 is unlimited"),
	COLUMN(needed_B, COLUMN_INT, "what an NCCL job needs, bytes"),
	COLUMN(max_ok_B, COLUMN_INT, "largest size that worked, bytes"),
	COLUMN(min_fail_B, COLUMN_INT, "smallest size that failed, bytes"),
	COLUMN(source, COLUMN_TEXT, "where the number comes from"),
	COLUMN(outcome, COLUMN_OUTCOME, "ok, error, timeout, crashed, "
					"skipped, not_run"),
	COLUMN(code, COLUMN_TEXT, "kind of failure, one word"),
	COLUMN(detail, COLUMN_TEXT, "the same in one sentence"),
	COLUMN(start_utc, COLUMN_TEXT, "when it was read, RFC 3339"),
	{ 0 }
};

const struct schema schema_memlock = {
	.name = "results.csv",
	.columns = columns,
	.row_size = sizeof(struct memlock_row),
};

static const char *const context_names[MEMLOCK_CONTEXTS] = {
	[MEMLOCK_LOGIN] = "login", [MEMLOCK_SLURMD] = "slurmd",
	[MEMLOCK_BATCH] = "batch", [MEMLOCK_STEP] = "step",
	[MEMLOCK_CONTAINER] = "container", [MEMLOCK_HERE] = "here",
};

const char *memlock_context_name(enum memlock_context c)
{
	return context_names[c];
}

enum memlock_context memlock_context_parse(const char *text)
{
	int c = 0;

	while (c < MEMLOCK_CONTEXTS && strcmp(context_names[c], text) != 0) {
		c++;
	}
	return (enum memlock_context)c;
}
