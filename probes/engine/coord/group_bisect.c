/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * After the sweep: which nodes, or ranks of one node, are the smallest set that
 * is bad?  Where a size failed, a set is bad when it fails too.  Where none
 * did, sets are compared.
 */
#include "probes/engine/coord/group.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/data/json.h"
#include "lib/base/str.h"

#define LEAVE_NS (5 * NS_PER_S)
#define SAMPLES	 10
#define TESTS_MAX 400

/* ---- parts and ranks ----------------------------------------------------------- */

/** The ranks that can work of part @part into @ranks; returns how many. */
static int ranks_of(const struct coord *c, int part, int *ranks)
{
	const struct group *g = c->group;
	const struct layout_node *node;
	int n = 0;

	if (g->by_rank) {
		ranks[0] = part;
		return c->ranks[part].state <= RANK_READY;
	}
	node = &c->layout.nodes[part];
	for (int r = node->first_rank; r < node->first_rank + node->gpus;
	     r++) {
		if (c->ranks[r].state <= RANK_READY) {
			ranks[n++] = r;
		}
	}
	return n;
}

/** All nodes that have a rank, or all ranks of the one node. */
static void take_parts(struct coord *c, int node)
{
	struct group *g = c->group;
	int *ranks = calloc((size_t)c->layout.n_ranks + 1, sizeof(*ranks));

	g->n_parts = 0;
	g->by_rank = node >= 0;
	for (int i = 0; ranks != NULL && node < 0 && i < c->layout.n_nodes;
	     i++) {
		if (ranks_of(c, i, ranks) > 0) {
			g->parts[g->n_parts++] = i;
		}
	}
	if (node >= 0) {
		g->by_rank = false;
		g->n_parts = ranks_of(c, node, g->parts);
		g->by_rank = true;
	}
	free(ranks);
}

static json_t *part_json(const struct coord *c, int part)
{
	const struct layout_rank *r;

	if (!c->group->by_rank) {
		return json_pack("{s:s}", "node", c->layout.nodes[part].name);
	}
	r = &c->layout.ranks[part];
	return json_pack("{s:s,s:i,s:i}", "node",
			 c->layout.nodes[r->node].name, "gpu", r->gpu, "rank",
			 part);
}

static void part_text(const struct coord *c, int part, struct str *out)
{
	const struct layout_rank *r = &c->layout.ranks[part];

	str_addf(out, "%s", out->len > 0 ? ", " : "");
	if (c->group->by_rank) {
		str_addf(out, "%s:%d", c->layout.nodes[r->node].name, r->gpu);
	} else {
		str_addf(out, "%s", c->layout.nodes[part].name);
	}
}

/* ---- the answer ------------------------------------------------------------------ */

/** @n parts are it (0: none is), for good. */
void group_bisect_found(struct coord *c, const int *parts, int n)
{
	struct group *g = c->group;
	json_t *list = json_array();
	struct str text = STR_INIT;

	for (int i = 0; i < n; i++) {
		json_array_append_new(list, part_json(c, parts[i]));
		part_text(c, parts[i], &text);
	}
	json_decref(g->found);
	g->found = json_pack("{s:s,s:i,s:I,s:o}", "kind",
			     g->comparing ? "slow" : "fail", "tests",
			     g->tests, "size_B",
			     (json_int_t)g->sizes[g->size], "parts", list);
	json_object_set_new(g->found, "says", json_text(str_text(&text)));
	str_release(&text);
}

/** What was compared, and what two nodes leave open. */
static void note_alike(struct coord *c)
{
	const struct group *g = c->group;
	char where[48] = "";

	if (c->spec.local) {
		snprintf(where, sizeof(where), " --local=%dx%d",
			 c->layout.n_nodes, c->layout.nodes[0].gpus);
	}
	if (g->by_rank || g->n_parts != 2) {
		group_note(c, "bisect: no half is slower than the other%s",
			   g->by_way ? ", and no two are slower than two "
				       "others" :
			   g->across ? ", nor any set across them" :
				       "");
	} else {
		group_note(c, "bisect: neither node is slower inside; the way "
			   "between two has no other to be compared with: "
			   "gpucheck p2p%s --transport=%s --pairs=inter", where,
			   c->ops->name);
	}
}

