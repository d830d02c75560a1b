/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/order.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "probes/host/inventory.h"
#include "probes/plan/layout.h"

/* ---- rails --------------------------------------------------------------- */

/* Return true if ports of @to, separated by blanks, are on other rails than
 * port @from. */
static bool crosses(const struct rail_nic *nics, int n, const char *from,
		    const char *to)
{
	for (int a = 0; a < n; a++) {
		for (int b = 0; str_names_meet(nics[a].name, from) && b < n;
		     b++) {
			if (nics[a].rail != nics[b].rail &&
			    nics[a].group == nics[b].group &&
			    str_names_meet(nics[b].name, to)) {
				return true;
			}
		}
	}
	return false;
}

int rails_hear(const json_t *facts, const struct rail_nic *nics, int n)
{
	bool leads = false, leads_not = false;
	const json_t *f;
	size_t i;

	json_array_foreach(facts, i, f) {
		const struct fact one = fact_of(f);
		bool not = strcmp(one.fact, "no_route_to") == 0;

		if ((not || strcmp(one.fact, "route_to") == 0) &&
		    crosses(nics, n, one.scope, one.value)) {
			*(not ? &leads_not : &leads) = true;
		}
	}
	return leads ? 1 : leads_not ? -1 : 0;
}

/* ---- pairs --------------------------------------------------------------- */

/** How much of a wrong pair an error quotes. */
#define QUOTE_MAX 80

/** "9", "node:1" or "node:*", exactly @len bytes of @text. */
static bool parse_end(const char *text, size_t len, struct pair_end *end)
{
	const char *colon = memchr(text, ':', len);
	size_t name = colon ? (size_t)(colon - text) : 0;
	size_t skip = colon ? name + 1 : 0;
	char digits[16];
	bool all = colon && len - skip == 1 && text[skip] == '*';
	int64_t index = PAIR_ALL;

	if (len - skip >= sizeof(digits) || name >= sizeof(end->node) ||
	    (colon && name == 0)) {
		return false;
	}
	memcpy(digits, text + skip, len - skip);
	digits[len - skip] = '\0';
	if (!all && units_parse_int(digits, 0, INT32_MAX, &index, NULL) < 0) {
		return false;
	}
	memcpy(end->node, text, name);
	end->node[name] = '\0';
	end->index = (int)index;
	return true;
}

static int bad_pair(struct err *e, const char *item, size_t len, int column)
{
	char raw[QUOTE_MAX], quote[QUOTE_MAX];
	const char *near;

	snprintf(raw, sizeof(raw), "%.*s", (int)len, item);
	STR_COPY(quote, raw);
	err_set(e, 0, "--pairs, column %d: '%s' is not a pair", column,
		quote);
	near = str_nearest(raw, pairs_kinds);
	if (near) {
		return err_hint(e, "did you mean '%s'?", near);
	}
	return err_hint(e, "write all, nodes, inter, intra, rail, or ranks "
			"such as 0-9,n0:1-n1:1,n0:*-n1:*");
}

int pairs_parse(const char *text, struct pairs *p, struct err *e)
{
	const char *item = text;
	int kind = str_index(pairs_kinds, text);
	size_t items = 1;

	*p = (struct pairs){ .kind = PAIRS_LIST };
	if (kind >= 0) {
		p->kind = (enum pairs_kind)kind;
		return 0;
	}
	for (const char *at = text; *at; at++) {
		items += *at == ',';
	}
	p->list = calloc(items, sizeof(*p->list));
	if (!p->list) {
		return err_set(e, ENOMEM, "no memory for the list of pairs");
	}
	for (;;) {
		size_t len = strcspn(item, ","), i = 1;
		struct pair_end *ends = p->list[p->n++];

		/* "END-END".  Names of nodes have dashes too
		 * ("gpu-01:3-gpu-02:3"), but an end closes with its number or
		 * *, so at most one dash has an end on both sides. */
		while (i + 1 < len && !(item[i] == '-' &&
		       parse_end(item, i, &ends[0]) &&
		       parse_end(item + i + 1, len - i - 1, &ends[1]))) {
			i++;
		}
		ends[0].column = ends[1].column = (int)(item - text) + 1;
		if (i + 1 >= len) {
			bad_pair(e, item, len, ends[0].column);
			pairs_release(p);
			return -1;
		}
		if (!item[len]) {
			return 0;
		}
		item += len + 1;
	}
}

