/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "lib/base/units.h"
#include "report/judge/attribute.h"
#include "report/model/part.h"
#include "report/judge/says.h"
#include "report/judge/verdict.h"

/* Who shares a link with whom changes from round to round, so that not every
 * cell of an oversubscribed part must suffer. */
#define LOAD_PERCENT 75

static const struct attribute_need load_need = {
	.percent = LOAD_PERCENT, .relative = { true, true },
};

static size_t cells_of(const struct run *run)
{
	return (size_t)run->n_ranks * (size_t)run->n_ranks;
}

/* ---- what suffers in the other pass ------------------------------------------ */

/**
 * Parts that lose by another schedule, or another memory.  Both are told from
 * noise by the share below which a cell is slow everywhere, 0.8: an HCA under
 * the PCIe switch of its GPU fills its line from either memory, while the way
 * through the CPU's root, where ACS or a bad place sends it, halves it.
 */
static const struct load_kind {
	enum spec_contrast contrast;
	const char *code, *title, *when;
	/* what lies between all nodes, where that is no matter of a network */
	const char *all;
} load_kinds[] = {
	{ .contrast = CONTRAST_SCHEDULE, .code = "oversubscribed",
	  .title = "Oversubscribed", .when = "pairs run at the same time" },
	{ .contrast = CONTRAST_MEMORY, .code = "gpu_memory_slow",
	  .title = "GPU memory is slow",
	  .when = "data is in GPU memory", .all = "all traffic between the nodes" },
};

static const struct load_kind *load_kind_of(const struct run *run)
{
	for (size_t i = 0; i < sizeof(load_kinds) / sizeof(*load_kinds); i++) {
		if (load_kinds[i].contrast == run->contrast.kind) {
			return &load_kinds[i];
		}
	}
	return NULL;
}

static bool suffers(const struct run *run, size_t at)
{
	return run_ratio(run, at) < CELLS_SLOW_RATIO;
}

/** What the cells that @p touches say; @path: all others do not count. */
struct load {
	double median;		/* of their ratios */
	int src, dst;		/* the worst one */
};

static int hear_load(const struct run *run, const struct part *p,
		     enum path_class path, struct load *l)
{
	double *ratios = calloc(cells_of(run) + 1, sizeof(*ratios));
	double worst = INFINITY;
	size_t n = 0;

	if (!ratios) {
		return -1;
	}
	*l = (struct load){ .src = -1, .dst = -1 };
	for (size_t at = 0; at < cells_of(run); at++) {
		int src = (int)(at / (size_t)run->n_ranks);
		int dst = (int)(at % (size_t)run->n_ranks);
		double ratio = run_ratio(run, at);

		if (run->cells[at].path != path || isnan(ratio) ||
		    !part_touches(run, p, src, dst)) {
			continue;
		}
		ratios[n++] = ratio;
		if (ratio < worst) {
			worst = ratio;
			l->src = src;
			l->dst = dst;
		}
	}
	l->median = stats_median(ratios, n);
	free(ratios);
	return 0;
}

static void say_load(const struct run *run, const struct load_kind *k,
		     const struct cause *c, const struct load *l,
		     struct finding *f)
{
	struct str out = STR_INIT;
	char name[PART_NAME_SIZE];

	part_name(run, &c->part, name, sizeof(name));
	if (k->all != NULL && c->part.kind == PART_INTER_NODE) {
		STR_COPY(name, k->all);
	}
	str_addf(&out, "%s: %s keeps %.0f %% of its bandwidth when %s; %zu of "
		 "%zu tests with it lose more than %.0f %%", k->title,
		 name, 100 * l->median, k->when, c->explained, c->cells,
		 100 * (1 - CELLS_SLOW_RATIO));
	STR_COPY(f->says, str_text(&out));
	str_release(&out);
}

static int add_worst(const struct run *run, const struct load *l,
		     struct finding *f)
{
	size_t at = run_at(run, l->src, l->dst);
	char a[80], b[80], text[400];
	char alone[UNITS_REAL_SIZE], other[UNITS_REAL_SIZE];

