/* SPDX-License-Identifier: BSD-3-Clause */
/* Plan the tests that show if a repair has helped. */
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "report/judge/retest.h"

/* ---- retest pairs -------------------------------------------------------- */

/* The pairs of a retest: partners of each part, and controls. */

/** State of retest_plan() while it fills @p. */
struct planner {
	const struct run *run;
	const struct verdict *v;
	struct retest_plan *p;
	uint8_t *found;		/* a node each: a finding names it */
	int *controls;		/* nodes without a finding, then the others */
	size_t n_controls, n_well;
	bool inter, intra;	/* such pairs were measured */
	json_t *ends;		/* of the part at hand; NULL: of controls */
};

static void add_end(const struct planner *w, int node, int gpu)
{
	str_addf(&w->p->pairs, "%s:", w->run->nodes[node].name);
	if (gpu < 0) {
		str_addch(&w->p->pairs, '*');
	} else {
		str_addf(&w->p->pairs, "%d", gpu);
	}
}

/* GPU @ga of node @a and @gb of @b, -1: all. */
static void planner_pair(const struct planner *w, int a, int ga, int b, int gb)
{
	str_add(&w->p->pairs, w->p->pairs.len ? "," : "");
	add_end(w, a, ga);
	str_addch(&w->p->pairs, '-');
	add_end(w, b, gb);
	if (w->ends) {
		json_array_append_new(w->ends, json_pack(
			"[s,i,s,i]", w->run->nodes[a].name, ga,
			w->run->nodes[b].name, gb));
	}
}

/** Returns the GPU of @node on the rail of @rank, with the same number if
 *  possible. */
static int gpu_like(const struct run *run, int rank, int node)
{
	const struct cluster_node *n = &run->nodes[node];
	int same = run->ranks[rank].gpu;

	for (int g = 0; g < n->gpus; g++) {
		int like = (same + g) % n->gpus;

		if (run->ranks[n->first_rank + like].nic ==
		    run->ranks[rank].nic) {
			return like;
		}
	}
	return same % n->gpus;
}

/** Returns partner @k for parts of @node; each node begins with another one. */
static int partner(const struct planner *w, int node, size_t k)
{
	size_t well = w->n_well ? w->n_well : w->n_controls;

	return k < well ? w->controls[((size_t)node + k) % well] :
			  w->controls[k];
}

static size_t n_partners(const struct planner *w)
{
	return w->n_controls < RETEST_PARTNERS ? w->n_controls :
						 RETEST_PARTNERS;
}

/* Up to RETEST_PARTNERS others of the node of @rank. */
static void planner_inside(const struct planner *w, int rank)
{
	const struct cluster_rank *r = &w->run->ranks[rank];
	int gpus = w->run->nodes[r->node].gpus;

	for (int k = 1; w->intra && k < gpus && k <= RETEST_PARTNERS; k++) {
		planner_pair(w, r->node, r->gpu, r->node, (r->gpu + k) % gpus);
	}
}

/* Plans tests of @rank with as many partners on other nodes. */
static void planner_outside(const struct planner *w, int rank)
{
	const struct cluster_rank *r = &w->run->ranks[rank];

	for (size_t k = 0; w->inter && k < n_partners(w); k++) {
		int c = partner(w, r->node, k);

		if (c != r->node) {
			planner_pair(w, r->node, r->gpu, c,
				     gpu_like(w->run, rank, c));
		}
	}
}

/* Plans a control of the same kind for each test of @rank, between its
 * partners. */
static void planner_controls(struct planner *w, int rank)
{
	const int node = w->run->ranks[rank].node;
	json_t *ends = w->ends;

	w->ends = NULL;
	for (size_t k = 0; k < n_partners(w); k++) {
		int c = partner(w, node, k);
		int like = w->run->nodes[c].first_rank +
			   gpu_like(w->run, rank, c);

		planner_inside(w, like);
		for (size_t i = k + 1; w->inter && i < n_partners(w); i++) {
			int d = partner(w, node, i);

			planner_pair(w, c, w->run->ranks[like].gpu, d,
				     gpu_like(w->run, rank, d));
		}
	}
	w->ends = ends;
}

