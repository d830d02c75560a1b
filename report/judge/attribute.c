/* SPDX-License-Identifier: BSD-3-Clause */
/* Attribute bad cells to parts, with the messages of the cells as evidence. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "report/base/grow.h"
#include "report/judge/findings.h"
#include "report/model/expected.h"
#include "report/model/ping_run.h"
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

/** "expected 39.42 GB/s (83 % of the line rate 48), from sim_inter: the
 *  model" */
static void add_expected(const struct run *run, size_t at, struct str *out)
{
	double expected = (double)run->cells[at].expected_GB_s;
	const struct expected_line *l;
	char bw[UNITS_REAL_SIZE];

	if (!(expected > 0)) {
		return;
	}
	str_addf(out, ", %.0f %% of the expected rate; expected %s GB/s",
		 100 * (double)run->cells[at].bw_GB_s / expected,
		 units_real_text(expected, 2, bw));
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

bool witness_corrupted(const struct run *run, size_t at)
{
	const struct run_failure *f = run_failure(run, at);

	return f && f->outcome == OUTCOME_CORRUPT;
}

#define QUOTED_CELLS 3		/* word for word */

struct hearing {
	const struct run *run;
	const struct part *part;
	enum witness_about about;
	const uint8_t *explained;
	struct finding *finding;
	size_t n_before;	/* lines of evidence that it had */
	struct witness *w;
	size_t *code_counts;
	double ratio_sum, line_sum;
	size_t ratios, lines;	/* in those sums */
};

static void quote_slow(const struct hearing *h, const char *name, size_t at)
{
	const struct run *run = h->run;
	const struct cell *c = &run->cells[at];
	const struct slow_limit *l = &run->slow[c->path];
	const char *detail = run_cell_detail(run, at);
	struct str out = STR_INIT;
	char bw[UNITS_REAL_SIZE], other[UNITS_REAL_SIZE];

	if (run->mesh) {
		finding_add_evidence(h->finding, "%s lost %.0f %%%s%.240s",
				     name, 100 * (double)run->mesh->loss[at],
				     detail[0] ? ": " : "", detail);
		return;
	}
	units_real_text((double)c->bw_GB_s, 2, bw);
	if (cells_below_line(c) && !run_by_section(run, at)) {
		str_addf(&out, "slow: %s GB/s (%.0f Gb/s): %.0f %% of the line "
			 "rate %s GB/s of the slower port or PCIe link", bw,
			 8 * (double)c->bw_GB_s, 100 * run_line_share(run, at),
			 units_real_text((double)c->expected_GB_s, 2, other));
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
		add_expected(run, at, &out);
	}
	finding_add_evidence(h->finding, "%s %s", name, str_text(&out));
	str_release(&out);
}

/** Keep a few cells word for word, each with something new to say. */
static void quote(const struct hearing *h, size_t at)
{
	const struct run *run = h->run;
	const struct run_failure *failure =
		h->about == ABOUT_SLOW ? NULL : run_failure(run, at);
	const char *what = cell_class_name(
		failure ? cells_class_of(failure->outcome) :
			  run->cells[at].class);
	const char *code = failure ? run->codes[failure->code] :
				     run_cell_code(run, at);
	const char *detail = failure ? failure->detail :
				       run_cell_detail(run, at);
	char name[PART_NAME_SIZE];

	if (h->finding->n_evidence - h->n_before == QUOTED_CELLS) {
		return;
	}
	part_cell_name(run, at, name);
	if (h->about == ABOUT_SLOW) {
		quote_slow(h, name, at);
		return;
	}
	detail = detail ? detail : "";
	for (size_t i = h->n_before; i < h->finding->n_evidence; i++) {
		if (detail[0] && strstr(h->finding->evidence[i], detail)) {
			return;
		}
	}
	if (run_good(run->cells[at].class) && !failure) {
		finding_add_evidence(h->finding, "%s passed when retried",
				     name);
		return;
	}
	finding_add_evidence(h->finding, "%s %s%s%s%s%.240s%s", name, what,
			     code[0] ? " " : "", code, detail[0] ? ": " : "",
			     detail, failure ? "; passed when retried" : "");
}

static void hear_slow(struct hearing *h, size_t at)
{
	const struct cell *c = &h->run->cells[at];
	const struct slow_limit *l = &h->run->slow[c->path];

	if (h->run->mesh) {
		h->ratio_sum += (double)h->run->mesh->loss[at];
		h->ratios++;
	} else if (l->peers >= CELLS_SLOW_PEERS) {
		h->ratio_sum += (double)c->bw_GB_s / l->median_GB_s;
		h->ratios++;
	}
	if (cells_below_line(c)) {
		h->w->below_line++;
		h->w->by_section += run_by_section(h->run, at);
	}
	if (c->expected_GB_s > 0) {
		h->line_sum += (double)(c->bw_GB_s / c->expected_GB_s);
		h->lines++;
	}
}

static void hear_cell(struct hearing *h, size_t at)
{
	unsigned class = h->run->cells[at].class;

	if (class >= CELL_CLASSES || !witness_is_bad(h->run, h->about, at)) {
		return;
	}
	if (h->explained && (h->explained[at] & EXPLAINED)) {
		h->w->elsewhere += run_measured(class);
		return;
	}
	h->w->bad[class]++;
	h->w->corrupted += h->about != ABOUT_FAULTS &&
			   witness_corrupted(h->run, at);
	h->code_counts[h->run->cell_code[at]]++;
	if (class == CELL_SLOW) {
		hear_slow(h, at);
	}
	if (class == CELL_SKIPPED &&
	    symptom_echoes(run_cell_code(h->run, at))) {
		return;		/* others have been tested */
	}
	if (h->finding->src < 0) {
		finding_set_example(h->run, h->finding, at);
	}
	quote(h, at);
}

/** The most common code; one that only echoes loses against any other. */
static void choose_code(const struct hearing *h)
{
	size_t best = 0;
	bool best_echoes = true;

	for (size_t i = 1; i < h->run->n_codes; i++) {
		bool echoes = symptom_echoes(h->run->codes[i]);
		bool better = echoes == best_echoes ?
			h->code_counts[i] > (best ? h->code_counts[best] : 0) :
			best_echoes && h->code_counts[i] > 0;

		if (better) {
			best = i;
			best_echoes = echoes;
		}
	}
	if (best) {
		STR_COPY(h->w->code, h->run->codes[best]);
	}
}

static const char *class_code(const struct witness *w)
{
	unsigned c = CELL_CORRUPT;	/* the gravest */

	while (c >= CELL_FAIL && w->bad[c] == 0) {
		c--;
	}
	return cell_class_name(c >= CELL_FAIL ? c : CELL_SKIPPED);
}

void witness_hear(const struct run *run, const struct part *p,
		  enum witness_about about, const uint8_t *explained,
		  struct finding *f, struct witness *w)
{
	struct hearing h = {
		.run = run, .part = p, .about = about, .explained = explained,
		.finding = f, .n_before = f->n_evidence, .w = w,
		.code_counts = calloc(run->n_codes + 1, sizeof(size_t)),
	};

	*w = (struct witness){ 0 };
	f->cells = part_tests(run, p, w->cells);
	w->measured = f->cells - w->cells[CELL_SKIPPED] -
		      w->cells[CELL_NOT_RUN];
	w->good = w->cells[CELL_PASS] + w->cells[CELL_SLOW];
	if (!h.code_counts) {
		f->failed = true;
		return;
	}
	part_foreach_cell(run, p, at) {
		hear_cell(&h, at);
	}
	choose_code(&h);
	if (about == ABOUT_FAULTS) {
		/* The message that the cells show has a row that says its
		 * meaning. */
		const struct symptom *s =
			symptom_find(symptoms_builtin(), h.w->code);

		if (s && s->n_matches > 0 && s->effect == EFFECT_FAULT) {
			finding_add_evidence(h.finding, "%s means: %.300s",
					     h.w->code, str_text(&s->cause));
		}
	}
	free(h.code_counts);
	w->slow_ratio = h.ratio_sum / (double)h.ratios;
	w->line_ratio = h.line_sum / (double)h.lines;
	if (about == ABOUT_SLOW) {
		STR_COPY(w->code, run->mesh ? "loss" : "slow");
	} else if (about != ABOUT_FAULTS) {
		STR_COPY(w->code, w->corrupted > 0 ? "data_corrupt" : "flaky");
	} else if (!w->code[0]) {
		STR_COPY(w->code, class_code(w));
	}
}

/* ---- attribute ----------------------------------------------------------- */

/** Messages that differ by less are as good: odds of 20 to 1. */
#define NEAR_BITS 4.3

struct attribute_work {
	struct blame b;
	struct causes out;
};

static struct cause *add_cause(struct attribute_work *w, const struct part *p,
			       size_t cells, size_t explained)
{
	const struct cause c = {
		.part = *p, .cells = cells, .explained = explained,
	};

	return grow_add(&w->out.list, &w->out.n, &c, sizeof(c));
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
static bool in_rest(const struct attribute_work *w, uint32_t at)
{
	return bsearch(&at, w->b.rest, w->b.n_rest, sizeof(at),
		       attribute_order);
}

/**
 * Returns the pair of ranks of a bad cell; one direction only if the way back
 * is good, or bad for another reason.
 */
static struct part pair_part(const struct attribute_work *w, uint32_t at)
{
	const struct run *run = w->b.s.run;
	int src = run_src(run, at), dst = run_dst(run, at);
	const struct cluster_rank *low = &run->ranks[src < dst ? src : dst];
	const struct cluster_rank *high = &run->ranks[src < dst ? dst : src];
	uint32_t back = (uint32_t)run_back(run, at);
	struct part p = part_at(PART_PAIR, low->node, low->gpu);

	p.peer_node = high->node;
	p.peer_index = high->gpu;
	if (w->b.s.marks[back] == MARK_GOOD ||
	    (w->b.s.marks[back] == MARK_BAD && in_rest(w, at) &&
	     !in_rest(w, back))) {
		p.direction = src < dst ? PART_TX : PART_RX;
	}
	return p;
}

/** Returns true if @p touches pairs between the two nodes of the cell at @at
 *  that a sample left out. */
static bool has_unplanned(const struct run *run, const struct part *p,
			  uint32_t at)
{
	const struct cluster_node *s = &run->nodes[run->ranks[run_src(run, at)]
						       .node];
	const struct cluster_node *d = &run->nodes[run->ranks[run_dst(run, at)]
						       .node];
	bool more = false;

	for (int i = 0; run->grid.first && !more && i < s->gpus * d->gpus;
	     i++) {
		int src = s->first_rank + i / d->gpus;
		int dst = d->first_rank + i % d->gpus;

		more = src != dst &&
		       run_at(run, src, dst) == run_n_cells(run) &&
		       part_touches(&run->cluster, p, src, dst);
	}
	return more;
}

/** Returns true if @p has more than @most cells, measured or not.  The search
 *  begins at @at: the cells of a part are adjacent or a row apart. */
static bool has_more(const struct run *run, const struct part *p, uint32_t at,
		     size_t most)
{
	const size_t n = run_n_cells(run);
	size_t found = 0;

	if (has_unplanned(run, p, at)) {
		return true;
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
static int add_or_pair(struct attribute_work *w, struct cause *c,
		       const struct suspect *s)
{
	const struct run *run = w->b.s.run;
	uint32_t found[2] = { 0 };
	size_t n = 0;
	struct part p;

	if (s->bad > 2) {
		return 0;
	}
	for (size_t i = 0; i < w->b.s.n_bad && n < s->bad; i++) {
		uint32_t at = w->b.s.bad[i].at;

		if (part_touches_at(run, &s->part, at)) {
			found[n++] = at;
		}
	}
	if (n == 2 && found[1] != run_back(run, found[0])) {
		return 0;
	}
	p = pair_part(w, found[0]);
	if (s->good == 0 && has_more(run, &s->part, found[0], n)) {
		struct part wide = c->part;

		c->part = p;
		p = wide;
	}
	return add_or(c, &p);
}

/** Adds parts at another place that explain the cells nearly as well: a few of
 *  their passed cells may have passed by chance. */
static int add_near(struct attribute_work *w, size_t s, size_t need,
		    struct cause *c)
{
	const struct suspect *list = w->b.s.list;

	for (size_t i = 0; need > 0 && i < w->b.s.n; i++) {
		const struct suspect *x = &list[i];

		if (!w->b.of[i].picked && w->b.of[i].covers == need &&
		    x->good > list[s].good &&
		    !part_same_place(&x->part, &list[s].part) &&
		    blame_excess(&w->b, s, i) <= NEAR_BITS &&
		    add_or(c, &x->part) < 0) {
			return -1;
		}
	}
	return 0;
}

/** The equal ones as one cause: the first is preferred, the others are "or". */
static int add_picked(struct attribute_work *w, size_t s)
{
	size_t need = blame_cover(&w->b, s);
	const struct suspect *list = w->b.s.list;
	struct cause *c = NULL;

	for (size_t i = 0; i < w->b.s.n; i++) {
		const struct suspect *x = &list[i];
		/* it explains what only @s explains, and is as little
		 * acquitted */
		bool equal = need > 0 && w->b.of[i].covers == need &&
			     x->good <= list[s].good;

		if (i != s && (w->b.of[i].picked || !equal)) {
			continue;
		}
		if (!c) {
			c = add_cause(w, &x->part, x->bad + x->good, x->bad);
			if (!c) {
				return -1;
			}
			c->score = blame_score(&w->b, s);
		} else if (add_or(c, &x->part) < 0) {
			return -1;
		}
	}
	return add_near(w, s, need, c) < 0 ? -1 : add_or_pair(w, c, &list[s]);
}

/** Too many pairs for a cause each: one for those of each class. */
static int add_scatter(struct attribute_work *w)
{
	const struct cell *cells = w->b.s.run->cells;
	size_t marked[PATH_CLASSES] = { 0 };

	for (size_t at = 0; at < run_n_cells(w->b.s.run); at++) {
		marked[cells[at].path] += w->b.s.marks[at] != MARK_IGNORE;
	}
	for (int path = 0; path < PATH_CLASSES; path++) {
		struct part p = part_of_path((enum path_class)path);
		struct cause *c = NULL;

		for (size_t i = 0; i < w->b.n_rest; i++) {
			const uint32_t *at = &w->b.rest[i];

			if (cells[*at].path != path) {
				continue;
			}
			c = c ? c : add_cause(w, &p, marked[path], 0);
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
static int add_to(struct attribute_work *w, struct cause **c,
		  const struct part *p, size_t cells, size_t bad)
{
	if (*c) {
		return add_or(*c, p);
	}
	*c = add_cause(w, p, cells, bad);
	return *c ? 0 : -1;
}

/** Adds parts of which only the lone @cell was tested: with @none, parts that
 *  have no other cells; else parts whose other cells were not measured. */
static int add_alone(struct attribute_work *w, const struct suspect_cell *cell,
		     size_t bad, bool none, struct cause **c)
{
	const struct suspects *s = &w->b.s;

	for (size_t i = cell->first; i < cell->first + cell->n; i++) {
		const struct suspect *x = &s->list[s->touching[i]];

		if (w->b.of[s->touching[i]].left == bad && x->good == 0 &&
		    has_more(s->run, &x->part, cell->at, bad) != none &&
		    add_to(w, c, &x->part, x->bad, x->bad) < 0) {
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
static int add_pair(struct attribute_work *w, uint32_t at)
{
	const struct suspects *s = &w->b.s;
	const struct suspect_cell *cell = bsearch(&at, s->bad, s->n_bad,
						  sizeof(*s->bad),
						  attribute_order);
	enum mark mark = (enum mark)s->marks[run_back(s->run, at)];
	struct part p = pair_part(w, at);
	bool both = p.direction == PART_BOTH;
	size_t bad = 1 + (both && mark == MARK_BAD);
	size_t cells = 1 + (both && mark != MARK_IGNORE);
	struct cause *c = NULL;

	if (cell->n > 0) {
		qsort(&s->touching[cell->first], cell->n,
		      sizeof(*s->touching), attribute_order);
	}
	if (add_alone(w, cell, bad, true, &c) < 0 ||
	    add_to(w, &c, &p, cells, bad) < 0 ||
	    add_alone(w, cell, bad, false, &c) < 0) {
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
static bool is_second(const struct attribute_work *w, uint32_t at)
{
	uint32_t back = (uint32_t)run_back(w->b.s.run, at);

	return back < at && in_rest(w, back);
}

/** Adds a finding for each pair that no part explains, or a single finding if
 *  there are too many. */
static int add_pairs(struct attribute_work *w)
{
	size_t pairs = 0;

	for (size_t i = 0; i < w->b.n_rest; i++) {
		pairs += !is_second(w, w->b.rest[i]);
	}
	if (pairs > ATTRIBUTE_MAX_PAIRS) {
		return add_scatter(w);
	}
	for (size_t i = 0; i < w->b.n_rest; i++) {
		if (!is_second(w, w->b.rest[i]) &&
		    add_pair(w, w->b.rest[i]) < 0) {
			return -1;
		}
	}
	return 0;
}

int attribute(const struct run *run, const uint8_t *marks,
	      const struct suspect_need *need, struct causes *out)
{
	struct attribute_work w = { 0 };
	int rc = -1;

	*out = (struct causes){ 0 };
	if (blame_find(run, marks, need, &w.b) == 0) {
		rc = 0;
		for (size_t i = 0; rc == 0 && i < w.b.s.n; i++) {
			rc = w.b.of[i].picked ? add_picked(&w, i) : 0;
		}
		rc = rc == 0 ? add_pairs(&w) : rc;
	}
	if (rc == 0) {
		*out = w.out;
	} else {
		causes_release(&w.out);
	}
	blame_release(&w.b);
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
