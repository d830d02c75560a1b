/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings about parts that fail sometimes, too rarely to show in a single
 * pair: found by their failure rates.  They explain the failures of their
 * tests, whether these passed when repeated or were not repeated.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/stats.h"
#include "lib/base/units.h"
#include "report/judge/findings.h"
#include "report/model/run.h"

/** Probability of naming a wrong part in a run.  It is small because a part
 *  that does fail sometimes gives chance a second try. */
#define ALPHA 0.005
/** Probability below which repeated failures are not chance. */
#define ALPHA_AGAIN 0.01
/** Fewer failures have no rate; nor have fewer pairs of GPUs. */
#define LEAST_FAILED 3
/** Failure rates above this, in percent, are found without a rate.  With as
 *  many tests as a sample and its follow-up have per part, a part with a rate
 *  of a third may fail more often by chance; with fewer tests, a rate of a half
 *  may be one bad direction. */
#define MOST_PERCENT   40
#define MOST_OF_SAMPLE 60
#define SAMPLE_LEAST   20
#define SAMPLE_MOST    150
/** Lower rates, in percent, are not needed to decide which parts are broken. */
#define LEAST_PERCENT 2
/** Minimum gain of a part with a rate of its own, in nats. */
#define LEAST_NATS 5.0
/** Minimum gain of a name with a direction, in nats; and difference from which
 *  a part is no alternative. */
#define DIRECTION_NATS 3.0
#define OR_NATS	       4.6
/** Alternatives have that much of what failed in common. */
#define OR_SHARE 0.6
/** Parts that are looked at one after the other. */
#define MOST_PARTS 32

struct rates_work {
	const struct run *run;
	struct part_index index;
	struct tally *of;	/* each part, of cells that are not out */
	struct tally all;
	uint8_t *out;		/* cells that are explained */
	uint32_t *failed;	/* all cells that failed, by place */
	size_t n_failed;
	struct rates rates;
};

/** Adds the test of the cell at @at, or with @by = -1 removes it. */
static void count(struct rates_work *w, size_t at, bool failed, uint32_t by)
{
	size_t ids[PART_INDEX_CELL_MAX];
	int k;

	if (w->out[at] || !run_measured(w->run->cells[at].class)) {
		return;
	}
	w->all.tests += by;
	w->all.bad += failed ? by : 0;
	k = part_index_cell(&w->index, run_src(w->run, at),
			    run_dst(w->run, at), ids);
	for (int i = 0; i < k; i++) {
		w->of[ids[i]].tests += by;
		w->of[ids[i]].bad += failed ? by : 0;
	}
}

/** Adds all tests of @p, or with @by = -1 removes them: first ones, and those
 *  of the follow-up that do not repeat a failed one. */
static void count_all(struct rates_work *w, const struct part *p, uint32_t by)
{
	for (size_t i = 0; i < w->run->n_follow; i++) {
		const struct run_follow *f = &w->run->follow[i];
		unsigned class = cells_class_of(f->outcome);

		if (part_touches_at(w->run, p, f->at) && run_measured(class) &&
		    (follow_has(w->run, f->at) ||
		     !rates_failed(w->run, f->at))) {
			count(w, f->at, cells_failed(class), by);
		}
	}
	part_foreach_cell(w->run, p, at) {
		if (!follow_has(w->run, at)) {
			count(w, at, rates_failed(w->run, at), by);
		}
	}
}

/** Returns true if the test failed in the follow-up after passing before. */
static bool failed_later(const struct rates_work *w, const struct run_follow *f)
{
	return !w->out[f->at] && cells_failed(cells_class_of(f->outcome)) &&
	       run_good(w->run->cells[f->at].class) &&
	       !rates_failed(w->run, f->at);
}

/** Logarithm of the likelihood of @k of @n at @rate. */
static double likelihood(double k, double n, double rate)
{
	return (k > 0 ? k * log(rate) : 0) +
	       (n > k ? (n - k) * log1p(-rate) : 0);
}

