/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random clusters, random faults: does the verdict name what was broken, and
 * nothing else?  Prints a table of precision and recall by kind, and TAP.
 * usage: property [SEED [CASES [NUMBER]]]	NUMBER: that case, in words
 */
#include <stdlib.h>
#include <string.h>

#include "report/model/part.h"
#include "report/judge/verdict.h"
#include "report/judge/pairs.h"
#include "tests/verdict/cluster.h"
#include "tests/verdict/dice.h"
#include "tests/verdict/table.h"
#include "tests/layout.h"

#define MAX_FAULTS 3
#define MAX_NODES  64
#define MAX_GPUS   16
#define MAX_NICS   8

/** Evenly from @low to @high, both included. */
static int dice_int(struct dice *d, int low, int high)
{
	return low + (int)(dice_unit(d) * (high - low + 1));
}

/** Small ones as often as large ones. */
static int dice_log(struct dice *d, int low, int high)
{
	return (int)(low * pow((double)(high + 1) / low, dice_unit(d)));
}

/* ---- what is broken ------------------------------------------------------ */

static const enum drill_kind fault_kinds[] = {
	DRILL_DEAD, DRILL_HANG, DRILL_CORRUPT, DRILL_FLAKY, DRILL_SLOW,
	DRILL_CRASH,
};

static const struct part_word {
	const char *word;
	enum part_kind kind;
	bool directed;
} part_words[] = {
	{ .word = "node", .kind = PART_NODE, .directed = true },
	{ .word = "gpu", .kind = PART_GPU, .directed = true },
	{ .word = "nic", .kind = PART_NIC, .directed = true },
	{ .word = "pair", .kind = PART_PAIR, .directed = true },
	{ .word = "node_pair", .kind = PART_NODE_PAIR, .directed = true },
	{ .word = "rail", .kind = PART_RAIL },
	{ .word = "cross_rail", .kind = PART_CROSS_RAIL },
	{ .word = "switch", .kind = PART_SWITCH },
};

struct fault {
	enum drill_kind kind;
	struct part part;
	char line[120];		/* of the drill, but for a switch: in words */
	char value[40];
	bool found;
};

struct trial {
	struct layout layout;
	int leaf_of[MAX_NODES];	/* -1: nobody knows */
	struct run places;	/* nodes, ranks and switches only */
	struct fault faults[MAX_FAULTS];
	int n_faults;
	uint64_t seed;
	double noise_percent;
};

static void draw_layout(struct dice *d, struct layout *l)
{
	static char text[MAX_NODES][16];
	const char *names[MAX_NODES];
	int gpus[MAX_NODES], nics[MAX_NODES];
	int nodes = dice_log(d, 1, MAX_NODES);
	int usual_gpus = dice_log(d, 1, MAX_GPUS);
	int usual_nics = dice_int(d, 1, MAX_NICS);
	bool mixed = dice_unit(d) < 0.2;

	for (int i = 0; i < nodes; i++) {
		snprintf(text[i], sizeof(text[i]), "n%d", i);
		names[i] = text[i];
		gpus[i] = mixed ? dice_int(d, 1, MAX_GPUS) : usual_gpus;
		nics[i] = mixed ? dice_int(d, 1, MAX_NICS) : usual_nics;
	}
	if (nodes == 1 && gpus[0] == 1) {
		gpus[0] = 2;
	}
	if (layout_of(l, nodes, names, gpus, nics) < 0) {
		abort();
	}
}

/** Neighbours hang on one leaf, as in a row of racks; of some nodes Slurm does
 *  not know it, or of all. */
static void draw_leaves(struct dice *d, struct trial *t)
{
	int size = dice_int(d, 1, 8);
	bool known = dice_unit(d) < 0.6;

	for (int i = 0; i < t->layout.n_nodes; i++) {
		t->leaf_of[i] = known && dice_unit(d) < 0.97 ? i / size : -1;
	}
}

