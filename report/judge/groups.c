/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes, leaf switches and rails at two levels, when most tests between nodes
 * are at the lower one, so that a comparison with the median shows nothing.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/base/stats.h"
#include "lib/base/units.h"
#include "report/judge/findings.h"
#include "report/model/run.h"

/** Minimum distance of two levels, as a logarithm (12 %), and in standard
 *  deviations of the medians of one level. */
#define LEAST_GAP 0.12
/** Minimum gap between groups of nodes that may be leaf switches (20 %), also
 *  for a single slow node, which may be the only one on its leaf. */
#define LEAST_LEAF_GAP 0.223
/** Percentage of the tests of a path class that may be slow without a finding:
 *  flows that meet, and pairs that are slow by chance. */
#define CHANCE_PERCENT 33
#define GAP_DEVIATIONS 5.0
/** Larger runs are sampled, and have too few tests per pair of nodes. */
#define MOST_UNITS 256

/** Nodes, or NIC indexes, and the tests between each two of them. */
struct groups_work {
	struct run *run;
	bool rails;
	size_t n;		/* units */
	int *unit;		/* of each rank */
	double *median;		/* n x n, logarithm; NAN: no tests */
	double low, high;	/* medians of the two levels */
	double cut;		/* between them */
	int *group;		/* of each unit, from 1 */
	size_t n_groups;
	size_t *size;		/* of each group */
};

static bool is_measured(const struct cell *c)
{
	return c->path == PATH_INTER && run_good(c->class) && c->bw_GB_s > 0;
}

/** Returns the number of the two units of the cell at @at. */
static size_t pair_of(const struct groups_work *w, size_t at)
{
	size_t a = (size_t)w->unit[run_src(w->run, at)];
	size_t b = (size_t)w->unit[run_dst(w->run, at)];

	return a < b ? a * w->n + b : b * w->n + a;
}

/** Fills in the median of each two units.  Returns 0, or -1 when memory runs
 *  out. */
static int find_medians(struct groups_work *w)
{
	const struct run *run = w->run;
	const struct slow_limit *l = &run->slow[PATH_INTER];
	size_t pairs = w->n * w->n, all = 0;
	size_t *first = calloc(pairs + 1, sizeof(*first));
	double *bw = calloc(run_n_cells(run) + 1, sizeof(*bw));

	run_foreach_cell(run, at) {
		if (first && is_measured(&run->cells[at])) {
			first[pair_of(w, at)]++;
		}
	}
	for (size_t i = 0; first && i < pairs; i++) {
		size_t here = first[i];

		first[i] = all;
		all += here;
	}
	for (size_t at = 0; first && bw && at < run_n_cells(run); at++) {
		if (is_measured(&run->cells[at])) {
			bw[first[pair_of(w, at)]++] =
				cells_beside(&run->cells[at], l);
		}
	}
	for (size_t i = 0, from = 0; first && bw && i < pairs; i++) {
		size_t n = first[i] - from;

		w->median[i] = n > 0 ? log(stats_select(bw + from, n, n / 2)) :
				       NAN;
		from = first[i];
	}
	free(bw);
	free(first);
	return first && bw ? 0 : -1;
}

/** Finds two levels of the @n medians @list, which it sorts: the largest gap
 *  must be far larger than what differs within each level. */
static bool find_gap(struct groups_work *w, double *list, size_t n)
{
	size_t at = 0, high;
	double most = 0, low_mad, high_mad;

	stats_median(list, n);	/* sorts it */
	for (size_t i = 1; i < n; i++) {
		if (list[i] - list[i - 1] > most) {
			most = list[i] - list[i - 1];
			at = i;
		}
	}
	high = n - at;
	if (at == 0 || at < high) {	/* most tests are fast */
		return false;
	}
	w->cut = (list[at - 1] + list[at]) / 2;
	low_mad = stats_mad(list, at, &w->low);
	high_mad = stats_mad(list + at, high, &w->high);
	return w->high - w->low >= LEAST_GAP &&
	       most >= (w->high - w->low) / 2 &&
	       w->high - w->low >= GAP_DEVIATIONS * STATS_MAD_SIGMAS *
					   fmax(low_mad, high_mad);
}