static double rate_of(const struct tally *c)
{
	return fmax(RATES_USUAL, c->tests > 0 ?
		    (double)c->bad / c->tests : 0);
}

/** Returns the evidence for part number @id against all others: the logarithm
 *  of the likelihood ratio.  @chance is the logarithm of the probability of as
 *  many failures at the rate of the others. */
static double weigh(const struct rates_work *w, size_t id, double *chance)
{
	const struct tally *c = &w->of[id], *all = &w->all;
	const struct tally rest = { .bad = all->bad - c->bad,
				    .tests = all->tests - c->tests };
	double usual = rate_of(&rest), k = c->bad, n = c->tests;

	*chance = 0;
	/* most parts have not failed; cables that are exchanged are so at all
	 * times */
	if (c->bad < LEAST_FAILED || rest.tests == 0 ||
	    k <= 2 * usual * n ||
	    part_index_part(&w->index, id).kind == PART_CABLE_SWAP) {
		return 0;
	}
	*chance = stats_log_tail(k, n, usual);
	return likelihood(k, n, k / n) +
	       likelihood(rest.bad, rest.tests, usual) -
	       likelihood(all->bad, all->tests, rate_of(all));
}

/** Returns the evidence for a part, @nats, less the cost of its name. */
static double score(const struct rates_work *w, size_t id, double nats)
{
	struct part p = part_index_part(&w->index, id);
	const size_t *first = &w->index.at[p.kind];

	return nats - log((double)(first[1] - first[0])) -
	       (p.direction == PART_BOTH ? 0 : DIRECTION_NATS);
}

/** Returns true if so many of the @tests fail, by @rate, that the part is
 *  broken. */
static bool is_broken(double rate, size_t tests)
{
	bool sample = tests >= SAMPLE_LEAST && tests <= SAMPLE_MOST;

	return rate * 100 >= (sample ? MOST_OF_SAMPLE : MOST_PERCENT);
}

/** Returns true if the failures of @r happen by chance: they do not fail more
 *  often when repeated.  Sets r->passed. */
static bool is_chance(const struct rates_work *w, struct rate *r)
{
	const struct run *run = w->run;
	size_t later[LEAST_FAILED], n_later = 0, pairs, again = 0;
	double rate = (double)r->failed / (double)r->tests, bad;

	/* pairs that failed only in the follow-up, up to LEAST_FAILED */
	for (size_t i = 0; i < run->n_follow && n_later < LEAST_FAILED; i++) {
		size_t at = run->follow[i].at, back = run_back(run, at);
		bool known = !failed_later(w, &run->follow[i]) ||
			     !part_touches_at(run, &r->part, at) ||
			     (!w->out[back] && rates_failed(run, back));

		for (size_t k = 0; k < n_later; k++) {
			known |= later[k] == at || later[k] == back;
		}
		if (!known) {
			later[n_later++] = at;
		}
	}
	pairs = n_later;
	for (size_t i = 0; i < w->n_failed; i++) {
		size_t at = w->failed[i], back = run_back(run, at);
		const struct cell *c = &run->cells[at];

		if (w->out[at] || !part_touches_at(run, &r->part, at)) {
			continue;
		}
		pairs += back > at || w->out[back] || !rates_failed(run, back);
		again += c->attempt > 1;
		r->passed += run_good(c->class);
	}
	for (size_t i = 0; i < run->n_follow; i++) {
		const struct run_follow *f = &run->follow[i];
		unsigned class = cells_class_of(f->outcome);

		if (run_measured(class) && !follow_has(run, f->at) &&
		    !w->out[f->at] && !rates_failed(run, f->at) &&
		    part_touches_at(run, &r->part, f->at)) {
			r->again++;
			r->again_failed += cells_failed(class);
		}
	}
	bad = (double)again - (double)r->passed;
	return !is_broken(rate, r->tests) && pairs >= LEAST_FAILED &&
	       r->passed + n_later > 0 &&
	       (bad <= rate * (double)again ||
		stats_log_tail(bad, (double)again, rate) > log(ALPHA_AGAIN));
}

