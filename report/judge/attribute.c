/* SPDX-License-Identifier: BSD-3-Clause */
/* Attribute bad cells to parts, with the messages of the cells as evidence. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/units.h"
#include "report/judge/findings.h"
#include "report/model/run.h"
#include "report/symptoms/symptom.h"

/* ---- witness ------------------------------------------------------------- */

bool witness_is_bad(const struct run *run, enum witness_about about, size_t at)
{
	const struct cell *c = &run->cells[at];

	switch (about) {
	case ABOUT_FAULTS:
		return cells_failed(c->class) ||
		       (c->class == CELL_SKIPPED &&
			gone_code(run_cell_code(run, at))->accuses);
	case ABOUT_SLOW:
		return c->class == CELL_SLOW;
	case ABOUT_FLAKY:
		/* It passed in the end; how fast is another matter. */
		return c->flaky && run_good(c->class);
	case ABOUT_RATE:
		return rates_failed(run, at);
	}
	return false;
}

bool witness_corrupted(const struct run *run, size_t at)
{
	const struct run_failure *f = run_failure(run, at);

	return f && f->outcome == OUTCOME_CORRUPT;
}

#define QUOTED_CELLS 3		/* word for word */

/** Adds " (83 % of the line rate 48), from sim_inter: the model": where the
 *  expected rate of the cell at @at comes from. */
static void add_source(const struct run *run, size_t at, struct str *out)
{
	const struct expected_line *l;

	if (!run_by_section(run, at)) {
		str_add(out, " (rate of the ports)");
		return;
	}
	l = &run->expected.list[run->cell_line[at] - 1];
	str_addf(out, " (%g %% of the line rate ",
		 expected_percent(l, run->transport));
	if (isnan(l->line_GB_s)) {
		str_add(out, "of the slower NIC");
	} else {
		str_addf(out, "%g", l->line_GB_s);
	}
	str_addf(out, "), from %s%s%s", l->name,
		 l->source[0] ? ": " : "", l->source);
}



static void quote_slow(const struct run *run, const char *name, size_t at,
		       struct finding *f)
{
	const struct cell *c = &run->cells[at];
	const struct slow_limit *l = &run->slow[c->path];
	const char *detail = run_cell_detail(run, at);
	double expected = (double)c->expected_GB_s;
	struct str out = STR_INIT;
	char bw[UNITS_REAL_SIZE], other[UNITS_REAL_SIZE];

	if (run->mesh) {
		finding_add_evidence(f, "%s lost %.0f %%%s%.240s", name,
				     100 * (double)run->mesh->loss[at],
				     detail[0] ? ": " : "", detail);
		return;
	}
	units_real_text((double)c->bw_GB_s, 2, bw);
	if (cells_below_line(c) && !run_by_section(run, at)) {
		str_addf(&out, "slow: %s GB/s (%.0f Gb/s): %.0f %% of the line "
			 "rate %s GB/s of the slower port or PCIe link", bw,
			 8 * (double)c->bw_GB_s, 100 * run_line_share(run, at),
			 units_real_text(expected, 2, other));
		expected = 0;	/* has been said */
	} else {
		str_addf(&out, "slow: %s GB/s", bw);
		if (l->peers >= CELLS_SLOW_PEERS) {
			str_addf(&out, ": %.0f %% of the other %spairs %s "
				 "(median %s)",
				 100 * (double)c->bw_GB_s / l->median_GB_s,
				 l->of_fast ? "fast " : "",
				 run_path_words((enum path_class)c->path),
				 units_real_text(l->median_GB_s, 2, other));
		}
	}
	if (expected > 0) {
		str_addf(&out, ", %.0f %% of the expected rate; expected %s "
			 "GB/s", 100 * (double)c->bw_GB_s / expected,
			 units_real_text(expected, 2, bw));
		add_source(run, at, &out);
	}
	finding_add_evidence(f, "%s %s", name, str_text(&out));
	str_release(&out);
}

