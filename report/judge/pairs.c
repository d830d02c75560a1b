/* SPDX-License-Identifier: BSD-3-Clause */
/* The judge of pairs: cells, facts and expectations to findings. */
#include "report/judge/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/units.h"
#include "report/judge/accepted.h"
#include "report/judge/findings.h"
#include "report/judge/retest.h"
#include "report/judge/diagnose.h"
#include "report/model/run.h"

/* ---- few ----------------------------------------------------------------- */

#define LEAST_ALIKE    4
#define LEAST_PARTNERS 3	/* nodes */

/* Returns true if there is too little to compare @p with for its slowness to be
 * a fault.  Among fewer than four similar parts, or with fewer than three other
 * nodes, the others may as well be unusually fast.  Returns false if the line
 * rate of its hardware is known and missed, and for pairs.  Pure. */
static bool few_to_compare(const struct run *run, const struct part *p)
{
	const unsigned inside = KIND(GPU) | KIND(GPU_NVLINK);
	const unsigned outside = KIND(NODE) | KIND(NODE_NETWORK) |
				 KIND(NODE_PAIR) | KIND(NIC) | KIND(SOCKET) |
				 KIND(CABLE_SWAP) | KIND(RAIL) |
				 KIND(RAIL_LEAF) | KIND(SWITCH) |
				 KIND(LEAF_PAIR) | KIND(FABRIC_PATH);
	int nodes = 0;

	for (int i = 0; i < run->n_nodes; i++) {
		nodes += run->nodes[i].gpus > 0;
	}
	if (nodes > LEAST_PARTNERS ||
	    !(part_is(p, outside) ||
	      (part_is(p, inside) &&
	       run->nodes[p->node].gpus < LEAST_ALIKE))) {
		return false;
	}
	part_foreach_cell(run, p, at) {
		if (run->cells[at].class == CELL_SLOW &&
		    cells_below_line(&run->cells[at])) {
			return false;
		}
	}
	return true;
}

/* ---- says ---------------------------------------------------------------- */

/** Adds " (28 timeout, 2 fail, 8 have another cause)": the bad cells by class,
 *  unless all failed in the same plain way, and those that are not counted; and
 *  "; the other 192 passed, 4 of them slow": why it is this part and not
 *  another. */
static void add_classes(const struct run *run, const struct witness *w,
			struct finding *f)
{
	const size_t left = f->cells - w->measured;
	size_t listed[CELL_CLASSES + 2] = {
		[CELL_CLASSES] = w->elsewhere,
		[CELL_CLASSES + 1] = left > w->bad[CELL_SKIPPED] ?
					     left - w->bad[CELL_SKIPPED] : 0,
	};
	size_t others = 0, others_pass = 0, slow = 0;
	size_t follow = 0;	/* of the others, not in the heading's count */
	const char *comma = " (";

	run_foreach_cell(run, at) {
		const unsigned class = run->cells[at].class;

		others += run_measured(class);
		others_pass += run_good(class);
		slow += class == CELL_SLOW;
		follow += run_measured(class) && follow_has(run, at);
	}
	others -= w->measured;
	others_pass -= w->good;
	slow -= w->cells[CELL_SLOW];
	follow -= w->follow < follow ? w->follow : follow;
	if (w->bad[CELL_FAIL] < f->explained) {
		memcpy(listed, w->bad, sizeof(w->bad));
	}
	for (unsigned c = CELL_FAIL; c < CELL_CLASSES + 2; c++) {
		if (listed[c] > 0) {
			finding_more(f, "%s%s %s", comma,
				     UNITS_COUNT(listed[c]),
				     c < CELL_CLASSES ? cell_class_name(c) :
				     c > CELL_CLASSES ? "not measured" :
				     listed[c] == 1 ? "has another cause" :
						      "have another cause");
			comma = ", ";
		}
	}
	if (w->follow > 0) {
		finding_more(f, "%s%s of them %s", comma,
			     UNITS_COUNT(w->follow), w->follow == 1 ?
			     "a follow-up test" : "follow-up tests");
		comma = ", ";
	}
	finding_more(f, "%s", comma[0] == ',' ? ")" : "");
	if (others == 0) {
		finding_more(f, "; there was no other test");
	} else if (others == others_pass) {
		finding_more(f, "; the other %s", UNITS_COUNT(others));
	} else {
		finding_more(f, "; %s of the other %s",
			     UNITS_COUNT(others_pass), UNITS_COUNT(others));
	}
	if (others > 0 && follow > 0) {
		finding_more(f, " (%s follow-up test%s)", UNITS_COUNT(follow),
			     follow == 1 ? "" : "s");
	}
	finding_more(f, others > 0 ? " passed" : "");
	if (slow > 0 && !run->mesh) {
		finding_more(f, ", %s of them slow", UNITS_COUNT(slow));
	}
}