/* All of @node, all of which is meant. */
static void planner_node(struct planner *w, int node, bool inside, bool outside)
{
	json_t *ends = w->ends;

	if (inside && w->intra) {
		planner_pair(w, node, -1, node, -1);
	}
	for (size_t k = 0; k < n_partners(w); k++) {
		int c = partner(w, node, k);

		if (outside && w->inter && c != node) {
			planner_pair(w, node, -1, c, -1);
		}
		w->ends = NULL;
		if (inside && w->intra) {
			planner_pair(w, c, -1, c, -1);
		}
		for (size_t i = k + 1; outside && w->inter &&
				       i < n_partners(w); i++) {
			planner_pair(w, c, -1, partner(w, node, i), -1);
		}
		w->ends = ends;
	}
}

/* ---- retest plan --------------------------------------------------------- */

/** Number of cells of a part that is not on a single node, and of good ones. */
#define WIDE_CELLS 24

/* ---- parts --------------------------------------------------------------- */

/** True if @rank is of the part @p, which is on its node; the set-up of a node
 *  is of all its ranks. */
static bool is_of(const struct run *run, const struct part *p, int rank)
{
	return p->kind == PART_CONFIG || part_has(&run->cluster, p, rank);
}

/** Plan the tests of the part @p, which is on one node, or of all of it. */
static void add_on_node(struct planner *w, const struct part *p)
{
	const struct cluster_node *n = &w->run->nodes[p->node];
	int whole = n->gpus == 0;	/* a node without an agent, too */
	bool has[CLUSTER_SOCKETS] = { false };
	int last = -1;
	json_t *ends = w->ends;

	for (int g = 0; g < n->gpus; g++) {
		whole += is_of(w->run, p, n->first_rank + g);
	}
	if (whole > 0 && whole >= n->gpus) {
		planner_node(w, p->node, p->kind != PART_NODE_NETWORK,
			     p->kind != PART_INTRA_NODE);
		return;
	}
	for (int g = 0; g < n->gpus; g++) {
		const int rank = n->first_rank + g;

		if (is_of(w->run, p, rank)) {
			planner_outside(w, rank);
			planner_inside(w, rank);
			planner_controls(w, rank);
		}
	}
	/* the same tests for one GPU of each socket that is not of @p, to tell
	 * the part from its node and its socket */
	w->ends = NULL;
	for (int g = 0; g < n->gpus; g++) {
		const int rank = n->first_rank + g;
		bool *seen = &has[cluster_socket(&w->run->cluster, rank)];

		if (*seen || is_of(w->run, p, rank)) {
			continue;
		}
		*seen = true;
		planner_outside(w, rank);
		if (w->intra && last >= 0) {
			planner_pair(w, p->node, last, p->node, g);
		}
		last = g;
	}
	w->ends = ends;
}

/** Two nodes, or two GPUs; and each with others. */
static void add_between(struct planner *w, const struct part *p)
{
	const bool gpus = p->kind == PART_PAIR && p->index >= 0 &&
			  p->peer_index >= 0;
	const int ends[2][2] = { { p->node, gpus ? p->index : -1 },
				 { p->peer_node, gpus ? p->peer_index : -1 } };
	json_t *list = w->ends;

	planner_pair(w, ends[0][0], ends[0][1], ends[1][0], ends[1][1]);
	w->ends = NULL;
	for (int i = 0; i < 2; i++) {
		const struct cluster_node *n = &w->run->nodes[ends[i][0]];

		for (int g = 0; g < n->gpus; g++) {
			if (!gpus || g == ends[i][1]) {
				planner_outside(w, n->first_rank + g);
			}
		}
	}
	w->ends = list;
}

/** Some of the cells that touch @f and are bad, or of those that do not and
 *  are good, spread over all of them. */
static void add_some(struct planner *w, const struct finding *f, bool bad)
{
	const struct run *run = w->run;
	size_t n = 0, i = 0;

	for (int pass = 0; pass < 2; pass++) {
		const size_t step = n / WIDE_CELLS + 1;

		for (size_t at = 0; at < run_n_cells(run); at++) {
			const unsigned class = run->cells[at].class;
			const int s = run_src(run, at), d = run_dst(run, at);

			if (!run_measured(class) ||
			    (class != CELL_PASS) != bad ||
			    part_touches_at(run, &f->part, at) != bad) {
				continue;
			}
			if (pass == 0) {
				n++;
			} else if (i++ % step == 0) {
				w->found[run->ranks[s].node] |= 2;
				w->found[run->ranks[d].node] |= 2;
				planner_pair(w, run->ranks[s].node,
					     run->ranks[s].gpu,
					     run->ranks[d].node,
					     run->ranks[d].gpu);
			}
		}
	}
}

