/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of pairs: what its rows say of each cell. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/big.h"
#include "lib/data/json.h"
#include "report/model/expected.h"
#include "report/model/run_read.h"
#include "report/symptoms/symptom.h"

/* ---- nvlink -------------------------------------------------------------- */

/** A rank, and those that it has been found to be joined to. */
struct pairs_run_member {
	int lead;		/* a rank that stands for all, or leads there */
	bool seen;		/* ... and bytes have gone by NVLink */
	bool other;		/* ... or by another way, to one of them */
	char cluster[48], clique[12];	/* by its facts, "" = not known */
};

static int lead_of(struct pairs_run_member *m, int r)
{
	while (m[r].lead != r) {
		r = m[r].lead = m[m[r].lead].lead;
	}
	return r;
}

static void join(struct pairs_run_member *m, int a, int b)
{
	int x = lead_of(m, a), y = lead_of(m, b);

	m[x].lead = y;
	m[y].seen |= m[x].seen;
}

/** Find ranks that used another path although their clique has NVLink: it is
 *  not used there. */
static void find_others(const struct run *run, struct pairs_run_member *m)
{
	for (int r = 0; r < run->n_ranks; r++) {
		m[lead_of(m, r)].other |= m[r].other;
	}
	run_foreach_cell(run, at) {
		int lead = lead_of(m, run_src(run, at));

		if (run->cells[at].path == PATH_INTER &&
		    run->cell_way[at] != 0 &&
		    !cluster_is_nvlink(run->paths[run->cell_way[at]]) &&
		    lead == lead_of(m, run_dst(run, at))) {
			m[lead].other = true;
		}
	}
}

static void take_facts(const struct run *run, struct pairs_run_member *m)
{
	int node = -1;

	run_foreach_fact(run, f) {
		int gpu = run_number_in(f->scope, "gpu");
		struct pairs_run_member *r;

		/* The node says that NCCL cannot, or must not, use NVLink to
		 * other nodes. */
		if ((strcmp(f->fact, "NCCL_MNNVL_ENABLE") == 0 &&
		     strcmp(f->value, "0") == 0) ||
		    (strcmp(f->fact, "imex") == 0 &&
		     strcmp(f->value, "running") != 0)) {
			int at = run_find_node(run, f->node, node);

			for (int k = 0; at >= 0 && k < run->nodes[at].gpus;
			     k++) {
				m[run->nodes[at].first_rank + k].other = true;
			}
		}
		node = gpu < 0 ? node : run_find_node(run, f->node, node);
		if (gpu < 0 || node < 0 || gpu >= run->nodes[node].gpus) {
			continue;
		}
		r = &m[run->nodes[node].first_rank + gpu];
		if (strcmp(f->fact, "fabric_cluster") == 0) {
			STR_COPY(r->cluster, f->value);
		} else if (strcmp(f->fact, "fabric_clique") == 0) {
			STR_COPY(r->clique, f->value);
		}
	}
}

/** Return true if the group of @lead has ranks of two nodes. */
static bool spans_nodes(const struct run *run, struct pairs_run_member *m,
			int lead)
{
	for (int r = 0; r < run->n_ranks; r++) {
		if (lead_of(m, r) == lead &&
		    run->ranks[r].node != run->ranks[lead].node) {
			return true;
		}
	}
	return false;
}

static void number_domains(struct run *run, struct pairs_run_member *m)
{
	/* other transports have nothing to do with NVLink between nodes */
	bool by_facts = spec_transport_is(run->transport, XPORT_SETTINGS);

	for (int r = 0; r < run->n_ranks; r++) {
		int lead = lead_of(m, r);

		bool said = by_facts && m[r].cluster[0] && !m[lead].other &&
			    spans_nodes(run, m, lead);

		if (m[lead].seen || said) {
			int *of_lead = &run->ranks[lead].domain;

			*of_lead = *of_lead ? *of_lead : ++run->n_domains;
			run->ranks[r].domain = *of_lead;
		}
	}
}

