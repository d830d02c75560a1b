/* SPDX-License-Identifier: BSD-3-Clause */
/* Leaf switches and bandwidth levels inferred from the cells. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "lib/base/units.h"
#include "report/judge/findings.h"
#include "report/model/run.h"

/* ---- leaves -------------------------------------------------------------- */

/** Minimum nodes of a leaf switch; any single node could be one. */
#define LEAST_NODES 2
#define LEAST_RAIL  3
/** Percentage of all nodes with which a GPU must be bad to be bad by itself. */
#define OWN_PERCENT 75
/** ... and with most of the GPUs there: by a hash, one test with each node may
 *  be bad. */
#define OWN_PAIRS_PERCENT 75
/** Minimum share, in percent, and number of the pairs of nodes between two sets
 *  that must have a bad cell. */
#define BETWEEN_PERCENT 60
#define LEAST_LINKS	4
#define LINKS_EACH	2	/* of a node of a sample, on average */
#define MOST_LEAVES	26	/* A to Z */

struct levels_work {
	struct run *run;
	size_t nodes;
	uint8_t *own;		/* ranks that are bad by themselves */
	uint8_t *link;		/* nodes x nodes: a bad cell of other ranks */
	int *side;		/* of each node; 0 = none */
	size_t *queue, queued;	/* nodes that hang together */
};

static bool is_bad(const struct run *run, size_t at)
{
	unsigned class = run->cells[at].class;

	return run->cells[at].path == PATH_INTER &&
	       (cells_failed(class) || class == CELL_SLOW);
}

/** Which ranks are bad with most of the nodes that they have cells with, of a
 *  square all others.  False: no cell is bad. */
static bool find_own(struct levels_work *w)
{
	const struct run *run = w->run;
	bool any = false;

	for (int r = 0; r < run->n_ranks; r++) {
		size_t nodes = 0, n = 0, pairs = 0, bad = 0;
		int last = run->ranks[r].node;
		bool counted = false;

		for (size_t at = run_first(run, r); at < run_first(run, r + 1);
		     at++) {
			int node = run->ranks[run_dst(run, at)].node;

			if (node == run->ranks[r].node) {
				continue;
			}
			nodes += node != last;
			counted = counted && node == last;
			last = node;
			pairs++;
			if (!is_bad(run, at) &&
			    !is_bad(run, run_back(run, at))) {
				continue;
			}
			bad++;
			n += !counted;
			counted = true;
		}
		any = any || n > 0;
		w->own[r] = n > 0 && n * 100 >= nodes * OWN_PERCENT &&
			    bad * 100 >= pairs * OWN_PAIRS_PERCENT;
	}
	return any;
}

/** Queues the nodes that are linked with @node, directly or not, and puts
 *  them on sides 1 and 2 in turn.  Returns false if there is a link inside a
 *  side. */
static bool part_sides(struct levels_work *w, size_t node)
{
	bool two = true;

	w->queued = 0;
	w->queue[w->queued++] = node;
	w->side[node] = 1;
	for (size_t i = 0; i < w->queued; i++) {
		size_t a = w->queue[i];

		for (size_t b = 0; b < w->nodes; b++) {
			if (!w->link[a * w->nodes + b]) {
				continue;
			}
			if (!w->side[b]) {
				w->side[b] = 3 - w->side[a];
				w->queue[w->queued++] = b;
			}
			two = two && w->side[b] != w->side[a];
		}
	}
	return two;
}

/** Returns true if both sides of the queue have enough nodes, and enough bad
 *  links between them.  A sample has only some of the pairs of nodes, and needs
 *  more links, since chance connects most of its nodes by a single one. */
static bool are_leaves(const struct levels_work *w)
{
	const struct run *run = w->run;
	size_t n[3] = { 0 }, links = 0, all = 0;
	bool sample = run->grid.first != NULL;
	size_t *last = calloc(w->nodes + 1, sizeof(*last));

	for (size_t i = 0; i < w->queued; i++) {
		size_t a = w->queue[i];
		const struct cluster_node *node = &run->nodes[a];
		size_t at = run_first(run, node->first_rank);
		size_t end = run_first(run, node->first_rank + node->gpus);

		n[w->side[a]]++;
		for (size_t b = 0; w->side[a] == 1 && b < w->nodes; b++) {
			links += w->link[a * w->nodes + b];
		}
		/* pairs of nodes between the sides that were measured */
		for (; sample && last && w->side[a] == 1 && at < end; at++) {
			size_t b = (size_t)run->ranks[run_dst(run, at)].node;

			all += w->side[b] == 2 && last[b] != a + 1;
			last[b] = a + 1;
		}
	}
	free(last);
	all = sample ? all : n[1] * n[2];
	return n[1] >= LEAST_NODES && n[2] >= LEAST_NODES &&
	       links >= LEAST_LINKS && links * 100 >= all * BETWEEN_PERCENT &&
	       (!sample || links >= LINKS_EACH * (n[1] + n[2]));
}

