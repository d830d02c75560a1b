/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pairs of one kind at two levels, of which no part and no expected rate says
 * that one is a fault.  Most of them may be slow, so that the others look odd;
 * or a few have a better way.  Nobody is accused, but it is said.
 */
#include "report/judge/findings.h"

#include <stdlib.h>

#include "lib/base/units.h"

/** Bandwidths are counted in steps of 2 %, from 1/2700 to 2700 of the
 *  median. */
#define STEP   0.02
#define BINS   800
#define MIDDLE (BINS / 2)
/** Between two levels lie 10 % with next to nothing in them, a hundredth of the
 *  smaller one; that has a hundredth of all, and as many as a limit needs. */
#define GAP_BINS 5
#define STRAY	 100
#define SMALLEST 100
/** Of the cells of one place in all nodes: it is built so. */
#define ALIKE_PERCENT 99

/** Cells that are alike in all that is known of their ways: path class, way of
 *  the bytes, one leaf switch or two. */
struct kind {
	uint32_t count[BINS];
	size_t n;
};

struct levels {
	size_t low, high;	/* cells of each */
	int low_bin, high_bin;	/* of their medians */
	int from;		/* the first bin above the gap */
};

static size_t n_kinds(const struct run *run)
{
	return 2 * PATH_CLASSES * run->n_paths;
}

static size_t kind_of(const struct run *run, size_t at)
{
	int a = run->nodes[run->ranks[run_src(run, at)].node].leaf;
	int b = run->nodes[run->ranks[run_dst(run, at)].node].leaf;
	size_t far = a && b && a != b;

	return (2 * run->cells[at].path + far) * run->n_paths +
	       run->cell_way[at];
}

/** Where its bandwidth counts; -1: it is slow, or meets what is expected. */
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

/** The bin of the median of the @n cells from bin @from on. */
static int median_bin(const struct kind *k, int from, size_t n)
{
	size_t seen = k->count[from];

	while (2 * seen < n) {
		seen += k->count[++from];
	}
	return from;
}

/** The emptiest gap that parts the cells of @k in two levels, if there is any;
 *  the lowest of several. */
static bool find_levels(const struct kind *k, struct levels *out)
{
	const double apart = log(1 / CELLS_SLOW_RATIO) / STEP;
	size_t low = 0, least = SIZE_MAX;

	for (int b = 0; b + GAP_BINS < BINS; b++) {
		struct levels l = { .low = low, .from = b + GAP_BINS };
		size_t inside = 0, smaller;

		for (int i = b; i < l.from; i++) {
			inside += k->count[i];
		}
		l.high = k->n - low - inside;
		smaller = l.low < l.high ? l.low : l.high;
		low += k->count[b];
		if (smaller < CELLS_SLOW_PEERS || inside >= least ||
		    smaller * SMALLEST < k->n || inside * STRAY > smaller) {
			continue;
		}
		l.low_bin = median_bin(k, 0, l.low);
		l.high_bin = median_bin(k, l.from, l.high);
		if (l.high_bin - l.low_bin > apart) {
			*out = l;
			least = inside;
		}
	}
	return least < SIZE_MAX;
}

/** Does the place of two GPUs in their node say, in all nodes alike, at which
 *  level they are?  -1 when memory runs out. */
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
		const struct run_rank *s = &run->ranks[run_src(run, at)];
		const struct run_rank *d = &run->ranks[run_dst(run, at)];
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
	for (size_t at = 0; at < run_n_cells(run); at++) {
		int bin = kind_of(run, at) == kind ? bin_of(run, at) : -1;

		if (bin >= 0 && (bin >= l->from) == high) {
			return at;
		}
	}
	return 0;
}

static void add_example(const struct run *run, size_t at, struct finding *f)
{
	char name[PART_NAME_SIZE], bw[UNITS_REAL_SIZE];
	const char *way = run->paths[run->cell_way[at]];

	finding_add_evidence(f, "%s: %s GB/s%s%s",
			     part_cell_name(run, at, name),
			     units_real_text((double)run->cells[at].bw_GB_s, 2,
					     bw),
			     way[0] ? " by " : "", way);
}

static double GB_s_of(const struct run *run, enum path_class path, int bin)
{
	return run->slow[path].median_GB_s *
	       exp(STEP * (bin - MIDDLE + 0.5));
}

static void say(const struct run *run, size_t kind, const struct levels *l,
		struct verdict *v)
{
	size_t low_at = first_at(run, kind, l, false);
	enum path_class path = run->cells[low_at].path;
	struct part p = part_of_path(path);
	struct finding *f = finding_add(v, &p, "two_levels");
	char low[UNITS_REAL_SIZE], high[UNITS_REAL_SIZE];

	f->cells = l->low + l->high;
	f->explained = l->low;
	finding_say(f, "Tests %s are at two levels: %zu at about %s GB/s, %zu "
		    "at about %s GB/s; no rate is expected of them that would "
		    "tell which is right", run_path_words(path), l->low,
		    units_real_text(GB_s_of(run, path, l->low_bin), 2, low),
		    l->high,
		    units_real_text(GB_s_of(run, path, l->high_bin), 2, high));
	add_example(run, low_at, f);
	add_example(run, first_at(run, kind, l, true), f);
	finding_set_example(run, f, low_at);
}

void level_findings(const struct run *run, struct verdict *v)
{
	struct kind *kinds;

	if (run->mesh || run->shared_cores || run_n_cells(run) == 0) {
		return;
	}
	kinds = calloc(n_kinds(run) + 1, sizeof(*kinds));
	v->failed = v->failed || !kinds;
	for (size_t at = 0; kinds && at < run_n_cells(run); at++) {
		int bin = bin_of(run, at);

		if (bin >= 0) {
			kinds[kind_of(run, at)].count[bin]++;
			kinds[kind_of(run, at)].n++;
		}
	}
	for (size_t k = 0; kinds && k < n_kinds(run); k++) {
		struct levels l = { 0 };
		int design;

		if (!find_levels(&kinds[k], &l)) {
			continue;
		}
		design = is_design(run, k, &l);
		v->failed = v->failed || design < 0;
		if (design == 0) {
			say(run, k, &l, v);
		}
	}
	free(kinds);
}
