/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_LADDER_MATCH_H
#define REPORT_JUDGE_LADDER_MATCH_H

#include <stdbool.h>

#include <jansson.h>

/** A finding, or one of its alternatives, and the probe that said it. */
struct ladder_said {
	const char *probe;
	const json_t *part;	/* has kind, node, index, ..., code */
};

/**
 * Do two rungs name the same part?  NICs are compared by name where both have
 * one, as the numbers of ping are those of its segments; @netdevs as in struct
 * ladder_facts.
 */
bool ladder_same(struct ladder_said a, struct ladder_said b,
		 const json_t *netdevs);

/** Does @low, found by a rung below, explain @high? */
bool ladder_explains(struct ladder_said low, struct ladder_said high,
		     const json_t *netdevs);

#endif
