/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/plan.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/hash.h"

/** The pairs of each rank: task numbers of rank r stand in of[first[r]] up to
 *  of[first[r + 1]]. */
struct pairs_of {
	size_t *first, *of;
};

/** A pair as one of its ranks sees it when it looks for partners. */
struct offer {
	size_t task;
	bool has_enough;	/* the other one: it comes last */
	uint64_t draw;
};

struct sample {
	const struct plan *plan;
	struct pairs_of pairs;
	int *partners;		/* a rank has by now */
	bool *chosen;		/* a task */
	struct offer *first;	/* of one rank, that it takes */
};

static size_t *next_of(const struct sample *s, int rank)
{
	return &s->pairs.first[rank + 1];
}

/** Sort the tasks by rank: count, then add up, then put each in its place. */
static void list_pairs(struct sample *s, int n_ranks)
{
	const struct plan *p = s->plan;
	size_t at = 0;

	for (size_t i = 0; i < p->n; i++) {
		++*next_of(s, p->tasks[i].a);
		++*next_of(s, p->tasks[i].b);
	}
	for (int r = 0; r < n_ranks; r++) {
		size_t n = *next_of(s, r);

		*next_of(s, r) = at;	/* where the first one goes */
		at += n;
	}
	for (size_t i = 0; i < p->n; i++) {
		s->pairs.of[(*next_of(s, p->tasks[i].a))++] = i;
		s->pairs.of[(*next_of(s, p->tasks[i].b))++] = i;
	}
}

static bool comes_before(const struct offer *p, const struct offer *q)
{
	if (p->has_enough != q->has_enough) {
		return q->has_enough;
	}
	return p->draw != q->draw ? p->draw < q->draw : p->task < q->task;
}

/** Put @o into its place among the first @k, of which there are *@n so far: of
 *  thousands few are wanted, and most are behind those by then. */
static void keep_first(struct offer *first, size_t *n, size_t k,
		       const struct offer *o)
{
	size_t at;

	if (*n == k && !comes_before(o, &first[k - 1])) {
		return;
	}
	*n += *n < k;
	for (at = *n - 1; at > 0 && comes_before(o, &first[at - 1]); at--) {
		first[at] = first[at - 1];
	}
	first[at] = *o;
}

/** Take pairs of @rank until it has @k partners, or no more to choose from. */
static void draw_partners(struct sample *s, int rank, int k, uint64_t seed)
{
	size_t n = 0, wanted;

	if (s->partners[rank] >= k) {
		return;
	}
	wanted = (size_t)(k - s->partners[rank]);
	for (size_t i = s->pairs.first[rank]; i < s->pairs.first[rank + 1];
	     i++) {
		size_t task = s->pairs.of[i];
		const struct task *t = &s->plan->tasks[task];
		int peer = t->a == rank ? t->b : t->a;
		struct offer o = {
			.task = task,
			.has_enough = s->partners[peer] >= k,
			.draw = hash_mix(seed, (uint64_t)t->a, (uint64_t)t->b,
					 0),
		};

		if (!s->chosen[task]) {
			keep_first(s->first, &n, wanted, &o);
		}
	}
	for (size_t i = 0; i < n; i++) {
		const struct task *t = &s->plan->tasks[s->first[i].task];

		s->chosen[s->first[i].task] = true;
		s->partners[t->a]++;
		s->partners[t->b]++;
	}
}

/** Close the ranks of those that were not chosen; the order stays. */
static void keep_chosen(struct plan *p, const bool *chosen)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (chosen[i]) {
			p->tasks[n] = p->tasks[i];
			p->tasks[n].id = (uint32_t)n;
			n++;
		}
	}
	p->n = n;
	p->cells = 2 * n;
}

int plan_sample(struct plan *p, int n_ranks, int k, uint64_t seed,
		struct err *e)
{
	size_t ranks = (size_t)n_ranks;
	struct sample s = {
		.plan = p,
		.pairs = {
			.first = calloc(ranks + 1, sizeof(*s.pairs.first)),
			.of = calloc(2 * p->n + 1, sizeof(*s.pairs.of)),
		},
		.partners = calloc(ranks + 1, sizeof(*s.partners)),
		.chosen = calloc(p->n + 1, sizeof(*s.chosen)),
		.first = calloc((size_t)k + 1, sizeof(*s.first)),
	};
	int rc = -1;

	if (!s.pairs.first || !s.pairs.of || !s.partners || !s.chosen ||
	    !s.first) {
		err_set(e, ENOMEM, "no memory for a sample of %zu pairs", p->n);
		goto release;
	}
	list_pairs(&s, n_ranks);
	for (int rank = 0; rank < n_ranks; rank++) {
		draw_partners(&s, rank, k, seed);
	}
	keep_chosen(p, s.chosen);
	rc = 0;
release:
	free(s.first);
	free(s.chosen);
	free(s.partners);
	free(s.pairs.of);
	free(s.pairs.first);
	return rc;
}
