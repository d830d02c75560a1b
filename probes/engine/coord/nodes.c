/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work that is one task a node: every agent runs a child, and what the child
 * says becomes rows, by the schema of the probe.
 */
#include "probes/engine/coord/coordinator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/data/json.h"
#include "lib/base/str.h"
#include "probes/engine/agent/node_task.h"

/* An agent kills its child in time; it is given this long to say so. */
#define NODES_GRACE_NS (3 * NS_PER_S)

/* ---- rows -------------------------------------------------------------- */

static void write_row(struct coord *c, const json_t *json)
{
	void *row = malloc(c->probe->schema->row_size);
	struct err e = { 0 };
	int rc;

	if (row == NULL) {
		rc = err_set(&e, ENOMEM, "no memory for a row");
	} else if (record_from_json(c->probe->schema, json, row, &e) < 0) {
		coord_event(c, NULL, -1, "bad_row", "%s", e.text);
		rc = 0;
	} else {
		rc = rundir_table_add(&c->results, row, &e);
	}
	free(row);
	if (rc < 0 && c->error.text[0] == '\0') {
		c->error = e;
		c->error_exit = 3;
		coord_stop(c, "write_error");
	}
}

/* The one row of a node that has nothing, or nothing more, to say. */
static void write_end(struct coord *c, const struct coord_node *n,
		      const char *outcome, const char *code,
		      const char *detail)
{
	char utc[CLOCK_UTC_SIZE];
	json_t *row = json_pack("{s:s,s:s,s:s,s:o,s:s}",
				c->probe->node_column, n->name, "outcome",
				outcome, "code", code, "detail",
				json_text(detail), "start_utc",
				clock_utc(utc));

	write_row(c, row);
	json_decref(row);
}

/* ---- nodes ------------------------------------------------------------- */

static void leave_when_settled(struct coord *c)
{
	for (int i = 0; i < c->n_nodes; i++) {
		if (!c->nodes[i].settled) {
			return;
		}
	}
	coord_leave(c);
}

void coord_settle_node(struct coord *c, struct coord_node *n,
		       const char *outcome, const char *code,
		       const char *detail)
{
	if (!n->settled) {
		n->settled = true;
		if (strncmp(code, "worker_", 7) == 0) {
			STR_COPY(n->ill, code);
		}
		write_end(c, n, outcome, code, detail);
	}
}

static void settle_rest(struct coord *c, const char *outcome,
			const char *code, const char *detail)
{
	for (int i = 0; i < c->n_nodes; i++) {
		coord_settle_node(c, &c->nodes[i], outcome, code, detail);
	}
	leave_when_settled(c);
}

/* One node less, or one that has got further. */
static void look_around(struct coord *c)
{
	if (c->probe->meets) {
		coord_meet(c, false);
	}
	leave_when_settled(c);
}

static int make_nodes(struct coord *c, struct err *e)
{
	struct coord_draft *d = calloc((size_t)c->size + 1, sizeof(*d));

	c->nodes = calloc((size_t)c->size + 1, sizeof(*c->nodes));
	if (d == NULL || c->nodes == NULL) {
		free(d);
		return err_set(e, ENOMEM, "no memory for %d nodes", c->size);
	}
	c->n_nodes = coord_draft_nodes(c, d);
	for (int i = 0; i < c->n_nodes; i++) {
		STR_COPY(c->nodes[i].name, d[i].name);
		c->nodes[i].agent = d[i].whole;
		c->nodes[i].nowhere = !d[i].present && d[i].n_single > 0;
		for (int k = 0; k < d[i].n_single; k++) {
			if (c->nodes[i].agent == NULL) {
				c->nodes[i].agent = d[i].single[k];
			}
		}
	}
	free(d);
	return 0;
}

static const char *missing_code(const struct coord_node *n)
{
	return n->nowhere ? "rank_missing" : "agent_missing";
}

static void send_task(struct coord *c, const struct coord_node *n)
{
	json_t *args = json_pack("{s:s,s:O}", "node", n->name, "options",
				 json_object_get(c->run, "options"));

	wire_send(&n->agent->wire,
		  json_pack("{s:s,s:s,s:o}", "t", "node_task", "probe",
			    c->probe->name, "args", args));
}

/* What only the front could see. */
static void write_shell_rows(struct coord *c)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(c->run, "shell"), i, row) {
		write_row(c, row);
	}
}

static int nodes_start(struct coord *c, struct err *e)
{
	if (make_nodes(c, e) < 0 || coord_write_run(c, false, e) < 0) {
		return -1;
	}
	c->error_exit = 0;
	c->nodes_deadline_ns = clock_now_ns() + NODES_GRACE_NS +
			       (c->probe->meets ? COORD_MEET_NS :
						  c->probe->timeout_ns);
	coord_event(c, NULL, -1, "start", "%s, %d nodes", c->probe->name,
		    c->n_nodes);
	write_shell_rows(c);
	for (int i = 0; i < c->n_nodes; i++) {
		struct coord_node *n = &c->nodes[i];

		if (n->agent == NULL) {
			coord_settle_node(c, n, "skipped", missing_code(n),
					  n->nowhere ?
						  "it never reported, and its "
						  "node is not known" :
						  "no agent of this node "
						  "reported in time");
		} else if (n->agent->open) {
			send_task(c, n);
		}
	}
	look_around(c);	/* all may be missing */
	return 0;
}