/** Make a leaf switch of the nodes of the queue on @side. */
static int join(struct levels_work *w, int side)
{
	const char name[] = { (char)('A' + w->run->n_leaves), '\0' };

	for (size_t i = 0; i < w->queued; i++) {
		size_t node = w->queue[i];

		if (w->side[node] == side &&
		    run_join_leaf(w->run, (int)node, name) < 0) {
			return -1;
		}
	}
	w->run->leaves_inferred = true;
	return 0;
}

/** Percentage of the tests inside a leaf switch that may be bad without a rank
 *  that is bad by itself: more is a share of all paths, by a hash. */
#define INSIDE_PERCENT 2

/** Returns true if other tests between the nodes of side 1 are bad as well. */
static bool is_bad_inside(const struct levels_work *w)
{
	const struct run *run = w->run;
	size_t tests = 0, bad = 0;

	run_foreach_cell(run, at) {
		int s = run_src(run, at), d = run_dst(run, at);

		if (w->side[run->ranks[s].node] == 1 &&
		    w->side[run->ranks[d].node] == 1 && !w->own[s] &&
		    !w->own[d] && run->cells[at].path == PATH_INTER) {
			tests++;
			bad += is_bad(run, at);
		}
	}
	return bad * 100 > tests * INSIDE_PERCENT;
}

/** Finds nodes whose NICs of one index are bad by themselves while those of
 *  other nodes, and the rest of these nodes, are not. */
static int find_rail(struct levels_work *w)
{
	for (int nic = 0; nic < SPEC_MAX_GPUS; nic++) {
		size_t others = 0;

		w->queued = 0;
		for (size_t i = 0; i < w->nodes; i++) {
			const struct cluster_node *n = &w->run->nodes[i];
			int of_nic = 0, bad = 0, all = 0;

			for (int r = n->first_rank;
			     r < n->first_rank + n->gpus; r++) {
				bool here = w->run->ranks[r].nic == nic;

				of_nic += here;
				bad += here && w->own[r];
				all += w->own[r];
			}
			w->side[i] = of_nic > 0 && bad == of_nic &&
				     all < n->gpus;
			w->queue[w->queued] = i;
			w->queued += w->side[i] > 0;
			others += (size_t)(all - bad);
		}
		/* more that are bad elsewhere are bad by chance, as these */
		if (w->queued >= LEAST_RAIL && others <= w->queued &&
		    w->queued < w->nodes && !is_bad_inside(w)) {
			return join(w, 1);
		}
	}
	memset(w->side, 0, w->nodes * sizeof(*w->side));
	return 0;
}

/** Finds two sets of nodes with bad cells between them, as often as there
 *  are. */
static int find_sets(struct levels_work *w)
{
	const struct run *run = w->run;

	run_foreach_cell(run, at) {
		int s = run_src(run, at), d = run_dst(run, at);

		if (is_bad(run, at) && !w->own[s] && !w->own[d]) {
			size_t a = (size_t)run->ranks[s].node;
			size_t b = (size_t)run->ranks[d].node;

			w->link[a * w->nodes + b] = 1;
			w->link[b * w->nodes + a] = 1;
		}
	}
	for (size_t i = 0; i < w->nodes * w->nodes; i++) {
		size_t node = i / w->nodes;

		if (w->link[i] && !w->side[node] &&
		    w->run->n_leaves < MOST_LEAVES && part_sides(w, node) &&
		    are_leaves(w) && (join(w, 1) < 0 || join(w, 2) < 0)) {
			return -1;
		}
	}
	return 0;
}

