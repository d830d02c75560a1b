/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparison with an accepted run, whose findings are not reported again. */
#include "report/judge/accepted.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/stats.h"
#include "report/judge/caption.h"

/** A single test that is worse than then by more than a tenth, or by more MADs
 *  of all, is worse. */
#define WORSE_BAND 0.10
#define WORSE_MADS 5.0
/** One of this many slow tests may be new by chance. */
#define STRAY_OF   100
/** All tests of a kind being slower by this is reported (logarithm). */
#define LEAST_FALL 0.05
/** Tolerance for the levels of two groups of pairs, and for the growth of the
 *  lower one, in addition to chance. */
#define LEVEL_BAND 0.05
#define SHARE_BAND 0.01
#define SHARE_DEVIATIONS 3.0

/** The findings that are compared with the accepted run, by code, with their
 *  tolerances. */
static const struct accepted_kind {
	const char *code;
	bool latency;
	double least;	/* a part that got worse by this is another one, ... */
	double one;	/* ... of a single test by this: logarithms */
} kinds[] = {
	{ .code = "slow", .least = 0.015, .one = 0.1 },
	{ .code = "latency", .latency = true, .least = 0.14, .one = 0.3 },
	{ 0 }
};

/** Findings about groups of pairs, which blame no part. */
static const char *const groups[] = {
	"two_levels", "collisions", "leaf_ratio", NULL
};

struct accepted_beside {
	const struct run *now, *then;
	int *rank_then;		/* the same GPU of the same node; -1 */
	double *room;		/* two values of each cell */
	double band[PATH_CLASSES];	/* a logarithm, of one test */
};

/* ---- comparability ------------------------------------------------------- */

static void add_why(struct str *out, const char *what, const char *was,
		    const char *is)
{
	str_addf(out, "%s%s %s, now %s", out->len > 0 ? "; " : "", what, was,
		 is);
}

bool accepted_unlike(const struct run *then, const struct run *now,
		     struct str *out)
{
	static const char *const options[] = { "op", "memory", "bidi" };
	const char *nonce = run_file(now->json).nonce;
	struct str why = STR_INIT;
	int common = 0;		/* nodes that both runs have */
	bool unlike;

	if (nonce[0] && strcmp(run_file(then->json).nonce, nonce) == 0) {
		str_add(&why, "it is this run");
	} else if (strcmp(then->probe, now->probe) != 0) {
		add_why(&why, "a run of", then->probe, now->probe);
	} else {
		run_unlike(then, now, &why);
	}
	if (then->schedule[0] && now->schedule[0] &&
	    strcmp(then->schedule, now->schedule) != 0) {
		add_why(&why, "schedule", then->schedule, now->schedule);
	}
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		json_t *was = run_option(then, options[i]);
		json_t *is = run_option(now, options[i]);

		if (was && is && !json_equal(was, is)) {
			str_addf(&why, "%sanother --%s",
				 why.len > 0 ? "; " : "", options[i]);
		}
	}
	if (then->drill && !now->drill) {
		str_addf(&why, "%sa drill: its faults were injected",
			 why.len > 0 ? "; " : "");
	}
	for (int i = 0; i < now->n_nodes; i++) {
		const struct cluster_node *n = &now->nodes[i];
		int k = n->gpus > 0 ? run_find_gpus(then, n->name) : -1;

		common += k >= 0;
		if (k >= 0 && then->nodes[k].gpus != n->gpus && why.len == 0) {
			str_addf(&why, "%d ranks on %s, now %d",
				 then->nodes[k].gpus, n->name, n->gpus);
		}
	}
	if (common == 0 && why.len == 0) {
		str_add(&why, "no node is in both runs");
	}
	unlike = why.len > 0;
	str_add(out, str_text(&why));
	str_release(&why);
	return unlike;
}

/* ---- test by test -------------------------------------------------------- */

static double value_of(const struct cell *c, bool latency)
{
	double v = latency ? 1 / (double)c->lat_us : (double)c->bw_GB_s;

	return run_good(c->class) && v > 0 && isfinite(v) ? log(v) : NAN;
}

/** Returns the logarithm of the ratio of the present value of the cell at @at
 *  to the earlier one, above 0 = better; NAN unless both are good. */
static double change_at(const struct accepted_beside *b, size_t at,
			bool latency)
{
	int src = b->rank_then[run_src(b->now, at)];
	int dst = b->rank_then[run_dst(b->now, at)];

	return src < 0 || dst < 0 ? NAN :
	       value_of(&b->now->cells[at], latency) -
		       value_of(run_cell(b->then, src, dst), latency);
}

static double median_of(double *v, size_t n)
{
	return n ? stats_select(v, n, n / 2) : 0;
}

/** All changes of @path to b->room; returns how many. */
static size_t changes_of(const struct accepted_beside *b, unsigned path)
{
	size_t n = 0;

	run_foreach_cell(b->now, at) {
		double v = b->now->cells[at].path == path ?
				   change_at(b, at, false) : NAN;

		if (isfinite(v)) {
			b->room[n++] = v;
		}
	}
	return n;
}

