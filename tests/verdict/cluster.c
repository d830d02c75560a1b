/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/verdict/cluster.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "probes/plan/ask.h"
#include "probes/plan/plan.h"
#include "probes/plan/retry.h"
#include "probes/sim/model.h"
#include "report/draw/draw.h"
#include "report/draw/picture.h"
#include "report/judge/findings.h"
#include "report/judge/pairs.h"
#include "report/model/run.h"
#include "report/show/judged.h"

#define NOISE	   0.02
#define MAX_DEATHS 2
#define MAX_CODES  32

struct loop {
	const struct cluster_model *model;
	const struct layout *layout;
	struct run *run;
	int *deaths;		/* of each rank */
};

static void *need(void *p)
{
	if (!p) {
		abort();
	}
	return p;
}

/** As nodes say it under Slurm. */
static void add_leaves(const int *leaf_of, struct run *run)
{
	/* room for those that add_retired() may add */
	run->facts = need(calloc((size_t)(run->n_nodes + run->n_ranks) + 1,
				 sizeof(*run->facts)));
	for (int i = 0; leaf_of && i < run->n_nodes; i++) {
		struct fact_row *f = &run->facts[run->n_facts];

		if (leaf_of[i] >= 0) {
			STR_COPY(f->node, run->nodes[i].name);
			STR_COPY(f->scope, "node");
			STR_COPY(f->fact, "leaf_switch");
			snprintf(f->value, sizeof(f->value), "leaf%d",
				 leaf_of[i]);
			run->n_facts++;
		}
	}
	if (run_find_leaves(run) < 0) {
		abort();
	}
}

void cluster_layout(const struct layout *l, const int *leaf_of,
		    struct run *run)
{
	*run = (struct run){ 0 };
	run->nodes = need(calloc((size_t)l->n_nodes + 1, sizeof(*run->nodes)));
	run->ranks = need(calloc((size_t)l->n_ranks + 1, sizeof(*run->ranks)));
	run->n_nodes = l->n_nodes;
	run->n_ranks = l->n_ranks;
	run->grid = grid_square(l->n_ranks);
	for (int i = 0; i < l->n_nodes; i++) {
		run->nodes[i].first_rank = l->nodes[i].first_rank;
		run->nodes[i].gpus = l->nodes[i].gpus;
		run->nodes[i].nics = l->nodes[i].nics;
		STR_COPY(run->nodes[i].name, l->nodes[i].name);
	}
	for (int r = 0; r < l->n_ranks; r++) {
		run->ranks[r].node = l->ranks[r].node;
		run->ranks[r].gpu = l->ranks[r].gpu;
		run->ranks[r].nic = l->ranks[r].nic;
		run->ranks[r].group = l->ranks[r].group;
	}
	add_leaves(leaf_of, run);
}

/** Of pairs that nobody planned. */
static const struct cell no_cell = {
	.bw_GB_s = NAN, .lat_us = NAN, .expected_GB_s = NAN,
	.class = CELL_UNPLANNED,
};

void cluster_cells(struct run *run)
{
	size_t n = run_n_cells(run);

	run->cells = need(calloc(n + 1, sizeof(*run->cells)));
	run->cell_code = need(calloc(n + 1, sizeof(*run->cell_code)));
	run->cell_detail = need(calloc(n + 1, sizeof(*run->cell_detail)));
	run->cell_way = need(calloc(n + 1, sizeof(*run->cell_way)));
	run->codes = need(calloc(MAX_CODES, sizeof(*run->codes)));
	run->paths = need(calloc(MAX_CODES, sizeof(*run->paths)));
	run->n_codes = run->n_paths = 1;
	run->cells[n] = no_cell;
	for (size_t at = 0; at < n; at++) {
		int src = run_src(run, at), dst = run_dst(run, at);

		run->cells[at] = (struct cell){
			.bw_GB_s = NAN, .lat_us = NAN, .expected_GB_s = NAN,
			.class = src == dst ? CELL_UNPLANNED : CELL_NOT_RUN,
			.path = run->ranks[src].node == run->ranks[dst].node ?
				PATH_INTRA : PATH_INTER,
		};
	}
}

