/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "probes/plan/ask.h"
#include "probes/plan/plan.h"

/* ---- ask choice ---------------------------------------------------------- */

/** Tests that touch one alternative and not the other; of a part that fails
 *  now and then as many as one in a thousand times do not show it. */
#define SETTLE_TESTS 4
#define SETTLE_NATS  6.9

static int ask_note(struct ask_plan *a, int src, int dst);

int ask_enough(double rate)
{
	return rate > 0 ? (int)(SETTLE_NATS / rate) + 1 : SETTLE_TESTS;
}

uint8_t ask_dirs(bool sends, bool receives)
{
	return (uint8_t)((sends ? TASK_AB : 0) | (receives ? TASK_BA : 0));
}

bool ask_can_test(const struct ask_choice *c, int x, int y)
{
	const struct layout *l = c->a->l;

	return x != y && l->ranks[x].group == l->ranks[y].group &&
	       !(c->a->inside && !layout_same_node(l, x, y)) &&
	       !(c->a->rails_apart && plan_crosses(l, x, y)) &&
	       c->ops->works(c->ctx, x) && c->ops->works(c->ctx, y);
}

/** Is the test of @x with @y anything to @p, in whatever direction? */
static bool joins(const struct ask_plan *a, const struct ask_part *p, int x,
		  int y)
{
	return ask_touches(a, p, x, y) || ask_touches(a, p, y, x);
}

bool ask_is_sound(const struct ask_plan *a, const struct ask_suspect *s, int x,
		  int y)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct ask_suspect *t = &a->list[i];
		bool meant = t != s && s != NULL && s->some && t->some;

		for (int k = 0; k < t->n && !meant; k++) {
			const struct ask_part *p = &t->parts[k];

			if (t != s ? joins(a, p, x, y) :
				     !ask_is_shared(&t->parts[0]) &&
				     !ask_scope_of(p)->two &&
				     ask_is_here(a, p, y) &&
				     !ask_is_here(a, p, x)) {
				return false;
			}
		}
	}
	return true;
}

int ask_make(struct ask_choice *c, int x, int y, uint8_t dirs)
{
	struct ask_plan *a = c->a;
	bool sends = dirs & TASK_AB, receives = dirs & TASK_BA;
	int to = ask_times(a, x, y), from = ask_times(a, y, x);
	int one = ask_cell(a, x, y)->attempt + to;
	int other = ask_cell(a, y, x)->attempt + from;
	struct task t = {
		.a = x < y ? x : y, .b = x < y ? y : x,
		.dirs = x < y ? dirs : ask_dirs(receives, sends),
		.attempt = 1 + (one > other ? one : other),
	};

	if (c->left == 0 || to >= UINT8_MAX || from >= UINT8_MAX ||
	    (sends && ask_note(a, x, y) < 0) ||
	    (receives && ask_note(a, y, x) < 0) ||
	    c->ops->queue(c->ctx, &t) < 0) {
		return 0;
	}
	c->left--;
	c->taken++;
	c->beside[!layout_same_node(a->l, x, y)] |= c->compare;
	return sends + receives;
}

/* ---- ask tests ----------------------------------------------------------- */

const struct cell *ask_cell(const struct ask_plan *a, int src, int dst)
{
	return &a->cells[grid_at(a->g, src, dst)];
}

bool ask_has_failed(const struct ask_plan *a, int src, int dst)
{
	return cells_failed(ask_cell(a, src, dst)->class);
}

static size_t *head_of(const struct ask_plan *a, int src, int dst)
{
	return &a->heads[hash_mix(0, (uint64_t)src, (uint64_t)dst, 0) %
			 ASK_HEADS];
}

/** What the follow-up has asked of @src -> @dst; NULL: nothing. */
static struct ask_test *asked_of(const struct ask_plan *a, int src, int dst)
{
	size_t i = *head_of(a, src, dst);

	while (i > 0 &&
	       (a->asked[i - 1].src != src || a->asked[i - 1].dst != dst)) {
		i = a->asked[i - 1].next;
	}
	return i > 0 ? &a->asked[i - 1] : NULL;
}