/** Adds the message of the cell at @at as evidence: of a few cells, word for
 *  word, each with something new.  @before: lines of evidence that @f had. */
static void quote(const struct run *run, enum witness_about about, size_t at,
		  size_t before, struct finding *f)
{
	const struct run_failure *failure =
		about == ABOUT_SLOW ? NULL : run_failure(run, at);
	const char *what = cell_class_name(
		failure ? cells_class_of(failure->outcome) :
			  run->cells[at].class);
	const char *code = failure ? run->codes[failure->code] :
				     run_cell_code(run, at);
	const char *detail = failure ? failure->detail :
				       run_cell_detail(run, at);
	char name[PART_NAME_SIZE];

	if (f->n_evidence - before == QUOTED_CELLS) {
		return;
	}
	part_cell_name(run, at, name);
	if (about == ABOUT_SLOW) {
		quote_slow(run, name, at, f);
		return;
	}
	detail = detail ? detail : "";
	for (size_t i = before; i < f->n_evidence; i++) {
		if (detail[0] && strstr(f->evidence[i], detail)) {
			return;
		}
	}
	if (run_good(run->cells[at].class) && !failure) {
		finding_add_evidence(f, "%s passed when retried", name);
		return;
	}
	finding_add_evidence(f, "%s %s%s%s%s%.240s%s", name, what,
			     code[0] ? " " : "", code, detail[0] ? ": " : "",
			     detail, failure ? "; passed when retried" : "");
}

/** Adds the speed of the slow cell at @at to the sums of @w; counts those with
 *  a usual and those with an expected speed. */
static void hear_slow(const struct run *run, size_t at, struct witness *w,
		      size_t *usual, size_t *expected)
{
	const struct cell *c = &run->cells[at];
	const struct slow_limit *l = &run->slow[c->path];

	if (run->mesh) {
		w->slow_ratio += (double)run->mesh->loss[at];
		++*usual;
	} else if (l->peers >= CELLS_SLOW_PEERS) {
		w->slow_ratio += (double)c->bw_GB_s / l->median_GB_s;
		++*usual;
	}
	if (cells_below_line(c)) {
		w->below_line++;
		w->by_section += run_by_section(run, at);
	}
	if (c->expected_GB_s > 0) {
		w->line_ratio += (double)(c->bw_GB_s / c->expected_GB_s);
		++*expected;
	}
}

/** Sets w->code: of faults the most common code (one that only echoes loses
 *  against any other), else the gravest outcome. */
static void choose_code(const struct run *run, enum witness_about about,
			const size_t *counts, struct finding *f,
			struct witness *w)
{
	const char *const where[] = { run->transport, NULL };
	const struct symptom *s, *own;
	size_t best = 0;
	unsigned class = CELL_CORRUPT;
	bool best_echoes = true;

	for (size_t i = 1; i < run->n_codes; i++) {
		bool echoes = symptom_echoes(run->codes[i]);
		bool better = echoes == best_echoes ?
			counts[i] > (best ? counts[best] : 0) :
			best_echoes && counts[i] > 0;

		if (better) {
			best = i;
			best_echoes = echoes;
		}
	}
	if (best) {
		STR_COPY(w->code, run->codes[best]);
	}
	if (about == ABOUT_SLOW) {
		STR_COPY(w->code, run->mesh ? "loss" : "slow");
		return;
	}
	if (about != ABOUT_FAULTS) {
		STR_COPY(w->code, w->corrupted > 0 ? "data_corrupt" : "flaky");
		return;
	}
	/* The message that the cells show has a row that says its meaning. */
	s = symptom_find(symptoms_builtin(), w->code);
	if (s && s->n_matches > 0 && s->effect == EFFECT_FAULT) {
		own = symptom_for(symptoms_builtin(), w->code, where);
		own = own && own->cause.len > 0 ? own : s;
		finding_add_evidence(f, "%s means: %.300s", w->code,
				     str_text(&own->cause));
	}
	if (!w->code[0]) {
		while (class >= CELL_FAIL && w->bad[class] == 0) {
			class--;
		}
		STR_COPY(w->code, cell_class_name(
			class >= CELL_FAIL ? class : CELL_SKIPPED));
	}
}