/* ---- a part -------------------------------------------------------------- */

/** Returns true if the slow tests of @f were as slow in the accepted run.
 *  Tests that another finding explains do not count. */
static bool were_slow(const struct accepted_beside *b, const struct verdict *v,
		      const struct finding *f)
{
	size_t slow = 0, new = 0;

	part_foreach_cell(b->now, &f->part, at) {
		const struct cell *c = &b->now->cells[at];
		bool own = c->class == CELL_SLOW;

		for (size_t i = 0; own && i < v->n; i++) {
			const struct finding *x = &v->findings[i];

			own = x == f || x->scatter ||
			      !kinds[STR_FIND(kinds, STR_TO_END, code,
					      x->code)].code ||
			      !part_touches_at(b->now, &x->part, at);
		}
		slow += own;
		new += own && !(change_at(b, at, false) >= -b->band[c->path]);
	}
	return new * STRAY_OF <= slow;
}

/** Returns true if the part of @f was as bad in the accepted run as it is now,
 *  within the tolerance @k. */
static bool was_so(const struct accepted_beside *b, const struct verdict *v,
		   const struct finding *f, const struct accepted_kind *k)
{
	const struct part *p = &f->part;
	const size_t cells = run_n_cells(b->now);
	/* logarithms of the cells of the part, from the front of the room, and
	 * of the other cells of their classes, from its end */
	double *change = b->room, *value = b->room + cells, changed, line;
	size_t n[2] = { 0 }, all[2] = { 0 };	/* good both times, and now */
	unsigned paths = 0;	/* the classes of its cells, as bits */

	part_foreach_cell(b->now, p, at) {
		const struct cell *c = &b->now->cells[at];

		paths |= run_good(c->class) ? 1U << c->path : 0;
	}
	run_foreach_cell(b->now, at) {
		const struct cell *c = &b->now->cells[at];
		double is = value_of(c, k->latency), by;
		bool other;

		if (!(paths >> c->path & 1) || isnan(is)) {
			continue;
		}
		other = !part_touches_at(b->now, p, at);
		by = change_at(b, at, k->latency);
		value[other ? cells - ++all[1] : all[0]++] = is;
		if (isfinite(by)) {
			change[other ? cells - ++n[1] : n[0]++] = by;
		}
	}
	changed = median_of(change, n[0]) -
		  median_of(change + cells - n[1], n[1]);
	line = fmin(k->one / sqrt((double)n[0]),
		    (median_of(value + cells - all[1], all[1]) -
		     median_of(value, all[0])) / 2);

	/* a part that all cells touch has no others to compare with */
	line = all[1] ? line : k->one;
	return n[0] > 0 && 2 * n[0] >= all[0] &&
	       changed >= -fmax(line, k->least) &&
	       (k->latency || were_slow(b, v, f));
}

/* ---- groups of pairs ----------------------------------------------------- */

/** Returns the bandwidth of @run at the share @rank (0 to 1) of its sorted
 *  cells of class @path; NAN without any. */
static double level_at(const struct accepted_beside *b, const struct run *run,
		       enum path_class path, double rank)
{
	size_t n = 0;

	run_foreach_cell(run, at) {
		double v = run->cells[at].path == path ?
				   value_of(&run->cells[at], false) : NAN;

		if (isfinite(v) && n < 2 * run_n_cells(b->now)) {
			b->room[n++] = v;
		}
	}
	return n ? stats_select(b->room, n,
				(size_t)(rank * (double)(n - 1))) : NAN;
}

/** Returns the class of the tests of @f, which is about groups of pairs. */
static enum path_class path_of(const struct finding *f)
{
	return f->part.kind == PART_INTRA_NODE	  ? PATH_INTRA :
	       f->part.kind == PART_NVLINK_DOMAIN ? PATH_NVLINK : PATH_INTER;
}

/** Returns true if @f is about a share of the tests of a path class, and not
 *  about these pairs or those: by load or a hash, others may be slow each
 *  time. */
static bool is_group(const struct finding *f)
{
	return str_index(groups, f->code) >= 0 ||
	       (f->part.kind == PART_FABRIC_PATH &&
		strcmp(f->code, "slow") == 0);
}

/** Returns true if the accepted run had the groups of pairs of @f at the same
 *  levels, and the slower group has not grown. */