static bool is_fast(const struct groups_work *w, size_t a, size_t b)
{
	return w->median[a < b ? a * w->n + b : b * w->n + a] > w->cut;
}

/** Groups units that are fast with each other.  Returns false if a unit is slow
 *  with another one of its group, or fast with one of a different group. */
static bool find_groups(struct groups_work *w)
{
	for (size_t i = 0; i < w->n; i++) {
		if (w->group[i]) {
			continue;
		}
		w->group[i] = (int)++w->n_groups;
		for (size_t k = i + 1; k < w->n; k++) {
			if (!w->group[k] && is_fast(w, i, k)) {
				w->group[k] = w->group[i];
			}
		}
	}
	for (size_t i = 0; i < w->n; i++) {
		w->size[w->group[i] - 1]++;
		for (size_t k = i + 1; k < w->n; k++) {
			bool same = w->group[i] == w->group[k];

			if (!isnan(w->median[i * w->n + k]) &&
			    same != is_fast(w, i, k)) {
				return false;
			}
		}
	}
	return true;
}

/** Returns the number of groups of two units and more. */
static size_t count_large(const struct groups_work *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n_groups; i++) {
		n += w->size[i] > 1;
	}
	return n;
}

/** Marks all tests by the two levels: those between units that are slow with
 *  each other by the middle, others by the level of the fast ones. */
static int mark(struct groups_work *w)
{
	struct run *run = w->run;
	struct slow_limit *l = &run->slow[PATH_INTER];
	double *bw = calloc(run_n_cells(run) + 1, sizeof(*bw)), noise;
	const double cut = exp(w->cut);
	size_t n = 0;

	if (!bw) {
		return -1;
	}
	run_foreach_cell(run, at) {
		if (is_measured(&run->cells[at]) &&
		    w->median[pair_of(w, at)] > w->cut) {
			bw[n++] = cells_beside(&run->cells[at], l);
		}
	}
	l->peers = n;
	l->of_fast = true;
	l->mad_GB_s = stats_mad(bw, n, &l->median_GB_s);
	l->limit_GB_s = cells_slow_below(l->median_GB_s, l->mad_GB_s);
	noise = l->median_GB_s - LEVELS_NOISE_MADS * l->mad_GB_s;
	free(bw);
	run_foreach_cell(run, at) {
		struct cell *c = &run->cells[at];
		double here = cells_beside(c, l);
		bool low = !(w->median[pair_of(w, at)] > w->cut);
		/* an expected rate that is reached decides */
		bool met = c->expected_GB_s > 0 && !cells_below_line(c);

		if (is_measured(c)) {
			c->class = !met &&
				   (here < (low ? cut : l->limit_GB_s) ||
				    (cells_below_line(c) &&
				     !(here >= noise && l->median_GB_s >=
				       CELLS_LINE_RATIO * l->line_GB_s))) ?
					CELL_SLOW : CELL_PASS;
		}
	}
	l->limit_GB_s = fmax(l->limit_GB_s, cut);
	return 0;
}

/** Returns true if the groups are the leaf switches that are known. */
static bool are_known(const struct groups_work *w)
{
	const struct cluster_node *nodes = w->run->nodes;

	for (size_t i = 0; i < w->n; i++) {
		for (size_t k = i + 1; k < w->n; k++) {
			bool same = nodes[i].leaf == nodes[k].leaf &&
				    nodes[i].leaf > 0;

			if (same != (w->group[i] == w->group[k])) {
				return false;
			}
		}
	}
	return true;
}

/** Takes the groups of nodes as leaf switches, if none are known.  Returns 0,
 *  or -1 when memory runs out. */
