/* SPDX-License-Identifier: BSD-3-Clause */
/* A run that only asked its nodes, as one of the kinds that can be judged. */
#include "report/show/judged.h"

#include <errno.h>

#include "lib/data/record_info.h"
#include "lib/data/rundir.h"
#include "report/judge/caption.h"
#include "report/judge/pairs.h"
#include "report/model/run_read.h"
#include "report/show/info_table.h"

/** Sets of nodes that the words show; the details have the others. */
#define SETS_SHOWN 12

/** A node is a cell: it answered, or why not. */
static int count_nodes(const char *dir, struct run *run,
		       size_t cells[CELL_CLASSES], struct err *e)
{
	struct record_reader reader;
	struct info_row row;
	FILE *f = run_open(dir, RUN_RESULTS, NULL);
	int got = 0;

	if (f && record_reader_open(&reader, &schema_info, f, NULL) == 0) {
		while ((got = record_reader_next(&reader, &row, e)) == 1) {
			cells[cells_class_of(row.outcome)]++;
			run->rows++;
		}
		run->bad_rows = reader.bad_rows;
		STR_COPY(run->bad_why, reader.bad_why);
		record_reader_close(&reader);
	}
	if (f) {
		fclose(f);
	}
	return got;
}

static int judge(const char *dir, const char *reference, struct judged *j,
		 struct err *e)
{
	size_t cells[CELL_CLASSES] = { 0 };
	struct run *run = &j->run;

	(void)reference;
	run->schema = &schema_info;
	run->json = rundir_read_json(dir, RUN_JSON, e);
	if (!run->json || run_read_header(run, e) < 0 ||
	    run_make_cells(run, e) < 0 || run_read_sides(dir, run, e) < 0 ||
	    count_nodes(dir, run, cells, e) < 0) {
		return -1;
	}
	return info_judge(run, cells, &j->verdict) < 0 ?
		       err_set(e, ENOMEM, "cannot judge the run") : 0;
}

static bool info_head(const struct judged *j, int i, char *buf, size_t size)
{
	char when[CAPTION_UTC_SIZE];
	size_t nodes = 0;

	for (int c = 0; c < CELL_CLASSES; c++) {
		nodes += j->verdict.cells[c];
	}
	caption_utc(j->run.started_utc, when);
	snprintf(buf, size, "info: %zu of %zu node%s answered%s%s",
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

const struct judged_kind judged_info = {
	.probe = "info",
	.judge = judge,
	.head = info_head,
	.below = info_below,
	.details = info_details,
	.csv = RUN_FACTS,
};
