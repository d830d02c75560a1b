/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_ALLOCATION_H
#define LIB_DATA_ALLOCATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/str.h"

/* ---- slurm gres ---------------------------------------------------------- */

/** GPUs in one gres text such as "gpu:a100:4(S:0-1),mps:400"; no more than
 *  ALLOCATION_MAX_GPUS. */
int64_t slurm_gres_gpus(const char *gres);

/** Return the malloc'ed value of the word "@key=VALUE" of @line; NULL if there
 *  is none. Slurm ignores the case of keys. */
char *slurm_value(const char *line, const char *key);

#define SLURM_CONF_INCLUDES 8

/** The lines about one node in slurm.conf and the files it includes. Zero it,
 *  except @node, before the first file. */
struct slurm_conf_node {
	const char *node;	/* as Slurm calls it; borrowed */
	bool listed;		/* slurm.conf has this node */
	int64_t gpus;		/* 0: none, or not configured */
	int64_t preset;		/* of NodeName=DEFAULT */
	char includes[SLURM_CONF_INCLUDES][256];	/* as written */
	size_t n_includes;
};

/**
 * Read @text, the contents of such a file: its lines "NodeName=n[1-8] ...
 * Gres=gpu:8" that are about the node.  Pure; other lines are ignored.
 */
void slurm_conf_take(struct slurm_conf_node *c, const char *text);

/* ---- allocation ---------------------------------------------------------- */

/**
 * Number of GPUs of each node that a job was given, as "gpu[1-2]=8 gpu3=4".
 * The launcher passes it to agents in this variable, so that they can tell GPUs
 * that are not tested from GPUs that the job does not have.
 */
#define ALLOCATION_ENV "GPUCHECK_ALLOCATION"
/** The same as a fact of each node. */
#define ALLOCATION_FACT "gpus_allocated"
#define ALLOCATION_MAX	    4096	/* parts */
#define ALLOCATION_MAX_GPUS 1024	/* of a node: more is a misreading */

/** Nodes with the same number of GPUs. */
struct allocation_part {
	char *nodes;		/* host list */
	int gpus;		/* of each, 0 to ALLOCATION_MAX_GPUS */
	int group;		/* of a heterogeneous job, from 0 */
};

struct allocation {
	struct allocation_part *parts;
	size_t n;
};

/** The first @len bytes of @nodes have @gpus each; 0, or -1: no host list, out
 *  of range, or no memory. */
int allocation_add(struct allocation *a, const char *nodes, size_t len,
		   int gpus, int group);
/** Append it to @out in the words above: parts of one count are one part. */
void allocation_text(const struct allocation *a, struct str *out);
/** These words back into the zeroed @a, whose groups are all 0; 0, or -1 with
 *  @e and nothing to release. */
int allocation_parse(const char *text, struct allocation *a, struct err *e);
/** GPUs of @node, -1: it is not in there. */
int allocation_gpus(const struct allocation *a, const char *node);
void allocation_release(struct allocation *a);	/* safe on a zeroed one */

#endif