	snprintf(text, sizeof(text), "largest loss: %s -> %s, %s GB/s %s, %s GB/s %s", part_rank_name(run, l->src, a, sizeof(a)),
		 part_rank_name(run, l->dst, b, sizeof(b)),
		 units_real_text((double)run->cells[at].bw_GB_s, 2, alone),
		 run->schedule,
		 units_real_text((double)run->contrast.bw_GB_s[at], 2, other),
		 run->contrast.pass);
	return finding_add_evidence(f, text);
}

/** How the place is built is at fault, and nothing in it: "or" has the place
 *  itself. */
static int add_load(const struct run *run, const struct load_kind *k,
		    const struct cause *c, enum path_class path,
		    struct verdict *v)
{
	struct part p = part_of_kind(PART_CONFIG);
	struct finding *f;
	struct load l;

	if (hear_load(run, &c->part, path, &l) < 0) {
		return -1;
	}
	p.node = c->part.peer_node < 0 ? c->part.node : -1;
	p.index = c->part.kind == PART_GPU ? c->part.index : -1;
	f = finding_add(v, &p);
	if (!f) {
		return -1;
	}
	f->or_parts = malloc(sizeof(*f->or_parts));
	if (!f->or_parts) {
		return -1;
	}
	f->or_parts[f->n_or++] = c->part;
	f->cells = c->cells;
	f->explained = c->explained;
	STR_COPY(f->code, k->code);
	say_load(run, k, c, &l, f);
	says_act(run, f, l.src, l.dst);
	return add_worst(run, &l, f);
}

/** Lone pairs, and cells here and there, tell nothing of a part. */
static bool is_whole_part(const struct cause *c)
{
	return c->part.kind != PART_PAIR &&
	       c->explained * 100 >= c->cells * LOAD_PERCENT;
}

/** One kind of path at a time: NVLink is not asked about the network. */
static int explain_load(const struct run *run, const struct load_kind *k,
			enum path_class path, uint8_t *marks,
			struct verdict *v)
{
	struct causes causes;
	int rc = 0;

	for (size_t at = 0; at < cells_of(run); at++) {
		bool asked = run->cells[at].path == path &&
			     !isnan(run_ratio(run, at));

		marks[at] = !asked ? MARK_IGNORE :
			    suffers(run, at) ? MARK_BAD : MARK_GOOD;
	}
	if (attribute(run, marks, &load_need, &causes) < 0) {
		return -1;
	}
	for (size_t i = 0; i < causes.n && rc == 0; i++) {
		if (is_whole_part(&causes.list[i])) {
			rc = add_load(run, k, &causes.list[i], path, v);
		}
	}
	causes_release(&causes);
	return rc;
}

int load_findings(const struct run *run, struct verdict *v)
{
	const struct load_kind *k = load_kind_of(run);
	uint8_t *marks;
	int rc = 0;

	/* ranks that share cores lose by that, whatever lies between them */
	if (k == NULL || run->shared_cores) {
		return 0;
	}
	marks = calloc(cells_of(run) + 1, 1);
	if (!marks) {
		return -1;
	}
	for (int path = 0; path < PATH_CLASSES && rc == 0; path++) {
		rc = explain_load(run, k, (enum path_class)path, marks, v);
	}
	free(marks);
	return rc;
}

/* ---- both: what works in the first pass only --------------------------------- */

static bool corrupt_there(const struct run *run, size_t at)
{
	return run->contrast.outcome[at] == OUTCOME_CORRUPT;
}

/** What failed once in the first pass, too, has a finding of its own; it is no
 *  matter of the pass, while changed data is wherever it arrives. */
static bool works_here(const struct run *run, size_t at)
{
	const struct cell *c = &run->cells[at];

	return (c->class == CELL_PASS || c->class == CELL_SLOW) &&
	       (!c->flaky || corrupt_there(run, at));
}

static bool fails_only_there(const struct run *run, size_t at)
{
	unsigned there = cells_class_of(
		(enum outcome)run->contrast.outcome[at]);

	return works_here(run, at) &&
	       (there == CELL_FAIL || there == CELL_TIMEOUT ||
		there == CELL_CORRUPT);
}

/** Nobody tried them again, so that they may be flaky: a warning, but for data
 *  that was changed. */
