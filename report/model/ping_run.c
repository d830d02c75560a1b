/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/order.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "lib/data/record_rows.h"

/* ---- mesh plan ----------------------------------------------------------- */

/** Maximum number of paths that are judged: those of 4,096 addresses, where
 *  each asks every other one. */
#define CELLS_MAX ((size_t)4096 * 4096)

/** Return true if run.json planned a path from rank @s to rank @d, and its
 *  @list of nodes too.  The addresses of both are known. */
static bool mesh_plan_has(const struct pinglist *list, const struct run *run,
			  int s, int d)
{
	const struct mesh_end *a = mesh_end(run, s), *b = mesh_end(run, d);

	if (run->ranks[s].node == run->ranks[d].node ||
	    !pinglist_has(list, run->ranks[s].node, run->ranks[d].node)) {
		return false;
	}
	if (!a->ip[0] || !b->ip[0]) {
		return true;	/* the addresses of a node without an agent
				 * aren't known */
	}
	return !strchr(a->ip, ':') == !strchr(b->ip, ':') &&
	       (run->mesh->cross || strcmp(a->segment, b->segment) == 0 ||
		(run->mesh->by_rail && run->ranks[s].nic == run->ranks[d].nic));
}

/** The paths from node @a to node @b behind the @n of @pairs, or where that is
 *  NULL their number alone; how many there are now. */
static size_t list_paths(const struct run *run, const struct pinglist *list,
			 int a, int b, struct grid_pair *pairs, size_t n)
{
	const struct cluster_node *x = &run->nodes[a], *y = &run->nodes[b];

	for (int s = x->first_rank; s < x->first_rank + x->gpus; s++) {
		for (int d = y->first_rank; d < y->first_rank + y->gpus; d++) {
			if (!mesh_plan_has(list, run, s, d)) {
				continue;
			}
			if (pairs) {
				pairs[n] = (struct grid_pair){ s, d };
			}
			n++;
		}
	}
	return n;
}

static size_t list_pairs(const struct run *run, const struct pinglist *list,
			 struct grid_pair *pairs)
{
	size_t n = 0;

	for (int a = 0; a < run->n_nodes; a++) {
		for (int b = 0; b < run->n_nodes; b++) {
			if (a != b && pinglist_has(list, a, b)) {
				n = list_paths(run, list, a, b, pairs, n);
			}
		}
	}
	return n;
}

/** Give each path that was planned a cell, or, if every node asks every other
 *  one, all of a square.  0, or -1 with @e: no memory, or too many to judge. */
static int mesh_plan_grid(const struct pinglist *list, struct run *run,
			  struct err *e)
{
	const bool square = list->groups < 2;
	const size_t ranks = (size_t)run->n_ranks;
	const size_t n = square ? ranks * ranks : list_pairs(run, list, NULL);
	struct grid_pair *pairs;
	int rc = -1;

	if (square) {
		run->grid = grid_square(run->n_ranks);
	}
	if (n > CELLS_MAX) {
		err_set(e, E2BIG, "the paths between %d addresses are more "
			"than can be judged", run->n_ranks);
		return err_hint(e, "--subnet or --ifname: a rail at a time; "
				"results.csv has all rows");
	}
	if (square) {
		return 0;
	}
	pairs = calloc(n + 1, sizeof(*pairs));
	if (pairs) {
		list_pairs(run, list, pairs);
		rc = grid_of(&run->grid, run->n_ranks, pairs, n);
	}
	free(pairs);
	return rc < 0 ? err_set(e, ENOMEM, "cannot hold %zu paths", n) : 0;
}

/* ---- ping run ------------------------------------------------------------ */

#define IP_FACT_SIZE 56

struct mesh *mesh_new(size_t ranks, size_t cells)
{
	struct mesh *m = calloc(1, sizeof(*m) + ranks * sizeof(*m->ends) +
				   (cells + 1) * (sizeof(*m->loss) +
						  sizeof(*m->heard)));

	if (!m) {
		return NULL;
	}
	m->ends = (struct mesh_end *)(m + 1);
	m->loss = (float *)(m->ends + ranks);
	m->heard = (uint8_t *)(m->loss + cells + 1);
	for (size_t at = 0; at <= cells; at++) {
		m->loss[at] = NAN;
	}
	return m;
}

#define ENDS_MAX 65536	/* addresses */

/* ---- nodes and addresses ------------------------------------------------ */

static int read_end(const json_t *json, struct run *run, int rank,
		    struct err *e)
{
	struct mesh_end *end = &run->mesh->ends[rank];
	struct cluster_rank *r = &run->ranks[rank];
	int64_t rail = 0;

