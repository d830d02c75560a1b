/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of a retest say of each of its parts. */
#include "report/judge/retest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "lib/data/json.h"

/** A part that was slow is slow still below this share of its controls; by the
 *  same 3 % a slow part is found.  Latency is late from 30 % more on. */
#define LEAST_SHARE 0.97
#define MOST_LATER  1.3
/** Fewer tests of a class tell nothing of a few percent. */
#define LEAST_TESTS 4
#define MAX_ENDS    100000

/** Kinds that are on one node alone, and can be at fault for a test with
 *  another part. */
#define ON_ONE_NODE (KIND(NODE) | KIND(NODE_NETWORK) | KIND(INTRA_NODE) | \
		     KIND(SOCKET) | KIND(CABLE_SWAP) | KIND(NIC) | \
		     KIND(GPU) | KIND(GPU_NVLINK))
/** Of these it matters which one it is. */
#define NUMBERED (KIND(SOCKET) | KIND(CABLE_SWAP) | KIND(NIC) | KIND(GPU) | \
		  KIND(GPU_NVLINK) | KIND(PAIR))

/** A part of which the tests are looked at. */
struct look {
	const struct run *run;
	const struct verdict *v;
	const json_t *json;	/* of it, in run.json */
	struct part part;	/* as this run numbers it */
	uint8_t *marks;		/* a cell each: a test of it ... */
	uint8_t *all;		/* ... of any part */
	size_t units[2], whole[2];	/* pairs that were planned, inside a
					 * node and between two, and those of
					 * which each test was made */
	size_t other_nic;
};

static const json_t *parts_of(const struct run *run)
{
	return json_object_get(json_object_get(run->json, "retest"), "parts");
}

static int number_of(const json_t *json, const char *key)
{
	const json_t *n = json_object_get(json, key);

	return json_is_integer(n) && json_integer_value(n) >= 0 &&
			       json_integer_value(n) <= SPEC_MAX_RANKS ?
		       (int)json_integer_value(n) : -1;
}

static int node_of(const struct run *run, const char *name)
{
	return name[0] ? run_find_node(run, name, -1) : -1;
}

static struct part part_now(const struct run *run, const json_t *json)
{
	struct part p = part_of_kind(0);

	while (p.kind < PART_CONFIG && strcmp(part_kind_name(p.kind),
					      json_member(json, "kind"))) {
		p.kind++;
	}
	p.node = node_of(run, json_member(json, "node"));
	p.peer_node = node_of(run, json_member(json, "peer_node"));
	p.index = number_of(json, "index");
	p.peer_index = number_of(json, "peer_index");
	return p;
}

/* ---- which cells are whose ----------------------------------------------- */

/** The ranks of "NODE", GPU: *@first to *@last, none of a node that has not
 *  come. */
static void find_ranks(const struct run *run, const json_t *end, size_t at,
		       int *first, int *last)
{
	const char *name = json_string_value(json_array_get(end, at));
	int64_t gpu = json_integer_value(json_array_get(end, at + 1));
	int node = name ? node_of(run, name) : -1;
	const struct run_node *n = node < 0 ? NULL : &run->nodes[node];

	*first = 0;
	*last = -1;
	if (n && gpu < n->gpus) {
		*first = n->first_rank + (gpu < 0 ? 0 : (int)gpu);
		*last = gpu < 0 ? n->first_rank + n->gpus - 1 : *first;
	}
}

/** Mark the cells of @part, both ways. */
static void mark(const struct run *run, const json_t *part, uint8_t *marks)
{
	const json_t *ends = json_object_get(part, "pairs"), *end;
	int a, b, last_a, last_b;
	size_t i;

	json_array_foreach(ends, i, end) {
		find_ranks(run, end, 0, &a, &last_a);
		for (; i < MAX_ENDS && a <= last_a; a++) {
			find_ranks(run, end, 2, &b, &last_b);
			for (; b <= last_b; b++) {
				marks[run_at(run, a, b)] = 1;
				marks[run_at(run, b, a)] = 1;
			}
		}
	}
	marks[run_n_cells(run)] = 0;
}

/** Of the pair @end: was there a test, and was none left out? */
static bool is_whole(const struct look *l, const json_t *end)
{
	const struct run *run = l->run;
	size_t made = 0, left = 0;
	int a, b, last_a, last_b;

	find_ranks(run, end, 0, &a, &last_a);
	for (; a <= last_a; a++) {
		find_ranks(run, end, 2, &b, &last_b);
		for (; b <= last_b; b++) {
			size_t at[2] = { run_at(run, a, b), run_at(run, b, a) };

			for (int k = 0; k < 2; k++) {
				unsigned class = run->cells[at[k]].class;

				made += l->marks[at[k]] && run_measured(class);
				left += class != CELL_UNPLANNED &&
					(!l->marks[at[k]] ||
					 !run_measured(class));
			}
		}
	}
	return made > 0 && left == 0;
}