void pairs_settle(struct pairs *p, const struct spec *s,
		  const struct layout *l)
{
	bool open = p->kind == PAIRS_DEFAULT || p->kind == PAIRS_AUTO;
	bool many = l->n_ranks > PAIRS_ALL_USUAL;

	if (p->kind == PAIRS_DEFAULT) {
		p->kind = PAIRS_ALL;
	} else if (p->kind == PAIRS_AUTO) {
		p->kind = l->n_nodes > 1 ? PAIRS_RAIL : PAIRS_INTRA;
	}
	p->seed = (uint64_t)s->seed;
	p->rounds = s->sample > 0		? (int)s->sample
		    : s->quick			? STRATA_QUICK
		    : p->kind == PAIRS_INTRA	? 0
		    : p->kind == PAIRS_NODES	? STRATA_DEFAULT
		    : open && many		? STRATA_DEFAULT : 0;
	if (p->rounds >= l->n_ranks - 1 && p->kind != PAIRS_NODES &&
	    p->kind != PAIRS_LIST) {
		p->rounds = 0;
	}
}

int pairs_keep_inside(struct pairs *p, const char *transport, struct err *e)
{
	p->inside = true;
	if (p->kind == PAIRS_ALL || p->kind == PAIRS_DEFAULT ||
	    p->kind == PAIRS_AUTO) {
		p->kind = PAIRS_INTRA;
	}
	if (p->kind == PAIRS_INTRA || p->kind == PAIRS_LIST) {
		return 0;
	}
	err_set(e, 0, "--pairs=%s: --transport=%s stays inside a node",
		pairs_kinds[p->kind], transport);
	return err_hint(e, "between nodes: --transport=nccl or tcp");
}

void pairs_release(struct pairs *p)
{
	if (p) {
		free(p->list);
		*p = (struct pairs){ 0 };
	}
}

/* ---- plan ---------------------------------------------------------------- */

#define TASKS_FIRST 64

/** One more pair.  A plan that has had room, and has no tasks, is one that
 *  there was no memory for. */
static void add_task(struct plan *plan, int round, int a, int b)
{
	struct task *tasks = plan->tasks;

	if (plan->n == plan->room) {
		plan->room = plan->room == 0 ? TASKS_FIRST : 2 * plan->room;
		tasks = realloc(plan->tasks, plan->room * sizeof(*tasks));
		if (tasks == NULL) {
			free(plan->tasks);
		}
		plan->tasks = tasks;
	}
	if (tasks == NULL) {
		return;
	}
	plan->tasks[plan->n] = (struct task){
		.id = (uint32_t)plan->n,
		.a = a < b ? a : b,
		.b = a < b ? b : a,
		.dirs = TASK_AB | TASK_BA,
		.attempt = 1,
		.round = round,
	};
	plan->n++;
	plan->cells += 2;
}

bool plan_rails_apart(const struct spec *s, bool by_routes)
{
	return !s->pxn && (s->fabric == FABRIC_RAIL_ONLY ||
			   (s->fabric == FABRIC_AUTO && by_routes &&
			    s->contrast != CONTRAST_PXN));
}

bool plan_crosses(const struct layout *l, int a, int b)
{
	return cluster_stratum(&l->cluster, a, b) == STRATUM_CROSS;
}

int plan_relay(const struct layout *l, int from, int to,
	       bool (*works)(void *ctx, int rank), void *ctx, bool *any)
{
	const struct cluster_node *node = &l->nodes[l->ranks[from].node];

	*any = false;
	for (int r = node->first_rank; r < node->first_rank + node->gpus; r++) {
		if (r == from || l->ranks[r].nic != l->ranks[to].nic) {
			continue;
		}
		*any = true;
		if (works(ctx, r)) {
			return r;
		}
	}
	return -1;
}

/** The ranks that @end names, one after the other: sets @first and returns how
 *  many they are, none of a node that has not come; or -1 with @e. */
static int find_ranks(const struct layout *l, const struct pairs *p,
		      const struct pair_end *end, int *first, struct err *e)
{
	const struct cluster_node *node;
	int64_t number;
	int i = 0;

	*first = end->index;
	if (!end->node[0]) {
		return end->index < l->n_ranks ? 1 :
			err_set(e, 0, "--pairs, column %d: no rank %d, the "
				"ranks are 0 to %d", end->column, end->index,
				l->n_ranks - 1);
	}
	while (i < l->n_nodes && strcmp(l->nodes[i].name, end->node) != 0) {
		i++;
	}
	if (i == l->n_nodes && !p->what_is_there &&
	    units_parse_int(end->node, 0, l->n_nodes - 1, &number, NULL) == 0) {
		i = (int)number;	/* in boot order */
	}
	if (i == l->n_nodes &&
	    (p->what_is_there ||
	     (p->expected && hostlist_has(p->expected, end->node)))) {
		return 0;
	}
	if (i == l->n_nodes) {
		err_set(e, 0, "--pairs, column %d: no node '%s'", end->column,
			end->node);
		return err_hint(e, "the first of %d nodes is '%s'",
				l->n_nodes, l->nodes[0].name);
	}
	node = &l->nodes[i];
	if (end->index == PAIR_ALL) {
		*first = node->first_rank;
		return node->gpus;
	}
	if (end->index >= node->gpus && p->what_is_there) {
		return 0;
	}
	if (end->index >= node->gpus) {
		return err_set(e, 0, "--pairs, column %d: no GPU %d on "
			       "node '%s', which has %d", end->column,
			       end->index, node->name, node->gpus);
	}
	*first += node->first_rank;
	return 1;
}