	if (json_get_text(json, "if", end->ifname, sizeof(end->ifname), e) <
		    0 ||
	    json_get_text(json, "ip", end->ip, sizeof(end->ip), e) < 0 ||
	    json_get_text(json, "segment", end->segment,
			  sizeof(end->segment), e) < 0 ||
	    json_get_int(json, "rail", 0, SPEC_MAX_RANKS, &rail, e) < 0 ||
	    json_opt_int(json, "mtu_B", 0, INT32_MAX, &end->mtu_B, e) < 0 ||
	    json_opt_text(json, "state", end->state, sizeof(end->state), e) <
		    0) {
		return -1;
	}
	r->nic = (int)rail;
	STR_COPY(r->nic_name, end->ifname);
	return 0;
}

/** Return the number of addresses of @node.  A node without an agent counts as
 *  one, a node that was left out as none. */
static size_t ends_of(const struct run_entry *node)
{
	const size_t n = json_array_size(node->ends);

	return n || node->here ? n : 1;
}

static int read_layout(struct run *run, struct err *e)
{
	const json_t *nodes = run_file(run->json).nodes;
	size_t n = json_array_size(nodes), ranks = 0, i;
	int rank = 0;

	for (i = 0; i < n; i++) {
		const struct run_entry node = run_entry(nodes, i);

		ranks += ends_of(&node);
	}
	if (n > SPEC_MAX_NODES || ranks > ENDS_MAX) {
		return err_set(e, E2BIG, "run.json: %zu addresses of %zu "
			       "nodes, at most %d of %d", ranks, n, ENDS_MAX,
			       SPEC_MAX_NODES);
	}
	run->nodes = calloc(n + 1, sizeof(*run->nodes));
	run->ranks = calloc(ranks + 1, sizeof(*run->ranks));
	run->mesh = mesh_new(ranks, 0);	/* until the cells are known */
	if (!run->nodes || !run->ranks || !run->mesh) {
		return err_set(e, ENOMEM, "cannot hold %zu addresses", ranks);
	}
	run->n_nodes = (int)n;
	run->n_ranks = (int)ranks;
	for (i = 0; i < n; i++) {
		struct cluster_node *node = &run->nodes[i];
		const struct run_entry said = run_entry(nodes, i);

		node->first_rank = rank;
		node->gpus = (int)ends_of(&said);
		node->nics = 1;
		if (json_get_text(json_array_get(nodes, i), "name", node->name,
				  sizeof(node->name), e) < 0) {
			return err_hint(e, "'nodes' of run.json is damaged");
		}
		for (int g = 0; g < node->gpus; g++, rank++) {
			struct cluster_rank *r = &run->ranks[rank];
			const json_t *end = json_array_get(said.ends,
							   (size_t)g);

			*r = (struct cluster_rank){ .node = (int)i, .gpu = g };
			if (end && read_end(end, run, rank, e) < 0) {
				return err_hint(e, "'nodes' of run.json is "
						"damaged");
			}
			node->nics = r->nic >= node->nics ? r->nic + 1 :
							    node->nics;
		}
	}
	return 0;
}

/* ---- the plan ------------------------------------------------------------ */

static void set_cell(struct run *run, size_t at, enum cell_class class,
		     enum outcome outcome, const char *code)
{
	run->cells[at].class = (uint8_t)class;
	run->cells[at].outcome = (uint8_t)outcome;
	run->cell_code[at] = run_code(run, code);
}

/** Make the cells of the paths that are planned. */
static int make_cells(struct run *run, struct err *e)
{
	const struct run_file f = run_file(run->json);
	const int64_t groups = f.planned.n_groups;
	const struct pinglist list = {
		.nodes = run->n_nodes, .seed = f.planned.seed,
		.groups = groups > 0 && groups <= run->n_nodes ?
				  (int)groups : 1,
	};
	struct mesh *m;

	run->mesh->cross = f.planned.cross;
	run->mesh->by_rail = f.planned.by_rail;
	if (mesh_plan_grid(&list, run, e) < 0) {
		return -1;
	}
	m = mesh_new((size_t)run->n_ranks, run_n_cells(run));
	if (!m) {
		return err_set(e, ENOMEM, "cannot hold %zu cells",
			       run_n_cells(run));
	}
	memcpy(m->ends, run->mesh->ends,
	       (size_t)run->n_ranks * sizeof(*m->ends));
	m->cross = run->mesh->cross;
	m->by_rail = run->mesh->by_rail;
	free(run->mesh);
	run->mesh = m;
	if (run_make_cells(run, e) < 0) {
		return -1;
	}
	if (!f.planned.given) {
		return 0;
	}
	run_foreach_cell(run, at) {
		int s = run_src(run, at), d = run_dst(run, at);
		bool known = m->ends[s].ip[0] && m->ends[d].ip[0];

		if (mesh_plan_has(&list, run, s, d)) {
			set_cell(run, at, known ? CELL_NOT_RUN : CELL_SKIPPED,
				 known ? OUTCOME_NOT_RUN : OUTCOME_SKIPPED,
				 known ? "" : "agent_missing");
		}
	}
	return 0;
}

