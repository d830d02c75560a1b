/* SPDX-License-Identifier: BSD-3-Clause */
#include "sbatch/slurm_lost.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/data/record.h"
#include "lib/data/rundir.h"
#include "sbatch/slurm.h"
#include "sbatch/slurm_ask.h"

/** Of more it is not these that are the question. */
#define LOST_MAX 64

struct lost {
	char names[LOST_MAX][SLURM_NODE_SIZE];
	size_t n;
	int64_t seq;		/* of the next event */
};

/** Is @name among them?  Then it is no more. */
static bool take_name(struct lost *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++) {
		if (strcmp(l->names[i], name) == 0) {
			memmove(l->names[i], l->names[l->n - 1],
				sizeof(l->names[i]));
			l->n--;
			return true;
		}
	}
	return false;
}

static int take_event(void *arg, const void *row, struct err *e)
{
	const struct event_row *r = row;
	struct lost *l = arg;

	(void)e;
	l->seq = r->seq >= l->seq && r->seq < INT64_MAX ? r->seq + 1 : l->seq;
	if (strcmp(r->event, "slurm_state") == 0 ||
	    strcmp(r->event, "agent_lost") == 0) {
		take_name(l, r->node);
	}
	if (strcmp(r->event, "agent_lost") == 0 && l->n < LOST_MAX &&
	    slurm_is_node(r->node)) {
		STR_COPY(l->names[l->n], r->node);
		l->n++;
	}
	return RUNDIR_KEEP;
}

static int ask(const struct lost *l, struct str *out, struct err *e)
{
	struct str names = STR_INIT;
	int rc;

	for (size_t i = 0; i < l->n; i++) {
		str_addf(&names, "%s%s", i > 0 ? "," : "", l->names[i]);
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
		struct event_row r;

		if (!take_name(l, node.name)) {
			continue;
		}
		record_init(&schema_events, &r);
		clock_utc(r.utc);
		r.seq = l->seq++;
		STR_COPY(r.node, node.name);
		STR_COPY(r.event, "slurm_state");
		snprintf(r.detail, sizeof(r.detail), "Slurm has it as %s%s",
			 node.state, strchr(node.state, '*') ?
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

	if (rc == 0 && l.n > 0) {
		rc = ask(&l, &out, e) < 0 ||
				     note(&l, dir, str_text(&out), e) < 0 ?
			     -1 : 0;
	}
	str_release(&out);
	return rc;
}
