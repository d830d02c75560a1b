/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/ping_run.h"
#include "report/judge/witness.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "report/judge/gone.h"
#include "report/model/expected.h"
#include "report/symptoms/symptom.h"

bool witness_is_bad(const struct run *run, enum witness_about about, size_t at)
{
	const struct cell *c = &run->cells[at];

	switch (about) {
	case ABOUT_FAULTS:
		return c->class == CELL_FAIL || c->class == CELL_TIMEOUT ||
		       c->class == CELL_CORRUPT ||
		       (c->class == CELL_SKIPPED &&
			gone_accuses(run_cell_code(run, at)));
	case ABOUT_SLOW:
		return c->class == CELL_SLOW;
	case ABOUT_FLAKY:
		/* It passed in the end; how fast is another matter. */
		return c->flaky &&
		       (c->class == CELL_PASS || c->class == CELL_SLOW);
	}
	return false;
}

/** "expected 39.42 GB/s (83 % of the line rate 48), from sim_inter: the model" */
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
	str_addf(out, " (%g %% of the line rate ", expected_percent(l, run->transport));
	if (isnan(l->line_GB_s)) {
		str_add(out, "of the slower NIC");
	} else {
		str_addf(out, "%g", l->line_GB_s);
	}
	str_addf(out, "), from %s%s%s", l->name,
		 l->source[0] ? ": " : "", l->source);
}

static void add_slow_evidence(const struct run *run, struct witness *w,
			      const char *from, const char *to, size_t at)
{
	const struct cell *c = &run->cells[at];
	const struct slow_limit *l = &run->slow[c->path];
	struct str out = STR_INIT;
	char bw[UNITS_REAL_SIZE], other[UNITS_REAL_SIZE];

	if (run->mesh) {
		snprintf(w->evidence[w->n_evidence++], sizeof(*w->evidence),
			 "%s -> %s lost %.0f %%%s%.240s", from, to,
			 100 * (double)run->mesh->loss[at],
			 run->cell_detail[at] ? ": " : "",
			 run->cell_detail[at] ? run->cell_detail[at] : "");
		return;
	}
	if (cells_below_line(c) && !run_by_section(run, at)) {
		snprintf(w->evidence[w->n_evidence++], sizeof(*w->evidence),
			 "%s -> %s slow: %s GB/s (%.0f Gb/s): %.0f %% of the "
			 "line rate %s GB/s of the slower port or PCIe link",
			 from, to, units_real_text((double)c->bw_GB_s, 2, bw),
			 8 * (double)c->bw_GB_s,
			 100 * run_line_share(run, at),
			 units_real_text((double)c->expected_GB_s, 2, other));
		return;
	}
	str_addf(&out, "%s -> %s slow: %s GB/s", from, to,
		 units_real_text((double)c->bw_GB_s, 2, bw));
	if (l->peers >= CELLS_SLOW_PEERS) {
		str_addf(&out, ": %.0f %% of the other %spairs %s (median %s)",
			 100 * (double)c->bw_GB_s / l->median_GB_s,
			 l->of_fast ? "fast " : "",
			 c->path == PATH_INTRA ? "inside a node" :
						 "between nodes",
			 units_real_text(l->median_GB_s, 2, other));
	}
	add_expected(run, at, &out);
	snprintf(w->evidence[w->n_evidence++], sizeof(*w->evidence), "%s",
		 str_text(&out));
	str_release(&out);
}

bool witness_corrupted(const struct run *run, size_t at)
{
	const struct run_failure *f = run_failure(run, at);

	return f && f->outcome == OUTCOME_CORRUPT;
}

/** Keep a few cells word for word, each with something new to say. */
static void add_evidence(const struct run *run, enum witness_about about,
			 struct witness *w, int src, int dst)
{
	size_t at = run_at(run, src, dst);
	const struct run_failure *failure =
		about == ABOUT_FLAKY ? run_failure(run, at) : NULL;
	const char *what = cell_class_name(
		failure ? cells_class_of(failure->outcome) :
			  run->cells[at].class);
	const char *code = run->codes[failure ? failure->code :
						run->cell_code[at]];
	const char *detail = failure ? failure->detail : run->cell_detail[at];
	char from[80], to[80];

