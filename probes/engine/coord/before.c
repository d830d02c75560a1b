/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/coord/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/data/json.h"

/* Member of our copy of run.json: the nodes by name. */
#define BY_NAME "node_of"

static size_t n_missing(const json_t *before)
{
	const json_t *nodes = run_file(before).nodes;
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(nodes); i++) {
		n += run_entry(nodes, i).missing;
	}
	return n;
}

int before_open(json_t *run, json_t **out, struct err *e)
{
	size_t n = json_array_size(run_file(run).nodes), i;
	json_t *by_name, *nodes, *node;

	*out = NULL;
	/* one that never came as far as a plan begins now */
	if (json_array_size(run_file(run).resumes) == 0 || n == 0 ||
	    run_file(run).planned.cells == 0) {
		return 0;
	}
	if (n > SPEC_MAX_NODES) {
		return err_set(e, 0, "run.json: more than %d nodes",
			       SPEC_MAX_NODES);
	}
	if (run_file(run).transport[0] == '\0') {
		err_set(e, 0, "run.json has no transport");
		return err_hint(e, "run.json is damaged");
	}
	*out = json_copy(run);
	if (*out == NULL) {
		return err_set(e, ENOMEM, "no memory for the data of the "
					  "earlier run");
	}
	if (n_missing(run) == n) {
		/* it was planned for nodes that have never connected */
		json_object_del(*out, "nodes");
	}
	by_name = json_object();
	nodes = run_file(*out).nodes;
	json_array_foreach(nodes, i, node) {
		json_object_set(by_name, run_entry_of(node).name, node);
	}
	json_object_set_new(*out, BY_NAME, by_name);
	return 0;
}

/* ---- the same nodes ---------------------------------------------------- */

/* The place of @new among @n_old: its own, or else the first that is @open, as
 * its name was not known then; -1. */
static int place_of(const struct node_draft *old, int n_old,
		    const struct node_draft *new, bool open)
{
	for (int i = 0; i < n_old; i++) {
		if (open ? old[i].open
			 : strcmp(old[i].name, new->name) == 0) {
			return i;
		}
	}
	return -1;
}

/*
 * Puts @new into place @at.  Ranks whose nodes were not known are one place: a
 * node with fewer ranks leaves the rest to the nodes after it.  Returns
 * how many places there are, or -1 with @e.
 */
static int take_place(struct node_draft *old, int n_old, int at,
		      const struct node_draft *new, struct err *e)
{
	int gpus = old[at].gpus;

	if (new->n_single > gpus) {
		err_set(e, 0,
			"node '%s' has %d agents of one rank, and "
			"had %d ranks when the run began",
			new->name, new->n_single, gpus);
		return err_hint(e, "start the agents as in the first run");
	}
	if (old[at].open && new->n_single > 0 && new->n_single < gpus) {
		memmove(&old[at + 1], &old[at],
			(size_t)(n_old++ - at) * sizeof(*old));
		old[at + 1].gpus = gpus - new->n_single;
		gpus = new->n_single;
	}
	old[at] = *new;
	old[at].gpus = gpus;
	return n_old;
}

/* Each of the @n drafts to its place: those that are known first, and of the
 * others also those that are still known by their launcher's ranks only.
 * Returns how many places there are, or -1 with @e. */
static int place_nodes(const struct node_draft *d, int n,
		       struct node_draft *old, int n_old, const json_t *b,
		       struct err *e)
{
	for (int k = 0; k < 2 * n && n_old >= 0; k++) {
		const struct node_draft *new = &d[k % n];
		int own = place_of(old, n_old, new, false), at = own;

		if ((own >= 0) != (k < n) || !(new->present || new->n_single)) {
			continue;
		}
		at = k < n ? own : place_of(old, n_old, new, true);
		if (at >= 0) {
			n_old = take_place(old, n_old, at, new, e);
		} else if (new->present) {
			err_set(e, 0, "node '%s' is not one of the run's %zu "
				      "nodes, the first of which is '%s'",
				new->name,
				json_array_size(run_file(b).nodes),
				run_entry(run_file(b).nodes, 0).name);
			return err_hint(e, "to use other nodes, start a new "
					   "run without --resume");
		}
	}
	return n_old;
}

int before_nodes(const json_t *b, struct node_draft *d, int n, struct err *e)
{
	const json_t *nodes = run_file(b).nodes, *node;
	int n_old = (int)json_array_size(nodes);
	struct node_draft *old = calloc((size_t)(n_old + n), sizeof(*old));
	size_t i;

	if (old == NULL) {
		return err_set(e, ENOMEM, "no memory for %d nodes", n_old);
	}
	json_array_foreach(nodes, i, node)
	{
		int64_t gpus = 0;

		if (json_get_int(node, "gpus", 0, SPEC_MAX_GPUS, &gpus, e) <
		    0) {
			free(old);
			return err_hint(e, "'nodes' of run.json is damaged");
		}
		STR_COPY(old[i].name, run_entry_of(node).name);
		old[i].gpus = (int)gpus;
		old[i].open = run_entry_of(node).missing;
	}
	n_old = place_nodes(d, n, old, n_old, b, e);
	for (int k = 0; k < n_old; k++) {
		d[k] = old[k];
	}
	free(old);
	return n_old;
}

/* ---- the same parts and plan ------------------------------------------- */

const json_t *before_node(const json_t *b, const char *name)
{
	return json_object_get(json_object_get(b, BY_NAME), name);
}

const char *before_part(const json_t *b, const char *node, int part)
{
	const char *name = json_string_value(json_array_get(
		run_entry_of(before_node(b, node)).parts, (size_t)part));

	return name != NULL ? name : "";
}

bool before_missing(const json_t *b, const char *node)
{
	const json_t *then = before_node(b, node);

	return then == NULL || run_entry_of(then).missing;
}

int before_check_plan(const json_t *b, const int64_t *sizes, int n_sizes,
		      size_t cells, struct err *e)
{
	const json_t *then = run_file(b).sizes;
	/* no plan knew how nodes lie to each other that never connected */
	bool same = json_array_size(then) == (size_t)n_sizes &&
		    ((size_t)run_file(b).planned.cells == cells ||
		     n_missing(b) > 0);

	if (json_array_size(run_file(b).nodes) == 0) {
		return 0;
	}
	for (int i = 0; same && i < n_sizes; i++) {
		same = json_integer_value(json_array_get(then, (size_t)i)) ==
		       sizes[i];
	}
	if (same) {
		return 0;
	}
	err_set(e, 0, "this version of gpucheck plans other sizes or pairs "
		      "than the version that began the run");
	return err_hint(e, "continue with that version, or start a new run");
}