/** Each rank of the one end with each of the other, but with itself, in the
 *  round in which the circle method has them. */
static int add_each(struct plan *plan, const struct layout *l,
		    const struct pairs *p, const struct pair_end ends[2],
		    struct err *e)
{
	const int column = ends[0].column;
	int a, b, n_a, n_b;

	n_a = find_ranks(l, p, &ends[0], &a, e);
	n_b = n_a < 0 ? -1 : find_ranks(l, p, &ends[1], &b, e);
	if (n_b < 0) {
		return -1;
	}
	if (n_a == 1 && n_b == 1 && a == b && ends[0].index != PAIR_ALL &&
	    ends[1].index != PAIR_ALL) {
		return err_set(e, 0, "--pairs, column %d: rank %d is "
			       "paired with itself", column, a);
	}
	for (int i = 0; i < n_a * n_b; i++) {
		int x = a + i / n_b, y = b + i % n_b;

		if (x == y) {
			continue;
		}
		if (p->inside && !layout_same_node(l, x, y)) {
			err_set(e, 0, "--pairs, column %d: ranks %d and %d are "
				"on different nodes", column, x < y ? x : y,
				x < y ? y : x);
			return err_hint(e, "the transport stays inside a node; "
					"between nodes: --transport=nccl or "
					"tcp");
		}
		add_task(plan, sched_round_of(l->n_ranks, x, y), x, y);
	}
	return 0;
}

/** By round, then lower rank: equal only for the same pair. */
static const struct order_key listed_order[] = {
	ORDER_UP(struct task, round),
	ORDER_UP(struct task, a),
	ORDER_END
};

/** The listed pairs, each of them once. */
static int plan_list(struct plan *plan, const struct layout *l,
		     const struct pairs *p, struct err *e)
{
	struct plan all = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < p->n; i++) {
		rc = add_each(&all, l, p, p->list[i], e);
	}
	if (rc == 0 && all.room > 0 && all.tasks == NULL) {
		rc = err_set(e, ENOMEM, "no memory for a plan of %zu pairs",
			     all.n);
	}
	if (rc == 0) {
		order_sort(all.tasks, all.n, sizeof(*all.tasks), listed_order);
	}
	for (size_t i = 0; rc == 0 && i < all.n; i++) {
		const struct task *x = &all.tasks[i];

		if (i == 0 || order_compare(listed_order, x - 1, x) != 0) {
			add_task(plan, x->round, x->a, x->b);
		}
	}
	plan_release(&all);
	return rc;
}

/* ---- a sample ---------------------------------------------------------- */

static uint64_t nodes_of(const struct layout *l, int a, int b)
{
	uint64_t x = (uint64_t)l->ranks[a].node, y = (uint64_t)l->ranks[b].node;

	return x < y ? x << 32 | y : y << 32 | x;
}

static const struct order_key by_nodes[] = {
	ORDER_ITEM(ORDER_UINT64),
	ORDER_END
};

/** @k rounds of what @p wants. */
static int plan_sample(struct plan *plan, const struct layout *l,
		       const struct pairs *p, int k, struct err *e)
{
	struct grid_pair *pairs;
	struct strata strata;
	uint64_t nodes, *met = NULL;	/* two nodes each, sorted */
	size_t n_pairs, n_met = 0;
	bool room;

	if (strata_make(&strata, l, p, k, p->seed, e) < 0) {
		return -1;
	}
	pairs = calloc((size_t)l->n_ranks, 2 * sizeof(*pairs));
	room = pairs != NULL;
	for (int i = 0; room && i < strata.n; i++) {
		if (strata.turns[i] == STRATUM_NODES && met == NULL) {
			/* nodes that have met need not do so again */
			n_met = plan->n;
			met = calloc(n_met + 1, sizeof(*met));
			room = met != NULL;
			for (size_t x = 0; room && x < n_met; x++) {
				met[x] = nodes_of(l, plan->tasks[x].a,
						  plan->tasks[x].b);
			}
			order_sort(met, room ? n_met : 0, sizeof(*met),
				   by_nodes);
		}
		n_pairs = room ? strata_pairs(&strata, i, pairs) : 0;
		for (size_t x = 0; x < n_pairs; x++) {
			nodes = nodes_of(l, pairs[x].src, pairs[x].dst);
			if (!order_find(&nodes, met, n_met, sizeof(*met),
					by_nodes)) {
				add_task(plan, i, pairs[x].src, pairs[x].dst);
			}
		}
	}
	if (p->rounds > 0) {
		double n = l->n_ranks;

		plan->sample = (struct sampled){
			.inside = strata.rounds[STRATUM_INSIDE],
			.rail = strata.rounds[STRATUM_RAIL],
			.cross = strata.rounds[STRATUM_CROSS],
			.nodes = strata.rounds[STRATUM_NODES] > 0,
			.n_nodes = l->n_nodes,
			.n_ranks = l->n_ranks,
			.rails = l->n_nics / l->n_nodes,
			.share = (double)plan->cells / (n * (n - 1)),
		};
	}
	free(met);
	free(pairs);
	strata_release(&strata);
	return room ? 0 : err_set(e, ENOMEM, "no memory for a sample");
}

