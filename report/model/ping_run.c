/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/ping_run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/data/record_rows.h"
#include "report/model/run_read.h"

/* ---- mesh plan ----------------------------------------------------------- */

/** Paths: where each address asks each other one, those of 4,096. */
#define CELLS_MAX ((size_t)4096 * 4096)

static bool is_v6(const struct mesh_end *end)
{
	return strchr(end->ip, ':') != NULL;
}

/* That of @run, whose nodes are known. */
static struct mesh_plan mesh_plan_read(const struct run *run)
{
	const struct run_file f = run_file(run->json);
	const int64_t groups = f.planned.n_groups;

	return (struct mesh_plan){
		.list = { .nodes = run->n_nodes, .seed = f.planned.seed,
			  .groups = groups > 0 && groups <= run->n_nodes ?
					    (int)groups : 1 },
		.cross = f.planned.cross,
		.by_rail = f.planned.by_rail,
	};
}

/* Return true if a path from rank @s to rank @d was planned. The addresses of
 * both are known. */
static bool mesh_plan_has(const struct mesh_plan *plan, const struct run *run,
			  int s, int d)
{
	const struct mesh_end *a = mesh_end(run, s), *b = mesh_end(run, d);

	if (run->ranks[s].node == run->ranks[d].node ||
	    !pinglist_has(&plan->list, run->ranks[s].node,
			  run->ranks[d].node)) {
		return false;
	}
	if (!a->ip[0] || !b->ip[0]) {
		return true;	/* a node that never came: what it has is
				 * not known */
	}
	return is_v6(a) == is_v6(b) &&
	       (plan->cross || strcmp(a->segment, b->segment) == 0 ||
		(plan->by_rail && run->ranks[s].nic == run->ranks[d].nic));
}

/** The paths from node @a to node @b behind the @n of @pairs, or where that is
 *  NULL their number alone; how many there are now. */
