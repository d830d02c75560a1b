/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool is who can meet in a stratum: a rail, a node, a fabric.  In it are
 * seats, in an order that the seed decides: nodes, or the ranks of a node.
 * Seats meet by the circle method, so no two do so twice; and when two nodes
 * meet, their ranks do, each with one that is so many rails and places on.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/hash.h"
#include "lib/base/order.h"
#include "lib/data/record.h"
#include "probes/plan/plan.h"

/* ---- pass ---------------------------------------------------------------- */

int pass_list(const struct spec *s, struct pass passes[PASS_MAX])
{
	int n = s->contrast == CONTRAST_NONE ||
				s->contrast == CONTRAST_FAILOVER ? 1 : PASS_MAX;

	for (int i = 0; i < n; i++) {
		passes[i] = (struct pass){ .schedule = s->schedule,
					   .pxn = s->pxn,
					   .memory = s->memory };
	}
	switch (s->contrast) {
	case CONTRAST_SCHEDULE:
		/* alone first: what is slow then is not slow by the others */
		passes[0].schedule = SCHEDULE_SERIAL;
		passes[1].schedule = SCHEDULE_PARALLEL;
		break;
	case CONTRAST_PXN:
		passes[0].pxn = false;
		passes[1].pxn = true;
		break;
	case CONTRAST_MEMORY:
		passes[0].memory = MEMORY_HOST;
		passes[1].memory = MEMORY_GPU;
		break;
	default:
		break;
	}
	/* each is named by its difference from the other */
	for (int i = 0; i < n; i++) {
		struct pass *p = &passes[i];

		snprintf(p->name, sizeof(p->name), "%s%s%s",
			 spec_choice_name("schedule", p->schedule),
			 n > 1 && p->pxn ? "+pxn" : "",
			 p->memory != passes[0].memory ? "+gpu" : "");
	}
	if (n < PASS_MAX) {
		passes[n] = passes[0];
		passes[n].failover = true;
		snprintf(passes[n].name, sizeof(passes[n].name), "%s",
			 P2P_FAILOVER);
	}
	return n;
}

bool pass_needs_fresh(const struct pass *a, const struct pass *b, bool model)
{
	return a->pxn != b->pxn || a->memory != b->memory ||
	       a->failover != b->failover ||
	       (model && a->schedule != b->schedule);
}

/* ---- strata -------------------------------------------------------------- */

struct strata_group {
	int first, n;	/* of a seat: its ranks in order[]; of a pool: its
			 * seats */
	int rails;	/* of a seat, with as many ranks of each; 1 of a rail's
			 * own */
	int laps;	/* of a pool: so often two seats can meet */
};

struct strata_pools {
	int *order;	/* ranks, by pool, seat, NIC */
	struct strata_group *seats;
	struct strata_group *pools;
	int n_seats, n_pools;
	int most;	/* rounds */
};

/** A rank as it is sorted. */
struct strata_place {
	int group, part;	/* the pool */
	int seat;
	uint64_t draw;		/* of the seat */
	int nic, rank;
};

/* ---- who sits where ---------------------------------------------------- */

static const struct order_key by_pool[] = {
	ORDER_UP(struct strata_place, group),
	ORDER_UP(struct strata_place, part),
	ORDER_END
};

static const struct order_key by_seat[] = {
	ORDER_UP(struct strata_place, group),
	ORDER_UP(struct strata_place, part),
	ORDER_UP(struct strata_place, draw),
	ORDER_UP(struct strata_place, seat),
	ORDER_UP(struct strata_place, nic),
	ORDER_UP(struct strata_place, rank),
	ORDER_END
};

static int nic_at(const struct strata *s, const struct strata_pools *p, int i)
{
	return s->l->own[p->order[i]].planned;
}

/** Ways in which ranks of another seat can meet those of @seat. */
static int ways(enum stratum stratum, const struct strata_group *seat)
{
	if (stratum == STRATUM_NODES) {
		return 1;
	}
	return stratum == STRATUM_CROSS && seat->rails > 1 ?
		       seat->n / seat->rails * (seat->rails - 1) : seat->n;
}

/** Counts how often the seats of each pool can meet, and the rounds. */
static void count_rounds(const struct strata *s, enum stratum stratum,
			 struct strata_pools *p)
{
	for (int i = 0; i < p->n_pools; i++) {
		struct strata_group *pool = &p->pools[i];
		const struct strata_group *first = &p->seats[pool->first];
		const struct strata_group *last = &first[pool->n - 1];
		int rounds = sched_rounds(pool->n);
		bool crosses = stratum != STRATUM_CROSS;

		for (int k = pool->first; k < pool->first + pool->n; k++) {
			int laps = ways(stratum, &p->seats[k]);

			pool->laps = laps > pool->laps ? laps : pool->laps;
		}
		/* in a pool that is all on one rail no pair crosses */
		for (int k = first->first; k < last->first + last->n; k++) {
			crosses |= nic_at(s, p, k) !=
				   nic_at(s, p, first->first);
		}
		pool->laps = crosses ? pool->laps : 0;
		rounds *= pool->laps;
		p->most = rounds > p->most ? rounds : p->most;
	}
}

