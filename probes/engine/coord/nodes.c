/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work that is one task a node: every agent runs a child, and what the child
 * says becomes rows, by the schema of the probe.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "lib/base/str.h"
#include "lib/data/cbor.h"
#include "lib/data/json.h"
#include "probes/engine/coord/work.h"
#include "probes/engine/net/message.h"
#include "probes/node/child.h"

/* ---- meet ---------------------------------------------------------------- */

/*
 * Tasks of nodes that need each other: all get ready, all are told about all,
 * and none is let go before the last has finished.
 */

/* Nodes wait for each other no longer than this. */
#define MEET_NS (10 * NS_PER_S)
/* Beyond what the plan allows: machines are busy, lines are slow. */
#define MEET_GRACE_NS (10 * NS_PER_S)
/* Those that are let go say the last of it and end. */
#define LEAVE_GRACE_NS (5 * NS_PER_S)
/* Everybody is told about everybody: of a thousand nodes, gigabytes, of which
 * this much waits to be sent. */
#define TELL_BYTES (32u * 1024 * 1024)

static void nodes_settle(struct nodes_work *w, struct node *n,
			 const char *outcome, const char *code,
			 const char *detail);

static const struct field plan_fields[] = {
	FIELD(nodes_work, plan.tell, "tell", ARRAY, 0, 0, ""),
	FIELD(nodes_work, plan.run, "run", OBJECT, 0, 0, ""),
	FIELD(nodes_work, plan.budget_ns, "budget_ns", INT, 0, INT64_MAX, ""),
	{ 0 }
};

static bool takes_part(const struct node *n)
{
	return !n->settled && n->ready != NULL;
}

static size_t queued_bytes(const struct node *n)
{
	return n->settled || n->agent == NULL
		       ? 0
		       : n->agent->wire.out.len + n->agent->wire.unsent;
}

/* Tells as many nodes as memory allows what they must know; each moves the end
 * of the run. */
static void tell_some(struct nodes_work *w)
{
	const json_t *tell = w->plan.tell;
	size_t queued = 0;

	for (int i = 0; i < w->n_nodes; i++) {
		queued += queued_bytes(&w->nodes[i]);
	}
	for (; w->next_told < w->n_nodes && queued < TELL_BYTES;
	     w->next_told++) {
		struct node *n = &w->nodes[w->next_told];
		json_t *line = json_array_get(tell, (size_t)w->next_told);

		if (takes_part(n) && json_is_object(line)) {
			n->told = true;
			agents_send(n->agent,
				    message_new(MSG_NODE_TELL, "{s:O}",
						"line", line));
			queued += queued_bytes(n);
			w->deadline_ns =
				clock_now_ns() + MEET_GRACE_NS +
				w->plan.budget_ns;
		}
	}
	if (w->next_told == w->n_nodes) {
		/* by far the largest part, and of no more use */
		json_object_del(w->met, "tell");
		w->plan.tell = NULL;
	}
}

static json_t *node_json(const struct node *n)
{
	return run_entry_json(&(struct run_entry){ RUN_ENTRY_NONE,
						   .name = n->name });
}

/* Makes the plan from what the nodes say of themselves, see struct probe, and
 * tells it to them. */
static void begin(struct nodes_work *w)
{
	json_t *nodes = json_array();
	struct err e = { 0 };

	for (int i = 0; i < w->n_nodes; i++) {
		const struct node *n = &w->nodes[i];
		json_t *node = node_json(n);

		if (n->agent != NULL) {
			json_object_set_new(node, "pretend",
					    json_boolean(n->agent->pretend));
			json_object_set(node, "inventory",
					n->agent->inventory);
		}
		if (takes_part(n)) {
			json_object_set(node, "ready", n->ready);
		}
		json_array_append_new(nodes, node);
	}
	w->met = w->c->probe->plan(nodes, &w->c->spec, &e);
	json_decref(nodes);
	if (w->met == NULL) {
		if (w->limit[0] != '\0') {
			e.code = 0;	/* it is there, we cannot get at it */
			err_hint(&e, "%s", w->limit);
		}
		coord_fail(w->c, &e, 3);
		return;
	}
	schema_look(plan_fields, w, w->met);
	w->plan.nodes = run_file(w->plan.run).nodes;
	tell_some(w);
	if (coord_write_run(w->c, false, &e) < 0) {
		coord_fail(w->c, &e, 3);
	}
}