static uint16_t word(void *words, size_t size, size_t *n, const char *text)
{
	char *list = words;

	for (size_t i = 0; i < *n; i++) {
		if (strcmp(list + i * size, text) == 0) {
			return (uint16_t)i;
		}
	}
	if (*n == MAX_CODES || strlen(text) >= size) {
		abort();
	}
	memcpy(list + *n * size, text, strlen(text));
	return (uint16_t)(*n)++;
}

static void take(struct loop *l, size_t at, int attempt, enum outcome outcome,
		 const char *code, const struct xport_result *r)
{
	struct run *run = l->run;
	struct cell *c = &run->cells[at];
	bool ok = outcome == OUTCOME_OK;

	if (r && cluster_is_nvlink(r->path)) {
		c->path = PATH_NVLINK;	/* as rows_note() */
	}
	c->flaky = ok && (c->flaky || cells_failed(c->class));
	c->attempt = attempt;
	c->outcome = (uint8_t)outcome;
	c->class = (uint8_t)cells_class_of(outcome);
	c->bw_GB_s = ok ? (float)r->bw_GB_s : NAN;
	c->lat_us = ok ? (float)r->lat_us : NAN;
	c->expected_GB_s = l->model->line ?
		(float)l->model->line(l->model->ctx, run_src(run, at),
				      run_dst(run, at)) : NAN;
	run->cell_code[at] = word(run->codes, sizeof(*run->codes),
				  &run->n_codes, code);
	run->cell_way[at] = word(run->paths, sizeof(*run->paths),
				 &run->n_paths, r ? r->path : "");
}

static bool works(void *ctx, int rank)
{
	const struct loop *l = ctx;

	return l->deaths[rank] < MAX_DEATHS;
}

/** Both ways of a pair; a crash of one takes the other's turn as well. */
static int do_task(void *ctx, const struct task *t)
{
	struct loop *l = ctx;

	for (int back = 0; back < 2; back++) {
		int src = back ? t->b : t->a, dst = back ? t->a : t->b;
		size_t at = run_at(l->run, src, dst);
		struct xport_result r;
		int end;

		if (!(t->dirs & (back ? TASK_BA : TASK_AB))) {
			continue;
		}
		if (!works(l, src) || !works(l, dst)) {
			take(l, at, t->attempt, OUTCOME_SKIPPED,
			     "rank_retired", NULL);
			continue;
		}
		end = l->model->test(l->model->ctx, src, dst, t->attempt, &r);
		take(l, at, t->attempt, r.outcome, r.code, &r);
		if (r.outcome == OUTCOME_CRASHED) {
			l->deaths[end]++;
		}
	}
	return 0;
}

static void add_retired(struct loop *l)
{
	struct run *run = l->run;

	for (int r = 0; r < run->n_ranks; r++) {
		struct fact_row *f = &run->facts[run->n_facts];

		if (works(l, r)) {
			continue;
		}
		STR_COPY(f->node, run->nodes[run->ranks[r].node].name);
		snprintf(f->scope, sizeof(f->scope), "gpu%d",
			 run->ranks[r].gpu);
		STR_COPY(f->fact, "state");
		STR_COPY(f->value, "retired");
		run->n_facts++;
	}
}

/** Cells for what is planned, of a sample for that alone. */
static void make_cells(struct run *run, const struct plan *plan,
		       const struct pairs *pairs)
{
	struct grid_pair *list;

	if (pairs && pairs->rounds > 0) {
		list = need(calloc(2 * plan->n + 1, sizeof(*list)));
		for (size_t i = 0; i < plan->n; i++) {
			const struct task *t = &plan->tasks[i];

			list[2 * i] = (struct grid_pair){ t->a, t->b };
			list[2 * i + 1] = (struct grid_pair){ t->b, t->a };
		}
		if (grid_of(&run->grid, run->n_ranks, list, 2 * plan->n) < 0) {
			abort();
		}
		free(list);
	}
	cluster_cells(run);
}

/** What is not planned. */
static void leave_out(struct run *run, const struct plan *plan)
{
	for (size_t at = 0; at < run_n_cells(run); at++) {
		run->cells[at].class = CELL_UNPLANNED;
	}
	for (size_t i = 0; i < plan->n; i++) {
		const struct task *t = &plan->tasks[i];

		run->cells[run_at(run, t->a, t->b)].class = CELL_NOT_RUN;
		run->cells[run_at(run, t->b, t->a)].class = CELL_NOT_RUN;
	}
}