int ask_times(const struct ask_plan *a, int src, int dst)
{
	const struct ask_test *t = asked_of(a, src, dst);

	return t != NULL ? t->times : 0;
}

/* Once more.  0, or -1 without memory. */
static int ask_note(struct ask_plan *a, int src, int dst)
{
	struct ask_test *known = asked_of(a, src, dst), *list = a->asked;
	size_t *head = head_of(a, src, dst);

	if (known != NULL) {
		known->times++;
		return 0;
	}
	if ((a->n_asked & (a->n_asked - 1)) == 0) {	/* a power of two */
		list = realloc(list, (2 * a->n_asked + 1) * sizeof(*list));
	}
	if (list == NULL) {
		return -1;
	}
	a->asked = list;
	list[a->n_asked++] = (struct ask_test){ .src = src, .dst = dst,
						.times = 1, .next = *head };
	*head = a->n_asked;
	return 0;
}

void ask_hear(struct ask_plan *a, int src, int dst, enum outcome o)
{
	struct ask_test *t = asked_of(a, src, dst);
	bool failed = cells_failed(cells_class_of(o)) && o != OUTCOME_CRASHED;

	if (t != NULL) {
		t->failed = t->times == 1 ? failed : t->failed;
		t->ever |= failed;
	}
}

/* ---- ask part ------------------------------------------------------------ */

static const struct ask_scope scopes[] = {
	[ASK_NODE] = { .name = "node", .place = ASK_ON_NODE, .intra = true,
		       .inter = true },
	[ASK_NODE_NETWORK] = { .name = "node_network", .place = ASK_ON_NODE,
			       .inter = true, .many = true },
	[ASK_INTRA_NODE] = { .name = "intra_node", .place = ASK_ON_NODE,
			     .intra = true, .many = true },
	[ASK_NIC] = { .name = "nic", .place = ASK_ON_NIC, .inter = true },
	[ASK_GPU] = { .name = "gpu", .place = ASK_ON_GPU, .intra = true,
		      .inter = true },
	[ASK_GPU_NVLINK] = { .name = "gpu_nvlink", .place = ASK_ON_GPU,
			     .intra = true, .many = true },
	[ASK_RAIL] = { .name = "rail", .place = ASK_ON_RAIL, .inter = true },
	[ASK_NODE_PAIR] = { .name = "node_pair", .place = ASK_ON_NODE,
			    .two = true, .inter = true },
	[ASK_PAIR] = { .name = "pair", .place = ASK_ON_GPU, .two = true,
		       .intra = true, .inter = true, .many = true },
	[ASK_INTER_NODE] = { .name = "inter_node", .inter = true },
	[ASK_CROSS_RAIL] = { .name = "cross_rail", .inter = true,
			     .across = true },
	[ASK_SOCKET] = { .name = "socket", .place = ASK_ON_SOCKET,
			 .inter = true, .many = true },
	[ASK_CABLE_SWAP] = { .name = "cable_swap", .place = ASK_ON_CABLES,
			     .inter = true, .along = true, .many = true },
	[ASK_SWITCH] = { .name = "switch", .place = ASK_ON_LEAF, .inter = true,
			 .many = true },
	[ASK_RAIL_LEAF] = { .name = "rail_leaf", .place = ASK_ON_RAIL_LEAF,
			    .inter = true, .many = true },
	[ASK_LEAF_PAIR] = { .name = "leaf_pair", .place = ASK_ON_LEAF,
			    .two = true, .inter = true, .many = true },
	[ASK_FABRIC_PATH] = { .name = "fabric_path", .place = ASK_ON_LEAF,
			      .two = true, .inter = true, .many = true },
	[ASK_UNKNOWN] = { .place = ASK_ON_NODE, .intra = true, .inter = true },
};

const struct ask_scope *ask_scope_of(const struct ask_part *p)
{
	return &scopes[p->kind];
}

enum ask_kind ask_kind_of(const char *name)
{
	enum ask_kind kind = 0;

	while (kind < ASK_UNKNOWN && strcmp(scopes[kind].name, name) != 0) {
		kind++;
	}
	return kind;
}