/** Sentences begin with a capital letter, names do not change. */
static void add_subject(const struct run *run, struct finding *f)
{
	char name[PART_NAME_SIZE];

	part_name(run, &f->part, name, sizeof(name));
	if (name[0] >= 'a' && name[0] <= 'z') {
		name[0] = (char)(name[0] - 'a' + 'A');
	}
	finding_more(f, "%s", name);
}

/** "all 30 tests with this GPU", "30 of 32 tests with this NIC as sender". */
static void add_tests(const struct run *run, struct finding *f)
{
	static const char *const with[PART_KINDS] = {
		[PART_INTER_NODE] = "between nodes",
		[PART_CROSS_RAIL] = "of this kind",
		[PART_RAIL]	  = "on this rail",
		[PART_FABRIC_PATH] = "between leaf switches",
		[PART_SWITCH]	  = "through this switch",
		[PART_LEAF_PAIR]  = "between these switches",
		[PART_RAIL_LEAF]  = "of this rail and switch",
		[PART_NVLINK_DOMAIN] = "of this domain",
		[PART_NODE]	  = "with this node",
		[PART_NODE_NETWORK] = "between this node and others",
		[PART_INTRA_NODE] = "of this kind",
		[PART_NODE_PAIR]  = "of this pair",
		[PART_SOCKET]	  = "through this socket",
		[PART_CABLE_SWAP] = "of these NICs on their rails",
		[PART_NIC]	  = "with this NIC",
		[PART_GPU]	  = "with this GPU",
		[PART_GPU_NVLINK] = "inside the node with this GPU",
		[PART_PAIR]	  = "of this pair",
		[PART_PROCESS]	  = "of this process",
		[PART_LIMIT]	  = "of this limit",
		[PART_CONFIG]	  = "with this setup",
	};
	static const char *const as[] = {
		[PART_BOTH] = "", [PART_TX] = " as sender",
		[PART_RX]   = " as receiver",
	};
	const struct part *p = &f->part;
	const char *what = p->kind == PART_FABRIC_PATH && run->n_leaves == 0 ?
				   "between nodes" :
			   p->kind == PART_GPU && run->ports ?
				   "with this port" :
			   p->kind == PART_NIC && run->mesh ?
				   "with this interface" :
			   p->kind == PART_RAIL && run->mesh ?
				   "in this segment" : with[p->kind];
	bool one_end = part_is(p, KIND(NODE) | KIND(NODE_NETWORK) | KIND(NIC) |
				  KIND(GPU) | KIND(GPU_NVLINK));

	if (f->explained < f->cells || f->cells == 0) {
		finding_more(f, "%s of %s", UNITS_COUNT(f->explained),
			     UNITS_COUNT(f->cells));
	} else if (f->cells > 2) {
		finding_more(f, "all %s", UNITS_COUNT(f->cells));
	} else if (f->cells == 2) {
		finding_more(f, "both");
	} else {
		finding_more(f, "the only");
	}
	finding_more(f, " test%s %s%s", f->cells == 1 ? "" : "s", what,
		     one_end ? as[p->direction] : "");
	if (p->kind == PART_FABRIC_PATH && f->explained > 0) {
		finding_more(f, " (about 1 of %zu paths)",
			     (f->cells + f->explained / 2) / f->explained);
	}
}

/** Against peers and against the line, as far as each is known. */
static void add_slow(const struct run *run, const struct witness *w,
		     struct finding *f)
{
	bool by_row = w->by_section == 0 && w->below_line == w->bad[CELL_SLOW];
	const char *comma = ": on average";