/** Adds to @r the parts with nearly as much evidence, if they have most of the
 *  failed tests of @r and the reverse. */
static int add_others(const struct rates_work *w, size_t id, struct rate *r)
{
	double least = score(w, id, r->nats) - OR_NATS, chance;

	for (size_t i = 0; i < w->index.n; i++) {
		double nats = weigh(w, i, &chance);
		size_t both = 0, one = 0;
		struct part p;

		if (nats <= 0 || score(w, i, nats) < least) {
			continue;
		}
		p = part_index_part(&w->index, i);
		if (part_same_place(&p, &r->part)) {
			continue;
		}
		for (size_t k = 0; k < w->n_failed; k++) {
			size_t at = w->failed[k];
			bool a = !w->out[at] &&
				 part_touches_at(w->run, &p, at);
			bool b = !w->out[at] &&
				 part_touches_at(w->run, &r->part, at);

			both += a && b;
			one += a || b;
		}
		if ((double)both >= OR_SHARE * (double)one &&
		    !grow_add(&r->or_parts, &r->n_or, &p, sizeof(p))) {
			return -1;
		}
	}
	return 0;
}

/** Takes the part with the highest score, if it stands out; adds it to the list
 *  if it fails by chance. */
static int next(struct rates_work *w, bool *any)
{
	size_t id = SIZE_MAX;
	double most = 0, chance = 0;
	struct rate r = { 0 };

	for (size_t i = 0; i < w->index.n; i++) {
		double tail, nats = weigh(w, i, &tail);
		double s = nats > 0 ? score(w, i, nats) : 0;

		if (s > most) {
			most = s;
			id = i;
			r.nats = nats;
			chance = tail;
		}
	}
	*any = id != SIZE_MAX && r.nats >= LEAST_NATS &&
	       chance + log((double)w->index.n) <= log(ALPHA);
	if (!*any) {
		return 0;
	}
	r.part = part_index_part(&w->index, id);
	r.failed = w->of[id].bad;
	r.tests = w->of[id].tests;
	if (is_chance(w, &r) &&
	    (add_others(w, id, &r) < 0 ||
	     !grow_add(&w->rates.list, &w->rates.n, &r, sizeof(r)))) {
		free(r.or_parts);
		return -1;
	}
	/* its cells are explained, and count no more */
	count_all(w, &r.part, (uint32_t)-1);
	part_foreach_cell(w->run, &r.part, at) {
		w->out[at] = 1;
	}
	return 0;
}

/** Takes out the parts that fail more often than not: they are broken, and so
 *  count for no part that contains them. */
static int take_broken(struct rates_work *w)
{
	static const struct suspect_need need = { .percent = LEAST_PERCENT,
						  .matters = is_broken };
	const struct run *run = w->run;
	uint8_t *marks = malloc(run_n_cells(run) + 1);
	bool *broken = calloc(w->index.n + 1, sizeof(*broken)), any = false;
	struct blame b = { 0 };
	int rc = -1;

	for (size_t at = 0; marks && at < run_n_cells(run); at++) {
		unsigned class = run->cells[at].class;

		marks[at] = w->out[at] || run->cells[at].flaky ||
					    !run_measured(class) ?
				    MARK_IGNORE :
			    cells_failed(class) ? MARK_BAD : MARK_GOOD;
	}
	if (marks && broken) {
		rc = blame_find(run, marks, &need, &b);
	}
	for (size_t i = 0; rc == 0 && i < b.n; i++) {
		const struct suspect *x = &b.list[i];
		bool is = b.picked[i] &&
			  is_broken(x->share, x->bad + x->good);

		broken[x->id] = is;
		any |= is;
	}
	for (size_t at = 0; any && at < run_n_cells(run); at++) {
		size_t ids[PART_INDEX_CELL_MAX];
		int n = part_index_cell(&w->index, run_src(run, at),
					run_dst(run, at), ids);

		for (int i = 0; i < n; i++) {
			w->out[at] |= broken[ids[i]];
		}
	}
	blame_release(&b);
	free(broken);
	free(marks);
	return rc;
}