int contrast_findings(const struct run *run, struct verdict *v)
{
	struct part p = part_of_kind(PART_CONFIG);
	size_t cells = 0, bad = 0, corrupt = 0, first = 0;
	char a[80], b[80];
	struct finding *f;

	for (size_t at = 0; run->contrast.outcome && at < cells_of(run); at++) {
		cells += works_here(run, at);
		if (!fails_only_there(run, at)) {
			continue;
		}
		if (bad++ == 0 || (corrupt == 0 && corrupt_there(run, at))) {
			first = at;
		}
		corrupt += corrupt_there(run, at);
	}
	if (bad == 0) {
		return 0;
	}
	f = finding_add(v, &p);
	if (!f) {
		return -1;
	}
	f->cells = cells;
	f->explained = bad;
	f->fail = corrupt > 0;
	STR_COPY(f->code, "fails_in_contrast");
	part_rank_name(run, (int)(first / (size_t)run->n_ranks), a, sizeof(a));
	part_rank_name(run, (int)(first % (size_t)run->n_ranks), b, sizeof(b));
	snprintf(f->says, sizeof(f->says), "%zu of %zu tests that pass in pass "
		 "%s fail in pass %s, for example %s -> %s: %s%s", bad, cells,
		 run->schedule, run->contrast.pass, a, b,
		 outcome_name((enum outcome)run->contrast.outcome[first]),
		 corrupt > 0 ? " (corrupt data)" : "");
	says_act(run, f, (int)(first / (size_t)run->n_ranks),
		 (int)(first % (size_t)run->n_ranks));
	return 0;
}

/* ---- --contrast=pxn: what is dead without it, and only without it ----------- */

static bool is_rescued(const struct run *run, const struct part *cross_rail,
		       int src, int dst)
{
	size_t at = run_at(run, src, dst);
	unsigned class = run->cells[at].class;

	return (class == CELL_FAIL || class == CELL_TIMEOUT) &&
	       run->contrast.outcome[at] == OUTCOME_OK &&
	       part_touches(run, cross_rail, src, dst);
}

static int add_rescued(const struct run *run, const struct part *cross_rail,
		       size_t cells, size_t rescued, int src, int dst,
		       struct verdict *v)
{
	struct finding *f = finding_add(v, cross_rail);
	char a[80], b[80], text[400], bw[UNITS_REAL_SIZE];

	if (!f) {
		return -1;
	}
	f->cells = cells;
	f->explained = rescued;
	STR_COPY(f->code, "pxn_needed");
	snprintf(f->says, sizeof(f->says), "Traffic between rails: "
		 "%zu of %zu tests fail without PXN and pass with PXN, "
		 "through another GPU's NIC: the rails are not connected",
		 rescued, cells);
	says_act(run, f, src, dst);
	snprintf(text, sizeof(text), "%s -> %s: %s, with PXN %s GB/s",
		 part_rank_name(run, src, a, sizeof(a)),
		 part_rank_name(run, dst, b, sizeof(b)),
		 cell_class_name(run_cell(run, src, dst)->class),
		 units_real_text((double)run->contrast.bw_GB_s[run_at(
					 run, src, dst)], 2, bw));
	return finding_add_evidence(f, text);
}

int pxn_findings(const struct run *run, uint8_t *explained, struct verdict *v)
{
	struct part cross_rail = part_of_kind(PART_CROSS_RAIL);
	size_t cells = 0, rescued = 0;
	int src = -1, dst = -1;

	for (int s = 0; run->contrast.kind == CONTRAST_PXN && s < run->n_ranks;
	     s++) {
		for (int d = 0; d < run->n_ranks; d++) {
			cells += run_measured(run_cell(run, s, d)->class) &&
				 part_touches(run, &cross_rail, s, d);
			if (!is_rescued(run, &cross_rail, s, d)) {
				continue;
			}
			explained[run_at(run, s, d)] = true;
			if (rescued++ == 0) {
				src = s;
				dst = d;
			}
		}
	}
	return rescued == 0 ? 0 :
			      add_rescued(run, &cross_rail, cells, rescued, src,
					  dst, v);
}
