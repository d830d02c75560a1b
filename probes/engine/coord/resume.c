/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Going on with a run that ended early: the same nodes and parts of them must
 * be there, and what its rows have measured is not measured again.
 */
#include "probes/engine/coord/coordinator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/base/str.h"

#define LOOK_UP_ROWS 1024

int coord_resume_open(struct coord *c, struct err *e)
{
	json_t *nodes = json_object_get(c->run, "nodes");
	const json_t *planned = json_object_get(c->run, "planned");
	struct coord_before *b;

	/* one that never came as far as a plan begins now */
	if (json_array_size(json_object_get(c->run, "resumes")) == 0 ||
	    json_array_size(nodes) == 0 ||
	    json_integer_value(json_object_get(planned, "cells")) == 0) {
		return 0;
	}
	b = c->before = calloc(1, sizeof(*b));
	if (b == NULL) {
		return err_set(e, ENOMEM, "no memory for the run as it was");
	}
	if (json_array_size(nodes) > SPEC_MAX_NODES) {
		return err_set(e, E2BIG, "run.json: more than %d nodes",
			       SPEC_MAX_NODES);
	}
	b->nodes = json_incref(nodes);
	b->sizes = json_incref(json_object_get(c->run, "sizes"));
	if (json_get_text(c->run, "transport", b->transport,
			  sizeof(b->transport), e) < 0 ||
	    json_get_int(planned, "cells", 0, INT64_MAX, &b->cells, e) < 0) {
		return err_hint(e, "run.json is damaged");
	}
	return 0;
}

void coord_resume_release(struct coord *c)
{
	struct coord_before *b = c->before;

	if (b != NULL) {
		json_decref(b->nodes);
		json_decref(b->sizes);
		resume_release(&b->rows);
		free(b);
		c->before = NULL;
	}
}

/* ---- the same nodes ---------------------------------------------------- */

/* Was this node of the run never there, so that any may take its place? */
static bool was_missing(const json_t *node)
{
	return json_is_true(json_object_get(node, "missing"));
}

static int misfit(struct coord *c, const char *name, struct err *e)
{
	const char *first = json_member(json_array_get(c->before->nodes, 0),
					"name");

	err_set(e, 0, "node '%s' is not one of the run's %zu nodes, the first "
		"of which is '%s'", name, json_array_size(c->before->nodes),
		first);
	return err_hint(e, "other nodes are a new run: leave out --resume");
}

/* The one of @n present drafts that is the run's node @name; -1. */
static int find_draft(const struct coord_draft *d, int n, const char *name)
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
static int place_known(const struct coord_before *b, struct coord_draft *d,
		       int n, struct coord_draft *old, struct err *e)
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
			return err_hint(e, "start them as the first time");
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
static int place_others(struct coord *c, const struct coord_draft *d, int n,
			struct coord_draft *old, struct err *e)
{
	size_t at = 0, n_old = json_array_size(c->before->nodes);

	for (int i = 0; i < n; i++) {
		int gpus;

		if (!d[i].present) {
			continue;
		}
		while (at < n_old &&
		       (old[at].present ||
			!was_missing(json_array_get(c->before->nodes, at)))) {
			at++;
		}
		if (at == n_old) {
			return misfit(c, d[i].name, e);
		}
		gpus = old[at].gpus;
		old[at] = d[i];
		old[at].gpus = gpus;
	}
	return 0;
}

int coord_resume_nodes(struct coord *c, struct coord_draft *d, int n,
		       struct err *e)
{
	size_t n_old = json_array_size(c->before->nodes);
	struct coord_draft *old = calloc(n_old, sizeof(*old));
	int rc;

	if (old == NULL) {
		return err_set(e, ENOMEM, "no memory for %zu nodes", n_old);
	}
	rc = place_known(c->before, d, n, old, e);
	rc = rc == 0 ? place_others(c, d, n, old, e) : rc;
	if (rc == 0) {
		memcpy(d, old, n_old * sizeof(*d));
	}
	free(old);
	return rc < 0 ? -1 : (int)n_old;
}

/* ---- the same parts ---------------------------------------------------- */

const char *coord_part_of(const struct coord *c, int rank)
{
	const struct coord_rank *k = &c->ranks[rank];
	const json_t *gpus;

	if (k->state == RANK_MISSING || k->agent == NULL) {
		return "";
	}
	if (k->part[0] != '\0' || !(c->ops->caps & XPORT_GPU)) {
		return k->part;
	}
	gpus = json_object_get(k->agent->inventory, "gpus");
	return json_member(json_array_get(gpus, (size_t)k->slot), "uuid");
}

