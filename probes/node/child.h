/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_NODE_CHILD_H
#define PROBES_NODE_CHILD_H

#include <stdbool.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/data/record.h"
#include "lib/data/schema.h"
#include "lib/spec/spec.h"

/**
 * One look at one node, in a child of its own: "gpucheck worker PROBE" speaks
 * on the socket that is its stdin with its agent, as a worker does.  It is told
 * "node_task", and says "node_said" for each row and fact.  It has a deadline;
 * whatever happens to it, what it said before is kept.
 *
 * Where nodes meet (struct probe), child and coordinator talk:
 *   child        ready		data about it for the others
 *   coordinator  "node_tell"	data about the others
 *   child        rows and facts
 *   child        finished	but it stays, as others may need it
 *   coordinator  "node_leave"	no node needs it any more
 */

/** The task of a child. */
struct node_args {
	char node[64];
	int number;		/* of the run's nodes */
	const char *drill;	/* NULL: none */
	json_t *options;	/* those of spec */
	struct spec spec;
};

extern const struct field node_args_fields[];

/** "gpucheck worker PROBE": run @child with its task; returns the exit code. */
int node_task_child_main(int (*child)(const struct node_args *args,
				      struct err *e), struct err *e);
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
/** Tell @what with @json (reference stolen): "row", "fact"; if nodes meet
 *  "ready", what the others must know, and "finished", when all rows are told
 *  but the others may still need this node. */
void node_task_say(const char *what, json_t *json);

/** Reads the next message of the coordinator from stdin until @deadline_ns, 0:
 *  one that has come.  Returns 1 with *@told (new reference), 0 if there is
 *  none for now, or -1 if there will be no more. */
int node_task_hear(json_t **told, int64_t deadline_ns);

/* ---- children of single probes ------------------------------------------- */

/** The info probe's: what a node is, every agent says before any probe begins;
 *  this adds what is not needed before a measurement: libraries that take a
 *  while to load, and how many GPUs there should be. */
int info_child(const struct node_args *args, struct err *e);

/** The memlock probe's, which looks at this node. */
int memlock_child(const struct node_args *args, struct err *e);
/** The same less the proof: limits are read, and no call is made to fail. */
int memlock_limits_child(const struct node_args *args, struct err *e);
/** Rows about the shell that submits and about what Slurm hands on of its
 *  limits, see struct probe. */
json_t *memlock_shell(const char *launcher, const struct spec *s);

#endif