/** The last answer is the finest. */
void group_bisect_leave(struct coord *c)
{
	struct group *g = c->group;
	const char *says = json_string_value(
		json_object_get(g->found, "says"));

	if (g->found != NULL) {		/* and those that came to no more */
		json_object_set_new(g->found, "tests",
				    json_integer(g->tests));
	}
	if (says != NULL && says[0] != '\0') {
		coord_event(c, NULL, -1, "bisect", "the smallest set that is "
			    "%s is %s", g->comparing ? "slow" : "bad", says);
	} else if (says != NULL) {
		note_alike(c);
	}
	coord_leave(c);
}

/* ---- sets --------------------------------------------------------------------- */

void group_bisect_join(struct coord *c, const int *parts, int n)
{
	struct group *g = c->group;
	int *ranks = calloc((size_t)c->layout.n_ranks + 1, sizeof(*ranks));
	struct str text = STR_INIT;
	int n_ranks = 0;

	for (int i = 0; ranks != NULL && i < n; i++) {
		n_ranks += ranks_of(c, parts[i], ranks + n_ranks);
		part_text(c, parts[i], &text);
	}
	if (n_ranks < 1) {	/* lost since: a group of none has no size */
		group_note(c, "bisect: ended early, no rank is left to test");
		group_bisect_leave(c);
	} else {
		coord_event(c, NULL, -1, "bisect", "test %d: %s", ++g->tests,
			    str_text(&text));
		group_join(c, ranks, n_ranks);
	}
	str_release(&text);
	free(ranks);
}

/** One node of several is named: which of its ranks? */
bool group_bisect_inside(struct coord *c, const int *parts, int n)
{
	struct group *g = c->group;
	int node = n == 1 && !g->by_rank ? parts[0] : -1;

	if (node < 0 || c->layout.nodes[node].gpus < 3) {
		return false;
	}
	take_parts(c, node);
	bisect_free(g->bisect);
	g->bisect = g->comparing ? NULL : bisect_new(g->n_parts, 2);
	g->half = 0;
	g->other = -1;
	return g->n_parts > 2 && (g->comparing || g->bisect != NULL);
}

static void next_test(struct coord *c);

/** Of what failed: the next set of the machine in bisect.c. */
static void next_failing(struct coord *c)
{
	struct group *g = c->group;
	const int *set;
	int n = bisect_next(g->bisect, &set);
	bool answer = n == 0;
	int *parts;

	if (answer) {
		n = bisect_answer(g->bisect, &set);
	}
	parts = calloc((size_t)n + 1, sizeof(*parts));
	for (int i = 0; parts != NULL && i < n; i++) {
		parts[i] = g->parts[set[i]];
	}
	if (parts == NULL) {
		group_bisect_leave(c);
	} else if (!answer) {
		group_bisect_join(c, parts, n);
	} else if (g->by_rank && n == g->n_parts) {
		/* the node as a whole, as was found before */
		group_bisect_leave(c);
	} else {
		group_bisect_found(c, parts, n);
		if (group_bisect_inside(c, parts, n)) {
			next_test(c);
		} else {
			group_bisect_leave(c);
		}
	}
	free(parts);
}

static void next_test(struct coord *c)
{
	struct group *g = c->group;

	if (c->phase >= COORD_STOP || g->tests >= TESTS_MAX) {
		group_bisect_leave(c);
	} else if (g->comparing) {
		group_compare_next(c);
	} else {
		next_failing(c);
	}
}

/* ---- one test ------------------------------------------------------------------- */

static void tell(struct coord *c, bool bad, double busbw)
{
	struct group *g = c->group;

	coord_event(c, NULL, -1, "bisect", "test %d: %s, %.1f GB/s", g->tests,
		    bad ? "bad" : "good", busbw);
	if (g->comparing) {
		g->busbw[g->half++] = busbw;
	} else {
		bisect_tell(g->bisect, bad);
	}
}

