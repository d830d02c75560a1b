/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/diff/run_diff.h"

#include <stdlib.h>
#include <string.h>

#include "lib/data/csv.h"
#include "lib/base/stats.h"
#include "report/model/run.h"

/** Ratios for six of them to be above the 87.5th percentile. */
#define ABOVE_LEAST	48

static const char *const change_names[CHANGES] = {
	[CHANGE_NONE] = "not_compared", [CHANGE_SAME] = "same",
	[CHANGE_STILL_BAD] = "still_bad",
	[CHANGE_STILL_SLOW] = "still_slow",
	[CHANGE_WORSE] = "worse",	[CHANGE_BETTER] = "better",
	[CHANGE_BROKE] = "broke",	[CHANGE_MENDED] = "mended",
};

const char *cell_change_name(enum cell_change c)
{
	return change_names[c];
}

/** A node of that name that has GPUs; -1. */
static int node_called(const struct run *run, const char *name)
{
	for (int i = 0; i < run->n_nodes; i++) {
		if (run->nodes[i].gpus > 0 &&
		    strcmp(run->nodes[i].name, name) == 0) {
			return i;
		}
	}
	return -1;
}

static bool have_common_node(const struct run_diff *d)
{
	for (int i = 0; i < d->then->n_nodes; i++) {
		if (d->then->nodes[i].gpus > 0 &&
		    node_called(d->now, d->then->nodes[i].name) >= 0) {
			return true;
		}
	}
	return false;
}

/** The same GPU of the same node; where no node is the same, of the n-th. */
static void match_ranks(struct run_diff *d)
{
	d->by_index = !have_common_node(d);
	for (int i = 0; i < d->then->n_nodes; i++) {
		const struct run_node *then = &d->then->nodes[i];
		int k = !d->by_index	     ? node_called(d->now, then->name) :
			i < d->now->n_nodes ? i : -1;

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

/** How far from their @median the @n ratios are by chance.  One slow node of
 *  four is half of all pairs between nodes, which the deviation of all takes
 *  for noise; but a part that got slower has its pairs below the rest, so what
 *  is above, from the 75th to the 87.5th percentile, is as wide as chance makes
 *  it: of a normal distribution, 1 / 1.42 of the median deviation. */
static double noise_of(double *ratios, size_t n, double *median)
{
	double above = INFINITY;

	if (n >= ABOVE_LEAST) {
		above = 1.42 * (stats_percentile(ratios, n, 87.5) -
				stats_percentile(ratios, n, 75));
	}
	return fmin(stats_mad(ratios, n, median), above);
}

/** Median of the ratios of one path class, and how far from 1 is noise;
 *  @ratios has room for all of them. */
static void find_band(struct run_diff *d, enum path_class path, double *ratios)
{
	size_t n = 0;
	double mad;

	for (size_t at = 0; at < run_n_cells(d->then); at++) {
		if (d->then->cells[at].path == path && !isnan(d->ratio[at])) {
			ratios[n++] = (double)d->ratio[at];
		}
	}
	mad = noise_of(ratios, n, &d->median[path]);
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
	if (run_bad(then->class)) {
		return run_good(now->class) ? CHANGE_MENDED : CHANGE_STILL_BAD;
	}
	if (run_bad(now->class)) {
		return CHANGE_BROKE;
	}
	return ratio < 1 - band ? CHANGE_WORSE :
	       ratio > 1 / (1 - fmin(band, 0.9)) ? CHANGE_BETTER :
	       then->class == CELL_SLOW && now->class == CELL_SLOW ?
						   CHANGE_STILL_SLOW :
						   CHANGE_SAME;
}

/** What tests of the follow-up looked at besides is not missed: they are where
 *  something failed. */
static bool is_measured(const struct run *run, size_t at)
{
	return run_measured(run->cells[at].class) &&
	       !(run->follow_only && run->follow_only[at]);
}

static size_t count_measured(const struct run *run)
{
	size_t n = 0;

	for (size_t at = 0; at < run_n_cells(run); at++) {
		n += is_measured(run, at);
	}
	return n;
}

static void count_changes(struct run_diff *d)
{
	const struct run *then = d->then;
	size_t both = 0;

	for (size_t at = 0; at < run_n_cells(then); at++) {
		enum cell_change c = change_of(d, at);

		d->change[at] = (uint8_t)c;
		d->count[c] += then->cells[at].class != CELL_UNPLANNED;
		d->missing += c == CHANGE_NONE && is_measured(then, at);
		both += c != CHANGE_NONE &&
			is_measured(d->now, run_at(d->now,
					d->rank_now[run_src(then, at)],
					d->rank_now[run_dst(then, at)]));
	}
	d->added = count_measured(d->now) - both;
}

int run_diff_make(const struct run *then, const struct run *now,
		  struct run_diff *d)
{
	size_t cells = run_n_cells(then);
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
	count_changes(d);
	return 0;
}

void run_diff_release(struct run_diff *d)
{
	free(d->rank_now);
	free(d->change);
	free(d->ratio);
	*d = (struct run_diff){ 0 };
}

int run_diff_as_contrast(const struct run_diff *d, struct run *then)
{
	size_t cells = run_n_cells(then);
	struct contrast *c = &then->contrast;

	run_drop_contrast(then);
	*c = (struct contrast){ .kind = CONTRAST_SCHEDULE, .pass = "new" };
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

/** What is judged are the ratios. */
static void swap_ratios(struct run_diff *d, struct run *then)
{
	for (size_t at = 0; at < run_n_cells(then); at++) {
		float ratio = d->ratio[at];

		d->ratio[at] = then->cells[at].bw_GB_s;
		then->cells[at].bw_GB_s = ratio;
	}
}

void run_diff_as_verdict(struct run_diff *d, struct run *then)
{
	/* what was said of the older run is no news */
	then->n_facts = then->facts_spare = then->facts_cut = 0;
	then->n_events = 0;
	run_drop_contrast(then);
	for (int path = 0; path < PATH_CLASSES; path++) {
		then->slow[path].limit_GB_s = 0;
		then->slow[path].median_GB_s = 1;
	}
	for (size_t at = 0; at < run_n_cells(then); at++) {
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
	swap_ratios(d, then);
}

void run_diff_judged(struct run_diff *d, struct run *then)
{
	swap_ratios(d, then);
}

static void add_real(double value, struct str *out)
{
	str_addch(out, ',');
	if (isfinite(value)) {
		str_addf(out, "%.6g", value);
	}
}

static void add_place(const struct run *run, int rank, struct str *out)
{
	const struct run_rank *r = &run->ranks[rank];

	csv_add_field(out, run->nodes[r->node].name);
	str_addf(out, ",%d,", r->gpu);
}

void run_diff_csv(const struct run_diff *d, struct str *out)
{
	str_add(out, "src_node,src_gpu,dst_node,dst_gpu,change,old_GB_s,"
		"new_GB_s,ratio\n");
	for (size_t at = 0; at < run_n_cells(d->then); at++) {
		if (d->change[at] >= CHANGE_WORSE) {
			add_place(d->then, run_src(d->then, at), out);
			add_place(d->then, run_dst(d->then, at), out);
			str_add(out, change_names[d->change[at]]);
			add_real((double)d->then->cells[at].bw_GB_s, out);
			add_real((double)cell_now(d, at)->bw_GB_s, out);
			add_real((double)d->ratio[at], out);
			str_addch(out, '\n');
		}
	}
}