int nvlink_find(struct run *run)
{
	struct pairs_run_member *m =
		calloc((size_t)run->n_ranks + 1, sizeof(*m));

	if (!m) {
		return -1;
	}
	for (int r = 0; r < run->n_ranks; r++) {
		m[r].lead = r;
	}
	run_foreach_cell(run, at) {	/* where NVLink was observed */
		if (run->cells[at].path != PATH_INTRA &&
		    cluster_is_nvlink(run->paths[run->cell_way[at]])) {
			join(m, run_src(run, at), run_dst(run, at));
			m[lead_of(m, run_src(run, at))].seen = true;
		}
	}
	/* one that failed has no way: its clique says where it belongs */
	take_facts(run, m);
	for (int a = 0; a < run->n_ranks; a++) {
		for (int b = 0; m[a].cluster[0] && b < a; b++) {
			if (strcmp(m[a].cluster, m[b].cluster) == 0 &&
			    strcmp(m[a].clique, m[b].clique) == 0) {
				join(m, a, b);
				break;	/* the others are joined to that */
			}
		}
	}
	find_others(run, m);
	number_domains(run, m);
	free(m);
	for (size_t at = 0; run->n_domains && at < run_n_cells(run); at++) {
		const struct cluster_rank *s = &run->ranks[run_src(run, at)];
		const struct cluster_rank *d = &run->ranks[run_dst(run, at)];

		if (s->node != d->node && s->domain && s->domain == d->domain &&
		    (run->cell_way[at] == 0 ||
		     cluster_is_nvlink(run->paths[run->cell_way[at]]))) {
			run->cells[at].path = PATH_NVLINK;
		}
	}
	return 0;
}

/* ---- pairs plan ---------------------------------------------------------- */

/* A run of pairs: which ranks there are, and which of their pairs have a cell
 * and were planned. */

static int read_node(const json_t *json, struct cluster_node *node,
		     int first_rank, struct err *e)
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
static void read_nic(const struct run_entry *f,
		     const struct cluster_node *n, int g,
		     struct cluster_rank *r)
{
	const json_t *of = json_array_get(f->nic_used ? f->nic_used : f->nic_of,
					  (size_t)g);
	const char *name;

	if (json_is_integer(of) && json_integer_value(of) >= 0 &&
	    json_integer_value(of) < n->nics) {
		r->nic = (int)json_integer_value(of);
		name = json_string_value(json_array_get(f->nic_names,
							(size_t)r->nic));
		STR_COPY(r->nic_name, name != NULL ? name : "");
	}
}

/** Ranks count node by node; the NIC of a GPU where nobody says it. */
static void fill_ranks(struct run *run)
{
	const json_t *nodes = run_file(run->json).nodes;

	for (int i = 0; i < run->n_nodes; i++) {
		const struct cluster_node *n = &run->nodes[i];
		const struct run_entry f = run_entry(nodes, (size_t)i);

		for (int g = 0; g < n->gpus; g++) {
			struct cluster_rank *r = &run->ranks[n->first_rank + g];

			*r = (struct cluster_rank){
				.node = i,
				.gpu = g,
				.nic = g * n->nics / n->gpus,
			};
			read_nic(&f, n, g, r);
		}
	}
}

