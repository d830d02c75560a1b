/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "report/judge/attribute.h"
#include "report/model/ping_run.h"
#include "report/model/diagnose.h"
#include "report/judge/findings.h"
#include "report/judge/gone.h"
#include "report/judge/says.h"
#include "report/judge/witness.h"

/** What is explained one after the other, each by itself. */
static const enum witness_about passes[] = {
	ABOUT_FAULTS, ABOUT_SLOW, ABOUT_FLAKY,
};

/** What is explained of a cell before it is looked at. */
enum { EXPLAINED = 1, EXPLAINED_FLAKY = 2 };

static size_t cells_of(const struct run *run)
{
	return (size_t)run->n_ranks * (size_t)run->n_ranks;
}

static int keep_evidence(struct finding *f, const struct witness *w,
			 const char *first)
{
	if (first[0] && finding_add_evidence(f, first) < 0) {
		return -1;
	}
	for (size_t i = 0; i < w->n_evidence; i++) {
		if (finding_add_evidence(f, w->evidence[i]) < 0) {
			return -1;
		}
	}
	return 0;
}

/** What a gone part took with it: all its cells that did not pass. */
static int add_gone(const struct run *run, const struct gone *g,
		    struct verdict *v)
{
	struct finding *f = finding_add(v, &g->part);
	struct witness w;

	if (!f || witness_hear(run, &g->part, ABOUT_FAULTS, &w) < 0) {
		return -1;
	}
	f->fail = true;
	f->set_up = g->set_up;
	f->part = part_shown(run, &g->part);
	STR_COPY(f->code, g->code);
	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		f->cells += w.cells[c];
	}
	f->explained = f->cells - w.cells[CELL_PASS] - w.cells[CELL_SLOW];
	says_gone(run, f, g->says, g->detail);
	says_act(run, f, w.src, w.dst);
	return keep_evidence(f, &w, g->detail);
}

/** Cells of gone parts accuse no one else. */
static void ignore_gone(const struct run *run, const struct gone_list *gone,
			uint8_t *explained)
{
	for (size_t i = 0; i < gone->n; i++) {
		for (int s = 0; s < run->n_ranks; s++) {
			for (int d = 0; d < run->n_ranks; d++) {
				explained[run_at(run, s, d)] |=
					part_touches(run, &gone->list[i].part,
						     s, d);
			}
		}
	}
}

static bool has_corrupt(const struct run *run, const struct part *p)
{
	for (size_t at = 0; at < cells_of(run); at++) {
		if (run->cells[at].class == CELL_CORRUPT &&
		    part_touches(run, p, (int)(at / (size_t)run->n_ranks),
				 (int)(at % (size_t)run->n_ranks))) {
			return true;
		}
	}
	return false;
}

/** A part that is broken in some of its cells fails others only once; one that
 *  does so without a word of changed data does not explain that. */
static void explain_flaky(const struct run *run, const struct causes *causes,
			  uint8_t *explained)
{
	for (size_t at = 0; at < cells_of(run); at++) {
		bool flaky = witness_is_bad(run, ABOUT_FLAKY, at);
		int src = (int)(at / (size_t)run->n_ranks);
		int dst = (int)(at % (size_t)run->n_ranks);

		for (size_t i = 0; flaky && i < causes->n; i++) {
			const struct part *p = &causes->list[i].part;

			if (part_touches(run, p, src, dst) &&
			    (!witness_corrupted(run, at) ||
			     has_corrupt(run, p))) {
				explained[at] |= EXPLAINED_FLAKY;
				break;
			}
		}
	}
}

static enum mark mark_of(const struct run *run, enum witness_about about,
			 uint8_t explained, size_t at)
{
	const struct cell *c = &run->cells[at];

	/* What failed once acquits no part that fails more often, nor does it
	 * accuse one. */
	if ((explained & EXPLAINED) ||
	    (about == ABOUT_FLAKY && (explained & EXPLAINED_FLAKY)) ||
	    (about == ABOUT_FAULTS && c->flaky)) {
		return MARK_IGNORE;
	}
	if (run->mesh && run->mesh->heard[at]) {
		return MARK_GOOD;	/* it is the way back that is bad */
	}
	if (witness_is_bad(run, about, at)) {
		return MARK_BAD;
	}
	if (about == ABOUT_FAULTS) {
		return run_measured(c->class) ? MARK_GOOD : MARK_IGNORE;
	}
	/* Of a cell that failed, or that has too few peers, nobody knows
	 * whether it is slow. */
	if (about == ABOUT_SLOW && !run->mesh &&
	    isnan(run->slow[c->path].limit_GB_s) && !(c->expected_GB_s > 0)) {
		return MARK_IGNORE;
	}
	return c->class == CELL_PASS || c->class == CELL_SLOW ? MARK_GOOD :
								MARK_IGNORE;
}

/** A packet that one path or two have lost proves nothing. */
#define LOSSY_CELLS 3

static bool is_failure(const struct run *run, enum witness_about about,
		       const struct cause *c, const struct witness *w)
{
	if (about == ABOUT_SLOW && run->mesh) {
		return c->explained >= LOSSY_CELLS;
	}
	return about == ABOUT_FAULTS || w->corrupted > 0 ||
	       (about == ABOUT_SLOW && !run->shared_cores);
}

