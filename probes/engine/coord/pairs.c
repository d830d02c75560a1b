/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work that is a task between two ranks: which workers the agents start, what
 * is tried again, what the files say about it.
 */
#include "probes/engine/coord/coordinator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/data/json.h"
#include "lib/base/str.h"
#include "probes/sim/model.h"
#include "probes/plan/retry.h"

#define LAST_WORDS_NS	  (2 * NS_PER_S)

/* ---- start ------------------------------------------------------------- */

static json_t *seats_of(struct coord *c, const struct coord_agent *a,
			const char **node)
{
	json_t *seats = json_array();

	for (int r = 0; r < c->layout.n_ranks; r++) {
		if (c->ranks[r].agent != a ||
		    c->ranks[r].state > RANK_READY) {
			continue;
		}
		json_array_append_new(seats,
				      json_pack("{s:i,s:i,s:s}", "rank", r,
						"slot", c->ranks[r].slot,
						"part", c->ranks[r].part));
		*node = c->layout.nodes[c->layout.ranks[r].node].name;
	}
	return seats;
}

void coord_start_agents(struct coord *c, json_t *env)
{
	json_t *nodes = json_object_get(c->run, "nodes");
	const char *drill =
		json_string_value(json_object_get(c->run, "drill_text"));
	struct spec spec = c->spec;
	enum drill_layer layer;

	spec.pxn = coord_pass(c)->pxn;
	spec.memory = coord_pass(c)->memory;
	layer = drill_layer_of(c->ops->name, c->probe->ports,
			       spec.memory == MEMORY_GPU);
	for (struct coord_agent *a = c->agents; a != NULL; a = a->next) {
		const char *node = a->node;
		json_t *seats = seats_of(c, a, &node), *msg;

		msg = json_pack("{s:s,s:s,s:s,s:b,s:I,s:o,s:o,s:O?}", "t", "start",
				"transport", c->ops->name, "node", node,
				"pretend", coord_pretends(c), "open_ns",
				(json_int_t)c->ops->open_timeout_ns, "options",
				spec_json(&spec), "seats", seats, "env", env);
		if (c->ops->caps & XPORT_MODEL) {
			json_object_set_new(msg, "model",
					    model_json(nodes,
						       drill ? drill : "",
						       layer,
						       (uint64_t)spec.seed,
						       coord_pass(c)));
		}
		if (a->open && a->said_hello) {
			wire_send(&a->wire, msg);
		} else {
			json_decref(msg);
		}
	}
}

static int pairs_start(struct coord *c, struct err *e)
{
	if (coord_make_layout(c, e) < 0 || coord_make_plan(c, e) < 0 ||
	    coord_write_run(c, false, e) < 0) {
		return -1;
	}
	c->error_exit = 0;
	coord_event(c, NULL, -1, "start", "%s, %d nodes, %d ranks, %zu cells",
		    c->ops->name, c->layout.n_nodes, c->layout.n_ranks,
		    c->plan.cells);
	coord_start_agents(c, NULL);
	coord_settle_ranks(c);
	coord_pump(c);
	return 0;
}

/* ---- as it goes on ----------------------------------------------------- */

/*
 * Counters of ports and GPUs have grown or have not: ask once more before the
 * end.  Returns whether there is still somebody to wait for.
 */
static bool await_last_words(struct coord *c)
{
	int64_t now = clock_now_ns();
	bool waiting = false;

	if (!c->probe->ports && !(c->ops->caps & XPORT_GPU)) {
		return false;
	}
	for (struct coord_agent *a = c->agents; a != NULL; a = a->next) {
		bool there = a->open && a->said_hello && !a->lost;

		if (there && !c->asked) {
			wire_send(&a->wire,
				  json_pack("{s:s}", "t", "last_words"));
		}
		waiting = waiting || (there && a->last_words == NULL);
	}
	if (!c->asked) {
		c->ask_deadline_ns = now + LAST_WORDS_NS;
		c->asked = true;
	}
	return waiting && now < c->ask_deadline_ns;
}

