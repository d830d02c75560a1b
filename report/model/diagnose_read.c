/* SPDX-License-Identifier: BSD-3-Clause */
/* Read the run of one step about its pairs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/data/json.h"
#include "lib/data/record_rows.h"
#include "lib/data/rundir.h"
#include "report/model/diagnose.h"
#include "report/model/run_read.h"

/** State of one direction of one pair so far. */
struct diagnose_read_way {
	int64_t attempt;	/* 0 = no row yet */
	enum outcome outcome;	/* of the one that decides */
	char code[48], detail[400];
};

struct diagnose_read_reading {
	const struct run *run;
	const struct diagnose_step *step;
	struct diagnose_row *rows;
	struct diagnose_read_way (*ways)[2];	/* of each row: there, back */
	size_t n;
};

/** The larger, the more it says against the pair. */
static int severity(enum outcome o)
{
	static const int of[OUTCOME_COUNT] = {
		[OUTCOME_OK] = 0, [OUTCOME_NOT_RUN] = 1,
		[OUTCOME_SKIPPED] = 2, [OUTCOME_TIMEOUT] = 3,
		[OUTCOME_ERROR] = 4, [OUTCOME_CORRUPT] = 5,
		[OUTCOME_CRASHED] = 6,
	};

	return of[o];
}

/** The last attempt counts, and of its sizes the worst; with @all of them the
 *  worst: a setting that lets a pair pass now and then mends nothing. */
static void take_way(struct diagnose_read_way *w, const struct p2p_row *row,
		     bool all)
{
	int64_t attempt = row->attempt > 0 && !all ? row->attempt : 1;

	if (attempt > w->attempt ||
	    (attempt == w->attempt &&
	     severity(row->outcome) > severity(w->outcome))) {
		w->attempt = attempt;
		w->outcome = row->outcome;
		STR_COPY(w->code, row->code);
		STR_COPY(w->detail, row->detail);
	}
}

static bool is_end(const struct diagnose_read_reading *g, int64_t rank,
		   const char *node, int64_t index)
{
	const struct cluster_rank *r = &g->run->ranks[rank];

	return strcmp(g->run->nodes[r->node].name, node) == 0 &&
	       diagnose_index(g->run, g->step, (int)rank) == index;
}

static int take_pair(void *user, const void *data)
{
	const struct diagnose_read_reading *g = user;
	const struct p2p_row *p = data;
	bool all = diagnose_is_knob(g->step);

	for (size_t i = 0; i < g->n; i++) {
		const struct diagnose_row *r = &g->rows[i];

		if (is_end(g, r->src_rank, p->src_node, p->src_gpu) &&
		    is_end(g, r->dst_rank, p->dst_node, p->dst_gpu)) {
			take_way(&g->ways[i][0], p, all);
		}
		if (is_end(g, r->dst_rank, p->src_node, p->src_gpu) &&
		    is_end(g, r->src_rank, p->dst_node, p->dst_gpu)) {
			take_way(&g->ways[i][1], p, all);
		}
	}
	return 0;
}

/** One path that answers is enough, each way: the others are their own
 *  finding, of gpucheck ping. */
static int take_path(void *user, const void *data)
{
	const struct diagnose_read_reading *g = user;
	const struct ping_row *p = data;

	for (size_t i = 0; i < g->n; i++) {
		const struct diagnose_row *r = &g->rows[i];
		bool there = strcmp(r->src_node, p->src_node) == 0 &&
			     strcmp(r->dst_node, p->dst_node) == 0;
		bool back = strcmp(r->dst_node, p->src_node) == 0 &&
			    strcmp(r->src_node, p->dst_node) == 0;
		struct diagnose_read_way *w = &g->ways[i][back];

		if ((there || back) &&
		    (w->attempt == 0 ||
		     severity(p->outcome) < severity(w->outcome))) {
			w->attempt = 1;
			w->outcome = p->outcome;
			STR_COPY(w->code, p->code);
			STR_COPY(w->detail, p->detail);
		}
	}
	return 0;
}

static void decide(const struct diagnose_read_way ways[2],
		   struct diagnose_row *r)
{
	const struct diagnose_read_way *w = &ways[0];

	if (w->attempt == 0 ||
	    (ways[1].attempt > 0 &&
	     severity(ways[1].outcome) > severity(w->outcome))) {
		w = &ways[1];
	}
	if (w->attempt > 0) {
		r->outcome = w->outcome;
		STR_COPY(r->code, w->code);
		STR_COPY(r->detail, w->detail);
	}
}

bool diagnose_was_set(const char *dir, const struct diagnose_step *s)
{
	json_t *run = rundir_read_json(dir, RUN_JSON, NULL);
	const json_t *env = run_file(run).environment;
	bool set = true;

	for (int i = 0; s->env[i]; i++) {
		size_t len = strcspn(s->env[i], "=");
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)len, s->env[i]);
		set = set && strcmp(json_member(env, name),
				    s->env[i] + len + 1) == 0;
	}
	json_decref(run);
	return set;
}

int diagnose_read(const char *dir, const struct run *run,
		  const struct diagnose_step *s, struct diagnose_row *rows,
		  size_t n, struct err *e)
{
	bool paths = s->command && strcmp(s->command, "ping") == 0;
	struct diagnose_read_reading g = {
		.run = run, .step = s, .rows = rows, .n = n,
		.ways = calloc(n + 1, sizeof(*g.ways)),
	};
	const struct run_rows take = {
		.schema = paths ? &schema_ping : &schema_p2p,
		.take = paths ? take_path : take_pair, .user = &g,
	};
	int rc = g.ways ? run_take_results(dir, &take, e) :
			  err_set(e, ENOMEM, "no memory for the rows of '%s'",
				  dir);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		decide(g.ways[i], &rows[i]);
	}
	free(g.ways);
	return rc;
}
