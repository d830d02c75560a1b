/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/ask.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/data/json.h"
#include "probes/plan/plan.h"

/** Tests that touch one alternative and not the other; of a part that fails
 *  now and then as many as one in a thousand times do not show it. */
#define SETTLE_TESTS 4
#define SETTLE_NATS  6.9
/** So many times as many, as long as the verdict leaves both open. */
#define OPEN_TIMES 4
/** What fails more often is taken to be broken. */
#define RARE 0.9
/** What was chosen because much of it failed may fail less often. */
#define MOST_RATE (1 / 3.0)
/** The rate at which a part may fail that nobody knows the rate of. */
#define GUESS_RATE 0.1
/** Tests of a part that is to be confirmed, and of sound pairs. */
#define CONFIRM_TESTS 8
/** Failed tests of a finding that are tried again, of one GPU, and of the one
 *  that it is about: chance may fail it again and again. */
#define RETRY_TESTS   16
#define RETRY_OF_ONE  4
#define RETRY_OF_THAT 8
/** Places for what was asked: a run asks for some hundreds. */
#define ASK_HEADS 4096

/* ---- parts --------------------------------------------------------------- */

enum place {
	ANYWHERE, ON_NODE, ON_NIC, ON_GPU, ON_RAIL, ON_SOCKET, ON_CABLES,
	ON_LEAF, ON_RAIL_LEAF
};

/** Which cells a part touches: those with an end there, or both. */
static const struct scope {
	enum place place;
	bool two;		/* a peer is at the other end */
	bool intra, inter;	/* inside a node, between nodes */
	bool across, along;	/* between rails only; on one only */
	bool many;		/* of several GPUs or NICs what is common, so
				 * that others may be it, or one test, that
				 * chance may be: seen again */
} scopes[] = {
	[ASK_NODE] = { .place = ON_NODE, .intra = true, .inter = true },
	[ASK_NODE_NETWORK] = { .place = ON_NODE, .inter = true, .many = true },
	[ASK_INTRA_NODE] = { .place = ON_NODE, .intra = true },
	[ASK_NIC] = { .place = ON_NIC, .inter = true },
	[ASK_GPU] = { .place = ON_GPU, .intra = true, .inter = true },
	[ASK_GPU_NVLINK] = { .place = ON_GPU, .intra = true, .many = true },
	[ASK_RAIL] = { .place = ON_RAIL, .inter = true },
	[ASK_NODE_PAIR] = { .place = ON_NODE, .two = true, .inter = true },
	[ASK_PAIR] = { .place = ON_GPU, .two = true, .intra = true,
		       .inter = true, .many = true },
	[ASK_INTER_NODE] = { .inter = true },
	[ASK_CROSS_RAIL] = { .inter = true, .across = true },
	[ASK_SOCKET] = { .place = ON_SOCKET, .inter = true, .many = true },
	[ASK_CABLE_SWAP] = { .place = ON_CABLES, .inter = true, .along = true,
			     .many = true },
	[ASK_SWITCH] = { .place = ON_LEAF, .inter = true, .many = true },
	[ASK_RAIL_LEAF] = { .place = ON_RAIL_LEAF, .inter = true,
			    .many = true },
	[ASK_LEAF_PAIR] = { .place = ON_LEAF, .two = true, .inter = true,
			    .many = true },
	[ASK_FABRIC_PATH] = { .place = ON_LEAF, .two = true, .inter = true,
			      .many = true },
	[ASK_UNKNOWN] = { .place = ON_NODE, .intra = true, .inter = true },
};

static const char *const kinds[] = {
	[ASK_NODE] = "node",
	[ASK_NODE_NETWORK] = "node_network",
	[ASK_INTRA_NODE] = "intra_node",
	[ASK_NIC] = "nic",
	[ASK_GPU] = "gpu",
	[ASK_GPU_NVLINK] = "gpu_nvlink",
	[ASK_RAIL] = "rail",
	[ASK_NODE_PAIR] = "node_pair",
	[ASK_PAIR] = "pair",
	[ASK_INTER_NODE] = "inter_node",
	[ASK_CROSS_RAIL] = "cross_rail",
	[ASK_SOCKET] = "socket",
	[ASK_CABLE_SWAP] = "cable_swap",
	[ASK_SWITCH] = "switch",
	[ASK_RAIL_LEAF] = "rail_leaf",
	[ASK_LEAF_PAIR] = "leaf_pair",
	[ASK_FABRIC_PATH] = "fabric_path",
};

