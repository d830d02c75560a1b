/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings about parts that fail sometimes, too rarely to show in a single
 * pair.  They explain the failures of their tests, whether these passed when
 * repeated or were not repeated.
 */
#include "report/judge/findings.h"

#include <math.h>

/** Maximum lone failures that are listed one by one. */
#define MOST_LONE 10

/** "12 of 240 tests (5 %)" */
static void add_share(struct finding *f, size_t failed, size_t tests)
{
	finding_more(f, "%zu of %zu tests (%.2g %%)", failed, tests,
		     100 * (double)failed / (double)(tests ? tests : 1));
}

static void add_fate(struct finding *f, size_t failed, size_t passed)
{
	if (passed == failed) {
		finding_more(f, ", all passed when retried");
	} else {
		finding_more(f, ", %zu passed when retried", passed);
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

static struct finding *add(const struct run *run, const struct part *p,
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

static void add_rate(const struct run *run, const struct rates *all,
		     const struct rate *r, uint8_t *explained,
		     struct verdict *v)
{
	struct finding *f = add(run, &r->part, explained, v);

	f->judged = r->tests;
	for (size_t i = 0; i < r->n_or; i++) {
		struct part p = part_shown(run, &r->or_parts[i]);

		if (part_compare(&p, &f->part) != 0) {
			finding_add_or(f, &p);
		}
	}
	finding_more(f, "%s fails now and then: ", PART_NAME(run, &f->part));
	add_share(f, f->explained, f->cells);
	if (r->again > 0) {
		finding_more(f, " and %zu of %zu made again by the follow-up",
			     r->again_failed, r->again);
	}
	add_fate(f, f->explained, r->passed);
	finding_more(f, "; elsewhere ");
	add_share(f, all->n_rest, all->tests);
	finding_more_or(run, f);
	/* what it was judged by, for who doubts: two rates beside one */
	finding_add_evidence(f, "likelihood ratio 10^%.0f",
			     floor(r->nats / log(10)));
	part_foreach_cell(run, &r->part, at) {
		if (rates_failed(run, at)) {
			explain(run, explained, at);
		}
	}
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
	f = add(run, &p, explained, v);
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

	if (run->mesh) {
		return;
	}
	if (rates_find(run, explained, &all) < 0) {
		v->failed = true;
		return;
	}
	for (size_t i = 0; i < all.n; i++) {
		add_rate(run, &all, &all.list[i], explained, v);
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
		}
	}
	rates_release(&all);
}