static int find(struct rates_work *w)
{
	const struct part all = part_of_kind(PART_CONFIG);
	struct rates *r = &w->rates;
	bool any = true;

	if (take_broken(w) < 0) {
		return -1;
	}
	count_all(w, &all, 1);
	for (int i = 0; i < MOST_PARTS && any; i++) {
		if (next(w, &any) < 0) {
			return -1;
		}
	}
	run_foreach_cell(w->run, at) {
		r->tests += !w->out[at] &&
			    run_measured(w->run->cells[at].class);
	}
	for (size_t i = 0; i < w->n_failed; i++) {
		const struct cell *c = &w->run->cells[w->failed[i]];

		if (w->out[w->failed[i]]) {
			continue;	/* a part explains it */
		}
		r->again += c->attempt > 1;
		r->passed += run_good(c->class);
		if (!grow_add(&r->rest, &r->n_rest, &w->failed[i],
			      sizeof(w->failed[i]))) {
			return -1;
		}
	}
	return 0;
}

int rates_find(const struct run *run, const uint8_t *skip, struct rates *out)
{
	struct rates_work w = { .run = run,
				.out = malloc(run_n_cells(run) + 1) };
	bool passed = false;
	int rc = w.out ? 0 : -1;
	size_t failed;		/* with those of the follow-up */

	for (uint32_t at = 0; rc == 0 && at < run_n_cells(run); at++) {
		w.out[at] = skip && (skip[at] & EXPLAINED);
		if (!w.out[at] && rates_failed(run, at)) {
			passed |= run->cells[at].flaky != 0;
			rc = grow_add(&w.failed, &w.n_failed, &at,
				      sizeof(at)) ? 0 : -1;
		}
	}
	for (size_t i = 0; rc == 0 && i < run->n_follow && !passed; i++) {
		passed = failed_later(&w, &run->follow[i]);
	}
	/* what never passes at another time fails for a reason */
	w.n_failed = passed ? w.n_failed : 0;
	failed = w.n_failed;
	for (size_t i = 0; rc == 0 && failed > 0 && i < run->n_follow; i++) {
		failed += failed_later(&w, &run->follow[i]);
	}
	if (rc == 0 && failed >= LEAST_FAILED) {
		rc = part_index_init(&w.index, run);
		w.of = rc == 0 ? calloc(w.index.n + 1, sizeof(*w.of)) : NULL;
		rc = w.of ? find(&w) : -1;
		part_index_release(&w.index);
	}
	free(w.of);
	free(w.out);
	free(w.failed);
	*out = w.rates;
	if (rc < 0) {
		rates_release(out);
	}
	return rc;
}

void rates_release(struct rates *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->list[i].or_parts);
	}
	free(r->list);
	free(r->rest);
	*r = (struct rates){ 0 };
}

/* ---- findings ------------------------------------------------------------ */

/** Maximum lone failures that are listed one by one. */
#define MOST_LONE 10

/** "12 of 240 tests (5 %)" */
static void add_share(struct finding *f, size_t failed, size_t tests)
{
	finding_more(f, "%s of %s tests (%.2g %%)", UNITS_COUNT(failed),
		     UNITS_COUNT(tests),
		     100 * (double)failed / (double)(tests ? tests : 1));
}

static void add_fate(struct finding *f, size_t failed, size_t passed)
{
	if (passed == failed) {
		finding_more(f, ", all passed when retried");
	} else {
		finding_more(f, ", %s passed when retried",
			     UNITS_COUNT(passed));
	}
}

