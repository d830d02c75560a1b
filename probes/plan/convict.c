/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/convict.h"

#include <stdio.h>
#include <stdlib.h>

#include "probes/plan/plan.h"

/** Partners that are remembered: some of the first ones may be broken, too. */
#define PARTNERS (2 * CONVICT_PROOF)

/** What is convicted at once: at the sender, at the receiver, of both. */
enum { GPU_TX, GPU_RX, NIC_TX, NIC_RX, RAILS, PARTS_OF_CELL };

struct part {
	size_t bad, good, left;
	int64_t cost_ns;	/* of the bad ones */
	int partners[PARTNERS];
	int n_partners;
};

struct convict {
	const struct layout *l;
	int *passed;		/* a rank: tests between nodes that passed */
	size_t good;		/* all tests that passed, and what they took */
	int64_t good_ns;
	struct part *parts;	/* GPUs and NICs, both ways; the rails */
};

struct convict *convict_new(const struct layout *l)
{
	struct convict *c = calloc(1, sizeof(*c));
	size_t n = 2 * (size_t)(l->n_ranks + l->n_nics) + 1;

	if (c == NULL) {
		return NULL;
	}
	c->l = l;
	c->passed = calloc((size_t)l->n_ranks + 1, sizeof(*c->passed));
	c->parts = calloc(n, sizeof(*c->parts));
	if (c->passed == NULL || c->parts == NULL) {
		convict_free(c);
		return NULL;
	}
	return c;
}

void convict_free(struct convict *c)
{
	if (c != NULL) {
		free(c->passed);
		free(c->parts);
		free(c);
	}
}

static size_t nic_at(const struct convict *c, int rank)
{
	const struct layout_rank *r = &c->l->ranks[rank];

	return (size_t)(c->l->n_ranks + layout_nic_at(c->l, r->node, r->nic));
}

/** Part number @which of src -> dst; NULL: it has none such. */
static struct part *part_of(const struct convict *c, int which, int src,
			    int dst)
{
	bool inter = !layout_same_node(c->l, src, dst);
	size_t last = 2 * (size_t)(c->l->n_ranks + c->l->n_nics);

	switch (which) {
	case GPU_TX:
		return &c->parts[2 * (size_t)src];
	case GPU_RX:
		return &c->parts[2 * (size_t)dst + 1];
	case NIC_TX:
		return inter ? &c->parts[2 * nic_at(c, src)] : NULL;
	case NIC_RX:
		return inter ? &c->parts[2 * nic_at(c, dst) + 1] : NULL;
	default:
		return plan_crosses(c->l, src, dst) ? &c->parts[last] : NULL;
	}
}

static bool receives(int which)
{
	return which == GPU_RX || which == NIC_RX;
}

void convict_expect(struct convict *c, int src, int dst)
{
	for (int i = 0; i < PARTS_OF_CELL; i++) {
		struct part *p = part_of(c, i, src, dst);

		if (p != NULL) {
			p->left++;
		}
	}
}

static void add_partner(struct part *p, int rank)
{
	for (int i = 0; i < p->n_partners; i++) {
		if (p->partners[i] == rank) {
			return;
		}
	}
	if (p->n_partners < PARTNERS) {
		p->partners[p->n_partners++] = rank;
	}
}

void convict_hear(struct convict *c, int src, int dst, enum outcome o,
		  int64_t cost_ns)
{
	bool bad = o == OUTCOME_ERROR || o == OUTCOME_TIMEOUT;
	bool good = o == OUTCOME_OK || o == OUTCOME_CORRUPT;
	bool inter = !layout_same_node(c->l, src, dst);

	for (int i = 0; i < PARTS_OF_CELL; i++) {
		struct part *p = part_of(c, i, src, dst);

		if (p == NULL) {
			continue;
		}
		p->left -= p->left > 0;
		p->good += good;
		p->bad += bad;
		p->cost_ns += bad ? cost_ns : 0;
		if (bad && inter) {
			add_partner(p, receives(i) ? src : dst);
		}
	}
	c->good += good;
	c->good_ns += good ? cost_ns : 0;
	c->passed[src] += good && inter;
	c->passed[dst] += good && inter;
}

/** With how many partners that pass elsewhere has @p failed? */
static int proof(const struct convict *c, const struct part *p)
{
	int n = 0;

	for (int i = 0; i < p->n_partners; i++) {
		n += c->passed[p->partners[i]] > 0;
	}
	return n;
}

/** Do its other tests, one after the other, take so much longer than if they
 *  passed? */
static bool is_costly(const struct convict *c, const struct part *p,
		      int64_t spare_ns)
{
	double one = (double)p->cost_ns / (double)p->bad;
	double good = (double)c->good_ns / (double)(c->good + (c->good == 0));

	return (one - good) * (double)p->left > (double)spare_ns;
}

static void say(const struct convict *c, int which, int src, int dst,
		const struct part *p, struct convict_reason *why)
{
	int rank = receives(which) ? dst : src;
	const struct layout_rank *r = &c->l->ranks[rank];

	if (which == RAILS) {
		why->code = "rails_apart";
		snprintf(why->text, sizeof(why->text),
			 "all %zu tests between rails have failed", p->bad);
		return;
	}
	why->code = "part_convicted";
	snprintf(why->text, sizeof(why->text),
		 "all %zu tests of %s %d of %.64s as %s have failed", p->bad,
		 which == NIC_TX || which == NIC_RX ? "NIC" : "GPU",
		 which == NIC_TX || which == NIC_RX ? r->nic : r->gpu,
		 c->l->nodes[r->node].name,
		 receives(which) ? "receiver" : "sender");
}

struct convict_reason convict_of(const struct convict *c, int src, int dst,
				 int64_t spare_ns, bool rails)
{
	struct convict_reason why = { 0 };

	for (int i = PARTS_OF_CELL - 1; i >= 0 && why.code == NULL; i--) {
		const struct part *p = part_of(c, i, src, dst);

		if (p == NULL || p->good > 0 || p->bad < CONVICT_PROOF ||
		    (i == RAILS ? !rails :
				  c->l->n_ranks < CONVICT_RANKS ||
					  !is_costly(c, p, spare_ns)) ||
		    proof(c, p) < (i == RAILS ? 1 : CONVICT_PROOF)) {
			continue;
		}
		say(c, i, src, dst, p, &why);
	}
	return why;
}