/** Is it a switch or between switches, where flows meet? */
static bool is_shared(const struct ask_part *p)
{
	enum place place = scopes[p->kind].place;

	return place == ON_LEAF || place == ON_RAIL_LEAF;
}

/** Is @rank on leaf switch @leaf, or on any for -1? */
static bool is_on_leaf(const struct ask_plan *a, int leaf, int rank)
{
	int of = a->leaf_of[a->l->ranks[rank].node];

	return leaf < 0 || of == leaf;
}

static bool is_here(const struct ask_plan *a, const struct ask_part *p,
		    int rank)
{
	const struct layout_rank *r = &a->l->ranks[rank];

	switch (scopes[p->kind].place) {
	case ON_NODE:
		return r->node == p->node;
	case ON_NIC:
		return r->node == p->node && r->nic == p->index;
	case ON_GPU:
		return r->node == p->node && r->gpu == p->index;
	case ON_RAIL:
		return r->nic == p->index;
	case ON_SOCKET:
		return r->node == p->node &&
		       layout_socket(a->l, rank) == p->index;
	case ON_CABLES:
		return r->node == p->node &&
		       (r->nic == p->index || r->nic == p->peer_index);
	case ON_LEAF:
		return is_on_leaf(a, p->leaf, rank);
	case ON_RAIL_LEAF:
		return r->nic == p->index && is_on_leaf(a, p->leaf, rank);
	case ANYWHERE:
		break;
	}
	return true;
}

static bool is_there(const struct ask_plan *a, const struct ask_part *p,
		     int rank)
{
	struct ask_part peer = *p;

	peer.node = p->peer_node;
	peer.index = p->peer_index;
	peer.leaf = p->peer_leaf;
	return is_here(a, &peer, rank);
}

/** Where @p is between leaf switches: are they on different ones? */
static bool is_apart(const struct ask_plan *a, const struct ask_part *p,
		     int src, int dst)
{
	const struct scope *s = &scopes[p->kind];

	return p->leaf < 0 || !(s->two || p->uplinks) ||
	       a->leaf_of[a->l->ranks[src].node] !=
		       a->leaf_of[a->l->ranks[dst].node];
}

static size_t cell_at(const struct ask_plan *a, int src, int dst)
{
	return grid_at(a->g, src, dst);
}

/** Does the ordered cell @src -> @dst go through @p? */
static bool touches(const struct ask_plan *a, const struct ask_part *p, int src,
		    int dst)
{
	const struct scope *s = &scopes[p->kind];
	bool same = layout_same_node(a->l, src, dst), tx, rx;
	bool inside = s->intra || (a->ports && p->kind == ASK_NIC);
	bool crosses = plan_crosses(a->l, src, dst);

	if (!(same ? inside : s->inter) || (s->across && !crosses) ||
	    (s->along && crosses) || !is_apart(a, p, src, dst)) {
		return false;
	}
	tx = is_here(a, p, src) && (!s->two || is_there(a, p, dst));
	rx = is_here(a, p, dst) && (!s->two || is_there(a, p, src));
	return (tx && (p->dirs & TASK_AB)) || (rx && (p->dirs & TASK_BA));
}

/** Is the test of @x with @y anything to @p, in whatever direction? */
static bool joins(const struct ask_plan *a, const struct ask_part *p, int x,
		  int y)
{
	return touches(a, p, x, y) || touches(a, p, y, x);
}

static bool has_failed(const struct ask_plan *a, int src, int dst)
{
	unsigned class = a->cells[cell_at(a, src, dst)].class;

	return class == CELL_FAIL || class == CELL_TIMEOUT ||
	       class == CELL_CORRUPT;
}