int leaves_infer(struct run *run)
{
	size_t nodes = (size_t)run->n_nodes;
	struct levels_work w = { .run = run, .nodes = nodes };
	int rc = 0;

	if (run->n_leaves > 0 || run->mesh || run->oversubscribed ||
	    run->n_nodes < 2 * LEAST_NODES) {
		return 0;
	}
	w.own = calloc((size_t)run->n_ranks + 1, 1);
	w.link = calloc(nodes, nodes);
	w.side = calloc(nodes, sizeof(*w.side));
	w.queue = calloc(nodes + 1, sizeof(*w.queue));
	if (!w.own || !w.link || !w.side || !w.queue) {
		rc = -1;
	} else if (find_own(&w)) {
		rc = find_rail(&w);
		rc = rc < 0 || run->n_leaves > 0 ? rc : find_sets(&w);
	}
	free(w.own);
	free(w.link);
	free(w.side);
	free(w.queue);
	return rc;
}

/* ---- level findings ------------------------------------------------------ */

/*
 * Pairs of one kind at two levels, without a part or expected rate that makes
 * one of them a fault.  Most of them may be slow, so that the others look
 * unusual, or a few have a better path.  The finding blames no part.
 */

/** Bandwidths are counted in steps of 2 %, from 1/2700 to 2700 of the
 *  median. */
#define STEP   0.02
#define BINS   800
#define MIDDLE (BINS / 2)
/** Minimum gap between two levels: 10 % with at most a hundredth of the smaller
 *  one in it.  The smaller one has at least a hundredth of all cells, and as
 *  many as a limit needs. */
#define GAP_BINS 5
#define STRAY	 100
#define SMALLEST 100
/** Share of the cells at one place in all nodes, in percent, that must be at
 *  one level for a difference by design. */
#define ALIKE_PERCENT 99



struct levels {
	size_t low, high;	/* cells of each */
	int low_bin, high_bin;	/* of their medians */
	int from;		/* the first bin above the gap */
};

/** Returns the number of the kind of the cell at @at: cells of one are alike in
 *  all that is known of their ways: path class, way of the bytes, one leaf
 *  switch or two. */
static size_t kind_of(const struct run *run, size_t at)
{
	int a = run->nodes[run->ranks[run_src(run, at)].node].leaf;
	int b = run->nodes[run->ranks[run_dst(run, at)].node].leaf;
	size_t far = a && b && a != b;

	return (2 * run->cells[at].path + far) * run->n_paths +
	       run->cell_way[at];
}

/** Returns the bin of its bandwidth; -1: it is slow, or meets the expected
 *  value. */
static int bin_of(const struct run *run, size_t at)
{
	const struct cell *c = &run->cells[at];
	double median = run->slow[c->path].median_GB_s;
	double step;

	if (c->class != CELL_PASS || c->expected_GB_s > 0 ||
	    !(c->bw_GB_s > 0) || !(median > 0)) {
		return -1;
	}
	step = log((double)c->bw_GB_s / median) / STEP;
	return (int)fmin(fmax(step + MIDDLE, 0), BINS - 1);
}

/** Returns the bin of the median of the @n cells from bin @from on. */
static int median_bin(const uint32_t count[BINS], int from, size_t n)
{
	size_t seen = count[from];

	while (2 * seen < n) {
		seen += count[++from];
	}
	return from;
}

/** Finds the emptiest gap that parts the cells of a kind in two levels, if any;
 *  the lowest of several.  @count: its cells of each bin. */
static bool find_levels(const uint32_t count[BINS], struct levels *out)
{
	const double apart = log(1 / CELLS_SLOW_RATIO) / STEP;
	size_t n = 0, low = 0, least = SIZE_MAX;

	for (int b = 0; b < BINS; b++) {
		n += count[b];
	}
	for (int b = 0; b + GAP_BINS < BINS; b++) {
		struct levels l = { .low = low, .from = b + GAP_BINS };
		size_t inside = 0, smaller;

		for (int i = b; i < l.from; i++) {
			inside += count[i];
		}
		l.high = n - low - inside;
		smaller = l.low < l.high ? l.low : l.high;
		low += count[b];
		if (smaller < CELLS_SLOW_PEERS || inside >= least ||
		    smaller * SMALLEST < n || inside * STRAY > smaller) {
			continue;
		}
		l.low_bin = median_bin(count, 0, l.low);
		l.high_bin = median_bin(count, l.from, l.high);
		if (l.high_bin - l.low_bin > apart) {
			*out = l;
			least = inside;
		}
	}
	return least < SIZE_MAX;
}

/** Returns 1 if the place of two GPUs in their node determines their level, in
 *  the same way in all nodes; else 0, or -1 when memory runs out. */