static int join(struct groups_work *w)
{
	struct run *run = w->run;
	char name[] = "A";
	bool told = run->n_leaves > 0;

	for (size_t i = 0; i < w->n_groups && !told && name[0] <= 'Z'; i++) {
		for (size_t k = 0; k < w->n && w->size[i] > 1; k++) {
			if (w->group[k] == (int)i + 1 &&
			    run_join_leaf(run, (int)k, name) < 0) {
				return -1;
			}
		}
		name[0] = (char)(name[0] + (w->size[i] > 1));
		run->leaves_inferred = true;
	}
	run->oversubscribed = are_known(w);
	return 0;
}

/** Looks for groups of nodes, or with w->rails of NIC indexes.  Sets
 *  *@found. */
static int look(struct groups_work *w, bool *found)
{
	size_t n = 0;
	double *list = calloc(w->n * w->n + 1, sizeof(*list));
	int rc = list ? find_medians(w) : -1;

	for (size_t i = 0; rc == 0 && i < w->n * w->n; i++) {
		if (!isnan(w->median[i])) {
			list[n++] = w->median[i];
		}
	}
	*found = rc == 0 && n > 2 && find_gap(w, list, n) && find_groups(w) &&
		 w->n_groups > 1 && count_large(w) > 0 &&
		 (!w->rails || count_large(w) == 1) &&
		 (w->high - w->low >= LEAST_LEAF_GAP ||
		  (count_large(w) == 1 && w->n_groups > 2));
	free(list);
	for (size_t i = 0; *found && i < w->n_groups; i++) {
		w->run->most_slow |= count_large(w) == 1 && w->size[i] > 1 &&
				     2 * w->size[i] <= w->n;
	}
	rc = *found ? mark(w) : rc;
	return rc == 0 && *found && !w->rails && count_large(w) > 1 ?
		       join(w) : rc;
}

int groups_mark_slow(struct run *run, bool *found)
{
	int rails = 0, rc = 0;

	*found = false;
	for (int i = 0; i < run->n_nodes; i++) {
		rails = run->nodes[i].nics > rails ? run->nodes[i].nics : rails;
	}
	for (int of_rails = 0; rc == 0 && of_rails < 2 && !*found; of_rails++) {
		struct groups_work w = {
			.run = run, .rails = of_rails,
			.n = (size_t)(of_rails ? rails : run->n_nodes),
		};

		if (w.n < 3 || w.n > MOST_UNITS || run->mesh ||
		    run->slow[PATH_INTER].peers < CELLS_SLOW_PEERS ||
		    run->slow[PATH_INTER].bound_by_latency) {
			continue;
		}
		w.median = calloc(w.n * w.n, sizeof(*w.median));
		w.group = calloc(w.n, sizeof(*w.group));
		w.size = calloc(w.n, sizeof(*w.size));
		w.unit = calloc((size_t)run->n_ranks + 1, sizeof(*w.unit));
		for (int r = 0; w.unit && r < run->n_ranks; r++) {
			w.unit[r] = of_rails ? run->ranks[r].nic :
					       run->ranks[r].node;
		}
		rc = w.median && w.group && w.size && w.unit ?
			     look(&w, found) : -1;
		free(w.unit);
		free(w.median);
		free(w.group);
		free(w.size);
	}
	return rc;
}

/* ---- oversubscribed ------------------------------------------------------ */

/** Adds the uplinks of both switches of a pair, which have the same tests. */
static void add_uplinks(struct finding *f)
{
	for (int i = 0; f->part.kind == PART_LEAF_PAIR && i < 2; i++) {
		struct part p = part_at(PART_SWITCH, -1, i);

		p.peer_index = PART_UPLINKS;
		finding_add_or(f, &p);
	}
}

void oversubscribed_findings(const struct run *run, uint8_t *explained,
			     struct verdict *v)
{
	struct part p = part_of_kind(PART_FABRIC_PATH);
	struct cause all;
	struct finding *f;
	size_t n = 0, below = 0, example = 0;
	double *bw = calloc(run_n_cells(run) + 1, sizeof(*bw)), middle;
	const double fast = run->slow[PATH_INTER].median_GB_s;
	char low[UNITS_REAL_SIZE], high[UNITS_REAL_SIZE];