static bool is_meant(const struct planner *w, const struct finding *f)
{
	bool fails = false;

	for (size_t i = 0; i < w->v->n; i++) {
		fails = fails || w->v->findings[i].fail;
	}
	return f->fail == fails && f->part.kind != PART_PROCESS;
}

/** Returns the GPUs of @node; for a retest that misses some, as many as
 *  before. */
static int gpus_then(const struct run *run, int node)
{
	const json_t *parts = run_file(run->json).retest.parts;
	int most = retest_gpus(run, node);

	for (size_t i = 0; i < json_array_size(parts); i++) {
		const struct run_entry part = run_entry(parts, i);

		if (node >= 0 && part.gpus > most &&
		    part.gpus <= SPEC_MAX_GPUS &&
		    strcmp(part.node, run->nodes[node].name) == 0) {
			most = part.gpus;
		}
	}
	return most;
}

static void add_part(struct planner *w, const struct finding *f)
{
	const struct part *p = &f->part;
	const bool slurm = spec_launcher_is(
		run_file(w->run->json).launcher, LAUNCHER_SLURM);
	const char *nic = p->kind == PART_NIC ? part_nic_name(w->run, p) : "";
	const int gpus = gpus_then(w->run, p->node);
	const int peer_gpus = gpus_then(w->run, p->peer_node);
	char name[PART_NAME_SIZE];
	json_t *json, *ends;

	w->ends = json_array();
	if (w->run->n_ranks == 0) {
		;	/* of a collective the nodes are all there is */
	} else if (p->node >= 0 && p->peer_node >= 0) {
		add_between(w, p);
	} else if (p->node >= 0) {
		add_on_node(w, p);
	} else {
		add_some(w, f, true);
		ends = w->ends;
		w->ends = NULL;
		add_some(w, f, false);
		w->ends = ends;
	}
	json = json_pack(
		"{s:s, s:o, s:o, s:o, s:s, s:b, s:o, s:o}",
		"kind", part_kind_name(p->kind),
		"name", json_text(part_name(w->run, p, name, sizeof(name))),
		"node", verdict_node_json(w->run, p->node),
		"index", p->index >= 0 ? json_integer(p->index) : json_null(),
		"severity", f->fail ? "fail" : "warn",
		"drain", f->drain && slurm && !w->run->drill,
		"pairs", w->ends, "code", json_text(f->code));
	/* by these a retest notices if the part was replaced */
	json_object_set_new(json, "gpus", gpus > 0 ? json_integer(gpus) :
						     json_null());
	json_object_set_new(json, "peer_gpus", peer_gpus > 0 ?
			    json_integer(peer_gpus) : json_null());
	json_object_set_new(json, "peer_node",
			    verdict_node_json(w->run, p->peer_node));
	json_object_set_new(json, "peer_index", p->peer_index >= 0 ?
			    json_integer(p->peer_index) : json_null());
	json_object_set_new(json, "nic", nic[0] ? json_text(nic) :
						  json_null());
	json_array_append_new(w->p->parts, json);
	w->ends = NULL;
}

/* ---- of a retest --------------------------------------------------------- */

/** Part @i of the retest that the run is, which it has left open; NULL: it is
 *  not, and @end behind the last. */
static json_t *left_open(const struct planner *w, size_t i, bool *end)
{
	json_t *parts = run_file(w->run->json).retest.parts;
	struct retested r;

	*end = !retest_part(w->run, w->v, i, &r);
	return !*end && r.state == RETEST_OPEN ? json_array_get(parts, i) :
						 NULL;
}

static int gpu_called(const json_t *list, size_t at)
{
	const json_t *gpu = json_array_get(list, at);

	return json_is_integer(gpu) && json_integer_value(gpu) >= 0 &&
			       json_integer_value(gpu) < SPEC_MAX_GPUS ?
		       (int)json_integer_value(gpu) : -1;
}

/** Adds the tests that an earlier retest left open, so that the next retest
 *  does not forget them. */