	if (run->mesh) {
		finding_more(f, " lost packets, %.0f %% on average",
			     100 * w->slow_ratio);
		return;
	}
	finding_more(f, w->bad[CELL_SLOW] == 1 ? " is slow" : " are slow");
	if (f->cells > w->good) {
		finding_more(f, " (%s without a speed)",
			     UNITS_COUNT(f->cells - w->good));
	}
	if (isfinite(w->slow_ratio) && !by_row) {
		finding_more(f, "%s %.0f %% of the other pairs", comma,
			     100 * w->slow_ratio);
		comma = ",";
	}
	if (isfinite(w->line_ratio)) {
		finding_more(f, "%s %.0f %% of the %s", comma,
			     100 * w->line_ratio,
			     by_row ? "line rate" : "expected rate");
	}
}

/* Fill in f->says, by what @w says of it and v->cells of all. */
static void says_what(const struct run *run, const struct verdict *v,
		      struct finding *f, enum witness_about about,
		      const struct witness *w)
{
	/* no part of a node can be told from another */
	bool whole = about == ABOUT_FAULTS && f->part.kind == PART_INTER_NODE &&
		     w->good == 0;
	/* nor does anything else pass, and not for want of a test */
	bool inside = v->cells[CELL_PASS] + v->cells[CELL_SLOW] == 0 &&
		      verdict_measured(v) > w->measured;

	if (whole) {
		finding_more(f, inside ?
			     "No test passed, not even inside a node: "
			     "settings, drivers or launcher; " :
			     "All tests between nodes fail: settings, fabric "
			     "or launcher; ");
	} else {
		add_subject(run, f);
		finding_more(f, ": ");
	}
	add_tests(run, f);
	if (about == ABOUT_SLOW) {
		f->lost = run->mesh ? NAN : 1 - w->slow_ratio;
		add_slow(run, w, f);
	} else if (about == ABOUT_FLAKY) {
		/* changed data is a fault, however often it arrives whole */
		finding_more(f, " failed at first and passed when retried");
		if (w->corrupted == w->bad[CELL_PASS] + w->bad[CELL_SLOW]) {
			finding_more(f, ": corrupt data");
		} else if (w->corrupted > 0) {
			finding_more(f, ": corrupt data in %s of them",
				     UNITS_COUNT(w->corrupted));
		}
	} else {
		finding_more(f, " failed");
		add_classes(run, w, f);
	}
	finding_more_or(run, f);
}

/* The same for the @n bad cells at @rest, in order, that no part explains, all
 * of one class. */
static void says_scatter(const struct run *run, struct finding *f,
			 enum witness_about about, const uint32_t *rest,
			 size_t n)
{
	static const char *const what[] = {
		[ABOUT_FAULTS] = "failed", [ABOUT_SLOW] = "are slow",
		[ABOUT_FLAKY] = "failed at first and passed when retried",
	};
	size_t *of = calloc((size_t)run->n_nodes + 1, sizeof(*of));
	size_t nodes = 0, pairs = 0;
	int most = 0;

	f->failed |= !of;
	for (size_t i = 0; of && i < n; i++) {
		uint32_t back = (uint32_t)run_back(run, rest[i]);
		int a = run->ranks[run_src(run, rest[i])].node;
		int b = run->ranks[run_dst(run, rest[i])].node;

		if (back < rest[i] && bsearch(&back, rest, n, sizeof(*rest),
					      attribute_order)) {
			continue;	/* the other way of one of them */
		}
		pairs++;
		nodes += (of[a]++ == 0) + (a != b && of[b]++ == 0);
	}
	for (int i = 0; of && i < run->n_nodes; i++) {
		most = of[i] > of[most] ? i : most;
	}
	if (of) {
		finding_say(f, "%s pairs %s %s, and no part explains them: "
			    "they involve %zu of %d nodes; %s has the most, "
			    "%s",
			    UNITS_COUNT(pairs), run_path_words((enum path_class)
						  run->cells[rest[0]].path),
			    what[about], nodes, run->n_nodes,
			    run->nodes[most].name, UNITS_COUNT(of[most]));
	}
	free(of);
}