/** Two numbers below @n, the smaller first. */
static void dice_two(struct dice *d, int n, int *a, int *b)
{
	int x = dice_int(d, 0, n - 1), y = dice_int(d, 0, n - 2);

	y += y >= x;
	*a = x < y ? x : y;
	*b = x < y ? y : x;
}

static void draw_place(struct dice *d, const struct trial *t, struct fault *f,
		       char *place, size_t size)
{
	const struct layout *l = &t->layout;
	struct part *p = &f->part;
	int a, b;

	switch (p->kind) {
	case PART_NODE:
		p->node = dice_int(d, 0, l->n_nodes - 1);
		snprintf(place, size, "=%d", p->node);
		break;
	case PART_GPU:
	case PART_NIC:
		p->node = dice_int(d, 0, l->n_nodes - 1);
		p->index = dice_int(d, 0, (p->kind == PART_GPU ?
					   l->nodes[p->node].gpus :
					   l->nodes[p->node].nics) - 1);
		snprintf(place, size, "=%d:%d", p->node, p->index);
		break;
	case PART_PAIR:
		dice_two(d, l->n_ranks, &a, &b);
		p->node = l->ranks[a].node;
		p->index = l->ranks[a].gpu;
		p->peer_node = l->ranks[b].node;
		p->peer_index = l->ranks[b].gpu;
		snprintf(place, size, "=%d-%d", a, b);
		break;
	case PART_NODE_PAIR:
		dice_two(d, l->n_nodes, &p->node, &p->peer_node);
		snprintf(place, size, "=%d-%d", p->node, p->peer_node);
		break;
	case PART_RAIL:
		p->index = dice_int(d, 0, l->nodes[0].nics - 1);
		snprintf(place, size, "=%d", p->index);
		break;
	case PART_SWITCH:
		p->index = dice_int(d, 0, t->places.n_leaves - 1);
		/* to one node alone, they are that node */
		p->peer_index = dice_unit(d) < 0.5 &&
					t->places.leaves[p->index].n_nodes + 1 <
						t->places.n_nodes ?
					PART_UPLINKS :
					-1;
		snprintf(place, size, "=%d%s", p->index,
			 p->peer_index == PART_UPLINKS ? " uplinks" : "");
		break;
	default:
		place[0] = '\0';
	}
}

/** Effects are looked up in a list: of a large switch that takes too long. */
#define MAX_LOOKUPS 3e7

static bool can_draw(const struct trial *t, const struct part_word *w)
{
	double pairs = t->layout.n_nodes * (t->layout.n_nodes - 1) / 2.0;
	double cells = (double)t->layout.n_ranks * t->layout.n_ranks;

	if (w->kind == PART_SWITCH) {
		return t->places.n_leaves > 0 && pairs * cells < MAX_LOOKUPS;
	}
	return w->kind != PART_NODE_PAIR || t->layout.n_nodes > 1;
}

static void draw_fault(struct dice *d, const struct trial *t, struct fault *f)
{
	int last = (int)(sizeof(part_words) / sizeof(part_words[0])) - 1;
	static const char *const directions[] = {
		"", " direction=tx", " direction=rx"
	};
	const struct part_word *w;
	char place[40];

	f->kind = fault_kinds[dice_int(d, 0, 5)];
	f->value[0] = '\0';
	do {
		w = &part_words[f->kind == DRILL_CRASH ? 1 :
							 dice_int(d, 0, last)];
	} while (!can_draw(t, w));
	f->part = part_of_kind(w->kind);
	draw_place(d, t, f, place, sizeof(place));
	/* A crash takes the rank, whichever way the bytes went. */
	if (w->directed && f->kind != DRILL_CRASH && dice_unit(d) < 0.4) {
		f->part.direction = dice_unit(d) < 0.5 ? PART_TX : PART_RX;
	}
	if (f->kind == DRILL_SLOW) {
		snprintf(f->value, sizeof(f->value), " factor=%.2f",
			 0.1 + 0.6 * dice_unit(d));
	} else if (f->kind == DRILL_FLAKY) {
		snprintf(f->value, sizeof(f->value), " rate=%.2f",
			 0.3 + 0.7 * dice_unit(d));
	}
	snprintf(f->line, sizeof(f->line), "%s %s%s%s%s",
		 drill_kinds[f->kind].name, w->word, place,
		 directions[f->part.direction], f->value);
}