/** Takes over c->or_parts, less those that are but another name of it. */
static void take_parts(const struct run *run, struct cause *c,
		       struct finding *f)
{
	f->part = part_shown(run, &c->part);
	f->or_parts = c->or_parts;
	c->or_parts = NULL;
	for (size_t i = 0; i < c->n_or; i++) {
		struct part p = part_shown(run, &f->or_parts[i]);
		bool said = part_compare(&p, &f->part) == 0;

		for (size_t k = 0; k < f->n_or; k++) {
			said |= part_compare(&p, &f->or_parts[k]) == 0;
		}
		if (!said) {
			f->or_parts[f->n_or++] = p;
		}
	}
}

static int add_cause(const struct run *run, enum witness_about about,
		     struct cause *c, struct verdict *v)
{
	struct finding *f = finding_add(v, &c->part);
	struct witness w;

	if (!f || witness_hear(run, &c->part, about, &w) < 0) {
		return -1;
	}
	f->fail = is_failure(run, about, c, &w);
	f->cells = c->cells;
	f->explained = c->explained;
	f->score = c->score;
	take_parts(run, c, f);
	STR_COPY(f->code, w.code);
	says_what(run, f, about, &w, v->cells[CELL_PASS] + v->cells[CELL_SLOW],
		  verdict_measured(v));
	says_act(run, f, w.src, w.dst);
	return keep_evidence(f, &w, "");
}

static int explain(const struct run *run, enum witness_about about,
		   uint8_t *explained, uint8_t *marks, struct verdict *v)
{
	struct attribute_need need = { .percent = ATTRIBUTE_PERCENT };
	struct causes causes;
	int rc = 0;

	for (size_t at = 0; at < cells_of(run); at++) {
		const struct cell *c = &run->cells[at];

		marks[at] = (uint8_t)mark_of(run, about, explained[at], at);
		need.relative[c->path] |= about == ABOUT_SLOW &&
					  marks[at] == MARK_GOOD &&
					  !run->mesh &&
					  !(c->expected_GB_s > 0);
	}
	if (attribute(run, marks, &need, &causes) < 0) {
		return -1;
	}
	if (about == ABOUT_FAULTS) {
		explain_flaky(run, &causes, explained);
	}
	for (size_t i = 0; i < causes.n && rc == 0; i++) {
		rc = add_cause(run, about, &causes.list[i], v);
	}
	causes_release(&causes);
	return rc;
}

static int judge(const struct run *run, const struct gone_list *gone,
		 uint8_t *explained, uint8_t *marks, struct verdict *v)
{
	for (size_t i = 0; i < gone->n; i++) {
		if (add_gone(run, &gone->list[i], v) < 0) {
			return -1;
		}
	}
	ignore_gone(run, gone, explained);
	if (pxn_findings(run, explained, v) < 0 ||
	    mesh_findings(run, explained, v) < 0) {
		return -1;
	}
	for (size_t i = 0; i < sizeof(passes) / sizeof(*passes); i++) {
		if (explain(run, passes[i], explained, marks, v) < 0) {
			return -1;
		}
	}
	if (config_findings(run, v) < 0 || skew_findings(run, v) < 0 ||
	    load_findings(run, v) < 0 ||
	    contrast_findings(run, v) < 0 || peer_findings(run, v) < 0 ||
	    port_findings(run, v) < 0 || growth_findings(run, v) < 0 ||
	    info_findings(run, v) < 0) {
		return -1;
	}
	mesh_merge(run, v);
	return 0;
}

static int find(const struct run *run, struct verdict *v)
{
	uint8_t *explained = calloc(cells_of(run) + 1, 1);
	uint8_t *marks = calloc(cells_of(run) + 1, 1);
	struct gone_list gone = { 0 };
	int rc = -1;

	if (explained && marks && gone_find(run, &gone) == 0) {
		rc = judge(run, &gone, explained, marks, v);
	}
	gone_release(&gone);
	free(explained);
	free(marks);
	return rc;
}

int verdict_compute(const struct run *run, struct verdict *v)
{
	*v = (struct verdict){ 0 };
	run_count_cells(run, v->cells);
	if (find(run, v) < 0 || verdict_close(run, v) < 0 ||
	    diagnose_tell(run, v) < 0) {
		verdict_release(v);
		return -1;
	}
	return 0;
}

/** A node that said why it did not answer, where nothing else tells of it. */
static int add_silent(const struct run *run, const struct info_row *row,
		      struct verdict *v)
{
	struct part p = part_of_kind(PART_NODE);
	struct finding *f;

	p.node = run_find_node(run, row->node, -1);
	for (size_t i = 0; i < v->n; i++) {
		if (v->findings[i].fail && v->findings[i].part.node == p.node) {
			return 0;
		}
	}
	f = finding_add(v, &p);
	if (!f) {
		return -1;
	}
	f->fail = true;
	f->cells = f->explained = 1;
	STR_COPY(f->code, row->code[0] ? row->code :
					 outcome_name(row->outcome));
	snprintf(f->says, sizeof(f->says), "%s did not respond%s%s", row->node,
		 row->detail[0] ? ": " : "", row->detail);
	says_act(run, f, -1, -1);
	return 0;
}

int info_judge(const struct run *run, const struct info_row *rows, size_t n,
	       struct verdict *v)
{
	int rc;

	*v = (struct verdict){ 0 };
	rc = find(run, v);
	for (size_t i = 0; i < n && rc == 0; i++) {
		enum cell_class class = cells_class_of(rows[i].outcome);

		v->cells[class]++;
		if (run_measured(class) && class != CELL_PASS) {
			rc = add_silent(run, &rows[i], v);
		}
	}
	if (rc < 0 || verdict_close(run, v) < 0) {
		verdict_release(v);
		return -1;
	}
	return 0;
}