	v->failed |= !bw;
	if (!run->oversubscribed || !bw) {
		free(bw);
		return;
	}
	if (run->n_leaves == 2 && run->leaves[0].n_nodes +
	    run->leaves[1].n_nodes == run->n_nodes) {
		p = part_at(PART_LEAF_PAIR, -1, 0);
		p.peer_index = 1;
	}
	all = (struct cause){ .part = p, .cells = part_tests(run, &p, NULL) };
	part_foreach_cell(run, &p, at) {
		const struct cell *c = &run->cells[at];

		if (c->class == CELL_SLOW) {
			bw[n++] = cells_beside(c, &run->slow[PATH_INTER]);
			below += cells_below_line(c);
			explained[at] |= EXPLAINED | COVERED;
			example = at;
		}
	}
	all.explained = n;
	if (again_collided(run, &all, v)) {	/* slow only beside others */
		free(bw);
		return;
	}
	f = finding_add(v, p, "leaf_ratio");
	f->cells = all.cells;
	f->explained = n;
	add_uplinks(f);
	finding_set_example(run, f, example);
	middle = stats_middle(bw, n);
	free(bw);
	/* that it is built so is known of neither */
	f->fail = 2 * below > n && !run->shared_cores;
	finding_say(f, "Leaf switches are connected at %.0f %% of the rate "
		    "inside them: %s of %s tests between nodes of different "
		    "leaf switches are at about %s GB/s, tests inside a leaf "
		    "switch at %s GB/s (%.2g:1); the uplinks may be built so",
		    100 * middle / fast, UNITS_COUNT(n), UNITS_COUNT(f->cells),
		    units_real_text(middle, 2, low),
		    units_real_text(fast, 2, high), fast / middle);
	finding_add_evidence(f, run->leaves_inferred ?
			     "which nodes share a leaf switch is inferred from "
			     "the tests: Slurm does not say it" :
			     "leaf switches as in Slurm's topology");
}

/* ---- leftover ------------------------------------------------------------ */

/** Slow tests of a path class that may be forgiven as built so without a
 *  warning. */
#define FEW_BUILT 5

void leftover_findings(const struct run *run, uint8_t *explained,
		       struct verdict *v)
{
	const unsigned forgiven = BY_CHANCE | BUILT_SO;
	bool told = run->n_leaves > 0 && !run->leaves_inferred;

	for (int path = 0; path < PATH_CLASSES; path++) {
		struct part p = part_of_path((enum path_class)path);
		size_t left = 0, built = 0, tests = 0, example = 0;
		struct finding *f;

		run_foreach_cell(run, at) {
			bool is = run->cells[at].path == path &&
				  (explained[at] & forgiven) &&
				  !(explained[at] &
				    (EXPLAINED | NAMED | SPARED));

			tests += run->cells[at].path == path &&
				 run_good(run->cells[at].class);
			left += is;
			built += is && (explained[at] & BUILT_SO);
			example = is ? at : example;
		}
		if (left * 100 <= tests * CHANCE_PERCENT &&
		    (built <= FEW_BUILT || told || run->shared_cores)) {
			continue;
		}
		f = finding_add(v, p, "two_levels");
		f->cells = part_tests(run, &p, NULL);
		f->explained = left;
		finding_say(f, "%s of %s tests %s are slow, most of them as "
			    "all tests between the same GPUs at the same "
			    "distance: they may be built so",
			    UNITS_COUNT(left), UNITS_COUNT(f->cells),
			    run_path_words((enum path_class)path));
		finding_set_example(run, f, example);
		run_foreach_cell(run, at) {
			explained[at] |= run->cells[at].path == path &&
					 (explained[at] & forgiven) ? NAMED : 0;
		}
	}
}
