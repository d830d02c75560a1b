/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of several curves is the best one, size by size. */
#include "report/model/sweep.h"

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

/** The row of @size_B with the shortest time among those that went well (the
 *  bandwidths of small sizes are rounded to nothing); NULL. */
static const struct collective_row *shortest_at(const struct curve *c,
						int64_t size_B)
{
	const struct collective_row *best = NULL;

	for (size_t i = curve_from(c, size_B);
	     i < c->n && c->rows[i]->size_B == size_B; i++) {
		const struct collective_row *row = c->rows[i];

		if (isfinite(row->time_us) && row->outcome == OUTCOME_OK &&
		    (!best || row->time_us < best->time_us)) {
			best = row;
		}
	}
	return best;
}

bool curve_same_op(const struct curve *a, const struct curve *b)
{
	const struct collective_row *x = a->first, *y = b->first;

	return row_texts_agree(x->op, y->op) &&
	       row_numbers_agree(x->ranks, y->ranks);
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
		const struct collective_row *row = shortest_at(c, size_B);

		if (!curve_same_op(c, of) || !row) {
			continue;
		}
		n++;
		if (!(row->time_us >= best_time)) {
			best = c;
			best_time = row->time_us;
		}
	}
	return n > 1 ? best : NULL;
}

/** What the means of two runs of the same setting differ by in any case. */
#define ALIKE 0.01

/**
 * Can the row @slow not be told from the faster one?  In one run of ours each
 * was repeated: a difference counts when neither mean is within what the other
 * one varied by, without the worst of a hundred.  Tables of others are runs
 * apart, or have no more than means: they have to differ as runs do.
 */
static bool rows_alike(const struct collective_row *fast,
		       const struct collective_row *slow)
{
	if (isfinite(fast->time_p99_us) && isfinite(slow->time_min_us) &&
	    !fast->table[0] && !slow->table[0]) {
		return slow->time_us <= fast->time_us * (1 + ALIKE) ||
		       slow->time_us <= fast->time_p99_us ||
		       slow->time_min_us <= fast->time_us;
	}
	return slow->time_us <=
	       fast->time_us * (1 + curve_band(fast->size_B));
}

bool curve_keeps_up(const struct curve *c, const struct curve *fastest,
		    int64_t size_B)
{
	const struct collective_row *fast = shortest_at(fastest, size_B);
	const struct collective_row *row =
		curve_same_op(c, fastest) ? shortest_at(c, size_B) : NULL;

	return row && fast && (c == fastest || rows_alike(fast, row));
}

size_t sweep_keep_up(const struct sweep *s, const struct curve *fastest,
		     int64_t size_B)
{
	size_t n = 0;

	for (size_t k = 0; k < s->n_curves; k++) {
		n += curve_keeps_up(&s->curves[k], fastest, size_B);
	}
	return n;
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
