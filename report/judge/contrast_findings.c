/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings of --compare: what fails or slows down in only one of the passes.
 */
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "lib/base/units.h"

/* Share of the cells of a part that must suffer, in percent.  It is below 100
 * since the pairs that share a link change from round to round, so some cells
 * of an oversubscribed part do not suffer. */
#define LOAD_PERCENT 75

static const struct suspect_need load_need = {
	.percent = LOAD_PERCENT, .relative = { true, true },
};

/* ---- failures in the other pass only ------------------------------------- */

/**
 * Kinds of contrast that lose bandwidth: by another schedule or other memory.
 * Both are told from noise by the ratio below which a cell is slow everywhere,
 * 0.8: an HCA under the PCIe switch of its GPU fills its line from either
 * memory, while a path through the root complex of the CPU, due to ACS or bad
 * placement, halves it.
 */
static const struct load_kind {
	enum spec_contrast contrast;
	const char *code, *title, *when;
	/* text for all cells between nodes, if the network is not the cause */
	const char *all;
} load_kinds[] = {
	{.contrast = CONTRAST_SCHEDULE,
	 .code = "oversubscribed",
	 .title = "Oversubscribed",
	 .when = "pairs run at the same time"},
	{.contrast = CONTRAST_MEMORY,
	 .code = "gpu_memory_slow",
	 .title = "GPU memory is slow",
	 .when = "data is in GPU memory",
	 .all = "all traffic between the nodes"},
};

/** How the place is built is at fault, and nothing in it: "or" has the place
 *  itself. */
static void add_load(const struct run *run, const struct load_kind *k,
		     const struct cause *c, enum path_class path,
		     struct verdict *v)
{
	const struct part *p = &c->part;
	struct finding *f = finding_add(
		v, part_at(PART_CONFIG, p->peer_node < 0 ? p->node : -1,
			   p->kind == PART_GPU ? p->index : -1), k->code);
	/* what its cells of @path keep */
	double *ratios = calloc(run_n_cells(run) + 1, sizeof(*ratios));
	double worst = INFINITY;
	size_t n = 0, worst_at = 0;
	char alone[UNITS_REAL_SIZE], other[UNITS_REAL_SIZE];

	f->failed = f->failed || !ratios;
	for (size_t at = 0; ratios && at < run_n_cells(run); at++) {
		double ratio = run_ratio(run, at);

		if (run->cells[at].path != path || isnan(ratio) ||
		    !part_touches_at(run, p, at)) {
			continue;
		}
		ratios[n++] = ratio;
		if (ratio < worst) {
			worst = ratio;
			worst_at = at;
		}
	}
	finding_add_or(f, p);
	f->cells = c->cells;
	f->explained = c->explained;
	finding_say(f, "%s: %s keeps %.0f %% of its bandwidth when %s; %zu of "
		    "%zu tests with it lose more than %.0f %%", k->title,
		    k->all && p->kind == PART_INTER_NODE ?
		    k->all : PART_NAME(run, p), 100 * stats_median(ratios, n),
		    k->when, c->explained, c->cells,
		    100 * (1 - CELLS_SLOW_RATIO));
	free(ratios);
	if (!(worst < (double)INFINITY)) {
		return;
	}
	finding_set_example(run, f, worst_at);
	finding_add_evidence(f, "largest loss: %s, %s GB/s %s, %s GB/s %s",
			     PART_CELL_NAME(run, worst_at),
			     units_real_text((double)run->cells[worst_at]
						     .bw_GB_s, 2, alone),
			     run->schedule,
			     units_real_text((double)run->contrast
						     .bw_GB_s[worst_at], 2,
					     other), run->contrast.pass);
}

