/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of several curves is the best one, size by size. */
#include "report/sweep.h"

#include <string.h>

double curve_best_at(const struct curve *c, int64_t size_B)
{
	double best = NAN;

	for (size_t i = curve_from(c, size_B);
	     i < c->n && c->rows[i]->size_B == size_B; i++) {
		double bw = row_bandwidth(c->rows[i]);

		if (isfinite(bw) && c->rows[i]->outcome == OUTCOME_OK &&
		    !(bw <= best)) {
			best = bw;
		}
	}
	return best;
}

double curve_shortest_at(const struct curve *c, int64_t size_B)
{
	double best = NAN;

	for (size_t i = curve_from(c, size_B);
	     i < c->n && c->rows[i]->size_B == size_B; i++) {
		double time = c->rows[i]->time_us;

		if (isfinite(time) && c->rows[i]->outcome == OUTCOME_OK &&
		    !(time >= best)) {
			best = time;
		}
	}
	return best;
}

bool curve_same_op(const struct curve *a, const struct curve *b)
{
	const struct allreduce_row *x = a->first, *y = b->first;

	return (!x->op[0] || !y->op[0] || strcmp(x->op, y->op) == 0) &&
	       (x->ranks == RECORD_NONE || y->ranks == RECORD_NONE ||
		x->ranks == y->ranks);
}

int64_t sweep_next_size(const struct sweep *s, const struct curve *of,
			int64_t size_B)
{
	int64_t next = -1;

	for (size_t k = 0; k < s->n_curves; k++) {
		const struct curve *c = &s->curves[k];
		size_t i = curve_from(c, size_B + 1);

		if (curve_same_op(c, of) && i < c->n &&
		    (next < 0 || c->rows[i]->size_B < next)) {
			next = c->rows[i]->size_B;
		}
	}
	return next;
}

const struct curve *sweep_fastest(const struct sweep *s,
				  const struct curve *of, int64_t size_B)
{
	const struct curve *best = NULL;
	double best_time = NAN;
	size_t n = 0;

	for (size_t k = 0; k < s->n_curves; k++) {
		const struct curve *c = &s->curves[k];
		double time = curve_shortest_at(c, size_B);

		if (!curve_same_op(c, of) || !isfinite(time)) {
			continue;
		}
		n++;
		if (!(time >= best_time)) {
			best = c;
			best_time = time;
		}
	}
	return n > 1 ? best : NULL;
}

bool sweep_leads(const struct sweep *s, size_t at)
{
	size_t others = 0;

	for (size_t k = 0; k < s->n_curves; k++) {
		if (k != at && curve_same_op(&s->curves[k], &s->curves[at])) {
			if (k < at) {
				return false;
			}
			others++;
		}
	}
	return others > 0;
}
