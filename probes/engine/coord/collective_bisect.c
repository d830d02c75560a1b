/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * After the sweep, finds the smallest bad set of nodes, or of ranks of one
 * node.  If a size failed, a set is bad if it fails too.  If none failed, sets
 * are compared.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/data/json.h"
#include "probes/engine/coord/collective.h"

/* ---- collective compare -------------------------------------------------- */

/*
 * Which set is slow, where nothing fails: halves are compared, and the slower
 * one is halved again; where they are alike sets across them are, as a way
 * between them may be slow.  At last the ways between three are compared.
 */

/* Bandwidth ratio below which the slower of two sets is called slow; healthy
 * sets do not differ this much. */
#define SLOWER 0.8

static void bisection_found(struct collective_work *w, const int *parts, int n);
static bool bisection_inside(struct collective_work *w, const int *parts,
			     int n);
static void bisection_join(struct collective_work *w, const int *parts, int n);
static void bisection_leave(struct collective_work *w);

/** All that can be compared is: what was found last, or that nothing was. */
static void end_comparing(struct collective_work *w)
{
	if (w->found == NULL) {
		bisection_found(w, NULL, 0);
	}
	bisection_leave(w);
}

/** The ways between any two of three. */
static const int ways[3][2] = { { 0, 1 }, { 0, 2 }, { 1, 2 } };

/**
 * Measures the next way.  When all are measured, the answer is the part that
 * both slow ways touch, or the two parts at the ends of the only slow one.  A
 * part of the faster half does not explain why the other half is slow.
 */
static void next_way(struct collective_work *w)
{
	double best = fmax(w->busbw[0], fmax(w->busbw[1], w->busbw[2]));
	int slow = 0, last_slow = 0, last_fast = 0, set[2], n = 0;

	if (w->half < 3) {
		set[0] = w->parts[ways[w->half][0]];
		set[1] = w->parts[ways[w->half][1]];
		bisection_join(w, set, 2);
		return;
	}
	for (int i = 0; i < 3; i++) {
		if (w->busbw[i] < SLOWER * best) {
			slow++;
			last_slow = i;
		} else {
			last_fast = i;
		}
	}
	if (slow == 1) {
		set[n++] = w->parts[ways[last_slow][0]];
		set[n++] = w->parts[ways[last_slow][1]];
	} else if (slow == 2) {	/* the one that the fast way does without */
		set[n++] = w->parts[2 - last_fast];
	}
	if (n > 0 && set[0] != w->other && set[n - 1] != w->other) {
		bisection_found(w, set, n);
	}
	end_comparing(w);
}

/**
 * Halves of a node, or of a rank, tell nothing of the ways between them.  Three
 * parts have three ways; two have a third one in the half that was faster.
 */
static void begin_ways(struct collective_work *w)
{
	int at = w->n_parts;

	if (w->n_parts == 2 && w->other >= 0) {
		for (; at > 0 && w->parts[at - 1] > w->other; at--) {
			w->parts[at] = w->parts[at - 1];
		}
		w->parts[at] = w->other;
		w->n_parts = 3;
	}
	if (w->n_parts != 3) {
		end_comparing(w);
		return;
	}
	w->by_way = true;
	w->half = 0;
	next_way(w);
}

static void next_slower(struct collective_work *w);

/**
 * Halves that are alike tell nothing of the ways between them: measures sets
 * across the halves, and continues with the slowest unless they are alike too.
 * Two slow sets without a part in common are not a bad way, but show how the
 * ways are laid: the parts of two switches in turn.
 */
static void next_across(struct collective_work *w)
{
	enum { OUTER = 1 << 0 | 1 << 3, INNER = 1 << 1 | 1 << 2 };
	int slowest = 0, slow = 0, n, other = 0;
	double best = 0;

	if (w->half < BISECT_ACROSS) {
		n = bisect_across(w->n_parts, w->half, w->set);
		for (int i = 0; i < n; i++) {
			w->set[i] = w->parts[w->set[i]];
		}
		bisection_join(w, w->set, n);
		return;
	}
	for (int i = 0; i < BISECT_ACROSS; i++) {
		best = fmax(best, w->busbw[i]);
		slowest = w->busbw[i] < w->busbw[slowest] ? i : slowest;
	}
	for (int i = 0; i < BISECT_ACROSS; i++) {
		slow |= (w->busbw[i] < SLOWER * best) << i;
	}
	if (slow == 0 || slow == OUTER || slow == INNER) {
		end_comparing(w);
		return;
	}
	n = bisect_across(w->n_parts, slowest, w->set);
	while (other < n && w->set[other] == other) {
		other++;
	}
	w->other = w->parts[other];
	for (int i = 0; i < n; i++) {
		w->parts[i] = w->parts[w->set[i]];
	}
	w->n_parts = n;
	bisection_found(w, w->parts, n);
	w->across = false;
	w->half = w->turned = 0;
	next_slower(w);
}

