/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of pairs: which ranks there are, and which of their pairs have a cell
 * and were planned. */
#include "report/model/pairs_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "report/model/run_read.h"

static int read_node(const json_t *json, struct run_node *node, int first_rank,
		     struct err *e)
{
	int64_t gpus = 0, nics = 0;

	if (json_get_text(json, "name", node->name, sizeof(node->name),
			  e) < 0 ||
	    json_get_int(json, "gpus", 0, SPEC_MAX_RANKS, &gpus, e) < 0 ||
	    json_opt_int(json, "nics", 0, SPEC_MAX_RANKS, &nics, e) < 0) {
		return -1;
	}
	node->first_rank = first_rank;
	node->gpus = (int)gpus;
	node->nics = (int)(nics ? nics : gpus);
	return 0;
}

/** The NIC of GPU @g of @json, which has @n, as it was planned, or is known to
 *  be used. */
static void read_nic(const json_t *json, const struct run_node *n, int g,
		     struct run_rank *r)
{
	const json_t *used = json_object_get(json, "nic_used");
	const json_t *of = json_array_get(
		used ? used : json_object_get(json, "nic_of"), (size_t)g);
	const json_t *names = json_object_get(json, "nic_names");
	const char *name;

	if (json_is_integer(of) && json_integer_value(of) >= 0 &&
	    json_integer_value(of) < n->nics) {
		r->nic = (int)json_integer_value(of);
		name = json_string_value(json_array_get(names, (size_t)r->nic));
		STR_COPY(r->nic_name, name != NULL ? name : "");
	}
}

/** Ranks count node by node; the NIC of a GPU where nobody says it. */
static void fill_ranks(struct run *run)
{
	const json_t *nodes = json_object_get(run->json, "nodes");

	for (int i = 0; i < run->n_nodes; i++) {
		const struct run_node *n = &run->nodes[i];

		for (int g = 0; g < n->gpus; g++) {
			struct run_rank *r = &run->ranks[n->first_rank + g];

			*r = (struct run_rank){
				.node = i,
				.gpu = g,
				.nic = g * n->nics / n->gpus,
			};
			read_nic(json_array_get(nodes, (size_t)i), n, g, r);
		}
	}
}

int pairs_read_layout(struct run *run, struct err *e)
{
	json_t *nodes = json_object_get(run->json, "nodes");
	size_t n = json_array_size(nodes);

	/* A job that never came up has none. */
	if (n > SPEC_MAX_NODES) {
		return err_set(e, 0, "run.json: %zu nodes, at most %d", n,
			       SPEC_MAX_NODES);
	}
	run->nodes = calloc(n + 1, sizeof(*run->nodes));
	if (!run->nodes) {
		return err_set(e, ENOMEM, "cannot hold %zu nodes", n);
	}
	for (size_t i = 0; i < n; i++) {
		if (read_node(json_array_get(nodes, i), &run->nodes[i],
			      run->n_ranks, e) < 0) {
			return err_hint(e, "'nodes' of run.json is damaged");
		}
		run->n_ranks += run->nodes[i].gpus;
		run->n_nodes++;
		if (run->n_ranks > SPEC_MAX_RANKS) {
			return err_set(e, 0, "run.json: more than %d ranks",
				       SPEC_MAX_RANKS);
		}
	}
	run->ranks = calloc((size_t)run->n_ranks + 1, sizeof(*run->ranks));
	if (!run->ranks) {
		return err_set(e, ENOMEM, "cannot hold %d ranks", run->n_ranks);
	}
	fill_ranks(run);
	return 0;
}

static const struct planned_kind {
	const char *name;
	bool intra, inter;	/* pairs inside a node, between nodes */
	bool rail;		/* of these, those of one rail only */
} planned_kinds[] = {
	{ .name = "all",   .intra = true, .inter = true },
	{ .name = "inter", .inter = true },
	{ .name = "intra", .intra = true },
	{ .name = "rail",  .inter = true, .rail = true },
	{ 0 }
};

static bool is_planned(const struct planned_kind *kind,
		       const struct run_rank *s, const struct run_rank *d)
{
	return s->group != d->group  ? false :
	       s->node == d->node ?
		       kind->intra && s != d :
		       kind->inter && (!kind->rail || s->nic == d->nic);
}

static void plan_kind(struct run *run, const struct planned_kind *kind)
{
	for (size_t at = 0; at < run_n_cells(run); at++) {
		if (is_planned(kind, &run->ranks[run_src(run, at)],
			       &run->ranks[run_dst(run, at)])) {
			run->cells[at].class = CELL_NOT_RUN;
		}
	}
}

/** Ranks of different groups cannot reach each other by design: no pair of
 *  those is planned. */