/* ---- rows ---------------------------------------------------------------- */

/** Ranks by node and address. */
struct ping_run_place {
	const char *node, *ip;
	int rank;
};

static const struct order_key place_order[] = {
	ORDER_UP(struct ping_run_place, ip),
	ORDER_UP(struct ping_run_place, node),
	ORDER_END
};

/** @places are those of all ranks, sorted. */
static int find_rank(const struct run *run, const struct ping_run_place *places,
		     const char *node, const char *ip)
{
	const struct ping_run_place key = { .node = node, .ip = ip };
	const struct ping_run_place *found =
		order_find(&key, places, (size_t)run->n_ranks, sizeof(key),
			   place_order);

	return found ? found->rank : -1;
}

/** A node that reported no more: its cells without a row have the code of
 *  @row. */
static int end_node(struct run *run, const struct ping_row *row)
{
	int node = row->outcome == OUTCOME_NOT_RUN ?
			   -1 : run_find_node(run, row->src_node, -1);

	for (size_t at = 0; node >= 0 && at < run_n_cells(run); at++) {
		if (run->ranks[run_src(run, at)].node == node &&
		    run->cells[at].class == CELL_NOT_RUN) {
			set_cell(run, at, CELL_SKIPPED, OUTCOME_SKIPPED,
				 row->code);
			if (run_keep_detail(run, at, row->detail) < 0) {
				return -1;
			}
		}
	}
	return 0;
}

static bool row_fits(const struct run *run, int s, int d)
{
	return s >= 0 && d >= 0 &&
	       run->cells[run_at(run, s, d)].class != CELL_UNPLANNED;
}

static int take_row(const struct run_rows *rows, const void *data)
{
	const struct ping_row *row = data;
	struct run *run = rows->run;
	struct ping_run_place *const *places = rows->user;
	int s = find_rank(run, *places, row->src_node, row->src_ip);
	int d = find_rank(run, *places, row->dst_node, row->dst_ip);
	bool good = row->outcome == OUTCOME_OK;
	struct mesh *m = run->mesh;
	size_t at, len = strlen(run->transport);

	if (row->dst_node[0] == '\0') {
		return end_node(run, row);
	}
	if (!row_fits(run, s, d)) {
		return 1;
	}
	if (row->flow > 0) {
		return run_add_flow(run, s, d, row->sent, row->received,
				    row->detail);
	}
	at = run_at(run, s, d);
	if (run_count_flows(run, at, row->flows, 0) < 0) {
		return -1;
	}
	run->rows++;
	set_cell(run, at, good && strcmp(row->code, PING_LOSS) == 0 ?
			  CELL_SLOW : cells_class_of(row->outcome),
		 row->outcome, row->code);
	run->cells[at].lat_us = good ? (float)row->rtt_avg_us : NAN;
	if (row->sent > 0 && row->received >= 0) {
		m->loss[at] = 1 - (float)row->received / (float)row->sent;
	}
	/* "icmp_raw, udp": each method once */
	if (row->method[0] && !strstr(run->transport, row->method) &&
	    len + strlen(row->method) + 2 < sizeof(run->transport)) {
		snprintf(run->transport + len, sizeof(run->transport) - len,
			 "%s%s", len > 0 ? "," : "", row->method);
	}
	return run_keep_detail(run, at, row->detail);
}

/* ---- segments without a route -------------------------------------------- */

static bool is_unrouted(const struct run *run, size_t at)
{
	return run->cells[at].class == CELL_SKIPPED &&
	       strcmp(run_cell_code(run, at), PING_NO_ROUTE) == 0;
}

/**
 * By their own tables most nodes have a way between two segments, and back:
 * who has none is at fault.  Else nobody expects them to talk, as on a fabric
 * of separate rails: what does not pass between them is no test.
 */
