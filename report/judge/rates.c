/* SPDX-License-Identifier: BSD-3-Clause */
/* Find parts that fail sometimes, by their failure rates. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "report/base/grow.h"
#include "report/judge/findings.h"
#include "report/model/run_read.h"

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

struct count {
	uint32_t failed, tests;
};

struct rates_work {
	const struct run *run;
	struct part_index index;
	struct count *of;	/* each part, of cells that are not out */
	struct count all;
	uint8_t *out;		/* cells that are explained */
	uint32_t *failed;	/* all cells that failed, by place */
	size_t n_failed;
	struct rates rates;
};

/** The evidence for part number @id against all others. */
struct weight {
	double nats;		/* of the likelihood ratio */
	double chance;		/* logarithm of the probability of as many
				 * failures at the rate of the others */
};

bool rates_failed(const struct run *run, size_t at)
{
	const struct cell *c = &run->cells[at];

	return cells_failed(c->class) || (c->flaky && run_good(c->class));
}

static void count(struct rates_work *w, size_t at, struct count by)
{
	size_t ids[PART_INDEX_CELL_MAX];
	int k;

	if (w->out[at] || !run_measured(w->run->cells[at].class)) {
		return;
	}
	w->all.tests += by.tests;
	w->all.failed += by.failed;
	k = part_index_cell(&w->index, run_src(w->run, at),
			    run_dst(w->run, at), ids);
	for (int i = 0; i < k; i++) {
		w->of[ids[i]].tests += by.tests;
		w->of[ids[i]].failed += by.failed;
	}
}

static void count_cell(struct rates_work *w, size_t at, uint32_t by)
{
	if (!follow_has(w->run, at)) {
		count(w, at, (struct count){
			.tests = by,
			.failed = rates_failed(w->run, at) ? by : 0,
		});
	}
}

/** Returns true if the test failed in the follow-up after passing before. */
static bool failed_later(const struct rates_work *w, const struct run_follow *f)
{
	return !w->out[f->at] && cells_failed(cells_class_of(f->outcome)) &&
	       run_good(w->run->cells[f->at].class) &&
	       !rates_failed(w->run, f->at);
}

/** Tests of the follow-up count as first ones do. */
static void count_follow(struct rates_work *w, size_t i, uint32_t by)
{
	const struct run_follow *f = &w->run->follow[i];
	unsigned class = cells_class_of(f->outcome);

	/* counts like a first test, and does not repeat a failed one */
	if (run_measured(cells_class_of(f->outcome)) &&
	    (follow_has(w->run, f->at) || !rates_failed(w->run, f->at))) {
		count(w, f->at, (struct count){
			.tests = by, .failed = cells_failed(class) ? by : 0,
		});
	}
}

/** Logarithm of the likelihood of @k of @n at @rate. */
static double likelihood(double k, double n, double rate)
{
	return (k > 0 ? k * log(rate) : 0) +
	       (n > k ? (n - k) * log1p(-rate) : 0);
}

static double rate_of(const struct count *c)
{
	return fmax(RATES_USUAL, c->tests > 0 ?
		    (double)c->failed / c->tests : 0);
}

static struct weight weigh(const struct rates_work *w, size_t id)
{
	const struct count *c = &w->of[id], *all = &w->all;
	const struct count rest = { .failed = all->failed - c->failed,
				    .tests = all->tests - c->tests };
	double usual = rate_of(&rest), k = c->failed, n = c->tests;

	/* most parts have not failed; cables that are exchanged are so at all
	 * times */
	if (c->failed < LEAST_FAILED || rest.tests == 0 ||
	    k <= 2 * usual * n ||
	    part_index_part(&w->index, id).kind == PART_CABLE_SWAP) {
		return (struct weight){ .nats = 0 };
	}
	return (struct weight){
		.nats = likelihood(k, n, k / n) +
			likelihood(rest.failed, rest.tests, usual) -
			likelihood(all->failed, all->tests, rate_of(all)),
		.chance = stats_log_tail(k, n, usual),
	};
}

/** Returns the evidence for a part, @nats, less the cost of its name. */
static double score(const struct rates_work *w, size_t id, double nats)
{
	struct part p = part_index_part(&w->index, id);
	const size_t *first = &w->index.at[p.kind];

	return nats - log((double)(first[1] - first[0])) -
	       (p.direction == PART_BOTH ? 0 : DIRECTION_NATS);
}

static size_t best_of(const struct rates_work *w, struct weight *best)
{
	size_t found = SIZE_MAX;
	double most = 0;

	for (size_t id = 0; id < w->index.n; id++) {
		struct weight x = weigh(w, id);
		double s = x.nats > 0 ? score(w, id, x.nats) : 0;

		if (s > most) {
			most = s;
			*best = x;
			found = id;
		}
	}
	return found;
}

/** Returns the number of pairs of @p that failed only in the follow-up, counted
 *  up to LEAST_FAILED. */