/** Both halves are measured: go on with the slower; false where they are
 *  alike. */
static bool take_slower(struct collective_work *w)
{
	const int half = w->n_parts / 2;
	const int first = w->turned, second = w->n_parts - half;
	bool first_slow = w->busbw[0] < SLOWER * w->busbw[1];
	bool second_slow = w->busbw[1] < SLOWER * w->busbw[0];

	if (!first_slow && !second_slow) {
		return false;
	}
	w->other = w->parts[first_slow ? second : first];
	memmove(w->parts, w->parts + (first_slow ? first : second),
		(size_t)half * sizeof(*w->parts));
	w->n_parts = half;
	w->half = w->turned = 0;
	return true;
}

/**
 * Narrows a slow set: measures one half, then the other, and continues with the
 * slower one.  The middle part of an odd number is in neither half: if the
 * halves are alike, measures them again with the middle part and without the
 * first.
 */
static void next_slower(struct collective_work *w)
{
	bool even = false;
	int half;

	if (w->half == 2 && take_slower(w)) {
		bisection_found(w, w->parts, w->n_parts);
		bisection_inside(w, w->parts, w->n_parts);
	} else if (w->half == 2 && w->n_parts % 2 == 1 && !w->turned) {
		w->half = 0;
		w->turned = 1;
	} else if (w->half == 2) {
		even = true;
	}
	half = w->n_parts / 2;
	if (half < (w->by_rank ? 2 : 1) || (even && half == 1)) {
		begin_ways(w);
	} else if (even) {
		w->across = true;
		w->half = 0;
		next_across(w);
	} else {
		bisection_join(w,
			       w->parts + (w->half == 0 ? w->turned
							: w->n_parts - half),
			       half);
	}
}

/* ---- collective bisect --------------------------------------------------- */

#define SAMPLES	  10
#define TESTS_MAX 400

/* ---- parts and ranks ----------------------------------------------------- */

/** The ranks that can work of part @part into @ranks; returns how many. */
static int ranks_of(const struct collective_work *w, int part, int *ranks)
{
	const struct cluster_node *node;
	int n = 0;

	if (w->by_rank) {
		ranks[0] = part;
		return w->ranks.all[part].state <= RANK_READY;
	}
	node = &w->ranks.layout.nodes[part];
	for (int r = node->first_rank; r < node->first_rank + node->gpus;
	     r++) {
		if (w->ranks.all[r].state <= RANK_READY) {
			ranks[n++] = r;
		}
	}
	return n;
}

/** All nodes that have a rank, or all ranks of the one node. */
static void take_parts(struct collective_work *w, int node)
{
	w->by_rank = false;
	w->n_parts = node >= 0 ? ranks_of(w, node, w->parts) : 0;
	for (int i = 0; node < 0 && i < w->ranks.layout.n_nodes; i++) {
		if (ranks_of(w, i, w->room) > 0) {
			w->parts[w->n_parts++] = i;
		}
	}
	w->by_rank = node >= 0;
}

static void part_text(const struct collective_work *w, int part,
		      struct str *out)
{
	const struct cluster_rank *r = &w->ranks.layout.ranks[part];

	str_addf(out, "%s", out->len > 0 ? ", " : "");
	if (w->by_rank) {
		str_add(out, CLUSTER_GPU(w->ranks.layout.nodes[r->node].name,
					 r->gpu));
	} else {
		str_addf(out, "%s", w->ranks.layout.nodes[part].name);
	}
}

/* ---- the answer ---------------------------------------------------------- */

/* @n parts are the answer as far as is known now; 0: none is. */
static void bisection_found(struct collective_work *w, const int *parts, int n)
{
	json_t *list = json_array();
	struct str text = STR_INIT;

	for (int i = 0; i < n; i++) {
		const struct cluster_rank *r =
			&w->ranks.layout.ranks[w->by_rank ? parts[i] : 0];
		const int node = w->by_rank ? r->node : parts[i];
		struct run_entry part = { RUN_ENTRY_NONE };

		part.node = w->ranks.layout.nodes[node].name;
		part.gpu = w->by_rank ? r->gpu : -1;
		part.rank = w->by_rank ? parts[i] : -1;
		json_array_append_new(list, run_entry_json(&part));
		part_text(w, parts[i], &text);
	}
	json_decref(w->found);
	w->found = run_part_json("bisect", &(struct run_file){ .bisect = {
		.kind = w->comparing ? "slow" : "fail", .tests = w->tests,
		.size_B = w->sizes[w->size], .parts = list,
		.repeats = w->repeats, .says = str_text(&text) } });
	json_decref(list);
	str_release(&text);
}