/** Did it fail, and nobody has tried again?  What crashed is let be. */
static bool is_untried(const struct ask_plan *a, int src, int dst)
{
	const struct cell *c = &a->cells[cell_at(a, src, dst)];

	return has_failed(a, src, dst) && c->attempt == 1 &&
	       c->outcome != OUTCOME_CRASHED;
}

/** Would @src -> @dst say whether @s is as it looked? */
static bool shows(const struct ask_plan *a, const struct ask_suspect *s,
		  int src, int dst)
{
	return touches(a, &s->parts[0], src, dst) &&
	       (s->rate > 0 ? !has_failed(a, src, dst) :
		!s->some || a->cells[cell_at(a, src, dst)].class == CELL_SLOW);
}

/** In which directions, as @x sends (TASK_AB) or receives; both of nothing. */
static uint8_t ways(const struct ask_plan *a, const struct ask_suspect *s,
		    int x, int y)
{
	return s == NULL ? TASK_AB | TASK_BA :
			   (uint8_t)((shows(a, s, x, y) ? TASK_AB : 0) |
				     (shows(a, s, y, x) ? TASK_BA : 0));
}

/* ---- which tests can be made --------------------------------------------- */

struct choice {
	struct ask_plan *a;
	const struct retry_ops *ops;
	void *ctx;
	size_t left, taken;
	bool compare;		/* what is chosen now must be compared ... */
	bool beside[2];		/* ... inside nodes, between them */
};

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

/** How often it has asked for that. */
static int times_asked(const struct ask_plan *a, int src, int dst)
{
	const struct ask_test *t = asked_of(a, src, dst);

	return t != NULL ? t->times : 0;
}

/** Once more; -1 without memory. */
static int note_asked(struct ask_plan *a, int src, int dst)
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

/** Can @x and @y be tested at all? */
static bool can_test(const struct choice *c, int x, int y)
{
	const struct layout *l = c->a->l;

	return x != y && l->ranks[x].group == l->ranks[y].group &&
	       !(c->a->inside && !layout_same_node(l, x, y)) &&
	       !(c->a->rails_apart && plan_crosses(l, x, y)) &&
	       c->ops->works(c->ctx, x) && c->ops->works(c->ctx, y);
}

/**
 * Is @y a sound partner for @x, of which suspect @s is to be tested?  No other
 * finding may have to do with the test, nor may an alternative that is at the
 * partner alone, unless both ends are of one suspect between switches.  Where
 * slow tests are made again, others of which some were slow do not matter.
 * NULL: nothing is to be tested, all of it must be sound.
 */
static bool is_sound(const struct ask_plan *a, const struct ask_suspect *s,
		     int x, int y)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct ask_suspect *t = &a->list[i];
		bool meant = t != s && s != NULL && s->some && t->some;

		for (int k = 0; k < t->n && !meant; k++) {
			const struct ask_part *p = &t->parts[k];

			if (t != s ? joins(a, p, x, y) :
				     !is_shared(&t->parts[0]) &&
				     !scopes[p->kind].two &&
				     is_here(a, p, y) && !is_here(a, p, x)) {
				return false;
			}
		}
	}
	return true;
}

static int n_ways(uint8_t dirs)
{
	return dirs == (TASK_AB | TASK_BA) ? 2 : 1;
}