static int is_design(const struct run *run, size_t kind, const struct levels *l)
{
	size_t gpus = 0, known = 0, alike = 0, places = 0;
	uint32_t (*count)[2];

	for (int i = 0; i < run->n_nodes; i++) {
		size_t here = (size_t)run->nodes[i].gpus;

		gpus = here > gpus ? here : gpus;
	}
	count = calloc(gpus * gpus + 1, sizeof(*count));
	for (size_t at = 0; count && at < run_n_cells(run); at++) {
		const struct cluster_rank *s = &run->ranks[run_src(run, at)];
		const struct cluster_rank *d = &run->ranks[run_dst(run, at)];
		int bin = s->node == d->node && kind_of(run, at) == kind ?
				  bin_of(run, at) : -1;

		if (bin >= 0) {
			count[(size_t)s->gpu * gpus + (size_t)d->gpu]
			     [bin >= l->from]++;
		}
	}
	for (size_t i = 0; count && i < gpus * gpus; i++) {
		uint32_t low = count[i][0], high = count[i][1];

		places += low + high > 0;
		known += low + high;
		alike += low > high ? low : high;
	}
	free(count);
	return !count ? -1 : known > 0 && known >= 2 * places &&
			     alike * 100 >= known * ALIKE_PERCENT;
}

/** The first cell of @kind at the level above, or below, the gap. */
static size_t first_at(const struct run *run, size_t kind,
		       const struct levels *l, bool high)
{
	run_foreach_cell(run, at) {
		int bin = kind_of(run, at) == kind ? bin_of(run, at) : -1;

		if (bin >= 0 && (bin >= l->from) == high) {
			return at;
		}
	}
	return 0;
}

static void add_example(const struct run *run, size_t at, struct finding *f)
{
	char bw[UNITS_REAL_SIZE];
	const char *way = run->paths[run->cell_way[at]];

	finding_add_evidence(f, "%s: %s GB/s%s%s", PART_CELL_NAME(run, at),
			     units_real_text((double)run->cells[at].bw_GB_s, 2,
					     bw), way[0] ? " by " : "", way);
}

static double GB_s_of(const struct run *run, enum path_class path, int bin)
{
	return run->slow[path].median_GB_s *
	       exp(STEP * (bin - MIDDLE + 0.5));
}

static void add_levels(const struct run *run, size_t kind,
		       const struct levels *l, struct verdict *v)
{
	size_t low_at = first_at(run, kind, l, false);
	enum path_class path = run->cells[low_at].path;
	struct finding *f = finding_add(v, part_of_path(path), "two_levels");
	char low[UNITS_REAL_SIZE], high[UNITS_REAL_SIZE];

	f->cells = part_tests(run, &f->part, NULL);
	f->explained = l->low;
	finding_say(f, "Tests %s are at two levels: %zu at about %s GB/s, %zu "
		    "at about %s GB/s; there is no expected rate to tell which "
		    "is right", run_path_words(path), l->low,
		    units_real_text(GB_s_of(run, path, l->low_bin), 2, low),
		    l->high,
		    units_real_text(GB_s_of(run, path, l->high_bin), 2, high));
	add_example(run, low_at, f);
	add_example(run, first_at(run, kind, l, true), f);
	finding_set_example(run, f, low_at);
}

void level_findings(const struct run *run, struct verdict *v)
{
	size_t n_kinds = 2 * PATH_CLASSES * run->n_paths;
	uint32_t (*kinds)[BINS];	/* cells of each bin */

	if (run_n_cells(run) == 0) {
		return;
	}
	kinds = calloc(n_kinds + 1, sizeof(*kinds));
	v->failed = v->failed || !kinds;
	for (size_t at = 0; kinds && at < run_n_cells(run); at++) {
		int bin = bin_of(run, at);

		if (bin >= 0) {
			kinds[kind_of(run, at)][bin]++;
		}
	}
	for (size_t k = 0; kinds && k < n_kinds; k++) {
		struct levels l = { 0 };
		int design;

		if (!find_levels(kinds[k], &l)) {
			continue;
		}
		design = is_design(run, k, &l);
		v->failed = v->failed || design < 0;
		if (design == 0) {
			add_levels(run, k, &l, v);
		}
	}
	free(kinds);
}

/* ---- levels -------------------------------------------------------------- */

/** Minimum size of each level, in percent of the cells of a class. */
#define LEVEL_PERCENT 10
/** The fastest slow ones reach no more than this share of the slowest fast
 *  ones, both without the last percent of stray cells. */
