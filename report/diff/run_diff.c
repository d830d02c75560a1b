/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/diff/run_diff.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/stats.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "report/base/wrap.h"
#include "report/model/part.h"
#include "report/model/run.h"
#include "report/model/sweep.h"

/* ---- diff ---------------------------------------------------------------- */

static const struct {
	const char *name;
	int code;
} statuses[DIFF_STATUSES] = {
	[DIFF_PASS] = { "pass", CODE_HEALTHY },
	[DIFF_WARN] = { "warn", CODE_HEALTHY },
	[DIFF_FAIL] = { "fail", CODE_FAULT },
	[DIFF_PARTIAL] = { "partial", CODE_PARTIAL },
	[DIFF_UNKNOWN] = { "unknown", CODE_UNABLE },
};

static const char *const change_names[CHANGES] = {
	[CHANGE_NONE] = "not_compared", [CHANGE_SAME] = "same",
	[CHANGE_STILL_BAD] = "still_bad",
	[CHANGE_STILL_SLOW] = "still_slow",
	[CHANGE_WORSE] = "worse",	[CHANGE_BETTER] = "better",
	[CHANGE_BROKE] = "broke",	[CHANGE_MENDED] = "mended",
};

enum diff_status diff_status(size_t compared, size_t bad, size_t slow,
			     size_t missing)
{
	return compared == 0 ? DIFF_UNKNOWN :
	       bad > 0	     ? DIFF_FAIL :
	       missing > 0   ? DIFF_PARTIAL :
	       slow > 0	     ? DIFF_WARN : DIFF_PASS;
}

const char *diff_status_name(enum diff_status status)
{
	return statuses[status].name;
}

int diff_exit(enum diff_status status)
{
	return statuses[status].code;
}

/* ---- run diff words ------------------------------------------------------ */

/** Pairs that are shown one by one. */
#define WORST_MAX 5
/** Parts that are named. */
#define PARTS_MAX 8

/** Cells that both runs measured. */
static size_t compared(const struct run_diff *d)
{
	size_t n = 0;

	for (int c = CHANGE_SAME; c < CHANGES; c++) {
		n += d->count[c];
	}
	return n;
}

static size_t worse(const struct run_diff *d)
{
	return d->count[CHANGE_WORSE] + d->count[CHANGE_BROKE];
}

enum diff_status run_diff_status(const struct run_diff *d)
{
	return diff_status(compared(d), worse(d) + d->count[CHANGE_STILL_BAD],
			   d->count[CHANGE_STILL_SLOW], d->missing);
}

static void add_count(size_t n, const char *what, struct str *out)
{
	if (n > 0) {
		str_addf(out, "; %zu %s", n, what);
	}
}

/** "4 GPUs of n2" that @has, by rank, has not got. */
static void add_absent(const struct run *run, const bool *has,
		       const char *where, const struct wrap *w)
{
	char (*names)[64] = calloc((size_t)run->n_nodes + 1, sizeof(*names));
	size_t n = 0, gpus = 0, before;
	struct str text = STR_INIT;

	for (int i = 0; names && i < run->n_nodes; i++) {
		const struct cluster_node *node = &run->nodes[i];

		before = gpus;
		for (int g = 0; g < node->gpus; g++) {
			gpus += !has[node->first_rank + g];
		}
		if (gpus > before) {
			STR_COPY(names[n++], node->name);
		}
	}
	if (n > 0) {
		str_addf(&text, "only in the %s run: %zu %s%s of ", where, gpus,
			 run->ports ? "port" : "GPU", gpus == 1 ? "" : "s");
		part_add_names((const char (*)[64])names, n, &text);
		wrap_line(w, 2, str_text(&text));
	}
	str_release(&text);
	free(names);
}

/** A part that is a little slower on the whole, by no pair of which it shows,
 *  is within what runs differ by. */
static bool got_worse(const struct finding *f)
{
	return f->explained > 0;
}

