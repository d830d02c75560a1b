/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/ask_steps.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "lib/data/json.h"

/** What fails more often is taken to be broken. */
#define RARE 0.9

static int node_of(const struct layout *l, const json_t *name)
{
	const char *text = json_string_value(name);

	for (int i = 0; text != NULL && i < l->n_nodes; i++) {
		if (strcmp(l->nodes[i].name, text) == 0) {
			return i;
		}
	}
	return -1;
}

static int index_of(const json_t *n)
{
	return json_is_integer(n) && json_integer_value(n) >= 0 &&
			       json_integer_value(n) < INT_MAX ?
		       (int)json_integer_value(n) : -1;
}

/** The leaf switch of the nodes @members, which has the number of the first
 *  one; -1: nobody said any. */
static int read_leaf(struct ask_plan *a, const json_t *members)
{
	const json_t *name;
	int leaf = -1;
	size_t i;

	json_array_foreach(members, i, name) {
		int node = node_of(a->l, name);

		leaf = leaf < 0 ? node : leaf;
		if (node >= 0) {
			a->leaf_of[node] = leaf;
		}
	}
	return leaf;
}

static struct ask_part read_part(struct ask_plan *a, const json_t *json)
{
	const char *direction = json_member(json, "direction");
	struct ask_part p = {
		.kind = ask_kind_of(json_member(json, "kind")),
		.node = node_of(a->l, json_object_get(json, "node")),
		.index = index_of(json_object_get(json, "index")),
		.peer_node = node_of(a->l, json_object_get(json, "peer_node")),
		.peer_index = index_of(json_object_get(json, "peer_index")),
		.leaf = -1, .peer_leaf = -1,
		.uplinks = json_is_true(json_object_get(json, "uplinks")),
		.dirs = strcmp(direction, "tx") == 0 ? TASK_AB :
			strcmp(direction, "rx") == 0 ? TASK_BA :
						       TASK_AB | TASK_BA,
	};

	if (ask_is_shared(&p)) {
		p.leaf = read_leaf(a, json_object_get(json, "members"));
		p.peer_leaf = read_leaf(a, json_object_get(json,
							   "peer_members"));
	}
	if (!ask_is_placed(&p)) {
		p.kind = ASK_UNKNOWN;	/* whose node, if any, is none to use */
	}
	return p;
}

/** The rate of a part that was chosen because @failed of its @tests did, which
 *  is more than it fails at most times: less one deviation of that number, but
 *  half of it is left. */
static double rate_of(int failed, int tests)
{
	double k = failed, usual = fmax(k - sqrt(k), k / 2) / tests;

	return fmin(usual, ASK_MOST_RATE);
}

static void read_suspect(struct ask_plan *a, const json_t *json,
			 struct ask_suspect *s)
{
	const char *code = json_member(json, "code");
	bool warn = strcmp(json_member(json, "severity"), "warn") == 0;
	int explained = index_of(json_object_get(json, "explained"));
	int cells = index_of(json_object_get(json, "cells"));
	double share = cells > 0 ? (double)explained / cells : 1;
	bool rare = share > 0 && share < RARE;
	const json_t *other;
	size_t i;

	*s = (struct ask_suspect){
		.parts = { read_part(a, json) }, .n = 1,
		.compare = strcmp(code, "slow") == 0 ||
			   strcmp(code, "latency") == 0,
	};
	s->some = s->compare && !warn && explained > 0 && explained < cells;
	s->confirm = s->compare && (warn || s->some ||
				    ask_scope_of(&s->parts[0])->many);
	s->rate = rare && !s->compare ? rate_of(explained, cells) : 0;
	s->retry = !s->compare && strcmp(code, "flaky") != 0 &&
		   (rare || s->parts[0].kind == ASK_PAIR);
	json_array_foreach(json_object_get(json, "or"), i, other) {
		if (s->n < ASK_PARTS) {
			s->parts[s->n++] = read_part(a, other);
		}
	}
	s->n_open = s->n;
	/* of the few tests of a sample other parts may have failed some */
	s->confirm |= s->rate > 0 && a->g->first != NULL;
	if (s->rate > 0) {
		ask_add_kin(a, s);
	}
}

int ask_take(struct ask_plan *a, const json_t *verdict, struct err *e)
{
	const json_t *findings = json_object_get(verdict, "findings"), *f;
	size_t i;

	a->n = a->n_guesses = 0;
	for (int node = 0; node < a->l->n_nodes; node++) {
		a->leaf_of[node] = -1;
	}
	if (!json_is_array(findings)) {
		return err_set(e, EINVAL, "no verdict");
	}
	if (json_array_size(findings) > ASK_SUSPECTS) {
		return err_set(e, E2BIG, "%zu findings, of which at most %d can "
			       "be settled", json_array_size(findings),
			       ASK_SUSPECTS);
	}
	json_array_foreach(findings, i, f) {
		read_suspect(a, f, &a->list[a->n++]);
	}
	ask_guess(a);
	return 0;
}
