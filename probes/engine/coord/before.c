/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/coord/before.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/base/str.h"

static const json_t *nodes_of(const json_t *before)
{
	return json_object_get(before, "nodes");
}

static int64_t cells_of(const json_t *before)
{
	return json_integer_value(
		json_object_get(json_object_get(before, "planned"), "cells"));
}

int before_open(json_t *run, json_t **out, struct err *e)
{
	size_t n = json_array_size(nodes_of(run));

	*out = NULL;
	/* one that never came as far as a plan begins now */
	if (json_array_size(json_object_get(run, "resumes")) == 0 || n == 0 ||
	    cells_of(run) == 0) {
		return 0;
	}
	if (n > SPEC_MAX_NODES) {
		return err_set(e, E2BIG, "run.json: more than %d nodes",
			       SPEC_MAX_NODES);
	}
	if (!json_is_string(json_object_get(run, "transport"))) {
		err_set(e, 0, "run.json has no transport");
		return err_hint(e, "run.json is damaged");
	}
	*out = json_copy(run);
	return *out != NULL ? 0
			    : err_set(e, ENOMEM,
				      "no memory for the data of "
				      "the earlier run");
}

size_t before_n_nodes(const json_t *b)
{
	return json_array_size(nodes_of(b));
}

/* ---- the same nodes ---------------------------------------------------- */

/* Was this node of the run never there, so that any may take its place? */
static bool was_missing(const json_t *node)
{
	return json_is_true(json_object_get(node, "missing"));
}

static int misfit(const json_t *b, const char *name, struct err *e)
{
	const char *first = json_member(json_array_get(nodes_of(b), 0), "name");

	err_set(e, 0,
		"node '%s' is not one of the run's %zu nodes, the first "
		"of which is '%s'",
		name, json_array_size(nodes_of(b)), first);
	return err_hint(e, "to use other nodes, start a new run without "
			   "--resume");
}

static int read_nodes(const json_t *b, struct node_draft *old, struct err *e)
{
	const json_t *node;
	size_t i;

	json_array_foreach(nodes_of(b), i, node)
	{
		int64_t gpus = 0;

		if (json_get_int(node, "gpus", 0, SPEC_MAX_GPUS, &gpus, e) <
		    0) {
			return err_hint(e, "'nodes' of run.json is damaged");
		}
		STR_COPY(old[i].name, json_member(node, "name"));
		old[i].gpus = (int)gpus;
	}
	return 0;
}

/* The place of @name in the run: @known there, or else the first that was
 * missing, as nobody knew its name then; -1. */
static int place_of(const json_t *b, const struct node_draft *old,
		    const char *name, bool known)
{
	for (size_t i = 0; i < json_array_size(nodes_of(b)); i++) {
		if (known ? strcmp(old[i].name, name) == 0
			  : !old[i].present && was_missing(json_array_get(
						       nodes_of(b), i))) {
			return (int)i;
		}
	}
	return -1;
}

/* Each of the @n drafts to its place in @old: those that are known first. */
static int place_nodes(const json_t *b, struct node_draft *d, int n,
		       struct node_draft *old, struct err *e)
{
	for (int k = 0; k < 2 * n; k++) {
		struct node_draft *new = &d[k % n];
		int at = place_of(b, old, new->name, k < n);

		if (!new->present || (at < 0 && k < n)) {
			continue;
		}
		if (at < 0) {
			return misfit(b, new->name, e);
		}
		if (new->n_single > old[at].gpus) {
			err_set(e, 0,
				"node '%s' has %d agents of one rank, and "
				"had %d ranks when the run began",
				new->name, new->n_single, old[at].gpus);
			return err_hint(e, "start the agents as in the first "
					   "run");
		}
		new->gpus = old[at].gpus;
		old[at] = *new;
		new->present = false;
	}
	return 0;
}

int before_nodes(const json_t *b, struct node_draft *d, int n, struct err *e)
{
	size_t n_old = json_array_size(nodes_of(b));
	struct node_draft *old = calloc(n_old, sizeof(*old));
	int rc;

	if (old == NULL) {
		return err_set(e, ENOMEM, "no memory for %zu nodes", n_old);
	}
	rc = read_nodes(b, old, e) < 0 ? -1 : place_nodes(b, d, n, old, e);
	if (rc == 0) {
		memcpy(d, old, n_old * sizeof(*d));
	}
	free(old);
	return rc < 0 ? -1 : (int)n_old;
}

/* ---- the same parts and plan ------------------------------------------- */

const char *before_part(const json_t *b, int node, int part)
{
	const json_t *old = json_array_get(nodes_of(b), (size_t)node);
	const char *name = json_string_value(
		json_array_get(json_object_get(old, "parts"), (size_t)part));

	return name != NULL ? name : "";
}

bool before_missing(const json_t *b, int node)
{
	return b == NULL ||
	       was_missing(json_array_get(nodes_of(b), (size_t)node));
}

int before_check_plan(const json_t *b, const int64_t *sizes, int n_sizes,
		      size_t cells, struct err *e)
{
	const json_t *then = json_object_get(b, "sizes");
	bool same = json_array_size(then) == (size_t)n_sizes &&
		    (size_t)cells_of(b) == cells;

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