/* Reports the last finding, which is the finest, as the result; ends the
 * run. */
static void bisection_leave(struct collective_work *w)
{
	const char *says = json_string_value(json_object_get(w->found, "says"));
	char where[48] = "";

	if (w->found != NULL) { /* and those that came to no more */
		json_object_set_new(w->found, "tests", json_integer(w->tests));
	}
	if (says == NULL) {
		coord_leave(w->c);
		return;
	}
	if (w->c->spec.local) {
		snprintf(where, sizeof(where), " --local=%dx%d",
			 w->ranks.layout.n_nodes,
			 w->ranks.layout.nodes[0].gpus);
	}
	if (says[0] != '\0') {
		run_log_event(w->c->log, NULL, -1, "bisect",
			      "the smallest set that is %s: %s",
			      w->comparing ? "slow" : "bad", says);
	} else if (w->by_rank || w->n_parts != 2) {
		collective_note(w, RECORD_ALIKE "%s",
				w->by_way ? ", and no two are slower than two "
					    "others"
				: w->across ? ", and no set with parts of both "
					      "is slower"
					    : "");
	} else {
		collective_note(
			w,
			"bisect: neither node is slower inside; two nodes have "
			"only one path between them, with nothing to compare "
			"it to: gpucheck p2p%s --transport=%s --pairs=inter",
			where, w->ranks.ops->name);
	}
	coord_leave(w->c);
}

/* ---- sets ---------------------------------------------------------------- */

/* Test the set of @n of w->parts. */
static void bisection_join(struct collective_work *w, const int *parts, int n)
{
	struct str text = STR_INIT;
	int n_ranks = 0;

	for (int i = 0; i < n; i++) {
		n_ranks += ranks_of(w, parts[i], w->room + n_ranks);
		part_text(w, parts[i], &text);
	}
	if (n_ranks < 1) { /* lost since: a collective of none has no size */
		collective_note(w,
				"bisect: ended early, no rank remains to test");
		bisection_leave(w);
	} else {
		run_log_event(w->c->log, NULL, -1, "bisect", "test %d: %s",
			      ++w->tests, str_text(&text));
		round_join(w, w->room, n_ranks, w->sizes[w->size],
			   round_step_ns(w));
	}
	str_release(&text);
}

/* If a single node is named, begins to search among its ranks, which w->parts
 * then holds.  Returns false if no further search is possible. */
static bool bisection_inside(struct collective_work *w, const int *parts, int n)
{
	int node = n == 1 && !w->by_rank ? parts[0] : -1;

	if (node < 0 || w->ranks.layout.nodes[node].gpus < 3) {
		return false;
	}
	take_parts(w, node);
	free(w->bisect);
	w->bisect = w->comparing ? NULL : bisect_new(w->n_parts, 2);
	w->half = 0;
	w->other = -1;
	return w->n_parts > 2 && (w->comparing || w->bisect != NULL);
}

static void next_test(struct collective_work *w);

/** Narrows a failing set: tests the next set that bisect.c proposes, or takes
 *  its answer. */
static void next_failing(struct collective_work *w)
{
	const int *set;
	int n = bisect_next(w->bisect, &set);
	bool answer = n == 0;

	n = answer ? bisect_answer(w->bisect, &set) : n;
	for (int i = 0; i < n; i++) {
		w->set[i] = w->parts[set[i]];
	}
	if (!answer) {
		bisection_join(w, w->set, n);
	} else if (w->by_rank && n == w->n_parts) {
		/* the node as a whole, as was found before */
		bisection_leave(w);
	} else {
		bisection_found(w, w->set, n);
		if (bisection_inside(w, w->set, n)) {
			next_test(w);
		} else {
			bisection_leave(w);
		}
	}
}

/* Tests the next set, by the results of those before it. */
static void next_test(struct collective_work *w)
{
	if (w->c->phase >= COORD_STOP || w->tests >= TESTS_MAX) {
		bisection_leave(w);
	} else if (!w->comparing) {
		next_failing(w);
	} else if (w->by_way) {
		next_way(w);
	} else if (w->across) {
		next_across(w);
	} else {
		next_slower(w);
	}
}

/* ---- one test ------------------------------------------------------------ */

static void tell(struct collective_work *w, bool bad, double busbw)
{
	run_log_event(w->c->log, NULL, -1, "bisect", "test %d: %s, %.1f GB/s",
		      w->tests, bad ? "bad" : "good", busbw);
	if (w->comparing) {
		w->busbw[w->half++] = busbw;
	} else {
		bisect_tell(w->bisect, bad);
	}
}