/** @layout as the coordinator has it, by its cells; free() the ranks. */
static struct layout seen_by(const struct layout *layout,
			     const struct grid *g, struct cell *cells)
{
	const size_t size = (size_t)layout->n_ranks * sizeof(*layout->ranks);
	struct layout seen = *layout;

	seen.ranks = memcpy(need(malloc(size)), layout->ranks, size);
	seen.grid = *g;
	seen.cells = cells;
	cluster_find_domains(&seen.cluster);
	return seen;
}

void cluster_run_of(const struct layout *layout, const int *leaf_of,
		    const struct cluster_model *model, struct run *run)
{
	static const struct retry_ops again = {
		.works = works, .queue = do_task,
	};
	static const struct pairs all = { .kind = PAIRS_ALL };
	struct loop l = { .model = model, .layout = layout, .run = run };
	struct layout seen;
	struct slow_limit limits[PATH_CLASSES];
	struct plan plan;

	cluster_layout(layout, leaf_of, run);
	run->json = need(json_object());
	run->size_B = CLUSTER_SIZE_B;
	run->ended = true;
	run->ports = model->ports;
	STR_COPY(run->probe, model->ports ? "ib" : "p2p");
	STR_COPY(run->transport, "sim");
	STR_COPY(run->schedule, "nic");
	l.deaths = need(calloc((size_t)layout->n_ranks + 1,
			       sizeof(*l.deaths)));
	if (plan_pairs(layout, model->pairs ? model->pairs : &all, &plan,
		       NULL) < 0) {
		abort();
	}
	make_cells(run, &plan, model->pairs);
	leave_out(run, &plan);
	for (size_t i = 0; i < plan.n; i++) {
		do_task(&l, &plan.tasks[i]);
	}
	plan_release(&plan);
	cells_mark_slow(run->cells, run_n_cells(run), 0, limits);
	seen = seen_by(layout, &run->grid, run->cells);
	retry_choose(&seen, RETRY_BROKEN, &again, &l);
	retry_choose(&seen, RETRY_SLOW, &again, &l);
	free(seen.ranks);
	add_retired(&l);
	free(l.deaths);
	if (nvlink_find(run) < 0 ||
	    expected_read(NULL, &run->expected, NULL) < 0 ||
	    expected_apply(run, &run->expected) < 0 ||
	    levels_mark_slow(run) < 0 || leaves_infer(run) < 0) {
		abort();
	}
}

/** The follow-up of a sample, as the coordinator has it: what that sees are the
 *  cells that were planned, as they were before. */
struct look {
	struct loop l;
	struct grid grid;
	struct cell *cells;	/* NULL: all pairs, and those of the run */
	struct task *tasks;	/* that are asked for */
	size_t n;
	struct ask_plan plan;
};

/** A test of the follow-up, as a run that is read has its row. */
static void look_one(struct look *k, const struct task *t, int src, int dst)
{
	struct loop *l = &k->l;
	struct p2p_row row = {
		.src_rank = src, .dst_rank = dst,
		.attempt = t->attempt, .size_B = CLUSTER_SIZE_B,
	};
	size_t at = run_at(l->run, src, dst);
	struct xport_result r;
	int own;

	l->model->test(l->model->ctx, src, dst, t->attempt, &r);
	ask_hear(&k->plan, src, dst, r.outcome);
	row.outcome = r.outcome;
	row.bw_GB_s = r.bw_GB_s;
	row.lat_us = r.lat_us;
	own = follow_take(l->run, &row) < 0 ? -1 : follow_adopt(l->run, at);
	if (own < 0) {
		abort();
	}
	if (own > 0 && run_good(l->run->cells[at].class) &&
	    r.outcome != OUTCOME_OK) {
		l->run->cells[at].flaky = true;
	} else if (own > 0) {
		take(l, at, t->attempt, r.outcome, r.code, &r);
	}
}

static int look_later(void *ctx, const struct task *t)
{
	struct look *k = ctx;

	k->tasks = need(realloc(k->tasks, (k->n + 1) * sizeof(*t)));
	k->tasks[k->n++] = *t;
	return 0;
}

static bool look_works(void *ctx, int rank)
{
	return works(&((struct look *)ctx)->l, rank);
}