static void add_open(struct planner *w)
{
	bool end = false;

	for (size_t i = 0; !end; i++) {
		json_t *part = left_open(w, i, &end), *ends;
		const json_t *pairs = run_entry_of(part).pairs;
		size_t k;

		if (!part) {
			continue;
		}
		json_array_append(w->p->parts, part);
		json_array_foreach(pairs, k, ends) {
			int a = run_find_node(w->run, json_string_value(
					json_array_get(ends, 0)), -1);
			int b = run_find_node(w->run, json_string_value(
					json_array_get(ends, 2)), -1);

			if (a >= 0 && b >= 0) {
				w->found[a] |= 2;
				w->found[b] |= 2;
				planner_pair(w, a, gpu_called(ends, 1), b,
					     gpu_called(ends, 3));
			}
		}
	}
}

/* ---- nodes --------------------------------------------------------------- */

/** Find the nodes that a finding names, or that a retest left open, and as many
 *  controls. */
static void find_nodes(struct planner *w)
{
	const struct run *run = w->run;
	size_t n_found = 0, want;
	bool end = false;

	for (size_t i = 0; i < w->v->n; i++) {
		const struct finding *f = &w->v->findings[i];

		for (int k = 0; is_meant(w, f) && k < run->n_nodes; k++) {
			w->found[k] |= finding_sits_in(f, k) ||
				       f->part.peer_node == k;
		}
	}
	for (size_t i = 0; !end; i++) {
		const json_t *part = left_open(w, i, &end);
		int node = run_find_node(run, run_entry_of(part).node, -1);

		if (node >= 0) {
			w->found[node] = 1;
		}
	}
	for (int k = 0; k < run->n_nodes; k++) {
		n_found += w->found[k];
	}
	/* bisect compares the paths of three nodes, and not those of two */
	want = run->n_ranks == 0 ? 2 : RETEST_PARTNERS;
	want = n_found > want ? n_found : want;
	for (int well = 1; well >= 0; well--) {
		for (int k = 0; k < run->n_nodes && w->n_controls < want;
		     k++) {
			if (w->found[k] != well && (run->n_ranks == 0 ||
						    run->nodes[k].gpus > 0)) {
				w->controls[w->n_controls++] = k;
			}
		}
		w->n_well = well ? w->n_controls : w->n_well;
		if (run->n_ranks == 0) {
			break;
		}
	}
}

int retest_plan(const struct run *run, const struct verdict *v,
		struct retest_plan *p)
{
	struct planner w = { .run = run, .v = v, .p = p };
	bool any = run->n_ranks > 0;	/* a node is named */

	*p = (struct retest_plan){ .parts = json_array() };
	w.found = calloc((size_t)run->n_nodes + 1, 1);
	w.controls = calloc((size_t)run->n_nodes + 1, sizeof(*w.controls));
	for (size_t at = 0; at < run_n_cells(run) && run->n_ranks > 0; at++) {
		bool measured = run_measured(run->cells[at].class);

		w.intra |= measured && run->cells[at].path == PATH_INTRA;
		w.inter |= measured && run->cells[at].path != PATH_INTRA;
	}
	if (w.found && w.controls) {
		find_nodes(&w);
		for (size_t i = 0; i < v->n; i++) {
			if (is_meant(&w, &v->findings[i])) {
				add_part(&w, &v->findings[i]);
			}
		}
		add_open(&w);
		for (int k = 0; k < run->n_nodes; k++) {
			any = any || (w.found[k] & 1);
		}
		/* found, controls, and those of the cells of wide parts */
		for (size_t i = 0; i < w.n_controls; i++) {
			w.found[w.controls[i]] |= 2;
		}
		for (int k = 0; k < run->n_nodes; k++) {
			if (w.found[k] || !any) {
				str_addf(&p->nodes, "%s%s",
					 p->nodes.len ? "," : "",
					 run->nodes[k].name);
			}
		}
		p->n_controls = w.n_well;
	}
	free(w.found);
	free(w.controls);
	return !w.found || !w.controls || p->nodes.failed || p->pairs.failed ?
		       -1 : 0;
}

void retest_plan_release(struct retest_plan *p)
{
	str_release(&p->nodes);
	str_release(&p->pairs);
	json_decref(p->parts);
	*p = (struct retest_plan){ 0 };
}
