/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_PINGLIST_H
#define LIB_DATA_PINGLIST_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Who asks whom in a fleet where all to all is too much: nodes in groups of
 * neighbours, complete inside, and between each two groups a few
 * representatives, others for each pair of groups and each seed.  run.json has
 * these numbers, so that a report knows what was planned.  Pure.
 */
struct pinglist {
	int nodes;
	int groups;		/* 1 at most: everybody asks everybody */
	int64_t seed;
};

/** Nodes of a group, at most: up to so many are complete. */
#define PINGLIST_GROUP 32
/** Pairs of nodes that stand for a pair of groups. */
#define PINGLIST_PAIRS 2

/** That of @nodes nodes, each of which asks all others if @all. */
struct pinglist pinglist_make(int nodes, bool all, int64_t seed);
/** Do the nodes @a and @b, below l->nodes, ask each other? */
bool pinglist_has(const struct pinglist *l, int a, int b);
/** The most nodes that one of them asks. */
int pinglist_most(const struct pinglist *l);

#endif