static int read_groups(struct run *run, const json_t *planned, struct err *e)
{
	const json_t *groups = json_object_get(planned, "groups"), *group;
	size_t i;

	if (groups && json_array_size(groups) != (size_t)run->n_ranks) {
		return err_set(e, EINVAL, "run.json: 'groups' is not one for "
			       "each of %d ranks", run->n_ranks);
	}
	json_array_foreach(groups, i, group) {
		/* any number will do: who has the same one is of it */
		run->ranks[i].group = (int)json_integer_value(group);
	}
	return 0;
}

static int plan_list(struct run *run, const json_t *planned, struct err *e)
{
	size_t n;
	struct grid_pair *list = grid_listed(planned, run->n_ranks, &n, e);

	for (size_t i = 0; list && i < n; i++) {
		run->cells[run_at(run, list[i].src, list[i].dst)].class =
			CELL_NOT_RUN;
	}
	free(list);
	return list ? 0 : -1;
}

int pairs_read_plan(struct run *run, struct err *e)
{
	const json_t *planned = json_object_get(run->json, "planned");
	const char *kind = json_string_value(json_object_get(planned, "kind"));

	if (!planned) {
		return 0;
	}
	if (read_groups(run, planned, e) < 0) {
		return -1;
	}
	if (kind && strcmp(kind, "list") == 0) {
		return plan_list(run, planned, e);
	}
	for (const struct planned_kind *k = planned_kinds; k->name; k++) {
		if (kind && strcmp(kind, k->name) == 0) {
			struct planned_kind plan = *k;

			plan.rail |= json_is_true(json_object_get(
				planned, "rails_apart"));
			plan_kind(run, &plan);
			return 0;
		}
	}
	return err_set(e, EINVAL, "run.json: unknown plan '%.40s'",
		       kind ? kind : "");
}

/* ---- which pairs have a cell --------------------------------------------- */

bool pairs_row_fits(const struct run *run, const struct p2p_row *row)
{
	int64_t n = run->n_ranks;

	return row->src_rank >= 0 && row->src_rank < n && row->dst_rank >= 0 &&
	       row->dst_rank < n && row->src_rank != row->dst_rank &&
	       (row->attempt == RECORD_NONE ||
		(row->attempt > 0 && row->attempt < INT32_MAX));
}

/** What is found out before there are cells. */
struct first_look {
	struct run *run;
	bool size;		/* run.json does not say it */
	bool few;		/* run.json lists the pairs; these, and those
				 * of rows: */
	struct grid_pair *pairs;
	size_t n, others;
};

/** The pair of @row, which nobody listed, both ways. */
static int add_other(struct first_look *l, const struct p2p_row *row)
{
	const struct grid_pair out = { (int)row->src_rank, (int)row->dst_rank };
	const struct grid_pair back = { out.dst, out.src };
	struct grid_pair *list = l->pairs;

	if ((l->others & (l->others - 1)) == 0) {	/* a power of two */
		list = realloc(list, (l->n + 2 * l->others + 2) *
					     sizeof(*list));
	}
	if (!list) {
		return -1;
	}
	l->pairs = list;
	list[l->n++] = out;
	list[l->n++] = back;
	l->others++;
	return 0;
}

static int look_first(void *user, const void *data)
{
	struct first_look *l = user;
	const struct p2p_row *row = data;
	struct run *run = l->run;

	if (l->size) {	/* the largest one */
		run->size_B = row->size_B > run->size_B ? row->size_B :
							  run->size_B;
	}
	return l->few && pairs_row_fits(run, row) &&
			       l->others < RUN_MAX_OTHER &&
			       run_at(run, (int)row->src_rank,
				      (int)row->dst_rank) == run_n_cells(run) ?
		       add_other(l, row) : 0;
}

static int list_grid(struct first_look *l, struct err *e)
{
	grid_release(&l->run->grid);
	return grid_of(&l->run->grid, l->run->n_ranks, l->pairs, l->n) < 0 ?
		       err_set(e, ENOMEM, "cannot hold %zu pairs", l->n) : 0;
}

int pairs_make_grid(const char *dir, struct run *run, struct err *e)
{
	const json_t *planned = json_object_get(run->json, "planned");
	struct first_look look = { .run = run, .size = run->size_B == 0,
				   .few = grid_list(planned) };
	const struct run_rows rows = { .schema = run->schema,
				       .take = look_first, .user = &look };
	int rc = 0;

	run->grid = grid_square(run->n_ranks);
	if (!look.few && run->n_ranks > SPEC_MAX_SQUARE) {
		return err_set(e, 0, "run.json: all pairs of %d ranks, at "
			       "most of %d can be read", run->n_ranks,
			       SPEC_MAX_SQUARE);
	}
	if (look.few) {
		look.pairs = grid_listed(planned, run->n_ranks, &look.n, e);
		rc = look.pairs ? list_grid(&look, e) : -1;
	}
	if (rc == 0 && (look.few || look.size)) {
		rc = run_take_results(dir, &rows, e);
	}
	if (rc == 0 && look.others > 0) {
		rc = list_grid(&look, e);
	}
	free(look.pairs);
	return rc;
}