static void count_units(struct look *l)
{
	const json_t *ends = json_object_get(l->json, "pairs"), *end;
	size_t i;

	json_array_foreach(ends, i, end) {
		const char *a = json_string_value(json_array_get(end, 0));
		const char *b = json_string_value(json_array_get(end, 2));
		bool inter = a && b && strcmp(a, b) != 0;

		/* a node with a single GPU has none inside */
		if (i >= MAX_ENDS ||
		    (!inter && number_of(l->json, "gpus") == 1)) {
			continue;
		}
		l->units[inter]++;
		l->whole[inter] += is_whole(l, end);
	}
}

/* ---- who is at fault for what -------------------------------------------- */

/** Does @p have most of the tests that are marked, of one kind of path? */
static bool covers(const struct look *l, const struct part *p)
{
	size_t n[PATH_CLASSES] = { 0 }, of[PATH_CLASSES] = { 0 };
	bool most = false;

	for (size_t at = 0; at < run_n_cells(l->run); at++) {
		const struct cell *c = &l->run->cells[at];

		if (l->marks[at] && run_measured(c->class)) {
			of[c->path]++;
			n[c->path] += part_touches_at(l->run, p, at);
		}
	}
	for (int path = 0; path < PATH_CLASSES; path++) {
		most = most || 2 * n[path] > of[path];
	}
	return most;
}

/** Tests that fail since something else is at fault say nothing of the part:
 *  its partner, or another one of its node. */
static void excuse(struct look *l)
{
	uint8_t *of_other = calloc(run_n_cells(l->run) + 1, 1);

	for (size_t i = 0; of_other && i < l->v->n; i++) {
		const struct finding *f = &l->v->findings[i];

		if (!f->fail || f->explained == 0 || f->n_or > 0 ||
		    f->part.node < 0 || !part_is(&f->part, ON_ONE_NODE) ||
		    f->part.node == l->part.peer_node || l->part.node < 0 ||
		    (f->part.node == l->part.node && covers(l, &f->part))) {
			continue;
		}
		for (size_t at = 0; at < run_n_cells(l->run); at++) {
			of_other[at] |= part_touches_at(l->run, &f->part, at);
		}
	}
	for (size_t at = 0; of_other && at < run_n_cells(l->run); at++) {
		l->marks[at] &= !(of_other[at] &&
				  run_bad(l->run->cells[at].class));
	}
	free(of_other);
}

/** Does @rank use another NIC than the one that was found? */
static bool is_other_nic(const struct look *l, int rank)
{
	const struct run_rank *r = &l->run->ranks[rank];
	const char *then = json_member(l->json, "nic");
	bool named = then[0] && run_number_in(then, "nic") < 0 &&
		     r->nic_name[0] && run_number_in(r->nic_name, "nic") < 0;

	return r->node == l->part.node &&
	       (named ? strcmp(r->nic_name, then) != 0 :
			r->nic != l->part.index);
}

/** Tests that another NIC has carried are none of the part. */
static void drop_other_nic(struct look *l)
{
	for (size_t at = 0; l->part.kind == PART_NIC &&
			    at < run_n_cells(l->run); at++) {
		if (l->marks[at] && l->run->cells[at].path != PATH_INTRA &&
		    (is_other_nic(l, run_src(l->run, at)) ||
		     is_other_nic(l, run_dst(l->run, at)))) {
			l->marks[at] = 0;
			l->other_nic++;
		}
	}
}

/* ---- slower than its controls? ------------------------------------------- */

static double median_of(const struct look *l, bool part, enum path_class path,
			bool latency, size_t *n)
{
	double *values = calloc(run_n_cells(l->run) + 1, sizeof(*values));
	double median;

	*n = 0;
	for (size_t at = 0; values && at < run_n_cells(l->run); at++) {
		const struct cell *c = &l->run->cells[at];
		const double x = (double)(latency ? c->lat_us : c->bw_GB_s);

		if (run_good(c->class) && c->path == path && !isnan(x) &&
		    (part ? l->marks[at] : !l->all[at])) {
			values[(*n)++] = x;
		}
	}
	median = stats_median(values, *n);
	free(values);
	return median;
}