/* The same for a part that is gone by its own word. */
static void says_gone(const struct run *run, struct finding *f,
		      const struct gone *g)
{
	const struct cluster_node *n = &run->nodes[f->part.node];
	const char *text = gone_code(g->code)->text;
	bool rank = strcmp(f->code, "rank_missing") == 0;

	text = text ? text : gone_code(g->says)->text;
	if (text && strcmp(text, "never started") == 0 &&
	    f->explained < f->cells) {
		text = "did not start when the run was resumed";
	}
	if (strcmp(f->code, "gpu_missing") == 0 &&
	    shown_say(run, f->part.node, f)) {
		text = NULL;
	/* a launcher counts ranks; their machine need not be known */
	} else if (rank && f->part.kind == PART_GPU) {
		finding_more(f, "Rank %d", n->first_rank + f->part.index);
	} else if (rank && str_starts(n->name, "rank")) {	/* "ranks2-3" */
		finding_more(f, "%s %s",
			     str_starts(n->name, "ranks") ? "Ranks" : "Rank",
			     n->name + strcspn(n->name, "0123456789"));
	} else {
		add_subject(run, f);
	}
	if (text && text == gone_code(GONE_OPEN_FAILED)->text &&
	    f->part.kind == PART_NODE) {
		finding_more(f, " could not open any of its %s",
			     run->ports ? "HCA ports" : "GPUs");
	} else if (text) {
		finding_more(f, " %s", text);
	}
	if (f->cells > 0) {
		finding_more(f, ": ");
		add_tests(run, f);
		finding_more(f, " gave no result");
	}
	if (text && g->detail[0] && !strstr(text, g->detail)) {
		finding_more(f, " (%.200s)", g->detail);
	}
}

/* ---- pairs --------------------------------------------------------------- */

/** Adds a finding for a part that is gone, which explains all its cells that
 *  did not pass. */
static void add_gone(const struct run *run, const struct gone *g,
		     uint8_t *explained, struct verdict *v)
{
	struct finding *f = finding_add(v, part_shown(run, &g->part), g->code);
	/* a part that was lost only after all its tests were done: no failure
	 * of its tests is due to the loss */
	bool none = strcmp(g->says, "agent_lost") == 0;
	struct witness w;

	part_foreach_cell(run, &g->part, at) {
		unsigned class = run->cells[at].class;

		none = none && class != CELL_SKIPPED && class != CELL_NOT_RUN &&
		       strcmp(run_cell_code(run, at), g->says) != 0;
	}
	witness_hear(run, &g->part, ABOUT_FAULTS, NULL, f, &w);
	f->fail = true;
	f->cells = none ? 0 : f->cells;
	f->explained = none ? 0 : f->cells - w.good;
	if (f->explained == f->cells && gone_code(g->code)->unstarted) {
		/* no test was made: a row has the reason of either end, and a
		 * pair is nothing to repeat */
		f->n_evidence = 0;
		f->src = f->dst = -1;
	}
	says_gone(run, f, g);
	if (!strstr(f->says, g->detail)) {
		finding_add_evidence(f, "%s", g->detail);
	}
	run_foreach_event(run, e) {	/* how Slurm has the node */
		if (strcmp(e->event, "slurm_state") == 0 &&
		    strcmp(e->node, run->nodes[g->part.node].name) == 0) {
			finding_add_evidence(f, "%s: %s", e->node, e->detail);
		}
	}
	part_foreach_cell(run, &g->part, at) {	/* accuse no other part */
		explained[at] |= none ? 0 : EXPLAINED;
	}
}

