/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_NODE_CHILD_H
#define PROBES_NODE_CHILD_H

#include <stdbool.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/record.h"
#include "lib/spec/spec.h"

/**
 * One look at one node, in a child of its own: "gpucheck worker PROBE" reads
 * its arguments, a JSON object, from stdin, and says a JSON object a line on
 * stdout, {"row":{...}} or {"fact":{...}}.  It has a deadline and a limit of
 * bytes (node_task.h); whatever happens to it, what it said before is kept.
 *
 * Where nodes meet (struct probe), child and coordinator talk:
 *   child        {"ready":{...}}	what the others must know of it
 *   coordinator  {...}		a line: what it must know of the others
 *   child        rows and facts, each passed on as it comes
 *   child        {"finished":true}	but it stays, as others may need it
 *   coordinator  end of file	nobody does any more
 * That limit is then one of a line.
 */

/** "gpucheck worker PROBE": hand @child what it was told; the exit code. */
int node_task_child_main(int (*child)(const json_t *args, struct err *e),
			 struct err *e);
/** Print one row of the probe's schema. */
void node_task_row(const struct schema *schema, const void *row);
/** Print one fact without a unit. */
void node_task_fact(const char *scope, const char *fact, const char *source,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/** Print each fact of the array @facts, as facts_add() makes them, and empty
 *  it. */
void node_task_facts(json_t *facts);
/** Print how many GPUs -G or Slurm promise of this node, as a fact. */
void node_task_expected(const struct spec *s);
/** Where nodes meet: what the others must know (reference stolen). */
void node_task_ready(json_t *what);
/** All rows are said; the others may still need this node. */
void node_task_finished(void);

/** Words of the coordinator received so far. */
struct node_ear {
	struct str text;
	bool ended;
};

/** Read what there is on stdin, which is ready: 1 with *@line (new reference),
 *  0 when it is not whole yet, -1 when nothing more will come, or with @e. */
int node_task_hear(struct node_ear *ear, json_t **line, struct err *e);
void node_ear_release(struct node_ear *ear);

#endif
