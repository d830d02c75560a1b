/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/levels.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/stats.h"
#include "report/judge/attribute.h"
#include "report/judge/leaves.h"

/** Of the cells of a class that the fast minority must be, in percent. */
#define FAST_PERCENT 10
/** The fastest slow ones reach no more than this share of the slowest fast
 *  ones, both without the last percent of stray cells. */
#define GAP_RATIO    0.9
#define STRAY_PERCENT 1
/** No limit rises by more when slow cells are measured again. */
#define RISE_RATIO 0.98
/** So many may be to blame, lone cells included, a part for this share of its
 *  cells. */
#define MOST_PARTS 3
#define SOLID_SHARE 0.95

static bool is_good(const struct cell *c, enum path_class path)
{
	return c->path == path && isfinite(c->bw_GB_s) && run_good(c->class);
}

/** The value that @percent of @n > 0 do not exceed. */
static double stray(double *v, size_t n, unsigned percent)
{
	return stats_select(v, n, (n - 1) * percent / 100);
}

/** Those below @limit first; returns how many. */
static size_t split(double *v, size_t n, double limit)
{
	size_t below = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i] < limit) {
			double t = v[below];

			v[below++] = v[i];
			v[i] = t;
		}
	}
	return below;
}

/**
 * The level of a fast minority of @path, if there is one: limit NAN if not.
 * @bw: room for all cells.
 */
static struct slow_limit find_minority(const struct run *run,
				       enum path_class path, double *bw)
{
	struct slow_limit l = {
		.limit_GB_s = NAN, .line_GB_s = run->slow[path].line_GB_s,
	};
	size_t n = 0, slow = 0;
	double top, slowest, fastest;

	for (size_t at = 0; at < run_n_cells(run); at++) {
		if (is_good(&run->cells[at], path)) {
			bw[n++] = cells_beside(&run->cells[at], &l);
		}
	}
	if (n == 0) {
		return l;
	}
	top = stray(bw, n, 100 - STRAY_PERCENT);
	slow = split(bw, n, CELLS_SLOW_RATIO * top);
	l.peers = n - slow;
	if (2 * slow < n || l.peers < CELLS_SLOW_PEERS ||
	    l.peers * 100 < n * FAST_PERCENT) {
		return l;
	}
	fastest = stray(bw, slow, 100 - STRAY_PERCENT);
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

/** Do a few parts explain all that is slow under @limits? */
static int is_explained(const struct run *run, const struct slow_limit *limits,
			uint8_t *marks, bool *yes)
{
	static const struct suspect_need need = {
		.percent = ATTRIBUTE_PERCENT, .relative = { true, true },
	};
	struct blame b;
	size_t parts;
	int rc;

	for (size_t at = 0; at < run_n_cells(run); at++) {
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
	for (size_t i = 0; rc == 0 && i < b.s.n; i++) {
		parts += b.of[i].picked;
		*yes &= !b.of[i].picked || b.s.list[i].share >= SOLID_SHARE;
	}
	*yes &= parts <= MOST_PARTS;
	blame_release(&b);
	return rc;
}

static void take(struct run *run, const struct slow_limit *limits)
{
	for (int path = 0; path < PATH_CLASSES; path++) {
		for (size_t at = 0;
		     limits[path].of_fast && at < run_n_cells(run); at++) {
			struct cell *c = &run->cells[at];

			if (is_good(c, (enum path_class)path) &&
			    below(c, &limits[path])) {
				c->class = CELL_SLOW;
			}
		}
		run->slow[path] = limits[path];
	}
}

/** Both classes by their fast minorities, then one of them alone. */
static int try_minorities(struct run *run, const struct slow_limit *fast,
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
		if (yes) {
			take(run, limits);
			return 0;
		}
	}
	return 0;
}

/**
 * A limit rises a little when what was slow has been measured again.  What was
 * above it then was not, and is not slow by that: slow is slow twice.
 */
static void spare_untried(struct run *run)
{
	bool again = false;

	for (size_t at = 0; at < run_n_cells(run); at++) {
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
}

int levels_mark_slow(struct run *run)
{
	struct slow_limit fast[PATH_CLASSES];
	bool any = false;
	uint8_t *marks;
	double *bw;
	int rc = 0;

	if (cells_mark_slow(run->cells, run_n_cells(run), run->size_B,
			    run->slow) < 0) {
		return -1;
	}
	spare_untried(run);
	bw = calloc(run_n_cells(run) + 1, sizeof(*bw));
	if (!bw) {
		return -1;
	}
	for (int path = 0; path < PATH_CLASSES; path++) {
		fast[path] =
			run->slow[path].bound_by_latency ?
				run->slow[path] :
				find_minority(run, (enum path_class)path, bw);
		any |= fast[path].of_fast;
	}
	free(bw);
	if (!any) {
		return 0;
	}
	marks = calloc(run_n_cells(run) + 1, 1);
	rc = marks ? try_minorities(run, fast, marks) : -1;
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