void coord_idle(struct coord *c)
{
	int64_t now = clock_now_ns();

	if (c->phase == COORD_RUN) {
		int64_t share = (int64_t)((double)(now - c->run_ns) *
					  RETRY_SHARE);
		int64_t one = c->setup_ns + c->task_ns;

		/* time for at least one attempt, however short the run */
		c->retry_ns = now + (share > one ? share : one);
		c->phase = COORD_RETRY;
		if (coord_queue_retries(c) > 0) {
			coord_event(c, NULL, -1, "retry", "%zu pairs again",
				    coord_queued(c));
			coord_pump(c);
			return;
		}
	}
	if (coord_more_passes(c)) {
		if (coord_all_settled(c)) {
			coord_next_pass(c);
			coord_pump(c);
		}
		return;
	}
	if (!await_last_words(c)) {
		coord_leave(c);
	}
}

static void pairs_message(struct coord *c, struct coord_agent *a, json_t *msg)
{
	if (strcmp(wire_type(msg), "last_words") == 0) {
		json_decref(a->last_words);
		a->last_words = json_incref(json_object_get(msg, "facts"));
		coord_pump(c);
		return;
	}
	coord_task_message(c, a, msg);
}

static void pairs_agent_lost(struct coord *c, struct coord_agent *a,
			     const char *detail)
{
	for (int r = 0; r < c->layout.n_ranks; r++) {
		if (c->ranks[r].agent == a) {
			coord_rank_down(c, r, RANK_LOST, OUTCOME_SKIPPED,
					"agent_lost", detail);
		}
	}
	coord_pump(c);
}

static void pairs_tick(struct coord *c, int64_t now_ns)
{
	coord_task_tick(c, now_ns);
	if (c->phase == COORD_RETRY && now_ns > c->retry_ns) {
		coord_unjoin(c, -1);
		coord_drop_queue(c, -1, OUTCOME_NOT_RUN, "out_of_time",
				 "no time for a second attempt");
	}
	coord_pump(c);
}

static void pairs_stop(struct coord *c, const char *code)
{
	coord_unjoin(c, -1);
	coord_drop_queue(c, -1, OUTCOME_NOT_RUN, code,
			 "the run was stopped before this pair");
	coord_pump(c);
}

/* ---- files ------------------------------------------------------------- */

static void write_node_facts(struct coord *c, int node)
{
	const struct layout_node *n = &c->layout.nodes[node];
	struct coord_agent *seen = NULL;
	const char *state = "ok";
	char text[16];

	snprintf(text, sizeof(text), "%d", n->gpus);
	coord_fact(c, n->name, "node", "gpus_expected", text, "", "plan");
	if (c->gpus_found[node] < 0) {
		state = c->ranks[n->first_rank].code;
	} else {
		snprintf(text, sizeof(text), "%d", c->gpus_found[node]);
		coord_fact(c, n->name, "node", "gpus_found", text, "",
			   "inventory");
	}
	for (int i = 0; i < n->gpus; i++) {
		struct coord_rank *r = &c->ranks[n->first_rank + i];

		if (r->agent == NULL || r->agent == seen) {
			continue;
		}
		seen = r->agent;
		if (seen->lost) {
			state = "agent_lost";
		}
		coord_inventory_facts(c, n->name, seen);
		coord_facts(c, n->name, seen, seen->last_words);
	}
	coord_fact(c, n->name, "node", "state", state, "", "coordinator");
}

/* Was what the rank should use not to be had, through no fault of its own? */
static bool is_lacking(const struct coord *c, const struct coord_rank *r)
{
	const char *const *code = c->ops->lacks;

	while (code != NULL && *code != NULL && strcmp(*code, r->code) != 0) {
		code++;
	}
	return r->state == RANK_UNUSABLE && code != NULL && *code != NULL;
}

