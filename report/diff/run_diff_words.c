/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/diff/run_diff.h"

#include <stdlib.h>

#include "lib/data/json.h"
#include "lib/base/units.h"
#include "report/model/part.h"
#include "report/base/wrap.h"

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
	return diff_status(&(struct diff_sum){
		.compared = compared(d),
		.worse = worse(d),
		.failing = d->count[CHANGE_STILL_BAD],
		.slow = d->count[CHANGE_STILL_SLOW],
		.missing = d->missing,
	});
}

static void add_count(size_t n, const char *what, struct str *out)
{
	if (n > 0) {
		str_addf(out, "; %zu %s", n, what);
	}
}

static void add_counts(const struct run_diff *d, struct str *out)
{
	str_addf(out, "%zu pairs compared: %zu worse, %zu broke, %zu better, "
		 "%zu repaired, %zu the same", compared(d),
		 d->count[CHANGE_WORSE], d->count[CHANGE_BROKE],
		 d->count[CHANGE_BETTER], d->count[CHANGE_MENDED],
		 d->count[CHANGE_SAME]);
	add_count(d->count[CHANGE_STILL_BAD], "failed in both runs", out);
	add_count(d->count[CHANGE_STILL_SLOW], "slow in both runs", out);
	add_count(d->missing, "measured only in the first run", out);
	add_count(d->added, "measured only in the second run", out);
}

/** "4 GPUs of n2" that @has, by rank, has not got. */
static void add_absent(const struct run *run, const bool *has,
		       const char *where, const struct wrap *w)
{
	char (*names)[64] = calloc((size_t)run->n_nodes + 1, sizeof(*names));
	size_t n = 0, gpus = 0, before;
	struct str text = STR_INIT;

	for (int i = 0; names && i < run->n_nodes; i++) {
		const struct run_node *node = &run->nodes[i];

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

/** Whose pairs are in one of the runs only. */
static void add_shape(const struct run_diff *d, const struct wrap *w)
{
	bool *then = calloc((size_t)d->then->n_ranks + 1, sizeof(*then));
	bool *now = calloc((size_t)d->now->n_ranks + 1, sizeof(*now));

	for (int r = 0; then && now && r < d->then->n_ranks; r++) {
		if (d->rank_now[r] >= 0) {
			then[r] = now[d->rank_now[r]] = true;
		}
	}
	if (then && now) {
		add_absent(d->then, then, "first", w);
		add_absent(d->now, now, "second", w);
	}
	free(then);
	free(now);
}

static void add_noise(const struct run_diff *d, const struct wrap *w)
{
	for (int p = 0; p < PATH_CLASSES; p++) {
		if (isfinite(d->median[p])) {
			str_addf(w->out, "      %s: median of new / old %.3f, "
				 "noise up to %.0f %%\n",
				 run_path_words((enum path_class)p),
				 d->median[p], 100 * d->band[p]);
		}
	}
	if (d->by_index) {
		wrap_line(w, 0, "the runs have no node in common: "
			  "nodes were compared in order");
	}
}

/** A part that is a little slower on the whole, by no pair of which it shows,
 *  is within what runs differ by. */
static bool got_worse(const struct finding *f)
{
	return f->explained > 0;
}

static void add_part(const struct run_diff *d, const struct finding *f,
		     const struct wrap *w)
{
	struct str text = STR_INIT;
	char name[PART_NAME_SIZE];

	wrap_tag(w, "worse", 31);
	str_addf(&text, "%s: %zu of %zu pairs with it",
		 part_name(d->then, &f->part, name, sizeof(name)),
		 f->explained, f->cells);
	wrap_text(w, 6, str_text(&text));
	str_release(&text);
}

static void add_parts(const struct run_diff *d, const struct verdict *v,
		      const struct wrap *w)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++) {
		if (got_worse(&v->findings[i]) && n++ < PARTS_MAX) {
			add_part(d, &v->findings[i], w);
		}
	}
	if (n > PARTS_MAX) {
		str_addf(w->out, "      and %zu more parts\n", n - PARTS_MAX);
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
	struct str counts = STR_INIT;

	add_counts(d, &counts);
	wrap_status(&w, diff_status_name(run_diff_status(d)));
	wrap_text(&w, 6, str_text(&counts));
	str_release(&counts);
	add_shape(d, &w);
	add_noise(d, &w);
	add_parts(d, v, &w);
	add_worst(d, out);
}

static json_t *pair_json(const struct run_diff *d, size_t at)
{
	char from[80], to[80];

	part_rank_name(d->then, run_src(d->then, at), from, sizeof(from));
	part_rank_name(d->then, run_dst(d->then, at), to, sizeof(to));
	return json_pack("{s:o, s:o, s:s, s:o}", "src", json_text(from), "dst",
			 json_text(to), "change",
			 cell_change_name((enum cell_change)d->change[at]),
			 "ratio", isnan(d->ratio[at]) ? json_null() :
				  json_real((double)d->ratio[at]));
}

static json_t *part_json(const struct run_diff *d, const struct finding *f)
{
	char name[PART_NAME_SIZE];

	part_name(d->then, &f->part, name, sizeof(name));
	return json_pack("{s:s, s:o, s:I, s:I}", "kind",
			 part_kind_name(f->part.kind), "name", json_text(name),
			 "cells", (json_int_t)f->cells, "explained",
			 (json_int_t)f->explained);
}

json_t *run_diff_json(const struct run_diff *d, const struct verdict *v)
{
	json_t *counts = json_object(), *pairs = json_array();
	json_t *parts = json_array();

	for (int c = 0; c < CHANGES; c++) {
		json_object_set_new(counts,
				    cell_change_name((enum cell_change)c),
				    json_integer((json_int_t)d->count[c]));
	}
	for (size_t at = 0; at < run_n_cells(d->then); at++) {
		if (d->change[at] >= CHANGE_WORSE) {
			json_array_append_new(pairs, pair_json(d, at));
		}
	}
	for (size_t i = 0; i < v->n; i++) {
		if (got_worse(&v->findings[i])) {
			json_array_append_new(parts,
					      part_json(d, &v->findings[i]));
		}
	}
	return json_pack("{s:s, s:s, s:b, s:o, s:I, s:I, s:o, s:o}", "probe",
			 d->then->probe, "status",
			 diff_status_name(run_diff_status(d)), "regression",
			 worse(d) > 0, "cells", counts, "missing",
			 (json_int_t)d->missing, "added", (json_int_t)d->added,
			 "parts", parts, "pairs", pairs);
}
