/* SPDX-License-Identifier: BSD-3-Clause */
/* A run that only asked its nodes, as one of the kinds that can be judged. */
#include "report/show/judged.h"

#include <stdlib.h>

#include "lib/base/grow.h"
#include "lib/data/record_rows.h"
#include "lib/data/rundir.h"
#include "report/judge/caption.h"
#include "report/judge/pairs.h"
#include "report/model/run.h"

/** Sets of nodes that the words show; the details have the others. */
#define SETS_SHOWN 12

static int take_row(const struct run_rows *rows, const void *data)
{
	struct run *run = rows->run;
	const struct info_row *row = data;

	return grow_add(&run->info, &run->rows, row, sizeof(*row)) ?
		       run_note_node(run, row->node) : -1;
}

static int judge(const char *dir, struct judged *j, struct err *e)
{
	const struct run_rows rows = { .schema = &schema_info, .run = &j->run,
				       .take = take_row };

	return run_load(dir, &rows, e) < 0 ?
		       -1 : info_judge(&j->run, j->run.info, j->run.rows,
				       &j->verdict);
}

static bool info_head(const struct judged *j, int i, char *buf, size_t size)
{
	char when[CAPTION_UTC_SIZE];
	size_t nodes = 0;

	for (int c = 0; c < CELL_CLASSES; c++) {
		nodes += j->verdict.cells[c];
	}
	caption_utc(j->run.started_utc, when);
	snprintf(buf, size, "info: %zu of %zu node%s responded%s%s",
		 j->verdict.cells[CELL_PASS], nodes, nodes == 1 ? "" : "s",
		 when[0] ? ", " : "", when);
	return i == 0;
}

static int info_below(const struct judged *j, int width,
		      enum term_style style, struct str *out)
{
	(void)style;	/* a table has no picture */
	return info_table(&j->run, width, 0, SETS_SHOWN, out);
}

static void info_details(const struct judged *j, int width, struct str *out)
{
	info_table(&j->run, width, SETS_SHOWN, SIZE_MAX, out);
}

static void info_tables(const struct judged *j, struct tables *to)
{
	struct table t;

	if (info_facts(&j->run, 0, SIZE_MAX, &t) < 0) {
		t.text.failed = true;
	}
	t.title = "Facts";
	tables_add(to, &t);
}

const struct judged_kind judged_info = {
	.probe = "info",
	.judge = judge,
	.head = info_head,
	.below = info_below,
	.details = info_details,
	.tables = info_tables,
	.csv = RUN_FACTS,
};