void load_findings(const struct run *run, struct verdict *v)
{
	const struct load_kind *k = load_kinds;
	const struct load_kind *end =
		k + sizeof(load_kinds) / sizeof(*load_kinds);
	uint8_t *marks;

	while (k < end && k->contrast != run->contrast.kind) {
		k++;
	}
	if (k == end) {
		return;
	}
	marks = calloc(run_n_cells(run) + 1, 1);
	v->failed = v->failed || !marks;
	/* one kind of path at a time: NVLink is not asked about the network */
	for (enum path_class path = 0; marks && path < PATH_CLASSES; path++) {
		struct causes causes;

		run_foreach_cell(run, at) {
			double ratio = run->cells[at].path == path ?
					       run_ratio(run, at) : NAN;

			marks[at] = isnan(ratio) ? MARK_IGNORE :
				    ratio < CELLS_SLOW_RATIO ? MARK_BAD :
							       MARK_GOOD;
		}
		v->failed |= attribute(run, marks, &load_need, &causes) < 0;
		for (size_t i = 0; i < causes.n; i++) {
			const struct cause *c = &causes.list[i];

			/* lone pairs and scattered cells say nothing about a
			 * part */
			if (c->part.kind != PART_PAIR &&
			    c->explained * 100 >= c->cells * LOAD_PERCENT) {
				add_load(run, k, c, path, v);
			}
		}
		causes_release(&causes);
	}
	free(marks);
}

/* ---- cells that work in the first pass only ------------------------------ */

/** Adds a warning for cells that fail only in the other pass, since they were
 *  not repeated and may be flaky; corrupted data is a fault. */
void contrast_findings(const struct run *run, struct verdict *v)
{
	size_t cells = 0, bad = 0, corrupt = 0, first = 0;
	struct finding *f;

	for (size_t at = 0; run->contrast.outcome && at < run_n_cells(run);
	     at++) {
		const struct cell *c = &run->cells[at];
		enum outcome there = (enum outcome)run->contrast.outcome[at];
		bool changed = there == OUTCOME_CORRUPT;
		/* a test that failed once in the first pass has its own
		 * finding; corrupted data counts in any pass */
		bool works = run_good(c->class) && (!c->flaky || changed);

		cells += works;
		if (!works || !cells_outcome_failed(there)) {
			continue;
		}
		if (bad++ == 0 || (corrupt == 0 && changed)) {
			first = at;
		}
		corrupt += changed;
	}
	if (bad == 0) {
		return;
	}
	f = finding_add(v, part_of_kind(PART_CONFIG), "fails_in_contrast");
	f->cells = cells;
	f->explained = bad;
	f->fail = corrupt > 0;
	finding_set_example(run, f, first);
	finding_say(f, "%zu of %zu tests that pass in pass %s fail in pass %s, "
		    "for example %s: %s%s", bad, cells, run->schedule,
		    run->contrast.pass, PART_CELL_NAME(run, first),
		    outcome_name((enum outcome)run->contrast.outcome[first]),
		    corrupt > 0 ? " (corrupt data)" : "");
}

/* ---- --compare=pxn: cells that fail without PXN only -------------------- */

void pxn_findings(const struct run *run, uint8_t *explained, struct verdict *v)
{
	const struct part cross_rail = part_of_kind(PART_CROSS_RAIL);
	size_t rescued = 0, first = 0;
	char bw[UNITS_REAL_SIZE];
	struct finding *f;

	for (size_t at = 0; run->contrast.kind == CONTRAST_PXN &&
			    at < run_n_cells(run); at++) {
		unsigned class = run->cells[at].class;

		if ((class == CELL_FAIL || class == CELL_TIMEOUT) &&
		    run->contrast.outcome[at] == OUTCOME_OK &&
		    part_touches_at(run, &cross_rail, at)) {
			explained[at] |= EXPLAINED;
			first = rescued++ == 0 ? at : first;
		}
	}
	if (rescued == 0) {
		return;
	}
	f = finding_add(v, cross_rail, "pxn_needed");
	f->cells = part_tests(run, &cross_rail, NULL);
	f->explained = rescued;
	finding_set_example(run, f, first);
	finding_say(f, "Traffic between rails: %zu of %zu tests fail without "
		    "PXN and pass with PXN, through another GPU's NIC: the "
		    "rails are not connected; if this is by design, test with "
		    "--fabric=rail-only", rescued, f->cells);
	units_real_text((double)run->contrast.bw_GB_s[first], 2, bw);
	finding_add_evidence(f, "%s: %s, with PXN %s GB/s",
			     PART_CELL_NAME(run, first),
			     cell_class_name(run->cells[first].class), bw);
}