static void add_parts(const struct run_diff *d, const struct verdict *v,
		      const struct wrap *w)
{
	size_t n = 0;

	verdict_foreach(v, f) {
		if (got_worse(f) && n++ < PARTS_MAX) {
			struct str text = STR_INIT;
			char name[PART_NAME_SIZE];

			wrap_tag(w, "worse", 31);
			str_addf(&text, "%s: %zu of %zu pairs with it",
				 part_name(d->then, &f->part, name,
					   sizeof(name)),
				 f->explained, f->cells);
			wrap_text(w, 6, str_text(&text));
			str_release(&text);
		}
	}
	if (n > PARTS_MAX) {
		str_addf(w->out, "      and %zu more parts\n", n - PARTS_MAX);
	}
}

void run_diff_parts(const struct run_diff *d, const struct verdict *v,
		    struct table *t)
{
	static const struct table_column columns[] = {
		{ .name = "part" }, { .name = "worse", .right = true },
		{ .name = "of", .right = true },
	};
	char name[PART_NAME_SIZE];

	*t = (struct table){ .columns = columns, .n_columns = 3,
			     .title = "Parts whose pairs got worse" };
	verdict_foreach(v, f) {
		if (got_worse(f)) {
			table_add(t, part_name(d->then, &f->part, name,
					       sizeof(name)));
			table_addf(t, "%zu", f->explained);
			table_bar(t, (double)f->explained /
					     (double)f->cells);
			table_addf(t, "%zu", f->cells);
		}
	}
}

/** Lower is worse; what broke is worst. */
static double rank_of(const struct run_diff *d, size_t at)
{
	return d->change[at] == CHANGE_BROKE ? -1 :
	       d->change[at] == CHANGE_WORSE ? (double)d->ratio[at] :
					       INFINITY;
}

/** The worst that comes after the last one shown; false: there is none. */
static bool next_worst(const struct run_diff *d, double after, size_t last,
		       size_t *at)
{
	double best = INFINITY;

	for (size_t i = 0; i < run_n_cells(d->then); i++) {
		double rank = rank_of(d, i);

		if ((rank > after || (rank == after && i > last)) &&
		    rank < best) {
			best = rank;
			*at = i;
		}
	}
	return isfinite(best);
}

static void add_worst(const struct run_diff *d, struct str *out)
{
	char cell[PART_NAME_SIZE], now[UNITS_REAL_SIZE], was[UNITS_REAL_SIZE];
	double after = -INFINITY;
	size_t at = 0;

	for (int i = 0; i < WORST_MAX && next_worst(d, after, at, &at); i++) {
		const struct cell *then = &d->then->cells[at];

		after = rank_of(d, at);
		str_addf(out, "      %s ", part_cell_name(d->then, at, cell));
		if (d->change[at] == CHANGE_BROKE) {
			str_add(out, "passed before, fails now\n");
		} else {
			str_addf(out, "%s GB/s, was %s (%.0f %%)\n",
				 units_real_text((double)(then->bw_GB_s *
							  d->ratio[at]),
						 2, now),
				 units_real_text((double)then->bw_GB_s, 2, was),
				 100 * (double)d->ratio[at]);
		}
	}
}

void run_diff_words(const struct run_diff *d, const struct verdict *v,
		    int width, bool color, struct str *out)
{
	const struct wrap w = { .out = out, .width = width, .color = color };
	bool *then = calloc((size_t)d->then->n_ranks + 1, sizeof(*then));
	bool *now = calloc((size_t)d->now->n_ranks + 1, sizeof(*now));
	struct str counts = STR_INIT;

	str_addf(&counts,
		 "%zu pairs compared: %zu worse, %zu broke, %zu better, "
		 "%zu repaired, %zu the same",
		 compared(d), d->count[CHANGE_WORSE], d->count[CHANGE_BROKE],
		 d->count[CHANGE_BETTER], d->count[CHANGE_MENDED],
		 d->count[CHANGE_SAME]);
	add_count(d->count[CHANGE_STILL_BAD], "failed in both runs", &counts);
	add_count(d->count[CHANGE_STILL_SLOW], "slow in both runs", &counts);
	add_count(d->missing, "measured only in the first run", &counts);
	add_count(d->added, "measured only in the second run", &counts);
	wrap_status(&w, diff_status_name(run_diff_status(d)));
	wrap_text(&w, 6, str_text(&counts));
	str_release(&counts);
	/* the GPUs whose pairs are in one of the runs only */
	for (int r = 0; then && now && r < d->then->n_ranks; r++) {
		if (d->rank_now[r] >= 0) {
			then[r] = now[d->rank_now[r]] = true;
		}
	}
	if (then && now) {
		add_absent(d->then, then, "first", &w);
		add_absent(d->now, now, "second", &w);
	}
	free(then);
	free(now);
	for (int p = 0; p < PATH_CLASSES; p++) {
		if (isfinite(d->median[p])) {
			str_addf(w.out, "      %s: median of new / old %.3f, "
				 "noise up to %.0f %%\n",
				 run_path_words((enum path_class)p),
				 d->median[p], 100 * d->band[p]);
		}
	}
	if (d->by_index) {
		wrap_line(&w, 0, "the runs have no node in common: "
			  "nodes were compared in order");
	}
	add_parts(d, v, &w);
	add_worst(d, out);
}