/* Nodes and ranks, by run.json. */
static int pairs_read_layout(struct run *run, struct err *e)
{
	json_t *nodes = run_file(run->json).nodes;
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

/** Ranks of different groups cannot reach each other by design: no pair of
 *  those is planned. */
static int read_groups(struct run *run, const json_t *groups, struct err *e)
{
	const json_t *group;
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

/* Mark the planned cells, which are there by now; the coordinator wrote which,
 * once it knew. */
static int pairs_read_plan(struct run *run, struct err *e)
{
	const struct run_file f = run_file(run->json);
	const int kind = str_index(pairs_kinds, f.planned.kind);
	struct grid_pair *list;
	size_t n;

	if (!f.planned.given) {
		return 0;
	}
	if (read_groups(run, f.planned.groups, e) < 0) {
		return -1;
	}
	if (strcmp(f.planned.kind, "list") == 0) {
		list = grid_listed(f.planned.pairs, run->n_ranks, &n, e);
		for (size_t i = 0; list && i < n; i++) {
			size_t at = run_at(run, list[i].src, list[i].dst);

			run->cells[at].class = CELL_NOT_RUN;
		}
		free(list);
		return list ? 0 : -1;
	}
	if (kind < 0 || kind >= PAIRS_NODES) {
		return err_set(e, EINVAL, "run.json: unknown plan '%.40s'",
			       f.planned.kind);
	}
	for (size_t at = 0; at < run_n_cells(run); at++) {
		if (pairs_want(&run->cluster, (enum pairs_kind)kind,
			       f.planned.rails_apart, run_src(run, at),
			       run_dst(run, at))) {
			run->cells[at].class = CELL_NOT_RUN;
		}
	}
	return 0;
}

/* ---- which pairs have a cell --------------------------------------------- */

/* Ranks, attempt and size of a row that the cells can hold. */
static bool pairs_row_fits(const struct run *run, const struct p2p_row *row)
{
	int64_t n = run->n_ranks;

	return row->src_rank >= 0 && row->src_rank < n && row->dst_rank >= 0 &&
	       row->dst_rank < n && row->src_rank != row->dst_rank &&
	       (row->attempt == RECORD_NONE ||
		(row->attempt > 0 && row->attempt < INT32_MAX));
}

/** Facts found before there are cells. */
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

/* Which pairs have a cell: where run.json lists them those, and others that
 * rows in @dir are of, as of the follow-up; else all. */
static int pairs_make_grid(const char *dir, struct run *run, struct err *e)
{
	const struct run_file f = run_file(run->json);
	struct first_look look = {
		.run = run, .size = run->size_B == 0,
		.few = f.planned.pairs && strcmp(f.planned.kind, "list") == 0,
	};
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
		look.pairs = grid_listed(f.planned.pairs, run->n_ranks,
					 &look.n, e);
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

/* ---- pairs run ----------------------------------------------------------- */

/** The number of the attempt that @row is of. */
static int64_t attempt_of(const struct p2p_row *row)
{
	return row->attempt == RECORD_NONE ? 1 : row->attempt;
}

/*
 * A run that was resumed was measured in several goes.  What failed in one and
 * passes in a later one has been mended meanwhile, as far as anybody knows; it
 * is not flaky.
 */

/** One more than can be told apart: it was bad in an earlier go. */
#define MENDED 255

/** Return the number of the go (first run, or resume) that measured @row. */
static uint8_t go_of(const struct run *run, const struct p2p_row *row)
{
	const json_t *resumes = json_object_get(run->json, "resumes");
	uint8_t go = 1;

	for (size_t i = 0; i < json_array_size(resumes); i++) {
		if (go < MENDED - 1 && row->start_utc[0] &&
		    strcmp(row->start_utc, run_entry(resumes, i).utc) >= 0) {
			go++;
		}
	}
	return go;
}

/** cells_decides() of a row of @run, measured in @go. */
static bool row_decides(const struct run *run, const struct p2p_row *row,
			uint8_t go, struct cell_say before)
{
	struct cell_say say = { .attempt = attempt_of(row),
				.outcome = row->outcome, .go = go };

	return cells_decides(say, row->size_B == run->size_B ||
				  row->size_B == RECORD_NONE, before);
}

/** The room for what --contrast measured besides, if it did; the layout is
 *  known.  0, or -1 with @e. */
static int contrast_open(struct run *run, struct err *e)
{
	const json_t *json = json_object_get(run->json, "contrast");
	struct contrast *c = &run->contrast;
	size_t cells = run_n_cells(run);
	char kind[16] = "";

	if (!json) {
		return 0;
	}
	if (json_get_text(json, "kind", kind, sizeof(kind), e) < 0 ||
	    json_get_text(json, "pass", c->pass, sizeof(c->pass), e) < 0) {
		return err_hint(e, "'contrast' of run.json is damaged");
	}
	c->kind = CONTRAST_MEMORY;	/* the last one */
	while (c->kind != CONTRAST_NONE &&
	       strcmp(kind, spec_choice_name("contrast", c->kind)) != 0) {
		c->kind--;
	}
	if (c->kind == CONTRAST_NONE) {
		return err_set(e, EINVAL, "run.json: unknown contrast '%s'",
			       kind);
	}
	c->outcome = malloc(cells + 1);
	c->attempt = calloc(cells + 1, sizeof(*c->attempt));
	c->bw_GB_s = calloc(cells + 1, sizeof(*c->bw_GB_s));
	if (!c->outcome || !c->attempt || !c->bw_GB_s) {
		return err_set(e, ENOMEM, "cannot hold %zu cells twice", cells);
	}
	for (size_t at = 0; at < cells; at++) {
		c->outcome[at] = OUTCOME_NOT_RUN;
		c->bw_GB_s[at] = NAN;
	}
	return 0;
}

/** Return true if @row is of the other pass, if there is one. */
static bool contrast_has(const struct run *run, const struct p2p_row *row)
{
	return run->contrast.outcome &&
	       strcmp(row->schedule, run->contrast.pass) == 0;
}

/** A row of a schedule that is not the cells'. */
static void contrast_add(struct run *run, const struct p2p_row *row)
{
	struct contrast *c = &run->contrast;
	size_t at = run_at(run, (int)row->src_rank, (int)row->dst_rank);

	if (contrast_has(run, row) &&
	    row_decides(run, row, go_of(run, row), (struct cell_say){
		    .attempt = c->attempt[at], .outcome = c->outcome[at] })) {
		c->attempt[at] = (int32_t)attempt_of(row);
		c->outcome[at] = (uint8_t)row->outcome;
		c->bw_GB_s[at] = row->outcome == OUTCOME_OK ?
					 (float)row->bw_GB_s : NAN;
	}
}

/** Length of the PCIe class at the end of one end's path, "/PIX", else 0. */
static size_t pcie_class_len(const char *path)
{
	static const char *const classes[] = {
		"/PIX", "/PXB", "/PHB", "/NODE", "/SYS",
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		size_t len = strlen(classes[i]);

		if (strncmp(path, classes[i], len) == 0 &&
		    (path[len] == '>' || !path[len])) {
			return len;
		}
	}
	return 0;
}

/** Which way, not by which NIC, nor how far that is: "NET/IB/0+1/GDRDMA/PIX"
 *  is "NET/IB/GDRDMA". */
static void plain_path(const char *path, char plain[64])
{
	size_t n = 0;

	while (*path && n < 63) {
		path += *path == '/' ? pcie_class_len(path) : 0;
		if (!*path) {
			break;
		}
		if (*path == '/' && isdigit((unsigned char)path[1])) {
			path += 1 + strspn(path + 1, "0123456789");
			while (*path == '+' &&
			       isdigit((unsigned char)path[1])) {
				path += 1 + strspn(path + 1, "0123456789");
			}
		} else {
			plain[n++] = *path++;
		}
	}
	plain[n] = '\0';
}

/** Planned NICs carry their index in their name; -1 for a real name. */
static int planned_nic(const char *name)
{
	char digit_after = '\0';
	int nic;

	return sscanf(name, "nic%2d%c", &nic, &digit_after) == 1 ? nic : -1;
}

/** A planned index counts, whatever the layout says; a real name tells more
 *  than a planned one, which stands where nothing was measured. */
static void learn_nic(struct run *run, int rank, const char *name)
{
	struct cluster_rank *r = &run->ranks[rank];
	int nic;

	if (name[0] == '\0' || strcmp(name, r->nic_name) == 0) {
		return;	/* nothing new, as in nearly all rows */
	}
	nic = planned_nic(name);
	if ((r->nic_name[0] && (nic >= 0 || planned_nic(r->nic_name) < 0))) {
		return;
	}
	STR_COPY(r->nic_name, name);
	if (nic >= 0 && nic < run->nodes[r->node].nics) {
		r->nic = nic;
	}
}

/** Keep the failure of a cell before a row that passes replaces it. */
static int keep_failure(struct run *run, size_t at)
{
	struct run_failure *f = run->cell_failure[at];

	if (!f) {
		f = run->cell_failure[at] = calloc(1, sizeof(*f));
	}
	if (!f) {
		return -1;
	}
	free(f->detail);
	*f = (struct run_failure){
		.outcome = run->cells[at].outcome,
		.code = run->cell_code[at],
		.detail = run->cell_detail[at],
	};
	run->cell_detail[at] = NULL;
	return 0;
}

/** Note a failure in @row, which does not decide the cell. */
static int note_failure(struct run *run, size_t at, const struct p2p_row *row)
{
	struct run_failure *f = run->cell_failure[at];

	if (f || !cells_failed(cells_class_of(row->outcome)) ||
	    run->cells[at].outcome != OUTCOME_OK) {
		return 0;
	}
	f = run->cell_failure[at] = calloc(1, sizeof(*f));
	if (!f) {
		return -1;
	}
	f->outcome = (uint8_t)row->outcome;
	f->code = run_code(run, symptom_refine(row->code, row->detail));
	f->detail = row->detail[0] ? strdup(row->detail) : NULL;
	return row->detail[0] && !f->detail ? -1 : 0;
}

/** To its cell. */
static int add_row(struct run *run, size_t at, const struct p2p_row *row)
{
	const uint8_t go = go_of(run, row);
	struct cell *cell = &run->cells[at];
	bool good = row->outcome == OUTCOME_OK;
	char plain[64];

	if (cells_failed(cells_class_of(row->outcome))) {
		cell->flaky = go;
	}
	if (!row_decides(run, row, go, (struct cell_say){
			.attempt = cell->attempt, .outcome = cell->outcome,
			.go = run->cell_go[at] })) {
		return note_failure(run, at, row);
	}
	if (good && cell->flaky && cell->flaky != go) {
		cell->flaky = MENDED;
	}
	if (good && cell->flaky && cell->outcome != OUTCOME_OK &&
	    keep_failure(run, at) < 0) {
		return -1;
	}
	run->cell_go[at] = go;
	run->cell_row[at] = (uint32_t)run->line;
	cell->attempt = (int32_t)attempt_of(row);
	cell->outcome = (uint8_t)row->outcome;
	cell->class = (uint8_t)cells_class_of(row->outcome);
	cell->bw_GB_s = good ? (float)row->bw_GB_s : NAN;
	cell->lat_us = good ? (float)row->lat_us : NAN;
	cell->expected_GB_s = (float)row->expected_GB_s;
	run->cell_code[at] = run_code(
		run, cells_failed(cell->class) ?
			     symptom_refine(row->code, row->detail) :
			     row->code);
	/* that of the row before is known */
	if (run->last_way == 0 || strcmp(row->path, run->last_path) != 0) {
		plain_path(row->path, plain);
		run->last_way = run_path(run, plain);
		STR_COPY(run->last_path, row->path);
	}
	run->cell_way[at] = run->last_way;
	return run_keep_detail(run, at, good ? "" : row->detail);
}

static int take_row(void *user, const void *data)
{
	const struct p2p_row *row = data;
	struct run *run = user;
	size_t at;
	int own;

	if (!pairs_row_fits(run, row)) {
		return 1;
	}
	at = run_at(run, (int)row->src_rank, (int)row->dst_rank);
	if (at == run_n_cells(run)) {
		return 1;
	}
	run->rows++;
	learn_nic(run, (int)row->src_rank, row->src_nic);
	learn_nic(run, (int)row->dst_rank, row->dst_nic);
	if (strcmp(row->start_utc, run->last_utc) > 0) {
		STR_COPY(run->last_utc, row->start_utc);
	}
	if (strcmp(row->schedule, P2P_FOLLOW_UP) == 0) {
		own = follow_take(run, row);
		if (own == 0 && run_measured(cells_class_of(row->outcome))) {
			own = follow_adopt(run, at);
		}
		/* where only the follow-up has measured the cell, or where it
		 * failed, this is one more attempt */
		return own > 0 ? add_row(run, at, row) : own;
	}
	/* Other schedules are other experiments; retries run in none, but for
	 * those of the other pass of a run that was resumed. */
	if ((attempt_of(row) <= 1 || contrast_has(run, row)) &&
	    row->schedule[0] && run->schedule[0] &&
	    strcmp(row->schedule, run->schedule) != 0) {
		contrast_add(run, row);
		return 0;
	}
	return add_row(run, at, row);
}

/** Rows come in the order of the rounds, cells stand in that of the ranks: what
 *  is kept of the pair of @data is asked for while another row is taken. */
static void fetch_cell(void *user, const void *data)
{
	const struct p2p_row *row = data;
	const struct run *run = user;
	size_t at;

	if (run->grid.first || !pairs_row_fits(run, row)) {
		return;		/* there are few, or none */
	}
	at = run_at(run, (int)row->src_rank, (int)row->dst_rank);
	__builtin_prefetch(&run->cells[at], 1);
	__builtin_prefetch(&run->cell_go[at], 1);
	__builtin_prefetch(&run->cell_row[at], 1);
	__builtin_prefetch(&run->cell_code[at], 1);
	__builtin_prefetch(&run->cell_way[at], 1);
	__builtin_prefetch(&run->cell_detail[at]);
}

/** Into the cells; no such file means no rows. */
static int read_rows(const char *dir, struct run *run, struct err *e)
{
	struct run_rows rows = { .schema = run->schema, .take = take_row,
				 .ahead = fetch_cell, .user = run,
				 .run = run, .line = &run->line,
				 .misfit = "no pair of this run" };

	run->cell_row = big_calloc(run_n_cells(run) + 1,
				   sizeof(*run->cell_row));
	if (!run->cell_row) {
		return err_set(e, ENOMEM, "cannot hold %zu cells",
			       run_n_cells(run));
	}

	if (run_take_results(dir, &rows, e) < 0) {
		return -1;
	}
	for (size_t i = 0; i < run_n_cells(run); i++) {
		struct cell *c = &run->cells[i];
		bool good = c->outcome == OUTCOME_OK;

		run->mended += good && c->flaky == MENDED;
		c->flaky = good && c->flaky && c->flaky != MENDED;
	}
	return 0;
}

int run_read(const char *dir, struct run *run, struct err *e)
{
	if (run_begin(run, dir, &schema_p2p, e) == 0 &&
	    pairs_read_layout(run, e) == 0 &&
	    pairs_make_grid(dir, run, e) == 0 && run_make_cells(run, e) == 0 &&
	    contrast_open(run, e) == 0 && pairs_read_plan(run, e) == 0 &&
	    read_rows(dir, run, e) == 0 && run_read_sides(dir, run, e) == 0 &&
	    expected_read(dir, &run->expected, e) == 0) {
		if (nvlink_find(run) == 0 &&
		    expected_apply(run, &run->expected) == 0) {
			return 0;
		}
		err_set(e, ENOMEM, "cannot judge %d ranks", run->n_ranks);
	}
	run_release(run);
	return -1;
}