static double bandwidth(const struct collective_work *w)
{
	struct collective_row row;
	struct collective_samples s;
	struct collective_shape shape;

	record_init(&schema_collective, &row);
	STR_COPY(row.op, collective_names[w->op]);
	row.ranks = w->n_members;
	collective_shape(w->op, w->dtype, w->n_members, w->sizes[w->size],
			 &shape);
	row.size_B = shape.size_B;
	collective_samples_begin(&s, SAMPLES, 1, 1);
	for (int i = 0; i < w->n_members; i++) {
		for (int k = 0; k < w->members[i].r.n; k++) {
			collective_samples_add(&s, &w->members[i].r.us[k], 1);
		}
	}
	collective_samples_result(&s, &row);
	return row.busbw_GB_s;
}

static void test_failed(struct collective_work *w, const struct round_end *end)
{
	/* no speed is not a low speed, nor is no answer a bad one */
	bool no_answer = w->comparing || end->outcome == OUTCOME_NOT_RUN;
	int n = 0;

	if (end->n_culprits > 0 && end->outcome != OUTCOME_NOT_RUN) {
		/* ranks that are to blame by themselves need no search; they
		 * are out now */
		for (int i = 0; i < w->n_members; i++) {
			const int rank = w->members[i].rank;

			if (w->ranks.all[rank].state > RANK_READY) {
				w->set[n++] = rank;
			}
		}
		if (n > 0) {
			w->by_rank = true;
			w->comparing = false;
			bisection_found(w, w->set, n);
		}
		bisection_leave(w);
	} else if (no_answer) {
		if (w->c->phase < COORD_STOP) {
			collective_note(w,
					"bisect: ended early, a test failed: "
					"%.250s",
					end->detail);
		}
		bisection_leave(w);
	} else {
		tell(w, true, 0);
		round_renew(w); /* ready() goes on */
	}
}

/** A set is measured; to be good its data must be right as often as that can
 *  be told. */
static void test_over(struct collective_work *w)
{
	bool bad;

	if (w->order.verify > 0) {
		verify_over(w);
	} else {
		w->set_bad = false;
		for (int i = 0; i < w->n_members; i++) {
			w->set_bad = w->set_bad || w->members[i].r.wrong > 0;
		}
		w->set_busbw = bandwidth(w);
	}
	bad = w->set_bad || w->verified_wrong > 0;
	if (bad || !verify_next(w, w->repeats)) {
		tell(w, bad, w->set_busbw);
		round_order(w, DO_LEAVE, ROUND_LEAVE_NS);
	}
}

static void bisection_over(struct collective_work *w,
			   const struct round_end *end)
{
	if (w->what == DO_LEAVE || (w->what == DO_TICKET && end->ok)) {
		next_test(w);
	} else if (!end->ok) {
		test_failed(w, end);
	} else if (w->what == DO_JOIN) {
		verify_begin(w);
		round_measure(w, SAMPLES, 1, true, w->c->spec.warmup > 0,
			      w->samples.one_us);
	} else {
		test_over(w);
	}
}

static const struct driver bisection_driver = {
	.ready = next_test,
	.over = bisection_over,
};

void bisection_start(struct collective_work *w)
{
	int least;

	w->comparing = w->bad_size < 0;
	w->driver = &bisection_driver;
	w->other = -1;
	take_parts(w, -1);
	if (w->n_parts == 1) {
		take_parts(w, w->parts[0]);
	}
	least = w->by_rank ? 2 : 1;
	if (!w->c->spec.bisect || w->c->phase >= COORD_STOP ||
	    w->n_parts <= least) {
		bisection_leave(w);
		return;
	}
	w->variant = w->comparing ? 0 : w->bad_variant;
	w->size = w->comparing ? w->n_sizes - 1 : w->bad_size;
	w->inplace = w->comparing ? 0 : w->bad_inplace;
	w->samples.one_us = w->comparing ? w->samples.one_us : w->bad_one_us;
	while (w->comparing && w->memory_B > 0 && w->size > 0 &&
	       w->sizes[w->size] > w->memory_B) {
		w->size--;
	}
	w->bisect = w->comparing ? NULL : bisect_new(w->n_parts, least);
	if (!w->comparing && w->bisect == NULL) {
		collective_note(w, "bisect: not started, %d %s are too many",
				w->n_parts, w->by_rank ? "ranks" : "nodes");
		bisection_leave(w);
		return;
	}
	if (!verify_can_narrow(w)) {
		bisection_leave(w);
		return;
	}
	run_log_event(w->c->log, NULL, -1, "bisect", "%d %s, size %lld",
		      w->n_parts, w->by_rank ? "ranks" : "nodes",
		      (long long)w->sizes[w->size]);
	round_renew(w);
}
