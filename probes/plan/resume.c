/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/data/cells.h"

int resume_init(struct resume *r, const struct grid *g, int n_passes,
		const char *const names[], int64_t size_B)
{
	size_t n = g->n * (size_t)n_passes;

	*r = (struct resume){ .grid = g, .n_passes = n_passes,
			      .size_B = size_B };
	for (int i = 0; i < n_passes; i++) {
		STR_COPY(r->passes[i], names[i]);
	}
	r->cells = calloc(n + 1, sizeof(*r->cells));
	return r->cells != NULL ? 0 : -1;
}

void resume_release(struct resume *r)
{
	free(r->cells);
	*r = (struct resume){ 0 };
}

/* NULL: the pair has none. */
static struct resume_cell *cell_at(const struct resume *r, int pass, int src,
				   int dst)
{
	size_t at = grid_at(r->grid, src, dst);

	return at < r->grid->n ? &r->cells[(size_t)pass * r->grid->n + at] :
				 NULL;
}

/* The cell of @row, NULL when it is none's. */
static struct resume_cell *cell_of(const struct resume *r,
				   const struct p2p_row *row)
{
	int pass = 0;

	while (pass < r->n_passes &&
	       strcmp(row->schedule, r->passes[pass]) != 0) {
		pass++;
	}
	if (pass == r->n_passes || row->src_rank < 0 ||
	    row->src_rank >= r->grid->ranks || row->dst_rank < 0 ||
	    row->dst_rank >= r->grid->ranks || row->attempt < 1 ||
	    row->attempt > RESUME_ATTEMPTS) {
		return NULL;
	}
	return cell_at(r, pass, (int)row->src_rank, (int)row->dst_rank);
}

static bool is_measured(const struct p2p_row *row)
{
	return row->outcome != OUTCOME_NOT_RUN &&
	       row->outcome != OUTCOME_SKIPPED;
}

static bool is_good(const struct resume_cell *c)
{
	return c->outcome == OUTCOME_OK;
}

void resume_row(struct resume *r, const struct p2p_row *row)
{
	struct resume_cell *c = cell_of(r, row);
	struct cell_say say = { .attempt = row->attempt,
				.outcome = row->outcome };

	if (c == NULL || !is_measured(row) || row->attempt < c->attempt ||
	    row->flow > 0) {
		return;
	}
	r->done -= is_good(c);
	if (row->attempt > c->attempt) {
		c->attempt = (uint16_t)row->attempt;
		c->outcome = OUTCOME_NOT_RUN;
	}
	if (cells_decides(say, row->size_B == r->size_B,
			  (struct cell_say){ .attempt = c->attempt,
					     .outcome = c->outcome })) {
		c->outcome = (uint8_t)row->outcome;
	}
	r->done += is_good(c);
}

bool resume_keeps(const struct resume *r, const struct p2p_row *row)
{
	const struct resume_cell *c = cell_of(r, row);

	if (strcmp(row->schedule, P2P_FOLLOW_UP) == 0 ||
	    strcmp(row->schedule, P2P_FAILOVER) == 0) {
		return false;
	}
	return c == NULL ? is_measured(row) : row->attempt <= c->attempt;
}

/* The attempt that is due at this cell, 0 where none is. */
static int next_attempt(const struct resume *r, int pass, int src, int dst)
{
	const struct resume_cell *c = cell_at(r, pass, src, dst);

	if (c == NULL) {
		return 1;
	}
	return is_good(c) || c->attempt >= RESUME_ATTEMPTS ? 0 : c->attempt + 1;
}

int resume_left(const struct resume *r, int pass, const struct task *t,
		bool tried, struct task out[2])
{
	const int due[] = { next_attempt(r, pass, t->a, t->b),
			    next_attempt(r, pass, t->b, t->a) };
	int n = 0;

	for (int d = 0; d < 2; d++) {
		if ((t->dirs & 1 << d) == 0 || due[d] == 0 ||
		    (due[d] > 1) != tried) {
			continue;
		}
		if (n > 0 && out[0].attempt == due[d]) {
			out[0].dirs |= (uint8_t)(1 << d);
			continue;
		}
		out[n] = *t;
		out[n].attempt = due[d];
		out[n++].dirs = (uint8_t)(1 << d);
	}
	return n;
}
