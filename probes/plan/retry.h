/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_RETRY_H
#define PROBES_PLAN_RETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data/cells.h"
#include "lib/data/record.h"
#include "probes/plan/layout.h"
#include "probes/plan/plan.h"

/* ---- convict ------------------------------------------------------------- */

/**
 * Finds parts that failed so often, without a success, that their other tests
 * would fail as well: a NIC or a GPU, as sender or as receiver, and all traffic
 * from one rail to another.  A dozen failures with partners that pass elsewhere
 * are proof; each further one costs a timeout.  Pure: outcomes in, a reason
 * out.
 */

/** Failures with different partners. */
#define CONVICT_PROOF 12
/** A part of a smaller run is tested to its end ... */
#define CONVICT_RANKS 128
/** ... and where that makes the run longer by no more than this share. */
#define CONVICT_SHARE 0.1

struct convict;

/** Nothing is known of @l (borrowed).  NULL without memory; convict_free() is
 *  safe on NULL. */
struct convict *convict_new(const struct layout *l);
void convict_free(struct convict *c);

/** The test src -> dst is planned. */
void convict_expect(struct convict *c, int src, int dst);
/** It came to @o at its first attempt, in which it took @cost_ns. */
void convict_hear(struct convict *c, int src, int dst, enum outcome o,
		  int64_t cost_ns);

#define CONVICT_TEXT 160

/**
 * Returns the code of why src -> dst need not be tested, with @text in words;
 * NULL if it must be.  It need not if the remaining tests of a part take
 * @spare_ns longer, one after the other, than if they passed; with @rails also
 * if rails do not connect, which a drill and a model show completely.
 */
const char *convict_of(const struct convict *c, int src, int dst,
		       int64_t spare_ns, bool rails, char text[CONVICT_TEXT]);

/* ---- repeats ------------------------------------------------------------- */

/**
 * How often a test that goes wrong now and then must be right to be trusted.
 * Pure.
 */

/** Where @bad (1 at least) of @n repeats were wrong: so many that are all right
 *  would be seen of the same fault one time in a thousand at most, 1 at least.
 *  The rate is taken as low as it may well be: the lower end of Wilson's 99 %
 *  interval. */
int64_t repeats_to_trust(int64_t bad, int64_t n);

/** How many repeats of the same fault let repeats_to_trust() ask for few
 *  enough: as many as will be wrong REPEATS_ENOUGH times. */
#define REPEATS_ENOUGH 10
int64_t repeats_for_enough(int64_t bad, int64_t n);

/* ---- bisect -------------------------------------------------------------- */

/**
 * The smallest set of parts (nodes, or ranks of one node) that is still bad
 * when it is alone: halves, then what is left without each of them, then finer
 * ones, until nothing can be left out (ddmin).  A fault between two parts ends
 * with these two.  Where two are left and others are good, each is tried with
 * a good one: so a part that is bad with everybody is told from a bad way
 * between two.  A machine without clock or sockets: ask for a set, test it,
 * tell.
 */
#define BISECT_MAX 4096

/** Sets that hold, one or the other, any two parts that no half holds. */
#define BISECT_ACROSS 4

/**
 * The @i-th of these sets, of @n parts (4 at least) whose halves are the first
 * and the last n / 2 of them: a quarter of each half, and the middle of an odd
 * number.  All are of the same size, which is returned, and in order in @set.
 * No two that no half holds are in all four, or in the first and the last
 * alone, or in the two between these alone.
 */
int bisect_across(int n, int i, int *set);

struct bisect;

/** @n parts, BISECT_MAX at most, that are bad together; @least: how many a test
 *  needs.  NULL without memory; free() it. */
struct bisect *bisect_new(int n, int least);

/** The next set to test: its size, with the parts in *@parts (borrowed until
 *  the next call); 0 when the answer is there. */
int bisect_next(struct bisect *b, const int **parts);
/** The set of the last bisect_next() was @bad. */
void bisect_tell(struct bisect *b, bool bad);
/** The answer; *@parts borrowed. */
int bisect_answer(const struct bisect *b, const int **parts);

/* ---- retry --------------------------------------------------------------- */

/** Second attempts may take this share of the first ones' time. */
#define RETRY_SHARE 0.25

/** Slow cells are apart: they must not take the turns of broken ones. */
enum retry_bad {
	RETRY_BROKEN, RETRY_SLOW,
	RETRY_STARVED,	/* begun, and not measured */
};

struct retry_ops {
	bool (*works)(void *ctx, int rank);	/* true if it can be tested
						 * again */
	/** Takes the task, its id not yet set; 0, or -1 when it cannot. */
	int (*queue)(void *ctx, const struct task *t);
};

/**
 * Which cells deserve a second attempt: of those of @l (slow ones marked) all
 * that are @bad after one attempt, but of a part that many of them share two
 * only.  Hands each task to @ops->queue; returns how many it took.  Pure but
 * for that; none without memory.
 */
size_t retry_choose(const struct layout *l, enum retry_bad bad,
		    const struct retry_ops *ops, void *ctx);

#endif