static bool were_groups(const struct accepted_beside *b,
			const struct verdict *v, const struct finding *f)
{
	const struct finding *then = NULL;
	enum path_class path = path_of(f);
	double is, was, least;

	/* such a finding of the same pairs, and nearest in how many */
	verdict_foreach(v, x) {
		if (is_group(x) && path_of(x) == path && x->cells > 0 &&
		    (!then || fabs((double)x->cells - (double)f->cells) <
			      fabs((double)then->cells - (double)f->cells))) {
			then = x;
		}
	}

	if (!then || f->cells == 0) {
		return false;
	}
	is = (double)f->explained / (double)f->cells;
	was = (double)then->explained / (double)then->cells;
	least = fmin((double)f->cells, (double)then->cells);
	return is <= was + SHARE_BAND +
		       SHARE_DEVIATIONS * sqrt(was * (1 - was) / least) &&
	       level_at(b, b->now, path, is / 2) >=
		       level_at(b, b->then, path, was / 2) - LEVEL_BAND &&
	       level_at(b, b->now, path, (1 + is) / 2) >=
		       level_at(b, b->then, path, (1 + was) / 2) - LEVEL_BAND;
}

/* ---- result -------------------------------------------------------------- */

/** All tests of a class are slower than they were. */
static void add_falls(const struct accepted_beside *b, struct verdict *v)
{
	double line = run_slow_share(b->now);

	for (unsigned path = 0; path < PATH_CLASSES; path++) {
		char when[CAPTION_UTC_SIZE];
		size_t n = changes_of(b, path);
		double share = exp(median_of(b->room, n));
		struct finding *f;

		if (n < CELLS_SLOW_PEERS || share > 1 - LEAST_FALL) {
			continue;
		}
		f = finding_add(v, part_of_path((enum path_class)path),
				"below_reference");
		f->cells = n;
		f->fail = share <= 1 - line && !b->now->shared_cores;
		finding_say(f, "Tests %s reach %.0f %% of their bandwidth in "
			    "the accepted run of %s (median of %zu)",
			    run_path_words((enum path_class)path), 100 * share,
			    caption_utc(b->then->started_utc, when), n);
	}
}

bool accepted_asks(const struct verdict *v)
{
	verdict_foreach(v, f) {
		if (is_group(f)) {
			return true;
		}
	}
	return false;
}

void accepted_compare(const struct run *now, const struct run *then,
		      const struct verdict *before, struct verdict *v)
{
	struct accepted *a = &v->accepted;
	struct accepted_beside b = {
		.now = now, .then = then,
		.rank_then = calloc((size_t)now->n_ranks + 1,
				    sizeof(*b.rank_then)),
		.room = calloc(2 * run_n_cells(now) + 1, sizeof(*b.room)),
	};
	size_t i = 0;

	STR_COPY(a->started_utc, then->started_utc);
	v->failed |= !b.rank_then || !b.room;
	for (int r = 0; !v->failed && r < now->n_ranks; r++) {
		const struct cluster_rank *of = &now->ranks[r];
		int k = run_find_gpus(then, now->nodes[of->node].name);

		b.rank_then[r] = k >= 0 && of->gpu < then->nodes[k].gpus ?
			then->nodes[k].first_rank + of->gpu : -1;
	}
	for (unsigned path = 0; !v->failed && path < PATH_CLASSES; path++) {
		size_t n = changes_of(&b, path);
		double median, mad = n ? stats_mad(b.room, n, &median) : 0;

		b.band[path] = fmax(-log1p(-WORSE_BAND), WORSE_MADS * mad);
	}
	while (!v->failed && i < v->n) {
		struct finding *f = &v->findings[i];
		const struct accepted_kind *k =
			&kinds[STR_FIND(kinds, STR_TO_END, code, f->code)];

		if (is_group(f) ? !were_groups(&b, before, f) :
				  !(k->code && was_so(&b, v, f, k))) {
			i++;
			continue;
		}
		v->failed |= !grow_add(&a->says, &a->n, f->says,
				       sizeof(*a->says));
		finding_remove(v, i);
	}
	if (!v->failed) {
		add_falls(&b, v);
	}
	free(b.rank_then);
	free(b.room);
}

/** More of them are in verdict.json. */
#define NOTE_MOST 4

bool accepted_note(const struct accepted *a, int i, char *buf, size_t size)
{
	char when[CAPTION_UTC_SIZE];

	if (!a->dir[0]) {
		return false;
	}
	caption_utc(a->started_utc, when);
	if (i == 0 && a->why_not[0]) {
		snprintf(buf, size, "not compared with the accepted run in "
			 "%.200s: %s", a->dir, a->why_not);
	} else if (i == 0) {
		snprintf(buf, size, "compared with the accepted run of %s in "
			 "%.200s: %zu effect%s the same in both, and therefore "
			 "not a finding%s", when, a->dir, a->n,
			 a->n == 1 ? " is" : "s are", a->n > 0 ? ":" : "");
	} else if (i <= NOTE_MOST && (size_t)i <= a->n) {
		snprintf(buf, size, "as in the accepted run of %s: %s", when,
			 a->says[i - 1]);
	} else if (i == NOTE_MOST + 1 && a->n > NOTE_MOST) {
		snprintf(buf, size, "%zu more are in verdict.json",
			 a->n - NOTE_MOST);
	} else {
		return false;
	}
	return true;
}