static bool has_corrupt(const struct run *run, const struct part *p)
{
	part_foreach_cell(run, p, at) {
		if (run->cells[at].class == CELL_CORRUPT) {
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
	run_foreach_cell(run, at) {
		bool flaky = witness_is_bad(run, ABOUT_FLAKY, at);

		for (size_t i = 0; flaky && i < causes->n; i++) {
			const struct part *p = &causes->list[i].part;

			if (!causes->list[i].rest &&
			    part_touches_at(run, p, at) &&
			    (!witness_corrupted(run, at) ||
			     has_corrupt(run, p))) {
				explained[at] |= EXPLAINED_FLAKY;
				break;
			}
		}
	}
}

/** A bad cell is marked bad unless a finding explains it: nothing else may make
 *  it disappear. */
static enum mark mark_of(const struct run *run, enum witness_about about,
			 uint8_t explained, size_t at)
{
	const struct cell *c = &run->cells[at];
	const struct mesh *m = run->mesh;
	size_t back = run_back(run, at);

	if ((explained & EXPLAINED) ||
	    (about == ABOUT_SLOW && (explained & (SPARED | SAID))) ||
	    (about == ABOUT_FLAKY && (explained & EXPLAINED_FLAKY))) {
		return MARK_IGNORE;
	}
	/* The request arrived and the way back is bad, which has a finding.  If
	 * the way back works, it is the answers that are missing. */
	if (m && m->heard[at] && !m->heard[back] &&
	    cells_failed(run->cells[back].class)) {
		return MARK_GOOD;
	}
	if (witness_is_bad(run, about, at)) {
		return MARK_BAD;
	}
	/* A test that failed once neither clears nor blames a part. */
	if (about == ABOUT_FAULTS && c->flaky) {
		return MARK_IGNORE;
	}
	if (about == ABOUT_FAULTS) {
		return run_measured(c->class) ? MARK_GOOD : MARK_IGNORE;
	}
	/* It is unknown whether a cell that failed, or that has too few peers,
	 * is slow. */
	if (about == ABOUT_SLOW && !run->mesh &&
	    isnan(run->slow[c->path].limit_GB_s) && !(c->expected_GB_s > 0)) {
		return MARK_IGNORE;
	}
	return run_good(c->class) ? MARK_GOOD : MARK_IGNORE;
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

/** Adds one finding for the cells that no part explains.  Cells explained by
 *  parts are no evidence for it. */
static void add_scatter(const struct run *run, enum witness_about about,
			const struct cause *c, struct verdict *v)
{
	uint8_t *others = malloc(run_n_cells(run) + 1);
	struct finding *f = finding_add(v, c->part, "");
	struct witness w;

	v->failed = v->failed || !others;
	if (!others) {
		return;
	}
	memset(others, EXPLAINED, run_n_cells(run) + 1);
	for (size_t i = 0; i < c->n_rest; i++) {
		others[c->rest[i]] = 0;
	}
	witness_hear(run, &c->part, about, others, f, &w);
	STR_COPY(f->code, w.code);
	f->fail = is_failure(run, about, c, &w);
	f->explained = c->explained;
	f->judged = c->cells;
	f->score = 0;
	f->scatter = true;
	says_scatter(run, f, about, c->rest, c->n_rest);
	free(others);
}

/** Says of a path of the fabric, which a share of the tests takes, if the same
 *  tests are bad again: then a hash assigns flows to paths, otherwise other
 *  traffic does harm. */
static void add_again(const struct run *run, enum witness_about about,
		      struct finding *f)
{
	size_t again = 0, bad = 0;

	part_foreach_cell(run, &f->part, at) {
		const struct cell *c = &run->cells[at];
		bool is = witness_is_bad(run, about, at);

		if (c->attempt > 1 && (is || run_good(c->class))) {
			again++;
			bad += is;
		}
	}
	if (again >= AGAIN_TESTS) {
		finding_add_evidence(f, "%s of %s tests made again were bad "
				     "again: %s", UNITS_COUNT(bad),
				     UNITS_COUNT(again),
				     2 * bad > again ?
				     "the same pairs, as a hash of their "
				     "addresses chooses the path" :
				     "other pairs, as the load on the paths "
				     "changes");
	}
}

/** Adds how many tests of @p the follow-up made. */
static void add_follow(const struct run *run, const struct part *p,
		       struct finding *f)
{
	size_t n = 0, bad = 0;

	for (size_t at = 0; run->follow_only && at < run_n_cells(run); at++) {
		bool own = follow_has(run, at) && part_touches_at(run, p, at);

		n += own;
		bad += own && run->cells[at].class != CELL_PASS;
	}
	if (n > 0) {
		finding_add_evidence(f, "%s of these tests are follow-up "
				     "tests: %s failed or were slow",
				     UNITS_COUNT(n), UNITS_COUNT(bad));
	}
}

static void add_cause(const struct run *run, enum witness_about about,
		      const struct cause *c, const uint8_t *explained,
		      struct verdict *v)
{
	struct part shown = part_shown(run, &c->part);
	struct finding *f = finding_add(v, shown, "");
	struct witness w;

	witness_hear(run, &c->part, about, explained, f, &w);
	if (part_leaf(&shown) >= 0) {
		finding_add_evidence(f, run->leaves_inferred ?
				     "the leaf switches are inferred from the "
				     "bad tests: Slurm has no topology" :
				     "the leaf switches are those of Slurm's "
				     "topology");
	}
	if (shown.kind == PART_FABRIC_PATH) {
		add_again(run, about, f);
	}
	add_follow(run, &c->part, f);
	if (about == ABOUT_SLOW) {
		again_tell(run, &c->part, f);
	}
	STR_COPY(f->code, w.code);
	f->fail = is_failure(run, about, c, &w) &&
		  !(about == ABOUT_SLOW && again_doubts(run, c));
	if (f->fail && about == ABOUT_SLOW && few_to_compare(run, &c->part)) {
		f->fail = false;
		finding_add_evidence(f, "only a warning: there are too few "
				     "tests to compare with");
	}
	if (f->fail && about == ABOUT_SLOW && w.below_line == 0 &&
	    (run->most_slow || (shown.kind == PART_FABRIC_PATH &&
				2 * c->explained > c->cells))) {
		f->fail = false;
		finding_add_evidence(f, "a warning only: half of the nodes, "
				     "rails or paths, or more, are slow, and "
				     "no rate is expected that they miss");
	}
	f->explained = c->explained;
	f->judged = c->cells;
	f->score = c->score;
	/* the alternatives, less those that are but another name of it */
	for (size_t i = 0; i < c->n_or; i++) {
		struct part p = part_shown(run, &c->or_parts[i]);
		bool said = part_compare(&p, &f->part) == 0;

		for (size_t k = 0; k < f->n_or; k++) {
			said |= part_compare(&p, &f->or_parts[k]) == 0;
		}
		if (!said) {
			finding_add_or(f, &p);
		}
	}
	says_what(run, v, f, about, &w);
}

/**
 * If no test passes at all, common parts of some cells are due to the choice of
 * the pairs: blames what all cells share, and no single part, for all of them.
 * Returns 0, or -1 when memory runs out.
 */
static int blame_nobody(const struct run *run, const uint8_t *marks,
			const struct verdict *v, uint8_t *explained,
			struct causes *causes)
{
	struct cause all = { .part = part_of_kind(PART_INTER_NODE) };

	if (v->cells[CELL_PASS] + v->cells[CELL_SLOW] > 0 || run->mesh ||
	    (causes->n == 1 && causes->list[0].part.kind == PART_INTER_NODE)) {
		return 0;
	}
	run_foreach_cell(run, at) {
		if (run->cells[at].path == PATH_INTER) {
			all.cells += marks[at] != MARK_IGNORE;
			all.explained += marks[at] == MARK_BAD;
		}
	}
	if (all.explained == 0) {
		return 0;
	}
	run_foreach_cell(run, at) {	/* inside nodes, too */
		explained[at] |= marks[at] == MARK_BAD ? NAMED : 0;
	}
	causes_release(causes);
	return grow_add(&causes->list, &causes->n, &all, sizeof(all)) ? 0 : -1;
}

/** Marks the cell at @at as covered, so that it does not count for small
 *  effects, and as named if it is bad in the sense of @about. */
static void cover_cell(const struct run *run, enum witness_about about,
		       size_t at, uint8_t *explained)
{
	bool bad = witness_is_bad(run, about, at);

	explained[at] |= about == ABOUT_FLAKY ? (bad ? EXPLAINED_FLAKY : 0) :
						COVERED | (bad ? NAMED : 0);
}

/** Sets these bits for all cells of @c. */
static void cover(const struct run *run, enum witness_about about,
		  const struct cause *c, uint8_t *explained)
{
	const struct cluster_node *nodes = run->nodes;
	const struct part *p = &c->part;

	for (size_t k = 0; k < c->n_rest; k++) {
		cover_cell(run, about, c->rest[k], explained);
	}
	if (c->rest) {
		return;
	}
	if (p->kind == PART_PAIR) {
		int a = nodes[p->node].first_rank + p->index;
		int b = nodes[p->peer_node].first_rank + p->peer_index;

		cover_cell(run, about, run_at(run, a, b), explained);
		cover_cell(run, about, run_at(run, b, a), explained);
		return;
	}
	part_foreach_cell(run, p, at) {
		cover_cell(run, about, at, explained);
	}
	/* a test of the part that was searched for may be only in another one
	 * that explains most of its tests as well */
	for (size_t k = 0; about != ABOUT_FLAKY && k < c->n_or; k++) {
		part_foreach_cell(run, &c->or_parts[k], at) {
			explained[at] |= witness_is_bad(run, about, at) ?
						 NAMED : 0;
		}
	}
}

/** Blames parts for the cells that are bad in the sense of @about. */
static void explain(const struct run *run, enum witness_about about,
		    uint8_t *explained, struct verdict *v)
{
	struct suspect_need need = {
		.percent = ATTRIBUTE_PERCENT,
		.by_chance = about == ABOUT_FLAKY,
	};
	uint8_t *marks = calloc(run_n_cells(run) + 1, 1);
	struct causes causes;

	if (!marks) {
		v->failed = true;
		return;
	}
	run_foreach_cell(run, at) {
		const struct cell *c = &run->cells[at];

		marks[at] = (uint8_t)mark_of(run, about, explained[at], at);
		need.relative[c->path] |= about == ABOUT_SLOW &&
					  marks[at] == MARK_GOOD &&
					  !run->mesh &&
					  !(c->expected_GB_s > 0);
	}
	v->failed = attribute(run, marks, &need, &causes) < 0 || v->failed;
	if (about == ABOUT_FAULTS) {
		v->failed |= blame_nobody(run, marks, v, explained,
					  &causes) < 0;
		explain_flaky(run, &causes, explained);
	}
	if (about == ABOUT_SLOW) {
		v->failed |= chance_drop(run, explained, &causes) < 0;
	}
	for (size_t i = 0; i < causes.n; i++) {
		if (causes.list[i].rest) {
			add_scatter(run, about, &causes.list[i], v);
		} else if (about != ABOUT_SLOW ||
			   !again_collided(run, &causes.list[i], v)) {
			add_cause(run, about, &causes.list[i], explained, v);
		}
	}
	for (size_t i = 0; i < causes.n; i++) {
		cover(run, about, &causes.list[i], explained);
	}
	causes_release(&causes);
	free(marks);
}

/**
 * Finds parts whose tests are slow one by one, parts that are slightly slow,
 * and what the latter do not explain.
 */
static void explain_slow(const struct run *run, uint8_t *explained,
			 struct verdict *v)
{
	bool left = false;

	effects_spare(run, explained, v);
	explain(run, ABOUT_SLOW, explained, v);
	run_foreach_cell(run, at) {
		bool slow = witness_is_bad(run, ABOUT_SLOW, at);

		left |= (explained[at] & SPARED) != 0;
		explained[at] |= slow && !(explained[at] & SPARED) ? SAID : 0;
	}
	effect_findings(run, explained, v);
	if (left) {
		explain(run, ABOUT_SLOW, explained, v);
	}
	depth_findings(run, v);
}

/** Makes a finding of the bad tests of each path class that no judge has
 *  explained or forgiven, so that none is passed over. */
static void explain_open(const struct run *run, uint8_t *explained,
			 struct verdict *v)
{
	static const enum witness_about abouts[] = { ABOUT_FAULTS, ABOUT_SLOW };

	for (unsigned i = 0; i < 2 * PATH_CLASSES; i++) {
		enum path_class path = (enum path_class)(i / 2);
		enum witness_about about = abouts[i % 2];
		struct cause c = { .part = part_of_path(path) };

		for (uint32_t at = 0; at < run_n_cells(run); at++) {
			if (run->cells[at].path == path &&
			    witness_is_bad(run, about, at) &&
			    account_is_open(run, explained, at)) {
				v->failed |= !grow_add(&c.rest, &c.n_rest, &at,
						       sizeof(at));
			}
		}
		if (c.n_rest > 0) {
			c.explained = c.n_rest;
			c.cells = part_tests(run, &c.part, NULL);
			v->account.open += c.n_rest;
			add_scatter(run, about, &c, v);
			cover(run, about, &c, explained);
		}
		free(c.rest);
	}
}

/** Finds parts that dropped out, agents that were cut off, and processes that
 *  had no CPU. */
static void explain_gone(const struct run *run, uint8_t *explained,
			 struct verdict *v)
{
	struct gone_list gone;

	v->failed |= gone_find(run, &gone) < 0;
	cut_findings(run, &gone, explained, v);
	starved_findings(run, &gone, explained, v);
	v->failed |= gone_find_lost(run, explained, &gone) < 0;
	for (size_t i = 0; i < gone.n; i++) {
		add_gone(run, &gone.list[i], explained, v);
	}
	gone_release(&gone);
}

/** Traits of a run that a pass needs, or cannot judge. */
enum { OF_PING = 1, SHARED_CORES = 2 };

/** The passes over a run, in their order: each skips the cells that an earlier
 *  one has explained, and may add to findings of earlier ones. */
static const struct judge_pass {
	unsigned needs, unless;		/* traits */
	void (*explain)(const struct run *run, uint8_t *explained,
			struct verdict *v);
	void (*find)(const struct run *run, struct verdict *v);
	enum witness_about about;	/* neither: explain() these cells */
} passes[] = {
	{ .explain = explain_gone },
	{ .explain = pxn_findings },
	{ .explain = mesh_findings, .needs = OF_PING },
	{ .explain = own_findings, .needs = OF_PING },
	{ .explain = rate_findings, .unless = OF_PING },
	{ .about = ABOUT_FAULTS },
	{ .explain = oversubscribed_findings, .unless = OF_PING },
	{ .explain = explain_slow },
	{ .about = ABOUT_FLAKY },
	{ .find = starved_excuse },
	{ .find = network_findings },
	{ .find = config_findings },
	{ .find = skew_findings },
	{ .find = load_findings, .unless = SHARED_CORES },
	{ .find = contrast_findings },
	{ .find = peer_findings },
	{ .find = level_findings, .unless = OF_PING | SHARED_CORES },
	{ .explain = leftover_findings, .unless = OF_PING },
	{ .explain = explain_open },
	{ .find = port_findings },
	{ .find = growth_findings },
	{ .find = fabric_findings },
	{ .find = bond_findings },
	{ .find = info_findings },
	{ .find = neighbour_findings, .needs = OF_PING },
	{ .find = flow_findings },
	{ .find = untested_findings },
	{ .find = retest_findings },
	{ .find = mesh_merge, .needs = OF_PING },
};

/** Adds all findings to @v.  Returns what it knows of each cell, to be freed;
 *  NULL when memory runs out. */
static uint8_t *find_all(const struct run *run, struct verdict *v)
{
	unsigned traits = (run->mesh ? OF_PING : 0) |
			  (run->shared_cores ? SHARED_CORES : 0);
	uint8_t *explained = calloc(run_n_cells(run) + 1, 1);

	v->failed = !explained;
	for (size_t i = 0; explained && i < sizeof(passes) / sizeof(*passes);
	     i++) {
		const struct judge_pass *p = &passes[i];

		if ((p->needs & ~traits) || (p->unless & traits)) {
			continue;
		}
		if (p->find) {
			p->find(run, v);
		} else if (p->explain) {
			p->explain(run, explained, v);
		} else {
			explain(run, p->about, explained, v);
		}
	}
	return explained;
}

void pairs_find(const struct run *run, struct verdict *v)
{
	free(find_all(run, v));
}

int verdict_compute(const struct run *run, struct verdict *v)
{
	return verdict_compute_beside(run, NULL, v);
}

int verdict_compute_beside(const struct run *run, const struct run *then,
			   struct verdict *v)
{
	struct verdict before = { 0 };
	uint8_t *explained;

	*v = (struct verdict){ 0 };
	run_count_cells(run, v->cells);
	explained = find_all(run, v);
	if (then) {
		v->failed |= accepted_asks(v) &&
			     verdict_compute(then, &before) < 0;
		accepted_compare(run, then, &before, v);
		verdict_release(&before);
	}
	accept_findings(run, NULL, v);
	rails_note(run, v);
	flows_note(run, v);
	if (explained) {
		account_close(run, explained, v);
	}
	free(explained);
	if (verdict_close(run, v) < 0) {
		return -1;
	}
	diagnose_tell(run, v);
	return verdict_whole(v);
}

void silent_finding(const struct run *run, const char *node, const char *code,
		    enum outcome outcome, const char *detail, struct verdict *v)
{
	struct part p = part_at(PART_NODE, run_find_node(run, node, -1), -1);
	struct finding *f;

	for (size_t i = 0; i < v->n; i++) {
		f = &v->findings[i];
		if (f->fail && (f->part.node == p.node ||
				f->part.kind == PART_INTER_NODE)) {
			return;
		}
	}
	f = finding_add(v, p, code[0] ? code : outcome_name(outcome));
	f->fail = true;
	f->cells = f->explained = 1;
	finding_say(f, "%s did not respond%s%s", node, detail[0] ? ": " : "",
		    detail);
}

int info_judge(const struct run *run, const struct info_row *rows, size_t n,
	       struct verdict *v)
{
	*v = (struct verdict){ 0 };
	pairs_find(run, v);
	for (size_t i = 0; i < n; i++) {
		enum cell_class class = cells_class_of(rows[i].outcome);

		v->cells[class]++;
		if (run_measured(class) && class != CELL_PASS) {
			silent_finding(run, rows[i].node, rows[i].code,
				       rows[i].outcome, rows[i].detail, v);
		}
	}
	return verdict_close(run, v);
}