const char *coord_part_before(const struct coord *c, int rank)
{
	const struct layout_rank *l = &c->layout.ranks[rank];
	const json_t *node, *part;

	if (c->before == NULL) {
		return "";
	}
	node = json_array_get(c->before->nodes, (size_t)l->node);
	part = json_array_get(json_object_get(node, "parts"), (size_t)l->gpu);
	return json_is_string(part) ? json_string_value(part) : "";
}

bool coord_was_missing(const struct coord *c, int node)
{
	return c->before == NULL ||
	       was_missing(json_array_get(c->before->nodes, (size_t)node));
}

int coord_resume_parts(struct coord *c, struct err *e)
{
	for (int r = 0; r < c->layout.n_ranks; r++) {
		const char *then = coord_part_before(c, r);
		const char *now = coord_part_of(c, r);

		if (then[0] == '\0' || now[0] == '\0' ||
		    strcmp(then, now) == 0) {
			continue;
		}
		err_set(e, 0, "%s%d of node '%s' is %.60s, and was %.60s "
			"when the run began", c->probe->part,
			c->layout.ranks[r].gpu, coord_node(c, r), now, then);
		return err_hint(e, "what was measured is that of another part: "
				"start a new run, without --resume");
	}
	return 0;
}

/* ---- the same plan ----------------------------------------------------- */

static int check_plan(const struct coord *c, struct err *e)
{
	bool same = json_array_size(c->before->sizes) == (size_t)c->n_sizes &&
		    (size_t)c->before->cells == c->plan.cells;

	for (int i = 0; same && i < c->n_sizes; i++) {
		same = json_integer_value(json_array_get(c->before->sizes,
							 (size_t)i)) ==
		       c->sizes[i];
	}
	if (same) {
		return 0;
	}
	err_set(e, 0, "this gpucheck plans other sizes or pairs than the one "
		"that began the run");
	return err_hint(e, "go on with that version, or start a new run");
}

/* Of millions of rows it takes longer than agents wait for a word. */
static void look_up(struct coord *c)
{
	if (++c->before->looked_at % LOOK_UP_ROWS == 0) {
		coord_keep_alive(c);
	}
}

static int take_row(void *arg, const void *row, struct err *e)
{
	struct coord *c = arg;

	(void)e;
	look_up(c);
	resume_row(&c->before->rows, row);
	return RUNDIR_KEEP;
}

static int keep_row(void *arg, const void *row, struct err *e)
{
	struct coord *c = arg;
	const struct p2p_row *r = row;

	(void)e;
	look_up(c);
	if (!resume_keeps(&c->before->rows, r)) {
		return RUNDIR_DROP;
	}
	if (strcmp(r->schedule, c->passes[0].name) == 0 && r->src_rank >= 0 &&
	    r->src_rank < c->layout.n_ranks && r->dst_rank >= 0 &&
	    r->dst_rank < c->layout.n_ranks) {
		coord_note_row(c, r);
	}
	return RUNDIR_KEEP;
}

int coord_resume_rows(struct coord *c, struct err *e)
{
	struct coord_before *b = c->before;
	const char *names[PASS_MAX];
	size_t left_out = 0, cells;

	for (int i = 0; i < c->n_passes; i++) {
		names[i] = c->passes[i].name;
	}
	if (check_plan(c, e) < 0) {
		return -1;
	}
	if (resume_init(&b->rows, c->layout.n_ranks, c->n_passes, names,
			c->sizes[c->n_sizes - 1]) < 0) {
		return err_set(e, ENOMEM, "no memory for the rows as they are");
	}
	rundir_table_close(&c->results);
	if (rundir_table_walk(c->dir, c->probe->schema, false, take_row, c,
			      NULL, e) < 0 ||
	    rundir_table_walk(c->dir, c->probe->schema, true, keep_row, c,
			      &left_out, e) < 0 ||
	    rundir_table_open(&c->results, c->dir, c->probe->schema, e) < 0) {
		return -1;
	}
	cells = c->plan.cells * (size_t)c->n_passes;
	coord_event(c, NULL, -1, "resume", "%zu of %zu cells are good and "
		    "stay; %zu lines that measured nothing are left out",
		    b->rows.done, cells, left_out);
	b->fits = true;
	return 0;
}

bool coord_resume_misfit(const struct coord *c)
{
	return c->before != NULL && !c->before->fits;
}

/* ---- events ------------------------------------------------------------ */

static int take_event(void *arg, const void *row, struct err *e)
{
	struct coord *c = arg;
	const struct event_row *r = row;

	(void)e;
	if (r->seq >= c->event_seq && r->seq < INT64_MAX) {
		c->event_seq = r->seq + 1;
	}
	return RUNDIR_KEEP;
}

int coord_resume_events(struct coord *c, struct err *e)
{
	return c->before == NULL ?
		       0 :
		       rundir_table_walk(c->dir, &schema_events, false,
					 take_event, c, NULL, e);
}