/** Test @x with @y: directions @dirs as @x sends (TASK_AB) or receives. */
static bool take(struct choice *c, int x, int y, uint8_t dirs)
{
	struct ask_plan *a = c->a;
	int one = a->cells[cell_at(a, x, y)].attempt + times_asked(a, x, y);
	int other = a->cells[cell_at(a, y, x)].attempt + times_asked(a, y, x);
	struct task t = {
		.a = x < y ? x : y, .b = x < y ? y : x,
		.dirs = x < y ? dirs :
				(uint8_t)((dirs & TASK_AB ? TASK_BA : 0) |
					  (dirs & TASK_BA ? TASK_AB : 0)),
		.attempt = 1 + (one > other ? one : other),
	};

	if (c->left == 0 || times_asked(a, x, y) >= UINT8_MAX ||
	    times_asked(a, y, x) >= UINT8_MAX ||
	    (dirs & TASK_AB && note_asked(a, x, y) < 0) ||
	    (dirs & TASK_BA && note_asked(a, y, x) < 0) ||
	    c->ops->queue(c->ctx, &t) < 0) {
		return false;
	}
	c->left--;
	c->taken++;
	c->beside[!layout_same_node(a->l, x, y)] |= c->compare;
	return true;
}

/* ---- alternatives -------------------------------------------------------- */

static bool is_measured(const struct ask_plan *a, size_t at)
{
	unsigned class = a->cells[at].class;

	return class != CELL_UNPLANNED && class != CELL_NOT_RUN &&
	       class != CELL_SKIPPED;
}

/** Would @src -> @dst tell alternative @p of @s from @q?  What was measured
 *  says no more, unless it is now and then that a test fails. */
static bool tells(const struct ask_plan *a, const struct ask_suspect *s,
		  const struct ask_part *p, const struct ask_part *q, int src,
		  int dst)
{
	return touches(a, p, src, dst) && !touches(a, q, src, dst) &&
	       (s->rate > 0 ? !has_failed(a, src, dst) :
			      !is_measured(a, cell_at(a, src, dst)));
}

/** Tests of a part that fails at @rate, or always for 0, until that shows. */
static int tests_at(double rate)
{
	return rate > 0 ? (int)(SETTLE_NATS / rate) + 1 : SETTLE_TESTS;
}

/** Those of @s that tell @p from @q of the follow-up so far. */
static int count_told(const struct ask_plan *a, const struct ask_suspect *s,
		      const struct ask_part *p, const struct ask_part *q)
{
	int sum = 0;

	for (size_t i = 0; i < a->n_asked; i++) {
		const struct ask_test *t = &a->asked[i];

		sum += tells(a, s, p, q, t->src, t->dst) ? t->times : 0;
	}
	return sum;
}

/** In which directions a test of @x with @y can be made that tells @p from @q;
 *  0: in none. */
static uint8_t telling_ways(const struct choice *c, const struct ask_suspect *s,
			    const struct ask_part *p, const struct ask_part *q,
			    int x, int y)
{
	const struct ask_plan *a = c->a;
	uint8_t dirs = (uint8_t)((tells(a, s, p, q, x, y) ? TASK_AB : 0) |
				 (tells(a, s, p, q, y, x) ? TASK_BA : 0));

	return dirs != 0 && can_test(c, x, y) && is_sound(a, s, x, y) ? dirs :
									0;
}

/** Was neither direction of the two asked for more than @most times? */
static bool is_fresh(const struct ask_plan *a, int x, int y, int most)
{
	return times_asked(a, x, y) <= most && times_asked(a, y, x) <= most;
}

static int most_gpus(const struct layout *l)
{
	int most = 0;

	for (int i = 0; i < l->n_nodes; i++) {
		most = l->nodes[i].gpus > most ? l->nodes[i].gpus : most;
	}
	return most;
}

/** Partner number @i of @x: one of each node, its own first, GPUs of the same
 *  number before others; -1: that node has no such one. */
static int partner_at(const struct layout *l, int x, int i)
{
	int hop = i % l->n_nodes, on = i / l->n_nodes;
	const struct layout_node *n =
		&l->nodes[(l->ranks[x].node + hop) % l->n_nodes];

	return on < n->gpus ?
		       n->first_rank + (l->ranks[x].gpu + on) % n->gpus : -1;
}

/** Tests that tell @p from @q, with as many partner nodes as there are; of what
 *  fails now and then again and again. */
