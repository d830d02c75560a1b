/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks of nodes that need each other: all get ready, all are told about all,
 * and none is let go before the last has finished.
 */
#include "probes/engine/coord/coordinator.h"

#include "lib/base/clock.h"

/* Beyond what the plan allows: machines are busy, lines are slow. */
#define MEET_GRACE_NS (10 * NS_PER_S)
/* Those that are let go say the last of it and end. */
#define LEAVE_GRACE_NS (5 * NS_PER_S)
/* Everybody is told about everybody: of a thousand nodes, gigabytes, of which
 * this much waits to be sent. */
#define TELL_BYTES (32u * 1024 * 1024)

static bool takes_part(const struct coord_node *n)
{
	return !n->settled && n->ready != NULL;
}

/* What the plan is made of, see struct probe. */
static json_t *describe(const struct coord *c)
{
	json_t *nodes = json_array();

	for (int i = 0; i < c->n_nodes; i++) {
		const struct coord_node *n = &c->nodes[i];
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

static size_t queued_bytes(const struct coord_node *n)
{
	return n->settled || n->agent == NULL ?
		       0 :
		       n->agent->wire.out.len + n->agent->wire.unsent;
}

static const json_t *still_to_tell(const struct coord *c)
{
	return json_object_get(c->met, "tell");
}

/* As many nodes as memory is for; each moves the end of the run. */
static void tell_some(struct coord *c)
{
	const json_t *tell = still_to_tell(c);
	int64_t budget_ns = json_integer_value(
		json_object_get(c->met, "budget_ns"));
	size_t queued = 0;

	for (int i = 0; i < c->n_nodes; i++) {
		queued += queued_bytes(&c->nodes[i]);
	}
	for (; c->next_told < c->n_nodes && queued < TELL_BYTES;
	     c->next_told++) {
		struct coord_node *n = &c->nodes[c->next_told];
		json_t *line = json_array_get(tell, (size_t)c->next_told);

		if (takes_part(n) && json_is_object(line)) {
			n->told = true;
			wire_send(&n->agent->wire,
				  json_pack("{s:s,s:O}", "t", "node_tell",
					    "line", line));
			queued += queued_bytes(n);
			c->nodes_deadline_ns = clock_now_ns() + MEET_GRACE_NS +
					       budget_ns;
		}
	}
	if (c->next_told == c->n_nodes) {
		/* by far the largest part, and of no more use */
		json_object_del(c->met, "tell");
	}
}

void coord_meet_tick(struct coord *c)
{
	if (still_to_tell(c) != NULL && !c->leaving) {
		tell_some(c);
		coord_meet(c, false);	/* the last may be gone */
	}
}

static void begin(struct coord *c)
{
	json_t *nodes = describe(c);
	struct err e = { 0 };

	c->met = c->probe->plan(nodes, &c->spec, &e);
	json_decref(nodes);
	if (c->met == NULL) {
		coord_fail(c, &e, 3);
		return;
	}
	tell_some(c);
	if (coord_write_run(c, false, &e) < 0) {
		coord_fail(c, &e, 3);
	}
}

void coord_meet_end(struct coord *c)
{
	int64_t soon_ns = clock_now_ns() + LEAVE_GRACE_NS;

	if (c->leaving) {
		return;
	}
	c->leaving = true;
	if (c->nodes_deadline_ns < soon_ns) {
		c->nodes_deadline_ns = soon_ns;
	}
	for (int i = 0; i < c->n_nodes; i++) {
		if (!c->nodes[i].settled && c->nodes[i].agent != NULL) {
			wire_send(&c->nodes[i].agent->wire,
				  json_pack("{s:s}", "t", "node_leave"));
		}
	}
}

void coord_meet(struct coord *c, bool late)
{
	bool all_ready = true, all_finished = true;

	for (int i = 0; i < c->n_nodes; i++) {
		struct coord_node *n = &c->nodes[i];

		if (late && !n->settled && n->ready == NULL) {
			coord_settle_node(c, n, "timeout", "worker_hung",
					  "the child that looks was not ready "
					  "in time");
		}
		all_ready &= n->settled || n->ready != NULL;
		all_finished &= n->settled || n->finished || !n->told;
	}
	if (c->met == NULL && all_ready) {
		begin(c);
	} else if (c->met != NULL && still_to_tell(c) == NULL &&
		   all_finished) {
		coord_meet_end(c);
	}
}