/** The drill has no switches: the pairs of nodes that go through one. */
static void add_lines(const struct trial *t, const struct fault *f,
		      struct str *out)
{
	const struct run *run = &t->places;

	if (f->part.kind != PART_SWITCH) {
		str_addf(out, "%s\n", f->line);
		return;
	}
	for (int a = 0; a < run->n_nodes; a++) {
		for (int b = a + 1; b < run->n_nodes; b++) {
			if (part_touches(&run->cluster, &f->part,
					 run->nodes[a].first_rank,
					 run->nodes[b].first_rank)) {
				str_addf(out, "%s node_pair=%d-%d%s\n",
					 drill_kinds[f->kind].name, a, b,
					 f->value);
			}
		}
	}
}

/* ---- is it a fair question? ---------------------------------------------- */

/**
 * Cells of its own that a fault must have spoilt.  Of a path that failed one
 * way only nobody can say that it is both, and of a part that failed in one or
 * two cells that it is more than these.
 */
static size_t least_cells(const struct fault *f)
{
	if (f->kind != DRILL_FLAKY) {
		return 1;
	}
	if (f->part.kind != PART_PAIR) {
		return 3;
	}
	return f->part.direction == PART_BOTH ? 2 : 1;
}

/** Does the fault do anything to the cell the first time? */
static bool hits(const struct trial *t, const struct drill *alone, int src,
		 int dst)
{
	return drill_effect(alone, &t->layout, src, dst, 1, t->seed).kind !=
		       DRILL_NONE ||
	       (alone->n > 0 && alone->faults[0].kind == DRILL_SLOW);
}

/**
 * A fault that touches no cell, or none that the others leave to it, cannot be
 * seen by anyone.
 */
static bool is_fair(const struct trial *t)
{
	struct drill alone[MAX_FAULTS];
	const struct run *places = &t->places;
	size_t own[MAX_FAULTS] = { 0 };
	bool fair = true;

	for (int i = 0; i < t->n_faults; i++) {
		struct str text = STR_INIT;

		add_lines(t, &t->faults[i], &text);
		if (drill_parse(str_text(&text), text.len, &alone[i], NULL) <
			    0 ||
		    drill_check(&alone[i], &t->layout, NULL) < 0) {
			abort();
		}
		str_release(&text);
	}
	for (int s = 0; s < places->n_ranks; s++) {
		for (int d = 0; d < places->n_ranks; d++) {
			int by = -1, touched = 0;

			for (int i = 0; i < t->n_faults && s != d; i++) {
				if (part_touches(&places->cluster,
						 &t->faults[i].part, s, d)) {
					by = i;
					touched++;
				}
			}
			if (touched == 1 && hits(t, &alone[by], s, d)) {
				own[by]++;
			}
		}
	}
	for (int i = 0; i < t->n_faults; i++) {
		fair &= own[i] >= least_cells(&t->faults[i]);
		drill_release(&alone[i]);
	}
	return fair;
}

static void trial_release(struct trial *t)
{
	cluster_release(&t->places);
	layout_release(&t->layout);
}

static void draw_trial(struct dice *d, int n_faults, struct trial *t)
{
	*t = (struct trial){ .n_faults = n_faults };
	for (;;) {
		draw_layout(d, &t->layout);
		draw_leaves(d, t);
		cluster_layout(&t->layout, t->leaf_of, &t->places);
		t->seed = d->of;
		t->noise_percent = n_faults ? 2 : 5;
		for (int i = 0; i < n_faults; i++) {
			draw_fault(d, t, &t->faults[i]);
		}
		if (is_fair(t)) {
			return;
		}
		trial_release(t);
	}
}

/* ---- the answer ---------------------------------------------------------- */

static bool same_part(const struct part *a, const struct part *b)
{
	return part_compare(a, b) == 0;
}