/** Move what is kept of each cell of @old to where it is now. */
static void *moved(const struct run *run, const struct grid *old, void *from,
		   size_t size)
{
	char *to = need(calloc(run_n_cells(run) + 1, size));

	for (size_t at = 0; at < old->n; at++) {
		size_t now = run_at(run, grid_src(old, at), grid_dst(old, at));

		memcpy(to + now * size, (char *)from + at * size, size);
	}
	free(from);
	return to;
}

/** Cells for the pairs that are asked for, of a sample. */
static void add_cells(struct look *k)
{
	struct run *run = k->l.run;
	struct grid old = run->grid;
	size_t n = 0;
	struct grid_pair *list = need(calloc(old.n + 2 * k->n + 1,
					     sizeof(*list)));

	for (; n < old.n; n++) {
		list[n] = (struct grid_pair){ grid_src(&old, n),
					      grid_dst(&old, n) };
	}
	for (size_t i = 0; i < k->n; i++) {
		const struct task *t = &k->tasks[i];

		list[n++] = (struct grid_pair){ t->a, t->b };
		list[n++] = (struct grid_pair){ t->b, t->a };
	}
	if (grid_of(&run->grid, run->n_ranks, list, n) < 0) {
		abort();
	}
	free(list);
	run->cells = moved(run, &old, run->cells, sizeof(*run->cells));
	run->cell_code = moved(run, &old, run->cell_code,
			       sizeof(*run->cell_code));
	run->cell_detail = moved(run, &old, run->cell_detail,
				 sizeof(*run->cell_detail));
	run->cell_way = moved(run, &old, run->cell_way,
			      sizeof(*run->cell_way));
	run->cell_line = moved(run, &old, run->cell_line,
			       sizeof(*run->cell_line));
	if (run->follow_only) {
		run->follow_only = moved(run, &old, run->follow_only, 1);
	}
	for (size_t i = 0; i < run->n_follow; i++) {
		size_t at = run->follow[i].at;

		run->follow[i].at = run_at(run, grid_src(&old, at),
					   grid_dst(&old, at));
	}
	for (size_t at = 0; at < run_n_cells(run); at++) {
		int src = run_src(run, at), dst = run_dst(run, at);

		if (grid_find(&old, src, dst) == old.n) {
			run->cells[at] = no_cell;
			run->cells[at].path =
				run->ranks[src].node == run->ranks[dst].node ?
					PATH_INTRA : PATH_INTER;
		}
	}
	run->cells[run_n_cells(run)] = no_cell;
	grid_release(&old);
}

static void look_again(struct look *k)
{
	if (k->n > 0 && k->cells) {
		add_cells(k);
	}
	for (size_t i = 0; i < k->n; i++) {
		const struct task *t = &k->tasks[i];

		if (t->dirs & TASK_AB) {
			look_one(k, t, t->a, t->b);
		}
		if (t->dirs & TASK_BA) {
			look_one(k, t, t->b, t->a);
		}
	}
	k->n = 0;
}

/** What the coordinator has of a sample is its own. */
static void keep_seen(struct look *k)
{
	const struct run *run = k->l.run;
	size_t n = run_n_cells(run);
	struct grid_pair *list = need(calloc(n + 1, sizeof(*list)));

	k->cells = need(calloc(n + 1, sizeof(*k->cells)));
	memcpy(k->cells, run->cells, (n + 1) * sizeof(*k->cells));
	for (size_t at = 0; at < n; at++) {
		list[at] = (struct grid_pair){ run_src(run, at),
					       run_dst(run, at) };
	}
	if (grid_of(&k->grid, run->n_ranks, list, n) < 0) {
		abort();
	}
	free(list);
}

static void judge(struct run *run, struct verdict *v)
{
	if (verdict_compute(run, v) < 0) {
		abort();
	}
}

