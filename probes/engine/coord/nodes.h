/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_NODES_H
#define PROBES_ENGINE_COORD_NODES_H

#include "lib/base/clock.h"
#include "probes/engine/coord/work.h"

/**
 * Work that is one task a node; its state is that of these files only:
 *   nodes.c     tasks, rows, files
 *   meet.c      where the nodes need each other
 */
struct node {
	char name[64];
	struct coord_agent *agent; /* NULL: none ever came */
	bool nowhere;		   /* ranks of which nobody knows the node */
	bool settled;		   /* its rows are written */
	int boot_rank;		   /* of its agent, plus one, while that has
				    * not come; 0: not known */
	bool late;		   /* it came, but too late */
	bool lost;		   /* the agent went away before that */
	char ill[24];	     /* how its child ended, "" = well: worker_... */
	json_t *ready;	     /* where nodes meet: what it said of itself */
	bool told, finished; /* what it must know; all that it has to say */
};

struct nodes_work {
	struct coord *c;
	struct node *nodes;
	int n_nodes;
	int64_t deadline_ns;
	json_t *met;   /* what probe->plan() made; NULL: not yet */
	int next_told; /* nodes before it know what they must */
	bool leaving;  /* the children have been let go */
	char limit[320];	/* "n1: ...": first that ran into one of ours */
};

/* nodes.c */

/** Nothing more will come from @n: its last row says why. */
void nodes_settle(struct nodes_work *w, struct node *n, const char *outcome,
		  const char *code, const char *detail);

/* meet.c */

/** Nodes wait for each other no longer than this. */
#define MEET_NS (10 * NS_PER_S)

/** When all have said that they are ready (@late: or will not any more), tell
 *  each what it must know of the others; when all have finished, let them go.
 *  To be called whenever one of them has said something or is gone, and when
 *  one has been told. */
void meet(struct nodes_work *w, bool late);
/** Tell those who had to wait for memory; ten times a second. */
void meet_tick(struct nodes_work *w);
/** Let them go now. */
void meet_end(struct nodes_work *w);

#endif