static bool names(const struct finding *f, const struct part *p)
{
	for (size_t i = 0; i < f->n_or; i++) {
		if (same_part(&f->or_parts[i], p)) {
			return true;
		}
	}
	return same_part(&f->part, p);
}

/** Which faults have no cell that @p does not have, to @inside; do two of them
 *  or more have all of its cells?  Then it is a shorter name for these. */
static bool is_sum(const struct trial *t, const struct part *p,
		   bool inside[MAX_FAULTS])
{
	const struct run *places = &t->places;
	bool whole = true;
	int n = 0;

	for (int i = 0; i < MAX_FAULTS; i++) {
		inside[i] = i < t->n_faults;
	}
	for (size_t at = 0; at < run_n_cells(places); at++) {
		for (int i = 0; i < t->n_faults; i++) {
			inside[i] &= part_touches_at(places, p, at) ||
				     !part_touches_at(places,
						      &t->faults[i].part, at);
		}
	}
	for (size_t at = 0; at < run_n_cells(places); at++) {
		bool any = run_src(places, at) == run_dst(places, at);

		for (int i = 0; i < t->n_faults; i++) {
			any |= inside[i] && part_touches_at(
				places, &t->faults[i].part, at);
		}
		whole &= any || !part_touches_at(places, p, at);
	}
	for (int i = 0; i < t->n_faults; i++) {
		n += inside[i];
	}
	return whole && n > 1;
}

struct answer {
	size_t findings, right;		/* findings, those that name a fault */
	bool exact;
	struct verdict verdict;
	struct run run;
};

static void ask(struct trial *t, struct answer *a)
{
	struct str text = STR_INIT;
	bool pairs = false;
	struct drill d;

	for (int i = 0; i < t->n_faults; i++) {
		add_lines(t, &t->faults[i], &text);
		pairs |= t->faults[i].part.kind == PART_PAIR;
	}
	str_addf(&text, "noise percent=%g\n", t->noise_percent);
	*a = (struct answer){ .exact = true };
	if (drill_parse(str_text(&text), text.len, &d, NULL) < 0) {
		abort();
	}
	str_release(&text);
	cluster_run(&t->layout, t->leaf_of, &d, t->seed, &a->run);
	drill_release(&d);
	cluster_judge(&a->run, pairs, &a->verdict);
	a->findings = a->verdict.n;
	for (size_t k = 0; k < a->verdict.n; k++) {
		const struct finding *f = &a->verdict.findings[k];
		bool inside[MAX_FAULTS], right = false, sum = false;

		for (int i = 0; i < t->n_faults; i++) {
			right |= names(f, &t->faults[i].part);
		}
		sum = !right && t->n_faults > 1 && is_sum(t, &f->part, inside);
		for (int i = 0; i < t->n_faults; i++) {
			if (names(f, &t->faults[i].part) ||
			    (sum && inside[i])) {
				t->faults[i].found = right = true;
			}
		}
		a->right += right;
		a->exact &= right;
	}
	for (int i = 0; i < t->n_faults; i++) {
		a->exact &= t->faults[i].found;
	}
}

static void answer_release(struct answer *a)
{
	verdict_release(&a->verdict);
	cluster_release(&a->run);
}

static void show(const struct trial *t, const struct answer *a,
		 const struct dice *d)
{
	printf("# case %llu of seed %llu: %d nodes, %d ranks (n0: %d GPUs, %d "
	       "NICs)\n", (unsigned long long)d->of,
	       (unsigned long long)d->seed, t->layout.n_nodes,
	       t->layout.n_ranks, t->layout.nodes[0].gpus,
	       t->layout.nodes[0].nics);
	for (int i = 0; i < t->n_faults; i++) {
		printf("#   broken: %s%s\n", t->faults[i].line,
		       t->faults[i].found ? "" : "   NOT FOUND");
	}
	for (size_t k = 0; k < a->verdict.n && k < 8; k++) {
		const struct finding *f = &a->verdict.findings[k];
		char name[PART_NAME_SIZE];

		printf("#   found (%s): %s\n", f->code, f->says);
		for (size_t i = 0; i < f->n_or && i < 8; i++) {
			printf("#     or %s\n",
			       part_name(&a->run, &f->or_parts[i], name,
					 sizeof(name)));
		}
	}
}