static const char *rank_state_name(const struct coord *c,
				   const struct coord_rank *r)
{
	/* Opening at the end: the others were done before it was needed. */
	static const char *const states[] = {
		[RANK_OPENING] = "opening",	[RANK_READY] = "ok",
		[RANK_MISSING] = NULL,	      [RANK_UNUSABLE] = "open_failed",
		[RANK_RETIRED] = "retired",	[RANK_LOST] = "agent_lost",
	};

	if (is_lacking(c, r)) {
		return "lacking";
	}
	return r->state == RANK_MISSING ? r->code : states[r->state];
}

static void write_rank_facts(struct coord *c, int rank)
{
	const struct coord_rank *r = &c->ranks[rank];
	const struct layout_rank *l = &c->layout.ranks[rank];
	const char *node = c->layout.nodes[l->node].name;
	char scope[24];

	if (r->state == RANK_MISSING && r->agent == NULL &&
	    c->gpus_found[l->node] < 0) {
		return;		/* the node's own state says it */
	}
	snprintf(scope, sizeof(scope), "%s%d", c->probe->part, l->gpu);
	if (r->part[0] != '\0') {
		coord_fact(c, node, scope, "port", r->part, "", "plan");
	}
	coord_facts(c, node, r->agent, r->facts);
	coord_fact(c, node, scope, "state", rank_state_name(c, r), "",
		   "coordinator");
	if (r->state != RANK_READY && r->detail[0] != '\0') {
		coord_fact(c, node, scope, "state_detail", r->detail, "",
			   "coordinator");
		coord_fact(c, node, scope, "state_code", r->code, "",
			   "coordinator");
	}
}

void coord_write_rank_facts(struct coord *c)
{
	if (c->before != NULL) {
		/* what the nodes say now */
		rundir_table_restart(&c->facts, NULL);
	}
	for (int i = 0; i < c->layout.n_nodes; i++) {
		write_node_facts(c, i);
	}
	for (int i = 0; i < c->layout.n_ranks; i++) {
		write_rank_facts(c, i);
	}
}

/* Which GPU or port each rank of @n is, for who goes on with this run; NULL
 * where they are none. */
static json_t *parts_json(struct coord *c, const struct layout_node *n)
{
	json_t *parts = json_array();
	bool known = false;

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		const char *part = coord_part_of(c, r);

		part = part[0] != '\0' ? part : coord_part_before(c, r);
		known = known || part[0] != '\0';
		json_array_append_new(parts, part[0] != '\0' ?
						     json_text(part) :
						     json_null());
	}
	if (!known) {
		json_decref(parts);
		return NULL;
	}
	return parts;
}

json_t *coord_nodes_json(struct coord *c)
{
	json_t *nodes = json_array();

	for (int i = 0; i < c->layout.n_nodes; i++) {
		const struct layout_node *n = &c->layout.nodes[i];
		json_t *node = json_pack("{s:s,s:i,s:i,s:i,s:o*}", "name",
					 n->name, "first_rank", n->first_rank,
					 "gpus", n->gpus, "nics", n->nics,
					 "parts", parts_json(c, n));

		if (c->gpus_found[i] < 0 && coord_was_missing(c, i)) {
			json_object_set_new(node, "missing", json_true());
		}
		json_array_append_new(nodes, node);
	}
	return nodes;
}

static json_t *planned_json(struct coord *c)
{
	static const char *const kinds[] = {
		[PAIRS_ALL] = "all",   [PAIRS_INTER] = "inter",
		[PAIRS_INTRA] = "intra", [PAIRS_RAIL] = "rail",
		[PAIRS_LIST] = "list",
	};
	bool listed = c->pairs.kind == PAIRS_LIST || c->spec.sample > 0;
	json_t *p = json_pack("{s:s,s:I,s:i}", "kind",
			      listed ? "list" : kinds[c->pairs.kind], "cells",
			      (json_int_t)c->plan.cells, "passes",
			      c->n_passes);
	json_t *list;

	if (!listed) {
		return p;
	}
	list = json_array();
	for (size_t i = 0; i < c->plan.n; i++) {
		json_array_append_new(list,
				      json_pack("[i,i]", c->plan.tasks[i].a,
						c->plan.tasks[i].b));
	}
	json_object_set_new(p, "pairs", list);
	return p;
}