static void tell_apart(struct choice *c, const struct ask_suspect *s,
		       const struct ask_part *p, const struct ask_part *q,
		       int times)
{
	const struct layout *l = c->a->l;
	int partners = l->n_nodes * most_gpus(l);
	int told = count_told(c->a, s, p, q), one = tests_at(s->rate);
	int need = one - told, turns = 1;
	bool any = true;

	for (int i = 1; s->rate > 0 && i < times && need <= 0; i++) {
		need += one;
	}
	turns = s->rate > 0 ? told + need : 1;
	for (int turn = 0; turn < turns && need > 0 && any; turn++) {
		any = false;	/* that can be made at all */
		for (int x = 0; x < l->n_ranks && need > 0; x++) {
			int last = is_here(c->a, p, x) ? partners : 0;

			for (int i = 0; i < last && need > 0; i++) {
				int y = partner_at(l, x, i);
				uint8_t dirs = y < 0 ? 0 :
					telling_ways(c, s, p, q, x, y);

				any |= dirs != 0 && c->left > 0;
				if (dirs != 0 && is_fresh(c->a, x, y, turn) &&
				    take(c, x, y, dirs)) {
					need -= n_ways(dirs);
				}
			}
		}
	}
}

static void settle(struct choice *c, const struct ask_suspect *s)
{
	for (int i = 0; i < s->n; i++) {
		for (int j = 0; j < s->n; j++) {
			/* what is common is told from each, no more */
			if (i != j && s->parts[i].kind != ASK_UNKNOWN &&
			    s->parts[j].kind != ASK_UNKNOWN &&
			    (i == 0 || j == 0 || !(s->rate > 0))) {
				tell_apart(c, s, &s->parts[i], &s->parts[j],
					   i < s->n_open && j < s->n_open ?
						   OPEN_TIMES : 1);
			}
		}
	}
}

/* ---- a second look ------------------------------------------------------- */

/** Ordered tests of the follow-up, @inter between nodes or else inside, that
 *  say something of @s; NULL: that touch no suspect. */
static int count_asked(const struct ask_plan *a, const struct ask_suspect *s,
		       bool inter)
{
	int sum = 0;

	for (size_t i = 0; i < a->n_asked; i++) {
		const struct ask_test *t = &a->asked[i];

		if (inter != layout_same_node(a->l, t->src, t->dst) &&
		    (s != NULL ? shows(a, s, t->src, t->dst) :
				 is_sound(a, NULL, t->src, t->dst))) {
			sum += t->times;
		}
	}
	return sum;
}

/** A partner on @node for @x, on its own rail where there is one; -1: none. */
static int partner_on(const struct choice *c, const struct ask_suspect *s,
		      int x, int node, int turn)
{
	const struct layout *l = c->a->l;
	const struct layout_node *at = &l->nodes[node];
	int first = l->ranks[x].gpu + (node == l->ranks[x].node ? 1 + turn : 0);
	int found = -1;

	for (int i = 0; i < at->gpus; i++) {
		int y = at->first_rank + (first + i) % at->gpus;
		bool rail = l->ranks[y].nic == l->ranks[x].nic;

		if ((found < 0 || rail) && can_test(c, x, y) &&
		    ways(c->a, s, x, y) != 0 && is_sound(c->a, s, x, y)) {
			found = y;
			if (rail) {
				break;
			}
		}
	}
	return found;
}

/**
 * Up to @need ordered tests of @s, of everything for NULL: in each turn another
 * rank of it with a rank of another node, or of its own where it is not @inter.
 * A link has one partner only, which is asked again and again.
 */
static void look_again(struct choice *c, const struct ask_suspect *s,
		       bool inter, int need)
{
	const struct layout *l = c->a->l;
	int turns = (CONFIRM_TESTS + l->nodes[0].gpus) * l->n_nodes;
	int x = l->n_ranks - 1;

	for (int turn = 0; need > 0 && turn < turns; turn++) {
		int hop = inter ? 1 + turn % (l->n_nodes - 1) : 0;
		int tries = l->n_ranks, y;
		uint8_t dirs;

		/* the next one: of all, on another node and of another index */
		x = (x + (s != NULL ? 1 : 1 + l->nodes[0].gpus)) % l->n_ranks;
		while (s != NULL && !is_here(c->a, &s->parts[0], x) &&
		       tries-- > 0) {
			x = (x + 1) % l->n_ranks;
		}
		if (tries <= 0) {
			return;
		}
		y = partner_on(c, s, x,
			       (l->ranks[x].node + hop) % l->n_nodes, turn);
		if (y >= 0) {
			dirs = ways(c->a, s, x, y);
			need -= take(c, x, y, dirs) ? n_ways(dirs) : 0;
		}
	}
}