#define GAP_RATIO    0.9
#define STRAY_PERCENT 1
/** No limit rises by more when slow cells are measured again. */
#define RISE_RATIO 0.98
/** Maximum number of parts to blame, lone cells included, and minimum share of
 *  the cells of a part. */
#define MOST_PARTS 3
/** A MAD beyond this share of the median is that of two levels, not noise. */
#define NOISE_MOST 0.05
#define SOLID_PERCENT 95

static bool is_good(const struct cell *c, enum path_class path)
{
	return c->path == path && isfinite(c->bw_GB_s) && run_good(c->class);
}

/** The value that @percent of @n > 0 do not exceed. */
static double stray(double *v, size_t n, unsigned percent)
{
	return stats_select(v, n, (n - 1) * percent / 100);
}

/**
 * The level of the fast cells of @path, if all the others are much slower and
 * their limit does not show it: limit NAN if not.  @bw: room for all cells.
 */
static struct slow_limit find_fast(const struct run *run, enum path_class path,
				   double *bw)
{
	struct slow_limit l = {
		.limit_GB_s = NAN, .line_GB_s = run->slow[path].line_GB_s,
	};
	size_t n = 0, slow = 0, smaller;
	double top, slowest, fastest, other;

	run_foreach_cell(run, at) {
		if (is_good(&run->cells[at], path)) {
			bw[n++] = cells_beside(&run->cells[at], &l);
		}
	}
	if (n == 0) {
		return l;
	}
	top = stray(bw, n, 100 - STRAY_PERCENT);
	for (size_t i = 0; i < n; i++) {	/* slow ones first */
		if (bw[i] < CELLS_SLOW_RATIO * top) {
			other = bw[slow];
			bw[slow++] = bw[i];
			bw[i] = other;
		}
	}
	l.peers = n - slow;
	smaller = slow < l.peers ? slow : l.peers;
	if (smaller < CELLS_SLOW_PEERS || smaller * 100 < n * LEVEL_PERCENT) {
		return l;
	}
	fastest = stray(bw, slow, 100 - STRAY_PERCENT);
	if (2 * slow < n && fastest < run->slow[path].limit_GB_s) {
		return l;
	}
	slowest = stray(bw + slow, l.peers, STRAY_PERCENT);
	if (fastest > GAP_RATIO * slowest) {
		return l;
	}
	l.of_fast = true;
	l.mad_GB_s = stats_mad(bw + slow, l.peers, &l.median_GB_s);
	l.limit_GB_s = cells_slow_below(l.median_GB_s, l.mad_GB_s);
	return l;
}

static bool below(const struct cell *c, const struct slow_limit *l)
{
	return cells_beside(c, l) < l->limit_GB_s;
}

/** Sets @yes if a few parts explain all cells that are slow under @limits.
 *  Returns 0, or -1 when memory runs out. */
static int is_explained(const struct run *run, const struct slow_limit *limits,
			uint8_t *marks, bool *yes)
{
	static const struct suspect_need need = {
		.percent = SOLID_PERCENT, .relative = { true, true },
	};
	struct blame b;
	size_t parts;
	int rc;

	run_foreach_cell(run, at) {
		const struct cell *c = &run->cells[at];
		const struct slow_limit *l = &limits[c->path];

		marks[at] = !is_good(c, (enum path_class)c->path) ||
					    isnan(l->limit_GB_s) ?
				    MARK_IGNORE :
			    below(c, l) ? MARK_BAD : MARK_GOOD;
	}
	rc = blame_find(run, marks, &need, &b);
	*yes = rc == 0;
	parts = b.n_rest;
	for (size_t i = 0; rc == 0 && i < b.n; i++) {
		parts += b.picked[i];
		*yes &= !b.picked[i] ||
			b.list[i].share * 100 >= SOLID_PERCENT;
	}
	*yes &= parts <= MOST_PARTS;
	blame_release(&b);
	return rc;
}

/** Both classes by their fast cells, then one of them alone. */
static int try_fast(struct run *run, const struct slow_limit *fast,
		    uint8_t *marks)
{
	static const unsigned tries[] = { 3, 1, 2 };	/* masks of classes */

	for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
		struct slow_limit limits[PATH_CLASSES];
		bool possible = true, yes = false;

		for (int path = 0; path < PATH_CLASSES; path++) {
			bool wanted = tries[i] & 1U << path;

			limits[path] = wanted ? fast[path] : run->slow[path];
			possible &= !wanted || fast[path].of_fast;
		}
		if (!possible) {
			continue;
		}
		if (is_explained(run, limits, marks, &yes) < 0) {
			return -1;
		}
		for (size_t at = 0; yes && at < run_n_cells(run); at++) {
			struct cell *c = &run->cells[at];
			const struct slow_limit *l = &limits[c->path];

			if (l->of_fast &&
			    is_good(c, (enum path_class)c->path) &&
			    below(c, l)) {
				c->class = CELL_SLOW;
			}
		}
		if (yes) {
			memcpy(run->slow, limits, sizeof(limits));
			return 0;
		}
	}
	return 0;
}

