/* SPDX-License-Identifier: BSD-3-Clause */
/* A look at a job that may hang, as one of the kinds that can be judged. */
#include "report/show/judged.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "report/judge/hang.h"
#include "report/model/run.h"

/** Rows that a screen shows, the odd ones first. */
#define ROWS_SHOWN 32

static int take_row(const struct run_rows *rows, const void *data)
{
	struct hang_rows *to = rows->user;
	const struct hang_row *row = data;
	bool ok = row->outcome == OUTCOME_OK;

	rows->run->rows++;
	if (!grow_add(ok ? &to->list : &to->silent,
		      ok ? &to->n : &to->n_silent, row, sizeof(*row))) {
		return -1;
	}
	return ok && !row->state[0] ? 0 : run_note_node(rows->run, row->node);
}

static int judge(const char *dir, struct judged *j, struct err *e)
{
	const struct run_rows rows = { .schema = &schema_hang, .run = &j->run,
				       .take = take_row, .user = j->more };

	if (run_load(dir, &rows, e) < 0) {
		return -1;
	}
	hang_find_far(&j->run, j->more);
	return hang_judge(&j->run, j->more, &j->verdict);
}

static void release(void *more)
{
	struct hang_rows *rows = more;

	free(rows->list);
	free(rows->silent);
}

static bool head(const struct judged *j, int i, char *buf, size_t size)
{
	const size_t *cells = j->verdict.cells;
	size_t n = cells[CELL_PASS] + cells[CELL_FAIL] + cells[CELL_NOT_RUN];

	snprintf(buf, size, "hang: %zu process%s on %d node%s: %s", n,
		 n == 1 ? "" : "es", j->run.n_nodes,
		 j->run.n_nodes == 1 ? "" : "s",
		 n == 0		       ? "nothing to watch" :
		 cells[CELL_FAIL] > 0  ? "the others wait" :
		 hang_goes_on(j->more) ? "not hung, the job makes progress" :
		 hang_is_heard(j->more) ? "no progress" :
					   "progress unknown");
	return i == 0;
}

/** Add the @value of a cell, which a bar shows as part of @full; INFINITY: no
 *  bar. */
static void add_number(struct table *t, double value, int digits, double full)
{
	if (isnan(value)) {
		table_add(t, "-");
		return;
	}
	table_addf(t, "%.*f", digits, value);
	if (isfinite(full)) {
		table_bar(t, value / full);
	}
}

static void add_row(const struct hang_row *r, bool odd, struct table *t)
{
	table_add(t, odd ? ">" : "");
	table_addf(t, "%" PRId64, r->rank);
	table_add(t, r->node);
	table_addf(t, "%" PRId64, r->pid);
	table_add(t, r->state);
	add_number(t, r->cpu, 2, 1);
	add_number(t, r->gpu_busy_pct, 0, 100);
	add_number(t, r->gpu_power_W, 0, INFINITY);
	table_addf(t, "%s%s%s",
		   strcmp(r->ras, HANG_RAS_ANSWERS) == 0 ?
			   (r->calls_later[0] ? r->calls_later : "nothing") :
			   r->comm[0] ? "no answer" : "-",
		   r->waits_in[0] ? " in " : "", r->waits_in);
}

static void tables(const struct judged *j, struct tables *to)
{
	static const struct table_column columns[] = {
		{ .name = "" , .width = 1 },
		{ .name = "rank", .width = 5, .right = true },
		{ .name = "node", .width = 12, .most = 12 },
		{ .name = "pid", .width = 8, .right = true },
		{ .name = "st", .width = 2 },
		{ .name = "cores", .width = 5, .right = true },
		{ .name = "GPU%", .width = 4, .right = true },
		{ .name = "GPU-W", .width = 5, .right = true },
		{ .name = "begun" },
	};
	const struct hang_rows *rows = j->more;
	struct table *t = tables_add(to, &(struct table){
		.title = "Processes", .columns = columns, .n_columns = 9,
		.shown = ROWS_SHOWN });

	for (int odd = 1; odd >= 0; odd--) {
		for (size_t i = 0; i < rows->n; i++) {
			const struct hang_row *r = &rows->list[i];
			const int node = run_find_node(&j->run, r->node, -1);
			bool named = false;	/* the others wait for it */

			verdict_foreach(&j->verdict, f) {
				named = named ||
					(f->part.kind == PART_PROCESS &&
					 f->part.node == node &&
					 f->part.index == r->rank);
			}
			if (named == odd) {
				add_row(r, odd, t);
			}
		}
	}
}

const struct judged_kind judged_hang = {
	.probe = "hang",
	.more_size = sizeof(struct hang_rows),
	.judge = judge,
	.release = release,
	.head = head,
	.tables = tables,
};
