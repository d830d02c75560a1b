/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks of nodes that need each other: all get ready, all are told about all,
 * and none is let go before the last has finished.
 */
#include "probes/engine/coord/nodes.h"

#include "lib/base/clock.h"
#include "probes/engine/net/message.h"

/* Beyond what the plan allows: machines are busy, lines are slow. */
#define MEET_GRACE_NS (10 * NS_PER_S)
/* Those that are let go say the last of it and end. */
#define LEAVE_GRACE_NS (5 * NS_PER_S)
/* Everybody is told about everybody: of a thousand nodes, gigabytes, of which
 * this much waits to be sent. */
#define TELL_BYTES (32u * 1024 * 1024)

static bool takes_part(const struct node *n)
{
	return !n->settled && n->ready != NULL;
}

/* What the plan is made of, see struct probe. */
static json_t *describe(const struct nodes_work *w)
{
	json_t *nodes = json_array();

	for (int i = 0; i < w->n_nodes; i++) {
		const struct node *n = &w->nodes[i];
		json_t *node = json_pack("{s:s}", "name", n->name);

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
	return nodes;
}

static size_t queued_bytes(const struct node *n)
{
	return n->settled || n->agent == NULL
		       ? 0
		       : n->agent->wire.out.len + n->agent->wire.unsent;
}

static const json_t *still_to_tell(const struct nodes_work *w)
{
	return json_object_get(w->met, "tell");
}

/* As many nodes as memory is for; each moves the end of the run. */
static void tell_some(struct nodes_work *w)
{
	const json_t *tell = still_to_tell(w);
	int64_t budget_ns =
		json_integer_value(json_object_get(w->met, "budget_ns"));
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
				clock_now_ns() + MEET_GRACE_NS + budget_ns;
		}
	}
	if (w->next_told == w->n_nodes) {
		/* by far the largest part, and of no more use */
		json_object_del(w->met, "tell");
	}
}

void meet_tick(struct nodes_work *w)
{
	if (still_to_tell(w) != NULL && !w->leaving) {
		tell_some(w);
	}
}

static void begin(struct nodes_work *w)
{
	json_t *nodes = describe(w);
	struct err e = { 0 };

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
	tell_some(w);
	if (coord_write_run(w->c, false, &e) < 0) {
		coord_fail(w->c, &e, 3);
	}
}

void meet_end(struct nodes_work *w)
{
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

void meet(struct nodes_work *w, bool late)
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
	} else if (w->met != NULL && still_to_tell(w) == NULL && all_finished) {
		meet_end(w);
	}
}