/* Do local ranks disturb each other, so that "slow" proves little? */
static bool shared_cores(const struct coord *c)
{
	bool by_cpu = c->ops->caps & XPORT_SHARED_CORES;

	for (int r = 0; !by_cpu && r < c->layout.n_ranks; r++) {
		by_cpu = c->ranks[r].software;
	}
	return by_cpu ?
		       c->layout.n_nodes < c->layout.n_ranks ||
			       coord_pretends(c) :
		       coord_pretends(c) && c->ops->caps & XPORT_GPU;
}

/* The first one that says it says it for all. */
json_t *coord_settings(const struct coord *c)
{
	json_t *settings = json_object(), *f;
	size_t i;

	for (int r = 0; r < c->layout.n_ranks; r++) {
		json_array_foreach(c->ranks[r].facts, i, f) {
			if (coord_fact_of_run(f)) {
				json_object_set(settings,
						json_string_value(
							json_object_get(
								f, "fact")),
						json_object_get(f, "value"));
			}
		}
		if (json_object_size(settings) > 0) {
			break;
		}
	}
	return settings;
}

/* Cells are of the schedule above; the ratio is that of this pass to it. */
static void put_contrast(struct coord *c)
{
	if (c->n_passes > 1) {
		json_object_set_new(
			c->run, "contrast",
			json_pack("{s:s,s:s}", "kind",
				  spec_contrast_name(c->spec.contrast), "pass",
				  c->passes[1].name));
	}
}

static void pairs_put_plan(struct coord *c)
{
	json_t *sizes;

	if (c->ops == NULL || c->layout.n_ranks == 0) {
		return;		/* stopped before there was one */
	}
	sizes = json_array();
	for (int i = 0; i < c->n_sizes; i++) {
		json_array_append_new(sizes, json_integer(c->sizes[i]));
	}
	json_object_set_new(c->run, "transport", json_string(c->ops->name));
	json_object_set_new(c->run, "schedule",
			    json_string(c->passes[0].name));
	put_contrast(c);
	json_object_set_new(c->run, "sizes", sizes);
	if (c->n_sizes > 0) {
		json_object_set_new(c->run, "size_B",
				    json_integer(c->sizes[c->n_sizes - 1]));
	}
	json_object_set_new(c->run, "nodes", coord_nodes_json(c));
	json_object_set_new(c->run, "planned", planned_json(c));
	json_object_set_new(c->run, "shared_cores",
			    json_boolean(shared_cores(c)));
	json_object_set_new(c->run, "settings",
			    c->settings != NULL ? json_incref(c->settings) :
						  coord_settings(c));
}

/* ---- the end ----------------------------------------------------------- */

void coord_release_ranks(struct coord *c)
{
	for (int r = 0; c->ranks != NULL && r < c->layout.n_ranks; r++) {
		free(c->ranks[r].ticket);
		json_decref(c->ranks[r].facts);
	}
	drill_release(&c->drill);
	layout_release(&c->layout);
	free(c->ranks);
	free(c->gpus_found);
}

static void pairs_end(struct coord *c)
{
	json_decref(c->settings);
	dispatch_free(c->dispatch);
	dispatch_free(c->waiting);
	plan_release(&c->plan);
	pairs_release(&c->pairs);
	free(c->cells);
	coord_release_ranks(c);
}

const struct coord_work coord_work_pairs = {
	.start = pairs_start,
	.message = pairs_message,
	.agent_lost = pairs_agent_lost,
	.tick = pairs_tick,
	.stop = pairs_stop,
	.cancel = coord_cancel_all,
	.write_facts = coord_write_rank_facts,
	.put_plan = pairs_put_plan,
	.release = pairs_end,
};
