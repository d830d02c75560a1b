/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of pairs: what its rows say of each cell. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/data/cells.h"
#include "lib/data/json.h"
#include "report/model/run.h"
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

/** Give each group of joined ranks that NVLink connects, as seen or by facts,
 *  the number of a domain. */
static void number_domains(struct run *run, struct pairs_run_member *m)
{
	/* other transports have nothing to do with NVLink between nodes */
	bool by_facts = spec_transport_is(run->transport, XPORT_SETTINGS);

	/* ranks that used another path although their clique has NVLink: it is
	 * not used there */
	for (int r = 0; r < run->n_ranks; r++) {
		m[lead_of(m, r)].other |= m[r].other;
	}
	run_foreach_cell(run, at) {
		int lead = lead_of(m, run_src(run, at));

		if (run->cells[at].path == PATH_INTER &&
		    run->cell_way[at] != 0 &&
		    lead == lead_of(m, run_dst(run, at)) &&
		    !cluster_is_nvlink(run->paths[run->cell_way[at]])) {
			m[lead].other = true;
		}
	}
	for (int r = 0; r < run->n_ranks; r++) {
		int lead = lead_of(m, r), *domain = &run->ranks[lead].domain;

		if (m[lead].seen || (by_facts && m[r].cluster[0] &&
				     !m[lead].other &&
				     spans_nodes(run, m, lead))) {
			*domain = *domain ? *domain : ++run->n_domains;
			run->ranks[r].domain = *domain;
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
		    run->cell_way[at] != 0 &&
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

/** Fill in the ranks, which count node by node, with the NIC that was planned
 *  or is known to be used; run.json may not say it. */
static void fill_ranks(struct run *run)
{
	const json_t *nodes = run_file(run->json).nodes;

	for (int i = 0; i < run->n_nodes; i++) {
		const struct cluster_node *n = &run->nodes[i];
		const struct run_entry f = run_entry(nodes, (size_t)i);
		const json_t *nics = f.nic_used ? f.nic_used : f.nic_of;

		for (int g = 0; g < n->gpus; g++) {
			struct cluster_rank *r = &run->ranks[n->first_rank + g];
			const json_t *nic = json_array_get(nics, (size_t)g);
			const json_int_t of = json_integer_value(nic);
			const char *name = json_string_value(
				json_array_get(f.nic_names, (size_t)of));
			const json_int_t plan = json_integer_value(
				json_array_get(f.nic_of, (size_t)g));

			*r = (struct cluster_rank){
				.node = i,
				.gpu = g,
				.nic = g * n->nics / n->gpus,
				.nic_planned = json_string_value(json_array_get(
					f.nic_names, (size_t)plan)),
			};
			if (json_is_integer(nic) && of >= 0 && of < n->nics) {
				r->nic = (int)of;
				STR_COPY(r->nic_name, name ? name : "");
			}
		}
	}
}

/** Read nodes and ranks from run.json. */
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
		const json_t *json = json_array_get(nodes, i);
		struct cluster_node *node = &run->nodes[i];
		int64_t gpus = 0, nics = 0;

		if (json_get_text(json, "name", node->name, sizeof(node->name),
				  e) < 0 ||
		    json_get_int(json, "gpus", 0, SPEC_MAX_RANKS, &gpus,
				 e) < 0 ||
		    json_opt_int(json, "nics", 0, SPEC_MAX_RANKS, &nics,
				 e) < 0) {
			return err_hint(e, "'nodes' of run.json is damaged");
		}
		node->first_rank = run->n_ranks;
		node->gpus = (int)gpus;
		node->nics = (int)(nics ? nics : gpus);
		run->n_ranks += node->gpus;
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

/* Mark the planned cells, which are there by now; the coordinator wrote which,
 * once it knew. */
static int pairs_read_plan(struct run *run, struct err *e)
{
	const struct run_file f = run_file(run->json);
	const int kind = str_index(pairs_kinds, f.planned.kind);
	const json_t *groups = f.planned.groups, *group;
	struct grid_pair *list;
	size_t n;

	if (!f.planned.given) {
		return 0;
	}
	/* Ranks of different groups cannot reach each other by design: no pair
	 * of those is planned.  Any number names a group. */
	if (groups && json_array_size(groups) != (size_t)run->n_ranks) {
		return err_set(e, EINVAL, "run.json: 'groups' is not one for "
			       "each of %d ranks", run->n_ranks);
	}
	json_array_foreach(groups, n, group) {
		run->ranks[n].group = (int)json_integer_value(group);
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

	return (row->flow <= 0 ||
		(row->lost >= 0 && row->iters >= row->lost)) &&
	       row->src_rank >= 0 && row->src_rank < n && row->dst_rank >= 0 &&
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

static int look_first(const struct run_rows *rows, const void *data)
{
	struct first_look *l = rows->user;
	const struct p2p_row *row = data;
	struct run *run = l->run;
	const struct grid_pair out = { (int)row->src_rank, (int)row->dst_rank };
	struct grid_pair *list = l->pairs;

	if (l->size) {	/* the largest one */
		run->size_B = row->size_B > run->size_B ? row->size_B :
							  run->size_B;
	}
	if (!l->few || !pairs_row_fits(run, row) ||
	    l->others >= RUN_MAX_OTHER ||
	    run_at(run, out.src, out.dst) != run_n_cells(run)) {
		return 0;
	}
	/* a pair that run.json does not list: both ways */
	if ((l->others & (l->others - 1)) == 0) {	/* a power of two */
		list = realloc(list, (l->n + 2 * l->others + 2) *
					     sizeof(*list));
	}
	if (!list) {
		return -1;
	}
	l->pairs = list;
	list[l->n++] = out;
	list[l->n++] = (struct grid_pair){ out.dst, out.src };
	l->others++;
	return 0;
}

static int list_grid(struct first_look *l, struct err *e)
{
	grid_release(&l->run->grid);
	return grid_of(&l->run->grid, l->run->n_ranks, l->pairs, l->n) < 0 ?
		       err_set(e, ENOMEM, "cannot hold %zu pairs", l->n) : 0;
}

/** Give each pair that run.json lists a cell, and each that a row is of, as of
 *  the follow-up; if it lists none, all pairs. */
static int pairs_make_grid(struct run *run, struct err *e)
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
		rc = run_take_results(run->dir, &rows, e);
	}
	if (rc == 0 && look.others > 0) {
		rc = list_grid(&look, e);
	}
	free(look.pairs);
	return rc;
}

/* ---- follow -------------------------------------------------------------- */

/** Rows of one test are adjacent: one per size and direction. */
#define LOOK_BACK (2 * (size_t)SPEC_MAX_SIZES)

int follow_take(struct run *run, const struct p2p_row *row)
{
	size_t at = run_at(run, (int)row->src_rank, (int)row->dst_rank);
	struct cell_say say = {
		.attempt = row->attempt == RECORD_NONE ? 1 : row->attempt,
		.outcome = row->outcome,
	};
	const struct run_follow none = { .at = at,
					 .attempt = (int32_t)say.attempt,
					 .outcome = OUTCOME_NOT_RUN,
					 .bw_GB_s = NAN, .lat_us = NAN };
	bool good = row->outcome == OUTCOME_OK;
	struct run_follow *f = NULL;

	if (run->n_follow >= RUN_MAX_FOLLOW) {
		return 0;
	}
	for (size_t i = run->n_follow;
	     i > 0 && run->n_follow - i < LOOK_BACK && !f; i--) {
		f = run->follow[i - 1].at == at &&
				    run->follow[i - 1].attempt == none.attempt ?
			    &run->follow[i - 1] : NULL;
	}
	f = f ? f : grow_add(&run->follow, &run->n_follow, &none, sizeof(none));
	if (!f) {
		return -1;
	}
	if (cells_decides(say, row->size_B == run->size_B ||
				  row->size_B == RECORD_NONE,
			  (struct cell_say){ .attempt = f->attempt,
					     .outcome = f->outcome })) {
		f->outcome = (uint8_t)row->outcome;
		f->bw_GB_s = good ? (float)row->bw_GB_s : NAN;
		f->lat_us = good ? (float)row->lat_us : NAN;
	}
	return 0;
}

int follow_adopt(struct run *run, size_t at)
{
	if (!run->follow_only) {
		run->follow_only = calloc(run_n_cells(run) + 1, 1);
	}
	if (!run->follow_only) {
		return -1;
	}
	if (run->cells[at].class == CELL_UNPLANNED) {
		run->follow_only[at] = 1;
	}
	return run->follow_only[at] || cells_failed(run->cells[at].class);
}

void follow_count(const struct run *run, size_t count[CELL_CLASSES])
{
	memset(count, 0, CELL_CLASSES * sizeof(*count));
	for (size_t i = 0; i < run->n_follow; i++) {
		count[cells_class_of(run->follow[i].outcome)]++;
	}
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

/** The room for what --compare measured besides, if it did; the layout is
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
	       strcmp(kind, spec_choice_name("compare", c->kind)) != 0) {
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

/** Reduce @path to the way, without NICs and how far they are:
 *  "NET/IB/0+1/GDRDMA/PIX" is "NET/IB/GDRDMA". */
static void plain_path(const char *path, char plain[64])
{
	/* the PCIe class at the end of one end's path */
	static const char *const classes[] = {
		"/PIX", "/PXB", "/PHB", "/NODE", "/SYS",
	};
	size_t n = 0;

	while (*path && n < 63) {
		size_t len = 0, i = 0;

		while (*path == '/' && !len &&
		       i < sizeof(classes) / sizeof(*classes)) {
			len = strlen(classes[i]);
			len = strncmp(path, classes[i++], len) == 0 &&
			      (path[len] == '>' || !path[len]) ? len : 0;
		}
		path += len;
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

/** Keep as the failure of the cell at @at that of @row, which does not decide
 *  the cell; for NULL that of the cell, before a row that passes replaces it.
 *  0, or -1 when memory runs out. */
static int keep_failure(struct run *run, size_t at, const struct p2p_row *row)
{
	struct run_failure *f = run->cell_failure[at];

	if (!f) {
		f = run->cell_failure[at] = calloc(1, sizeof(*f));
	}
	if (!f) {
		return -1;
	}
	free(f->detail);
	if (row) {
		f->outcome = (uint8_t)row->outcome;
		f->code = run_code(run, symptom_refine(row->code, row->detail));
		f->detail = row->detail[0] ? strdup(row->detail) : NULL;
		return row->detail[0] && !f->detail ? -1 : 0;
	}
	f->outcome = run->cells[at].outcome;
	f->code = run->cell_code[at];
	f->detail = run->cell_detail[at];
	run->cell_detail[at] = NULL;
	return 0;
}

/** To its cell. */
static int add_row(struct run *run, size_t at, const struct p2p_row *row)
{
	const uint8_t go = go_of(run, row);
	struct cell *cell = &run->cells[at];
	bool good = row->outcome == OUTCOME_OK;
	bool failed = cells_failed(cells_class_of(row->outcome));
	char plain[64];

	if (failed) {
		cell->flaky = go;
	}
	if (!row_decides(run, row, go, (struct cell_say){
			.attempt = cell->attempt, .outcome = cell->outcome,
			.go = run->cell_go[at] })) {
		return failed && !run->cell_failure[at] &&
				       cell->outcome == OUTCOME_OK ?
			       keep_failure(run, at, row) : 0;
	}
	if (good && cell->flaky && cell->flaky != go) {
		cell->flaky = MENDED;
	}
	if (good && cell->flaky && cell->outcome != OUTCOME_OK &&
	    keep_failure(run, at, NULL) < 0) {
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

/** Count that @row used @used for @rank, whose NIC was planned. */
static void count_other_nic(struct run *run, const struct p2p_row *row,
			    int rank, const char *used)
{
	const char *planned = run->ranks[rank].nic_planned;

	if (planned == NULL || planned[0] == '\0' || used[0] == '\0' ||
	    !str_starts(row->path, "NET/") || planned_nic(used) >= 0 ||
	    str_names_meet(planned, used)) {
		return;
	}
	if (run->nic_other++ == 0) {
		snprintf(run->nic_other_says, sizeof(run->nic_other_says),
			 "%.64s GPU %d used %.40s over %.30s, planned %.40s",
			 run->nodes[run->ranks[rank].node].name,
			 run->ranks[rank].gpu, used, row->path, planned);
	}
}

/** Count @row, of the cell at @at, if NCCL replaced a port of a NIC in it.
 *  Return true if it is of the pass that repeats failed tests for that, whose
 *  rows decide no cell. */
static bool is_failover(struct run *run, const struct p2p_row *row, size_t at)
{
	const bool of_pass = strcmp(row->schedule, P2P_FAILOVER) == 0;
	const bool last = row->size_B == run->size_B;

	if (strcmp(row->code, RECORD_FAILOVER) == 0 && run->failover.n++ == 0) {
		run->failover.at = at;
		STR_COPY(run->failover.says, row->detail);
	}
	run->failover.tests += of_pass && last;
	run->failover.passed += of_pass && last && row->outcome == OUTCOME_OK;
	return of_pass;
}

/** Take what @row, of the cell at @at, says about --flows; 0, or -1 when memory
 *  runs out. */
static int take_flows(struct run *run, const struct p2p_row *row, size_t at)
{
	const double gain = row->flows_GB_s / row->flow_GB_s;

	if (row->flow > 0) {
		return run_add_flow(run, (int)row->src_rank,
				    (int)row->dst_rank, row->iters,
				    row->iters - row->lost, row->detail);
	}
	if (run_count_flows(run, at, row->flows, 0) < 0) {
		return -1;
	}
	return !isfinite(gain) || gain <= 0 ||
			       grow_add(&run->gains, &run->n_gains, &gain,
					sizeof(gain)) ?
		       0 : -1;
}

static int take_row(const struct run_rows *rows, const void *data)
{
	const struct p2p_row *row = data;
	struct run *run = rows->run;
	struct contrast *c = &run->contrast;
	bool of_pass = c->outcome && strcmp(row->schedule, c->pass) == 0;
	size_t at;
	int own;

	if (!pairs_row_fits(run, row)) {
		return 1;
	}
	at = run_at(run, (int)row->src_rank, (int)row->dst_rank);
	if (at == run_n_cells(run)) {
		return 1;
	}
	own = take_flows(run, row, at);
	if (own < 0 || row->flow > 0) {
		return own;
	}
	run->rows++;
	count_other_nic(run, row, (int)row->src_rank, row->src_nic);
	count_other_nic(run, row, (int)row->dst_rank, row->dst_nic);
	learn_nic(run, (int)row->src_rank, row->src_nic);
	learn_nic(run, (int)row->dst_rank, row->dst_nic);
	if (strcmp(row->start_utc, run->last_utc) > 0) {
		STR_COPY(run->last_utc, row->start_utc);
	}
	if (is_failover(run, row, at)) {
		return 0;
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
	if ((attempt_of(row) > 1 && !of_pass) || !row->schedule[0] ||
	    !run->schedule[0] || strcmp(row->schedule, run->schedule) == 0) {
		return add_row(run, at, row);
	}
	if (of_pass &&
	    row_decides(run, row, go_of(run, row), (struct cell_say){
		    .attempt = c->attempt[at], .outcome = c->outcome[at] })) {
		c->attempt[at] = (int32_t)attempt_of(row);
		c->outcome[at] = (uint8_t)row->outcome;
		c->bw_GB_s[at] = row->outcome == OUTCOME_OK ?
					 (float)row->bw_GB_s : NAN;
	}
	return 0;
}

/** Rows come in the order of the rounds, cells stand in that of the ranks: what
 *  is kept of the pair of @data is asked for while another row is taken. */
static void fetch_cell(const struct run_rows *rows, const void *data)
{
	const struct p2p_row *row = data;
	const struct run *run = rows->run;
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

/** Prepare the cells of all pairs, before the rows are read. */
static int begin(const struct run_rows *rows, struct err *e)
{
	struct run *run = rows->run;

	if (pairs_read_layout(run, e) < 0 || pairs_make_grid(run, e) < 0 ||
	    run_make_cells(run, e) < 0 || contrast_open(run, e) < 0 ||
	    pairs_read_plan(run, e) < 0) {
		return -1;
	}
	run->cell_row = cells_calloc(run_n_cells(run) + 1,
				   sizeof(*run->cell_row));
	return run->cell_row ? 0 :
			       err_set(e, ENOMEM, "cannot hold %zu cells",
				       run_n_cells(run));
}

int run_read(const char *dir, struct run *run, struct err *e)
{
	const struct run_rows rows = { .schema = &schema_p2p, .run = run,
				       .begin = begin, .take = take_row,
				       .ahead = fetch_cell,
				       .misfit = "no pair of this run" };

	if (run_load(dir, &rows, e) < 0) {
		return -1;
	}
	run_foreach_cell(run, at) {
		struct cell *c = &run->cells[at];
		bool good = c->outcome == OUTCOME_OK;

		run->mended += good && c->flaky == MENDED;
		c->flaky = good && c->flaky && c->flaky != MENDED;
	}
	if (expected_read(dir, &run->expected, e) == 0) {
		if (nvlink_find(run) == 0 &&
		    expected_apply(run, &run->expected) == 0) {
			return 0;
		}
		err_set(e, ENOMEM, "cannot judge %d ranks", run->n_ranks);
	}
	run_release(run);
	return -1;
}