/* Lets the children go now, if they have to finish together. */
static void meet_end(void *work)
{
	struct nodes_work *w = work;
	int64_t soon_ns = clock_now_ns() + LEAVE_GRACE_NS;

	if (w->leaving) {
		return;
	}
	w->leaving = true;
	if (w->deadline_ns < soon_ns) {
		w->deadline_ns = soon_ns;
	}
	for (int i = 0; i < w->n_nodes; i++) {
		if (!w->nodes[i].settled && w->nodes[i].agent != NULL) {
			agents_send(w->nodes[i].agent,
				    message_new(MSG_NODE_LEAVE, NULL));
		}
	}
}

/* When all have said that they are ready (@late: or will not any more), tells
 * each what it must know of the others; when all have finished, lets them go.
 * To be called whenever one of them has said something or is gone, and when one
 * has been told. */
static void meet(struct nodes_work *w, bool late)
{
	bool all_ready = true, all_finished = true;

	for (int i = 0; i < w->n_nodes; i++) {
		struct node *n = &w->nodes[i];

		if (late && !n->settled && n->ready == NULL) {
			nodes_settle(w, n, "timeout", "worker_hung",
				     "the child process was not ready in time");
		}
		all_ready &= n->settled || n->ready != NULL;
		all_finished &= n->settled || n->finished || !n->told;
	}
	if (w->met == NULL && all_ready) {
		begin(w);
	} else if (w->met != NULL && w->plan.tell == NULL && all_finished) {
		meet_end(w);
	}
}

/* ---- nodes --------------------------------------------------------------- */

/* An agent kills its child in time; it is given this long to say so. */
#define NODES_GRACE_NS (3 * NS_PER_S)
#define STOPPED "the run was stopped before this node had reported"

/* ---- rows -------------------------------------------------------------- */

static void write_row(struct nodes_work *w, const json_t *json)
{
	void *row = malloc(w->c->probe->schema->row_size);
	struct err e = { 0 };

	if (row == NULL) {
		err_set(&e, ENOMEM, "no memory for a row");
		coord_break(w->c, &e, "write_error");
	} else if (record_from_json(w->c->probe->schema, json, row, &e) < 0) {
		run_log_event(w->c->log, NULL, -1, "bad_row", "%s", e.text);
	} else {
		coord_write_row(w->c, row);
	}
	free(row);
}

/* Returns true if the agent of @n may report @row: its own node and the address
 * that the plan gives it, or, for probes with hearsay, a node that is not in
 * the run. */
static bool is_its_row(const struct nodes_work *w, const struct node *n,
		       const json_t *row)
{
	const struct probe *p = w->c->probe;
	const char *name = json_member(row, p->node_column);
	const json_t *node, *end;
	bool known = false, at = p->address_column == NULL;
	size_t i;

	if (strcmp(name, n->name) != 0) {
		for (int k = 0; k < w->n_nodes; k++) {
			known |= strcmp(w->nodes[k].name, name) == 0;
		}
		return p->hearsay && !known;
	}
	node = json_array_get(w->plan.nodes, (size_t)(n - w->nodes));
	json_array_foreach(run_entry_of(node).ends, i, end)
	{
		if (at || strcmp(json_member(end, "ip"),
				 json_member(row, p->address_column)) == 0) {
			return true;
		}
	}
	return at;
}