static void take_places(const struct strata *s, struct strata_pools *p,
			const struct strata_place *places)
{
	for (int i = 0; i < s->l->n_ranks; i++) {
		bool other = i == 0 || order_compare(by_pool, &places[i - 1],
						     &places[i]) != 0;

		p->order[i] = places[i].rank;
		if (other) {
			p->pools[p->n_pools++].first = p->n_seats;
		}
		if (other || places[i].seat != places[i - 1].seat) {
			p->seats[p->n_seats++].first = i;
			p->pools[p->n_pools - 1].n++;
		}
		p->seats[p->n_seats - 1].n++;
	}
	/* how many rails each seat has; where some have more ranks than others,
	 * each rank counts as one */
	for (int i = 0; i < p->n_seats; i++) {
		struct strata_group *seat = &p->seats[i];
		const int first = seat->first;
		int rails = 1, each;
		bool alike;

		for (int k = 1; k < seat->n; k++) {
			rails += nic_at(s, p, first + k) !=
				 nic_at(s, p, first + k - 1);
		}
		each = seat->n / rails;
		alike = seat->n % rails == 0;
		for (int k = 0; k < seat->n; k++) {
			alike &= nic_at(s, p, first + k) ==
				 nic_at(s, p, first + k / each * each);
		}
		seat->rails = alike ? rails : seat->n;
	}
}

static void free_pools(struct strata_pools *p)
{
	if (p != NULL) {
		free(p->order);
		free(p->seats);
		free(p->pools);
		free(p);
	}
}

static struct strata_pools *make_pools(const struct strata *s,
				       enum stratum stratum, uint64_t seed)
{
	size_t n = (size_t)s->l->n_ranks;
	struct strata_place *places = calloc(n + 1, sizeof(*places));
	struct strata_pools *p = calloc(1, sizeof(*p));

	if (p != NULL) {
		p->order = calloc(n + 1, sizeof(*p->order));
		p->seats = calloc(n + 1, sizeof(*p->seats));
		p->pools = calloc(n + 1, sizeof(*p->pools));
	}
	if (places == NULL || p == NULL || p->order == NULL ||
	    p->seats == NULL || p->pools == NULL) {
		free_pools(p);
		p = NULL;
		goto free_places;
	}
	for (size_t i = 0; i < n; i++) {
		const struct cluster_rank *r = &s->l->ranks[i];
		struct strata_place *at = &places[i];

		*at = (struct strata_place){ .group = r->group,
					     .seat = r->node,
					     .nic = s->l->own[i].planned,
					     .rank = (int)i };
		if (stratum == STRATUM_RAIL) {
			at->part = at->nic;
		} else if (stratum == STRATUM_INSIDE) {
			at->part = r->node;
			at->seat = (int)i;
		}
		at->draw = hash_mix(seed, (uint64_t)stratum,
				    (uint64_t)at->part, (uint64_t)at->seat);
	}
	order_sort(places, n, sizeof(*places), by_seat);
	take_places(s, p, places);
	count_rounds(s, stratum, p);
free_places:
	free(places);
	return p;
}

/* ---- which rounds ------------------------------------------------------ */

/** Rounds that there are. */
static int most_rounds(const struct strata *s, enum stratum stratum)
{
	return s->pools[stratum] != NULL ? s->pools[stratum]->most : 0;
}

static bool take_turn(struct strata *s, enum stratum of)
{
	if (s->rounds[of] >= most_rounds(s, of)) {
		return false;
	}
	s->turns[s->n++] = of;
	s->rounds[of]++;
	return true;
}

int strata_make(struct strata *s, const struct layout *l,
		const struct pairs *p, int k, uint64_t seed, struct err *e)
{
	static const enum stratum order[STRATA_DEFAULT] = {
		STRATUM_RAIL, STRATUM_INSIDE, STRATUM_CROSS, STRATUM_RAIL,
		STRATUM_RAIL, STRATUM_RAIL, STRATUM_CROSS, STRATUM_RAIL,
		STRATUM_RAIL, STRATUM_RAIL, STRATUM_CROSS, STRATUM_RAIL,
	};
	int in_vain = 0;	/* of the last of these */
	bool room = true;

	*s = (struct strata){ .l = l };
	for (int i = 0; room && i < STRATA; i++) {
		if (pairs_have(p->kind, p->rails_apart, (enum stratum)i)) {
			s->pools[i] = make_pools(s, (enum stratum)i, seed);
			room = s->pools[i] != NULL;
		}
	}
	if (room) {
		s->turns = calloc((size_t)k + 1 +
				  (size_t)most_rounds(s, STRATUM_NODES),
				  sizeof(*s->turns));
	}
	if (s->turns == NULL) {
		strata_release(s);
		return err_set(e, ENOMEM, "no memory for a sample of %d ranks",
			       l->n_ranks);
	}
	for (int i = 0; s->n < k && in_vain < STRATA_DEFAULT; i++) {
		in_vain = take_turn(s, order[i % STRATA_DEFAULT]) ?
				  0 : in_vain + 1;
	}
	while (take_turn(s, STRATUM_NODES)) {
		;
	}
	return 0;
}