static bool between_nodes(const struct ask_plan *a, const struct ask_part *p)
{
	return scopes[p->kind].inter && a->l->n_nodes > 1 && !a->inside &&
	       (p->kind != ASK_PAIR || p->node != p->peer_node);
}

static void confirm(struct choice *c, const struct ask_suspect *s)
{
	const struct ask_part *p = &s->parts[0];
	bool inter = between_nodes(c->a, p);
	int need = s->rate > 0 ? tests_at(s->rate) : CONFIRM_TESTS;

	/* what is everywhere has nothing to be compared with */
	if (p->kind != ASK_UNKNOWN && scopes[p->kind].place != ANYWHERE) {
		look_again(c, s, inter, need - count_asked(c->a, s, inter));
	}
}

/* ---- what nobody tried again --------------------------------------------- */

void ask_hear(struct ask_plan *a, int src, int dst, enum outcome o)
{
	struct ask_test *t = asked_of(a, src, dst);
	unsigned class = cells_class_of(o);

	if (t != NULL && t->times == 1) {
		t->failed = class == CELL_FAIL || class == CELL_TIMEOUT ||
			    class == CELL_CORRUPT;
		t->failed &= o != OUTCOME_CRASHED;
	}
}

/** What of @s was tried again by the follow-up; with @rank >= 0 of this one. */
static int count_retried(const struct ask_plan *a, const struct ask_suspect *s,
			 int rank)
{
	int sum = 0;

	for (size_t i = 0; i < a->n_asked; i++) {
		const struct ask_test *t = &a->asked[i];

		sum += (is_untried(a, t->src, t->dst) ||
			(t->failed && t->times > 1)) &&
		       touches(a, &s->parts[0], t->src, t->dst) &&
		       (rank < 0 || t->src == rank || t->dst == rank);
	}
	return sum;
}

/** Try src -> dst again, which is of @s, unless enough of its ends were;
 *  returns how many tests it is. */
static int take_again(struct choice *c, const struct ask_suspect *s, int src,
		      int dst)
{
	enum place place = scopes[s->parts[0].kind].place;
	int most = place == ON_GPU || place == ON_NIC ? RETRY_OF_THAT :
							RETRY_OF_ONE;

	return touches(c->a, &s->parts[0], src, dst) &&
	       can_test(c, src, dst) && count_retried(c->a, s, src) < most &&
	       count_retried(c->a, s, dst) < most &&
	       take(c, src, dst, TASK_AB);
}

/** Some of what failed and was not tried again, of as many GPUs as there are:
 *  of what was planned, and of what the follow-up made. */
static void retry(struct choice *c, const struct ask_suspect *s)
{
	struct ask_plan *a = c->a;
	int need = RETRY_TESTS - count_retried(a, s, -1);

	for (size_t at = 0; at < a->g->n && need > 0; at++) {
		int src = grid_src(a->g, at), dst = grid_dst(a->g, at);

		if (is_untried(a, src, dst) && times_asked(a, src, dst) == 0) {
			need -= take_again(c, s, src, dst);
		}
	}
	for (size_t i = 0; i < a->n_asked && need > 0; i++) {
		if (a->asked[i].failed && a->asked[i].times == 1) {
			need -= take_again(c, s, a->asked[i].src,
					   a->asked[i].dst);
		}
	}
}

/* ---- all of them --------------------------------------------------------- */

int ask_rounds(int n_ranks)
{
	int rounds = 3;

	for (int n = 1; n < n_ranks; n *= 2) {
		rounds++;
	}
	return rounds;
}