bool ask_is_shared(const struct ask_part *p)
{
	enum ask_place place = scopes[p->kind].place;

	return place == ASK_ON_LEAF || place == ASK_ON_RAIL_LEAF;
}

bool ask_is_placed(const struct ask_part *p)
{
	const struct ask_scope *s = &scopes[p->kind];
	bool index = s->place != ASK_ON_NODE && s->place != ASK_ON_LEAF;

	if (s->place == ASK_ANYWHERE || p->kind == ASK_FABRIC_PATH) {
		return true;
	}
	if (index && p->index < 0) {
		return false;
	}
	switch (s->place) {
	case ASK_ON_RAIL:
		return true;
	case ASK_ON_CABLES:
		return p->node >= 0 && p->peer_index >= 0;
	case ASK_ON_LEAF:
	case ASK_ON_RAIL_LEAF:
		return p->leaf >= 0 && (!s->two || p->peer_leaf >= 0);
	default:
		return p->node >= 0 &&
		       (!s->two || (p->peer_node >= 0 &&
				    (!index || p->peer_index >= 0)));
	}
}

static int leaf_at(const struct ask_plan *a, int rank)
{
	return a->leaf_of[a->l->ranks[rank].node];
}

/** Is @rank on leaf switch @leaf, or on any for -1? */
static bool is_on_leaf(const struct ask_plan *a, int leaf, int rank)
{
	return leaf < 0 || leaf_at(a, rank) == leaf;
}

bool ask_is_here(const struct ask_plan *a, const struct ask_part *p, int rank)
{
	const struct cluster_rank *r = &a->l->ranks[rank];

	switch (scopes[p->kind].place) {
	case ASK_ON_NODE:
		return r->node == p->node;
	case ASK_ON_NIC:
		return r->node == p->node && r->nic == p->index;
	case ASK_ON_GPU:
		return r->node == p->node && r->gpu == p->index;
	case ASK_ON_RAIL:
		return r->nic == p->index;
	case ASK_ON_SOCKET:
		return r->node == p->node &&
		       cluster_socket(&a->l->cluster, rank) == p->index;
	case ASK_ON_CABLES:
		return r->node == p->node &&
		       (r->nic == p->index || r->nic == p->peer_index);
	case ASK_ON_LEAF:
		return is_on_leaf(a, p->leaf, rank);
	case ASK_ON_RAIL_LEAF:
		return r->nic == p->index && is_on_leaf(a, p->leaf, rank);
	case ASK_ANYWHERE:
		break;
	}
	return true;
}

/** Is @rank at the other end of @p? */
static bool is_there(const struct ask_plan *a, const struct ask_part *p,
		     int rank)
{
	struct ask_part peer = *p;

	peer.node = p->peer_node;
	peer.index = p->peer_index;
	peer.leaf = p->peer_leaf;
	return ask_is_here(a, &peer, rank);
}

/** Where @p is between leaf switches: are they on different ones? */
static bool is_apart(const struct ask_plan *a, const struct ask_part *p,
		     int src, int dst)
{
	return p->leaf < 0 || !(scopes[p->kind].two || p->uplinks) ||
	       leaf_at(a, src) != leaf_at(a, dst);
}

bool ask_touches(const struct ask_plan *a, const struct ask_part *p, int src,
		 int dst)
{
	const struct ask_scope *s = &scopes[p->kind];
	bool same = layout_same_node(a->l, src, dst), tx, rx;
	bool inside = s->intra || (a->ports && p->kind == ASK_NIC);
	bool crosses = plan_crosses(a->l, src, dst);

	if (!(same ? inside : s->inter) || (s->across && !crosses) ||
	    (s->along && crosses) || !is_apart(a, p, src, dst)) {
		return false;
	}
	tx = ask_is_here(a, p, src) && (!s->two || is_there(a, p, dst));
	rx = ask_is_here(a, p, dst) && (!s->two || is_there(a, p, src));
	return (tx && (p->dirs & TASK_AB)) || (rx && (p->dirs & TASK_BA));
}
