/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/coord/before.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/base/str.h"

struct before {
	json_t *nodes, *sizes; /* of its run.json */
	char transport[16];
	int64_t cells; /* that it planned */
};

int before_open(const json_t *run, struct before **out, struct err *e)
{
	json_t *nodes = json_object_get(run, "nodes");
	const json_t *planned = json_object_get(run, "planned");
	struct before *b;

	*out = NULL;
	/* one that never came as far as a plan begins now */
	if (json_array_size(json_object_get(run, "resumes")) == 0 ||
	    json_array_size(nodes) == 0 ||
	    json_integer_value(json_object_get(planned, "cells")) == 0) {
		return 0;
	}
	if (json_array_size(nodes) > SPEC_MAX_NODES) {
		return err_set(e, E2BIG, "run.json: more than %d nodes",
			       SPEC_MAX_NODES);
	}
	b = *out = calloc(1, sizeof(*b));
	if (b == NULL) {
		return err_set(e, ENOMEM, "no memory for the data of the "
					  "earlier run");
	}
	b->nodes = json_incref(nodes);
	b->sizes = json_incref(json_object_get(run, "sizes"));
	if (json_get_text(run, "transport", b->transport, sizeof(b->transport),
			  e) < 0 ||
	    json_get_int(planned, "cells", 0, INT64_MAX, &b->cells, e) < 0) {
		return err_hint(e, "run.json is damaged");
	}
	return 0;
}

void before_free(struct before *b)
{
	if (b != NULL) {
		json_decref(b->nodes);
		json_decref(b->sizes);
		free(b);
	}
}

const char *before_transport(const struct before *b)
{
	return b->transport;
}

size_t before_n_nodes(const struct before *b)
{
	return b != NULL ? json_array_size(b->nodes) : 0;
}

/* ---- the same nodes ---------------------------------------------------- */

/* Was this node of the run never there, so that any may take its place? */
static bool was_missing(const json_t *node)
{
	return json_is_true(json_object_get(node, "missing"));
}

static int misfit(const struct before *b, const char *name, struct err *e)
{
	const char *first = json_member(json_array_get(b->nodes, 0), "name");

	err_set(e, 0,
		"node '%s' is not one of the run's %zu nodes, the first "
		"of which is '%s'",
		name, json_array_size(b->nodes), first);
	return err_hint(e, "to use other nodes, start a new run without "
			   "--resume");
}

/* The one of @n present drafts that is the run's node @name; -1. */
static int find_draft(const struct node_draft *d, int n, const char *name)
{
	for (int i = 0; i < n; i++) {
		if (d[i].present && strcmp(d[i].name, name) == 0) {
			return i;
		}
	}
	return -1;
}

/* Each node of the run with the agents of its name, if they came; those drafts
 * are no longer present. */
static int place_known(const struct before *b, struct node_draft *d, int n,
		       struct node_draft *old, struct err *e)
{
	const json_t *node;
	size_t i;

	json_array_foreach(b->nodes, i, node) {
		const char *name = json_member(node, "name");
		int at = find_draft(d, n, name);
		int64_t gpus = 0;

		if (json_get_int(node, "gpus", 0, SPEC_MAX_GPUS, &gpus, e) <
		    0) {
			return err_hint(e, "'nodes' of run.json is damaged");
		}
		if (at >= 0 && d[at].n_single > gpus) {
			err_set(e, 0, "node '%s' has %d agents of one rank, and "
				"had %lld ranks when the run began", name,
				d[at].n_single, (long long)gpus);
			return err_hint(e, "start the agents as in the first "
					   "run");
		}
		if (at >= 0) {
			old[i] = d[at];
			d[at].present = false;
		}
		STR_COPY(old[i].name, name);
		old[i].gpus = (int)gpus;
	}
	return 0;
}

/* The others are those that were missing, in their order, by names that nobody
 * knew then. */
static int place_others(const struct before *b, const struct node_draft *d,
			int n, struct node_draft *old, struct err *e)
{
	size_t at = 0, n_old = json_array_size(b->nodes);

	for (int i = 0; i < n; i++) {
		int gpus;

		if (!d[i].present) {
			continue;
		}
		while (at < n_old &&
		       (old[at].present ||
			!was_missing(json_array_get(b->nodes, at)))) {
			at++;
		}
		if (at == n_old) {
			return misfit(b, d[i].name, e);
		}
		gpus = old[at].gpus;
		old[at] = d[i];
		old[at].gpus = gpus;
	}
	return 0;
}

int before_nodes(const struct before *b, struct node_draft *d, int n,
		 struct err *e)
{
	size_t n_old = json_array_size(b->nodes);
	struct node_draft *old = calloc(n_old, sizeof(*old));
	int rc;

	if (old == NULL) {
		return err_set(e, ENOMEM, "no memory for %zu nodes", n_old);
	}
	rc = place_known(b, d, n, old, e);
	rc = rc == 0 ? place_others(b, d, n, old, e) : rc;
	if (rc == 0) {
		memcpy(d, old, n_old * sizeof(*d));
	}
	free(old);
	return rc < 0 ? -1 : (int)n_old;
}

/* ---- the same parts and plan ------------------------------------------- */

const char *before_part(const struct before *b, int node, int part)
{
	const json_t *old, *name;

	if (b == NULL) {
		return "";
	}
	old = json_array_get(b->nodes, (size_t)node);
	name = json_array_get(json_object_get(old, "parts"), (size_t)part);
	return json_is_string(name) ? json_string_value(name) : "";
}

bool before_missing(const struct before *b, int node)
{
	return b == NULL || was_missing(json_array_get(b->nodes, (size_t)node));
}

int before_check_plan(const struct before *b, const int64_t *sizes, int n_sizes,
		      size_t cells, struct err *e)
{
	bool same = json_array_size(b->sizes) == (size_t)n_sizes &&
		    (size_t)b->cells == cells;

	for (int i = 0; same && i < n_sizes; i++) {
		same = json_integer_value(
			       json_array_get(b->sizes, (size_t)i)) == sizes[i];
	}
	if (same) {
		return 0;
	}
	err_set(e, 0, "this version of gpucheck plans other sizes or pairs "
		      "than the version that began the run");
	return err_hint(e, "continue with that version, or start a new run");
}