	if (w->n_evidence == WITNESS_CELLS) {
		return;
	}
	part_rank_name(run, src, from, sizeof(from));
	part_rank_name(run, dst, to, sizeof(to));
	if (about == ABOUT_SLOW) {
		add_slow_evidence(run, w, from, to, at);
		return;
	}
	detail = detail ? detail : "";
	for (size_t i = 0; i < w->n_evidence; i++) {
		if (detail[0] && strstr(w->evidence[i], detail)) {
			return;
		}
	}
	if (about == ABOUT_FLAKY && !failure) {
		snprintf(w->evidence[w->n_evidence++], sizeof(*w->evidence),
			 "%s -> %s passed when retried", from, to);
		return;
	}
	snprintf(w->evidence[w->n_evidence++], sizeof(*w->evidence),
		 "%s -> %s %s%s%s%s%.240s%s", from, to, what,
		 code[0] ? " " : "", code, detail[0] ? ": " : "", detail,
		 failure ? "; passed when retried" : "");
}

struct hearing {
	const struct run *run;
	const struct part *part;
	enum witness_about about;
	struct witness *w;
	size_t *code_counts;
	double ratio_sum, line_sum;
	size_t ratios, lines;	/* in those sums */
};

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

static void hear_cell(struct hearing *h, int src, int dst)
{
	size_t at = run_at(h->run, src, dst);
	const struct cell *c = &h->run->cells[at];

	if (c->class >= CELL_CLASSES ||
	    !part_touches(h->run, h->part, src, dst)) {
		return;
	}
	h->w->cells[c->class]++;
	if (!witness_is_bad(h->run, h->about, at)) {
		return;
	}
	h->w->bad[c->class]++;
	h->w->corrupted += h->about == ABOUT_FLAKY &&
			   witness_corrupted(h->run, at);
	h->code_counts[h->run->cell_code[at]]++;
	if (c->class == CELL_SLOW) {
		hear_slow(h, at);
	}
	if (h->w->src < 0) {
		h->w->src = src;
		h->w->dst = dst;
	}
	add_evidence(h->run, h->about, h->w, src, dst);
}

static int rank_of(const struct run *run, int node, int gpu)
{
	return run->nodes[node].first_rank + gpu;
}

/** A pair needs no look at a million cells. */
static void hear_cells(struct hearing *h)
{
	const struct part *p = h->part;

	if (p->kind == PART_PAIR) {
		int a = rank_of(h->run, p->node, p->index);
		int b = rank_of(h->run, p->peer_node, p->peer_index);

		hear_cell(h, a, b);
		hear_cell(h, b, a);
		return;
	}
	for (int s = 0; s < h->run->n_ranks; s++) {
		for (int d = 0; d < h->run->n_ranks; d++) {
			hear_cell(h, s, d);
		}
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
static void add_meaning(struct witness *w)
{
	const struct symptom *s = symptom_find(symptoms_builtin(), w->code);

	if (s && s->n_matches > 0 && s->effect == EFFECT_FAULT &&
	    w->n_evidence < WITNESS_EVIDENCE) {
		snprintf(w->evidence[w->n_evidence++], sizeof(*w->evidence),
			 "%s means: %.300s", w->code, str_text(&s->cause));
	}
}

static const char *class_code(const struct witness *w)
{
	static const enum cell_class classes[] = {
		CELL_CORRUPT, CELL_TIMEOUT, CELL_FAIL, CELL_SKIPPED,
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		if (w->bad[classes[i]] > 0) {
			return cell_class_name(classes[i]);
		}
	}
	return "unknown";
}

int witness_hear(const struct run *run, const struct part *p,
		 enum witness_about about, struct witness *w)
{
	struct hearing h = { .run = run, .part = p, .about = about, .w = w };

	*w = (struct witness){
		.src = -1, .dst = -1, .slow_ratio = NAN, .line_ratio = NAN,
	};
	h.code_counts = calloc(run->n_codes + 1, sizeof(*h.code_counts));
	if (!h.code_counts) {
		return -1;
	}
	hear_cells(&h);
	choose_code(&h);
	if (about == ABOUT_FAULTS) {
		add_meaning(w);
	}
	free(h.code_counts);
	if (about == ABOUT_SLOW) {
		w->slow_ratio = h.ratio_sum / (double)h.ratios;
		w->line_ratio = h.line_sum / (double)h.lines;
		STR_COPY(w->code, run->mesh ? "loss" : "slow");
	} else if (about == ABOUT_FLAKY) {
		STR_COPY(w->code, w->corrupted > 0 ? "data_corrupt" : "flaky");
	} else if (!w->code[0]) {
		STR_COPY(w->code, class_code(w));
	}
	return 0;
}