/** The worst ratio of any class of paths that has enough tests; NAN: none. */
static double ratio(const struct look *l, bool latency)
{
	double worst = NAN;

	for (enum path_class path = 0; path < PATH_CLASSES; path++) {
		size_t n, others;
		double x = median_of(l, true, path, latency, &n);
		double y = median_of(l, false, path, latency, &others);
		double q = x / y;

		if (n >= LEAST_TESTS && others >= LEAST_TESTS && !isnan(q) &&
		    (isnan(worst) || (latency ? q > worst : q < worst))) {
			worst = q;
		}
	}
	return worst;
}

/* ---- is it found again? -------------------------------------------------- */

static bool is_speed(const char *code)
{
	return strncmp(code, "slow", 4) == 0 || strcmp(code, "still_slow") == 0;
}

static bool is_late(const char *code)
{
	return strcmp(code, "latency") == 0;
}

static bool is_same(const struct look *l, const struct retested *r,
		    const struct part *p)
{
	char name[PART_NAME_SIZE];

	return strcmp(part_name(l->run, p, name, sizeof(name)), r->name) == 0 ||
	       (l->part.node >= 0 && part_same_place(p, &l->part));
}

/** Is it on the node of the part, or on one of the two? */
static bool is_here(const struct look *l, const struct finding *f)
{
	return (l->part.node >= 0 && finding_sits_in(f, l->part.node)) ||
	       (l->part.peer_node >= 0 &&
		finding_sits_in(f, l->part.peer_node)) ||
	       (l->part.node >= 0 && f->part.peer_node == l->part.node);
}

static bool names(const struct look *l, const struct retested *r,
		  const struct finding *f)
{
	const bool same_code = strcmp(f->code, r->code) == 0;
	const bool measured = f->fail || f->cells > 0 || f->explained > 0;
	/* how a node is set up is no part of what was broken */
	bool same = (measured || same_code ||
		     part_is(&f->part, ON_ONE_NODE & ~KIND(NODE))) &&
		    is_same(l, r, &f->part);

	for (size_t i = 0; i < f->n_or; i++) {
		same = same || is_same(l, r, &f->or_parts[i]);
	}
	if (same || l->part.node < 0) {
		return same || (r->node[0] ? false : f->fail || same_code ||
				(measured && f->part.node < 0));
	}
	if (!is_here(l, f)) {
		return false;
	}
	return r->tests == 0 || !part_is(&l->part, ON_ONE_NODE |
					 KIND(NODE_PAIR) | KIND(PAIR)) ?
		       f->fail || same_code :
		       (measured && covers(l, &f->part)) ||
			       (f->fail && !part_is(&f->part, ON_ONE_NODE |
						    KIND(NODE_PAIR) |
						    KIND(PAIR)));
}

/** Says @f nothing of what was found: is it a retest's own, or how fast ranks
 *  are that share cores, of a part that was not found by that? */
static bool is_idle(const struct look *l, const struct retested *r,
		    const struct finding *f)
{
	return strncmp(f->code, RETEST_OWN, strlen(RETEST_OWN)) == 0 ||
	       (l->run->shared_cores && !f->fail &&
		(is_speed(f->code) || is_late(f->code)) &&
		!is_speed(r->code) && !is_late(r->code));
}

static const struct finding *find_again(const struct look *l,
					const struct retested *r)
{
	const struct finding *found = NULL;

	for (size_t i = 0; i < l->v->n; i++) {
		const struct finding *f = &l->v->findings[i];

		if ((!found || (f->fail && !found->fail)) &&
		    !is_idle(l, r, f) && names(l, r, f)) {
			found = f;
		}
	}
	return found;
}

/* ---- one part ------------------------------------------------------------ */

/** Of a collective: its nodes took part, or not. */
static void look_at_nodes(const struct look *l, struct retested *r)
{
	const json_t *nodes = json_object_get(l->run->json, "nodes"), *node;
	bool there = !r->node[0];
	size_t i;

	json_array_foreach(nodes, i, node) {
		there = there || strcmp(json_member(node, "name"),
					r->node) == 0;
	}
	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		r->tests += run_measured(c) && there ? l->v->cells[c] : 0;
		r->bad += run_bad(c) && there ? l->v->cells[c] : 0;
	}
}

/** A fault by its bandwidth, whatever it was found for. */
static double fault_share(const struct run *run)
{
	return 1 - (double)(run->slow_percent ? run->slow_percent :
			    RUN_SLOW_PERCENT) / 100;
}

