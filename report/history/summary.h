/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_HISTORY_SUMMARY_H
#define REPORT_HISTORY_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/spec/spec.h"
#include "report/judge/verdict.h"
#include "report/model/sweep.h"

/**
 * What the history keeps of a run: how it came out, what it found, and the
 * level of each part that it measured.
 */

#define SUMMARY_SCHEMA	 1
#define SUMMARY_BYTES	 (8 << 20)	/* of its text, at most */
#define SUMMARY_FINDINGS 2000		/* more are left out */
#define SUMMARY_NODES	 (2 * SPEC_MAX_NODES)
#define SUMMARY_NODE	 132		/* bytes of "host/n0" */

struct summary_finding {
	char kind[24], code[48];	/* as in verdict.json */
	char node[SUMMARY_NODE], peer_node[SUMMARY_NODE];	/* "" = none */
	char name[64];
	int64_t index, peer_index;	/* -1 = none */
	bool fail;			/* else a warning */
};

/** A node that took part. */
struct summary_node {
	char name[SUMMARY_NODE];
	bool tested;		/* it came to a measurement */
	double bw_GB_s;		/* median to other nodes, or inside the only
				 * one; NAN = not measured, here and below */
	double *gpu_GB_s;	/* of each GPU, inside the node */
	double *nic_GB_s;	/* of each NIC, to other nodes */
	size_t n_gpus, n_nics;
};

struct summary {
	char id[40];		/* of the run, 8 hex digits at least */
	char probe[16], version[32], status[16], transport[16], schedule[16];
	char started_utc[32], ended_utc[32];
	int64_t started_s;	/* since 1970 */
	bool drill, model;	/* nothing of it says how the machines are */
	int64_t size_B;		/* of the messages; 0 = it has none */
	int64_t ranks;		/* of all nodes; 0 = it has none */
	double inter_GB_s, intra_GB_s;	/* median of all pairs */
	double busbw_GB_s;	/* of a collective, at the largest size */
	double *rail_GB_s;
	size_t n_rails;
	struct summary_finding *findings;
	size_t n_findings;
	struct summary_node *nodes;
	size_t n_nodes;
	int64_t of_nodes;	/* that took part, whether they are in here or
				 * not */
};

/**
 * Of a run and the verdict on it.  Pretend nodes are called by the machine that
 * they are on, as far as that is known: "n0" of many machines is not one part.
 * @step  of a run of several the one that has levels and facts; else NULL.
 * 0, or -1 with @e: no memory.  summary_release() frees, also then.
 */
int summary_of(const struct run *run, const struct verdict *v,
	       const struct run *step, struct summary *s, struct err *e);
/** What collectives reached. */
void summary_add_sweep(struct summary *s, const struct sweep *sweep);
void summary_release(struct summary *s);	/* safe on a zeroed one */

/** The file of a run, "20260131T091502Z-p2p-04d3b7dc.json", by its time and its
 *  ID alone, so that a run that is told again takes the same; -1 with @e where
 *  it has none. */
#define SUMMARY_FILE 64
int summary_file(const struct summary *s, char name[SUMMARY_FILE],
		 struct err *e);
/** Is @name of that form? */
bool summary_is_file(const char *name);

/** The file's text, a line; NULL without memory. */
json_t *summary_json(const struct summary *s);
json_t *summary_node_json(const struct summary_node *n);
/**
 * The other way: @len bytes that somebody wrote.  -1 with @e: they are no
 * summary, of a later format, or beyond the limits above; *@s is empty then.
 */
int summary_parse(const char *text, size_t len, struct summary *s,
		  struct err *e);
/** The same of one node, which is added to @s. */
int summary_parse_node(const char *text, size_t len, struct summary *s,
		       struct err *e);

/** Are both measurements of the same kind, transport, size and shape, so that
 *  they can be compared? */
bool summary_alike(const struct summary *a, const struct summary *b);
/** Are there levels of pairs, so that what has none was not measured? */
bool summary_has_pairs(const struct summary *s);
#define SUMMARY_SETUP 96
/** "p2p nccl 64 MiB nic 16 nodes 128 ranks"; returns @buf. */
const char *summary_setup(const struct summary *s, char buf[SUMMARY_SETUP]);
/** Did it come to a result that counts, with @all those of drills and of the
 *  model cluster, too? */
bool summary_counts(const struct summary *s, bool all);

#endif
