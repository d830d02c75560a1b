/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_BISECT_H
#define PROBES_PLAN_BISECT_H

#include <stdbool.h>

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
 *  needs.  NULL without memory. */
struct bisect *bisect_new(int n, int least);
void bisect_free(struct bisect *b);

/** The next set to test: its size, with the parts in *@parts (borrowed until
 *  the next call); 0 when the answer is there. */
int bisect_next(struct bisect *b, const int **parts);
/** The set of the last bisect_next() was @bad. */
void bisect_tell(struct bisect *b, bool bad);
/** The answer; *@parts borrowed. */
int bisect_answer(const struct bisect *b, const int **parts);

#endif