json_t *run_diff_json(const struct run_diff *d, const struct verdict *v)
{
	json_t *counts = json_object(), *pairs = json_array();
	json_t *parts = json_array();
	char from[80], to[80], name[PART_NAME_SIZE];

	for (int c = 0; c < CHANGES; c++) {
		json_object_set_new(counts,
				    change_names[c],
				    json_integer((json_int_t)d->count[c]));
	}
	run_foreach_cell(d->then, at) {
		const double ratio = (double)d->ratio[at];

		if (d->change[at] < CHANGE_WORSE) {
			continue;
		}
		part_rank_name(d->then, run_src(d->then, at), from,
			       sizeof(from));
		part_rank_name(d->then, run_dst(d->then, at), to, sizeof(to));
		json_array_append_new(pairs, json_pack(
			"{s:o, s:o, s:s, s:o}", "src", json_text(from), "dst",
			json_text(to), "change", change_names[d->change[at]],
			"ratio", isnan(ratio) ? json_null() :
						json_real(ratio)));
	}
	verdict_foreach(v, f) {
		if (!got_worse(f)) {
			continue;
		}
		part_name(d->then, &f->part, name, sizeof(name));
		json_array_append_new(parts, run_entry_json(
			&(struct run_entry){ RUN_ENTRY_NONE,
				.kind = part_kind_name(f->part.kind),
				.name = name, .cells = (int64_t)f->cells,
				.explained = (int64_t)f->explained }));
	}
	return json_pack("{s:s, s:s, s:b, s:o, s:I, s:I, s:o, s:o}", "probe",
			 d->then->probe, "status",
			 diff_status_name(run_diff_status(d)), "regression",
			 worse(d) > 0, "cells", counts, "missing",
			 (json_int_t)d->missing, "added", (json_int_t)d->added,
			 "parts", parts, "pairs", pairs);
}

/* ---- run diff ------------------------------------------------------------ */

/** Ratios for six of them to be above the 87.5th percentile. */
#define ABOVE_LEAST	48

/** The same GPU of the same node; where no node is the same, of the n-th. */
static void match_ranks(struct run_diff *d)
{
	d->by_index = true;
	for (int i = 0; i < d->then->n_nodes && d->by_index; i++) {
		d->by_index = d->then->nodes[i].gpus == 0 ||
			      run_find_gpus(d->now, d->then->nodes[i].name) < 0;
	}
	for (int i = 0; i < d->then->n_nodes; i++) {
		const struct cluster_node *then = &d->then->nodes[i];
		int k = d->by_index ? i < d->now->n_nodes ? i : -1 :
				      run_find_gpus(d->now, then->name);

		for (int g = 0; g < then->gpus; g++) {
			d->rank_now[then->first_rank + g] =
				k >= 0 && g < d->now->nodes[k].gpus ?
					d->now->nodes[k].first_rank + g : -1;
		}
	}
}

/** The cell now that cell @at of then is; NULL: none. */
static const struct cell *cell_now(const struct run_diff *d, size_t at)
{
	int src = d->rank_now[run_src(d->then, at)];
	int dst = d->rank_now[run_dst(d->then, at)];

	return src < 0 || dst < 0 ? NULL : run_cell(d->now, src, dst);
}

