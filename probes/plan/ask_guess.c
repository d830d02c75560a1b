/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/ask_steps.h"

/** The rate at which a part may fail that nobody knows the rate of; of which
 *  two tests have failed. */
#define GUESS_RATE 0.1
#define LOW_RATE   0.05

static bool is_same(const struct ask_part *p, const struct ask_part *q)
{
	return p->kind == q->kind && p->node == q->node &&
	       p->index == q->index && p->dirs == q->dirs;
}

/** One more alternative of @s, unless it has that. */
static void add_part(struct ask_suspect *s, struct ask_part p)
{
	for (int i = 0; i < s->n; i++) {
		if (is_same(&s->parts[i], &p)) {
			return;
		}
	}
	if (s->n < ASK_PARTS) {
		s->parts[s->n++] = p;
	}
}

/** The one GPU at NIC @nic of @n; -1: there are several, or none. */
static int only_gpu(const struct layout *l, const struct layout_node *n,
		    int nic)
{
	int found = -1, gpus = 0;

	for (int i = 0; i < n->gpus; i++) {
		if (l->ranks[n->first_rank + i].nic == nic) {
			found = i;
			gpus++;
		}
	}
	return gpus == 1 ? found : -1;
}

/** The NIC of a GPU, or the GPU of a NIC, where both have no other; -1. */
static int other_index(const struct layout *l, const struct ask_part *p)
{
	const struct layout_node *n = &l->nodes[p->node];
	int nic = p->index;

	if (p->kind == ASK_GPU) {
		nic = p->index < n->gpus ?
			      l->ranks[n->first_rank + p->index].nic : -1;
		return only_gpu(l, n, nic) >= 0 ? nic : -1;
	}
	return only_gpu(l, n, nic);
}

/** What fails now and then as one part may be another that most of its tests
 *  are of: either direction, or both; the whole node; what is at the NIC. */
void ask_add_kin(const struct ask_plan *a, struct ask_suspect *s)
{
	static const enum ask_kind kin[][2] = {
		{ ASK_NODE, ASK_NODE_NETWORK }, { ASK_NODE_NETWORK, ASK_NODE },
		{ ASK_GPU, ASK_NIC }, { ASK_NIC, ASK_GPU },
	};
	const struct ask_part is = s->parts[0];
	bool one = is.kind == ASK_GPU || is.kind == ASK_NIC;

	for (size_t i = 0; i < sizeof(kin) / sizeof(*kin); i++) {
		struct ask_part other = is;

		if (kin[i][0] != is.kind) {
			continue;
		}
		other.kind = kin[i][1];
		other.index = one ? other_index(a->l, &is) : -1;
		if (!one || (other.index >= 0 && !a->ports)) {
			add_part(s, other);
		}
		other = is;
		for (int d = TASK_AB; d <= (TASK_AB | TASK_BA); d++) {
			other.dirs = (uint8_t)d;
			if ((d & is.dirs) == d || (d & is.dirs) == is.dirs) {
				add_part(s, other);
			}
		}
	}
}

/** Is it a pair that failed?  Of which @ends. */
static bool is_failed_pair(const struct layout *l, const struct ask_suspect *s,
			   int ends[2])
{
	const struct ask_part *p = &s->parts[0];

	if (p->kind != ASK_PAIR || s->compare ||
	    p->index >= l->nodes[p->node].gpus ||
	    p->peer_index >= l->nodes[p->peer_node].gpus) {
		return false;
	}
	ends[0] = l->nodes[p->node].first_rank + p->index;
	ends[1] = l->nodes[p->peer_node].first_rank + p->peer_index;
	return true;
}

/** Tests of @p that failed in the follow-up. */
static int failed_later(const struct ask_plan *a, const struct ask_part *p)
{
	int sum = 0;

	for (size_t i = 0; i < a->n_asked; i++) {
		const struct ask_test *t = &a->asked[i];

		sum += t->ever && ask_touches(a, p, t->src, t->dst);
	}
	return sum;
}

/** What is at @rank is looked at, where a pair failed and no finding is of what
 *  is there.  Of the few tests of a sample one that failed may be a third; what
 *  failed two, and is no finding by that, fails few of many. */
static void guess(struct ask_plan *a, enum ask_kind kind, int rank)
{
	const struct layout_rank *r = &a->l->ranks[rank];
	struct ask_suspect s = {
		.parts = { { .kind = kind, .node = r->node,
			     .index = kind == ASK_GPU ? r->gpu : r->nic,
			     .peer_node = -1, .peer_index = -1, .leaf = -1,
			     .peer_leaf = -1, .dirs = TASK_AB | TASK_BA } },
		.n = 1, .rate = GUESS_RATE, .confirm = true,
	};
	bool known = a->n_guesses == ASK_GUESSES;
	int pairs = 0, ends[2];

	for (size_t i = 0; i < a->n + a->n_guesses; i++) {
		known |= is_same(&a->list[i].parts[0], &s.parts[0]);
		pairs += is_failed_pair(a->l, &a->list[i], ends) &&
			 (ask_is_here(a, &s.parts[0], ends[0]) ||
			  ask_is_here(a, &s.parts[0], ends[1]));
	}
	if (pairs > 0 && !known) {
		s.rate = pairs + failed_later(a, &s.parts[0]) > 1 ? LOW_RATE :
			 a->g->first != NULL ? ASK_MOST_RATE : GUESS_RATE;
		a->list[a->n + a->n_guesses++] = s;
	}
}

void ask_guess(struct ask_plan *a)
{
	int ends[2];

	for (size_t i = 0; i < a->n; i++) {
		bool is = is_failed_pair(a->l, &a->list[i], ends);

		for (int k = 0; is && k < 2; k++) {
			if (!a->ports) {
				guess(a, ASK_GPU, ends[k]);
			}
			guess(a, ASK_NIC, ends[k]);
		}
	}
}
