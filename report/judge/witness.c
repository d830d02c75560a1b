/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/ping_run.h"
#include "report/judge/witness.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "report/judge/explained.h"
#include "report/judge/gone.h"
#include "report/judge/rates.h"
#include "report/model/expected.h"
#include "report/symptoms/symptom.h"

bool witness_is_bad(const struct run *run, enum witness_about about, size_t at)
{
	const struct cell *c = &run->cells[at];

	switch (about) {
	case ABOUT_FAULTS:
		return run_bad(c->class) ||
		       (c->class == CELL_SKIPPED &&
			gone_accuses(run_cell_code(run, at)));
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

	if (class >= CELL_CLASSES || !part_touches_at(h->run, h->part, at) ||
	    (h->explained && (h->explained[at] & EXPLAINED))) {
		return;
	}
	h->w->cells[class]++;
	if (!witness_is_bad(h->run, h->about, at)) {
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

/** A pair needs no look at a million cells. */
static void hear_cells(struct hearing *h)
{
	const struct run_node *nodes = h->run->nodes;
	const struct part *p = h->part;

	if (p->kind == PART_PAIR) {
		int a = nodes[p->node].first_rank + p->index;
		int b = nodes[p->peer_node].first_rank + p->peer_index;

		hear_cell(h, run_at(h->run, a, b));
		hear_cell(h, run_at(h->run, b, a));
		return;
	}
	for (size_t at = 0; at < run_n_cells(h->run); at++) {
		hear_cell(h, at);
	}
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

/** What the message that the cells show means: a row of its own. */
static void add_meaning(const struct hearing *h)
{
	const struct symptom *s = symptom_find(symptoms_builtin(), h->w->code);

	if (s && s->n_matches > 0 && s->effect == EFFECT_FAULT) {
		finding_add_evidence(h->finding, "%s means: %.300s", h->w->code,
				     str_text(&s->cause));
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
	if (!h.code_counts) {
		f->failed = true;
		return;
	}
	hear_cells(&h);
	choose_code(&h);
	if (about == ABOUT_FAULTS) {
		add_meaning(&h);
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