void strata_release(struct strata *s)
{
	for (int i = 0; i < STRATA; i++) {
		free_pools(s->pools[i]);
	}
	free(s->turns);
	*s = (struct strata){ 0 };
}

/* ---- who meets whom ---------------------------------------------------- */

struct meeting {
	const struct strata *s;
	enum stratum of;
	const struct strata_pools *pools;
	int round, lap;
	struct grid_pair *pairs;
	size_t n;
};

/** All ranks of two seats, those of the larger one a partner each. */
static void meet_all(struct meeting *m, const struct strata_group *large,
		     const struct strata_group *small)
{
	const int *order = m->pools->order;
	int each = small->n / small->rails, most = ways(m->of, small);
	int way = (m->round + m->lap) % most;
	bool turns = m->of == STRATUM_CROSS && small->rails > 1;
	int rails_on = turns ? 1 + way % (small->rails - 1) : 0;
	int places_on = turns ? way / (small->rails - 1) : way;

	for (int i = 0; i < large->n && m->lap < most; i++) {
		int rail = (i / each + rails_on) % small->rails;
		int at = rail * each + (i + places_on) % each;
		int a = order[large->first + i], b = order[small->first + at];

		if (m->of != STRATUM_CROSS ||
		    m->s->l->own[a].planned != m->s->l->own[b].planned) {
			m->pairs[m->n++] = (struct grid_pair){ a, b };
		}
	}
}

/** One rank of each of two seats, on one rail if they share any. */
static void meet_once(struct meeting *m, const struct strata_group *x,
		      const struct strata_group *y)
{
	const int *order = m->pools->order;

	for (int i = 0; i < x->n; i++) {
		int a = x->first + (m->round + i) % x->n;

		for (int b = y->first; b < y->first + y->n; b++) {
			if (nic_at(m->s, m->pools, a) ==
			    nic_at(m->s, m->pools, b)) {
				m->pairs[m->n++] = (struct grid_pair){
					order[a], order[b]
				};
				return;
			}
		}
	}
	if (m->s->pools[STRATUM_CROSS] != NULL) {
		m->pairs[m->n++] = (struct grid_pair){
			order[x->first + m->round % x->n],
			order[y->first + m->round % y->n]
		};
	}
}

/** A round that does not come, for the one who is left over in @round. */
static int spare_round(const struct meeting *m, const struct strata_group *pool,
		       int round)
{
	int planned = m->s->rounds[m->of];
	int spare = sched_rounds(pool->n) - planned;

	return spare > 0 && m->of != STRATUM_NODES ? planned + round % spare :
						     -1;
}

/** The seats of @pool meet once.  A seat that is left over meets one that has a
 *  partner already, in a round that does not come, unless they have met when
 *  the other one was left over. */
static void meet_pool(struct meeting *m, const struct strata_group *pool)
{
	const struct strata_group *seats = &m->pools->seats[pool->first];

	for (int i = 0; i < pool->n; i++) {
		int k = sched_partner(pool->n, m->round, i);
		bool left = k < 0;

		if (left) {
			int spare = spare_round(m, pool, m->round), before;

			k = spare < 0 ? -1 : sched_partner(pool->n, spare, i);
			before = k < 0 ? -1 : sched_round_of(pool->n, k, k);
			k = k >= 0 && before < m->round &&
			    spare_round(m, pool, before) == spare ? -1 : k;
		}
		if (k < 0 || (!left && k < i)) {
			continue;
		}
		if (m->of == STRATUM_NODES) {
			meet_once(m, &seats[i], &seats[k]);
		} else if (seats[i].n >= seats[k].n) {
			meet_all(m, &seats[i], &seats[k]);
		} else {
			meet_all(m, &seats[k], &seats[i]);
		}
	}
}

size_t strata_pairs(const struct strata *s, int turn, struct grid_pair *pairs)
{
	const enum stratum of = s->turns[turn];
	struct meeting m = { .s = s, .of = of, .pools = s->pools[of],
			     .pairs = pairs };
	int round = 0;		/* of that stratum */

	for (int i = 0; i < turn; i++) {
		round += s->turns[i] == of;
	}
	for (int i = 0; m.pools != NULL && i < m.pools->n_pools; i++) {
		const struct strata_group *pool = &m.pools->pools[i];
		int rounds = sched_rounds(pool->n);

		if (rounds > 0) {
			m.round = round % rounds;
			m.lap = round / rounds;
			if (m.lap < pool->laps) {
				meet_pool(&m, pool);
			}
		}
	}
	return m.n;
}