/** Median of the ratios of one path class, and how far from 1 is noise;
 *  @ratios has room for all of them. */
static void find_band(struct run_diff *d, enum path_class path, double *ratios)
{
	size_t n = 0;
	double mad, above = INFINITY;

	run_foreach_cell(d->then, at) {
		if (d->then->cells[at].path == path && !isnan(d->ratio[at])) {
			ratios[n++] = (double)d->ratio[at];
		}
	}
	/*
	 * One slow node of four is half of all pairs between nodes, which the
	 * deviation of all takes for noise; but a part that got slower has its
	 * pairs below the rest, so what is above, from the 75th to the 87.5th
	 * percentile, is as wide as chance makes it: of a normal distribution,
	 * 1 / 1.42 of the median deviation.
	 */
	if (n >= ABOVE_LEAST) {
		above = 1.42 * (stats_percentile(ratios, n, 87.5) -
				stats_percentile(ratios, n, 75));
	}
	mad = fmin(stats_mad(ratios, n, &d->median[path]), above);
	d->band[path] = n >= CELLS_SLOW_PEERS ?
			fmax(DIFF_BAND, DIFF_MADS * mad) : DIFF_BAND;
}

static enum cell_change change_of(const struct run_diff *d, size_t at)
{
	const struct cell *then = &d->then->cells[at];
	const struct cell *now = cell_now(d, at);
	double ratio = (double)d->ratio[at], band = d->band[then->path];

	if (!now || !run_measured(then->class) || !run_measured(now->class)) {
		return CHANGE_NONE;
	}
	if (cells_failed(then->class)) {
		return run_good(now->class) ? CHANGE_MENDED : CHANGE_STILL_BAD;
	}
	if (cells_failed(now->class)) {
		return CHANGE_BROKE;
	}
	return ratio < 1 - band ? CHANGE_WORSE :
	       ratio > 1 / (1 - fmin(band, 0.9)) ? CHANGE_BETTER :
	       then->class == CELL_SLOW && now->class == CELL_SLOW ?
						   CHANGE_STILL_SLOW :
						   CHANGE_SAME;
}

/** A cell that only follow-up tests measured is not missing elsewhere: they run
 *  where something failed. */
static bool is_measured(const struct run *run, size_t at)
{
	return run_measured(run->cells[at].class) &&
	       !(run->follow_only && run->follow_only[at]);
}

int run_diff_make(const struct run *then, const struct run *now,
		  struct run_diff *d)
{
	size_t cells = run_n_cells(then), both = 0;
	double *ratios = calloc(cells + 1, sizeof(*ratios));

	*d = (struct run_diff){ .then = then, .now = now };
	d->rank_now = calloc((size_t)then->n_ranks + 1, sizeof(*d->rank_now));
	d->change = calloc(cells + 1, sizeof(*d->change));
	d->ratio = calloc(cells + 1, sizeof(*d->ratio));
	if (!d->rank_now || !d->change || !d->ratio || !ratios) {
		free(ratios);
		run_diff_release(d);
		return -1;
	}
	match_ranks(d);
	for (size_t at = 0; at < cells; at++) {
		const struct cell *c = cell_now(d, at);

		d->ratio[at] = c && run_good(c->class) &&
					       run_good(then->cells[at].class) ?
				       c->bw_GB_s / then->cells[at].bw_GB_s :
				       NAN;
	}
	for (int path = 0; path < PATH_CLASSES; path++) {
		find_band(d, (enum path_class)path, ratios);
	}
	free(ratios);
	run_foreach_cell(then, at) {
		enum cell_change c = change_of(d, at);

		d->change[at] = (uint8_t)c;
		d->count[c] += then->cells[at].class != CELL_UNPLANNED;
		d->missing += c == CHANGE_NONE && is_measured(then, at);
		both += c != CHANGE_NONE &&
			is_measured(now, run_at(now,
					d->rank_now[run_src(then, at)],
					d->rank_now[run_dst(then, at)]));
	}
	run_foreach_cell(now, at) {
		d->added += is_measured(now, at);
	}
	d->added -= both;
	return 0;
}