size_t ask_next(struct ask_plan *a, size_t max, const struct retry_ops *ops,
		void *ctx)
{
	struct choice c = { .a = a, .ops = ops, .ctx = ctx, .left = max };

	for (size_t i = 0; i < a->n + a->n_guesses; i++) {
		const struct ask_suspect *s = &a->list[i];

		c.compare = s->compare && !s->some;
		settle(&c, s);
		if (s->confirm) {
			confirm(&c, s);
		}
		if (s->retry) {
			retry(&c, s);
		}
	}
	c.compare = false;
	for (int inter = 0; inter < 2; inter++) {
		if (c.beside[inter]) {
			look_again(&c, NULL, inter,
				   CONFIRM_TESTS - count_asked(a, NULL, inter));
		}
	}
	return c.taken;
}

/* ---- from a verdict ------------------------------------------------------ */

int ask_init(struct ask_plan *a, const struct layout *l,
	     const struct grid *g, const struct cell *cells)
{
	*a = (struct ask_plan){ .l = l, .g = g, .cells = cells,
			   .list = calloc(ASK_SUSPECTS + ASK_GUESSES,
					  sizeof(*a->list)),
			   .leaf_of = calloc((size_t)l->n_nodes + 1,
					     sizeof(*a->leaf_of)),
			   .heads = calloc(ASK_HEADS, sizeof(*a->heads)) };
	if (a->list == NULL || a->heads == NULL || a->leaf_of == NULL) {
		ask_release(a);
		return -1;
	}
	return 0;
}

void ask_release(struct ask_plan *a)
{
	free(a->list);
	free(a->leaf_of);
	free(a->asked);
	free(a->heads);
	*a = (struct ask_plan){ 0 };
}

static int node_of(const struct layout *l, const json_t *name)
{
	const char *text = json_string_value(name);

	for (int i = 0; text != NULL && i < l->n_nodes; i++) {
		if (strcmp(l->nodes[i].name, text) == 0) {
			return i;
		}
	}
	return -1;
}

static int index_of(const json_t *n)
{
	return json_is_integer(n) && json_integer_value(n) >= 0 &&
			       json_integer_value(n) < INT_MAX ?
		       (int)json_integer_value(n) : -1;
}

/** The leaf switch of the nodes @members, which has the number of the first
 *  one; -1: nobody said any. */
static int leaf_of(struct ask_plan *a, const json_t *members)
{
	const json_t *name;
	int leaf = -1;
	size_t i;

	json_array_foreach(members, i, name) {
		int node = node_of(a->l, name);

		leaf = leaf < 0 ? node : leaf;
		if (node >= 0) {
			a->leaf_of[node] = leaf;
		}
	}
	return leaf;
}

/** Is where @p is said to be enough to find it? */
static bool is_placed(const struct ask_part *p)
{
	const struct scope *s = &scopes[p->kind];
	bool index = s->place != ON_NODE && s->place != ON_LEAF;

	if (s->place == ANYWHERE || p->kind == ASK_FABRIC_PATH) {
		return true;
	}
	if (index && p->index < 0) {
		return false;
	}
	switch (s->place) {
	case ON_RAIL:
		return true;
	case ON_CABLES:
		return p->node >= 0 && p->peer_index >= 0;
	case ON_LEAF:
	case ON_RAIL_LEAF:
		return p->leaf >= 0 && (!s->two || p->peer_leaf >= 0);
	default:
		return p->node >= 0 &&
		       (!s->two || (p->peer_node >= 0 &&
				    (!index || p->peer_index >= 0)));
	}
}