static struct coord_node *node_of(struct coord *c,
				  const struct coord_agent *a)
{
	for (int i = 0; i < c->n_nodes; i++) {
		if (c->nodes[i].agent == a) {
			return &c->nodes[i];
		}
	}
	return NULL;
}

static void write_facts_of(struct coord *c, const struct coord_node *n,
			   const json_t *facts)
{
	struct fact_row row;
	json_t *f;
	size_t i;

	json_array_foreach(facts, i, f) {
		if (record_from_json(&schema_facts, f, &row, NULL) == 0) {
			coord_fact(c, n->name, row.scope, row.fact, row.value,
				   row.unit, row.source);
		}
	}
}

/* Rows and facts of @n, and how far it is. */
static void take_said(struct coord *c, struct coord_node *n, json_t *msg)
{
	json_t *ready = json_object_get(msg, "ready"), *row;
	size_t i;

	json_array_foreach(json_object_get(msg, "rows"), i, row) {
		write_row(c, row);
	}
	write_facts_of(c, n, json_object_get(msg, "facts"));
	if (json_is_object(ready) && n->ready == NULL) {
		n->ready = json_incref(ready);
	}
	n->finished |= json_is_true(json_object_get(msg, "finished"));
}

/* "node_done": how the child ended. */
static void take_done(struct coord *c, struct coord_node *n, json_t *msg)
{
	char outcome[16] = "ok", code[48] = "", detail[300] = "";

	json_opt_text(msg, "outcome", outcome, sizeof(outcome), NULL);
	json_opt_text(msg, "code", code, sizeof(code), NULL);
	json_opt_text(msg, "detail", detail, sizeof(detail), NULL);
	if (strcmp(outcome, "ok") != 0) {
		coord_event(c, n->name, -1, code, "%s", detail);
		coord_settle_node(c, n, outcome, code, detail);
	}
	n->settled = true;
	c->tasks_done++;
}

static void nodes_message(struct coord *c, struct coord_agent *a, json_t *msg)
{
	struct coord_node *n = node_of(c, a);
	bool done = strcmp(wire_type(msg), "node_done") == 0;

	if (n == NULL || n->settled ||
	    (!done && strcmp(wire_type(msg), "node_said") != 0)) {
		return;
	}
	take_said(c, n, msg);
	if (done) {
		take_done(c, n, msg);
	}
	look_around(c);
}

static void nodes_agent_lost(struct coord *c, struct coord_agent *a,
			     const char *detail)
{
	struct coord_node *n = node_of(c, a);

	if (n != NULL && !n->settled) {
		n->lost = true;
		coord_settle_node(c, n, "skipped", "agent_lost", detail);
		look_around(c);
	}
}

static void nodes_tick(struct coord *c, int64_t now_ns)
{
	coord_meet_tick(c);
	if (now_ns <= c->nodes_deadline_ns) {
		return;
	}
	if (c->probe->meets && c->met == NULL) {
		coord_meet(c, true);
		leave_when_settled(c);
	} else if (c->probe->meets && !c->leaving) {
		/* one hangs: the others have waited long enough for it */
		coord_meet_end(c);
	} else {
		settle_rest(c, "timeout", "worker_hung",
			    "the agent did not report in time");
	}
}

/* Every task has begun: they may finish; those that meet, at once. */
static void nodes_stop(struct coord *c, const char *code)
{
	(void)code;
	coord_meet_end(c);
}

static void nodes_cancel(struct coord *c)
{
	settle_rest(c, "not_run", "interrupted",
		    "the run was stopped before this node had reported");
}

/* ---- files ------------------------------------------------------------- */

static void nodes_write_facts(struct coord *c)
{
	for (int i = 0; i < c->n_nodes; i++) {
		const struct coord_node *n = &c->nodes[i];
		const char *state = n->agent == NULL ? missing_code(n) :
				    n->lost	     ? "agent_lost" :
				    n->ill[0] != '\0'  ? n->ill :
						       "ok";

		if (n->agent != NULL) {
			coord_inventory_facts(c, n->name, n->agent);
		}
		coord_fact(c, n->name, "node", "state", state, "",
			   "coordinator");
	}
}

static void nodes_put_plan(struct coord *c)
{
	json_t *nodes;

	if (c->nodes == NULL) {
		return;		/* stopped before there was one */
	}
	if (c->probe->meets) {
		json_object_update(c->run, json_object_get(c->met, "run"));
		return;
	}
	nodes = json_array();
	for (int i = 0; i < c->n_nodes; i++) {
		json_array_append_new(nodes, json_pack("{s:s}", "name",
						       c->nodes[i].name));
	}
	json_object_set_new(c->run, "nodes", nodes);
	json_object_set_new(c->run, "planned",
			    json_pack("{s:s,s:i}", "kind", "nodes", "nodes",
				      c->n_nodes));
}

static void nodes_release(struct coord *c)
{
	for (int i = 0; i < c->n_nodes; i++) {
		json_decref(c->nodes[i].ready);
	}
	json_decref(c->met);
	free(c->nodes);
}

const struct coord_work coord_work_nodes = {
	.start = nodes_start,
	.message = nodes_message,
	.agent_lost = nodes_agent_lost,
	.tick = nodes_tick,
	.stop = nodes_stop,
	.cancel = nodes_cancel,
	.write_facts = nodes_write_facts,
	.put_plan = nodes_put_plan,
	.release = nodes_release,
};