void cluster_follow(const struct layout *layout,
		    const struct cluster_model *model, struct run *run)
{
	static const struct retry_ops again = {
		.works = look_works, .queue = look_later,
	};
	struct look k = { .l = { .model = model, .layout = layout,
				 .run = run } };
	struct layout seen;
	struct ask_plan *plan = &k.plan;
	size_t most, taken = 1;

	k.l.deaths = need(calloc((size_t)run->n_ranks + 1,
				 sizeof(*k.l.deaths)));
	if (run->grid.first) {
		keep_seen(&k);
	}
	most = 64 + (size_t)(ASK_SHARE * (double)run_n_cells(run) / 2);
	seen = seen_by(layout, k.cells ? &k.grid : &run->grid,
		       k.cells ? k.cells : run->cells);
	if (ask_init(plan, &seen) < 0) {
		abort();
	}
	plan->ports = model->ports;
	plan->rails_apart = model->pairs && model->pairs->rails_apart;
	for (int i = 0; i < ask_rounds(run->n_ranks) && taken > 0; i++) {
		struct verdict v;
		json_t *json;

		judge(run, &v);
		json = need(verdict_json(run, &v));
		taken = ask_take(plan, json, NULL) == 0 ?
				ask_next(plan, most, &again, &k) : 0;
		look_again(&k);
		json_decref(json);
		verdict_release(&v);
	}
	ask_release(plan);
	free(seen.ranks);
	grid_release(&k.grid);
	free(k.cells);
	free(k.tasks);
	free(k.l.deaths);
}

static int sim_test(void *ctx, int src, int dst, int attempt,
		    struct xport_result *r)
{
	const struct sim *m = ctx;

	sim_cell(m, src, dst, attempt, CLUSTER_SIZE_B, r);
	if (cluster_path(&m->layout->cluster, src, dst) == PATH_NVLINK &&
	    r->outcome == OUTCOME_OK) {
		STR_COPY(r->path, "P2P/MNNVL");
	}
	return drill_effect(m->drill, m->layout, src, dst, attempt, m->seed)
		.end;
}

void cluster_run(const struct layout *l, const int *leaf_of,
		 const struct drill *d, uint64_t seed, struct run *run)
{
	struct sim sim = { .layout = l, .drill = d, .seed = seed,
			   .noise = NOISE };
	struct cluster_model model = { .test = sim_test, .ctx = &sim };

	cluster_run_of(l, leaf_of, &model, run);
	run->drill = true;
}

void cluster_release(struct run *run)
{
	run_release(run);
}

void cluster_run_pairs(const struct layout *l, const int *leaf_of,
		       const struct drill *d, const struct pairs *pairs,
		       uint64_t seed, struct run *run)
{
	struct sim sim = { .layout = l, .drill = d, .seed = seed,
			   .noise = NOISE };
	struct cluster_model model = { .test = sim_test, .ctx = &sim,
				       .pairs = pairs };

	cluster_run_of(l, leaf_of, &model, run);
	run->drill = true;
	cluster_follow(l, &model, run);
}

struct pictures {
	const struct verdict *verdict;
	json_t *hashes;		/* by name */
};

static int add_picture(const struct figure *f, void *arg)
{
	struct pictures *all = arg;
	unsigned char hash[16];
	char text[2 * sizeof(hash) + 1];
	struct picture picture;
	struct str svg = STR_INIT;

	if (figure_picture(f, all->verdict, &picture) == 0) {
		picture_svg(&picture, &svg);
		crypto_generichash(hash, sizeof(hash),
				   (const unsigned char *)str_text(&svg),
				   svg.len, NULL, 0);
		hash_hex(hash, sizeof(hash), text);
		json_object_set_new(all->hashes, f->name, json_string(text));
	}
	picture_release(&picture);
	str_release(&svg);
	return 0;
}

/** The rows of results-final.csv, as tests/golden/counts.py takes them. */
static json_t *rows_json(const struct run *run)
{
	json_t *rows = need(json_array());

	for (size_t at = 0; at < run_n_cells(run); at++) {
		const struct cell *c = &run->cells[at];
		int s = run_src(run, at), d = run_dst(run, at);
		const struct cluster_rank *a = &run->ranks[s];
		const struct cluster_rank *b = &run->ranks[d];

		if (s != d && c->class < CELL_CLASSES) {
			char nics[2][16];

			/* where ranks are ports, a NIC is one of these */
			snprintf(nics[0], sizeof(nics[0]), "nic%d",
				 run->ports ? a->gpu : a->nic);
			snprintf(nics[1], sizeof(nics[1]), "nic%d",
				 run->ports ? b->gpu : b->nic);
			json_array_append_new(rows, need(json_pack(
				"[s i s s i s s i b b]",
				run->nodes[a->node].name,
				a->gpu, nics[0], run->nodes[b->node].name,
				b->gpu, nics[1], cell_class_name(c->class),
				c->flaky ? 2 : 1,
				c->path == PATH_NVLINK,
				follow_has(run, at))));
		}
	}
	return rows;
}