static size_t list_paths(const struct run *run, const struct mesh_plan *plan,
			 int a, int b, struct grid_pair *pairs, size_t n)
{
	const struct cluster_node *x = &run->nodes[a], *y = &run->nodes[b];

	for (int s = x->first_rank; s < x->first_rank + x->gpus; s++) {
		for (int d = y->first_rank; d < y->first_rank + y->gpus; d++) {
			if (!mesh_plan_has(plan, run, s, d)) {
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

static size_t list_pairs(const struct run *run, const struct mesh_plan *plan,
			 struct grid_pair *pairs)
{
	size_t n = 0;

	for (int a = 0; a < run->n_nodes; a++) {
		for (int b = 0; b < run->n_nodes; b++) {
			if (a != b && pinglist_has(&plan->list, a, b)) {
				n = list_paths(run, plan, a, b, pairs, n);
			}
		}
	}
	return n;
}

static int too_many(const struct run *run, struct err *e)
{
	err_set(e, E2BIG, "the paths between %d addresses are more than can be "
		"judged", run->n_ranks);
	return err_hint(e, "--subnet or --ifname: a rail at a time; "
			"results.csv has all rows");
}

/* Which paths of @run have a cell: where not all nodes ask all, those that are
 * planned; else all of a square.  0, or -1 with @e: no memory, or more than can
 * be judged. */
static int mesh_plan_grid(const struct mesh_plan *plan, struct run *run,
			  struct err *e)
{
	const size_t ranks = (size_t)run->n_ranks;
	struct grid_pair *pairs;
	size_t n;
	int rc;

	if (plan->list.groups < 2) {
		run->grid = grid_square(run->n_ranks);
		return ranks * ranks > CELLS_MAX ? too_many(run, e) : 0;
	}
	n = list_pairs(run, plan, NULL);
	if (n > CELLS_MAX) {
		return too_many(run, e);
	}
	pairs = calloc(n + 1, sizeof(*pairs));
	rc = pairs ? 0 : -1;
	if (pairs) {
		list_pairs(run, plan, pairs);
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

/** A node that never came is one cell to each; one that was left out, none. */
static size_t ends_of(const struct run_entry *node)
{
	const size_t n = json_array_size(node->ends);

	return n || node->here ? n : 1;
}

static int read_node(const json_t *nodes, struct run *run, int i,
		     struct err *e)
{
	struct cluster_node *n = &run->nodes[i];
	const struct run_entry said = run_entry(nodes, (size_t)i);

	n->first_rank = i ? run->nodes[i - 1].first_rank +
				    run->nodes[i - 1].gpus : 0;
	n->gpus = (int)ends_of(&said);
	n->nics = 1;
	if (json_get_text(json_array_get(nodes, (size_t)i), "name", n->name,
			  sizeof(n->name), e) < 0) {
		return -1;
	}
	for (int g = 0; g < n->gpus; g++) {
		int rank = n->first_rank + g;
		const json_t *end = json_array_get(said.ends, (size_t)g);

		run->ranks[rank] = (struct cluster_rank){ .node = i, .gpu = g };
		if (end && read_end(end, run, rank, e) < 0) {
			return -1;
		}
		if (run->ranks[rank].nic >= n->nics) {
			n->nics = run->ranks[rank].nic + 1;
		}
	}
	return 0;
}

static int read_layout(struct run *run, struct err *e)
{
	const json_t *nodes = run_file(run->json).nodes;
	size_t n = json_array_size(nodes), ranks = 0, i;

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
		if (read_node(nodes, run, (int)i, e) < 0) {
			return err_hint(e, "'nodes' of run.json is damaged");
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

static void plan_cells(struct run *run, const struct mesh_plan *plan)
{
	run->mesh->cross = plan->cross;
	run_foreach_cell(run, at) {
		int s = run_src(run, at), d = run_dst(run, at);
		bool known = mesh_end(run, s)->ip[0] && mesh_end(run, d)->ip[0];

		if (mesh_plan_has(plan, run, s, d)) {
			set_cell(run, at, known ? CELL_NOT_RUN : CELL_SKIPPED,
				 known ? OUTCOME_NOT_RUN : OUTCOME_SKIPPED,
				 known ? "" : "agent_missing");
		}
	}
}

/** Allocate the mesh's data of each cell. */
static int grow_mesh(struct run *run, struct err *e)
{
	struct mesh *m = mesh_new((size_t)run->n_ranks, run_n_cells(run));

	if (!m) {
		return err_set(e, ENOMEM, "cannot hold %zu cells",
			       run_n_cells(run));
	}
	memcpy(m->ends, run->mesh->ends,
	       (size_t)run->n_ranks * sizeof(*m->ends));
	free(run->mesh);
	run->mesh = m;
	return 0;
}

/** The cells of the paths that are planned. */
static int make_cells(struct run *run, struct err *e)
{
	const struct mesh_plan plan = mesh_plan_read(run);

	if (mesh_plan_grid(&plan, run, e) < 0 || grow_mesh(run, e) < 0 ||
	    run_make_cells(run, e) < 0) {
		return -1;
	}
	if (run_file(run->json).planned.given) {
		plan_cells(run, &plan);
	}
	return 0;
}

/* ---- rows ---------------------------------------------------------------- */

/** Ranks by node and address. */
struct ping_run_place {
	const char *node, *ip;
	int rank;
};

/** State that rows and facts need to find their cells. */
struct ping_run_reading {
	struct run *run;
	struct ping_run_place *places;	/* of each rank, sorted */
};

static int place_compare(const void *a, const void *b)
{
	const struct ping_run_place *x = a, *y = b;
	int order = strcmp(x->ip, y->ip);

	return order ? order : strcmp(x->node, y->node);
}

static int make_places(struct ping_run_reading *g, struct err *e)
{
	size_t n = (size_t)g->run->n_ranks;

	g->places = calloc(n + 1, sizeof(*g->places));
	if (!g->places) {
		return err_set(e, ENOMEM, "cannot hold the addresses");
	}
	for (size_t r = 0; r < n; r++) {
		g->places[r] = (struct ping_run_place){
			.node = g->run->nodes[g->run->ranks[r].node].name,
			.ip = mesh_end(g->run, (int)r)->ip, .rank = (int)r,
		};
	}
	qsort(g->places, n, sizeof(*g->places), place_compare);
	return 0;
}

static int find_rank(const struct ping_run_reading *g, const char *node,
		     const char *ip)
{
	const struct ping_run_place key = { .node = node, .ip = ip };
	const struct ping_run_place *found =
		bsearch(&key, g->places, (size_t)g->run->n_ranks, sizeof(key),
			place_compare);

	return found ? found->rank : -1;
}

/** "icmp_raw, udp": each method once. */
static void add_method(struct run *run, const char *method)
{
	size_t len = strlen(run->transport);

	if (method[0] && !strstr(run->transport, method) &&
	    len + strlen(method) + 2 < sizeof(run->transport)) {
		if (len > 0) {
			run->transport[len++] = ',';
		}
		str_copy(run->transport + len, sizeof(run->transport) - len,
			 method);
	}
}

static int add_row(struct run *run, const struct ping_row *row, int s, int d)
{
	size_t at = run_at(run, s, d);
	struct cell *c = &run->cells[at];
	bool good = row->outcome == OUTCOME_OK;
	bool lossy = good && strcmp(row->code, PING_LOSS) == 0;

	set_cell(run, at, lossy ? CELL_SLOW : cells_class_of(row->outcome),
		 row->outcome, row->code);
	c->lat_us = good ? (float)row->rtt_avg_us : NAN;
	if (row->sent > 0 && row->received >= 0) {
		run->mesh->loss[at] = 1 - (float)row->received /
						  (float)row->sent;
	}
	add_method(run, row->method);
	return run_keep_detail(run, at, row->detail);
}

/** A node that said no more: its cells without a row share its reason. */
static int add_end(struct run *run, const struct ping_row *row)
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

static int take_row(void *user, const void *data)
{
	const struct ping_row *row = data;
	const struct ping_run_reading *g = user;
	int s = find_rank(g, row->src_node, row->src_ip);
	int d = find_rank(g, row->dst_node, row->dst_ip);

	if (row->dst_node[0] == '\0') {
		return add_end(g->run, row);
	}
	if (!row_fits(g->run, s, d)) {
		return 1;
	}
	g->run->rows++;
	return add_row(g->run, row, s, d);
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

/** "10.1.0.1 10.1.0.2": node @f->node has heard the first ask the second. */
static void add_heard(const struct ping_run_reading *g,
		      const struct fact_row *f)
{
	struct run *run = g->run;
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
	d = find_rank(g, f->node, to + 1);
	if (s < run->n_ranks && row_fits(run, s, d) &&
	    run->cells[run_at(run, s, d)].class == CELL_TIMEOUT) {
		run->mesh->heard[run_at(run, s, d)] = 1;
	}
}

static int set_one_way(struct run *run, size_t at, const char *detail)
{
	run->cell_code[at] = run_code(run, "one_way");
	return run_keep_detail(run, at, detail);
}

/** Paths that work in one direction only: the other direction is bad; or, if
 *  that one works too, the answers are lost on it. */
static int name_one_way(struct run *run)
{
	uint8_t *heard = run->mesh->heard;

	run_foreach_cell(run, at) {
		size_t back = run_back(run, at);
		unsigned class = run->cells[back].class;
		int rc = 0;

		if (heard[at] && heard[back]) {
			heard[at] = heard[back] = 0;
		} else if (heard[at] && class == CELL_TIMEOUT) {
			rc = set_one_way(run, back, "packets arrive from "
					 "there, but not in the other "
					 "direction");
		} else if (heard[at] && !cells_failed(class)) {
			rc = set_one_way(run, at, "the requests arrive there, "
					 "but no reply comes back");
		}
		if (rc < 0) {
			return -1;
		}
	}
	return 0;
}

static int read_heard(const struct ping_run_reading *g, struct err *e)
{
	struct run *run = g->run;

	for (size_t i = 0; i < run->n_facts; i++) {
		if (strcmp(run->facts[i].scope, "ping") == 0 &&
		    strcmp(run->facts[i].fact, PING_FACT_HEARD) == 0) {
			add_heard(g, &run->facts[i]);
		}
	}
	return name_one_way(run) < 0 ? err_set(e, ENOMEM, "cannot keep rows") :
				       0;
}

int ping_run_read(const char *dir, struct run *run, struct err *e)
{
	struct ping_run_reading g = { .run = run };
	const struct run_rows rows = { .schema = &schema_ping, .user = &g,
				       .take = take_row, .run = run,
				       .misfit = "no path of this run" };
	int rc = -1;

	if (run_begin(run, dir, &schema_ping, e) == 0 &&
	    read_layout(run, e) == 0 && make_cells(run, e) == 0) {
		rc = make_places(&g, e);
	}
	if (rc == 0 && (run_take_results(dir, &rows, e) < 0 ||
			run_read_sides(dir, run, e) < 0 ||
			settle_routes(run, e) < 0 ||
			read_heard(&g, e) < 0)) {
		rc = -1;
	}
	free(g.places);
	if (rc < 0) {
		run_release(run);
	}
	return rc;
}