void witness_hear(const struct run *run, const struct part *p,
		  enum witness_about about, const uint8_t *explained,
		  struct finding *f, struct witness *w)
{
	size_t *counts = calloc(run->n_codes + 1, sizeof(*counts));
	size_t before = f->n_evidence, usual = 0, expected = 0;

	*w = (struct witness){ 0 };
	f->cells = part_tests(run, p, w->cells);
	w->measured = f->cells - w->cells[CELL_SKIPPED] -
		      w->cells[CELL_NOT_RUN];
	w->good = w->cells[CELL_PASS] + w->cells[CELL_SLOW];
	if (!counts) {
		f->failed = true;
		return;
	}
	part_foreach_cell(run, p, at) {
		unsigned class = run->cells[at].class;

		w->follow += follow_has(run, at) && run_measured(class);
		if (class >= CELL_CLASSES || !witness_is_bad(run, about, at)) {
			continue;
		}
		if (explained && (explained[at] & EXPLAINED)) {
			w->elsewhere += run_measured(class);
			continue;
		}
		w->bad[class]++;
		w->corrupted += about != ABOUT_FAULTS &&
				witness_corrupted(run, at);
		counts[run->cell_code[at]]++;
		if (class == CELL_SLOW) {
			hear_slow(run, at, w, &usual, &expected);
		}
		if (class == CELL_SKIPPED &&
		    symptom_echoes(run_cell_code(run, at))) {
			continue;	/* others have been tested */
		}
		if (f->src < 0) {
			finding_set_example(run, f, at);
		}
		quote(run, about, at, before, f);
	}
	w->slow_ratio /= (double)usual;
	w->line_ratio /= (double)expected;
	choose_code(run, about, counts, f, w);
	free(counts);
}

/* ---- attribute ----------------------------------------------------------- */

/** Messages that differ by less are as good: odds of 20 to 1. */
#define NEAR_BITS 4.3

static struct cause *add_cause(const struct part *p, size_t cells,
			       size_t explained, struct causes *out)
{
	const struct cause c = {
		.part = *p, .cells = cells, .explained = explained,
	};

	return grow_add(&out->list, &out->n, &c, sizeof(c));
}

static int add_or(struct cause *c, const struct part *p)
{
	return grow_add(&c->or_parts, &c->n_or, p, sizeof(*p)) ? 0 : -1;
}

