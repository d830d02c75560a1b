/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_ASK_H
#define PROBES_PLAN_ASK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/cluster/cluster.h"
#include "lib/data/cells.h"
#include "lib/data/record.h"
#include "probes/plan/layout.h"
#include "probes/plan/retry.h"

/* ---- ask ----------------------------------------------------------------- */

/**
 * The follow-up: which few tests would settle a verdict, once all that was
 * planned is measured.  Pure: findings in, tasks out.
 *
 * Where a finding leaves alternatives, it is tests of a sort that nobody has
 * made: those that touch one alternative and not the other.  A part that fails
 * now and then always has some: the GPU of a NIC, one direction, all of a node.
 * Tests that tell it from these are made until the rate is bound to show.  What
 * failed, and nobody tried again, is; and where a pair failed, the GPU and
 * the NIC at either end are looked at.  Where a part is a
 * little slow or late, it is the same part at another time, with partners that
 * no finding names, and as many pairs that have nothing to do with any finding,
 * to compare them with.  Where some of its tests were slow and others not,
 * it is the slow ones, while nothing else runs: flows that met do not again.
 */

/** It may take this share of the run's time so far. */
#define ASK_SHARE 0.15
/** With more findings than this it cannot be decided which parts are sound. */
#define ASK_SUSPECTS 256
/** Parts that are looked at, though no finding names them. */
#define ASK_GUESSES 16
/** Alternatives of one finding that are looked at. */
#define ASK_PARTS 6

struct ask_suspect {
	struct part parts[ASK_PARTS];	/* the first one, and its "or" */
	int n;
	int n_open;	/* those that the verdict names; behind them, what is
			 * to be told from them all the same */
	double rate;	/* share of its tests that failed, where some passed;
			 * 0: it is none of those */
	bool retry;	/* some of its tests failed and were not tried again */
	bool some;	/* of its tests were slow, others not: it is seen by the
			 * same ones again */
	bool compare;	/* slow or late: seen beside sound pairs only */
	bool confirm;	/* nobody has looked at it a second time, or not by
			 * tests that nothing else disturbs */
};

struct ask_plan {
	struct layout *l;	/* borrowed, with its cells: its leaf switches
				 * are set as the verdict has them, one per
				 * node where it has none, its NVLink domains as
				 * the cells show them */
	bool inside;		/* nothing between nodes can be tested */
	bool rails_apart;	/* nothing between rails can */
	bool ports;		/* a rank is an HCA port: a NIC is all of it,
				 * inside its node as well */
	struct ask_suspect *list;
	size_t n;		/* findings; behind them, */
	size_t n_guesses;	/* parts that no finding names */
	struct ask_test {	/* what was asked by the follow-up */
		int src, dst, times;
		bool failed;	/* the first time; */
		bool ever;	/* or any time */
		size_t next;	/* in its place of heads[], + 1; 0: none */
	} *asked;
	size_t n_asked;
	size_t *heads;
	/* the round at hand: */
	const struct retry_ops *ops;
	void *ctx;		/* of these */
	size_t left, taken;	/* tests */
	bool compare;		/* what is chosen now must be compared ... */
	bool beside[PATH_CLASSES];	/* ... with others of its path */
};

/** Nothing is suspected, nothing asked.  0, or -1 without memory; ask_release()
 *  frees. */
int ask_init(struct ask_plan *a, struct layout *l);
void ask_release(struct ask_plan *a);	/* safe on a zeroed one */

/** The suspects are the findings of @verdict from now on, a verdict.json.  0,
 *  or -1 with @e: it is none, there are too many, no memory. */
int ask_take(struct ask_plan *a, const json_t *verdict, struct err *e);

/** So often the verdict may be asked for: log2 of the ranks, and 3. */
int ask_rounds(int n_ranks);

/**
 * The next tests, at most @max, to @ops->queue, as retry_choose() has it; an
 * attempt counts on from those of its cell.  Returns how many it took; 0: there
 * is no test that would say more.
 */
size_t ask_next(struct ask_plan *a, size_t max, const struct retry_ops *ops,
		void *ctx);

/** A test that the follow-up asked for, src -> dst, came to @o. */
void ask_hear(struct ask_plan *a, int src, int dst, enum outcome o);

/** How often the follow-up has asked for @src -> @dst. */
int ask_times(const struct ask_plan *a, int src, int dst);

#endif