/* ---- the table ----------------------------------------------------------- */

struct tally {
	size_t cases, exact, faults, found, findings, right;
	size_t accused;		/* nothing was broken, and it says FAIL */
};

static double percent(size_t part, size_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 100;
}

static void add_score(struct tally *s, const struct trial *t,
		      const struct answer *a)
{
	s->cases++;
	s->exact += a->exact;
	s->accused += t->n_faults == 0 && a->verdict.status == VERDICT_FAIL;
	s->faults += (size_t)t->n_faults;
	for (int i = 0; i < t->n_faults; i++) {
		s->found += t->faults[i].found;
	}
	s->findings += a->findings;
	s->right += a->right;
}

static void print_score(const char *name, const struct tally *s)
{
	printf("#| %-24s %6zu %8.1f %10.1f %8.1f\n", name, s->cases,
	       percent(s->exact, s->cases), percent(s->right, s->findings),
	       percent(s->found, s->faults));
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	size_t cases = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
	uint64_t only = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	bool verbose = getenv("V") != NULL;
	static const char *const group_names[] = {
		"healthy, 5 % noise", "one fault", "two faults", "three faults",
	};
	static const double needed[] = { 99, 99, 96, 94 };
	struct tally groups[MAX_FAULTS + 1] = { 0 };
	struct tally by_kind[DRILL_NOISE + 1] = { 0 };
	struct tally by_part[PART_KINDS] = { 0 };
	int failed = 0;

	for (uint64_t i = 1; i <= cases; i++) {
		struct dice d = { .seed = seed, .of = i };
		/* of ten: one healthy, five, three, one of 1, 2, 3 faults */
		static const int faults_of[] = { 0, 1, 1, 1, 1, 1, 2, 2, 2, 3 };
		struct trial t;
		struct answer a;

		if (only && only != i) {
			continue;
		}
		draw_trial(&d, faults_of[i % 10], &t);
		ask(&t, &a);
		if (only || (verbose && !a.exact)) {
			show(&t, &a, &d);
		}
		add_score(&groups[t.n_faults], &t, &a);
		if (t.n_faults == 1) {
			add_score(&by_kind[t.faults[0].kind], &t, &a);
			add_score(&by_part[t.faults[0].part.kind], &t, &a);
		}
		answer_release(&a);
		trial_release(&t);
	}
	printf("#| seed %llu: %zu random clusters of 1-64 nodes, 1-16 GPUs and "
	       "1-8 NICs a node\n", (unsigned long long)seed, cases);
	printf("#| %-24s %6s %8s %10s %8s   (%%)\n", "", "cases", "exact",
	       "precision", "recall");
	for (int i = 0; i <= MAX_FAULTS; i++) {
		print_score(group_names[i], &groups[i]);
	}
	for (int k = 0; k < DRILL_NOISE; k++) {
		char name[40];

		if (by_kind[k].cases) {
			snprintf(name, sizeof(name), "  one %s",
				 drill_kinds[k].name);
			print_score(name, &by_kind[k]);
		}
	}
	for (int k = 0; k < PART_KINDS; k++) {
		char name[40];

		if (by_part[k].cases) {
			snprintf(name, sizeof(name), "  one %s",
				 part_kind_name((enum part_kind)k));
			print_score(name, &by_part[k]);
		}
	}
	for (int i = 0; i <= MAX_FAULTS && !only; i++) {
		bool ok = score_enough(groups[i].exact, groups[i].cases,
				       needed[i]) &&
			  groups[i].accused == 0;

		printf("%sok - %s: exactly what is broken, %g %% of the time "
		       "or more\n", ok ? "" : "not ", group_names[i],
		       needed[i]);
		failed += !ok;
	}
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
