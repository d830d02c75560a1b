/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/says.h"

#include <stdlib.h>
#include <string.h>

#include "report/model/follow.h"

/** Alternatives that one sentence can hold. */
#define SAYS_MAX_OR 2

/** " (28 timeout, 2 fail)": the bad cells by class; nothing where all failed
 *  in the same plain way. */
static void add_classes(const struct witness *w, size_t bad, struct str *out)
{
	const char *comma = " (";

	if (w->bad[CELL_FAIL] == bad) {
		return;
	}
	for (unsigned c = CELL_FAIL; c <= CELL_SKIPPED; c++) {
		if (w->bad[c] > 0) {
			str_addf(out, "%s%zu %s", comma, w->bad[c],
				 cell_class_name(c));
			comma = ", ";
		}
	}
	str_add(out, comma[0] == ',' ? ")" : "");
}

/** "; the other 192 passed": why it is this part and not another. */
static void add_contrast(const struct run *run, const struct verdict *v,
			 const struct witness *w, struct str *out)
{
	size_t pass = v->cells[CELL_PASS] + v->cells[CELL_SLOW] +
		      follow_measured(run, true);
	size_t measured = verdict_measured(v) + follow_measured(run, false);
	size_t here_pass = w->cells[CELL_PASS] + w->cells[CELL_SLOW];
	size_t here = here_pass + w->cells[CELL_FAIL] +
		      w->cells[CELL_TIMEOUT] + w->cells[CELL_CORRUPT];
	size_t others = measured > here ? measured - here : 0;
	size_t others_pass = pass > here_pass ? pass - here_pass : 0;

	if (others == 0) {
		str_add(out, "; no other test was run");
	} else if (others == others_pass) {
		str_addf(out, "; the other %zu passed", others);
	} else {
		str_addf(out, "; %zu of the other %zu passed", others_pass,
			 others);
	}
}

static void add_or(const struct run *run, const struct finding *f,
		   struct str *out)
{
	char name[PART_NAME_SIZE];
	size_t n = 0;

	for (size_t i = 0; i < f->n_or; i++) {
		const struct part *p = &f->or_parts[i];

		/* the same one way is no other part */
		if (!part_same_place(p, &f->part) && n++ < SAYS_MAX_OR) {
			str_addf(out, "%s%s", n > 1 ? " or " :
				 "; could also be ",
				 part_name(run, p, name, sizeof(name)));
		}
	}
	if (n > SAYS_MAX_OR) {
		str_addf(out, " or one of %zu more", n - SAYS_MAX_OR);
	}
}

/** Sentences begin with a capital letter, names do not change. */
static void add_subject(const struct run *run, const struct finding *f,
			struct str *out)
{
	char name[PART_NAME_SIZE];

	part_name(run, &f->part, name, sizeof(name));
	if (name[0] >= 'a' && name[0] <= 'z') {
		name[0] = (char)(name[0] - 'a' + 'A');
	}
	str_add(out, name);
}

/** "all 30 tests with this GPU", "30 of 32 tests with this NIC as sender". */
static void add_tests(const struct run *run, const struct finding *f,
		      struct str *out)
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
	const char *what = p->kind == PART_GPU && run->ports ?
				   "with this port" :
			   p->kind == PART_NIC && run->mesh ?
				   "with this interface" :
			   p->kind == PART_RAIL && run->mesh ?
				   "in this segment" : with[p->kind];
	bool one_end = part_is(p, KIND(NODE) | KIND(NODE_NETWORK) | KIND(NIC) |
				  KIND(GPU) | KIND(GPU_NVLINK));

	if (f->explained < f->cells || f->cells == 0) {
		str_addf(out, "%zu of %zu", f->explained, f->cells);
	} else if (f->cells > 2) {
		str_addf(out, "all %zu", f->cells);
	} else if (f->cells == 2) {
		str_add(out, "both");
	} else {
		str_add(out, "the only");
	}
	str_addf(out, " test%s %s%s", f->cells == 1 ? "" : "s", what,
		 one_end ? as[p->direction] : "");
	if (p->kind == PART_FABRIC_PATH && f->explained > 0) {
		str_addf(out, " (about 1 of %zu paths)",
			 (f->cells + f->explained / 2) / f->explained);
	}
}

/** Changed data is a fault, however often it arrives whole. */
static void add_flaky(const struct witness *w, struct str *out)
{
	str_add(out, " failed first and passed when retried");
	if (w->corrupted == w->bad[CELL_PASS] + w->bad[CELL_SLOW]) {
		str_add(out, ": corrupt data");
	} else if (w->corrupted > 0) {
		str_addf(out, ": corrupt data in %zu of them", w->corrupted);
	}
}

/** Against peers and against the line, as far as each is known. */
static void add_slow(const struct run *run, const struct witness *w,
		     struct str *out)
{
	bool by_row = w->by_section == 0 && w->below_line == w->bad[CELL_SLOW];
	const char *comma = ": on average";

