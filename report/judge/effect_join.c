/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/effect_join.h"

#include <math.h>

/** Is @rank of @whole? */
static bool is_of(const struct run *run, const struct part *whole, int rank)
{
	const struct run_rank *r = &run->ranks[rank];

	if (whole->kind == PART_SOCKET) {
		return r->node == whole->node &&
		       run_socket(run, rank) == whole->index;
	}
	return r->nic == whole->index &&
	       run->nodes[r->node].leaf == whole->peer_index + 1;
}

/** What names the NIC of @rank in @e; NULL. */
static struct effect *nic_of(const struct run *run, const struct effects *e,
			     int rank)
{
	struct part p = part_at(PART_NIC, run->ranks[rank].node,
				run->ranks[rank].nic);

	for (size_t i = 0; i < e->n; i++) {
		if (part_compare(&e->list[i].part, &p) == 0) {
			return &e->list[i];
		}
	}
	return NULL;
}

/** Of the NICs of @whole, all of which are in @e, how it is; false where one is
 *  not, or is less than half as bad as another, or there is but one. */
static bool sum_up(const struct run *run, const struct effects *e,
		   const struct part *whole, struct effect *out)
{
	const struct effect *last = NULL;
	double worst = 0, least = -INFINITY;
	size_t n = 0;

	*out = (struct effect){ .part = *whole, .also = *whole,
				.low = 0, .high = -INFINITY,
				.bound = -INFINITY };
	for (int r = 0; r < run->n_ranks; r++) {
		const struct effect *x;

		if (!is_of(run, whole, r)) {
			continue;
		}
		x = nic_of(run, e, r);
		if (!x) {
			return false;
		}
		if (x == last) {
			continue;	/* of two GPUs */
		}
		last = x;
		worst = fmin(worst, x->ratio);
		least = fmax(least, x->ratio);
		out->ratio += (x->ratio - out->ratio) / (double)++n;
		out->low = fmin(out->low, x->low);
		out->high = fmax(out->high, x->high);
		out->bound = fmax(out->bound, x->bound);
		out->partners = x->partners > out->partners ? x->partners :
							      out->partners;
	}
	return n > 1 && least <= worst / 2;
}

/** @whole in the place of its NICs. */
static void put(const struct run *run, const struct effect *whole,
		struct effects *e)
{
	size_t kept = 0;

	for (int r = 0; r < run->n_ranks; r++) {
		struct effect *x = is_of(run, &whole->part, r) ?
					   nic_of(run, e, r) : NULL;

		if (x) {
			x->part.kind = PART_KINDS;
		}
	}
	for (size_t i = 0; i < e->n; i++) {
		if (e->list[i].part.kind != PART_KINDS) {
			e->list[kept++] = e->list[i];
		}
	}
	e->list[kept++] = *whole;
	e->n = kept;
}

/** Does NIC @p make up something larger with others of @e? */
static bool join(const struct run *run, const struct part *p,
		 struct effects *e)
{
	int rank = run->nodes[p->node].first_rank;
	struct part wholes[2] = { part_at(PART_RAIL_LEAF, -1, p->index) };
	int n = run->ports ? 1 : 2;	/* of ports nobody knows the socket */

	while (run->ranks[rank].nic != p->index) {
		rank++;
	}
	wholes[0].peer_index = run->nodes[p->node].leaf - 1;
	wholes[1] = part_at(PART_SOCKET, p->node, run_socket(run, rank));
	for (int i = wholes[0].peer_index < 0; i < n; i++) {
		struct effect whole;

		if (sum_up(run, e, &wholes[i], &whole)) {
			whole.tests = part_measured(run, &wholes[i]);
			put(run, &whole, e);
			return true;
		}
	}
	return false;
}

void effects_join(const struct run *run, struct effects *e)
{
	size_t i = 0;

	while (i < e->n) {
		const struct part p = e->list[i].part;

		/* those that follow take the place of what has joined */
		i += !(p.kind == PART_NIC && join(run, &p, e));
	}
}