static double bandwidth(const struct group *g)
{
	struct allreduce_row row;
	struct coll_samples s;
	struct coll_shape shape;

	record_init(&schema_allreduce, &row);
	STR_COPY(row.op, collective_name(g->op));
	row.ranks = g->n_members;
	coll_shape(g->op, g->dtype, g->n_members, g->sizes[g->size], &shape);
	row.size_B = shape.size_B;
	coll_samples_begin(&s, SAMPLES, 1, 1);
	for (int i = 0; i < g->n_members; i++) {
		for (int k = 0; k < g->members[i].r.n; k++) {
			coll_samples_add(&s, &g->members[i].r.us[k], 1);
		}
	}
	coll_samples_result(&s, &row);
	return row.busbw_GB_s;
}

static bool any_wrong(const struct group *g)
{
	for (int i = 0; i < g->n_members; i++) {
		if (g->members[i].r.wrong != RECORD_NONE &&
		    g->members[i].r.wrong > 0) {
			return true;
		}
	}
	return false;
}

/** Ranks that are to blame by themselves need no search; they are out now. */
static void found_culprits(struct coord *c)
{
	struct group *g = c->group;
	int *ranks = calloc((size_t)g->n_members + 1, sizeof(*ranks));
	int n = 0;

	for (int i = 0; ranks != NULL && i < g->n_members; i++) {
		if (c->ranks[g->members[i].rank].state > RANK_READY) {
			ranks[n++] = g->members[i].rank;
		}
	}
	if (n > 0) {
		g->by_rank = true;
		g->comparing = false;
		group_bisect_found(c, ranks, n);
	}
	free(ranks);
}

static void test_failed(struct coord *c, const struct group_end *end)
{
	struct group *g = c->group;

	if (end->n_culprits > 0) {
		found_culprits(c);
		group_bisect_leave(c);
	} else if (g->comparing) {	/* no speed is not a low speed */
		if (c->phase < COORD_STOP) {
			group_note(c, "bisect: ended early, a test failed: "
				   "%.250s", end->detail);
		}
		group_bisect_leave(c);
	} else {
		tell(c, true, 0);
		group_renew(c);		/* ready() goes on */
	}
}

static void bisect_over(struct coord *c, const struct group_end *end)
{
	struct group *g = c->group;
	struct coll_order *o = &g->order;

	if (g->what == COLL_LEAVE) {
		next_test(c);
	} else if (!end->ok) {
		test_failed(c, end);
	} else if (g->what == COLL_TICKET) {
		STR_COPY(o->ticket, g->members[0].r.ticket);
		o->size_B = g->sizes[g->size];
		group_order(c, COLL_JOIN, group_step_ns(c));
	} else if (g->what == COLL_JOIN) {
		o->inplace = g->inplace;
		o->check = c->spec.check;
		o->warmup = c->spec.warmup;
		o->samples = SAMPLES;
		o->batch = 1;
		o->held = o->warmup > 0;
		group_order(c, COLL_STEP,
			    group_patient_ns(c, g->samples.one_us *
						(o->warmup + SAMPLES +
						 o->check)));
	} else {
		tell(c, any_wrong(g), bandwidth(g));
		group_order(c, COLL_LEAVE, LEAVE_NS);
	}
}

static void bisect_ready(struct coord *c)
{
	next_test(c);
}

const struct group_driver group_bisect = {
	.ready = bisect_ready,
	.over = bisect_over,
};

void group_bisect_start(struct coord *c)
{
	struct group *g = c->group;
	int least;

	g->comparing = g->bad_size < 0;
	g->driver = &group_bisect;
	g->other = -1;
	take_parts(c, -1);
	if (g->n_parts == 1) {
		take_parts(c, g->parts[0]);
	}
	least = g->by_rank ? 2 : 1;
	if (!c->spec.bisect || c->phase >= COORD_STOP ||
	    g->n_parts <= least) {
		group_bisect_leave(c);
		return;
	}
	g->variant = g->comparing ? 0 : g->bad_variant;
	g->size = g->comparing ? g->n_sizes - 1 : g->bad_size;
	g->inplace = g->comparing ? 0 : g->bad_inplace;
	while (g->comparing && g->memory_B > 0 && g->size > 0 &&
	       g->sizes[g->size] > g->memory_B) {
		g->size--;
	}
	g->bisect = bisect_new(g->n_parts, least);
	coord_event(c, NULL, -1, "bisect", "%d %s, size %lld", g->n_parts,
		    g->by_rank ? "ranks" : "nodes",
		    (long long)g->sizes[g->size]);
	group_renew(c);
}