	if (run->mesh) {
		str_addf(out, " lost packets, %.0f %% on average",
			 100 * w->slow_ratio);
		return;
	}
	str_add(out, w->bad[CELL_SLOW] == 1 ? " is slow" : " are slow");
	if (isfinite(w->slow_ratio) && !by_row) {
		str_addf(out, "%s %.0f %% of the other pairs", comma,
			 100 * w->slow_ratio);
		comma = ",";
	}
	if (isfinite(w->line_ratio)) {
		str_addf(out, "%s %.0f %% of the %s", comma,
			 100 * w->line_ratio,
			 by_row ? "line rate" : "expected rate");
	}
}

/** All that leaves a node fails: no part of a node can be told from another. */
static bool is_whole(const struct finding *f, enum witness_about about)
{
	return about == ABOUT_FAULTS && f->part.kind == PART_INTER_NODE &&
	       f->explained == f->cells;
}

/** Nothing else passes either, and not for want of a test? */
static bool fails_inside(const struct verdict *v, const struct finding *f)
{
	return v->cells[CELL_PASS] + v->cells[CELL_SLOW] == 0 &&
	       verdict_measured(v) > f->cells;
}

void says_what(const struct run *run, const struct verdict *v,
	       struct finding *f, enum witness_about about,
	       const struct witness *w)
{
	struct str out = STR_INIT;

	if (is_whole(f, about)) {
		str_add(&out, fails_inside(v, f) ?
			"No test passed, not even inside a node: settings, "
			"drivers or launcher; " :
			"All tests between nodes fail: settings, fabric or "
			"launcher; ");
	} else {
		add_subject(run, f, &out);
		str_add(&out, ": ");
	}
	add_tests(run, f, &out);
	if (about == ABOUT_SLOW) {
		add_slow(run, w, &out);
	} else if (about == ABOUT_FLAKY) {
		add_flaky(w, &out);
	} else {
		str_add(&out, " failed");
		add_classes(w, f->explained, &out);
		add_contrast(run, v, w, &out);
	}
	add_or(run, f, &out);
	finding_say(f, "%s", str_text(&out));
	str_release(&out);
}

static int compare_places(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

void says_scatter(const struct run *run, struct finding *f,
		  enum witness_about about, const uint32_t *rest, size_t n)
{
	static const char *const what[] = {
		[ABOUT_FAULTS] = "failed", [ABOUT_SLOW] = "are slow",
		[ABOUT_FLAKY] = "failed first and passed when retried",
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
					      compare_places)) {
			continue;	/* the other way of one of them */
		}
		pairs++;
		nodes += (of[a]++ == 0) + (a != b && of[b]++ == 0);
	}
	for (int i = 0; of && i < run->n_nodes; i++) {
		most = of[i] > of[most] ? i : most;
	}
	if (of) {
		finding_say(f, "%zu pairs %s %s, and no part explains them: "
			    "%zu of %d nodes have some of them, %s most, %zu",
			    pairs, run_path_words((enum path_class)
						  run->cells[rest[0]].path),
			    what[about], nodes, run->n_nodes,
			    run->nodes[most].name, of[most]);
	}
	free(of);
}

/** A launcher counts ranks; which machine was theirs need not be known. */
static void add_ranks(const struct run *run, const struct part *p,
		      struct str *out)
{
	const struct run_node *n = &run->nodes[p->node];

	if (p->kind == PART_GPU) {
		str_addf(out, "Rank %d", n->first_rank + p->index);
	} else {	/* "ranks2-3" */
		str_addf(out, "%s %s",
			 str_starts(n->name, "ranks") ? "Ranks" : "Rank",
			 n->name + strcspn(n->name, "0123456789"));
	}
}

void says_gone(const struct run *run, struct finding *f, const struct gone *g)
{
	const char *text = gone_text(g->code);
	struct str out = STR_INIT;

	text = text ? text : gone_text(g->says);
	if (strcmp(f->code, "rank_missing") == 0 &&
	    (f->part.kind == PART_GPU ||
	     str_starts(run->nodes[f->part.node].name, "rank"))) {
		add_ranks(run, &f->part, &out);
	} else {
		add_subject(run, f, &out);
	}
	if (text == gone_text(GONE_OPEN_FAILED) && f->part.kind == PART_NODE) {
		str_addf(&out, " cannot open any of its %s",
			 run->ports ? "HCA ports" : "GPUs");
	} else {
		str_addf(&out, " %s", text);
	}
	if (f->cells > 0) {
		str_add(&out, ": ");
		add_tests(run, f, &out);
		str_add(&out, " gave no result");
	}
	if (g->detail[0] && !strstr(text, g->detail)) {
		str_addf(&out, " (%.200s)", g->detail);
	}
	finding_say(f, "%s", str_text(&out));
	str_release(&out);
}