static struct ask_part read_part(struct ask_plan *a, const json_t *json)
{
	const char *kind = json_member(json, "kind");
	const char *direction = json_member(json, "direction");
	struct ask_part p = {
		.node = node_of(a->l, json_object_get(json, "node")),
		.index = index_of(json_object_get(json, "index")),
		.peer_node = node_of(a->l, json_object_get(json, "peer_node")),
		.peer_index = index_of(json_object_get(json, "peer_index")),
		.leaf = -1, .peer_leaf = -1,
		.uplinks = json_is_true(json_object_get(json, "uplinks")),
		.dirs = strcmp(direction, "tx") == 0 ? TASK_AB :
			strcmp(direction, "rx") == 0 ? TASK_BA :
						       TASK_AB | TASK_BA,
	};

	while (p.kind < ASK_UNKNOWN && strcmp(kinds[p.kind], kind) != 0) {
		p.kind++;
	}
	if (is_shared(&p)) {
		p.leaf = leaf_of(a, json_object_get(json, "members"));
		p.peer_leaf = leaf_of(a, json_object_get(json, "peer_members"));
	}
	if (!is_placed(&p)) {
		p.kind = ASK_UNKNOWN;	/* whose node, if any, is none to use */
	}
	return p;
}

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
static void add_kin(const struct ask_plan *a, struct ask_suspect *s)
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

static void read_suspect(struct ask_plan *a, const json_t *json,
			 struct ask_suspect *s)
{
	const char *code = json_member(json, "code");
	bool warn = strcmp(json_member(json, "severity"), "warn") == 0;
	int explained = index_of(json_object_get(json, "explained"));
	int cells = index_of(json_object_get(json, "cells"));
	double share = cells > 0 ? (double)explained / cells : 1;
	bool rare = share > 0 && share < RARE;
	const json_t *other;
	size_t i;

	*s = (struct ask_suspect){
		.parts = { read_part(a, json) }, .n = 1,
		.compare = strcmp(code, "slow") == 0 ||
			   strcmp(code, "latency") == 0,
	};
	s->some = s->compare && !warn && explained > 0 && explained < cells;
	s->confirm = s->compare && (warn || s->some ||
				    scopes[s->parts[0].kind].many);
	s->rate = !rare || s->compare ? 0 :
		  share < MOST_RATE   ? share : MOST_RATE;
	s->retry = !s->compare && strcmp(code, "flaky") != 0 &&
		   (rare || s->parts[0].kind == ASK_PAIR);
	json_array_foreach(json_object_get(json, "or"), i, other) {
		if (s->n < ASK_PARTS) {
			s->parts[s->n++] = read_part(a, other);
		}
	}
	s->n_open = s->n;
	/* of the few tests of a sample other parts may have failed some */
	s->confirm |= s->rate > 0 && a->g->first != NULL;
	if (s->rate > 0) {
		add_kin(a, s);
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

/** What is at @rank is looked at, where two pairs that failed have it in common
 *  and no finding is of it.  In a sample one is enough: of a part that fails a
 *  third of its tests that may be all. */
static void guess(struct ask_plan *a, enum ask_kind kind, int rank)
{
	int least = a->g->first != NULL ? 1 : 2;
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
			 (is_here(a, &s.parts[0], ends[0]) ||
			  is_here(a, &s.parts[0], ends[1]));
	}
	if (pairs >= least && !known) {
		s.rate = pairs > 1 ? GUESS_RATE : MOST_RATE;
		a->list[a->n + a->n_guesses++] = s;
	}
}

static void guess_ends(struct ask_plan *a)
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

int ask_take(struct ask_plan *a, const json_t *verdict, struct err *e)
{
	const json_t *findings = json_object_get(verdict, "findings"), *f;
	size_t i;

	a->n = a->n_guesses = 0;
	for (int node = 0; node < a->l->n_nodes; node++) {
		a->leaf_of[node] = -1;
	}
	if (!json_is_array(findings)) {
		return err_set(e, EINVAL, "no verdict");
	}
	if (json_array_size(findings) > ASK_SUSPECTS) {
		return err_set(e, E2BIG, "%zu findings, of which at most %d can "
			       "be settled", json_array_size(findings),
			       ASK_SUSPECTS);
	}
	json_array_foreach(findings, i, f) {
		read_suspect(a, f, &a->list[a->n++]);
	}
	guess_ends(a);
	return 0;
}