/* Nothing more will come from @n: its last row says why. */
static void nodes_settle(struct nodes_work *w, struct node *n,
			 const char *outcome, const char *code,
			 const char *detail)
{
	char utc[CLOCK_UTC_SIZE];
	json_t *row;

	if (n->settled) {
		return;
	}
	n->settled = w->moved = true;
	if (strncmp(code, "worker_", 7) == 0) {
		STR_COPY(n->ill, code);
	}
	row = json_pack("{s:s,s:s,s:s,s:o,s:s}", w->c->probe->node_column,
			n->name, "outcome", outcome, "code", code, "detail",
			json_text(detail), "start_utc", clock_utc(utc));
	write_row(w, row);
	json_decref(row);
}

static void settle_rest(struct nodes_work *w, const char *outcome,
			const char *code, const char *detail)
{
	for (int i = 0; i < w->n_nodes; i++) {
		nodes_settle(w, &w->nodes[i], outcome, code, detail);
	}
}

/* Goes on after a node is done, or has got further. */
static void nodes_go_on(void *work)
{
	struct nodes_work *w = work;
	int i = 0;

	if (!w->moved) {
		return;		/* a row, of millions */
	}
	w->moved = false;
	if (w->c->probe->meets) {
		meet(w, false);
	}
	while (i < w->n_nodes && w->nodes[i].settled) {
		i++;
	}
	if (i == w->n_nodes) {
		coord_leave(w->c);
	}
}

static int make_nodes(struct nodes_work *w, struct err *e)
{
	int size = agents_expected(w->c->agents);
	struct node_draft *d = calloc((size_t)size + 1, sizeof(*d));

	w->nodes = calloc((size_t)size + 1, sizeof(*w->nodes));
	if (d == NULL || w->nodes == NULL) {
		free(d);
		return err_set(e, ENOMEM, "no memory for %d nodes", size);
	}
	w->n_nodes = draft_nodes(w->c->agents, w->c->spec.local, d, e);
	for (int i = 0; i < w->n_nodes; i++) {
		STR_COPY(w->nodes[i].name, d[i].name);
		w->nodes[i].agent = d[i].whole;
		w->nodes[i].boot_rank = d[i].boot_rank;
		w->nodes[i].nowhere = d[i].host[0] == '\0';
		for (int k = 0; k < d[i].n_single; k++) {
			if (w->nodes[i].agent == NULL) {
				w->nodes[i].agent = d[i].single[k];
			}
		}
		if (w->nodes[i].agent != NULL) {
			w->nodes[i].agent->node_number = i;
		}
	}
	free(d);
	return w->n_nodes < 0 ? -1 : 0;
}

static const char *missing_code(const struct nodes_work *w,
				const struct node *n)
{
	const char *told = agents_absent(w->c->agents, n->name).code;

	return limit_is(told) ? told :
	       n->late	      ? RECORD_STARVED :
	       coord_missing(w->c, n->nowhere ? "rank_missing" :
						"agent_missing");
}

/* Writes the row of a node without an agent, with the reason if it is known. */
static void settle_missing(struct nodes_work *w, struct node *n)
{
	const struct run_entry why = agents_absent(w->c->agents, n->name);
	const char *code = why.code, *detail = why.detail;
	bool excused = w->c->hurried || w->c->starved;

	if (n->nowhere) {
		detail = "it did not report, and its node is unknown";
	} else if (detail[0] == '\0') {
		detail = "no agent of this node reported in time";
	}
	nodes_settle(w, n, limit_is(code) || (code[0] == '\0' && excused)
			   ? "not_run" : "skipped",
		     code[0] != '\0' ? code : missing_code(w, n), detail);
}