static void record(const char *file, struct run *run, struct verdict *v)
{
	struct judged j = { .kind = &judged_pairs, .run = *run, .verdict = *v,
			    .dir = "run" };
	struct pictures all = { .verdict = v, .hashes = need(json_object()) };
	struct str words = STR_INIT;
	FILE *f = need(fopen(file, "a"));
	json_t *line;

	if (judged_words(&j, 80, false, TERM_ASCII, &words) < 0 ||
	    figures_each(run, v, add_picture, &all) < 0) {
		abort();
	}
	line = need(json_pack("{so ss so so}", "verdict", verdict_json(run, v),
			      "words", str_text(&words), "pictures",
			      all.hashes, "rows", rows_json(run)));
	if (json_dumpf(line, f, JSON_COMPACT) < 0 || fputc('\n', f) == EOF ||
	    fclose(f) != 0) {
		abort();
	}
	json_decref(line);
	str_release(&words);
}

/** Ends the program if a bad test is neither in a finding nor forgiven by a
 *  rule that has a note, or if the counts of the verdict do not add up. */
static void check_account(const struct run *run, const struct verdict *v)
{
	size_t bad = 0, untouched = 0, forgiven = 0;

	for (size_t i = 0; i < v->n_notes; i++) {
		const char *kind = v->notes[i].kind;

		forgiven += strcmp(kind, "rails") != 0 &&
			    strcmp(kind, "retried") != 0 ?
				    v->notes[i].tests : 0;
	}
	for (size_t at = 0; at < run_n_cells(run); at++) {
		/* if nothing passes, one finding says so of all */
		bool touched = v->cells[CELL_PASS] + v->cells[CELL_SLOW] == 0;

		if (!cells_failed(run->cells[at].class) &&
		    run->cells[at].class != CELL_SLOW) {
			continue;
		}
		for (size_t i = 0; i < v->n && !touched; i++) {
			const struct finding *f = &v->findings[i];

			touched = part_touches_at(run, &f->part, at);
			for (size_t k = 0; k < f->n_or; k++) {
				touched |= part_touches_at(
					run, &f->or_parts[k], at);
			}
		}
		bad++;
		untouched += !touched;
	}
	if (v->account.open > 0 || v->account.bad != bad ||
	    v->account.named + forgiven != bad || untouched > forgiven ||
	    (v->n == 0 && v->account.named > 0)) {
		fprintf(stderr, "%zu bad tests, %zu in no finding: %zu are "
			"named, %zu forgiven, %zu were passed over by all "
			"judges\n", bad, untouched, v->account.named,
			forgiven, v->account.open);
		abort();
	}
}

/** Percentage of the bad tests that may be in findings without a part, and a
 *  number of them that may in any case: those of a pair. */
#define LOOSE_PERCENT 5
#define LOOSE_FEW     2

/** Ends the program if more bad tests are in findings without a part: those of
 *  tests that no part explains, and unless @pairs are broken those of lone
 *  pairs. */
static void check_parts(const struct run *run, const struct verdict *v,
			bool pairs)
{
	size_t bad = 0, loose = 0;

	/* a part that fails a few of its tests may be left as pairs */
	for (size_t at = 0; at < run_n_cells(run); at++) {
		if (run->cells[at].flaky) {
			return;
		}
		bad += cells_failed(run->cells[at].class) ||
		       run->cells[at].class == CELL_SLOW;
	}
	verdict_foreach(v, f) {
		bool named = pairs || f->part.kind != PART_PAIR;

		for (size_t i = 0; i < f->n_or; i++) {
			named |= f->or_parts[i].kind != PART_PAIR;
		}
		loose += f->scatter || !named ? f->explained : 0;
	}
	if (loose > LOOSE_FEW && loose * 100 > bad * LOOSE_PERCENT) {
		fprintf(stderr, "%zu of %zu bad tests are in findings without "
			"a part\n", loose, bad);
		abort();
	}
}

void cluster_judge(struct run *run, bool pairs, struct verdict *v)
{
	const char *file = getenv("GOLDEN");

	judge(run, v);
	check_account(run, v);
	check_parts(run, v, pairs);
	if (file) {
		record(file, run, v);
	}
}
