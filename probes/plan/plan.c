/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void rails_hear(struct rails_said *s, const json_t *facts,
		const struct rail_nic *nics, int n)
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
	s->joined += leads;
	s->apart += leads_not && !leads;
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

/**
 * "END-END".  Names of nodes have dashes too ("gpu-01:3-gpu-02:3"), but an
 * end closes with its number or *, so at most one dash has an end on both
 * sides.
 */
static bool parse_pair(const char *text, size_t len, struct pair_ends *pair)
{
	for (size_t i = 1; i + 1 < len; i++) {
		if (text[i] == '-' && parse_end(text, i, &pair->a) &&
		    parse_end(text + i + 1, len - i - 1, &pair->b)) {
			return true;
		}
	}
	return false;
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

static size_t count_items(const char *text)
{
	size_t n = 1;

	for (; *text; text++) {
		n += *text == ',';
	}
	return n;
}

int pairs_parse(const char *text, struct pairs *p, struct err *e)
{
	const char *item = text;
	int kind = str_index(pairs_kinds, text);

	*p = (struct pairs){ .kind = PAIRS_LIST };
	if (kind >= 0) {
		p->kind = (enum pairs_kind)kind;
		return 0;
	}
	p->list = calloc(count_items(text), sizeof(*p->list));
	if (!p->list) {
		return err_set(e, ENOMEM, "no memory for the list of pairs");
	}
	for (;;) {
		size_t len = strcspn(item, ",");
		struct pair_ends *pair = &p->list[p->n++];

		pair->column = (int)(item - text) + 1;
		if (!parse_pair(item, len, pair)) {
			bad_pair(e, item, len, pair->column);
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

/** Room for one more; a plan without tasks is one that there was no memory
 *  for. */
static bool make_room(struct plan *plan)
{
	struct task *tasks;

	if (plan->n < plan->room) {
		return plan->tasks != NULL;
	}
	plan->room = plan->room == 0 ? TASKS_FIRST : 2 * plan->room;
	tasks = realloc(plan->tasks, plan->room * sizeof(*tasks));
	if (tasks == NULL) {
		free(plan->tasks);
	}
	plan->tasks = tasks;
	return tasks != NULL;
}

static void add_task(struct plan *plan, int round, int a, int b)
{
	if (!make_room(plan)) {
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

/** Every pair that @p wants, round by round. */
static void plan_rounds(struct plan *plan, const struct layout *l,
			const struct pairs *p)
{
	int size = l->n_ranks;

	for (int round = 0; round < sched_rounds(size); round++) {
		for (int a = 0; a < size; a++) {
			int b = sched_partner(size, round, a);

			if (b > a && pairs_want(&l->cluster, p->kind,
						   p->rails_apart, a, b)) {
				add_task(plan, round, a, b);
			}
		}
	}
}

/** Index of the node called, else @numbered, @name; -1 if there is none. */
static int find_node(const struct layout *l, const char *name, bool numbered)
{
	int64_t number;

	for (int i = 0; i < l->n_nodes; i++) {
		if (strcmp(l->nodes[i].name, name) == 0) {
			return i;
		}
	}
	if (!numbered ||
	    units_parse_int(name, 0, l->n_nodes - 1, &number, NULL) < 0) {
		return -1;
	}
	return (int)number;
}

/** Ranks one after the other; none of a node that has not come. */
struct ranks_of {
	int first, n;
};

/** Those that @end names; 0, or -1 with @e. */
static int find_ranks(const struct layout *l, const struct pairs *p,
		      const struct pair_end *end, int column,
		      struct ranks_of *out, struct err *e)
{
	const struct cluster_node *node;
	int i;

	*out = (struct ranks_of){ .first = end->index, .n = 1 };
	if (!end->node[0]) {
		if (end->index < l->n_ranks) {
			return 0;
		}
		return err_set(e, 0, "--pairs, column %d: no rank %d, the "
			       "ranks are 0 to %d", column, end->index,
			       l->n_ranks - 1);
	}
	i = find_node(l, end->node, !p->what_is_there);
	if (i < 0 && (p->what_is_there ||
		      (p->expected && hostlist_has(p->expected, end->node)))) {
		out->n = 0;
		return 0;
	}
	if (i < 0) {
		err_set(e, 0, "--pairs, column %d: no node '%s'", column,
			end->node);
		return err_hint(e, "the first of %d nodes is '%s'",
				l->n_nodes, l->nodes[0].name);
	}
	node = &l->nodes[i];
	if (end->index == PAIR_ALL) {
		*out = (struct ranks_of){ node->first_rank, node->gpus };
		return 0;
	}
	if (end->index >= node->gpus && p->what_is_there) {
		out->n = 0;
		return 0;
	}
	if (end->index >= node->gpus) {
		return err_set(e, 0, "--pairs, column %d: no GPU %d on "
			       "node '%s', which has %d", column, end->index,
			       node->name, node->gpus);
	}
	out->first += node->first_rank;
	return 0;
}

/** A listed pair and the round in which the circle method has it. */
struct listed {
	int round, a, b;	/* a < b */
};

/** The pairs that a plan has so far. */
struct plan_plan_list {
	struct listed *all;
	size_t n;
};

static int check_inside(const struct layout *l, int column,
			const struct listed *listed, struct err *e)
{
	if (layout_same_node(l, listed->a, listed->b)) {
		return 0;
	}
	err_set(e, 0, "--pairs, column %d: ranks %d and %d are on "
		"different nodes", column, listed->a, listed->b);
	return err_hint(e, "the transport stays inside a node; between nodes: "
			"--transport=nccl or tcp");
}

static int add_listed(struct plan_plan_list *list, const struct layout *l,
		      const struct pairs *p, int column, int a, int b,
		      struct err *e)
{
	struct listed *out = &list->all[list->n++];

	*out = (struct listed){
		.round = sched_round_of(l->n_ranks, a, b),
		.a = a < b ? a : b,
		.b = a < b ? b : a,
	};
	return p->inside ? check_inside(l, column, out, e) : 0;
}

/** Each rank of the one end with each of the other, but with itself. */
static int add_each(struct plan_plan_list *list, const struct layout *l,
		    const struct pairs *p, const struct pair_ends *pair,
		    struct err *e)
{
	struct ranks_of a, b;
	struct listed *more;
	int rc = 0;

	if (find_ranks(l, p, &pair->a, pair->column, &a, e) < 0 ||
	    find_ranks(l, p, &pair->b, pair->column, &b, e) < 0) {
		return -1;
	}
	if (a.n == 1 && b.n == 1 && a.first == b.first &&
	    pair->a.index != PAIR_ALL && pair->b.index != PAIR_ALL) {
		return err_set(e, 0, "--pairs, column %d: rank %d is "
			       "paired with itself", pair->column, a.first);
	}
	more = realloc(list->all, (list->n + (size_t)a.n * (size_t)b.n + 1) *
				  sizeof(*more));
	if (!more) {
		return err_set(e, ENOMEM, "no memory for a plan of %zu pairs",
			       list->n);
	}
	list->all = more;
	for (int i = 0; rc == 0 && i < a.n * b.n; i++) {
		int x = a.first + i / b.n, y = b.first + i % b.n;

		rc = x == y ? 0 : add_listed(list, l, p, pair->column, x, y,
					     e);
	}
	return rc;
}

/** By round, then lower rank: equal only for the same pair. */
static int listed_order(const void *x, const void *y)
{
	const struct listed *p = x, *q = y;

	if (p->round != q->round) {
		return p->round < q->round ? -1 : 1;
	}
	return (p->a > q->a) - (p->a < q->a);
}

static int plan_list(struct plan *plan, const struct layout *l,
		     const struct pairs *p, struct err *e)
{
	struct plan_plan_list list = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < p->n; i++) {
		rc = add_each(&list, l, p, &p->list[i], e);
	}
	if (rc == 0 && list.n > 0) {
		qsort(list.all, list.n, sizeof(*list.all), listed_order);
	}
	for (size_t i = 0; rc == 0 && i < list.n; i++) {
		const struct listed *x = &list.all[i];

		if (i == 0 || listed_order(x - 1, x) != 0) {
			add_task(plan, x->round, x->a, x->b);
		}
	}
	free(list.all);
	return rc;
}

/* ---- a sample ---------------------------------------------------------- */

struct sampling {
	struct plan *plan;
	const struct layout *l;
	int round;
	uint64_t *met;		/* two nodes each, sorted; NULL: all may */
	size_t n_met;
};

static uint64_t nodes_of(const struct layout *l, int a, int b)
{
	uint64_t x = (uint64_t)l->ranks[a].node, y = (uint64_t)l->ranks[b].node;

	return x < y ? x << 32 | y : y << 32 | x;
}

static int by_nodes(const void *x, const void *y)
{
	const uint64_t *p = x, *q = y;

	return (*p > *q) - (*p < *q);
}

static void take_pair(void *ctx, int a, int b)
{
	struct sampling *s = ctx;
	uint64_t nodes = nodes_of(s->l, a, b);

	if (s->met == NULL || !bsearch(&nodes, s->met, s->n_met,
				       sizeof(*s->met), by_nodes)) {
		add_task(s->plan, s->round, a, b);
	}
}

/** Nodes that have met need not do so again. */
static bool note_met(struct sampling *s)
{
	s->n_met = s->plan->n;
	s->met = calloc(s->n_met + 1, sizeof(*s->met));
	for (size_t i = 0; s->met != NULL && i < s->n_met; i++) {
		s->met[i] = nodes_of(s->l, s->plan->tasks[i].a,
				     s->plan->tasks[i].b);
	}
	if (s->met != NULL) {
		qsort(s->met, s->n_met, sizeof(*s->met), by_nodes);
	}
	return s->met != NULL;
}

/** @k rounds of what @p wants. */
static int plan_sample(struct plan *plan, const struct layout *l,
		       const struct pairs *p, int k, struct err *e)
{
	struct sampling s = { .plan = plan, .l = l };
	struct strata strata;
	bool room = true;

	if (strata_make(&strata, l, p, k, p->seed, e) < 0) {
		return -1;
	}
	for (int i = 0; room && i < strata.n; i++) {
		s.round = i;
		if (strata.turns[i].of == STRATUM_NODES && s.met == NULL) {
			room = note_met(&s);
		}
		strata_pairs(&strata, &strata.turns[i], take_pair, &s);
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
	free(s.met);
	strata_release(&strata);
	return room ? 0 : err_set(e, ENOMEM, "no memory for a sample");
}

/* ---- all of it --------------------------------------------------------- */

static bool groups_differ(const struct layout *l)
{
	int r = 1;

	while (r < l->n_ranks && l->ranks[r].group == l->ranks[0].group) {
		r++;
	}
	return r < l->n_ranks;
}

/** A list is what somebody wants to see, all of it. */
static int listed_sample(struct err *e)
{
	err_set(e, 0, "a list of pairs is measured as it is");
	return err_hint(e, "leave out --sample and --quick, or --pairs");
}

static int nothing_to_do(enum pairs_kind kind, bool inside, bool apart,
			 struct err *e)
{
	static const char *const why[] = {
		[PAIRS_ALL] = "there is no second rank",
		[PAIRS_INTER] = "no two ranks are on different nodes",
		[PAIRS_INTRA] = "no two ranks are on one node",
		[PAIRS_RAIL] = "no two nodes share a rail",
		[PAIRS_NODES] = "no two ranks may meet",
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

static int nothing_left(struct err *e)
{
	err_set(e, 0, "no pair to test: none of the GPUs of the list is there, "
		"with a partner");
	return err_hint(e, "test with more nodes: \"gpucheck p2p\" without "
			"--retest");
}

static int too_many(int n_ranks, struct err *e)
{
	err_set(e, 0, "all pairs of %d ranks are too many; at most %d ranks "
		"have all of theirs measured", n_ranks, PAIRS_ALL_MOST);
	return err_hint(e, "--pairs=default measures a sample, --pairs=nodes "
			"one pair of any two nodes");
}

/** The tasks of @p, which are none where nothing is wanted. */
static int fill_plan(struct plan *plan, const struct layout *l,
		     const struct pairs *p, struct err *e)
{
	if (p->kind == PAIRS_LIST) {
		return p->rounds > 0 ? listed_sample(e) :
				       plan_list(plan, l, p, e);
	}
	if (p->rounds > 0) {
		return plan_sample(plan, l, p, p->rounds, e);
	}
	if (l->n_ranks <= PAIRS_ALL_MOST) {
		plan_rounds(plan, l, p);
		return 0;
	}
	return p->kind == PAIRS_INTRA ? plan_sample(plan, l, p, l->n_ranks, e) :
					too_many(l->n_ranks, e);
}

int plan_pairs(const struct layout *l, const struct pairs *p, struct plan *out,
	       struct err *e)
{
	struct plan plan = { 0 };

	*out = plan;
	if (l->n_ranks < 2) {
		return nothing_to_do(PAIRS_ALL, false, false, e);
	}
	if (fill_plan(&plan, l, p, e) < 0) {
		goto release;
	}
	if (plan.room > 0 && plan.tasks == NULL) {
		err_set(e, ENOMEM, "no memory for a plan of %zu pairs", plan.n);
		goto release;
	}
	if (plan.n == 0) {
		if (p->what_is_there) {
			nothing_left(e);
		} else {
			nothing_to_do(p->kind, p->inside, groups_differ(l), e);
		}
		goto release;
	}
	*out = plan;
	return 0;
release:
	plan_release(&plan);
	return -1;
}

void plan_release(struct plan *p)
{
	if (p) {
		free(p->tasks);
		*p = (struct plan){ 0 };
	}
}
