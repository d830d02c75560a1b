/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PROBE_H
#define PROBES_PROBE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/data/record.h"
#include "lib/spec/spec.h"
#include "probes/transport/xport.h"

struct node_args;

/* ---- probes -------------------------------------------------------------- */

/**
 * The doors that cli/ uses.
 */

/** "gpucheck agent DIR" and "gpucheck coordinator DIR"; errors in @e, the
 *  exit code is returned (2 usage, 3 could not measure, 4 partial, 0). */
int agent_main(const char *dir, struct err *e);
/** Tell the run of @dir that the process of an agent cannot begin, for @why: a
 *  lack of memory or descriptors.  Closes stdin and stdout. */
void agent_excuse(const char *dir, const struct err *why);
int coordinator_main(const char *dir, struct err *e);
/** Check that a coordinator may have a connection to each of @agents on this
 *  machine. Returns 0, or -1 with @e, which says how many files it needs. */
int coordinator_check_files(int agents, struct err *e);

/* ---- probe --------------------------------------------------------------- */

/** Unit of a probe's plan. */
enum probe_kind {
	PROBE_PAIRS,	  /* tasks between two ranks, by a transport */
	PROBE_NODES,	  /* one task a node, by a child of its agent */
	PROBE_COLLECTIVE, /* all ranks together, by a transport's collectives */
};

/**
 * One probe: what run.json's "probe" names.  To add one that looks at nodes
 * one by one: a row in probe.c with the function that the child runs, and its
 * command in cli/.
 */
struct probe {
	const char *name;
	enum probe_kind kind;
	const struct schema *schema;	/* of results.csv */
	/* of PROBE_PAIRS and PROBE_COLLECTIVE: */
	bool ports;		/* a rank is an HCA port; else a GPU, or a
				 * slot */
	const char *part;	/* scope of its facts: gpu, nic */
	const char *parts;	/* the same for people: GPUs, HCA ports */
	const char *missing;	/* code of a rank whose part is not there */
	const char *transport;	/* "auto" means this; NULL: by what is there */
	bool light;		/* needs neither GPUs nor whole nodes */
	/* of PROBE_NODES: */
	const char *node_column;	/* which says whose row it is */
	const char *address_column;	/* its address: one that the plan has
					 * of that node; NULL: none */
	bool hearsay;		/* rows about nodes outside the run, too */
	int64_t timeout_ns;		/* of the child, from its start ... */
	int64_t (*takes)(const struct spec *s);	/* beyond what a healthy one
					 * takes, ns; NULL: that is little */
	bool meets;		/* the children need each other: child.h */
	/**
	 * Where they meet, pure: what each child is told when all are ready.
	 * @nodes: an array of {"name", "pretend", "inventory", "ready"}, less
	 * the last where a node does not take part, less the last three where
	 * no agent came.  New reference {"tell": an entry a node, null for
	 * those that do not take part; "run": members of run.json;
	 * "budget_ns": what the slowest may take}, or NULL with @e.
	 */
	json_t *(*plan)(const json_t *nodes, const struct spec *s,
			struct err *e);
	/**
	 * The child, "gpucheck worker NAME": told @args, it says its rows by
	 * node_task_row() and its facts by node_task_fact(), each at once, so
	 * that what hangs later does not take them along.  May load any library
	 * and drop any privilege.  0, or -1 with @e: the rest was not looked
	 * at.
	 */
	int (*child)(const struct node_args *args, struct err *e);
	/**
	 * Rows that no node can say, about the shell where the user typed: an
	 * array that run.json keeps as "shell"; may be NULL.  @launcher as in
	 * run.json.
	 */
	json_t *(*shell)(const char *launcher, const struct spec *s);
};

/** So long a child may take, nanoseconds. */
int64_t probe_limit_ns(const struct probe *p, const struct spec *s);

/** By name, NULL when there is none. */
const struct probe *probe_find(const char *name);

/**
 * The transports there are, by priority.  To add one: its file with "const
 * struct xport_ops xport_foo", its name here, and its row with its flags and
 * the commands that offer it in transport_words of lib/spec/options.c.
 */
#define XPORTS(X) X(nccl) X(cuda) X(tcp) X(verbs) X(sim)
#define XPORT_DECLARE(name) extern const struct xport_ops xport_##name;
XPORTS(XPORT_DECLARE)

extern const struct xport_ops *const xports[];	/* NULL ends */

/** By name, NULL when there is none. */
const struct xport_ops *xport_find(const char *name);
/** Return the transport that --transport=auto selects, with GPUs or without. */
const struct xport_ops *xport_auto(bool gpu);

#endif