/** Marks the failure of the cell at @at as explained; its speed is judged
 *  separately. */
static void explain(const struct run *run, uint8_t *explained, size_t at)
{
	explained[at] |= EXPLAINED_FLAKY;
	if (cells_failed(run->cells[at].class)) {
		explained[at] |= EXPLAINED;
	}
}

static struct finding *add_rate(const struct run *run, const struct part *p,
				const uint8_t *explained, struct verdict *v)
{
	struct finding *f = finding_add(v, part_shown(run, p), "");
	struct witness w;

	witness_hear(run, p, ABOUT_RATE, explained, f, &w);
	STR_COPY(f->code, w.code);
	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		f->explained += w.bad[c];
	}
	f->fail = w.corrupted + w.bad[CELL_FAIL] + w.bad[CELL_TIMEOUT] +
		  w.bad[CELL_CORRUPT] > 0;
	return f;
}

/** Many that have nothing in common are one finding. */
static void add_scatter(const struct run *run, const struct rates *all,
			enum path_class path, uint8_t *explained,
			struct verdict *v)
{
	struct part p = part_of_path(path);
	size_t failed = 0, good = 0;
	struct finding *f;

	for (size_t i = 0; i < all->n_rest; i++) {
		const struct cell *c = &run->cells[all->rest[i]];

		failed += c->path == path;
		good += c->path == path && run_good(c->class);
	}
	if (failed <= MOST_LONE) {
		return;
	}
	f = add_rate(run, &p, explained, v);
	f->scatter = true;
	f->explained = failed;
	add_share(f, failed, f->cells);
	finding_more(f, " %s failed", run_path_words(path));
	add_fate(f, failed, good);
	finding_more(f, "; no part fails more often than the others");
	for (size_t i = 0; i < all->n_rest; i++) {
		if (run->cells[all->rest[i]].path == path) {
			explain(run, explained, all->rest[i]);
		}
	}
}

void rate_findings(const struct run *run, uint8_t *explained,
		   struct verdict *v)
{
	struct rates all;

	if (rates_find(run, explained, &all) < 0) {
		v->failed = true;
		return;
	}
	for (size_t i = 0; i < all.n; i++) {
		const struct rate *r = &all.list[i];
		struct finding *f = add_rate(run, &r->part, explained, v);

		f->judged = r->tests;
		for (size_t k = 0; k < r->n_or; k++) {
			struct part p = part_shown(run, &r->or_parts[k]);

			if (part_compare(&p, &f->part) != 0) {
				finding_add_or(f, &p);
			}
		}
		finding_more(f, "%s fails intermittently: ",
			     PART_NAME(run, &f->part));
		add_share(f, f->explained, f->cells);
		if (r->again > 0) {
			finding_more(f, " and %s of %s repeated by the "
				     "follow-up", UNITS_COUNT(r->again_failed),
				     UNITS_COUNT(r->again));
		}
		add_fate(f, f->explained, r->passed);
		finding_more(f, "; elsewhere ");
		add_share(f, all.n_rest, all.tests);
		finding_more_or(run, f);
		finding_add_evidence(f, "likelihood ratio 10^%.0f",
				     floor(r->nats / log(10)));
		part_foreach_cell(run, &r->part, at) {
			if (rates_failed(run, at)) {
				explain(run, explained, at);
			}
		}
	}
	/* if most repeated tests passed, the failures are scatter: no part is
	 * to blame */
	for (int path = 0; path < PATH_CLASSES && 2 * all.passed > all.again;
	     path++) {
		add_scatter(run, &all, (enum path_class)path, explained, v);
	}
	/* the few that passed when retried, beside a part that fails more
	 * often */
	for (size_t i = 0; all.n > 0 && i < all.n_rest; i++) {
		if (run_good(run->cells[all.rest[i]].class)) {
			explained[all.rest[i]] |= EXPLAINED_FLAKY;
			v->account.retried++;
		}
	}
	rates_release(&all);
}