/** Returns true if the slow cell at @at is slow only by its line rate, and
 *  not by more than the noise of its class. */
static bool is_noise(const struct run *run, size_t at)
{
	const struct cell *c = &run->cells[at];
	const struct slow_limit *l = &run->slow[c->path];
	double here = cells_beside(c, l);

	return cells_below_line(c) &&
	       l->peers >= CELLS_SLOW_PEERS && !(here < l->limit_GB_s) &&
	       l->mad_GB_s <= NOISE_MOST * l->median_GB_s &&
	       l->median_GB_s >= CELLS_LINE_RATIO * l->line_GB_s &&
	       here >= l->median_GB_s - LEVELS_NOISE_MADS * l->mad_GB_s;
}

/** Lets cells pass that are below their line rate by noise.  Returns 0, or -1
 *  when memory runs out. */
static int forgive_noise(struct run *run)
{
	struct tally (*of)[2];	/* below their line, as sender and receiver */

	of = calloc((size_t)run->n_ranks + 1, sizeof(*of));
	if (!of) {
		return -1;
	}
	run_foreach_cell(run, at) {
		const struct cell *c = &run->cells[at];

		for (int end = 0; run_good(c->class) && end < 2; end++) {
			int r = end ? run_dst(run, at) : run_src(run, at);

			of[r][end].tests++;
			of[r][end].bad += cells_below_line(c);
		}
	}
	run_foreach_cell(run, at) {
		int s = run_src(run, at), d = run_dst(run, at);

		if (run->cells[at].class == CELL_SLOW && is_noise(run, at) &&
		    2 * of[s][0].bad <= of[s][0].tests &&
		    2 * of[d][1].bad <= of[d][1].tests) {
			run->cells[at].class = CELL_PASS;
		}
	}
	free(of);
	return 0;
}

int levels_mark_slow(struct run *run)
{
	struct slow_limit fast[PATH_CLASSES];
	bool any = false, again = false, groups;
	uint8_t *marks;
	double *bw;
	int rc = 0;

	if (cells_mark_slow(run->cells, run_n_cells(run), run->size_B,
			    run->slow) < 0) {
		return -1;
	}
	/* A limit rises a little when what was slow has been measured again.
	 * What was above it then was not, and is not slow by that: slow is slow
	 * twice. */
	run_foreach_cell(run, at) {
		again |= run->cells[at].attempt > 1;
	}
	for (size_t at = 0; again && at < run_n_cells(run); at++) {
		struct cell *c = &run->cells[at];

		if (c->class == CELL_SLOW && c->attempt == 1 &&
		    !cells_below_line(c) &&
		    cells_beside(c, &run->slow[c->path]) >
			    RISE_RATIO * run->slow[c->path].limit_GB_s) {
			c->class = CELL_PASS;
		}
	}
	if (forgive_noise(run) < 0 || groups_mark_slow(run, &groups) < 0) {
		return -1;
	}
	bw = calloc(run_n_cells(run) + 1, sizeof(*bw));
	if (!bw) {
		return -1;
	}
	for (int path = 0; path < PATH_CLASSES; path++) {
		fast[path] =
			run->slow[path].bound_by_latency ||
			(groups && path == PATH_INTER) ?
				run->slow[path] :
				find_fast(run, (enum path_class)path, bw);
		any |= fast[path].of_fast;
	}
	free(bw);
	if (!any) {
		return 0;
	}
	marks = calloc(run_n_cells(run) + 1, 1);
	rc = marks ? try_fast(run, fast, marks) : -1;
	free(marks);
	return rc;
}

int levels_read(const char *dir, struct run *run, struct err *e)
{
	if (run_read(dir, run, e) < 0) {
		return -1;
	}
	if (levels_mark_slow(run) < 0 || leaves_infer(run) < 0) {
		err_set(e, ENOMEM, "cannot judge %d ranks", run->n_ranks);
		run_release(run);
		return -1;
	}
	return 0;
}
