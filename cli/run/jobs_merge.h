/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_JOBS_MERGE_H
#define CLI_RUN_JOBS_MERGE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "cli/run/jobs.h"
#include "lib/data/record.h"

/**
 * What the files of jobs_merge() share: the parts of a run as they were read,
 * and the whole that becomes of them.
 */

/** A run of a part that came as far as a plan. */
struct jobs_try {
	char dir[PATH_MAX];
	json_t *run;
	bool orderly;		/* it came to its end, not cut short */
	int64_t ended_ns;	/* when run.json was last written */
};

/** A node of the whole. */
struct jobs_whole_node {
	const char *name;	/* of run.json, borrowed */
	json_t *json;		/* as its last try has it; NULL: never seen */
	size_t try;		/* that one, + 1 */
	int first_rank, gpus;
	bool out_of_use;	/* as Slurm has it */
};

/** What is known of a cell of the whole, an ordered pair of ranks. */
struct jobs_cell {
	uint16_t owner;		/* the try whose rows it has, + 1 */
	uint8_t failures;	/* rows of others that say what was bad */
	uint8_t written;	/* of these */
};

struct merge {
	const struct jobs *j;
	struct jobs_try *tries;	/* in the order in which they ended */
	size_t n_tries;
	struct jobs_whole_node *nodes;
	size_t n_nodes;
	int n_ranks;
	struct jobs_cell *cells;	/* n_ranks x n_ranks */
	struct fact_row *growth;	/* counters, over all tries */
	size_t n_growth;
	int64_t seq;		/* of events */
	bool ended;		/* no job is left */
	/* the try that is read, and where its rows go */
	size_t at;
	FILE *out;
	struct str lines;
	const struct schema *schema;
};

/** The tries of m->j, and the nodes and ranks that these make.  0, or -1 with
 *  @e. */
int merge_find(struct merge *m, struct err *e);
/** The node of that name; NULL: none takes part. */
struct jobs_whole_node *merge_node(const struct merge *m, const char *name);
/** The rank of the whole that is @rank of @node of the try at hand; -1: no
 *  such. */
int merge_rank(const struct merge *m, const char *node, int64_t rank);
/** Each row of @schema of try @at to @take, with @m.  0, or -1 with @e. */
int merge_walk(struct merge *m, size_t at, const struct schema *schema,
	       int (*take)(void *arg, const void *row, struct err *e),
	       struct err *e);
/** Write what m->lines has, or with @all false only when it is much. */
int merge_flush(struct merge *m, bool all, struct err *e);

/** Which try each cell has its rows of.  0, or -1 with @e. */
int merge_claim(struct merge *m, struct err *e);
/** A row of results.csv of the try at hand: to the whole where its cell has
 *  it. */
int merge_row(void *arg, const void *row, struct err *e);
/** All of m->schema to @f, by the rows of all tries; 0, or -1 with errno. */
int merge_table(void *arg, FILE *f);
/** Write run.json, on top of @now, as it is.  0, or -1 with @e. */
int merge_run(const struct merge *m, const json_t *now, struct err *e);

#endif