/* ---- all of it --------------------------------------------------------- */

static int nothing_to_do(enum pairs_kind kind, bool inside, bool apart,
			 struct err *e)
{
	static const char *const why[] = {
		[PAIRS_ALL] = "there is no second rank",
		[PAIRS_INTER] = "no two ranks are on different nodes",
		[PAIRS_INTRA] = "no two ranks are on one node",
		[PAIRS_RAIL] = "no two nodes share a rail",
		[PAIRS_NODES] = "no two ranks may be paired",
		[PAIRS_DEFAULT] = "'default' has not been resolved",
		[PAIRS_AUTO] = "'auto' has not been resolved",
		[PAIRS_LIST] = "the list is empty",
	};

	err_set(e, 0, "no pair to test: %s%s", why[kind],
		apart ? " and of one fabric" : "");
	if (inside) {
		return err_hint(e, "between nodes: --transport=nccl or tcp");
	}
	return kind == PAIRS_ALL ?
		       err_hint(e, "a pair test needs at least two GPUs") :
		       err_hint(e, "--pairs=all tests every pair");
}

int plan_pairs(const struct layout *l, const struct pairs *p, struct plan *out,
	       struct err *e)
{
	bool circle = p->kind != PAIRS_LIST && p->rounds == 0 &&
		      l->n_ranks <= PAIRS_ALL_MOST;
	int rounds = circle ? sched_rounds(l->n_ranks) : 0, rc = 0, r = 1;

	*out = (struct plan){ 0 };
	if (l->n_ranks < 2) {
		return nothing_to_do(PAIRS_ALL, false, false, e);
	}
	for (int i = 0; i < rounds; i++) {
		for (int a = 0; a < l->n_ranks; a++) {
			int b = sched_partner(l->n_ranks, i, a);

			if (b > a && pairs_want(&l->cluster, p->kind,
						p->rails_apart, a, b)) {
				add_task(out, i, a, b);
			}
		}
	}
	if (p->kind == PAIRS_LIST && p->rounds > 0) {
		err_set(e, 0, "a list of pairs is measured as it is");
		rc = err_hint(e, "leave out --sample and --quick, or --pairs");
	} else if (p->kind == PAIRS_LIST) {
		rc = plan_list(out, l, p, e);
	} else if (p->rounds > 0 || (!circle && p->kind == PAIRS_INTRA)) {
		rc = plan_sample(out, l, p, p->rounds > 0 ? p->rounds :
							    l->n_ranks, e);
	} else if (!circle) {
		err_set(e, 0, "all pairs of %d ranks are too many; at most %d "
			"ranks have all of theirs measured", l->n_ranks,
			PAIRS_ALL_MOST);
		rc = err_hint(e, "--pairs=default measures a sample, "
				 "--pairs=nodes one pair of any two nodes");
	}
	if (rc == 0 && out->room > 0 && out->tasks == NULL) {
		rc = err_set(e, ENOMEM, "no memory for a plan of %zu pairs",
			     out->n);
	} else if (rc == 0 && out->n == 0 && p->what_is_there) {
		err_set(e, 0, "no pair to test: no GPU of the list is present "
			"with a partner");
		rc = err_hint(e, "test with more nodes: \"gpucheck p2p\" "
				 "without --retest");
	} else if (rc == 0 && out->n == 0) {
		while (r < l->n_ranks &&
		       l->ranks[r].group == l->ranks[0].group) {
			r++;
		}
		rc = nothing_to_do(p->kind, p->inside, r < l->n_ranks, e);
	}
	if (rc < 0) {
		plan_release(out);
	}
	return rc;
}

void plan_release(struct plan *p)
{
	if (p) {
		free(p->tasks);
		*p = (struct plan){ 0 };
	}
}
