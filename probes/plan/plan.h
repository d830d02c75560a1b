/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_PLAN_H
#define PROBES_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/data/sampled.h"
#include "lib/spec/spec.h"
#include "probes/plan/layout.h"

/**
 * Partner of @rank in round @round of a round-robin tournament of @size ranks
 * (the circle method): every round is a perfect matching, so no rank is in two
 * pairs at a time, and after sched_rounds(size) rounds every pair has met once.
 * Returns the partner, or -1 when @rank sits the round out (@size is odd).
 */
int sched_partner(int size, int round, int rank);
int sched_rounds(int size);
/** The round in which ranks @a and @b of @size meet. */
int sched_round_of(int size, int a, int b);

/** Which ordered cells are planned: --pairs. */
enum pairs_kind {
	PAIRS_ALL, PAIRS_INTER, PAIRS_INTRA, PAIRS_RAIL,
	PAIRS_NODES,	/* a sample, then one between any two nodes */
	PAIRS_DEFAULT,	/* all, or a sample of many ranks */
	PAIRS_AUTO,	/* the same of rails, or on a single node all inside
			 * it */
	PAIRS_LIST
};

/** Of more ranks nobody measures all pairs who has not asked for it ... */
#define PAIRS_ALL_USUAL	1024
/** ... nor who has. */
#define PAIRS_ALL_MOST	SPEC_MAX_SQUARE

struct pair_end {
	char node[64];	/* "": index is a global rank, else a GPU of node */
	int index;		/* or, of a node, PAIR_ALL of them */
};

#define PAIR_ALL (-1)

struct pairs {
	enum pairs_kind kind;
	struct pair_ends {
		struct pair_end a, b;
		int column;	/* in the text, from 1 */
	} *list;		/* PAIRS_LIST: unordered, both directions */
	size_t n;
	int rounds;		/* strata_make() chooses so many; 0 = all */
	uint64_t seed;		/* by that */
	bool inside;		/* none between nodes: a listed one is wrong */
	bool rails_apart;	/* none between rails, but listed ones: the
				 * fabric does not connect them */
	bool what_is_there;	/* a listed GPU or node that is not there has no
				 * pairs, and is no error; none is a number */
	const char *expected;	/* host list, borrowed: a listed node of it that
				 * is not there has no pairs, of any other that
				 * is an error; NULL: none */
};

/**
 * Parse --pairs: all, inter, intra, rail, nodes, auto, or a list such as
 * "0-9,n0:1-n1:1,n0:*-n1:*" (global ranks, or node:gpu with the node's name,
 * or its number in boot order; all GPUs of a node).  A single pair may also be
 * typed as two words "0 9"; the front joins them with '-'.
 * Returns 0, or -1 with @e "--pairs, column C: ..." and @p empty.
 * pairs_release() frees.
 */
int pairs_parse(const char *text, struct pairs *p, struct err *e);
void pairs_release(struct pairs *p);
/** What "default" and "auto" mean for @l, and how many rounds of a sample @s
 *  asks for, if any. */
void pairs_settle(struct pairs *p, const struct spec *s,
		  const struct layout *l);

/**
 * For a transport that reaches no other node: "all" is all inside nodes, and
 * asking for others is wrong.  0, or -1 with @e.
 */
int pairs_keep_inside(struct pairs *p, const char *transport, struct err *e);

#define TASK_AB 1	/* rank a sends to rank b */
#define TASK_BA 2

/** One at each end: the relay of what that end sends. */
#define TASK_MATES 2

/** One unit of dispatch: a pair of ranks, one or both directions. */
struct task {
	uint32_t id;		/* index in plan.tasks */
	int a, b;		/* a < b */
	uint8_t dirs;		/* TASK_AB | TASK_BA */
	int attempt;		/* from 1 */
	int round;		/* of the plan, from 0 */
	int mates[TASK_MATES];	/* ranks + 1 that relay for them, idle members
				 * of their communicator; 0 = none */
};

/** Is the fabric built so that rails do not meet, and nobody relays?  Where @s
 *  leaves it open, what the routes of the nodes say counts. */
bool plan_rails_apart(const struct spec *s, bool by_routes);

/** Is it between nodes, from one rail to another? */
bool plan_crosses(const struct layout *l, int a, int b);

/**
 * Who can relay what @from sends to @to, by PXN: the first rank of its node
 * whose NIC has the number of @to's, and of whom @works says so.  -1: none
 * does; @any says whether there is one that might.
 */
int plan_relay(const struct layout *l, int from, int to,
	       bool (*works)(void *ctx, int rank), void *ctx, bool *any);

struct plan {
	struct task *tasks;	/* in the order of the rounds */
	size_t n, room;
	size_t cells;		/* ordered cells planned */
	struct sampled sample;	/* no rounds: all that is wanted */
};

/**
 * All tasks of a run in circle-method order, or those of a sample round by
 * round; inside a round of all pairs tasks keep the order of their lower rank.
 * A pair listed twice is planned once.  Returns 0, or -1 with @e and @out
 * empty: a listed pair is out of range, a rank paired with itself, nothing to
 * do, all pairs of too many ranks, no memory.  plan_release() frees.
 */
int plan_pairs(const struct layout *l, const struct pairs *p, struct plan *out,
	       struct err *e);
void plan_release(struct plan *p);

#endif
