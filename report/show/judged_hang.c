/* SPDX-License-Identifier: BSD-3-Clause */
/* A look at a job that may hang, as one of the kinds that can be judged. */
#include "report/show/judged.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/grow.h"
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

static void print_row(const struct hang_row *r, bool odd, struct str *out)
{
	char cpu[16] = "-", busy[16] = "-", power[16] = "-";

	if (!isnan(r->cpu)) {
		snprintf(cpu, sizeof(cpu), "%.2f", r->cpu);
	}
	if (!isnan(r->gpu_busy_pct)) {
		snprintf(busy, sizeof(busy), "%.0f", r->gpu_busy_pct);
	}
	if (!isnan(r->gpu_power_W)) {
		snprintf(power, sizeof(power), "%.0f", r->gpu_power_W);
	}
	str_addf(out, "%c %5" PRId64 " %-12.12s %8" PRId64
		 " %-2s %5s %4s %4s %s%s%s\n", odd ? '>' : ' ', r->rank,
		 r->node, r->pid, r->state, cpu, busy, power,
		 strcmp(r->ras, HANG_RAS_ANSWERS) == 0 ?
			 (r->calls_later[0] ? r->calls_later : "nothing") :
			 r->comm[0] ? "no answer" : "-",
		 r->waits_in[0] ? " in " : "", r->waits_in);
}

static int below(const struct judged *j, int width, enum term_style style,
		 struct str *out)
{
	const struct hang_rows *rows = j->more;
	size_t shown = 0;

	(void)width;
	(void)style;
	if (rows->n == 0) {
		return 0;
	}
	str_add(out, "\n   rank node              pid st cores GPU% GPU-W "
		     "begun\n");
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
			if (named == odd && shown++ < ROWS_SHOWN) {
				print_row(r, odd, out);
			}
		}
	}
	if (shown > ROWS_SHOWN) {
		str_addf(out, "%zu more are in results.csv\n",
			 shown - ROWS_SHOWN);
	}
	return 0;
}

const struct judged_kind judged_hang = {
	.probe = "hang",
	.more_size = sizeof(struct hang_rows),
	.judge = judge,
	.release = release,
	.head = head,
	.below = below,
};