static void look_at_cells(struct look *l, struct retested *r)
{
	const struct run *run = l->run;
	const json_t *other;
	size_t i;

	mark(run, l->json, l->marks);
	json_array_foreach(parts_of(run), i, other) {
		mark(run, other, l->all);
	}
	drop_other_nic(l);
	excuse(l);
	count_units(l);
	for (size_t at = 0; at < run_n_cells(run); at++) {
		const struct cell *c = &run->cells[at];

		r->tests += l->marks[at] && run_measured(c->class);
		r->bad += l->marks[at] && run_bad(c->class);
		r->flaky += l->marks[at] && run_good(c->class) && c->flaky;
	}
	r->share = ratio(l, false);
	r->late = is_late(r->code) ? ratio(l, true) : NAN;
	r->slow = r->late > MOST_LATER ||
		  (!run->shared_cores && r->share < fault_share(run)) ||
		  (is_speed(r->code) && r->share < LEAST_SHARE);
}

/** Were half of the pairs tested to their end, of each kind of path? */
static bool is_covered(const struct look *l)
{
	return l->run->n_ranks == 0 ||
	       (2 * l->whole[0] >= l->units[0] &&
		2 * l->whole[1] >= l->units[1]);
}

/** Was all that was planned tested, and is known what was bad then? */
static bool is_enough(const struct look *l, const struct retested *r)
{
	return r->tests > 0 && !verdict_is_cut(l->run, l->v) &&
	       is_covered(l) &&
	       (l->run->n_ranks == 0 ||
		((!is_speed(r->code) || !isnan(r->share)) &&
		 (!is_late(r->code) || !isnan(r->late))));
}

/** Compare the GPUs of the node that is called @node in the part with those of
 *  then; RETEST_PASSES: there is nothing to say. */
static enum retest_state count_gpus(const struct look *l, const char *node,
				    const char *gpus, struct retested *r)
{
	const char *name = json_member(l->json, node);
	const char *what = l->run->ports ? "port" : "GPU";
	int then = number_of(l->json, gpus), at = node_of(l->run, name);
	int now = at >= 0 ? l->run->nodes[at].gpus : 0;

	if (then <= 0 || now == then ||
	    (now > then && !part_is(&l->part, NUMBERED))) {
		return RETEST_PASSES;
	}
	if (now < then && json_integer_value(run_option(
				  l->run, "gpus-per-node")) > 0) {
		snprintf(r->why, sizeof(r->why), "--gpus-per-node leaves %d of "
			 "the %d %ss of %.64s", now, then, what, name);
		return RETEST_OPEN;
	}
	snprintf(r->why, sizeof(r->why), "%.64s has %d %s%s now, and had %d%s",
		 name, now, what, now == 1 ? "" : "s", then, now < then ? "" :
		 ": which of them it was is not known");
	return now < then ? RETEST_MISSING : RETEST_OPEN;
}

/** Nothing says that it is at fault. */
static enum retest_state weigh(const struct look *l, struct retested *r)
{
	enum retest_state gpus = count_gpus(l, "node", "gpus", r);

	if (gpus == RETEST_PASSES) {
		gpus = count_gpus(l, "peer_node", "peer_gpus", r);
	}
	if (gpus != RETEST_PASSES || l->run->n_ranks == 0) {
		return gpus != RETEST_PASSES ? gpus :
		       is_enough(l, r) ? RETEST_PASSES : RETEST_OPEN;
	}
	if (l->other_nic > 0 && !is_covered(l)) {
		snprintf(r->why, sizeof(r->why), "%zu of its tests went by "
			 "another NIC", l->other_nic);
		return RETEST_OPEN;
	}
	if (r->flaky > 0) {
		snprintf(r->why, sizeof(r->why), "%zu of %zu tests passed only "
			 "when they were tried again", r->flaky, r->tests);
		return RETEST_OPEN;
	}
	return is_enough(l, r) ? RETEST_PASSES : RETEST_OPEN;
}

bool retest_part(const struct run *run, const struct verdict *v, size_t i,
		 struct retested *r)
{
	const json_t *part = json_array_get(parts_of(run), i);
	struct look l = { .run = run, .v = v, .json = part };

	if (!json_is_object(part)) {
		return false;
	}
	l.part = part_now(run, part);
	*r = (struct retested){
		.name = json_member(part, "name"),
		.node = json_member(part, "node"),
		.code = json_member(part, "code"),
		.failed = strcmp(json_member(part, "severity"), "fail") == 0,
		.drain = json_is_true(json_object_get(part, "drain")),
		.share = NAN, .late = NAN,
	};
	l.marks = calloc(run_n_cells(run) + 1, 1);
	l.all = calloc(run_n_cells(run) + 1, 1);
	if (l.marks && l.all) {
		if (run->n_ranks > 0 && run->cells) {
			look_at_cells(&l, r);
		} else {
			look_at_nodes(&l, r);
		}
		r->again = find_again(&l, r);
		r->state = r->bad > 0 || r->slow || r->again ? RETEST_FAILS :
			   weigh(&l, r);
	}
	free(l.marks);
	free(l.all);
	return true;
}