void run_diff_release(struct run_diff *d)
{
	free(d->rank_now);
	free(d->change);
	free(d->ratio);
	*d = (struct run_diff){ 0 };
}

int run_diff_as_contrast(const struct run_diff *d, struct run *then,
			 const char *then_name, const char *now_name)
{
	size_t cells = run_n_cells(then);
	struct contrast *c = &then->contrast;

	run_drop_contrast(then);
	*c = (struct contrast){ .kind = CONTRAST_SCHEDULE, .pass = "new",
				.then = then_name, .now = now_name };
	STR_COPY(then->schedule, "old");
	then->drill = then->drill || d->now->drill;
	c->outcome = malloc(cells + 1);
	c->bw_GB_s = malloc((cells + 1) * sizeof(*c->bw_GB_s));
	if (!c->outcome || !c->bw_GB_s) {
		return -1;
	}
	for (size_t at = 0; at < cells; at++) {
		const struct cell *now = cell_now(d, at);

		c->outcome[at] = now ? now->outcome : OUTCOME_NOT_RUN;
		c->bw_GB_s[at] = isnan(d->ratio[at]) ? NAN : now->bw_GB_s;
	}
	return 0;
}

void run_diff_as_verdict(struct run_diff *d, struct run *then)
{
	/* facts and events of the older run are not about the change */
	then->n_facts = then->facts_spare = then->facts_cut = 0;
	then->n_slots = 0;
	then->n_events = 0;
	run_drop_contrast(then);
	for (int path = 0; path < PATH_CLASSES; path++) {
		then->slow[path].limit_GB_s = 0;
		then->slow[path].median_GB_s = 1;
	}
	run_foreach_cell(then, at) {
		struct cell *c = &then->cells[at];
		const struct cell *now = cell_now(d, at);

		if (c->class == CELL_UNPLANNED) {
			continue;
		}
		c->flaky = false;
		c->lat_us = NAN;	/* of the older run alone */
		c->class = d->change[at] == CHANGE_BROKE ? now->class :
			   d->change[at] == CHANGE_WORSE ? CELL_SLOW :
			   d->change[at] == CHANGE_NONE ||
			   d->change[at] == CHANGE_STILL_BAD ? CELL_NOT_RUN :
							       CELL_PASS;
	}
	run_diff_judged(d, then);	/* swaps ratios and bandwidths */
}

void run_diff_judged(struct run_diff *d, struct run *then)
{
	run_foreach_cell(then, at) {
		float ratio = d->ratio[at];

		d->ratio[at] = then->cells[at].bw_GB_s;
		then->cells[at].bw_GB_s = ratio;
	}
}

static void add_place(struct table *t, const struct run *run, int rank)
{
	const struct cluster_rank *r = &run->ranks[rank];

	table_add(t, run->nodes[r->node].name);
	table_addf(t, "%d", r->gpu);
}

void run_diff_table(const struct run_diff *d, struct table *t)
{
	static const struct table_column columns[] = {
		{ .name = "src_node" }, { .name = "src_gpu", .right = true },
		{ .name = "dst_node" }, { .name = "dst_gpu", .right = true },
		{ .name = "change" }, { .name = "old_GB_s", .right = true },
		{ .name = "new_GB_s", .right = true },
		{ .name = "ratio", .right = true },
	};

	*t = (struct table){ .columns = columns, .n_columns = 8,
			     .title = "Pairs that changed" };
	run_foreach_cell(d->then, at) {
		if (d->change[at] >= CHANGE_WORSE) {
			add_place(t, d->then, run_src(d->then, at));
			add_place(t, d->then, run_dst(d->then, at));
			table_add(t, change_names[d->change[at]]);
			table_real(t, 6, (double)d->then->cells[at].bw_GB_s);
			table_real(t, 6, (double)cell_now(d, at)->bw_GB_s);
			table_real(t, 6, (double)d->ratio[at]);
			table_bar(t, (double)d->ratio[at]);
		}
	}
}