static int settle_routes(struct run *run, struct err *e)
{
	size_t rails = 1;
	int32_t *balance;	/* from each rail to each other one: senders
				 * without a route, less those with one */

	if (!run->mesh->cross) {
		return 0;
	}
	for (int r = 0; r < run->n_ranks; r++) {
		if ((size_t)run->ranks[r].nic >= rails) {
			rails = (size_t)run->ranks[r].nic + 1;
		}
	}
	balance = calloc(rails * rails, sizeof(*balance));
	if (!balance) {
		return err_set(e, ENOMEM, "cannot compare routes");
	}
	run_foreach_cell(run, at) {
		size_t from = (size_t)run->ranks[run_src(run, at)].nic;
		size_t to = (size_t)run->ranks[run_dst(run, at)].nic;

		balance[from * rails + to] +=
			is_unrouted(run, at) ? 1 :
			run_measured(run->cells[at].class) ? -1 : 0;
	}
	run_foreach_cell(run, at) {
		size_t from = (size_t)run->ranks[run_src(run, at)].nic;
		size_t to = (size_t)run->ranks[run_dst(run, at)].nic;
		int32_t there = balance[from * rails + to];
		int32_t back = balance[to * rails + from];
		struct cell *c = &run->cells[at];

		if (!mesh_crosses(run, at) || run_good(c->class)) {
			continue;
		}
		if (there <= 0 && back <= 0 && there + back < 0) {
			c->class = is_unrouted(run, at) ? CELL_FAIL : c->class;
		} else if (is_unrouted(run, at) || cells_failed(c->class)) {
			c->class = CELL_UNPLANNED;
			run->mesh->unrouted++;
		}
	}
	free(balance);
	return 0;
}

/* ---- one way only -------------------------------------------------------- */

/** Take the fact @f, "10.1.0.1 10.1.0.2": its node has heard the first address
 *  ask the second one. */
static void add_heard(struct run *run, const struct ping_run_place *places,
		      const struct fact_row *f)
{
	char from[IP_FACT_SIZE];
	const char *to = strchr(f->value, ' ');
	size_t len = to ? (size_t)(to - f->value) : sizeof(from);
	int s = 0, d;

	if (len >= sizeof(from)) {
		return;
	}
	memcpy(from, f->value, len);
	from[len] = '\0';
	while (s < run->n_ranks && strcmp(mesh_end(run, s)->ip, from) != 0) {
		s++;
	}
	d = find_rank(run, places, f->node, to + 1);
	if (s < run->n_ranks && row_fits(run, s, d) &&
	    run->cells[run_at(run, s, d)].class == CELL_TIMEOUT) {
		run->mesh->heard[run_at(run, s, d)] = 1;
	}
}

/** Find paths that work in one direction only: the other direction is bad; or,
 *  if that one works too, the answers are lost on it. */
static int find_one_way(struct run *run, const struct ping_run_place *places,
			struct err *e)
{
	uint8_t *heard = run->mesh->heard;

	run_foreach_fact(run, f) {
		if (strcmp(f->scope, "ping") == 0 &&
		    strcmp(f->fact, PING_FACT_HEARD) == 0) {
			add_heard(run, places, f);
		}
	}
	run_foreach_cell(run, at) {
		size_t back = run_back(run, at), bad = at;
		unsigned class = run->cells[back].class;
		const char *detail = NULL;

		if (heard[at] && heard[back]) {
			heard[at] = heard[back] = 0;
		} else if (heard[at] && class == CELL_TIMEOUT) {
			bad = back;
			detail = "packets arrive from there, but not in the "
				 "other direction";
		} else if (heard[at] && !cells_failed(class)) {
			detail = "the requests arrive there, but no reply "
				 "comes back";
		}
		if (detail) {
			run->cell_code[bad] = run_code(run, "one_way");
			if (run_keep_detail(run, bad, detail) < 0) {
				return err_set(e, ENOMEM, "cannot keep rows");
			}
		}
	}
	return 0;
}

/** Make the cells, and the list by which rows find theirs. */
static int begin(const struct run_rows *rows, struct err *e)
{
	struct run *run = rows->run;
	struct ping_run_place **list = rows->user, *places;

	if (read_layout(run, e) < 0 || make_cells(run, e) < 0) {
		return -1;
	}
	places = *list = calloc((size_t)run->n_ranks + 1, sizeof(*places));
	if (!places) {
		return err_set(e, ENOMEM, "cannot hold the addresses");
	}
	for (int r = 0; r < run->n_ranks; r++) {
		places[r] = (struct ping_run_place){
			.node = run->nodes[run->ranks[r].node].name,
			.ip = mesh_end(run, r)->ip, .rank = r,
		};
	}
	order_sort(places, (size_t)run->n_ranks, sizeof(*places),
		   place_order);
	return 0;
}

int ping_run_read(const char *dir, struct run *run, struct err *e)
{
	struct ping_run_place *places = NULL;
	const struct run_rows rows = { .schema = &schema_ping, .run = run,
				       .begin = begin, .take = take_row,
				       .user = &places,
				       .misfit = "no path of this run" };
	int rc = run_load(dir, &rows, e);

	if (rc == 0 && (settle_routes(run, e) < 0 ||
			find_one_way(run, places, e) < 0)) {
		run_release(run);
		rc = -1;
	}
	free(places);
	return rc;
}
