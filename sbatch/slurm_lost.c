/* SPDX-License-Identifier: BSD-3-Clause */
#include "sbatch/slurm_lost.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/data/json.h"
#include "lib/data/record.h"
#include "lib/data/rundir.h"
#include "sbatch/slurm.h"
#include "sbatch/slurm_ask.h"

/** Of more it is not these that are the question. */
#define LOST_MAX 64

struct lost {
	struct lost_node {
		char name[SLURM_NODE_SIZE];
		bool retested;	/* asked about only because of that */
	} nodes[LOST_MAX];
	size_t n;
	int64_t seq;		/* of the next event */
};

static void add_name(struct lost *l, const char *name, bool retested)
{
	size_t i = 0;

	while (i < l->n && strcmp(l->nodes[i].name, name) != 0) {
		i++;
	}
	if (i == l->n && l->n < LOST_MAX && slurm_is_node(name)) {
		STR_COPY(l->nodes[l->n].name, name);
		l->nodes[l->n++].retested = retested;
	}
}

/** Is @name among them?  Then it is no more, and *@node is what it was. */
static bool take_name(struct lost *l, const char *name, struct lost_node *node)
{
	for (size_t i = 0; i < l->n; i++) {
		if (strcmp(l->nodes[i].name, name) == 0) {
			*node = l->nodes[i];
			l->nodes[i] = l->nodes[--l->n];
			return true;
		}
	}
	return false;
}

static int take_event(void *arg, const void *row, struct err *e)
{
	const struct event_row *r = row;
	struct lost *l = arg;
	struct lost_node unused;

	(void)e;
	l->seq = r->seq >= l->seq && r->seq < INT64_MAX ? r->seq + 1 : l->seq;
	if (strcmp(r->event, "slurm_state") == 0 ||
	    strcmp(r->event, "agent_lost") == 0) {
		take_name(l, r->node, &unused);
	}
	if (strcmp(r->event, "agent_lost") == 0) {
		add_name(l, r->node, false);
	}
	return RUNDIR_KEEP;
}

/** What a retest is about may still be drained. */
static void add_retested(const char *dir, struct lost *l)
{
	json_t *run = rundir_read_json(dir, RUN_JSON, NULL), *part;
	json_t *parts = json_object_get(json_object_get(run, "retest"),
					"parts");
	size_t i;

	json_array_foreach(parts, i, part) {
		add_name(l, json_member(part, "node"), true);
	}
	json_decref(run);
}

static int ask(const struct lost *l, struct str *out, struct err *e)
{
	struct str names = STR_INIT;
	int rc;

	for (size_t i = 0; i < l->n; i++) {
		str_addf(&names, "%s%s", i > 0 ? "," : "", l->nodes[i].name);
	}
	rc = slurm_ask_nodes(str_text(&names), out, e);
	str_release(&names);
	return rc;
}

static int note(struct lost *l, const char *dir, const char *said,
		struct err *e)
{
	struct slurm_node node;
	struct rundir_table t;
	int rc = rundir_table_open(&t, dir, &schema_events, e);

	/* a node stands there once for each partition that it is in */
	while (rc == 0 && slurm_parse_node(&said, &node)) {
		struct lost_node of;
		struct event_row r;

		if (!take_name(l, node.name, &of) ||
		    (of.retested && !str_starts(node.state, "drain"))) {
			continue;
		}
		record_init(&schema_events, &r);
		clock_utc(r.utc);
		r.seq = l->seq++;
		STR_COPY(r.node, node.name);
		STR_COPY(r.event, "slurm_state");
		snprintf(r.detail, sizeof(r.detail), "Slurm has it as %s%s%s",
			 node.state, of.retested ? ": " : "",
			 of.retested		 ? node.why :
			 strchr(node.state, '*') ?
				 ": it does not answer Slurm either" : "");
		rc = rundir_table_add(&t, &r, e);
	}
	rundir_table_close(&t);
	return rc;
}

int slurm_note_lost(const char *dir, struct err *e)
{
	struct str out = STR_INIT;
	struct lost l = { 0 };
	int rc = rundir_table_walk(dir, &schema_events, false, take_event, &l,
				   NULL, e);

	add_retested(dir, &l);
	if (rc == 0 && l.n > 0) {
		rc = ask(&l, &out, e) < 0 ||
				     note(&l, dir, str_text(&out), e) < 0 ?
			     -1 : 0;
	}
	str_release(&out);
	return rc;
}