static size_t later_pairs(const struct rates_work *w, const struct part *p)
{
	const struct run *run = w->run;
	size_t pairs[LEAST_FAILED], n = 0;

	for (size_t i = 0; i < run->n_follow && n < LEAST_FAILED; i++) {
		size_t at = run->follow[i].at, back = run_back(run, at);
		bool known = !failed_later(w, &run->follow[i]) ||
			     !part_touches_at(run, p, at) ||
			     (!w->out[back] && rates_failed(run, back));

		for (size_t k = 0; k < n; k++) {
			known |= pairs[k] == at || pairs[k] == back;
		}
		if (!known) {
			pairs[n++] = at;
		}
	}
	return n;
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
	size_t later = later_pairs(w, &r->part), pairs = later, again = 0;
	double rate = (double)r->failed / (double)r->tests, bad;

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
	       r->passed + later > 0 &&
	       (bad <= rate * (double)again ||
		stats_log_tail(bad, (double)again, rate) > log(ALPHA_AGAIN));
}

/** Returns true if @p has most of the failed tests of @than, and the
 *  reverse. */
static bool is_like(const struct rates_work *w, const struct part *p,
		    const struct part *than)
{
	size_t both = 0, one = 0;

	for (size_t i = 0; i < w->n_failed; i++) {
		size_t at = w->failed[i];
		bool a = !w->out[at] && part_touches_at(w->run, p, at);
		bool b = !w->out[at] && part_touches_at(w->run, than, at);

		both += a && b;
		one += a || b;
	}
	return (double)both >= OR_SHARE * (double)one;
}

static int add_others(const struct rates_work *w, size_t id, double nats,
		      struct rate *r)
{
	double least = score(w, id, nats) - OR_NATS;

	for (size_t i = 0; i < w->index.n; i++) {
		struct weight x = weigh(w, i);
		struct part p;

		if (x.nats <= 0 || score(w, i, x.nats) < least) {
			continue;
		}
		p = part_index_part(&w->index, i);
		if (!part_same_place(&p, &r->part) &&
		    is_like(w, &p, &r->part) &&
		    !grow_add(&r->or_parts, &r->n_or, &p, sizeof(p))) {
			return -1;
		}
	}
	return 0;
}

/** Takes the next part that stands out, if any; adds it to the list if it fails
 *  by chance. */
static int next(struct rates_work *w, bool *any)
{
	struct weight x = { 0 };
	size_t id = best_of(w, &x);
	struct rate r = { 0 };

	*any = id != SIZE_MAX && x.nats >= LEAST_NATS &&
	       x.chance + log((double)w->index.n) <= log(ALPHA);
	if (!*any) {
		return 0;
	}
	r.part = part_index_part(&w->index, id);
	r.failed = w->of[id].failed;
	r.tests = w->of[id].tests;
	r.nats = x.nats;
	if (is_chance(w, &r) &&
	    (add_others(w, id, x.nats, &r) < 0 ||
	     !grow_add(&w->rates.list, &w->rates.n, &r, sizeof(r)))) {
		free(r.or_parts);
		return -1;
	}
	/* its cells are explained, and count no more */
	for (size_t i = 0; i < w->run->n_follow; i++) {
		if (part_touches_at(w->run, &r.part, w->run->follow[i].at)) {
			count_follow(w, i, (uint32_t)-1);
		}
	}
	part_foreach_cell(w->run, &r.part, at) {
		count_cell(w, at, (uint32_t)-1);
		w->out[at] = 1;
	}
	return 0;
}

/** Takes out the parts that fail more often than not: they are broken, and so
 *  count for no part that contains them. */
static int take_broken(struct rates_work *w)
{
	static const struct suspect_need need = { .percent = LEAST_PERCENT };
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
	for (size_t i = 0; rc == 0 && i < b.s.n; i++) {
		const struct suspect *x = &b.s.list[i];
		bool is = b.of[i].picked &&
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

static int list_failed(struct rates_work *w, const uint8_t *skip)
{
	bool passed = false;

	run_foreach_cell(w->run, at) {
		uint32_t place = (uint32_t)at;

		w->out[at] = skip && (skip[at] & EXPLAINED);
		if (w->out[at] || !rates_failed(w->run, at)) {
			continue;
		}
		passed |= w->run->cells[at].flaky != 0;
		if (!grow_add(&w->failed, &w->n_failed, &place,
			      sizeof(place))) {
			return -1;
		}
	}
	for (size_t i = 0; i < w->run->n_follow && !passed; i++) {
		passed = failed_later(w, &w->run->follow[i]);
	}
	/* what never passes at another time fails for a reason */
	w->n_failed = passed ? w->n_failed : 0;
	return 0;
}

static int find(struct rates_work *w)
{
	struct rates *r = &w->rates;
	bool any = true;

	if (take_broken(w) < 0) {
		return -1;
	}
	run_foreach_cell(w->run, at) {
		count_cell(w, at, 1);
	}
	for (size_t i = 0; i < w->run->n_follow; i++) {
		count_follow(w, i, 1);
	}
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
	int rc = w.out ? list_failed(&w, skip) : -1;
	size_t failed = w.n_failed;	/* with those of the follow-up */

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