static int nodes_start(struct coord *c, struct err *e)
{
	struct nodes_work *w = c->work;
	struct run_file run;
	json_t *row;
	size_t at;

	w->c = c;
	if (make_nodes(w, e) < 0 || coord_write_run(c, false, e) < 0) {
		return 3;
	}
	w->deadline_ns =
		clock_now_ns() + NODES_GRACE_NS +
		(w->c->probe->meets ? MEET_NS :
			probe_limit_ns(w->c->probe, &w->c->spec));
	run_log_event(w->c->log, NULL, -1, "start", "%s, %d nodes",
		      w->c->probe->name, w->n_nodes);
	run = run_file(c->log->run);
	json_array_foreach(run.shell, at, row)
	{
		write_row(w, row);	/* the front end made it */
	}
	for (int i = 0; i < w->n_nodes; i++) {
		struct node *n = &w->nodes[i];
		struct node_args args = { .number = i, .options = run.options,
					  .drill = run.drill_text };

		STR_COPY(args.node, n->name);
		if (n->agent == NULL) {
			settle_missing(w, n);
		} else if (wire_is_open(&n->agent->wire)) {
			agents_send(n->agent,
				    message_new(MSG_NODE_TASK, "{s:s,s:o}",
						"probe", c->probe->name, "args",
						schema_json(node_args_fields,
							    &args)));
		}
	}
	return 0;
}

static struct node *node_of(struct nodes_work *w, const struct coord_agent *a)
{
	struct node *n = a->node_number < w->n_nodes ?
				 &w->nodes[a->node_number] : NULL;

	return n != NULL && n->agent == a ? n : NULL;
}

/* An entry of "node_said": a row, a fact, or how far its child is. */
static void nodes_entry(void *work, struct coord_agent *a,
			enum message_type type, const void *bytes, size_t n)
{
	struct nodes_work *w = work;
	struct node *k = node_of(w, a);
	struct fact_row fact;
	struct message_in in;
	char what[120];
	json_t *said;

	if (k == NULL || k->settled || type != MSG_NODE_SAID) {
		return;
	}
	in = message_said(bytes, n, &said);
	if (in.row != NULL && is_its_row(w, k, in.row)) {
		write_row(w, in.row);
	} else if (in.row != NULL) {
		snprintf(what, sizeof(what), "a row of node '%.63s'",
			 json_member(in.row, w->c->probe->node_column));
		agents_foreign(k->agent, what);
	} else if (in.fact != NULL) {
		if (record_from_json(&schema_facts, in.fact, &fact, NULL) ==
		    0) {
			run_log_fact(w->c->log, k->name, fact.scope, fact.fact,
				     fact.value, fact.unit, fact.source);
		}
	} else if (in.ready != NULL && k->ready == NULL) {
		k->ready = json_incref(in.ready);
		w->moved = true;
	} else if (in.finished) {
		k->finished = w->moved = true;
	}
	json_decref(said);
}

/* "node_done": how the child ended. */
static void nodes_message(void *work, struct coord_agent *a, json_t *msg)
{
	struct nodes_work *w = work;
	struct node *n = node_of(w, a);
	struct message_in in;

	if (n == NULL || n->settled || message_type(msg) != MSG_NODE_DONE) {
		return;
	}
	in = message_read(msg);
	if (strcmp(in.outcome, "crashed") == 0 && w->c->phase == COORD_STOP) {
		/* the signal that ends a run reaches the child, too */
		nodes_settle(w, n, "not_run", w->c->stop_code, STOPPED);
	} else if (strcmp(in.outcome, "ok") != 0) {
		if (limit_is(in.code) && w->limit[0] == '\0') {
			snprintf(w->limit, sizeof(w->limit), "%s: %.250s",
				 n->name, in.detail);
		}
		run_log_event(w->c->log, n->name, -1, in.code, "%s", in.detail);
		nodes_settle(w, n, in.outcome, in.code, in.detail);
	} else if (n->agent->foreign) {
		nodes_settle(w, n, "error", "worker_noise",
			     "its agent reported rows of other nodes");
	}
	n->settled = w->moved = true;
	w->c->tasks_done++;
}