int attribute_order(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/** Returns true if @at is one of the unexplained cells. */
static bool in_rest(const struct blame *b, uint32_t at)
{
	return bsearch(&at, b->rest, b->n_rest, sizeof(at), attribute_order);
}

/**
 * Returns the pair of ranks of a bad cell; one direction only if the way back
 * is good, or bad for another reason.
 */
static struct part pair_part(const struct blame *b, uint32_t at)
{
	const struct run *run = b->run;
	int src = run_src(run, at), dst = run_dst(run, at);
	const struct cluster_rank *low = &run->ranks[src < dst ? src : dst];
	const struct cluster_rank *high = &run->ranks[src < dst ? dst : src];
	uint32_t back = (uint32_t)run_back(run, at);
	struct part p = part_at(PART_PAIR, low->node, low->gpu);

	p.peer_node = high->node;
	p.peer_index = high->gpu;
	if (b->marks[back] == MARK_GOOD ||
	    (b->marks[back] == MARK_BAD && in_rest(b, at) &&
	     !in_rest(b, back))) {
		p.direction = src < dst ? PART_TX : PART_RX;
	}
	return p;
}

/** Returns true if @p has more than @most cells, measured or not, or pairs
 *  between the two nodes of the cell at @at that a sample left out.  The search
 *  begins at @at: the cells of a part are adjacent or a row apart. */
static bool has_more(const struct run *run, const struct part *p, uint32_t at,
		     size_t most)
{
	const struct cluster_node *s = &run->nodes[run->ranks[run_src(run, at)]
						       .node];
	const struct cluster_node *d = &run->nodes[run->ranks[run_dst(run, at)]
						       .node];
	const size_t n = run_n_cells(run);
	size_t found = 0;

	for (int i = 0; run->grid.first && i < s->gpus * d->gpus; i++) {
		int src = s->first_rank + i / d->gpus;
		int dst = d->first_rank + i % d->gpus;

		if (src != dst && run_at(run, src, dst) == n &&
		    part_touches(&run->cluster, p, src, dst)) {
			return true;
		}
	}
	for (size_t i = 0; i < n && found <= most; i++) {
		size_t x = (at + i) % n;

		found += run_src(run, x) != run_dst(run, x) &&
			 part_touches_at(run, p, x);
	}
	return found > most;
}

/** If @s explains only one pair, adds that pair as an alternative; as the first
 *  one if @s has other cells that were not measured. */
static int add_or_pair(const struct blame *b, struct cause *c,
		       const struct suspect *s)
{
	uint32_t found[2] = { 0 };
	size_t n = 0;
	struct part p;

	if (s->bad > 2) {
		return 0;
	}
	for (size_t i = 0; i < b->n_bad && n < s->bad; i++) {
		uint32_t at = b->bad[i].at;

		if (part_touches_at(b->run, &s->part, at)) {
			found[n++] = at;
		}
	}
	if (n == 2 && found[1] != run_back(b->run, found[0])) {
		return 0;
	}
	p = pair_part(b, found[0]);
	if (s->good == 0 && has_more(b->run, &s->part, found[0], n)) {
		struct part wide = c->part;

		c->part = p;
		p = wide;
	}
	return add_or(c, &p);
}

/** The equal ones as one cause: the first is preferred, the others are "or". */
static int add_picked(struct blame *b, size_t s, struct causes *out)
{
	size_t need = blame_cover(b, s);
	struct cause *c = NULL;

	for (size_t i = 0; i < b->n; i++) {
		const struct suspect *x = &b->list[i];
		/* it explains what only @s explains, and is as little
		 * acquitted */
		bool equal = need > 0 && b->list[i].covers == need &&
			     x->good <= b->list[s].good;

		if (i != s && (b->picked[i] || !equal)) {
			continue;
		}
		if (!c) {
			c = add_cause(&x->part, x->bad + x->good, x->bad, out);
			if (!c) {
				return -1;
			}
			c->score = blame_score(b, s);
		} else if (add_or(c, &x->part) < 0) {
			return -1;
		}
	}
	/* parts at another place that explain the cells nearly as well: a few
	 * of their passed cells may have passed by chance */
	for (size_t i = 0; need > 0 && i < b->n; i++) {
		const struct suspect *x = &b->list[i];

		if (!b->picked[i] && b->list[i].covers == need &&
		    x->good > b->list[s].good &&
		    !part_same_place(&x->part, &b->list[s].part) &&
		    blame_excess(b, s, i) <= NEAR_BITS &&
		    add_or(c, &x->part) < 0) {
			return -1;
		}
	}
	return add_or_pair(b, c, &b->list[s]);
}

/** Too many pairs for a cause each: one for those of each class. */
static int add_scatter(const struct blame *b, struct causes *out)
{
	const struct cell *cells = b->run->cells;
	size_t marked[PATH_CLASSES] = { 0 };

	for (size_t at = 0; at < run_n_cells(b->run); at++) {
		marked[cells[at].path] += b->marks[at] != MARK_IGNORE;
	}
	for (int path = 0; path < PATH_CLASSES; path++) {
		struct part p = part_of_path((enum path_class)path);
		struct cause *c = NULL;

		for (size_t i = 0; i < b->n_rest; i++) {
			const uint32_t *at = &b->rest[i];

			if (cells[*at].path != path) {
				continue;
			}
			c = c ? c : add_cause(&p, marked[path], 0, out);
			if (!c || !grow_add(&c->rest, &c->n_rest, at,
					    sizeof(*at))) {
				return -1;
			}
			c->explained++;
		}
	}
	return 0;
}

/** @p is what explains a cell, or, if there is a cause already, may be. */
static int add_to(struct cause **c, const struct part *p, size_t cells,
		  size_t bad, struct causes *out)
{
	if (*c) {
		return add_or(*c, p);
	}
	*c = add_cause(p, cells, bad, out);
	return *c ? 0 : -1;
}

/** Adds parts of which only the lone @cell was tested: with @none, parts that
 *  have no other cells; else parts whose other cells were not measured. */
static int add_alone(const struct blame *b, const struct suspect_cell *cell,
		     size_t bad, bool none, struct cause **c,
		     struct causes *out)
{
	for (size_t i = cell->first; i < cell->first + cell->n; i++) {
		const struct suspect *x = &b->list[b->touching[i]];

		if (b->of[b->touching[i]].left == bad && x->good == 0 &&
		    has_more(b->run, &x->part, cell->at, bad) != none &&
		    add_to(c, &x->part, x->bad, x->bad, out) < 0) {
			return -1;
		}
	}
	return 0;
}

/**
 * The pair of a lone cell @at, and the parts that have no other cells: a path
 * between nodes of one GPU each.  A part with cells that were not measured may
 * be it as well, but one test does not name it.
 */
static int add_pair(const struct blame *b, uint32_t at, struct causes *out)
{
	const struct suspect_cell *cell = bsearch(&at, b->bad, b->n_bad,
						  sizeof(*b->bad),
						  attribute_order);
	enum mark mark = (enum mark)b->marks[run_back(b->run, at)];
	struct part p = pair_part(b, at);
	bool both = p.direction == PART_BOTH;
	size_t bad = 1 + (both && mark == MARK_BAD);
	size_t cells = 1 + (both && mark != MARK_IGNORE);
	struct cause *c = NULL;

	if (cell->n > 0) {
		qsort(&b->touching[cell->first], cell->n,
		      sizeof(*b->touching), attribute_order);
	}
	if (add_alone(b, cell, bad, true, &c, out) < 0 ||
	    add_to(&c, &p, cells, bad, out) < 0 ||
	    add_alone(b, cell, bad, false, &c, out) < 0) {
		return -1;
	}
	if (both || mark == MARK_GOOD) {
		return 0;
	}
	/* the way back may suffer as well, unseen */
	p.direction = PART_BOTH;
	return add_or(c, &p);
}

/** Returns true if the cell at @at is the second of its pair in the unexplained
 *  cells. */
static bool is_second(const struct blame *b, uint32_t at)
{
	uint32_t back = (uint32_t)run_back(b->run, at);

	return back < at && in_rest(b, back);
}

int attribute(const struct run *run, const uint8_t *marks,
	      const struct suspect_need *need, struct causes *out)
{
	struct blame b;
	size_t pairs = 0;
	int rc;

	*out = (struct causes){ 0 };
	rc = blame_find(run, marks, need, &b);
	for (size_t i = 0; rc == 0 && i < b.n; i++) {
		rc = b.picked[i] ? add_picked(&b, i, out) : 0;
	}
	/* a cause for each pair that no part explains, or a single one if there
	 * are too many */
	for (size_t i = 0; i < b.n_rest; i++) {
		pairs += !is_second(&b, b.rest[i]);
	}
	if (rc == 0 && pairs > ATTRIBUTE_MAX_PAIRS) {
		rc = add_scatter(&b, out);
	} else {
		for (size_t i = 0; rc == 0 && i < b.n_rest; i++) {
			rc = is_second(&b, b.rest[i]) ? 0 :
				     add_pair(&b, b.rest[i], out);
		}
	}
	if (rc < 0) {
		causes_release(out);
	}
	blame_release(&b);
	return rc;
}

void causes_release(struct causes *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->list[i].or_parts);
		free(c->list[i].rest);
	}
	free(c->list);
	*c = (struct causes){ 0 };
}