static void nodes_agent_lost(void *work, struct coord_agent *a,
			     const char *detail)
{
	struct nodes_work *w = work;
	struct node *n = node_of(w, a);
	const char *code = agents_lost_code(a);

	if (n != NULL && !n->settled) {
		n->lost = true;
		nodes_settle(w, n, limit_is(code) ? "not_run" : "skipped", code,
			     detail);
	}
}

static void nodes_tick(void *work, int64_t now_ns)
{
	struct nodes_work *w = work;
	bool late;

	w->moved = true;
	if (w->plan.tell != NULL && !w->leaving) {
		tell_some(w);	/* ten times a second */
	}
	late = now_ns > w->deadline_ns;
	for (int i = 0; late && i < w->n_nodes; i++) {
		/* what a node says may be on its way */
		late = w->nodes[i].settled ||
		       !agents_silent(w->nodes[i].agent, now_ns);
	}
	if (!late) {
		return;
	}
	if (w->c->probe->meets && w->met == NULL) {
		meet(w, true);
	} else if (w->c->probe->meets && !w->leaving) {
		/* one hangs: the others have waited long enough for it */
		meet_end(w);
	} else {
		settle_rest(w, "timeout", "worker_hung",
			    "the agent did not report in time");
	}
}

static void nodes_cancel(void *work)
{
	struct nodes_work *w = work;

	settle_rest(w, "not_run", w->c->stop_code, STOPPED);
}

static void nodes_agent_late(void *work, int boot_rank, const char *name,
			     const char *detail)
{
	struct nodes_work *w = work;

	(void)detail;		/* an event has it */
	for (int i = 0; i < w->n_nodes; i++) {
		struct node *n = &w->nodes[i];

		n->late |= n->agent == NULL && (n->boot_rank == boot_rank + 1 ||
						strcmp(n->name, name) == 0);
	}
}

/* ---- files ------------------------------------------------------------- */

static void nodes_write_facts(void *work)
{
	struct nodes_work *w = work;

	for (int i = 0; i < w->n_nodes; i++) {
		const struct node *n = &w->nodes[i];
		const char *state = n->agent == NULL ? missing_code(w, n) :
				    n->lost ? agents_lost_code(n->agent) :
				    n->ill[0] != '\0' ? n->ill :
							"ok";

		if (n->agent != NULL) {
			agents_inventory_facts(w->c->log, n->name, n->agent);
		}
		run_log_fact(w->c->log, n->name, "node", "state", state, "",
			     "coordinator");
		if (n->agent == NULL) {
			agents_absent_facts(w->c->agents, n->name);
		}
	}
}

static void nodes_put_plan(void *work, json_t *run)
{
	struct nodes_work *w = work;
	json_t *nodes;

	if (w->nodes == NULL) {
		return;		/* stopped before there was one */
	}
	if (w->c->probe->meets) {
		json_object_update(run, w->plan.run);
		return;
	}
	nodes = json_array();
	for (int i = 0; i < w->n_nodes; i++) {
		json_array_append_new(nodes, node_json(&w->nodes[i]));
	}
	json_object_set_new(run, "nodes", nodes);
	json_object_set_new(run, "planned", run_part_json(
		"planned", &(struct run_file){ .planned = {
			.kind = "nodes", .n_nodes = w->n_nodes } }));
}

static void nodes_release(void *work)
{
	struct nodes_work *w = work;

	for (int i = 0; i < w->n_nodes; i++) {
		json_decref(w->nodes[i].ready);
	}
	json_decref(w->met);
	free(w->nodes);
}

const struct coord_work coord_work_nodes = {
	.size = sizeof(struct nodes_work),
	.start = nodes_start,
	.go_on = nodes_go_on,
	.message = nodes_message,
	.entry = nodes_entry,
	.agent_lost = nodes_agent_lost,
	.agent_late = nodes_agent_late,
	.tick = nodes_tick,
	.stop = meet_end,
	.cancel = nodes_cancel,
	.write_facts = nodes_write_facts,
	.put_plan = nodes_put_plan,
	.release = nodes_release,
};
